#include "test.h"

#include <stdlib.h>

#include <dlpark/rule.h>

/* ---- One tensor for each rule, in which that rule is the first that fails. A rule without one does not compile. ---- */

typedef struct rule_case {
    DLTensor tensor;
    uint64_t flags;
    DLPackVersion version;
    int64_t shape[4];
    int64_t strides[4];
    const char *field;   /* that the fault names */
    const char *message; /* part of it */
    int64_t value;
    int64_t limit;
} rule_case;

static _Alignas(64) unsigned char memory[4096];

/* f32[2, 3], compact, on the CPU: nothing is to be said of it. */
static void fill_good(rule_case *c)
{
    memset(c, 0, sizeof *c);
    c->tensor = (DLTensor){memory, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, c->shape, c->strides, 0};
    c->version = (DLPackVersion){1, 3};
    c->shape[0] = 2;
    c->shape[1] = 3;
    c->strides[0] = 3;
    c->strides[1] = 1;
}

#define CASE(name, field_, value_, limit_, message_, ...)                                                              \
    static void spoil_##name(rule_case *c)                                                                             \
    {                                                                                                                  \
        c->field = field_;                                                                                             \
        c->value = value_;                                                                                             \
        c->limit = limit_;                                                                                             \
        c->message = message_;                                                                                         \
        __VA_ARGS__;                                                                                                   \
    }

CASE(TENSOR, "tensor", 0, 0, "tensor is NULL, expected a tensor", (void)c)
CASE(VERSION, "version", 2, 1, "the version is 2.7, expected major 1", c->version = ((DLPackVersion){2, 7}))
CASE(FLAGS, "flags", 9, 7, "flags 0x9 has bits 0x8, expected only", c->flags = 9)
CASE(RANK, "ndim", 65, 64, "ndim is 65, expected 0 to 64", c->tensor.ndim = 65)
CASE(DTYPE_CODE, "dtype.code", 18, 17, "dtype code 18 (bits 32, lanes 1)", c->tensor.dtype.code = 18)
CASE(DTYPE_LANES, "dtype.lanes", 0, 1, "dtype has 0 lanes (code 2, bits 32)", c->tensor.dtype.lanes = 0)
CASE(DTYPE_COMPLEX, "dtype.lanes", 2, 1, "2 lanes of 32 bits", c->tensor.dtype = ((DLDataType){kDLComplex, 32, 2}))
CASE(DTYPE_BITS, "dtype.bits", 33, 0, "dtype code 2 (float) has 33 bits, expected 16, 32, 64 or 128",
     c->tensor.dtype.bits = 33)
CASE(DEVICE_TYPE, "device.device_type", 5, 18, "device type 5 (id 0)", c->tensor.device.device_type = (DLDeviceType)5)
CASE(DEVICE_ID, "device.device_id", -2, 0, "device id -2 (type 1)", c->tensor.device.device_id = -2)
CASE(SHAPE, "shape", 0, 0, "shape is NULL although ndim is 2", c->tensor.shape = NULL)
CASE(EXTENT, "shape[1]", -3, 0, "shape[1] is -3, expected 0 or more", c->shape[1] = -3)
CASE(NUMEL, "shape[1]", INT64_MAX, INT64_MAX, "at shape[1] = 9223372036854775807 of [2, 92233720",
     c->shape[1] = INT64_MAX)
CASE(REACH, "strides[0]", INT64_MIN, INT64_MAX - 1, "shape[0] = 2 with strides[0] = -9223372036854775808",
     c->strides[0] = INT64_MIN)
CASE(DATA, "data", 0, 0, "data is NULL although there are 6 elements (shape [2, 3])", c->tensor.data = NULL)
CASE(NBYTES, "strides", 6, 0, "6 elements of f32, reaching from element 0 to 2305843009213693954",
     c->strides[0] = INT64_C(1) << 61)
CASE(ADDRESS, "data", (int64_t)(uintptr_t)memory, 0, "with byte_offset 18446744073709551612, reaching 0 bytes below",
     c->tensor.byte_offset = UINT64_MAX - 3)
CASE(NULL_STRIDES, "strides", 0, 0, "strides is NULL although ndim is 2. The Rust crates", c->tensor.strides = NULL)
CASE(BYTE_OFFSET, "byte_offset", 4, 0, "byte_offset is 4. CuPy", c->tensor.byte_offset = 4)
CASE(NEGATIVE_STRIDE, "strides[1]", -1, 0, "strides[1] is -1 with extent 3", c->tensor.data = memory + 64,
     c->strides[1] = -1)
CASE(ZERO_STRIDE, "strides[0]", 0, 0, "strides[0] is 0 with extent 2", c->strides[0] = 0)
CASE(UNUSED_STRIDE, "strides[0]", 7, 3, "strides[0] is 7 with extent 1, and not 3", c->shape[0] = 1, c->strides[0] = 7)
CASE(NOT_COMPACT, "strides", 0, 0, "shape [2, 3] has strides [4, 1]", c->strides[0] = 4)
CASE(ALIGNMENT, "data", (int64_t)(uintptr_t)memory + 2, 4, "element 0 of f32 lies at 0x", c->tensor.data = memory + 2)
CASE(SELF_OVERLAP, "strides", 0, 0, "shape [3, 3] with strides [1, 2], and not READ_ONLY", c->shape[0] = 3,
     c->strides[0] = 1, c->strides[1] = 2)
CASE(MAYBE_OVERLAP, "strides", 0, 0, "and not READ_ONLY. Not decided", c->tensor.dtype = DLPARK_U8,
     c->tensor.device.device_type = kDLOpenCL, c->strides[0] = (INT64_C(1) << 61) + 1,
     c->strides[1] = (INT64_C(1) << 60) + 1)
CASE(EMPTY_DATA, "data", (int64_t)(uintptr_t)memory, 0, "although there are no elements", c->shape[0] = 0)
CASE(READ_ONLY, "flags", 1, 0, "flags 0x1 says READ_ONLY", c->flags = 1)
CASE(PADDED, "flags", 4, 0, "flags 0x4 says PADDED of f32", c->flags = 4)
CASE(FLAGS_VERSION, "flags", 2, 0, "flags 0x2 has bits 0x2 under the legacy struct", c->flags = 2,
     c->version = ((DLPackVersion){0, 8}))
CASE(DTYPE_VERSION, "dtype.code", 10, 6, "dtype f8_e4m3fn came under version 1.0", c->tensor.dtype = DLPARK_F8_E4M3FN,
     c->version.minor = 0)
CASE(DEVICE_VERSION, "device.device_type", 18, 17, "device trn:0 came under version 1.1",
     c->tensor.device.device_type = kDLTrn, c->version.minor = 1)
CASE(HOST_DEVICE_ID, "device.device_id", 1, 0, "device is cpu:1", c->tensor.device.device_id = 1)
CASE(SCALABLE_LANES, "dtype.lanes", 32768, 32767, "dtype has 32768 lanes", c->tensor.dtype.lanes = 32768)
CASE(PACKED_LANES, "dtype.lanes", 3, 0, "an element of i4x3 has 12 bits",
     c->tensor.dtype = ((DLDataType){kDLInt, 4, 3}))

typedef struct rule_row {
    dlpark_rule rule;
    int value;
    dlpark_severity severity;
    dlpark_status status;
    const char *name, *severity_name, *status_name, *field, *limit, *text;
    void (*spoil)(rule_case *c);
} rule_row;

static const rule_row rows[] = {
#define ROW(name, value, severity, status, field, limit, text)                                                         \
    {DLPARK_RULE_##name,                                                                                               \
     value,                                                                                                            \
     DLPARK_SEVERITY_##severity,                                                                                       \
     DLPARK_##status,                                                                                                  \
     #name,                                                                                                            \
     #severity,                                                                                                        \
     #status,                                                                                                          \
     field,                                                                                                            \
     limit,                                                                                                            \
     text,                                                                                                             \
     spoil_##name},
    DLPARK_RULE_TABLE(ROW)
#undef ROW
};

#define ROWS (sizeof rows / sizeof rows[0])

static void good_tensor_has_no_fault(void **state)
{
    (void)state;
    rule_case c;

    fill_good(&c);
    assert_int_equal(dlpark_check_all(&c.tensor, 0, NULL, 0), 0);
}

static void each_rule_finds_its_case(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        dlpark_fault faults[8], *fault = NULL;
        rule_case c;

        fill_good(&c);
        rows[i].spoil(&c);
        const DLTensor *tensor = rows[i].rule == DLPARK_RULE_TENSOR ? NULL : &c.tensor;
        size_t count = dlpark_check_all_version(tensor, c.flags, c.version, faults, 8);
        for (size_t k = 0; k < count; k++)
            if (faults[k].rule == rows[i].rule)
                fault = &faults[k];
        if (fault == NULL)
            fail_msg("%s is not found in its case", rows[i].name);
        assert_int_equal(fault->severity, rows[i].severity);
        assert_string_equal(fault->field, c.field);
        assert_int_equal(fault->value, c.value);
        assert_int_equal(fault->limit, c.limit);
        if (strstr(fault->message, c.message) == NULL)
            fail_msg("%s: \"%s\" does not contain \"%s\"", rows[i].name, fault->message, c.message);
        bool broken = rows[i].severity == DLPARK_SEVERITY_BROKEN;
        const char *words = rows[i].rule == DLPARK_RULE_DTYPE_BITS ? "expected 16" /* the widths of this code */
                            : broken                               ? rows[i].limit
                                                                   : rows[i].text;
        assert_non_null(strstr(fault->message, words));
        if (broken) /* the first one, then, and alone of its kind */
            assert_ptr_equal(fault, &faults[0]);
        if (rows[i].rule != DLPARK_RULE_VERSION)
            assert_int_equal(dlpark_check(tensor, c.flags, NULL, NULL), rows[i].status);
    }
}

static void functions_answer_the_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        assert_int_equal(rows[i].rule, rows[i].value);
        assert_string_equal(dlpark_rule_name(rows[i].rule), rows[i].name);
        assert_int_equal(dlpark_rule_severity(rows[i].rule), rows[i].severity);
        assert_int_equal(dlpark_rule_status(rows[i].rule), rows[i].status);
        assert_string_equal(dlpark_rule_field(rows[i].rule), rows[i].field);
        assert_string_equal(dlpark_rule_limit(rows[i].rule), rows[i].limit);
        assert_string_equal(dlpark_rule_text(rows[i].rule), rows[i].text);
    }
    assert_string_equal(dlpark_severity_name(DLPARK_SEVERITY_BROKEN), "broken");
    assert_string_equal(dlpark_severity_name(DLPARK_SEVERITY_HAZARD), "hazard");
    assert_string_equal(dlpark_severity_name((dlpark_severity)3), "unknown");
}

static void unknown_rule_has_a_name_too(void **state)
{
    (void)state;
    dlpark_rule unknown = (dlpark_rule)99;

    assert_string_equal(dlpark_rule_name(unknown), "UNKNOWN");
    assert_int_equal(dlpark_rule_severity(unknown), DLPARK_SEVERITY_BROKEN);
    assert_int_equal(dlpark_rule_status(unknown), DLPARK_E_ARGUMENT);
    assert_string_equal(dlpark_rule_field(unknown), "");
    assert_string_equal(dlpark_rule_limit(unknown), "");
    assert_string_equal(dlpark_rule_text(unknown), "unknown rule");
}

/* A broken rule has a status and a hazard has none; the broken ones come first, and the values rise. */
static void table_is_in_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        assert_int_equal(rows[i].severity == DLPARK_SEVERITY_HAZARD, rows[i].status == DLPARK_OK);
        assert_int_equal(rows[i].severity == DLPARK_SEVERITY_HAZARD, rows[i].value >= 100);
        assert_true(i == 0 || rows[i].value > rows[i - 1].value);
        assert_true(strlen(rows[i].limit) > 0 && strlen(rows[i].text) > 0);
    }
}

/* The page's table is this one: a row for each rule in the same order, and no others. */
static void manual_has_the_same_table(void **state)
{
    (void)state;
    FILE *page = fopen(DLPARK_PAGES "/rule.md", "r");
    char line[1024], expected[1024], lower[16];
    size_t i = 0;

    assert_non_null(page);
    while (fgets(line, sizeof line, page) != NULL) {
        if (strncmp(line, "| `", 3) != 0)
            continue;
        assert_true(i < ROWS);
        snprintf(lower, sizeof lower, "%s", dlpark_severity_name(rows[i].severity));
        bool broken = rows[i].severity == DLPARK_SEVERITY_BROKEN;
        snprintf(expected, sizeof expected, "| `%s` | %s%s%s | `%s` | %s | %s |\n", rows[i].name, lower,
                 broken ? ", " : "", broken ? rows[i].status_name : "", rows[i].field, rows[i].limit, rows[i].text);
        assert_string_equal(line, expected);
        i++;
    }
    fclose(page);
    assert_int_equal(i, ROWS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_tensor_has_no_fault),   cmocka_unit_test(each_rule_finds_its_case),
        cmocka_unit_test(functions_answer_the_table), cmocka_unit_test(unknown_rule_has_a_name_too),
        cmocka_unit_test(table_is_in_order),          cmocka_unit_test(manual_has_the_same_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
