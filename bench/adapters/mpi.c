/*
 * A transposed matrix to oneself and back, beside what one would write without us: MPI_Pack() and a send of the packed bytes, and
 * the same datatype made by hand. What is compact is beside a plain count. The
 * targets are a hundred nanoseconds in the time of the type by hand, 169 ns, and fifty in that of a struct.
 */
#include <stdlib.h>

#include <dlpark/mpi.h>
#include <dlpark/tensor.h>

#include "harness.h"

enum { ROWS = 256, COLUMNS = 64, PLAIN = 16 };

static float matrix[COLUMNS][2 * ROWS], received[ROWS][COLUMNS], packed[ROWS * COLUMNS];

/* A view of every second column of the matrix, transposed: rows, columns. */
static dlpark_view strided, compact;

static bool make_view(dlpark_view *view, void *data, int64_t rows, int64_t columns, int64_t step, int64_t across)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    int64_t shape[] = {rows, columns}, strides[] = {step, across};
    dlpark_status status = dlpark_tensor_new(
        &tensor,
        &(dlpark_tensor_desc){
            .data = data, .dtype = DLPARK_F32, .ndim = 2, .shape = DLPARK_DIMS(shape), .strides = DLPARK_DIMS(strides)},
        view, NULL);

    dlpark_tensor_release(&tensor);
    return status == DLPARK_OK;
}

/* ---- A type ---- */

/* As somebody would write it for these strides: each row of the view takes one element of every column. */
static MPI_Datatype type_by_hand(void)
{
    MPI_Datatype row, type;

    MPI_Type_create_hvector(COLUMNS, 1, (MPI_Aint)sizeof matrix[0], MPI_FLOAT, &row);
    MPI_Type_create_hvector(ROWS, 1, 2 * (MPI_Aint)sizeof(float), row, &type);
    MPI_Type_free(&row);
    MPI_Type_commit(&type);
    return type;
}

static void run_type_by_hand(const void *input, long count)
{
    (void)input;
    for (long i = 0; i < count; i++) {
        MPI_Datatype type = type_by_hand();
        harness_use(&type);
        MPI_Type_free(&type);
    }
}

static bool verify_type_by_hand(const void *input)
{
    MPI_Datatype type = type_by_hand();
    int size;

    MPI_Type_size(type, &size);
    MPI_Type_free(&type);
    return input && size == sizeof received;
}

static void run_borrow(const void *input, long count)
{
    dlpark_mpi_buffer buffer = DLPARK_MPI_BUFFER_EMPTY;

    for (long i = 0; i < count; i++) {
        if (dlpark_mpi_borrow(&buffer, input, 0, NULL))
            abort();
        harness_use(&buffer);
        dlpark_mpi_release(&buffer);
    }
}

static bool verify_borrow(const void *input)
{
    dlpark_mpi_buffer buffer = DLPARK_MPI_BUFFER_EMPTY;
    int size;

    if (dlpark_mpi_borrow(&buffer, input, 0, NULL))
        return false;
    MPI_Type_size(buffer.type, &size);
    bool right = (size_t)size * (size_t)buffer.count == (size_t)dlpark_view_nbytes(input);
    dlpark_mpi_release(&buffer);
    return right;
}

/* ---- A message ---- */

static void receive(MPI_Request *request)
{
    MPI_Irecv(received, ROWS * COLUMNS, MPI_FLOAT, 0, 0, MPI_COMM_SELF, request);
}

static void send_by_hand(void)
{
    MPI_Request request;
    MPI_Datatype type = type_by_hand();

    receive(&request);
    MPI_Send(matrix, 1, type, 0, 0, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
}

static void send_packed(void)
{
    MPI_Request request;
    MPI_Datatype type = type_by_hand();
    int place = 0;

    receive(&request);
    MPI_Pack(matrix, 1, type, packed, sizeof packed, &place, MPI_COMM_SELF);
    MPI_Send(packed, place, MPI_PACKED, 0, 0, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
}

static void send_borrowed(void)
{
    dlpark_mpi_buffer buffer = DLPARK_MPI_BUFFER_EMPTY;
    MPI_Request request;

    receive(&request);
    if (dlpark_mpi_borrow(&buffer, &strided, 0, NULL))
        abort();
    MPI_Send(DLPARK_MPI_ARGS(buffer), 0, 0, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    dlpark_mpi_release(&buffer);
}

typedef struct sender {
    void (*send)(void);
} sender;

static void run_send(const void *input, long count)
{
    const sender *of = input;

    for (long i = 0; i < count; i++)
        of->send();
}

static bool verify_send(const void *input)
{
    const sender *of = input;

    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < COLUMNS; k++)
            received[i][k] = -1;
    of->send();
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < COLUMNS; k++)
            if (received[i][k] != matrix[k][2 * i]) /* NOLINT: copied, not computed */
                return false;
    return true;
}

/* ---- A count ---- */

static void run_plain(const void *input, long count)
{
    for (long i = 0; i < count; i++) {
        dlpark_mpi_buffer buffer = {(void *)(uintptr_t)input, PLAIN, MPI_FLOAT, 0};
        harness_use(&buffer);
    }
}

static bool verify_plain(const void *input)
{
    return input != NULL;
}

int main(int argc, char **argv)
{
    static const sender by_hand = {send_by_hand}, by_packing = {send_packed}, borrowed = {send_borrowed};
    harness_options options = harness_parse(argc, argv);
    int wrong = 0, missed = 0;

    if (MPI_Init(NULL, NULL) != MPI_SUCCESS || !make_view(&strided, matrix, ROWS, COLUMNS, 2, 2 * (int64_t)ROWS) ||
        !make_view(&compact, received, 4, 4, 4, 1))
        return 1;
    for (int i = 0; i < COLUMNS; i++)
        for (int k = 0; k < 2 * ROWS; k++)
            matrix[i][k] = (float)(i * 1000 + k);
    const harness_group groups[] = {
        {"mpi",
         "send 64 KiB, transposed",
         2,
         3,
         {
             {"type by hand", run_send, verify_send, &by_hand, {{NULL, 0}}},
             {"MPI_Pack", run_send, verify_send, &by_packing, {{NULL, 0}}},
             {"dlpark_mpi_borrow", run_send, verify_send, &borrowed, {{"type by hand", 1.05}, {"MPI_Pack", 1.05}}},
         }},
        {"mpi",
         "type",
         2,
         2,
         {
             {"type by hand", run_type_by_hand, verify_type_by_hand, &strided, {{NULL, 0}}},
             {"dlpark_mpi_borrow", run_borrow, verify_borrow, &strided, {{"type by hand", 1.59}}},
         }},
        {"mpi",
         "count",
         2,
         2,
         {
             {"a struct", run_plain, verify_plain, &compact, {{NULL, 0}}},
             {"dlpark_mpi_borrow", run_borrow, verify_borrow, &compact, {{"a struct", 100}}},
         }},
    };
    harness_print_machine(&options);
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        wrong += harness_run(&groups[i], &options, &missed);
    MPI_Finalize();
    return harness_finish(&options, wrong, missed);
}
