/*
 * What the tests of mpi share: views of a few bytes, and a message around the ring of all processes, which alone is one to
 * oneself.
 */
#ifndef MPI_MADE_H
#define MPI_MADE_H

#include <dlpark/mpi.h>

#include "test.h"

/* A view of memory of ours; NULL strides are compact. */
static inline dlpark_view made_view(void *data, DLDataType dtype, int32_t ndim, const int64_t *shape,
                                    const int64_t *strides)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    assert_ok(dlpark_tensor_new(
        &tensor,
        &(dlpark_tensor_desc){
            .data = data, .dtype = dtype, .ndim = ndim, .shape = DLPARK_DIMS(shape), .strides = DLPARK_DIMS(strides)},
        &view, e));
    dlpark_tensor_release(&tensor);
    return view;
}

/* Each process sends to the next one and receives from the one before. */
static inline void send_around(const dlpark_mpi_buffer *out, const dlpark_mpi_buffer *in)
{
    int rank, size;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    assert_int_equal(MPI_Sendrecv(DLPARK_MPI_ARGS(*out), (rank + 1) % size, 7, DLPARK_MPI_ARGS(*in),
                                  (rank + size - 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                     MPI_SUCCESS);
}

/* Errors are what tests see in place of the end of the program; every thread may call. */
static inline int begin_mpi(void **state)
{
    int level;

    (void)state;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level) != MPI_SUCCESS || level != MPI_THREAD_MULTIPLE)
        return 1;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    return MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

static inline int end_mpi(void **state)
{
    (void)state;
    return MPI_Finalize();
}

#endif
