/*
 * Where the tensors of a file to be written lie, and all its other bytes.
 */
#ifndef DLPARK_FORMATS_WRITE_PLAN_H
#define DLPARK_FORMATS_WRITE_PLAN_H

#include <dlpark/file_write.h>

typedef struct dlpark__write_place {
    uint64_t offset; /* in the file */
    uint64_t nbytes;
} dlpark__write_place;

typedef struct dlpark__write_plan {
    char *head; /* the file's first bytes; from malloc() */
    size_t head_nbytes;
    dlpark__write_place *places; /* of each part; from malloc() */
    uint64_t nbytes;             /* of the whole file */
} dlpark__write_plan;

/* What a part says of its tensor, by its view or itself. */
typedef struct dlpark__write_kind {
    DLDataType dtype;
    int32_t ndim;
    const int64_t *shape;
} dlpark__write_kind;

dlpark__write_kind dlpark__write_kind_of(const dlpark_file_part *part);

/* Its name, fit for a message. */
dlpark_file_name dlpark__write_name(const dlpark_file_part *part);

void dlpark__write_plan_end(dlpark__write_plan *plan);

#endif
