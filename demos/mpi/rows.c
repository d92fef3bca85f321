/*
 * Several processes multiply by one weight, which lies in a safetensors file: each maps the file and reads the rows that are its
 * own. Process 0 has the inputs, and sends each process the columns that meet its rows; they lie apart, and MPI takes them from
 * where they lie. The products are added up in process 0, which writes the sum as a safetensors file, reads it again and
 * compares it with what it computes alone. A wrong number ends all processes with 1.
 *
 *     rows LAYER.safetensors PRODUCT.safetensors      writes the first one, too
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dlpark/array.h>
#include <dlpark/dlpark.h>
#include <dlpark/file_write.h>
#include <dlpark/mpi.h>

enum { BATCH = 8, DEPTH = 4096, WIDTH = 1024 };

static float inputs[BATCH][DEPTH], mine[BATCH][DEPTH], product[BATCH][WIDTH], sum[BATCH][WIDTH];

/* What a process tells of itself. */
typedef struct story {
    long long first;
    long long end;
    unsigned long long address;
} story;

/* Small whole numbers: sums are exact in any order. */
static void fill(float *numbers, size_t count, unsigned step)
{
    for (size_t i = 0; i < count; i++)
        numbers[i] = (float)((int)(i * step % 13) - 6);
}

static dlpark_status make_layer(const char *path, dlpark_error *err)
{
    const int64_t shape[] = {DEPTH, WIDTH};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    DLPARK_TRY(dlpark_tensor_alloc(
        &tensor, &(dlpark_tensor_desc){.dtype = DLPARK_F32, .ndim = 2, .shape = DLPARK_DIMS(shape)}, &view, err));
    fill(view.data, (size_t)DEPTH * WIDTH, 7);
    const dlpark_file_part part = {.name = "weight", .view = &view};
    dlpark_status status = dlpark_file_save(path, &part, 1, NULL, err);
    dlpark_tensor_release(&tensor);
    return status;
}

/* The weight of a file, mapped: nothing of it is read yet. */
static dlpark_status map_tensor(dlpark_tensor *tensor, const char *path, const char *name, dlpark_view *view,
                                dlpark_error *err)
{
    dlpark_file *file = NULL;

    DLPARK_TRY(dlpark_file_open(&file, path, NULL, err));
    dlpark_status status = dlpark_file_share(file, dlpark_file_find(file, name, strlen(name)), tensor, err);
    dlpark_file_release(&file);
    DLPARK_TRY(status);
    dlpark_tensor_view(tensor, view);
    return DLPARK_OK;
}

/* ---- Messages ---- */

/* The columns [first, end) of a matrix, where they lie. */
static dlpark_status view_columns(dlpark_view *view, float (*matrix)[BATCH][DEPTH], int64_t first, int64_t end,
                                  dlpark_error *err)
{
    DLPARK_TRY(dlpark_array_view(view, &DLPARK_ARRAY_2D(*matrix), err));
    return dlpark_view_slice(view, 1, first, end, 1, err);
}

static dlpark_status send_columns(int to, int64_t first, int64_t end, dlpark_error *err)
{
    dlpark_mpi_buffer buffer = DLPARK_MPI_BUFFER_EMPTY;
    dlpark_view view;

    DLPARK_TRY(view_columns(&view, &inputs, first, end, err));
    DLPARK_TRY(dlpark_mpi_borrow(&buffer, &view, 0, err));
    MPI_Send(DLPARK_MPI_ARGS(buffer), to, 0, MPI_COMM_WORLD);
    dlpark_mpi_release(&buffer);
    return DLPARK_OK;
}

static dlpark_status receive_columns(int64_t first, int64_t end, dlpark_error *err)
{
    dlpark_mpi_buffer buffer = DLPARK_MPI_BUFFER_EMPTY;
    dlpark_view view;

    DLPARK_TRY(view_columns(&view, &mine, first, end, err));
    DLPARK_TRY(dlpark_mpi_borrow_mut(&buffer, &view, 0, err));
    MPI_Recv(DLPARK_MPI_ARGS(buffer), 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    dlpark_mpi_release(&buffer);
    return DLPARK_OK;
}

/* The products of all processes, added up in process 0. */
static dlpark_status add_up(dlpark_error *err)
{
    dlpark_mpi_buffer from = DLPARK_MPI_BUFFER_EMPTY;
    dlpark_view view;

    DLPARK_TRY(dlpark_array_view(&view, &DLPARK_ARRAY_2D(product), err));
    DLPARK_TRY(dlpark_mpi_borrow(&from, &view, 0, err));
    MPI_Reduce(from.data, sum, from.count, from.type, MPI_SUM, 0, MPI_COMM_WORLD);
    dlpark_mpi_release(&from);
    return DLPARK_OK;
}

/* ---- Work ---- */

/* Adds rows [first, end) of the weight, each times its column of `left`, to `out`. `rows` begins at the first of them. */
static void multiply(float (*out)[WIDTH], float (*left)[DEPTH], const float *rows, int64_t first, int64_t end)
{
    for (int i = 0; i < BATCH; i++)
        for (int64_t k = first; k < end; k++)
            for (int j = 0; j < WIDTH; j++)
                out[i][j] += left[i][k] * rows[(k - first) * WIDTH + j];
}

static dlpark_status work(const char *path, int rank, int size, story *told, dlpark_error *err)
{
    const int64_t first = (int64_t)DEPTH * rank / size, end = (int64_t)DEPTH * (rank + 1) / size;
    dlpark_tensor weight = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    if (rank == 0)
        for (int to = 1; to < size; to++)
            DLPARK_TRY(send_columns(to, (int64_t)DEPTH * to / size, (int64_t)DEPTH * (to + 1) / size, err));
    else
        DLPARK_TRY(receive_columns(first, end, err));
    DLPARK_TRY(map_tensor(&weight, path, "weight", &view, err));
    dlpark_status status = dlpark_view_slice(&view, 0, first, end, 1, err);
    const float *rows = status == DLPARK_OK ? DLPARK_CPU(float, &view, err) : NULL;
    if (rows)
        multiply(product, rank == 0 ? inputs : mine, rows, first, end);
    *told = (story){(long long)first, (long long)end, (unsigned long long)(uintptr_t)rows};
    dlpark_tensor_release(&weight);
    return rows ? add_up(err) : err->status;
}

/* ---- The result ---- */

/* How many numbers of the file are not what this process computes alone. */
static dlpark_status count_wrong(const char *layer, const char *result, int *wrong, dlpark_error *err)
{
    static float expected[BATCH][WIDTH];
    dlpark_tensor weight = DLPARK_TENSOR_EMPTY, written = DLPARK_TENSOR_EMPTY;
    dlpark_view whole, view;

    DLPARK_TRY(map_tensor(&weight, layer, "weight", &whole, err));
    const float *rows = DLPARK_CPU(float, &whole, err);
    dlpark_status status = rows ? map_tensor(&written, result, "product", &view, err) : err->status;
    const float *numbers = status == DLPARK_OK ? DLPARK_CPU(float, &view, err) : NULL;
    if (numbers)
        multiply(expected, inputs, rows, 0, DEPTH);
    *wrong = numbers && dlpark_view_numel(&view) == (int64_t)BATCH * WIDTH ? 0 : BATCH * WIDTH;
    for (int i = 0; *wrong < BATCH * WIDTH && i < BATCH * WIDTH; i++)
        *wrong += numbers[i] != expected[i / WIDTH][i % WIDTH];
    dlpark_tensor_release(&written);
    dlpark_tensor_release(&weight);
    return numbers ? DLPARK_OK : err->status;
}

static dlpark_status write_sum(const char *path, dlpark_error *err)
{
    dlpark_view view;

    DLPARK_TRY(dlpark_array_view(&view, &DLPARK_ARRAY_2D(sum), err));
    const dlpark_file_part part = {.name = "product", .view = &view};
    return dlpark_file_save(path, &part, 1, NULL, err);
}

static dlpark_status run(char **paths, int rank, int size, int *wrong, dlpark_error *err)
{
    story told, stories[64];

    if (rank == 0)
        DLPARK_TRY(make_layer(paths[0], err));
    fill(inputs[0], rank == 0 ? (size_t)BATCH * DEPTH : 0, 5);
    MPI_Barrier(MPI_COMM_WORLD); /* the file is whole */
    DLPARK_TRY(work(paths[0], rank, size, &told, err));
    MPI_Gather(&told, sizeof told, MPI_BYTE, stories, sizeof told, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (rank != 0)
        return DLPARK_OK;
    for (int i = 0; i < size; i++)
        printf("process %d maps rows %4lld to %4lld of weight f32[%d, %d] at 0x%llx%s\n", i, stories[i].first,
               stories[i].end - 1, DEPTH, WIDTH, stories[i].address,
               i == 0 ? "" : ", and is sent its columns of the inputs");
    DLPARK_TRY(write_sum(paths[1], err));
    DLPARK_TRY(count_wrong(paths[0], paths[1], wrong, err));
    printf("inputs f32[%d, %d]: process 0 sent %d parts of stride %d from where they lie, 0 bytes packed by hand\n",
           BATCH, DEPTH, size - 1, DEPTH);
    printf("product f32[%d, %d]: added up in process 0, written and read again, %d of %d numbers wrong\n", BATCH, WIDTH,
           *wrong, BATCH * WIDTH);
    return DLPARK_OK;
}

int main(int argc, char **argv)
{
    dlpark_error err = {.message = ""};
    int rank, size, wrong = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 3 || size > 64 || run(argv + 1, rank, size, &wrong, &err) != DLPARK_OK || wrong > 0) {
        fprintf(stderr, "process %d: %s\n", rank,
                argc != 3 || size > 64 ? "rows LAYER PRODUCT, in 64 processes at most"
                : wrong > 0            ? "the product is wrong"
                                       : err.message);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}
