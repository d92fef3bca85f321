/*
 * The real ONNX Runtime behind a table of functions that counts what is made and released, and lets any call fail.
 */
#ifndef ONNXRUNTIME_FAKE_H
#define ONNXRUNTIME_FAKE_H

#include <dlpark/onnxruntime.h>
#include <onnxruntime_c_api.h>

#include <stdbool.h>

typedef struct fake_state {
    const OrtApi *real;
    OrtApi table;
    OrtApiBase base;
    const char *version; /* what base says */
    bool serves_none;
    long calls;    /* that may fail, since fake_fail() */
    long fail_at;  /* this one fails; 0: none */
    long statuses; /* alive */
    long values, infos, memories;
    bool fails_late;           /* a value that is to be given out is made, ended again, and reported as failed */
    const char *failed;        /* the function that was made to fail */
    int type, kind, rank, has; /* what a value is said to be; -1: what it is */
} fake_state;

static fake_state fake;

/* Every call of the library through the table is this. */
static OrtStatus *fake_planted(const char *function)
{
    if (++fake.calls != fake.fail_at)
        return NULL;
    fake.failed = function;
    fake.statuses++;
    return fake.real->CreateStatus(ORT_FAIL, "planted");
}

/* A status of the library's own counts too. */
static OrtStatus *fake_counted(OrtStatus *status)
{
    fake.statuses += status != NULL;
    return status;
}

#define FAKE(function, parameters, ...)                                                                                \
    static OrtStatus *ORT_API_CALL fake_##function parameters                                                          \
    {                                                                                                                  \
        OrtStatus *planted = fake_planted(#function);                                                                  \
        return planted ? planted : fake_counted(fake.real->function(__VA_ARGS__));                                     \
    }

/* The same for a function that makes something, which `counter` counts, and for one whose answer may be told. */
#define FAKE_MAKER(function, counter, parameters, ...)                                                                 \
    static OrtStatus *ORT_API_CALL fake_##function parameters                                                          \
    {                                                                                                                  \
        OrtStatus *status = fake_planted(#function);                                                                   \
        if (!status)                                                                                                   \
            status = fake_counted(fake.real->function(__VA_ARGS__));                                                   \
        fake.counter += status == NULL;                                                                                \
        return status;                                                                                                 \
    }
#define FAKE_TOLD(function, told, parameters, ...)                                                                     \
    static OrtStatus *ORT_API_CALL fake_##function parameters                                                          \
    {                                                                                                                  \
        OrtStatus *status = fake_planted(#function);                                                                   \
        if (!status)                                                                                                   \
            status = fake_counted(fake.real->function(__VA_ARGS__));                                                   \
        if (!status && fake.told >= 0)                                                                                 \
            *out = (__typeof__(*out))fake.told;                                                                        \
        return status;                                                                                                 \
    }

FAKE(GetAllocatorWithDefaultOptions, (OrtAllocator * *out), out)
FAKE(AllocatorGetInfo, (const OrtAllocator *allocator, const OrtMemoryInfo **out), allocator, out)
FAKE_TOLD(HasValue, has, (const OrtValue *value, int *out), value, out)
FAKE(IsTensor, (const OrtValue *value, int *out), value, out)
FAKE_TOLD(GetValueType, kind, (const OrtValue *value, enum ONNXType *out), value, out)
FAKE_MAKER(GetTensorTypeAndShape, infos, (const OrtValue *value, OrtTensorTypeAndShapeInfo **out), value, out)
FAKE_TOLD(GetTensorElementType, type, (const OrtTensorTypeAndShapeInfo *info, enum ONNXTensorElementDataType *out),
          info, out)
FAKE_TOLD(GetDimensionsCount, rank, (const OrtTensorTypeAndShapeInfo *info, size_t *out), info, out)
FAKE(GetDimensions, (const OrtTensorTypeAndShapeInfo *info, int64_t *out, size_t count), info, out, count)
FAKE(GetTensorMemoryInfo, (const OrtValue *value, const OrtMemoryInfo **out), value, out)
FAKE(MemoryInfoGetName, (const OrtMemoryInfo *memory, const char **out), memory, out)
FAKE(MemoryInfoGetId, (const OrtMemoryInfo *memory, int *out), memory, out)
FAKE(MemoryInfoGetType, (const OrtMemoryInfo *memory, OrtAllocatorType *out), memory, out)
FAKE(GetTensorMutableData, (OrtValue * value, void **out), value, out)
FAKE_MAKER(CreateMemoryInfo, memories,
           (const char *name, enum OrtAllocatorType type, int id, enum OrtMemType memory, OrtMemoryInfo **out), name,
           type, id, memory, out)
FAKE_MAKER(CreateTensorWithDataAsOrtValue, values,
           (const OrtMemoryInfo *memory, void *data, size_t nbytes, const int64_t *shape, size_t ndim,
            ONNXTensorElementDataType type, OrtValue **out),
           memory, data, nbytes, shape, ndim, type, out)
FAKE_MAKER(CreateTensorAsOrtValue, values,
           (OrtAllocator * allocator, const int64_t *shape, size_t ndim, ONNXTensorElementDataType type,
            OrtValue **out),
           allocator, shape, ndim, type, out)

static OrtStatus *ORT_API_CALL fake_CreateTensorWithDataAndDeleterAsOrtValue(OrtAllocator *deleter, void *data,
                                                                             size_t nbytes, const int64_t *shape,
                                                                             size_t ndim,
                                                                             ONNXTensorElementDataType type,
                                                                             OrtValue **out)
{
    OrtStatus *status = fake_planted("CreateTensorWithDataAndDeleterAsOrtValue");

    if (!status)
        status = fake_counted(
            fake.real->CreateTensorWithDataAndDeleterAsOrtValue(deleter, data, nbytes, shape, ndim, type, out));
    if (!status && fake.fails_late) {
        fake.real->ReleaseValue(*out);
        *out = NULL;
        status = fake_counted(fake.real->CreateStatus(ORT_FAIL, "planted late"));
    }
    fake.values += status == NULL;
    return status;
}

static void ORT_API_CALL fake_ReleaseStatus(OrtStatus *status)
{
    fake.statuses--;
    fake.real->ReleaseStatus(status);
}

static void ORT_API_CALL fake_ReleaseValue(OrtValue *value)
{
    fake.values--;
    fake.real->ReleaseValue(value);
}

static void ORT_API_CALL fake_ReleaseTensorTypeAndShapeInfo(OrtTensorTypeAndShapeInfo *info)
{
    fake.infos--;
    fake.real->ReleaseTensorTypeAndShapeInfo(info);
}

static void ORT_API_CALL fake_ReleaseMemoryInfo(OrtMemoryInfo *memory)
{
    fake.memories--;
    fake.real->ReleaseMemoryInfo(memory);
}

static const OrtApi *ORT_API_CALL fake_GetApi(uint32_t version)
{
    (void)version;
    return fake.serves_none ? NULL : &fake.table;
}

static const char *ORT_API_CALL fake_GetVersionString(void)
{
    return fake.version;
}

/* The n-th call from here on fails; 0: none does. */
static inline void fake_fail(long nth)
{
    fake.calls = 0;
    fake.fail_at = nth;
}

/* Puts the counting table in front of a library; `runtime` is then opened by fake.base. */
static inline void fake_begin(const dlpark_onnxruntime *library)
{
    fake = (fake_state){.real = library->api, .table = *library->api, .version = library->version};
    fake.base = (OrtApiBase){fake_GetApi, fake_GetVersionString};
    fake.type = fake.kind = fake.rank = fake.has = -1;
#define FAKE_PUT(function) fake.table.function = fake_##function
    FAKE_PUT(GetAllocatorWithDefaultOptions);
    FAKE_PUT(AllocatorGetInfo);
    FAKE_PUT(HasValue);
    FAKE_PUT(IsTensor);
    FAKE_PUT(GetValueType);
    FAKE_PUT(GetTensorTypeAndShape);
    FAKE_PUT(GetTensorElementType);
    FAKE_PUT(GetDimensionsCount);
    FAKE_PUT(GetDimensions);
    FAKE_PUT(GetTensorMemoryInfo);
    FAKE_PUT(MemoryInfoGetName);
    FAKE_PUT(MemoryInfoGetId);
    FAKE_PUT(MemoryInfoGetType);
    FAKE_PUT(GetTensorMutableData);
    FAKE_PUT(CreateMemoryInfo);
    FAKE_PUT(CreateTensorWithDataAsOrtValue);
    FAKE_PUT(CreateTensorWithDataAndDeleterAsOrtValue);
    FAKE_PUT(CreateTensorAsOrtValue);
    FAKE_PUT(ReleaseStatus);
    FAKE_PUT(ReleaseValue);
    FAKE_PUT(ReleaseTensorTypeAndShapeInfo);
    FAKE_PUT(ReleaseMemoryInfo);
#undef FAKE_PUT
}

/* Nothing of the library's is left but `values` values. */
static inline void fake_assert_left(long values)
{
    assert_int_equal(fake.values, values);
    assert_int_equal(fake.statuses, 0);
    assert_int_equal(fake.infos, 0);
    assert_int_equal(fake.memories, 0);
}

/* A call of the test's own, which has to succeed. */
#define assert_runs(call) assert_null(call)

/* ---- What the tests work with ---- */

/* The library as it is, and behind the counting table. */
static dlpark_onnxruntime library, runtime;

static inline int fake_setup(void **state)
{
    (void)state;
    if (dlpark_onnxruntime_open(&library, ONNXRUNTIME_LIBRARY, NULL) != DLPARK_OK)
        return -1;
    fake_begin(&library);
    return dlpark_onnxruntime_init(&runtime, &fake.base, NULL) == DLPARK_OK ? 0 : -1;
}

/* A value of the library's own memory, of a type by its number. */
static inline OrtValue *value_of(int type, size_t ndim, const int64_t *shape)
{
    OrtAllocator *allocator = NULL;
    OrtValue *value = NULL;

    assert_runs(fake.real->GetAllocatorWithDefaultOptions(&allocator));
    assert_runs(fake.table.CreateTensorAsOrtValue(allocator, shape, ndim, (ONNXTensorElementDataType)type, &value));
    return value;
}

static inline OrtValue *value_f32(void)
{
    return value_of(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, 2, (int64_t[]){2, 3});
}

static inline void *value_data(OrtValue *value)
{
    void *data = NULL;

    assert_runs(fake.real->GetTensorMutableData(value, &data));
    return data;
}

static inline void value_release(OrtValue *value)
{
    fake.table.ReleaseValue(value);
}

/* Every element type that is a dtype of DLPack, by its number. */
typedef struct fake_dtype {
    int type;
    DLDataType dtype;
} fake_dtype;

static const fake_dtype fake_dtypes[] = {
    {9, {kDLBool, 8, 1}},
    {3, {kDLInt, 8, 1}},
    {5, {kDLInt, 16, 1}},
    {6, {kDLInt, 32, 1}},
    {7, {kDLInt, 64, 1}},
    {2, {kDLUInt, 8, 1}},
    {4, {kDLUInt, 16, 1}},
    {12, {kDLUInt, 32, 1}},
    {13, {kDLUInt, 64, 1}},
    {25, {kDLInt, 2, 1}},
    {22, {kDLInt, 4, 1}},
    {24, {kDLUInt, 2, 1}},
    {21, {kDLUInt, 4, 1}},
    {10, {kDLFloat, 16, 1}},
    {1, {kDLFloat, 32, 1}},
    {11, {kDLFloat, 64, 1}},
    {16, {kDLBfloat, 16, 1}},
    {17, {kDLFloat8_e4m3fn, 8, 1}},
    {18, {kDLFloat8_e4m3fnuz, 8, 1}},
    {19, {kDLFloat8_e5m2, 8, 1}},
    {20, {kDLFloat8_e5m2fnuz, 8, 1}},
    {26, {kDLFloat8_e8m0fnu, 8, 1}},
    {23, {kDLFloat4_e2m1fn, 4, 1}},
};

typedef struct fake_shape {
    const char *layout;
    size_t ndim;
    int64_t shape[2];
} fake_shape;

static const fake_shape fake_shapes[] = {{"compact", 2, {3, 3}}, {"rank 0", 0, {0}}, {"empty", 2, {0, 3}}};

enum { FAKE_DTYPES = sizeof fake_dtypes / sizeof *fake_dtypes, FAKE_SHAPES = sizeof fake_shapes / sizeof *fake_shapes };

#endif
