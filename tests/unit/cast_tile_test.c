#include "cast_pairs.h"

/* Views whose runs are short, on one side or both: what a tile spans. Against one element at a time. */

typedef struct tile_layout {
    int64_t step, gap; /* from one element of a row to the next; elements behind a row */
} tile_layout;

static const tile_layout layouts[] = {{1, 0}, {1, 2}, {2, 0}, {1, 1200}};

/* Planes of rows. */
static dlpark_view rows_of(const run_memory *memory, DLDataType dtype, const int64_t shape[3], tile_layout layout)
{
    dlpark_view view;
    int64_t row = shape[2] * layout.step + layout.gap;
    int64_t strides[3] = {row * shape[1] + layout.gap, row, layout.step}, sizes[3] = {shape[0], shape[1], shape[2]};
    DLTensor tensor = {memory->bytes + RUN_GUARD, {kDLCPU, 0}, 3, dtype, sizes, strides, 0};

    assert_ok(dlpark_check(&tensor, 0, &view, e));
    return view;
}

static size_t rows_nbytes(DLDataType dtype, const int64_t shape[3], tile_layout layout)
{
    int64_t row = shape[2] * layout.step + layout.gap;

    return (size_t)((shape[0] * (row * shape[1] + layout.gap) * dtype.bits + 7) / 8);
}

static void check_rows(DLDataType from_dtype, tile_layout from_layout, DLDataType to_dtype, tile_layout to_layout,
                       const int64_t shape[3])
{
    run_memory source = memory_new(rows_nbytes(from_dtype, shape, from_layout));
    run_memory chain = memory_new(rows_nbytes(to_dtype, shape, to_layout)), exact = memory_new(chain.nbytes);

    fill_source(&source, from_dtype, (uint64_t)shape[2]);
    dlpark_view from = rows_of(&source, from_dtype, shape, from_layout);
    dlpark_view to = rows_of(&chain, to_dtype, shape, to_layout), other = rows_of(&exact, to_dtype, shape, to_layout);
    dlpark__cast_job job =
        job_of(&to, &from, is_float(to_dtype) ? DLPARK_OVERFLOW_NOSAT : DLPARK_OVERFLOW_SATURATE, DLPARK_SCALE_NEAREST);
    run_chain(&job, &to, &from);
    dlpark__cast_exact(&job, &other, &from);
    if (memcmp(chain.bytes, exact.bytes, chain.nbytes + 2 * RUN_GUARD) != 0)
        fail_msg("%s in steps of %d with gaps of %d to %s in steps of %d with gaps of %d, rows of %d",
                 dlpark_dtype_name(from_dtype).text, (int)from_layout.step, (int)from_layout.gap,
                 dlpark_dtype_name(to_dtype).text, (int)to_layout.step, (int)to_layout.gap, (int)shape[2]);
    free(source.bytes);
    free(chain.bytes);
    free(exact.bytes);
}

static void each_pair_of_layouts(DLDataType from, DLDataType to)
{
    static const int64_t lengths[] = {3, 8, 34, 100, 192, 300, 600};

    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        const int64_t shape[3] = {2, 700 / lengths[i] + 1, lengths[i]};
        for (size_t a = 0; a < sizeof layouts / sizeof layouts[0]; a++)
            for (size_t b = 0; b < sizeof layouts / sizeof layouts[0]; b++)
                if (layouts[a].gap + layouts[b].gap <= 1202)
                    check_rows(from, layouts[a], to, layouts[b], shape);
    }
}

static void test_rows(void **state)
{
    (void)state;
    const DLDataType dtypes[] = {DLPARK_F64,       DLPARK_F32, DLPARK_BF16,      DLPARK_F8_E4M3FN,
                                 DLPARK_F4_E2M1FN, DLPARK_I8,  DLPARK_F6_E2M3FN, DLPARK_C64};

    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        for (size_t j = 0; j < sizeof dtypes / sizeof dtypes[0]; j++)
            if (i != j)
                each_pair_of_layouts(dtypes[i], dtypes[j]);
}

/* ---- In place: the last vector of a run may not go back to what has been written ---- */

static dlpark_view short_view(void *data, DLDataType dtype, int64_t count)
{
    dlpark_view view;
    DLTensor tensor = {data, {kDLCPU, 0}, 1, dtype, &count, NULL, 0};

    assert_ok(dlpark_check(&tensor, 0, &view, e));
    assert_ok(dlpark_view_allow_write(&view, e));
    return view;
}

static void check_in_place(DLDataType from_dtype, DLDataType to_dtype, int64_t count)
{
    size_t nbytes = (size_t)count * from_dtype.bits / 8;
    run_memory source = memory_new(nbytes), exact = memory_new(nbytes);

    fill_source(&source, from_dtype, (uint64_t)count);
    dlpark_view from = short_view(source.bytes + RUN_GUARD, from_dtype, count);
    dlpark_view other = short_view(exact.bytes + RUN_GUARD, to_dtype, count);
    dlpark__cast_job job = job_of(&other, &from, is_float(to_dtype) ? DLPARK_OVERFLOW_NOSAT : DLPARK_OVERFLOW_SATURATE,
                                  DLPARK_SCALE_NEAREST);
    dlpark__cast_exact(&job, &other, &from);
    dlpark_view to = short_view(source.bytes + RUN_GUARD, to_dtype, count);
    assert_ok(dlpark_cast(&to, &from, &(dlpark_cast_options){.overflow = job.overflow}, e));
    if (memcmp(source.bytes, exact.bytes, RUN_GUARD + (size_t)count * to_dtype.bits / 8) != 0)
        fail_msg("%s to %s, %d in place", dlpark_dtype_name(from_dtype).text, dlpark_dtype_name(to_dtype).text,
                 (int)count);
    free(source.bytes);
    free(exact.bytes);
}

static void test_in_place(void **state)
{
    (void)state;
    const DLDataType dtypes[] = RUN_DTYPES;

    for (size_t i = 0; i < RUN_COUNT; i++) {
        for (size_t j = 0; j < RUN_COUNT; j++) {
            DLDataType from = dtypes[i], to = dtypes[j];
            if (i == j || from.bits < 8 || to.bits < 8 || to.bits > from.bits || from.code == kDLComplex ||
                to.code == kDLComplex)
                continue;
            for (int64_t count = 1; count <= 140; count += count < 70 ? 1 : 7)
                check_in_place(from, to, count);
            check_in_place(from, to, 1501);
        }
    }
}

static void test_each_set_of_instructions(void **state)
{
    const dlpark__kernels *set;

    for (size_t i = 0; (set = dlpark__kernels_list(i)) != NULL; i++) {
        dlpark__kernels_use(set);
        test_rows(state);
        test_in_place(state);
    }
    dlpark__kernels_use(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_set_of_instructions)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
