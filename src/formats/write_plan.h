/*
 * Where the tensors of a file to be written lie, and all its other bytes.
 */
#ifndef DLPARK_FORMATS_WRITE_PLAN_H
#define DLPARK_FORMATS_WRITE_PLAN_H

#include <stdatomic.h>

#include <dlpark/file_write.h>

#include "replace.h"

typedef struct dlpark__write_place {
    uint64_t offset; /* in the file */
    uint64_t nbytes;
} dlpark__write_place;

struct dlpark_file_writer;

typedef struct dlpark__write_plan {
    char *head; /* the file's first bytes; from malloc() */
    size_t head_nbytes;
    dlpark__write_place *places; /* of each part; from malloc() */
    uint64_t nbytes;             /* of the whole file */
    /* Of a format some of whose bytes depend on those of tensors: writes them, when all tensors are there. `sums`: of the
     * bytes of each part, as crc32.h has it, begun with 0. NULL where everything is in the head. */
    dlpark_status (*finish)(void *state, const _Atomic(uint32_t) *sums, const dlpark__replace *file, dlpark_error *err);
    /* Of a format that goes on with tensors before all are there: called when bytes of a part of the writer are written, by
     * the thread that wrote them. NULL: nothing is to be done. */
    dlpark_status (*advance)(void *state, const struct dlpark_file_writer *writer, dlpark_error *err);
    void *state; /* for them; */
    void (*end)(void *state);
} dlpark__write_plan;

/* What a part says of its tensor, by its view or itself. */
typedef struct dlpark__write_kind {
    DLDataType dtype;
    int32_t ndim;
    const int64_t *shape;
} dlpark__write_kind;

dlpark__write_kind dlpark__write_kind_of(const dlpark_file_part *part);

/* A number for each element, times all extents but those of 0, which excuse no other from being too large. */
typedef struct dlpark__write_size {
    uint64_t product;
    bool is_empty; /* an extent is 0 */
    bool is_vast;  /* the product leaves 64 bits */
} dlpark__write_size;

/* E_RANK or E_SHAPE where there is no such tensor. */
dlpark_status dlpark__write_measure(const dlpark_file_part *part, uint64_t each, dlpark__write_size *size,
                                    dlpark_error *err);

/* Bytes of its name, which may be one that a zero ends. */
size_t dlpark__write_name_nbytes(const dlpark_file_part *part);

/* Its name, fit for a message. */
dlpark_file_name dlpark__write_name(const dlpark_file_part *part);

void dlpark__write_plan_end(dlpark__write_plan *plan);

#endif
