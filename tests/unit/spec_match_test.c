#include "test.h"

#include <stdbool.h>

static dlpark_spec_names names;
static dlpark_spec_bound bound;
static unsigned char memory[4096];

static int begin(void **state)
{
    (void)state;
    memset(&names, 0, sizeof names);
    memset(&bound, 0x3C, sizeof bound); /* what is not known has no meaning */
    dlpark_spec_bound_init(&bound);
    return 0;
}

static dlpark_spec made(const char *argument, const char *text)
{
    dlpark_spec spec;
    dlpark_error err;

    if (dlpark_spec_init(&spec, &names, argument, text, &err))
        fail_msg("\"%s\": %s", text, err.message);
    return spec;
}

/* A writable view on the host, compact where `strides` is NULL, at an address that is a multiple of 64. */
static dlpark_view view_of(DLDataType dtype, int32_t ndim, const int64_t *shape, const int64_t *strides)
{
    dlpark_view view;
    unsigned char *middle = memory + 2048 + 63;
    DLTensor tensor = {middle - (uintptr_t)middle % 64,
                       DLPARK_DEVICE_CPU,
                       ndim,
                       dtype,
                       (int64_t *)(uintptr_t)shape,
                       (int64_t *)(uintptr_t)strides,
                       0};

    assert_int_equal(dlpark_check(&tensor, 0, &view, NULL), DLPARK_OK);
    view.flags = 0;
    return view;
}

#define SHAPE(...) ((int64_t[]){__VA_ARGS__})

static dlpark_view f32_of(int32_t ndim, const int64_t *shape)
{
    return view_of(DLPARK_F32, ndim, shape, NULL);
}

static int64_t dim(const char *name)
{
    int64_t extent = -1;

    assert_int_equal(dlpark_spec_dim(&names, &bound, name, &extent, NULL), DLPARK_OK);
    return extent;
}

/* Fails as told, and changes nothing that is known. */
#define assert_refuses(expected, text, spec, view)                                                                     \
    do {                                                                                                               \
        dlpark_spec_bound before = bound;                                                                              \
        assert_fails(expected, text, dlpark_spec_match((spec), (view), &bound, e));                                    \
        assert_int_equal(bound.dims_known, before.dims_known);                                                         \
        assert_int_equal(bound.dtypes_known, before.dtypes_known);                                                     \
        for (int n = 0; n < DLPARK_SPEC_MAX_NAMES; n++) {                                                              \
            assert_true((before.dims_known >> n & 1) == 0 || bound.dims[n] == before.dims[n]);                         \
            assert_true((before.dtypes_known >> n & 1) == 0 || dlpark_dtype_equal(bound.dtypes[n], before.dtypes[n])); \
        }                                                                                                              \
    } while (0)

/* ---- Names ---- */

static void names_are_bound_across_the_arguments_of_a_call(void **state)
{
    (void)state;
    dlpark_spec a = made("a", "f32[n,k] c cpu"), b = made("b", "f32[k,m] c cpu");
    dlpark_view a_view = f32_of(2, SHAPE(3, 4)), b_view = f32_of(2, SHAPE(4, 5));
    dlpark_view wrong = view_of(DLPARK_F64, 2, SHAPE(5, 3), NULL);

    assert_ok(dlpark_spec_match(&a, &a_view, &bound, e));
    assert_refuses(DLPARK_E_DTYPE, "argument 'b': expected f32[k=4,m] c cpu, got f64[5,3]", &b, &wrong);
    assert_refuses(DLPARK_E_SHAPE, "argument 'b': expected f32[k=4,m] c cpu, got f32[3,4]", &b, &a_view);
    assert_ok(dlpark_spec_match(&b, &b_view, &bound, e));
    assert_true(dim("n") == 3 && dim("k") == 4 && dim("m") == 5);
    dlpark_spec_bound_init(&bound); /* the next call */
    assert_ok(dlpark_spec_match(&a, &b_view, &bound, e));
    assert_true(dim("n") == 4 && dim("k") == 5);
    assert_int_equal(bound.dims_known, 3);
}

static void a_name_may_stand_twice_in_a_spec(void **state)
{
    (void)state;
    dlpark_spec square = made("a", "f32[n,n]");
    dlpark_view good = f32_of(2, SHAPE(3, 3)), bad = f32_of(2, SHAPE(3, 4));

    assert_refuses(DLPARK_E_SHAPE, "argument 'a': expected f32[n,n], got f32[3,4]", &square, &bad);
    assert_int_equal(bound.dims_known, 0); /* the 3 does not count */
    assert_ok(dlpark_spec_match(&square, &good, &bound, e));
    assert_true(dim("n") == 3);
}

static void a_late_failure_binds_nothing(void **state)
{
    (void)state;
    dlpark_spec spec = made("a", "f32[n,m] f");
    dlpark_view view = f32_of(2, SHAPE(3, 4));

    assert_refuses(DLPARK_E_LAYOUT, "argument 'a': expected f32[n,m] f, got f32[3,4] strides [4,1]", &spec, &view);
    assert_int_equal(bound.dims_known, 0);
    assert_int_equal(bound.dtypes_known, 0);
}

static void all_names_and_arguments_can_be_bound(void **state)
{
    (void)state;
    dlpark_spec specs[DLPARK_SPEC_MAX_NAMES];
    char name[8], text[32];

    for (int i = 0; i < DLPARK_SPEC_MAX_NAMES; i++) {
        int64_t shape[] = {i};
        snprintf(name, sizeof name, "v%d", i);
        snprintf(text, sizeof text, "any[%s]", name);
        specs[i] = made(name, text);
        dlpark_view view = f32_of(1, shape);
        assert_ok(dlpark_spec_match(&specs[i], &view, &bound, e));
    }
    assert_true(bound.dims_known == UINT32_MAX && bound.dtypes_known == UINT32_MAX);
    for (int i = 0; i < DLPARK_SPEC_MAX_NAMES; i++) {
        snprintf(name, sizeof name, "v%d", i);
        assert_true(dim(name) == i);
        assert_true(dlpark_dtype_equal(bound.dtypes[i], DLPARK_F32));
    }
}

static void messages_name_the_argument_or_the_result(void **state)
{
    (void)state;
    dlpark_spec nameless = made(NULL, "f32[3]"), result;
    dlpark_view view = f32_of(1, SHAPE(4));

    assert_refuses(DLPARK_E_SHAPE, "expected f32[3], got f32[4]", &nameless, &view);
    assert_ok(dlpark_spec_init_result(&result, &names, "f32[?,3]", e));
    assert_refuses(DLPARK_E_RANK, "result: expected f32[?,3], got f32[4]", &result, &view);
    view = f32_of(2, SHAPE(4, 3));
    assert_ok(dlpark_spec_match(&result, &view, &bound, e));
}

/* ---- Dtypes ---- */

static void a_dtype_is_the_whole_triple(void **state)
{
    (void)state;
    dlpark_spec spec = made("a", "f32|i16|f32x4"), any = made(NULL, "any");
    static const struct {
        DLDataType dtype;
        bool fits;
    } cases[] = {{{kDLFloat, 32, 1}, true},  {{kDLInt, 16, 1}, true},    {{kDLFloat, 32, 4}, true},
                 {{kDLFloat, 32, 2}, false}, {{kDLFloat, 16, 1}, false}, {{kDLInt, 32, 1}, false},
                 {{kDLUInt, 16, 1}, false},  {{kDLBfloat, 16, 1}, false}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dlpark_view view = view_of(cases[i].dtype, 1, SHAPE(2), NULL);
        dlpark_spec_bound_init(&bound);
        assert_ok(dlpark_spec_match(&any, &view, &bound, e));
        if (cases[i].fits)
            assert_ok(dlpark_spec_match(&spec, &view, &bound, e));
        else
            assert_refuses(DLPARK_E_DTYPE, "argument 'a': expected f32|i16|f32x4, got", &spec, &view);
    }
}

static void same_is_the_dtype_of_an_argument(void **state)
{
    (void)state;
    dlpark_spec a = made("a", "any[n]"), b = made("b", "same(a)[n]");
    dlpark_view f32 = f32_of(1, SHAPE(2)), f64 = view_of(DLPARK_F64, 1, SHAPE(2), NULL);

    assert_refuses(DLPARK_E_ARGUMENT,
                   "argument 'b': expected the dtype of argument 'a', which was not matched in this call", &b, &f32);
    assert_ok(dlpark_spec_match(&a, &f64, &bound, e));
    assert_refuses(DLPARK_E_DTYPE, "argument 'b': expected same(a)=f64[n=2], got f32[2]", &b, &f32);
    assert_ok(dlpark_spec_match(&b, &f64, &bound, e));
    assert_int_equal(bound.dtypes_known, 3);
}

static void an_argument_has_one_dtype_in_a_call(void **state)
{
    (void)state;
    dlpark_spec a = made("a", "f32|f64[n]"), b = made("b", "same(a)");
    dlpark_view f32 = f32_of(1, SHAPE(2)), f64 = view_of(DLPARK_F64, 1, SHAPE(2), NULL),
                i8 = view_of(DLPARK_I8, 1, SHAPE(2), NULL);

    assert_ok(dlpark_spec_match(&a, &f32, &bound, e));
    assert_ok(dlpark_spec_match(&a, &f32, &bound, e));
    assert_refuses(DLPARK_E_DTYPE, "argument 'a': expected f32, as matched before in this call, got f64", &a, &f64);
    assert_refuses(DLPARK_E_DTYPE, "argument 'a': expected f32|f64[n=2], got i8[2]", &a, &i8);
    assert_ok(dlpark_spec_match(&b, &f32, &bound, e));
    dlpark_spec_bound_init(&bound); /* the next call */
    assert_ok(dlpark_spec_match(&a, &f64, &bound, e));
}

/* Whatever else is wrong as well: without the other argument nothing can be said of the dtype. */
static void an_argument_that_was_not_matched_comes_first(void **state)
{
    (void)state;
    (void)made("a", "any");
    dlpark_spec b = made("b", "same(a)[3] c mut cuda align=64");
    dlpark_view view = view_of(DLPARK_F32, 2, SHAPE(2, 2), SHAPE(1, 2));

    view.flags = DLPARK_VIEW_READ_ONLY;
    assert_refuses(DLPARK_E_ARGUMENT, "expected the dtype of argument 'a', which was not matched in this call", &b,
                   &view);
}

/* ---- Ranks and extents ---- */

/* The dimensions of a spec against a shape by trying every length that `...` may have; -2 is `_`, -1 is `...`, the other
 * negatives are names. */
static bool fits_slowly(int nitems, const int *items, int ndim, const int64_t *shape, int64_t *extents)
{
    if (nitems == 0)
        return ndim == 0;
    if (*items == -1) {
        int64_t kept[8];
        for (int length = 0; length <= ndim; length++) {
            memcpy(kept, extents, sizeof kept);
            if (fits_slowly(nitems - 1, items + 1, ndim - length, shape + length, kept)) {
                memcpy(extents, kept, sizeof kept);
                return true;
            }
        }
        return false;
    }
    if (ndim == 0)
        return false;
    if (*items >= 0 && *items != *shape)
        return false;
    if (*items < -2) {
        int64_t *extent = &extents[-3 - *items];
        if (*extent >= 0 && *extent != *shape)
            return false;
        *extent = *shape;
    }
    return fits_slowly(nitems - 1, items + 1, ndim - 1, shape + 1, extents);
}

/* Every list of up to three items against every shape of up to three extents. */
static void dimensions_match_as_the_slow_way_says(void **state)
{
    (void)state;
    static const char *const items[] = {"p", "n", "_", "...", "0", "1", "2"}; /* -4 to 2 */
    int fitted = 0;

    for (int list = 0; list < 8 * 8 * 8; list++) {
        char text[64] = "f32[";
        int nitems = 0, chosen[3], nellipses = 0;
        for (int rest = list; rest % 8 != 0; rest /= 8) {
            chosen[nitems] = rest % 8 - 1 - 4;
            nellipses += chosen[nitems] == -1;
            strcat(text, nitems == 0 ? "" : ",");
            strcat(text, items[chosen[nitems++] + 4]);
        }
        strcat(text, "]");
        if (nellipses > 1)
            continue;
        memset(&names, 0, sizeof names);
        dlpark_spec spec = made(NULL, text);
        for (int number = 0; number < 4 * 4 * 4; number++) {
            int64_t shape[3], extents[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
            int32_t ndim = 0;
            for (int rest = number; rest % 4 != 0; rest /= 4)
                shape[ndim++] = rest % 4 - 1;
            dlpark_view view = f32_of(ndim, shape);
            dlpark_spec_bound_init(&bound);
            bool fits = fits_slowly(nitems, chosen, ndim, shape, extents);
            dlpark_status status = dlpark_spec_match(&spec, &view, &bound, NULL);
            if (fits != (status == DLPARK_OK))
                fail_msg("%s: shape number %d", text, number);
            fitted += fits;
            for (int name = 0; fits && name < 2; name++)
                assert_true(extents[name] < 0 || dim(name == 0 ? "n" : "p") == extents[name]);
            assert_true(fits || status == DLPARK_E_RANK || status == DLPARK_E_SHAPE);
        }
    }
    assert_in_range(fitted, 500, 30000);
}

static void a_rank_is_told_apart_from_an_extent(void **state)
{
    (void)state;
    dlpark_spec scalar = made("s", "f32[]"), image = made("i", "f32[...,h,w,3]");
    dlpark_view none = f32_of(0, NULL), one = f32_of(1, SHAPE(1)), three = f32_of(3, SHAPE(2, 5, 4));

    assert_ok(dlpark_spec_match(&scalar, &none, &bound, e));
    assert_refuses(DLPARK_E_RANK, "argument 's': expected f32[], got f32[1]", &scalar, &one);
    assert_refuses(DLPARK_E_RANK, "argument 'i': expected f32[...,h,w,3], got f32[]", &image, &none);
    assert_refuses(DLPARK_E_SHAPE, "argument 'i': expected f32[...,h,w,3], got f32[2,5,4]", &image, &three);
}

static void the_highest_rank_matches(void **state)
{
    (void)state;
    int64_t shape[DLPARK_MAX_NDIM];
    dlpark_spec any = made(NULL, "f32 contig"), ends = made(NULL, "f32[n,...,m]");

    for (int i = 0; i < DLPARK_MAX_NDIM; i++)
        shape[i] = 1;
    shape[0] = 2;
    shape[63] = 7;
    dlpark_view view = f32_of(DLPARK_MAX_NDIM, shape);
    assert_ok(dlpark_spec_match(&any, &view, &bound, e));
    assert_ok(dlpark_spec_match(&ends, &view, &bound, e));
    assert_true(dim("n") == 2 && dim("m") == 7);
}

static void a_long_message_is_cut_and_marked(void **state)
{
    (void)state;
    int64_t shape[DLPARK_MAX_NDIM];
    dlpark_spec spec = made("a_name_as_long_as_they_may_be_3", "f32[0] metal");

    for (int i = 0; i < DLPARK_MAX_NDIM; i++)
        shape[i] = i == 0 ? 0 : 1234567;
    dlpark_view view = f32_of(DLPARK_MAX_NDIM, shape);
    assert_refuses(DLPARK_E_RANK, ",1234567,123456...", &spec, &view);
}

/* ---- Devices ---- */

static void devices_match_by_type_or_id(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        DLDevice device;
        const char *message; /* NULL: it matches */
    } cases[] = {
        {"any", {kDLTrn, 3}, NULL},
        {"any cpu", {kDLCPU, 0}, NULL},
        {"any cpu", {kDLCPU, 2}, NULL},
        {"any cpu", {kDLCUDAHost, 0}, NULL},
        {"any cpu", {kDLROCMHost, 0}, NULL},
        {"any cpu", {kDLCUDAManaged, 1}, NULL},
        {"any cpu", {kDLCUDA, 0}, "expected any cpu, got f32[2] on cuda:0"},
        {"any cpu:0", {kDLCUDAHost, 0}, "expected any cpu:0, got f32[2] on cuda_host"},
        {"any cpu:0", {kDLCPU, 0}, NULL},
        {"any cuda", {kDLCUDA, 7}, NULL},
        {"any cuda", {kDLCUDAManaged, 0}, "expected any cuda, got f32[2] on cuda_managed"},
        {"any cuda:1|cuda:3", {kDLCUDA, 3}, NULL},
        {"any cuda:1|cuda:3", {kDLCUDA, 2}, "expected any cuda:1|cuda:3, got f32[2] on cuda:2"},
        {"any cuda:1|metal", {kDLMetal, 5}, NULL},
        {"any cuda:1|metal", {kDLCPU, 0}, "expected any metal|cuda:1, got f32[2] on cpu"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dlpark_spec spec = made(NULL, cases[i].text);
        dlpark_view view = f32_of(1, SHAPE(2));
        view.device = cases[i].device;
        if (cases[i].message == NULL)
            assert_ok(dlpark_spec_match(&spec, &view, &bound, e));
        else
            assert_refuses(DLPARK_E_DEVICE, cases[i].message, &spec, &view);
    }
}

static void an_unknown_device_is_no_device(void **state)
{
    (void)state;
    dlpark_spec spec = made(NULL, "any align=8");
    dlpark_view view = f32_of(1, SHAPE(2));

    view.device = DLPARK_DEVICE((DLDeviceType)99, 0);
    assert_refuses(DLPARK_E_DEVICE, "expected any align=8, got f32[2] on device(type=99, id=0)", &spec, &view);
}

/* ---- Layouts ---- */

/* Whether walking the elements, the dimension `order` says innermost first, meets one address after the other. */
static bool is_compact_slowly(int ndim, const int64_t *shape, const int64_t *strides, bool last_first)
{
    int64_t index[3] = {0}, expected = 0;

    for (int i = 0; i < ndim; i++)
        if (shape[i] == 0)
            return true;
    for (;;) {
        int64_t at = 0;
        int n = 0;
        for (int i = 0; i < ndim; i++)
            at += index[i] * strides[i];
        if (at != expected++)
            return false;
        for (; n < ndim; n++) {
            int i = last_first ? ndim - 1 - n : n;
            if (++index[i] < shape[i])
                break;
            index[i] = 0;
        }
        if (n == ndim)
            return true;
    }
}

/* All layouts of rank up to 3 with extents 0 to 2 and strides -1 to 4. */
static void layouts_match_as_walking_the_elements_says(void **state)
{
    (void)state;
    dlpark_spec c = made(NULL, "f32 c"), f = made(NULL, "f32 f"), contig = made(NULL, "f32 contig"),
                inner = made(NULL, "f32 inner");
    int met[4] = {0};

    for (int number = 0; number < 19 * 19 * 19; number++) {
        int64_t shape[3], strides[3];
        int32_t ndim = 0;
        for (int rest = number; rest % 19 != 0; rest /= 19) {
            shape[ndim] = (rest % 19 - 1) % 3;
            strides[ndim++] = (rest % 19 - 1) / 3 - 1;
        }
        dlpark_view view = view_of(DLPARK_F32, ndim, shape, strides);
        bool row = is_compact_slowly(ndim, shape, strides, true);
        bool column = is_compact_slowly(ndim, shape, strides, false);
        int64_t numel = dlpark_view_numel(&view);
        bool unit = numel == 0 || ndim == 0 || shape[ndim - 1] == 1 || strides[ndim - 1] == 1;
        assert_int_equal(dlpark_spec_match(&c, &view, &bound, NULL), row ? DLPARK_OK : DLPARK_E_LAYOUT);
        assert_int_equal(dlpark_spec_match(&f, &view, &bound, NULL), column ? DLPARK_OK : DLPARK_E_LAYOUT);
        assert_int_equal(dlpark_spec_match(&contig, &view, &bound, NULL), row || column ? DLPARK_OK : DLPARK_E_LAYOUT);
        assert_int_equal(dlpark_spec_match(&inner, &view, &bound, NULL), unit ? DLPARK_OK : DLPARK_E_LAYOUT);
        assert_int_equal(row, dlpark_view_is_compact(&view));
        met[row + 2 * column]++;
    }
    for (int i = 0; i < 4; i++)
        assert_in_range(met[i], 10, 19 * 19 * 19);
}

static void extents_beside_a_zero_may_be_huge(void **state)
{
    (void)state;
    dlpark_spec contig = made(NULL, "f32 contig"), f = made(NULL, "f32 f");
    dlpark_view view = view_of(DLPARK_F32, 3, SHAPE(INT64_MAX, 0, INT64_MAX), SHAPE(5, INT64_MIN, 3));

    assert_ok(dlpark_spec_match(&contig, &view, &bound, e));
    assert_ok(dlpark_spec_match(&f, &view, &bound, e));
}

static void strides_are_told_when_they_matter(void **state)
{
    (void)state;
    dlpark_spec c = made("x", "f32[n,k] c"), inner = made("x2", "f32 inner");
    dlpark_view view = view_of(DLPARK_F32, 2, SHAPE(5, 3), SHAPE(1, 5));

    assert_refuses(DLPARK_E_LAYOUT, "argument 'x': expected f32[n,k] c, got f32[5,3] strides [1,5]", &c, &view);
    assert_refuses(DLPARK_E_LAYOUT, "argument 'x2': expected f32 inner, got f32[5,3] strides [1,5]", &inner, &view);
}

static void no_layout_begins_inside_a_byte_or_is_padded(void **state)
{
    (void)state;
    static const char *const texts[] = {"any c", "any f", "any contig", "any inner"};
    dlpark_view begun = view_of(DLPARK_U4, 1, SHAPE(8), NULL), padded = begun, whole = f32_of(1, SHAPE(8));
    dlpark_spec loose = made(NULL, "u4[n]"), aligned = made(NULL, "any align=1");

    begun.bit_offset = 4;
    padded.flags = DLPARK_VIEW_PADDED;
    whole.flags = DLPARK_VIEW_PADDED; /* harmless on whole bytes */
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        dlpark_spec spec = made(NULL, texts[i]);
        assert_refuses(DLPARK_E_LAYOUT, "got u4[8] strides [1] starting inside a byte", &spec, &begun);
        assert_refuses(DLPARK_E_LAYOUT, "got u4[8] strides [1] padded", &spec, &padded);
        assert_ok(dlpark_spec_match(&spec, &whole, &bound, e));
    }
    assert_ok(dlpark_spec_match(&loose, &begun, &bound, e));
    assert_ok(dlpark_spec_match(&loose, &padded, &bound, e));
    assert_refuses(DLPARK_E_ALIGNMENT, "expected any align=1, got u4[8] starting inside a byte", &aligned, &begun);
}

static void no_elements_have_any_layout_wherever_they_would_be(void **state)
{
    (void)state;
    static const char *const texts[] = {"any c", "any f", "any contig", "any inner", "any align=64"};
    dlpark_view begun = view_of(DLPARK_U4, 2, SHAPE(0, 8), SHAPE(5, 7)), padded = begun;

    begun.bit_offset = 4;
    padded.flags = DLPARK_VIEW_PADDED;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        dlpark_spec spec = made(NULL, texts[i]);
        assert_ok(dlpark_spec_match(&spec, &begun, &bound, e));
        assert_ok(dlpark_spec_match(&spec, &padded, &bound, e));
    }
}

/* ---- Writing and alignment ---- */

static void mut_wants_memory_that_may_be_written(void **state)
{
    (void)state;
    dlpark_spec mut = made("out", "f32[n] mut"), loose = made(NULL, "f32[n]");
    dlpark_view view = f32_of(1, SHAPE(2));

    assert_ok(dlpark_spec_match(&mut, &view, &bound, e));
    view.flags = DLPARK_VIEW_READ_ONLY | DLPARK_VIEW_UNKNOWN_WRITE;
    assert_refuses(DLPARK_E_READ_ONLY, "argument 'out': expected f32[n=2] mut, got f32[2] read-only", &mut, &view);
    view.flags = DLPARK_VIEW_UNKNOWN_WRITE;
    assert_refuses(DLPARK_E_READ_ONLY, "got f32[2] of unknown writability (legacy or raw origin)", &mut, &view);
    assert_ok(dlpark_spec_match(&loose, &view, &bound, e));
}

static void element_0_is_aligned(void **state)
{
    (void)state;
    dlpark_spec spec = made("x", "f32[n] align=64");
    dlpark_view view = f32_of(1, SHAPE(0)), odd = f32_of(1, SHAPE(4));

    odd.data = (unsigned char *)odd.data + 8;
    assert_refuses(DLPARK_E_ALIGNMENT, "argument 'x': expected f32[n] align=64, got f32[4] aligned to 8", &spec, &odd);
    odd.shape[0] = 0;
    assert_ok(dlpark_spec_match(&spec, &odd, &bound, e)); /* no elements */
    dlpark_spec_bound_init(&bound);
    odd.shape[0] = 4;
    odd.data = (unsigned char *)odd.data + 56;
    assert_ok(dlpark_spec_match(&spec, &odd, &bound, e));
    view.data = NULL;
    dlpark_spec_bound_init(&bound);
    assert_ok(dlpark_spec_match(&spec, &view, &bound, e));
}

static void a_handle_has_no_alignment_but_its_offset_has(void **state)
{
    (void)state;
    dlpark_spec spec = made(NULL, "f32 align=16");
    dlpark_view view = f32_of(1, SHAPE(4));

    view.device = DLPARK_DEVICE(kDLMetal, 0);
    view.data = (unsigned char *)view.data + 1;
    view.byte_offset = 32;
    assert_ok(dlpark_spec_match(&spec, &view, &bound, e));
    view.byte_offset = 36;
    assert_refuses(DLPARK_E_ALIGNMENT, "got f32[4] aligned to 4", &spec, &view);
}

/* ---- Several faults ---- */

static void the_first_fault_decides_and_all_are_told(void **state)
{
    (void)state;
    dlpark_spec spec = made("x", "f64[3] c mut cuda align=16");
    dlpark_view view = view_of(DLPARK_F32, 2, SHAPE(2, 2), SHAPE(1, 2));
    static const dlpark_status order[] = {DLPARK_E_DTYPE,  DLPARK_E_RANK,      DLPARK_E_SHAPE,    DLPARK_E_DEVICE,
                                          DLPARK_E_LAYOUT, DLPARK_E_READ_ONLY, DLPARK_E_ALIGNMENT};

    view.flags = DLPARK_VIEW_READ_ONLY;
    view.data = (unsigned char *)view.data + 4;
    for (int fault = 0; fault < 7; fault++) {
        dlpark_error err;
        assert_int_equal(dlpark_spec_match(&spec, &view, &bound, &err), order[fault]);
        assert_int_equal(strstr(err.message, " on cpu") != NULL, fault <= 3);
        assert_int_equal(strstr(err.message, " strides [") != NULL, fault <= 4);
        assert_int_equal(strstr(err.message, " read-only") != NULL, fault <= 5);
        assert_non_null(strstr(err.message, " aligned to 4"));
        switch (order[fault]) { /* repaired one after the other */
        case DLPARK_E_DTYPE:
            view.dtype = DLPARK_F64;
            break;
        case DLPARK_E_RANK:
            view.ndim = 1;
            view.strides[0] = 2;
            break;
        case DLPARK_E_SHAPE:
            view.shape[0] = 3;
            break;
        case DLPARK_E_DEVICE:
            view.device = DLPARK_DEVICE(kDLCUDA, 0);
            break;
        case DLPARK_E_LAYOUT:
            view.strides[0] = 1;
            break;
        case DLPARK_E_READ_ONLY:
            view.flags = 0;
            break;
        default:
            view.data = (unsigned char *)view.data - 4;
        }
    }
    assert_ok(dlpark_spec_match(&spec, &view, &bound, e));
}

static void recorded_words_are_not_matched(void **state)
{
    (void)state;
    dlpark_spec spec = made("x", "f32[n] none convert as=torch");
    dlpark_view view = f32_of(1, SHAPE(2)), wrong = view_of(DLPARK_F64, 1, SHAPE(2), NULL);

    assert_ok(dlpark_spec_match(&spec, &view, &bound, e));
    assert_refuses(DLPARK_E_DTYPE, "argument 'x': expected f32[n=2] none convert as=torch, got f64[2]", &spec, &wrong);
}

/* A spec of one dtype may be compared in one pass; one of two dtypes never is. Both must answer the same. */
static void compare_both_ways(const char *words, const dlpark_view *view)
{
    char one[64], two[64];
    dlpark_spec_bound first, second;

    memset(&names, 0, sizeof names);
    snprintf(one, sizeof one, "f32%s", words);
    snprintf(two, sizeof two, "f32|u64%s", words);
    dlpark_spec plain = made(NULL, one), general = made(NULL, two);
    dlpark_spec_bound_init(&first);
    dlpark_spec_bound_init(&second);
    dlpark_status status = dlpark_spec_match(&plain, view, &first, NULL);
    assert_int_equal(status, dlpark_spec_match(&general, view, &second, NULL));
    assert_int_equal(first.dims_known, second.dims_known);
    for (int i = 0; i < names.ndims; i++)
        if ((first.dims_known >> i & 1) != 0)
            assert_int_equal(first.dims[i], second.dims[i]);
}

static void zeroed_spec_is_told_from_one_that_matches_nothing(void **state)
{
    (void)state;
    static const dlpark_spec zeroed;
    dlpark_view view = f32_of(1, SHAPE(4));

    assert_fails(DLPARK_E_ARGUMENT, "not initialised", dlpark_spec_match(&zeroed, &view, &bound, e));
}

static void one_pass_and_the_general_way_agree(void **state)
{
    (void)state;
    static const char *const words[] = {
        "[n,k] c cpu",       "[n,n] c", "[_,2] c mut", "[...,2] c",    "[n,k] c align=64",
        "[n,k] c align=128", "[] c",    " c",          "[n,k] c cuda", "[n,k] c cuda:1|cpu",
        "[n,k] contig",      "[n,k] f", "[n,k] inner", "[n,1,k] c"};
    static const int64_t layouts[][4] = {{2, 2, 2, 1}, {2, 2, 1, 2}, {1, 2, 9, 1}, {2, 1, 1, 9},
                                         {0, 2, 7, 7}, {2, 0, 7, 7}, {3, 2, 2, 1}, {2, 2, 3, 1}};

    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++) {
        for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
            dlpark_view view = view_of(DLPARK_F32, 2, layouts[i], layouts[i] + 2);
            compare_both_ways(words[w], &view);
            view.ndim = 1;
            compare_both_ways(words[w], &view);
            view.ndim = 2;
            view.dtype = DLPARK_I32;
            compare_both_ways(words[w], &view);
            view.dtype = DLPARK_F32;
            view.device.device_type = (DLDeviceType)99;
            compare_both_ways(words[w], &view);
            view.device.device_type = kDLCPU;
            for (uint32_t flag = 1; flag <= 8; flag *= 2) {
                view.flags = flag;
                compare_both_ways(words[w], &view);
            }
            view.flags = 0;
            view.device = DLPARK_DEVICE(kDLCUDA, 1);
            compare_both_ways(words[w], &view);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(one_pass_and_the_general_way_agree, begin),
        cmocka_unit_test_setup(zeroed_spec_is_told_from_one_that_matches_nothing, begin),
        cmocka_unit_test_setup(names_are_bound_across_the_arguments_of_a_call, begin),
        cmocka_unit_test_setup(a_name_may_stand_twice_in_a_spec, begin),
        cmocka_unit_test_setup(a_late_failure_binds_nothing, begin),
        cmocka_unit_test_setup(all_names_and_arguments_can_be_bound, begin),
        cmocka_unit_test_setup(messages_name_the_argument_or_the_result, begin),
        cmocka_unit_test_setup(a_dtype_is_the_whole_triple, begin),
        cmocka_unit_test_setup(same_is_the_dtype_of_an_argument, begin),
        cmocka_unit_test_setup(an_argument_has_one_dtype_in_a_call, begin),
        cmocka_unit_test_setup(an_argument_that_was_not_matched_comes_first, begin),
        cmocka_unit_test_setup(dimensions_match_as_the_slow_way_says, begin),
        cmocka_unit_test_setup(a_rank_is_told_apart_from_an_extent, begin),
        cmocka_unit_test_setup(the_highest_rank_matches, begin),
        cmocka_unit_test_setup(a_long_message_is_cut_and_marked, begin),
        cmocka_unit_test_setup(devices_match_by_type_or_id, begin),
        cmocka_unit_test_setup(an_unknown_device_is_no_device, begin),
        cmocka_unit_test_setup(layouts_match_as_walking_the_elements_says, begin),
        cmocka_unit_test_setup(extents_beside_a_zero_may_be_huge, begin),
        cmocka_unit_test_setup(strides_are_told_when_they_matter, begin),
        cmocka_unit_test_setup(no_layout_begins_inside_a_byte_or_is_padded, begin),
        cmocka_unit_test_setup(no_elements_have_any_layout_wherever_they_would_be, begin),
        cmocka_unit_test_setup(mut_wants_memory_that_may_be_written, begin),
        cmocka_unit_test_setup(element_0_is_aligned, begin),
        cmocka_unit_test_setup(a_handle_has_no_alignment_but_its_offset_has, begin),
        cmocka_unit_test_setup(the_first_fault_decides_and_all_are_told, begin),
        cmocka_unit_test_setup(recorded_words_are_not_matched, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
