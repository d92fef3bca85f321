/* A transposed matrix, sent and received where it lies. Started alone, MPI is one process, which sends to itself. */
#include <stdio.h>
#include <stdlib.h>

#include <dlpark/array.h>
#include <dlpark/dlpark.h>
#include <dlpark/mpi.h>

/* The columns of one process become the rows of another: MPI reads and writes with the strides of each. */
static dlpark_status exchange(const dlpark_view *out, const dlpark_view *in, int to, int from, dlpark_error *err)
{
    dlpark_mpi_buffer sent = DLPARK_MPI_BUFFER_EMPTY, received = DLPARK_MPI_BUFFER_EMPTY;

    DLPARK_TRY(dlpark_mpi_borrow_mut(&received, in, 0, err));
    dlpark_status status = dlpark_mpi_borrow(&sent, out, 0, err);
    if (status == DLPARK_OK)
        MPI_Sendrecv(DLPARK_MPI_ARGS(sent), to, 0, DLPARK_MPI_ARGS(received), from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    dlpark_mpi_release(&sent);
    dlpark_mpi_release(&received);
    return status;
}

/* A sum over all processes; of compact elements that MPI has a type for. */
static dlpark_status add_up(const dlpark_view *view, dlpark_error *err)
{
    dlpark_mpi_buffer buffer = DLPARK_MPI_BUFFER_EMPTY;

    DLPARK_TRY(dlpark_mpi_borrow_mut(&buffer, view, 0, err));
    MPI_Allreduce(MPI_IN_PLACE, DLPARK_MPI_ARGS(buffer), MPI_SUM, MPI_COMM_WORLD);
    dlpark_mpi_release(&buffer);
    return DLPARK_OK;
}

static dlpark_status run(int rank, int size, dlpark_error *err)
{
    float columns[3][2] = {{1, 2}, {3, 4}, {5, 6}}, rows[2][3] = {{0}};
    dlpark_view from, to;

    DLPARK_TRY(dlpark_array_view(&from, &DLPARK_ARRAY_2D(columns), err));
    DLPARK_TRY(dlpark_array_view(&to, &DLPARK_ARRAY_2D(rows), err));
    DLPARK_TRY(dlpark_view_transpose(&from, 0, 1, err));
    DLPARK_TRY(exchange(&from, &to, (rank + 1) % size, (rank + size - 1) % size, err));
    printf("%g %g %g\n%g %g %g\n", rows[0][0], rows[0][1], rows[0][2], rows[1][0], rows[1][1], rows[1][2]);
    return add_up(&to, err);
}

int main(void)
{
    dlpark_error err;
    int rank, size;

    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (run(rank, size, &err)) {
        fprintf(stderr, "%s\n", err.message);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}
