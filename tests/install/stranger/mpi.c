#include <stdio.h>

#include <dlpark/dlpark.h>
#include <dlpark/mpi.h>

int main(void)
{
    float numbers[6] = {0};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_mpi_buffer buffer = DLPARK_MPI_BUFFER_EMPTY;
    dlpark_view view;
    dlpark_error err;
    int finalised;

    if (MPI_Finalized(&finalised) != MPI_SUCCESS || /* a call of one's own; nothing here needs MPI to run */
        dlpark_tensor_new(&tensor,
                          &(dlpark_tensor_desc){
                              .data = numbers, .dtype = DLPARK_F32, .ndim = 2, .shape = DLPARK_DIMS((int[]){2, 3})},
                          &view, &err) ||
        dlpark_mpi_borrow(&buffer, &view, 0, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    printf("dlpark %s: %d x %d\n", dlpark_version(), (int)view.shape[0], buffer.count / (int)view.shape[0]);
    dlpark_mpi_release(&buffer);
    dlpark_tensor_release(&tensor);
    return 0;
}
