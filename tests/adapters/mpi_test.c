/* Views as buffers of MPI: sent from and received into where they lie. Run alone, and by four processes. */
#include "mpi_made.h"

#include <malloc.h>
#include <stdlib.h>

#include "passage.h"

static _Alignas(16) unsigned char from[4096], to[4096];

static const DLDataType dtypes[] = {
    {kDLBool, 8, 1},   {kDLInt, 8, 1},     {kDLInt, 16, 1},          {kDLInt, 32, 1},        {kDLInt, 64, 1},
    {kDLUInt, 8, 1},   {kDLUInt, 16, 1},   {kDLUInt, 32, 1},         {kDLUInt, 64, 1},       {kDLFloat, 32, 1},
    {kDLFloat, 64, 1}, {kDLFloat, 32, 4},  {kDLComplex, 64, 1},      {kDLComplex, 128, 1},   {kDLFloat, 16, 1},
    {kDLFloat, 16, 2}, {kDLBfloat, 16, 1}, {kDLFloat8_e4m3fn, 8, 1}, {kDLFloat8_e5m2, 8, 1}, {kDLComplex, 32, 1},
    {kDLInt, 128, 1},  {kDLFloat, 128, 1},
};

typedef struct layout {
    const char *name;
    int32_t ndim;
    int64_t first; /* element 0, from the start of the memory */
    int64_t shape[3];
    int64_t strides[3];
    int writable;
} layout;

static const layout layouts[] = {
    {"compact", 3, 0, {2, 3, 4}, {12, 4, 1}, 1},
    {"padded rows", 3, 0, {2, 3, 4}, {15, 5, 1}, 1},
    {"transposed", 3, 0, {2, 3, 4}, {1, 2, 6}, 1},
    {"every second element", 3, 0, {2, 3, 4}, {24, 8, 2}, 1},
    {"rows backwards", 3, 20, {2, 3, 4}, {-12, -4, 1}, 1},
    {"all backwards", 3, 23, {2, 3, 4}, {-12, -4, -1}, 1},
    {"outer dimensions permuted", 3, 0, {2, 3, 4}, {4, 8, 1}, 1},
    {"gaps in every dimension", 3, 0, {2, 3, 4}, {40, 11, 2}, 1},
    {"one row repeated", 3, 0, {2, 3, 4}, {0, 0, 1}, 0},
    {"windows that overlap", 3, 0, {2, 3, 4}, {3, 1, 1}, 0},
};

/* The bytes of element i, j, k. */
static unsigned char *element_at(unsigned char *memory, const layout *of, int64_t i, int64_t j, int64_t k,
                                 size_t nbytes)
{
    return memory + (of->first + i * of->strides[0] + j * of->strides[1] + k * of->strides[2]) * (int64_t)nbytes;
}

static int differences(const layout *a, const layout *b, size_t nbytes)
{
    int count = 0;

    for (int64_t i = 0; i < 2; i++)
        for (int64_t j = 0; j < 3; j++)
            for (int64_t k = 0; k < 4; k++)
                count += memcmp(element_at(from, a, i, j, k, nbytes), element_at(to, b, i, j, k, nbytes), nbytes) != 0;
    return count;
}

/* How many bytes of `to` are no longer what they were filled with. */
static size_t bytes_written(unsigned char filler)
{
    size_t count = 0;

    for (size_t i = 0; i < sizeof to; i++)
        count += to[i] != filler;
    return count;
}

static void cross(DLDataType dtype, const layout *a, const layout *b, uint32_t options)
{
    const size_t nbytes = dlpark_dtype_nbits(dtype) / 8;
    dlpark_mpi_buffer out = DLPARK_MPI_BUFFER_EMPTY, in = DLPARK_MPI_BUFFER_EMPTY;
    dlpark_view source = made_view(from + a->first * (int64_t)nbytes, dtype, a->ndim, a->shape, a->strides);
    dlpark_view target = made_view(to + b->first * (int64_t)nbytes, dtype, b->ndim, b->shape, b->strides);

    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)(i % 251);
    memset(to, 255, sizeof to);
    assert_ok(dlpark_mpi_borrow(&out, &source, options, e));
    assert_ptr_equal(out.data, source.data);
    assert_ok(dlpark_mpi_borrow_mut(&in, &target, options, e));
    assert_ptr_equal(in.data, target.data);
    send_around(&out, &in);
    dlpark_mpi_release(&out);
    dlpark_mpi_release(&in);
    assert_true(out.type == MPI_DATATYPE_NULL && in.type == MPI_DATATYPE_NULL);
    if (differences(a, b, nbytes))
        fail_msg("%s from \"%s\" to \"%s\"", dlpark_dtype_name(dtype).text, a->name, b->name);
    assert_int_equal(bytes_written(255), 24 * nbytes); /* and nothing between the elements */
}

static void every_dtype_crosses_in_every_layout(void **state)
{
    (void)state;
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++)
        for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
            cross(dtypes[d], &layouts[i], &layouts[0], 0);
            cross(dtypes[d], &layouts[i], &layouts[0], DLPARK_MPI_BYTES);
            passage_report("mpi", PASSAGE_OUT, dtypes[d], layouts[i].name, DLPARK_OK);
            if (!layouts[i].writable)
                continue;
            for (size_t k = 0; k < sizeof layouts / sizeof layouts[0]; k++)
                cross(dtypes[d], &layouts[k], &layouts[i], 0);
            passage_report("mpi", PASSAGE_OUT, dtypes[d], "to receive: any that does not overlap", DLPARK_OK);
        }
}

/* Messages that MPI sends in pieces: each piece begins somewhere inside of the type. */
static void large_messages_cross_in_pieces(void **state)
{
    static const DLDataType some[] = {{kDLUInt, 8, 1}, {kDLFloat, 16, 1}, {kDLComplex, 128, 1}};
    static const layout large[] = {
        {"all backwards", 3, 124999, {50, 50, 50}, {-2500, -50, -1}, 1},
        {"transposed", 3, 0, {50, 50, 50}, {1, 50, 2500}, 1},
        {"rows backwards, every second element", 3, 249900, {50, 50, 50}, {-5000, -100, 2}, 1},
    };
    enum { NUMEL = 125000, NBYTES = 2 * NUMEL * 16 };
    unsigned char *out = malloc(NBYTES), *in = malloc(NBYTES);

    (void)state;
    assert_true(out && in);
    for (size_t row = 0; row < 18; row++) {
        const layout *of = &large[row % 3];
        const DLDataType dtype = some[row / 6];
        const int64_t nbytes = dlpark_dtype_nbits(dtype) / 8, *strides = of->strides;
        const bool back = row / 3 % 2; /* from where they lie packed to where they lie apart */
        dlpark_mpi_buffer sent = DLPARK_MPI_BUFFER_EMPTY, received = DLPARK_MPI_BUFFER_EMPTY;
        dlpark_view apart = made_view(out + of->first * nbytes, dtype, 3, of->shape, strides);
        dlpark_view packed = made_view(in, dtype, 3, of->shape, NULL);
        for (size_t i = 0; i < NBYTES; i++) {
            out[i] = back ? 255 : (unsigned char)(i * 7 % 251);
            in[i] = back ? (unsigned char)(i * 11 % 251) : 255;
        }
        assert_ok(dlpark_mpi_borrow(&sent, back ? &packed : &apart, 0, e));
        assert_ok(dlpark_mpi_borrow_mut(&received, back ? &apart : &packed, 0, e));
        send_around(&sent, &received);
        dlpark_mpi_release(&sent);
        dlpark_mpi_release(&received);
        for (int64_t i = 0; i < NUMEL; i++) {
            int64_t at = of->first + i / 2500 * strides[0] + i / 50 % 50 * strides[1] + i % 50 * strides[2];
            if (memcmp(in + i * nbytes, out + at * nbytes, (size_t)nbytes) != 0)
                fail_msg("%s %s, element %d", dlpark_dtype_name(dtype).text, of->name, (int)i);
        }
    }
    free(out);
    free(in);
}

/* ---- What MPI is told ---- */

static void what_lies_side_by_side_needs_no_type(void **state)
{
    static const struct {
        DLDataType dtype;
        int count;
        uint32_t options;
        MPI_Datatype type;
    } rows[] = {
        {{kDLFloat, 32, 1}, 6, 0, MPI_FLOAT},
        {{kDLFloat, 32, 4}, 24, 0, MPI_FLOAT},
        {{kDLComplex, 64, 1}, 6, 0, MPI_C_FLOAT_COMPLEX},
        {{kDLFloat, 32, 1}, 24, DLPARK_MPI_BYTES, MPI_BYTE},
        {{kDLBfloat, 16, 3}, 36, DLPARK_MPI_BYTES, MPI_BYTE},
    };
    dlpark_mpi_buffer buffer = DLPARK_MPI_BUFFER_EMPTY;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        dlpark_view view = made_view(from, rows[i].dtype, 2, (int64_t[]){2, 3}, NULL);
        assert_ok(dlpark_mpi_borrow(&buffer, &view, rows[i].options, e));
        assert_int_equal(buffer.count, rows[i].count);
        assert_int_equal(buffer.is_made, 0);
        assert_true(buffer.type == rows[i].type);
        dlpark_mpi_release(&buffer);
    }
    /* Rank 0, no elements, and strides that mean nothing. */
    dlpark_view scalar = made_view(from, DLPARK_F64, 0, (int64_t[1]){0}, NULL);
    dlpark_view none = made_view(NULL, DLPARK_F64, 2, (int64_t[]){0, 3}, (int64_t[]){-5, 7});
    dlpark_view one = made_view(from, DLPARK_I8, 3, (int64_t[]){1, 4, 1}, (int64_t[]){-9, 1, 77});
    assert_ok(dlpark_mpi_borrow_mut(&buffer, &scalar, 0, e));
    assert_true(buffer.count == 1 && buffer.type == MPI_DOUBLE && buffer.data == from);
    dlpark_mpi_release(&buffer);
    passage_report("mpi", PASSAGE_OUT, DLPARK_F64, "rank 0", DLPARK_OK);
    assert_ok(dlpark_mpi_borrow_mut(&buffer, &none, 0, e));
    assert_true(buffer.count == 0 && buffer.type == MPI_DOUBLE);
    send_around(&buffer, &buffer);
    dlpark_mpi_release(&buffer);
    passage_report("mpi", PASSAGE_OUT, DLPARK_F64, "without elements", DLPARK_OK);
    assert_ok(dlpark_mpi_borrow_mut(&buffer, &one, 0, e));
    assert_true(buffer.count == 4 && buffer.type == MPI_INT8_T);
    dlpark_mpi_release(&buffer);
}

static void sums_are_of_what_mpi_can_add(void **state)
{
    float numbers[4], sums[4];
    uint16_t halves[4] = {0x3C00, 0x3C00, 0x3C00, 0x3C00}, untouched[4] = {7, 7, 7, 7};
    dlpark_mpi_buffer buffer = DLPARK_MPI_BUFFER_EMPTY;
    dlpark_view view = made_view(numbers, DLPARK_F32, 1, (int64_t[]){4}, NULL);
    int rank, size;

    (void)state;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 4; i++)
        numbers[i] = (float)(rank + i);
    assert_ok(dlpark_mpi_borrow(&buffer, &view, 0, e));
    assert_int_equal(MPI_Allreduce(buffer.data, sums, buffer.count, buffer.type, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
    for (int i = 0; i < 4; i++)
        assert_true(sums[i] == (float)(size * (size - 1) / 2 + size * i));
    dlpark_mpi_release(&buffer);
    /* Of a made type MPI says that it cannot; of MPI_BYTE Open MPI would add the bytes. */
    const dlpark_view refused[] = {made_view(halves, DLPARK_F16, 1, (int64_t[]){4}, NULL),
                                   made_view(halves, DLPARK_F8_E5M2, 1, (int64_t[]){4}, NULL),
                                   made_view(numbers, DLPARK_F32, 1, (int64_t[]){2}, (int64_t[]){2})};
    for (size_t i = 0; i < 3; i++) {
        assert_ok(dlpark_mpi_borrow(&buffer, &refused[i], 0, e));
        assert_int_not_equal(MPI_Allreduce(buffer.data, untouched, buffer.count, buffer.type, MPI_SUM, MPI_COMM_WORLD),
                             MPI_SUCCESS);
        assert_int_equal(untouched[0], 7);
        dlpark_mpi_release(&buffer);
    }
}

/* An operation of one's own is told elements, not bytes. */
static void keep_larger(void *theirs, void *ours, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        if (((uint16_t *)theirs)[i] > ((uint16_t *)ours)[i])
            ((uint16_t *)ours)[i] = ((uint16_t *)theirs)[i];
}

static void halves_reduce_by_an_operation_of_ones_own(void **state)
{
    uint16_t halves[4], largest[4];
    dlpark_mpi_buffer buffer = DLPARK_MPI_BUFFER_EMPTY;
    dlpark_view view = made_view(halves, DLPARK_F16, 1, (int64_t[]){4}, NULL);
    MPI_Op larger;
    int rank, size;

    (void)state;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 4; i++)
        halves[i] = (uint16_t)(i % size == rank ? 0x3C00 + i : 0); /* 1, and a little more */
    assert_int_equal(MPI_Op_create(keep_larger, 1, &larger), MPI_SUCCESS);
    assert_ok(dlpark_mpi_borrow(&buffer, &view, 0, e));
    assert_int_equal(buffer.count, 4);
    assert_int_equal(MPI_Allreduce(halves, largest, buffer.count, buffer.type, larger, MPI_COMM_WORLD), MPI_SUCCESS);
    for (int i = 0; i < 4; i++)
        assert_int_equal(largest[i], 0x3C00 + i);
    dlpark_mpi_release(&buffer);
    MPI_Op_free(&larger);
}

/* ---- What is refused ---- */

static dlpark_view raw_view(void *data, DLDevice device, DLDataType dtype, uint64_t flags)
{
    DLTensor raw = {.data = data,
                    .device = device,
                    .ndim = 2,
                    .dtype = dtype,
                    .shape = (int64_t[]){2, 3},
                    .strides = (int64_t[]){4, 1}};
    dlpark_view view;

    assert_ok(dlpark_check(&raw, flags, &view, e));
    return view;
}

/* Both ways, and the buffer stays empty. */
static void refuse(const dlpark_view *view, uint32_t options, dlpark_status status, const char *says,
                   bool only_to_write)
{
    dlpark_mpi_buffer buffer = DLPARK_MPI_BUFFER_EMPTY;

    assert_fails(status, says, dlpark_mpi_borrow_mut(&buffer, view, options, e));
    assert_true(buffer.type == MPI_DATATYPE_NULL && !buffer.is_made);
    if (only_to_write) {
        assert_ok(dlpark_mpi_borrow(&buffer, view, options, e));
        dlpark_mpi_release(&buffer);
    } else {
        assert_fails(status, says, dlpark_mpi_borrow(&buffer, view, options, e));
        assert_true(buffer.type == MPI_DATATYPE_NULL && !buffer.is_made);
    }
}

static void memory_that_is_not_to_be_written_is_refused(void **state)
{
    const DLDevice cpu = {kDLCPU, 0};
    const dlpark_view read_only = raw_view(from, cpu, DLPARK_F32, DLPACK_FLAG_BITMASK_READ_ONLY);
    const dlpark_view unknown = raw_view(from, cpu, DLPARK_F32, 0);
    const dlpark_view repeated = made_view(from, DLPARK_F32, 2, (int64_t[]){2, 3}, (int64_t[]){0, 1});
    const dlpark_view windows = made_view(from, DLPARK_U8, 2, (int64_t[]){2, 3}, (int64_t[]){-1, 1});

    (void)state;
    refuse(&read_only, 0, DLPARK_E_READ_ONLY, "", true);
    passage_report("mpi", PASSAGE_OUT, DLPARK_F32, "to receive: read-only", DLPARK_E_READ_ONLY);
    refuse(&unknown, DLPARK_MPI_BYTES, DLPARK_E_READ_ONLY, "", true);
    refuse(&repeated, 0, DLPARK_E_STRIDES, "same place: shape [2, 3] with strides [0, 1]", true);
    passage_report("mpi", PASSAGE_OUT, DLPARK_F32, "to receive: overlapping", DLPARK_E_STRIDES);
    refuse(&windows, DLPARK_MPI_BYTES, DLPARK_E_STRIDES, "strides [-1, 1]", true);
}

static void memory_of_devices_is_refused_unless_asked_for(void **state)
{
    dlpark_mpi_buffer buffer = DLPARK_MPI_BUFFER_EMPTY;
    const dlpark_view cuda = raw_view(from, (DLDevice){kDLCUDA, 1}, DLPARK_F32, 0);
    const dlpark_view metal = raw_view(from, (DLDevice){kDLMetal, 0}, DLPARK_F32, 0);
    const dlpark_view pinned = raw_view(from, (DLDevice){kDLCUDAHost, 0}, DLPARK_F32, 0);

    (void)state;
    assert_fails(DLPARK_E_DEVICE, "on cuda:1: the 24 bytes would have to be copied",
                 dlpark_mpi_borrow(&buffer, &cuda, 0, e));
    passage_report("mpi", PASSAGE_OUT, DLPARK_F32, "on a device", DLPARK_E_DEVICE);
    assert_ok(dlpark_mpi_borrow(&buffer, &cuda, DLPARK_MPI_DEVICE, e));
    assert_true(buffer.data == from && buffer.count == 1 && buffer.is_made);
    dlpark_mpi_release(&buffer);
    passage_report("mpi", PASSAGE_OUT, DLPARK_F32, "on a device, with DLPARK_MPI_DEVICE", DLPARK_OK);
    refuse(&cuda, DLPARK_MPI_DEVICE, DLPARK_E_READ_ONLY, "", true); /* what else is asked for is asked for there too */
    refuse(&metal, DLPARK_MPI_DEVICE, DLPARK_E_DEVICE, "behind a handle of metal:0", false);
    passage_report("mpi", PASSAGE_OUT, DLPARK_F32, "behind a handle, with DLPARK_MPI_DEVICE", DLPARK_E_DEVICE);
    assert_ok(dlpark_mpi_borrow(&buffer, &pinned, 0, e));
    dlpark_mpi_release(&buffer);
}

static void elements_that_mpi_cannot_name_are_refused(void **state)
{
    const DLDataType packed[] = {DLPARK_I4, DLPARK_F4_E2M1FN, DLPARK_F6_E2M3FN, DLPARK_DTYPE(kDLInt, 4, 3)};
    dlpark_mpi_buffer buffer = DLPARK_MPI_BUFFER_EMPTY;
    dlpark_view shifted = made_view(from + 1, DLPARK_F32, 2, (int64_t[]){2, 3}, (int64_t[]){4, 1});

    (void)state;
    for (size_t i = 0; i < sizeof packed / sizeof packed[0]; i++) {
        dlpark_view view = made_view(from, packed[i], 1, (int64_t[]){8}, NULL);
        refuse(&view, 0, DLPARK_E_DTYPE, dlpark_dtype_name(packed[i]).text, false);
        refuse(&view, DLPARK_MPI_BYTES, DLPARK_E_DTYPE, "share bytes", false);
        passage_report("mpi", PASSAGE_OUT, packed[i], "packed", DLPARK_E_DTYPE);
    }
    dlpark_view padded = raw_view(from, (DLDevice){kDLCPU, 0}, DLPARK_I4, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);
    assert_ok(dlpark_mpi_borrow(&buffer, &padded, 0, e));
    assert_int_equal(buffer.is_made, 1);
    dlpark_mpi_release(&buffer);
    passage_report("mpi", PASSAGE_OUT, DLPARK_I4, "padded", DLPARK_OK);
    refuse(&shifted, 0, DLPARK_E_ALIGNMENT, "4", false);
    passage_report("mpi", PASSAGE_OUT, DLPARK_F32, "misaligned", DLPARK_E_ALIGNMENT);
    assert_ok(dlpark_mpi_borrow_mut(&buffer, &shifted, DLPARK_MPI_BYTES, e));
    passage_report("mpi", PASSAGE_OUT, DLPARK_F32, "misaligned, with DLPARK_MPI_BYTES", DLPARK_OK);
    assert_fails(DLPARK_E_NOT_EMPTY, "of 1", dlpark_mpi_borrow(&buffer, &padded, 0, e));
    dlpark_mpi_release(&buffer);
    dlpark_mpi_release(&buffer); /* nothing, once more */
    refuse(&padded, 4, DLPARK_E_FLAGS, "the options are 0x4", false);
}

/* ---- Lifetime ---- */

static void a_type_may_go_before_its_message_is_there(void **state)
{
    static float column[4][3], got[3][4];
    dlpark_mpi_buffer out = DLPARK_MPI_BUFFER_EMPTY, in = DLPARK_MPI_BUFFER_EMPTY;
    dlpark_view source = made_view(column, DLPARK_F32, 2, (int64_t[]){3, 4}, (int64_t[]){1, 3});
    dlpark_view target = made_view(got, DLPARK_F32, 2, (int64_t[]){3, 4}, NULL);
    MPI_Request requests[2];
    int rank, size;

    (void)state;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 12; i++)
        column[i / 3][i % 3] = (float)i;
    assert_ok(dlpark_mpi_borrow_mut(&in, &target, 0, e));
    assert_ok(dlpark_mpi_borrow(&out, &source, 0, e));
    MPI_Irecv(DLPARK_MPI_ARGS(in), (rank + size - 1) % size, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(DLPARK_MPI_ARGS(out), (rank + 1) % size, 1, MPI_COMM_WORLD, &requests[1]);
    dlpark_mpi_release(&in);
    dlpark_mpi_release(&out);
    assert_int_equal(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 4; k++)
            assert_true(got[i][k] == column[k][i]);
}

static void round_trips_leave_no_memory_behind(void **state)
{
    dlpark_mpi_buffer buffer = DLPARK_MPI_BUFFER_EMPTY;
    dlpark_view view = made_view(from, DLPARK_F32, 3, (int64_t[]){2, 3, 4}, (int64_t[]){40, 11, 2});
    size_t before = 0;

    (void)state;
    for (int i = 0; i < 101000; i++) {
        if (i == 1000)
            before = mallinfo2().uordblks;
        assert_int_equal(dlpark_mpi_borrow_mut(&buffer, &view, 0, NULL), DLPARK_OK);
        dlpark_mpi_release(&buffer);
    }
    assert_in_range(mallinfo2().uordblks, 0, before + 4096);
}

/* MPI before its beginning and after its end: what needs a type is refused, and what is released is forgotten. */
static void check_outside_of_mpi(const char *says)
{
    dlpark_mpi_buffer buffer = DLPARK_MPI_BUFFER_EMPTY;
    dlpark_view strided = made_view(from, DLPARK_F32, 2, (int64_t[]){2, 3}, (int64_t[]){4, 1});
    dlpark_view compact = made_view(from, DLPARK_F32, 2, (int64_t[]){2, 3}, NULL);

    refuse(&strided, 0, DLPARK_E_ARGUMENT, says, false);
    assert_ok(dlpark_mpi_borrow(&buffer, &compact, 0, e));
    dlpark_mpi_release(&buffer);
}

static dlpark_mpi_buffer outlives = DLPARK_MPI_BUFFER_EMPTY;
static MPI_Datatype left_to_mpi; /* which has ended, and never frees it: memcheck is not to take it for lost */

static void before_mpi(void **state)
{
    dlpark_view strided = made_view(from, DLPARK_F32, 2, (int64_t[]){2, 3}, (int64_t[]){4, 1});

    check_outside_of_mpi("is not initialised");
    assert_int_equal(begin_mpi(state), 0);
    assert_ok(dlpark_mpi_borrow(&outlives, &strided, 0, e));
    left_to_mpi = outlives.type;
}

static void after_mpi(void **state)
{
    assert_int_equal(end_mpi(state), 0);
    dlpark_mpi_release(&outlives);
    assert_true(outlives.type == MPI_DATATYPE_NULL && left_to_mpi != MPI_DATATYPE_NULL);
    check_outside_of_mpi("is finalised");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_mpi),
        cmocka_unit_test(every_dtype_crosses_in_every_layout),
        cmocka_unit_test(large_messages_cross_in_pieces),
        cmocka_unit_test(what_lies_side_by_side_needs_no_type),
        cmocka_unit_test(sums_are_of_what_mpi_can_add),
        cmocka_unit_test(halves_reduce_by_an_operation_of_ones_own),
        cmocka_unit_test(memory_that_is_not_to_be_written_is_refused),
        cmocka_unit_test(memory_of_devices_is_refused_unless_asked_for),
        cmocka_unit_test(elements_that_mpi_cannot_name_are_refused),
        cmocka_unit_test(a_type_may_go_before_its_message_is_there),
        cmocka_unit_test(round_trips_leave_no_memory_behind),
        cmocka_unit_test(after_mpi),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
