/* Tensors as values of ONNX Runtime, given out and lent: what passes, and what is refused. */
#include "test.h"

#include "onnxruntime_fake.h"
#include "passage.h"

#include <dlpark/transform.h>

static _Alignas(64) unsigned char memory[1024];
static int ended;

static void count_end(void *owner)
{
    (void)owner;
    ended++;
}

/* A tensor over `memory` + `offset`; its end is counted in `ended`. */
static void make_tensor(dlpark_tensor *tensor, DLDataType dtype, const fake_shape *shape, ptrdiff_t offset)
{
    const dlpark_tensor_desc desc = {.data = memory + offset,
                                     .dtype = dtype,
                                     .ndim = (int32_t)shape->ndim,
                                     .shape = DLPARK_DIMS(shape->shape),
                                     .release = count_end};

    ended = 0;
    assert_ok(dlpark_tensor_new(tensor, &desc, NULL, e));
}

static void make_floats(dlpark_tensor *tensor)
{
    make_tensor(tensor, DLPARK_F32, &(fake_shape){"compact", 2, {2, 3}}, 0);
}

/* ---- What passes ---- */

/* What the library itself says of a value. */
static void assert_value(OrtValue *value, int type, const fake_shape *shape, const char *where)
{
    OrtTensorTypeAndShapeInfo *info = NULL;
    ONNXTensorElementDataType said_type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    const OrtMemoryInfo *place = NULL;
    const char *name = NULL;
    int64_t said[2] = {-1, -1};
    size_t ndim = 77;

    assert_runs(fake.real->GetTensorTypeAndShape(value, &info));
    assert_runs(fake.real->GetTensorElementType(info, &said_type));
    assert_runs(fake.real->GetDimensionsCount(info, &ndim));
    assert_int_equal(said_type, type);
    assert_int_equal(ndim, shape->ndim);
    assert_runs(fake.real->GetDimensions(info, said, ndim));
    assert_memory_equal(said, shape->shape, ndim * sizeof *said);
    fake.real->ReleaseTensorTypeAndShapeInfo(info);
    assert_runs(fake.real->GetTensorMemoryInfo(value, &place));
    assert_runs(fake.real->MemoryInfoGetName(place, &name));
    assert_string_equal(name, where);
}

static void check_out(const fake_dtype *row, const fake_shape *shape)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    OrtValue *lent = NULL, *given = NULL;
    dlpark_view view;
    bool empty;

    make_tensor(&tensor, row->dtype, shape, 0);
    dlpark_tensor_view(&tensor, &view);
    empty = dlpark_view_numel(&view) == 0;
    assert_ok(dlpark_onnxruntime_borrow(&runtime, &lent, &view, 0, e));
    dlpark_status status = dlpark_onnxruntime_export(&runtime, &given, &tensor, 0, NULL);
    passage_report("onnxruntime", PASSAGE_OUT, row->dtype, shape->layout, status);
    assert_int_equal(status, DLPARK_OK);
    assert_null(tensor.managed);
    assert_value(lent, row->type, shape, "Cpu");
    assert_value(given, row->type, shape, "Cpu");
    if (!empty) {
        assert_ptr_equal(value_data(lent), memory);
        assert_ptr_equal(value_data(given), memory);
    }
    value_release(lent);
    assert_int_equal(ended, 0);
    value_release(given);
    assert_int_equal(ended, 1);
    fake_assert_left(0);
}

static void every_dtype_goes_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < FAKE_DTYPES; i++)
        for (size_t j = 0; j < FAKE_SHAPES; j++)
            check_out(&fake_dtypes[i], &fake_shapes[j]);
}

/* Lent and given out it is refused in the same words; the tensor is as it was. Releases it. */
static void check_refused(dlpark_tensor *tensor, dlpark_status expected, const char *text)
{
    DLManagedTensorVersioned *managed = tensor->managed;
    OrtValue *value = NULL;
    int before = ended;
    dlpark_view view;

    dlpark_tensor_view(tensor, &view);
    assert_fails(expected, text, dlpark_onnxruntime_borrow(&runtime, &value, &view, 0, e));
    assert_fails(expected, text, dlpark_onnxruntime_export(&runtime, &value, tensor, 0, e));
    assert_null(value);
    assert_ptr_equal(tensor->managed, managed);
    assert_int_equal(ended, before);
    fake_assert_left(0);
    dlpark_tensor_release(tensor);
    assert_int_equal(ended, before + 1);
}

static void other_dtypes_are_refused(void **state)
{
    static const struct {
        DLDataType dtype;
        const char *says;
    } rows[] = {{{kDLComplex, 64, 1}, "has no c64 tensors: "}, /* its own refusal: the dtype has a number there */
                {{kDLComplex, 128, 1}, "has no c128 tensors: "},
                {{kDLFloat8_e3m4, 8, 1}, "no element type for f8_e3m4"},
                {{kDLFloat8_e4m3, 8, 1}, "no element type for f8_e4m3"},
                {{kDLFloat8_e4m3b11fnuz, 8, 1}, "no element type for f8_e4m3b11fnuz"},
                {{kDLFloat6_e2m3fn, 6, 1}, "no element type for f6_e2m3fn"},
                {{kDLInt, 1, 1}, "no element type for i1"},
                {{kDLOpaqueHandle, 64, 1}, "no element type for "},
                {{kDLFloat, 32, 4}, "no element type for f32x4"}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        make_tensor(&tensor, rows[i].dtype, &fake_shapes[0], 0);
        check_refused(&tensor, DLPARK_E_DTYPE, rows[i].says);
        passage_report("onnxruntime", PASSAGE_OUT, rows[i].dtype, fake_shapes[0].layout, DLPARK_E_DTYPE);
    }
}

static void only_compact_rows_pass(void **state)
{
    static const struct {
        const char *layout;
        int64_t shape[2], strides[2];
        ptrdiff_t offset;
        const char *says;
    } rows[] = {
        {"padded rows", {2, 3}, {4, 1}, 0, "shape [2, 3] with strides [4, 1]; copy the 24 bytes"},
        {"transposed", {3, 2}, {1, 3}, 0, "strides [1, 3]"},
        {"negative strides", {2, 3}, {-3, 1}, 12, "strides [-3, 1]"},
        {"overlapping", {2, 3}, {1, 1}, 0, "strides [1, 1]"},
        {"broadcast", {2, 3}, {0, 1}, 0, "strides [0, 1]"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        assert_ok(dlpark_tensor_new(&tensor,
                                    &(dlpark_tensor_desc){.data = memory + rows[i].offset,
                                                          .dtype = DLPARK_F32,
                                                          .ndim = 2,
                                                          .shape = DLPARK_DIMS(rows[i].shape),
                                                          .strides = DLPARK_DIMS(rows[i].strides),
                                                          .release = count_end},
                                    NULL, e));
        check_refused(&tensor, DLPARK_E_LAYOUT, rows[i].says);
        passage_report("onnxruntime", PASSAGE_OUT, DLPARK_F32, rows[i].layout, DLPARK_E_LAYOUT);
    }
}

/* The strides of one element, and of none, mean nothing. */
static void strides_without_meaning_pass(void **state)
{
    static const int64_t shapes[][2] = {{1, 3}, {0, 3}};

    (void)state;
    for (int i = 0; i < 2; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        OrtValue *value = NULL;
        assert_ok(dlpark_tensor_new(&tensor,
                                    &(dlpark_tensor_desc){.data = memory,
                                                          .dtype = DLPARK_F32,
                                                          .ndim = 2,
                                                          .shape = DLPARK_DIMS(shapes[i]),
                                                          .strides = DLPARK_DIMS((int64_t[]){77, 1})},
                                    NULL, e));
        assert_ok(dlpark_onnxruntime_export(&runtime, &value, &tensor, 0, e));
        value_release(value);
    }
    fake_assert_left(0);
}

/* The library takes any address, and computes on it. */
static void addresses_are_aligned(void **state)
{
    static const struct {
        DLDataType dtype;
        ptrdiff_t offset;
        const char *says; /* NULL: passes */
    } rows[] = {{{kDLFloat, 32, 1}, 4, NULL},
                {{kDLFloat, 32, 1}, 1, "not a multiple of the 4 bytes of f32; copy its 36 bytes to an aligned tensor"},
                {{kDLFloat, 64, 1}, 4, "not a multiple of the 8 bytes of f64"},
                {{kDLBfloat, 16, 1}, 3, "not a multiple of the 2 bytes of bf16"},
                {{kDLUInt, 8, 1}, 1, NULL},
                {{kDLBool, 8, 1}, 3, NULL},
                {{kDLInt, 4, 1}, 1, NULL}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        OrtValue *value = NULL;
        make_tensor(&tensor, rows[i].dtype, &fake_shapes[0], rows[i].offset);
        dlpark_status status = rows[i].says ? DLPARK_E_ALIGNMENT : DLPARK_OK;
        if (rows[i].says) {
            check_refused(&tensor, status, rows[i].says);
        } else {
            assert_ok(dlpark_onnxruntime_export(&runtime, &value, &tensor, 0, e));
            assert_ptr_equal(value_data(value), memory + rows[i].offset);
            value_release(value);
        }
        passage_report("onnxruntime", PASSAGE_OUT, rows[i].dtype,
                       rows[i].offset % 4 ? "at an odd address" : "at a multiple of 4", status);
    }
}

static void padded_elements_are_refused(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    (void)state;
    assert_ok(dlpark_tensor_new(&tensor,
                                &(dlpark_tensor_desc){.data = memory,
                                                      .dtype = {kDLInt, 4, 1},
                                                      .ndim = 1,
                                                      .shape = DLPARK_DIMS((int64_t[]){5}),
                                                      .flags = DLPARK_TENSOR_PADDED,
                                                      .release = count_end},
                                NULL, e));
    check_refused(&tensor, DLPARK_E_FLAGS,
                  "i4 elements are padded, those of ONNX Runtime are packed; copy them to a packed");
    passage_report("onnxruntime", PASSAGE_OUT, (DLDataType){kDLInt, 4, 1}, "padded", DLPARK_E_FLAGS);
}

/* A slice of packed elements that begins inside a byte; without elements there is nothing that begins. */
static void elements_begin_with_a_byte(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    OrtValue *value = NULL;
    dlpark_view view;

    (void)state;
    make_tensor(&tensor, (DLDataType){kDLInt, 4, 1}, &(fake_shape){"compact", 1, {6}}, 0);
    dlpark_tensor_view(&tensor, &view);
    assert_ok(dlpark_view_slice(&view, 0, 1, 4, 1, e));
    assert_fails(DLPARK_E_LAYOUT, "element 0 is at bit 4 of its byte; copy its 2 bytes",
                 dlpark_onnxruntime_borrow(&runtime, &value, &view, 0, e));
    passage_report("onnxruntime", PASSAGE_OUT, (DLDataType){kDLInt, 4, 1}, "begins inside a byte", DLPARK_E_LAYOUT);
    assert_ok(dlpark_view_slice(&view, 0, 1, 3, 1, e));
    assert_ok(dlpark_onnxruntime_borrow(&runtime, &value, &view, 0, e));
    assert_ptr_equal(value_data(value), memory + 1);
    value_release(value);
    dlpark_tensor_release(&tensor);
    fake_assert_left(0);
}

/* The messages show the first extents of many. */
static void long_shapes_are_cut(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    int64_t shape[DLPARK_MAX_NDIM], strides[DLPARK_MAX_NDIM];

    (void)state;
    for (int i = 0; i < DLPARK_MAX_NDIM; i++) {
        shape[i] = i < 2 ? 2 : 1;
        strides[i] = i ? 123456789 : 1;
    }
    shape[1] = 1;
    strides[0] = 2;
    assert_ok(dlpark_tensor_new(&tensor,
                                &(dlpark_tensor_desc){.data = memory,
                                                      .dtype = DLPARK_F32,
                                                      .ndim = DLPARK_MAX_NDIM,
                                                      .shape = DLPARK_DIMS(shape),
                                                      .strides = DLPARK_DIMS(strides),
                                                      .release = count_end},
                                NULL, e));
    check_refused(&tensor, DLPARK_E_LAYOUT, ", ...] with strides [2, 123456789, ");
}

/* ---- Who may write ---- */

static void read_only_is_lost_by_name_only(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    const dlpark_tensor_desc desc = {.data_const = memory,
                                     .dtype = DLPARK_F32,
                                     .ndim = 1,
                                     .shape = DLPARK_DIMS((int64_t[]){6}),
                                     .release = count_end};
    OrtValue *value = NULL;

    (void)state;
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    check_refused(&tensor, DLPARK_E_READ_ONLY, "the tensor is read-only, which an OrtValue cannot say");
    passage_report("onnxruntime", PASSAGE_OUT, DLPARK_F32, "read-only", DLPARK_E_READ_ONLY);
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "dropped is 0x5",
                 dlpark_onnxruntime_export(&runtime, &value, &tensor, DLPARK_TENSOR_READ_ONLY | 4, e));
    assert_ok(dlpark_onnxruntime_export(&runtime, &value, &tensor, DLPARK_TENSOR_READ_ONLY, e));
    ended = 0;
    value_release(value);
    assert_int_equal(ended, 1);
    passage_report("onnxruntime", PASSAGE_OUT, DLPARK_F32, "read-only, dropped by name", DLPARK_OK);
}

static void nobody_said_that_it_may_be_written(void **state)
{
    int64_t shape[] = {6};
    DLTensor raw = {.data = memory, .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLFloat, 32, 1}, .shape = shape};
    OrtValue *value = NULL;
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_check(&raw, 0, &view, e));
    assert_fails(DLPARK_E_READ_ONLY, "nobody said that the tensor may be written",
                 dlpark_onnxruntime_borrow(&runtime, &value, &view, 0, e));
    assert_ok(dlpark_onnxruntime_borrow(&runtime, &value, &view, DLPARK_TENSOR_READ_ONLY, e));
    value_release(value);
    value = NULL;
    assert_ok(dlpark_view_allow_write(&view, e));
    assert_ok(dlpark_onnxruntime_borrow(&runtime, &value, &view, 0, e));
    value_release(value);
    fake_assert_left(0);
}

/* ---- Devices ---- */

/* Without such a device: the library only notes the address that it is given. */
static void devices_have_names_there(void **state)
{
    static const struct {
        DLDevice device;
        const char *name;
    } rows[] = {{{kDLCPU, 0}, "Cpu"},
                {{kDLCUDA, 3}, "Cuda"},
                {{kDLCUDAHost, 0}, "CudaPinned"},
                {{kDLROCM, 1}, "Hip"},
                {{kDLROCMHost, 0}, "HipPinned"}};
    static const fake_shape shape = {"compact", 2, {2, 3}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        OrtValue *value = NULL;
        dlpark_view view;
        const dlpark_tensor_desc desc = {.data = memory,
                                         .dtype = DLPARK_F32,
                                         .device = rows[i].device,
                                         .ndim = 2,
                                         .shape = DLPARK_DIMS(shape.shape),
                                         .release = count_end};
        ended = 0;
        assert_ok(dlpark_tensor_new(&tensor, &desc, &view, e));
        assert_ok(dlpark_onnxruntime_export(&runtime, &value, &tensor, 0, e));
        assert_value(value, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &shape, rows[i].name);
        assert_ok(dlpark_onnxruntime_import(&runtime, &tensor, &value, &view, e));
        assert_true(dlpark_device_equal(view.device, rows[i].device));
        assert_ptr_equal(view.data, memory);
        dlpark_tensor_release(&tensor);
        assert_int_equal(ended, 1);
        fake_assert_left(0);
    }
}

static void other_devices_are_refused(void **state)
{
    static const DLDevice devices[] = {
        {kDLVulkan, 0}, {kDLMetal, 0}, {kDLOpenCL, 0}, {kDLCUDAManaged, 0}, {kDLOneAPI, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        assert_ok(dlpark_tensor_new(&tensor,
                                    &(dlpark_tensor_desc){.data = memory,
                                                          .dtype = DLPARK_F32,
                                                          .device = devices[i],
                                                          .ndim = 1,
                                                          .shape = DLPARK_DIMS((int64_t[]){6}),
                                                          .release = count_end},
                                    NULL, e));
        check_refused(&tensor, DLPARK_E_DEVICE, dlpark_device_name(devices[i]).text);
    }
}

/* ---- Arguments ---- */

static void arguments_are_checked(void **state)
{
    dlpark_onnxruntime none = DLPARK_ONNXRUNTIME_EMPTY;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, empty = DLPARK_TENSOR_EMPTY;
    OrtValue *value = NULL, *full = value_f32();
    dlpark_view view;

    (void)state;
    make_floats(&tensor);
    dlpark_tensor_view(&tensor, &view);
    assert_fails(DLPARK_E_ARGUMENT, "no ONNX Runtime is loaded",
                 dlpark_onnxruntime_export(&none, &value, &tensor, 0, e));
    assert_fails(DLPARK_E_ARGUMENT, "runtime is NULL", dlpark_onnxruntime_export(NULL, &value, &tensor, 0, e));
    assert_fails(DLPARK_E_ARGUMENT, "value is NULL", dlpark_onnxruntime_export(&runtime, NULL, &tensor, 0, e));
    assert_fails(DLPARK_E_ARGUMENT, "tensor is NULL", dlpark_onnxruntime_export(&runtime, &value, NULL, 0, e));
    assert_fails(DLPARK_E_ARGUMENT, "the tensor is empty", dlpark_onnxruntime_export(&runtime, &value, &empty, 0, e));
    assert_fails(DLPARK_E_NOT_EMPTY, "release it first", dlpark_onnxruntime_export(&runtime, &full, &tensor, 0, e));
    assert_fails(DLPARK_E_ARGUMENT, "runtime is NULL", dlpark_onnxruntime_borrow(NULL, &value, &view, 0, e));
    assert_fails(DLPARK_E_ARGUMENT, "value is NULL", dlpark_onnxruntime_borrow(&runtime, NULL, &view, 0, e));
    assert_fails(DLPARK_E_ARGUMENT, "view is NULL", dlpark_onnxruntime_borrow(&runtime, &value, NULL, 0, e));
    assert_fails(DLPARK_E_NOT_EMPTY, "release it first", dlpark_onnxruntime_borrow(&runtime, &full, &view, 0, e));
    assert_null(value);
    assert_int_equal(ended, 0);
    dlpark_tensor_release(&tensor);
    value_release(full);
    fake_assert_left(0);
}

/* Before 1.22 a value can borrow a tensor, and cannot end it. */
static void older_libraries_only_borrow(void **state)
{
    dlpark_onnxruntime older = DLPARK_ONNXRUNTIME_EMPTY;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    OrtValue *value = NULL;
    dlpark_view view;

    (void)state;
    fake.version = "1.21.1";
    assert_ok(dlpark_onnxruntime_init(&older, &fake.base, e));
    fake.version = library.version;
    make_floats(&tensor);
    dlpark_tensor_view(&tensor, &view);
    assert_fails(DLPARK_E_FOREIGN, "values of ONNX Runtime 1.21.1 end no tensor, those of 1.22 do",
                 dlpark_onnxruntime_export(&older, &value, &tensor, 0, e));
    assert_non_null(tensor.managed);
    assert_ok(dlpark_onnxruntime_borrow(&older, &value, &view, 0, e));
    assert_ptr_equal(value_data(value), memory);
    value_release(value);
    assert_int_equal(ended, 0);
    dlpark_tensor_release(&tensor);
    fake_assert_left(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dtype_goes_out),           cmocka_unit_test(other_dtypes_are_refused),
        cmocka_unit_test(only_compact_rows_pass),         cmocka_unit_test(strides_without_meaning_pass),
        cmocka_unit_test(addresses_are_aligned),          cmocka_unit_test(padded_elements_are_refused),
        cmocka_unit_test(elements_begin_with_a_byte),     cmocka_unit_test(long_shapes_are_cut),
        cmocka_unit_test(read_only_is_lost_by_name_only), cmocka_unit_test(nobody_said_that_it_may_be_written),
        cmocka_unit_test(devices_have_names_there),       cmocka_unit_test(other_devices_are_refused),
        cmocka_unit_test(arguments_are_checked),          cmocka_unit_test(older_libraries_only_borrow),
    };

    return cmocka_run_group_tests(tests, fake_setup, NULL);
}
