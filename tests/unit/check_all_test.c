#include "test.h"

#include <stdbool.h>

#include "internal.h"

static _Alignas(64) unsigned char memory[4096];
static int64_t shape_2x3[] = {2, 3}, strides_3x1[] = {3, 1};

#define V(major, minor) ((DLPackVersion){major, minor})

static DLTensor good(void)
{
    return (DLTensor){memory, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape_2x3, strides_3x1, 0};
}

/* Whether a rule is among the faults of a tensor. */
static bool has(const DLTensor *tensor, uint64_t flags, DLPackVersion version, dlpark_rule rule)
{
    dlpark_fault faults[32];
    size_t count = dlpark_check_all_version(tensor, flags, version, faults, 32);

    assert_true(count <= 32);
    for (size_t i = 0; i < count; i++)
        if (faults[i].rule == rule)
            return true;
    return false;
}

/* ---- The list ---- */

static void all_faults_are_listed_in_order(void **state)
{
    (void)state;
    static const dlpark_rule expected[] = {DLPARK_RULE_FLAGS,       DLPARK_RULE_DTYPE_LANES, DLPARK_RULE_DTYPE_BITS,
                                           DLPARK_RULE_DEVICE_TYPE, DLPARK_RULE_DEVICE_ID,   DLPARK_RULE_EXTENT,
                                           DLPARK_RULE_EXTENT,      DLPARK_RULE_NULL_STRIDES};
    int64_t shape[] = {-1, 4, INT64_MIN};
    DLTensor tensor = {NULL, {(DLDeviceType)6, -3}, 3, {kDLFloat, 31, 0}, shape, NULL, 8};
    dlpark_fault faults[16];

    memset(faults, 0x5A, sizeof faults);
    assert_int_equal(dlpark_check_all(&tensor, 0xF0, faults, 16), 8);
    for (int i = 0; i < 8; i++)
        assert_int_equal(faults[i].rule, expected[i]);
    assert_string_equal(faults[5].field, "shape[0]");
    assert_int_equal(faults[5].dimension, 0);
    assert_string_equal(faults[6].field, "shape[2]");
    assert_int_equal(faults[6].dimension, 2);
    assert_int_equal(faults[6].value, INT64_MIN);
    assert_int_equal(faults[7].dimension, -1);
    assert_int_equal(faults[8].rule, 0x5A5A5A5A);
}

static void faults_of_a_dtype_do_not_hide_each_other(void **state)
{
    (void)state;
    DLTensor tensor = good();
    dlpark_fault faults[4];

    tensor.dtype = (DLDataType){99, 8, 0};
    assert_int_equal(dlpark_check_all(&tensor, 0, faults, 4), 2);
    assert_int_equal(faults[0].rule, DLPARK_RULE_DTYPE_CODE);
    assert_int_equal(faults[1].rule, DLPARK_RULE_DTYPE_LANES);
    tensor.dtype = (DLDataType){kDLComplex, 1, 2};
    assert_int_equal(dlpark_check_all(&tensor, 0, faults, 4), 2);
    assert_int_equal(faults[0].rule, DLPARK_RULE_DTYPE_COMPLEX);
    assert_non_null(strstr(faults[0].message, "2 lanes of 1 bit,"));
    assert_int_equal(faults[1].rule, DLPARK_RULE_DTYPE_BITS);
    tensor.dtype.bits = 8;
    assert_int_equal(dlpark_check_all(&tensor, 0, faults, 4), 2);
    assert_non_null(strstr(faults[0].message, "2 lanes of 8 bits,"));
}

static void widths_are_told_by_code(void **state)
{
    (void)state;
    static const struct {
        uint8_t code, bits;
        const char *message;
    } cases[] = {
        {kDLInt, 9, "dtype code 0 (int) has 9 bits, expected 1, 2, 4, 8, 16, 32, 64 or 128"},
        {kDLUInt, 0, "dtype code 1 (uint) has 0 bits, expected 1, 2, 4, 8, 16, 32, 64 or 128"},
        {kDLFloat, 80, "dtype code 2 (float) has 80 bits, expected 16, 32, 64 or 128"},
        {kDLOpaqueHandle, 1, "dtype code 3 (opaque) has 1 bit, expected a multiple of 8"},
        {kDLBfloat, 32, "dtype code 4 (bfloat16) has 32 bits, expected 16"},
        {kDLComplex, 16, "dtype code 5 (complex) has 16 bits, expected 32, 64 or 128"},
        {kDLBool, 1, "dtype code 6 (bool) has 1 bit, expected 8"},
        {kDLFloat8_e4m3b11fnuz, 6, "dtype code 9 (float8_e4m3b11fnuz) has 6 bits, expected 8"},
        {kDLFloat6_e3m2fn, 8, "dtype code 16 (float6_e3m2fn) has 8 bits, expected 6"},
        {kDLFloat4_e2m1fn, 8, "dtype code 17 (float4_e2m1fn) has 8 bits, expected 4"},
    };
    DLTensor tensor = good();
    dlpark_error err;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tensor.dtype = (DLDataType){cases[i].code, cases[i].bits, 1};
        assert_int_equal(dlpark_check(&tensor, 0, NULL, &err), DLPARK_E_DTYPE);
        assert_string_equal(err.message, cases[i].message);
    }
}

/* As if somebody had put a tensor right between the verdict and the words for it. */
static void nothing_to_explain_is_an_error_with_words(void **state)
{
    (void)state;
    DLTensor tensor = good();

    assert_fails(DLPARK_E_ARGUMENT, "was changed while it was checked", dlpark__check_explain(&tensor, 0, true, e));
    tensor.shape = NULL;
    assert_fails(DLPARK_E_SHAPE, "shape is NULL", dlpark__check_explain(&tensor, 0, false, e));
}

static void overflows_are_listed_beside_each_other(void **state)
{
    (void)state;
    int64_t shape[] = {INT64_MAX, 3}, strides[] = {4, 1};
    DLTensor tensor = good();
    dlpark_fault faults[4];

    tensor.shape = shape;
    tensor.strides = strides;
    tensor.data = NULL;
    assert_true(dlpark_check_all(&tensor, 0, faults, 4) >= 3);
    assert_int_equal(faults[0].rule, DLPARK_RULE_NUMEL);
    assert_int_equal(faults[1].rule, DLPARK_RULE_REACH);
    assert_int_equal(faults[2].rule, DLPARK_RULE_DATA);
    assert_non_null(strstr(faults[2].message, "there are elements (shape [9223372036854775807, 3])"));
}

static void count_is_told_beyond_the_room(void **state)
{
    (void)state;
    int64_t shape[64];
    DLTensor tensor = good();
    dlpark_fault faults[3];

    for (int i = 0; i < 64; i++)
        shape[i] = -i - 1;
    tensor.ndim = 64;
    tensor.shape = shape;
    tensor.strides = NULL;
    memset(faults, 0x5A, sizeof faults);
    assert_int_equal(dlpark_check_all(&tensor, 0, faults, 2), 65);
    assert_string_equal(faults[1].message, "shape[1] is -2, expected 0 or more");
    assert_int_equal(faults[2].rule, 0x5A5A5A5A);
    assert_int_equal(dlpark_check_all(&tensor, 0, NULL, 0), 65);
}

static void lists_are_not_read_where_they_cannot_be(void **state)
{
    (void)state;
    int64_t *nowhere = (int64_t *)(uintptr_t)8;
    DLTensor tensor = good();

    tensor.shape = tensor.strides = nowhere;
    tensor.ndim = 65;
    assert_int_equal(dlpark_check_all(&tensor, 0, NULL, 0), 1);
    tensor.ndim = -1;
    assert_int_equal(dlpark_check_all(&tensor, 0, NULL, 0), 1);
    tensor.ndim = 2;
    tensor.shape = NULL;
    assert_int_equal(dlpark_check_all(&tensor, 0, NULL, 0), 1);
    assert_int_equal(dlpark_check_all_version((DLTensor *)nowhere, 9, V(2, 0), NULL, 0), 1); /* nor anything else */
    tensor = good();
    tensor.ndim = 0;
    tensor.shape = tensor.strides = nowhere;
    assert_int_equal(dlpark_check_all(&tensor, 0, NULL, 0), 0);
}

static void messages_are_whole_at_the_longest(void **state)
{
    (void)state;
    int64_t shape[64], strides[64];
    DLTensor tensor = good();
    dlpark_fault faults[70];

    for (int i = 0; i < 64; i++) {
        shape[i] = i < 50 ? 2 : 1;
        strides[i] = i < 50 ? INT64_C(1) << i : INT64_MIN;
    }
    tensor = (DLTensor){memory, {kDLOpenCL, 0}, 64, {kDLUInt, 8, 1}, shape, strides, 0};
    strides[7] = 3;
    size_t count = dlpark_check_all(&tensor, 0, faults, 70);
    assert_true(count >= 2 && count <= 70);
    for (size_t i = 0; i < count; i++) {
        assert_true(strlen(faults[i].message) + 1 < sizeof faults[i].message);
        assert_non_null(strstr(faults[i].message, dlpark_rule_text(faults[i].rule)));
    }
}

/* ---- Versions ---- */

static void managed_tensor_says_its_own_version(void **state)
{
    (void)state;
    DLManagedTensorVersioned managed = {.version = {1, 1}, .dl_tensor = good()};
    dlpark_fault faults[4];

    managed.dl_tensor.strides = NULL;
    assert_int_equal(dlpark_check_all_managed(&managed, faults, 4), 0);
    managed.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
    assert_int_equal(dlpark_check_all_managed(&managed, faults, 4), 1);
    assert_int_equal(faults[0].rule, DLPARK_RULE_READ_ONLY);
    managed.version.minor = 2;
    assert_int_equal(dlpark_check_all_managed(&managed, faults, 4), 2);
    assert_int_equal(faults[0].rule, DLPARK_RULE_NULL_STRIDES);
    managed.dl_tensor.ndim = -1; /* which nobody looks at under another major, 0 included */
    for (uint32_t major = 0; major <= 2; major += 2) {
        managed.version.major = major;
        assert_int_equal(dlpark_check_all_managed(&managed, faults, 4), 1);
        assert_int_equal(faults[0].rule, DLPARK_RULE_VERSION);
        assert_int_equal(faults[0].value, major);
    }
    assert_int_equal(dlpark_check_all_managed(NULL, faults, 4), 1);
    assert_int_equal(faults[0].rule, DLPARK_RULE_TENSOR);
}

static void null_strides_by_version(void **state)
{
    (void)state;
    DLTensor tensor = good();

    tensor.strides = NULL;
    assert_false(has(&tensor, 0, V(0, 0), DLPARK_RULE_NULL_STRIDES));
    assert_false(has(&tensor, 0, V(0, 8), DLPARK_RULE_NULL_STRIDES));
    assert_false(has(&tensor, 0, V(1, 0), DLPARK_RULE_NULL_STRIDES));
    assert_false(has(&tensor, 0, V(1, 1), DLPARK_RULE_NULL_STRIDES));
    assert_true(has(&tensor, 0, V(1, 2), DLPARK_RULE_NULL_STRIDES));
    assert_true(has(&tensor, 0, V(1, 99), DLPARK_RULE_NULL_STRIDES));
    tensor.ndim = 0;
    assert_int_equal(dlpark_check_all(&tensor, 0, NULL, 0), 0);
}

static void codes_by_version(void **state)
{
    (void)state;
    DLTensor tensor = good();

    for (uint8_t code = kDLFloat8_e3m4; code <= kDLFloat4_e2m1fn; code++) {
        uint8_t bits = code >= kDLFloat4_e2m1fn ? 4 : code >= kDLFloat6_e2m3fn ? 6 : 8;
        tensor.dtype = (DLDataType){code, bits, 1};
        assert_int_equal(dlpark_check_all_version(&tensor, 0, V(1, 1), NULL, 0), 0);
        assert_true(has(&tensor, 0, V(1, 0), DLPARK_RULE_DTYPE_VERSION));
        assert_true(has(&tensor, 0, V(0, 0), DLPARK_RULE_DTYPE_VERSION));
    }
    dlpark_fault fault;
    assert_int_equal(dlpark_check_all_version(&tensor, 0, V(0, 0), &fault, 1), 1);
    assert_non_null(strstr(fault.message, "dtype f4_e2m1fn came under the legacy struct."));
    tensor.dtype = DLPARK_BOOL;
    assert_int_equal(dlpark_check_all_version(&tensor, 0, V(0, 0), NULL, 0), 0);
    tensor.device.device_type = kDLMAIA;
    assert_int_equal(dlpark_check_all_version(&tensor, 0, V(1, 0), NULL, 0), 0);
    assert_int_equal(dlpark_check_all_version(&tensor, 0, V(0, 8), &fault, 1), 1);
    assert_int_equal(fault.rule, DLPARK_RULE_DEVICE_VERSION);
    assert_non_null(strstr(fault.message, "device maia:0 came under the legacy struct."));
    tensor.device.device_type = kDLTrn;
    assert_int_equal(dlpark_check_all_version(&tensor, 0, V(1, 2), NULL, 0), 0);
    assert_true(has(&tensor, 0, V(0, 8), DLPARK_RULE_DEVICE_VERSION));
}

static void flags_by_version(void **state)
{
    (void)state;
    DLTensor tensor = good();

    tensor.dtype = DLPARK_I4;
    assert_false(has(&tensor, 4, V(1, 1), DLPARK_RULE_FLAGS_VERSION));
    assert_true(has(&tensor, 4, V(1, 0), DLPARK_RULE_FLAGS_VERSION));
    assert_false(has(&tensor, 3, V(1, 0), DLPARK_RULE_FLAGS_VERSION));
    assert_true(has(&tensor, 1, V(0, 0), DLPARK_RULE_FLAGS_VERSION));
    assert_false(has(&tensor, 0, V(0, 0), DLPARK_RULE_FLAGS_VERSION));
    assert_false(has(&tensor, 8, V(0, 0), DLPARK_RULE_FLAGS_VERSION)); /* broken already */
    assert_false(has(&tensor, 4, V(1, 1), DLPARK_RULE_PADDED));
    tensor.dtype.bits = 3; /* what is broken is no hazard, too */
    assert_int_equal(dlpark_check_all(&tensor, 4, NULL, 0), 1);
}

/* ---- What is no hazard ---- */

static void what_means_nothing_is_no_hazard(void **state)
{
    (void)state;
    int64_t shape[] = {0, 3}, strides[] = {-7, 0};
    DLTensor tensor = good();

    tensor.data = NULL;
    tensor.byte_offset = 3;
    tensor.shape = shape;
    tensor.strides = strides;
    assert_int_equal(dlpark_check_all(&tensor, 0, NULL, 0), 0); /* no elements */
    tensor.data = memory;
    assert_int_equal(dlpark_check_all(&tensor, 0, NULL, 0), 1);
    assert_true(has(&tensor, 0, V(1, 3), DLPARK_RULE_EMPTY_DATA));

    tensor.byte_offset = 0;
    shape[0] = 1;
    strides[1] = 1;
    assert_int_equal(dlpark_check_all(&tensor, 0, NULL, 0), 1);
    assert_true(has(&tensor, 0, V(1, 3), DLPARK_RULE_UNUSED_STRIDE));
    shape[0] = 3;
    strides[0] = 1;
    strides[1] = 3;
    assert_int_equal(dlpark_check_all(&tensor, 0, NULL, 0), 0); /* column-major */
}

static void offset_of_a_handle_is_no_hazard(void **state)
{
    (void)state;
    DLTensor tensor = good();

    tensor.device.device_type = kDLOpenCL;
    tensor.data = memory + 1; /* no address, so not misaligned */
    tensor.byte_offset = 8;
    assert_int_equal(dlpark_check_all(&tensor, 0, NULL, 0), 0);
    tensor.byte_offset = 6;
    assert_int_equal(dlpark_check_all(&tensor, 0, NULL, 0), 1);
    assert_true(has(&tensor, 0, V(1, 3), DLPARK_RULE_ALIGNMENT));
    tensor.device.device_id = 3;
    assert_false(has(&tensor, 0, V(1, 3), DLPARK_RULE_HOST_DEVICE_ID));
    tensor.device.device_type = (DLDeviceType)5; /* neither, then */
    assert_int_equal(dlpark_check_all(&tensor, 0, NULL, 0), 1);
}

static void alignment_is_that_of_a_number(void **state)
{
    (void)state;
    static const struct {
        DLDataType dtype;
        int alignment;
    } cases[] = {{{kDLUInt, 8, 1}, 1},     {{kDLFloat, 16, 1}, 2},    {{kDLFloat, 32, 4}, 4},
                 {{kDLComplex, 64, 1}, 4}, {{kDLComplex, 128, 1}, 8}, {{kDLInt, 4, 1}, 1},
                 {{kDLInt, 128, 1}, 16},   {{kDLFloat, 64, 1}, 8},    {{kDLOpaqueHandle, 64, 1}, 1},
                 {{kDLBfloat, 16, 1}, 2},  {{kDLBool, 8, 1}, 1}};
    DLTensor tensor = good();

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int at = 0; at < 32; at++) {
            tensor.dtype = cases[i].dtype;
            tensor.data = memory + at;
            assert_int_equal(has(&tensor, 0, V(1, 3), DLPARK_RULE_ALIGNMENT), at % cases[i].alignment != 0);
        }
}

static void overlap_is_a_hazard_where_it_may_be_written(void **state)
{
    (void)state;
    int64_t shape[] = {3, 3}, strides[] = {1, 2};
    DLTensor tensor = good();

    tensor.shape = shape;
    tensor.strides = strides;
    assert_true(has(&tensor, 0, V(1, 3), DLPARK_RULE_SELF_OVERLAP));
    assert_false(has(&tensor, 1, V(1, 3), DLPARK_RULE_SELF_OVERLAP));
    strides[1] = 3;
    assert_false(has(&tensor, 0, V(1, 3), DLPARK_RULE_SELF_OVERLAP));
    strides[1] = INT64_MAX; /* where the extent is not known, it is not asked */
    assert_false(has(&tensor, 0, V(1, 3), DLPARK_RULE_MAYBE_OVERLAP));
}

/* Whether two elements of a small layout of rank 3 are the same, by looking. */
static bool overlaps_slowly(const int64_t *shape, const int64_t *strides)
{
    bool seen[64] = {false};

    for (int64_t at = 0; at < shape[0] * shape[1] * shape[2]; at++) {
        int64_t place = 32 + at / shape[2] / shape[1] * strides[0] + at / shape[2] % shape[1] * strides[1] +
                        at % shape[2] * strides[2];
        if (seen[place])
            return true;
        seen[place] = true;
    }
    return false;
}

static bool is_in_order(const int64_t *shape, const int64_t *strides, int first, int step)
{
    int64_t expected = 1;

    for (int i = first, k = 0; k < 3; i += step, k++) {
        if (shape[i] != 1 && strides[i] != expected)
            return false;
        expected *= shape[i];
    }
    return true;
}

static void hazards_of_every_small_layout(void **state)
{
    (void)state;
    for (int code = 0; code < 18 * 18 * 18; code++) {
        int64_t shape[3], strides[3], compact = 1;
        size_t expected = 0;
        for (int i = 2, rest = code; i >= 0; i--, rest /= 18) {
            shape[i] = rest % 3 + 1;
            strides[i] = rest / 3 % 6 - 2;
            expected += shape[i] > 1 && strides[i] <= 0;
        }
        if (is_in_order(shape, strides, 2, -1))
            for (int i = 2; i >= 0; compact *= shape[i--])
                expected += strides[i] != compact;
        else
            expected += !is_in_order(shape, strides, 0, 1);
        DLTensor tensor = {memory + 64, {kDLCPU, 0}, 3, {kDLUInt, 8, 1}, shape, strides, 0};
        bool overlaps = overlaps_slowly(shape, strides);
        assert_int_equal(dlpark_check_all(&tensor, 0, NULL, 0), expected + overlaps);
        assert_int_equal(dlpark_check_all(&tensor, 1, NULL, 0), expected + 1); /* READ_ONLY */
    }
}

/* ---- Check and check_all agree, on whatever there is, and with an oracle that shares no code ---- */

#if defined(__SIZEOF_INT128__)
__extension__ typedef __int128 wide;

static const wide wide_limit = INT64_MAX;

static void agree(const DLTensor *tensor, uint64_t flags, dlpark_rule expected)
{
    dlpark_error err = test_fresh_error();
    dlpark_fault first;
    dlpark_view view;
    size_t count = dlpark_check_all(tensor, flags, &first, 1);
    bool broken = count > 0 && first.severity == DLPARK_SEVERITY_BROKEN;
    dlpark_status status = dlpark_check(tensor, flags, &view, &err);

    if ((status != DLPARK_OK) != broken || (broken ? first.rule : 0) != expected)
        fail_msg("check says %s, check_all %s, and the oracle %s", dlpark_status_name(status),
                 broken ? dlpark_rule_name(first.rule) : "nothing", dlpark_rule_name(expected));
    assert_int_equal(dlpark_check(tensor, flags, NULL, NULL), status);
    if (broken) {
        assert_int_equal(status, dlpark_rule_status(first.rule));
        assert_int_equal(err.status, status);
        assert_string_equal(err.message, first.message);
        return;
    }
    bool handle = tensor->device.device_type == kDLOpenCL;
    bool empty = dlpark_view_numel(&view) == 0;
    assert_int_equal(view.ndim, tensor->ndim);
    bool whole = tensor->dtype.bits * tensor->dtype.lanes % 8 == 0; /* where PADDED means nothing, and is dropped */
    assert_int_equal(view.flags, (flags & (whole ? 1 : 5)) | (flags & 1 ? 0 : DLPARK_VIEW_UNKNOWN_WRITE));
    assert_ptr_equal(view.data, empty    ? NULL
                                : handle ? tensor->data
                                         : (void *)((uintptr_t)tensor->data + (uintptr_t)tensor->byte_offset));
    assert_int_equal(view.byte_offset, handle && !empty ? tensor->byte_offset : 0);
    assert_memory_equal(&view.dtype, &tensor->dtype, sizeof view.dtype);
    assert_memory_equal(&view.device, &tensor->device, sizeof view.device);
    assert_int_equal(view.bit_offset | view.reserved[0] | view.reserved[1] | view.reserved[2] | view.reserved[3], 0);
    for (int i = 0; i < tensor->ndim; i++) {
        assert_int_equal(view.shape[i], tensor->shape[i]);
        if (tensor->strides != NULL)
            assert_int_equal(view.strides[i], tensor->strides[i]);
    }
}

static dlpark_rule oracle_dtype(DLDataType t)
{
    bool power = t.bits == 1 || t.bits == 2 || t.bits == 4 || t.bits == 8 || t.bits == 16 || t.bits == 32 ||
                 t.bits == 64 || t.bits == 128;
    bool right = t.code <= 1   ? power
                 : t.code == 2 ? power && t.bits >= 16
                 : t.code == 3 ? t.bits % 8 == 0 && t.bits > 0
                 : t.code == 4 ? t.bits == 16
                 : t.code == 5 ? power && t.bits >= 32
                 : t.code < 15 ? t.bits == 8
                 : t.code < 17 ? t.bits == 6
                               : t.bits == 4;

    if (t.code > 17)
        return DLPARK_RULE_DTYPE_CODE;
    if (t.lanes == 0)
        return DLPARK_RULE_DTYPE_LANES;
    if (t.code == 5 && t.lanes != 1)
        return DLPARK_RULE_DTYPE_COMPLEX;
    return right ? 0 : DLPARK_RULE_DTYPE_BITS;
}

static dlpark_rule oracle_head(const DLTensor *t, uint64_t flags)
{
    int type = (int)t->device.device_type;

    if (flags >= 8)
        return DLPARK_RULE_FLAGS;
    if (t->ndim < 0 || t->ndim > 64)
        return DLPARK_RULE_RANK;
    if (oracle_dtype(t->dtype) != 0)
        return oracle_dtype(t->dtype);
    if (type < 1 || type > 18 || type == 5 || type == 6)
        return DLPARK_RULE_DEVICE_TYPE;
    if (t->device.device_id < 0)
        return DLPARK_RULE_DEVICE_ID;
    return t->ndim > 0 && t->shape == NULL ? DLPARK_RULE_SHAPE : 0;
}

static dlpark_rule oracle_bytes(const DLTensor *t, uint64_t flags, wide numel, wide low, wide high)
{
    wide nbits = (wide)t->dtype.bits * t->dtype.lanes;
    bool handle = t->device.device_type == kDLOpenCL;

    if (flags & 4)
        nbits = (nbits + 7) / 8 * 8;
    wide below = (-low * nbits + 7) / 8, above = ((high + 1) * nbits + 7) / 8;
    if (t->data == NULL)
        return DLPARK_RULE_DATA;
    if (below > wide_limit || above > wide_limit || (numel * nbits + 7) / 8 > wide_limit)
        return DLPARK_RULE_NBYTES;
    wide first = (wide)t->byte_offset + (handle ? 0 : (wide)(uintptr_t)t->data);
    wide end = handle ? wide_limit : (wide)UINTPTR_MAX;
    bool out = (wide)t->byte_offset > wide_limit || first - below < (handle ? 0 : 1) || first + above - 1 > end;
    return out ? DLPARK_RULE_ADDRESS : 0;
}

static dlpark_rule oracle(const DLTensor *t, uint64_t flags)
{
    dlpark_rule head = oracle_head(t, flags);
    wide numel = 1, low = 0, high = 0;
    bool many = false;

    if (head != 0)
        return head;
    for (int i = 0; i < t->ndim; i++)
        if (t->shape[i] < 0)
            return DLPARK_RULE_EXTENT;
    for (int i = 0; i < t->ndim; i++)
        if (t->shape[i] == 0)
            return 0;
    for (int i = 0; i < t->ndim && !many; i++) {
        numel *= t->shape[i];
        many = numel > wide_limit;
        wide reach = t->strides != NULL ? (wide)(t->shape[i] - 1) * t->strides[i] : 0;
        *(reach < 0 ? &low : &high) += reach;
    }
    if (many)
        return DLPARK_RULE_NUMEL;
    if (t->strides == NULL)
        high = numel - 1;
    if (low <= -wide_limit || high >= wide_limit)
        return DLPARK_RULE_REACH;
    return oracle_bytes(t, flags, numel, low, high);
}

static void every_layout_up_to_rank_3(void **state)
{
    (void)state;
    static const int64_t extents[] = {0, 1, 3, -1, INT64_C(1) << 31, INT64_MAX};
    static const int64_t steps[] = {0, 1, -5, INT64_C(1) << 61, INT64_MIN};
    int64_t shape[3], strides[3];

    for (int code = 0; code < 30 * 30 * 30; code++) {
        int rest = code;
        for (int i = 0; i < 3; i++, rest /= 30) {
            shape[i] = extents[rest % 30 / 5];
            strides[i] = steps[rest % 5];
        }
        DLTensor t = {(void *)(UINTPTR_MAX / 2), {kDLCPU, 0}, 3, DLPARK_I16, shape, strides, 0};
        if (code < 30 * 30)
            t.ndim = code < 30 ? 1 : 2;
        agree(&t, 0, oracle(&t, 0));
    }
    for (int code = 0; code < 6 * 6 * 6; code++) {
        for (int i = 0, rest = code; i < 3; i++, rest /= 6)
            shape[i] = extents[rest % 6];
        DLTensor t = {(void *)(UINTPTR_MAX / 2), {kDLCPU, 0}, 3, DLPARK_U8, shape, NULL, 0};
        agree(&t, 0, oracle(&t, 0));
    }
}

/* Around the limits of the way that needs no general arithmetic. */
static void layouts_about_the_usual_limits(void **state)
{
    (void)state;
    static const int64_t edges[] = {1 << 14, 1 << 19, 1 << 28};
    int64_t shape[6], strides[6];

    for (int ndim = 1; ndim <= 6; ndim++)
        for (int at = 0; at < ndim; at++)
            for (int code = 0; code < 3 * 3 * 3 * 3; code++) {
                for (int i = 0; i < ndim; i++) {
                    shape[i] = i == at ? edges[code % 3] + code / 3 % 3 - 1 : code / 27 == 2 ? 1 << 14 : 2;
                    strides[i] = i == at ? edges[code / 9 % 3] + code / 3 % 3 - 1 : 1;
                }
                DLTensor t = {memory, {kDLCUDA, 1}, ndim, DLPARK_C128, shape, strides, 0};
                agree(&t, 0, oracle(&t, 0));
            }
}

static void every_dtype_device_and_flag(void **state)
{
    (void)state;
    static const uint16_t lanes[] = {0, 1, 2, 32768};
    DLTensor t = good();

    for (unsigned code = 0; code <= 18; code++)
        for (unsigned bits = 0; bits < 256; bits += bits < 20 ? 1 : 4)
            for (int i = 0; i < 4; i++) {
                t.dtype = DLPARK_DTYPE(code, bits, lanes[i]);
                agree(&t, 0, oracle(&t, 0));
            }
    t = good();
    for (int type = -1; type <= 33; type++)
        for (int id = -1; id <= 1; id++) {
            if (type == kDLVulkan || type == kDLMetal || type == kDLWebGPU)
                continue; /* as OpenCL */
            t.device = DLPARK_DEVICE(type, id);
            agree(&t, 0, oracle(&t, 0));
        }
    t = good();
    for (unsigned bit = 0; bit < 64; bit++)
        agree(&t, UINT64_C(1) << bit, oracle(&t, UINT64_C(1) << bit));
}

static void every_pointer_offset_and_rank(void **state)
{
    (void)state;
    static const uint64_t offsets[] = {0, 1, 1 << 28, (1 << 28) - 1, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX};
    static const uintptr_t addresses[] = {0, 1, 24, UINTPTR_MAX, UINTPTR_MAX - 22, UINTPTR_MAX - 23, UINTPTR_MAX / 2};
    static const DLDataType dtypes[] = {{kDLFloat, 32, 1}, {kDLInt, 4, 1}, {kDLUInt, 8, 65535}};
    static const int ranks[] = {-1, 0, 1, 2, 65, INT32_MIN};
    int64_t backward[] = {-3, -1}, *strides[] = {strides_3x1, backward, NULL}, *shapes[] = {shape_2x3, NULL};

    for (int code = 0; code < 7 * 7 * 3 * 6 * 3 * 2 * 4; code++) {
        int at = code;
        DLTensor t = good();
        t.byte_offset = offsets[at % 7];
        t.data = (void *)addresses[(at /= 7) % 7];
        t.dtype = dtypes[(at /= 7) % 3];
        t.ndim = ranks[(at /= 3) % 6];
        t.strides = strides[(at /= 6) % 3];
        t.shape = shapes[(at /= 3) % 2];
        t.device.device_type = (at /= 2) % 2 != 0 ? kDLOpenCL : kDLCPU;
        uint64_t flags = at / 2 != 0 ? 4 : 1;
        agree(&t, flags, oracle(&t, flags));
    }
}

/* Packed elements whose whole bytes fit 63 bits, and the last byte no more. */
static void packed_bytes_at_the_limit(void **state)
{
    (void)state;
    int64_t shape[] = {INT64_C(6148914691236517200)}, strides[] = {0};
    DLTensor t = {memory, {kDLCPU, 0}, 1, {kDLInt, 4, 3}, shape, strides, 0};

    for (int i = 0; i < 12; i++, shape[0]++)
        agree(&t, 0, oracle(&t, 0));
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_faults_are_listed_in_order),
        cmocka_unit_test(faults_of_a_dtype_do_not_hide_each_other),
        cmocka_unit_test(widths_are_told_by_code),
        cmocka_unit_test(nothing_to_explain_is_an_error_with_words),
        cmocka_unit_test(overflows_are_listed_beside_each_other),
        cmocka_unit_test(count_is_told_beyond_the_room),
        cmocka_unit_test(lists_are_not_read_where_they_cannot_be),
        cmocka_unit_test(messages_are_whole_at_the_longest),
        cmocka_unit_test(managed_tensor_says_its_own_version),
        cmocka_unit_test(null_strides_by_version),
        cmocka_unit_test(codes_by_version),
        cmocka_unit_test(flags_by_version),
        cmocka_unit_test(what_means_nothing_is_no_hazard),
        cmocka_unit_test(offset_of_a_handle_is_no_hazard),
        cmocka_unit_test(alignment_is_that_of_a_number),
        cmocka_unit_test(overlap_is_a_hazard_where_it_may_be_written),
        cmocka_unit_test(hazards_of_every_small_layout),
#if defined(__SIZEOF_INT128__)
        cmocka_unit_test(every_layout_up_to_rank_3),
        cmocka_unit_test(layouts_about_the_usual_limits),
        cmocka_unit_test(every_dtype_device_and_flag),
        cmocka_unit_test(every_pointer_offset_and_rank),
        cmocka_unit_test(packed_bytes_at_the_limit),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
