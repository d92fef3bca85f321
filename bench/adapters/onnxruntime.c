/*
 * Beside ONNX Runtime's own calls: those that any program needs to learn what a value is, and to make one over its memory.
 * The targets stand for 100 ns above them, for each crossing.
 */
#include <stdlib.h>

#include <dlpark/onnxruntime.h>
#include <onnxruntime_c_api.h>

#include "harness.h"

static float numbers[24];
static const int64_t shape[3] = {2, 3, 4};
static dlpark_onnxruntime runtime = DLPARK_ONNXRUNTIME_EMPTY;
static OrtValue *value; /* over `numbers`; what is looked at */

/* Every call here succeeds, or nothing that is measured would be true. */
static void must(OrtStatus *status)
{
    if (status)
        abort();
}

static void must_pass(dlpark_status status)
{
    if (status)
        abort();
}

/* ---- Into dlpark ---- */

/* What its own calls say of a value. */
typedef struct said {
    ONNXTensorElementDataType type;
    size_t ndim;
    int64_t shape[8];
    const char *place;
    int id;
    void *data;
} said;

static void ask(said *of, OrtValue *asked)
{
    const OrtApi *api = runtime.api;
    OrtTensorTypeAndShapeInfo *info = NULL;
    const OrtMemoryInfo *memory = NULL;

    must(api->GetTensorTypeAndShape(asked, &info));
    must(api->GetTensorElementType(info, &of->type));
    must(api->GetDimensionsCount(info, &of->ndim));
    must(api->GetDimensions(info, of->shape, of->ndim));
    api->ReleaseTensorTypeAndShapeInfo(info);
    must(api->GetTensorMemoryInfo(asked, &memory));
    must(api->MemoryInfoGetName(memory, &of->place));
    must(api->MemoryInfoGetId(memory, &of->id));
    must(api->GetTensorMutableData(asked, &of->data));
}

static void run_ask(const void *input, long count)
{
    (void)input;
    for (long i = 0; i < count; i++) {
        said of;
        ask(&of, value);
        harness_use(&of);
    }
}

static bool verify_ask(const void *input)
{
    said of;

    (void)input;
    ask(&of, value);
    return of.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT && of.ndim == 3 && of.data == numbers;
}

static void run_view(const void *input, long count)
{
    (void)input;
    for (long i = 0; i < count; i++) {
        dlpark_view DLPARK_UNINITIALIZED view;
        must_pass(dlpark_onnxruntime_view(&runtime, &view, value, NULL));
        harness_use(&view);
    }
}

static bool verify_view(const void *input)
{
    dlpark_view view;

    (void)input;
    return dlpark_onnxruntime_view(&runtime, &view, value, NULL) == DLPARK_OK && view.data == numbers && view.ndim == 3;
}

/* ---- Out of dlpark ---- */

static void lend(OrtValue **made)
{
    must(runtime.api->CreateTensorWithDataAsOrtValue(runtime.host, numbers, sizeof numbers, shape, 3,
                                                     ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, made));
}

static void run_lend(const void *input, long count)
{
    (void)input;
    for (long i = 0; i < count; i++) {
        OrtValue *made = NULL;
        lend(&made);
        harness_use(made);
        runtime.api->ReleaseValue(made);
    }
}

/* What of the memory a value has. */
static bool holds(OrtValue *made, const void *memory)
{
    void *data = NULL;

    must(runtime.api->GetTensorMutableData(made, &data));
    runtime.api->ReleaseValue(made);
    return data == memory;
}

static bool verify_lend(const void *input)
{
    OrtValue *made = NULL;

    (void)input;
    lend(&made);
    return holds(made, numbers);
}

static void run_borrow(const void *input, long count)
{
    for (long i = 0; i < count; i++) {
        OrtValue *made = NULL;
        must_pass(dlpark_onnxruntime_borrow(&runtime, &made, input, 0, NULL));
        harness_use(made);
        runtime.api->ReleaseValue(made);
    }
}

static bool verify_borrow(const void *input)
{
    OrtValue *made = NULL;

    must_pass(dlpark_onnxruntime_borrow(&runtime, &made, input, 0, NULL));
    return holds(made, numbers);
}

/* ---- With an owner ---- */

static void *ORT_API_CALL free_alloc(OrtAllocator *allocator, size_t nbytes)
{
    (void)allocator;
    (void)nbytes;
    return NULL;
}

static void ORT_API_CALL free_block(OrtAllocator *allocator, void *data)
{
    (void)data;
    free(allocator);
}

static const OrtMemoryInfo *ORT_API_CALL free_info(const OrtAllocator *allocator)
{
    (void)allocator;
    return runtime.host;
}

/* As a program has it that hands over memory by hand: a block of its own with the deleter in it. */
static void give(OrtValue **made)
{
    OrtAllocator *allocator = calloc(1, sizeof *allocator);

    if (!allocator)
        abort();
    allocator->version = DLPARK_ONNXRUNTIME_LEVEL_EXPORT;
    allocator->Alloc = free_alloc;
    allocator->Free = free_block;
    allocator->Info = free_info;
    must(runtime.api->CreateTensorWithDataAndDeleterAsOrtValue(allocator, numbers, sizeof numbers, shape, 3,
                                                               ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, made));
}

static void run_give(const void *input, long count)
{
    (void)input;
    for (long i = 0; i < count; i++) {
        OrtValue *made = NULL;
        give(&made);
        harness_use(made);
        runtime.api->ReleaseValue(made);
    }
}

static bool verify_give(const void *input)
{
    OrtValue *made = NULL;

    (void)input;
    give(&made);
    return holds(made, numbers);
}

static bool give_and_ask(void)
{
    OrtValue *made = NULL;
    said of;

    give(&made);
    ask(&of, made);
    runtime.api->ReleaseValue(made);
    return of.data == numbers;
}

static void run_give_and_ask(const void *input, long count)
{
    (void)input;
    for (long i = 0; i < count; i++)
        if (!give_and_ask())
            abort();
}

static bool verify_give_and_ask(const void *input)
{
    (void)input;
    return give_and_ask();
}

static void make_tensor(dlpark_tensor *tensor)
{
    must_pass(dlpark_tensor_new(
        tensor, &(dlpark_tensor_desc){.data = numbers, .dtype = DLPARK_F32, .ndim = 3, .shape = DLPARK_DIMS(shape)},
        NULL, NULL));
}

static void run_new(const void *input, long count)
{
    (void)input;
    for (long i = 0; i < count; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        make_tensor(&tensor);
        harness_use(&tensor);
        dlpark_tensor_release(&tensor);
    }
}

static bool verify_new(const void *input)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    (void)input;
    make_tensor(&tensor);
    dlpark_tensor_release(&tensor);
    return true;
}

static void export_one(OrtValue **made)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    make_tensor(&tensor);
    must_pass(dlpark_onnxruntime_export(&runtime, made, &tensor, 0, NULL));
}

static void run_export(const void *input, long count)
{
    (void)input;
    for (long i = 0; i < count; i++) {
        OrtValue *made = NULL;
        export_one(&made);
        harness_use(made);
        runtime.api->ReleaseValue(made);
    }
}

static bool verify_export(const void *input)
{
    OrtValue *made = NULL;

    (void)input;
    export_one(&made);
    return holds(made, numbers);
}

/* Out, back in, and ended. */
static bool cross(void)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    OrtValue *made = NULL;
    dlpark_view DLPARK_UNINITIALIZED view;

    export_one(&made);
    must_pass(dlpark_onnxruntime_import(&runtime, &tensor, &made, &view, NULL));
    dlpark_tensor_release(&tensor);
    return view.data == numbers;
}

static void run_cross(const void *input, long count)
{
    (void)input;
    for (long i = 0; i < count; i++)
        if (!cross())
            abort();
}

static bool verify_cross(const void *input)
{
    (void)input;
    return cross();
}

static dlpark_view lent;

static const harness_group groups[] = {
    {"onnxruntime",
     "a value, looked at",
     3,
     2,
     {{"its own calls", run_ask, verify_ask, NULL, {{NULL, 0}}},
      {"dlpark_onnxruntime_view", run_view, verify_view, NULL, {{"its own calls", 2.5}}}}},
    {"onnxruntime",
     "a value that borrows, made and released",
     3,
     2,
     {{"its own calls", run_lend, verify_lend, NULL, {{NULL, 0}}},
      {"dlpark_onnxruntime_borrow", run_borrow, verify_borrow, &lent, {{"its own calls", 2.5}}}}},
    {"onnxruntime",
     "a value with a deleter, made and released",
     3,
     5,
     {{"its own calls, and a block", run_give, verify_give, NULL, {{NULL, 0}}},
      {"the same, and looked at", run_give_and_ask, verify_give_and_ask, NULL, {{NULL, 0}}},
      {"dlpark_tensor_new and release", run_new, verify_new, NULL, {{NULL, 0}}},
      {"new, export and release", run_export, verify_export, NULL, {{"its own calls, and a block", 2.0}}},
      {"new, export, import and release", run_cross, verify_cross, NULL, {{"the same, and looked at", 2.2}}}}},
};

int main(int argc, char **argv)
{
    harness_options options = harness_parse(argc, argv);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_error err;
    int wrong = 0, missed = 0;

    if (dlpark_onnxruntime_open(&runtime, ONNXRUNTIME_LIBRARY, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    lend(&value);
    make_tensor(&tensor);
    dlpark_tensor_view(&tensor, &lent);
    harness_print_machine(&options);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        wrong += harness_run(&groups[i], &options, &missed);
    runtime.api->ReleaseValue(value);
    dlpark_tensor_release(&tensor);
    return harness_finish(&options, wrong, missed);
}
