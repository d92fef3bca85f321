/*
 * A file that is being written, as the two sources of the writer know it: elements of views, and tensors of other files.
 */
#ifndef DLPARK_FORMATS_FILE_WRITER_H
#define DLPARK_FORMATS_FILE_WRITER_H

#include <stdatomic.h>

#include "replace.h"
#include "write_plan.h"

/* Of strided elements, and of those that are read to be written, so many bytes or elements are in memory at a time. */
#define DLPARK__FILE_WRITER_TILE ((size_t)1 << 20)

/* A tensor that was declared. */
typedef struct dlpark__file_writer_part {
    dlpark_file_name name; /* for messages */
    dlpark__write_place place;
    DLDataType dtype;
    int32_t ndim;
    int64_t *shape;               /* in `extents` of the writer */
    _Atomic(uint64_t) nbytes_put; /* so far */
    _Atomic(uint64_t) begun; /* of them, from the first on, those that came in their order; for `advance` of the plan */
} dlpark__file_writer_part;

struct dlpark_file_writer {
    dlpark__replace file;
    dlpark__file_writer_part *parts;
    int64_t *extents;
    size_t count;
    bool sync;
    dlpark__write_plan plan; /* what of it is used later: its functions and their state */
    _Atomic(uint32_t) *sums; /* of each part; NULL: nobody asks */
};

/* E_INDEX unless there is such a part. */
dlpark_status dlpark__file_writer_check_index(const dlpark_file_writer *writer, size_t index, dlpark_error *err);

#endif
