/*
 * What the sources of mpi share.
 */
#ifndef DLPARK_MPI_PARTS_H
#define DLPARK_MPI_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include <dlpark/mpi.h>

/* ---- mpi_type.c ---- */

/* What an element is to MPI: `count` times `type`, side by side. */
typedef struct mpi_element {
    MPI_Datatype type;
    int64_t count;
    size_t nbytes; /* of one `type` */
    size_t alignment_bytes;
    bool is_nameless; /* bytes for want of a type */
} mpi_element;

/* The same place again and again: `extent` times, `stride` bytes apart. */
typedef struct mpi_repeat {
    int64_t extent;
    int64_t stride;
} mpi_repeat;

/* A layout with as few repeats as say it, innermost first, of blocks of elements that lie side by side. */
typedef struct mpi_layout {
    mpi_element element;
    int64_t block; /* how many element.type */
    int32_t ndim;
    mpi_repeat repeats[DLPARK_MAX_NDIM];
} mpi_layout;

/* MPI's type of a dtype; MPI_BYTE where there is none, and where bytes are asked for. */
mpi_element dlpark__mpi_element(DLDataType dtype, bool as_bytes);

/* The layout of a view that has elements. */
void dlpark__mpi_layout(mpi_layout *layout, const dlpark_view *view, mpi_element element);

/* A committed type of the whole layout, never one of MPI's own; `limit` is the largest count of one call, which an int has. */
dlpark_status dlpark__mpi_type_make(MPI_Datatype *type, const mpi_layout *layout, int limit, dlpark_error *err);

#endif
