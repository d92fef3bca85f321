/*
 * NumPy arrays by NumPy's own C API. NumPy is not needed to build, and never imported.
 */
#include "../numpy_parts.h"

#include <string.h>

/* Places in the table of functions. */
enum {
    NUMPY_ABI_VERSION = 0,
    NUMPY_ARRAY_TYPE = 2,
    NUMPY_SCALAR_TYPE = 10,
    NUMPY_DTYPE_FROM_NUMBER = 45,
    NUMPY_DTYPE_FROM_TYPE = 58,
    NUMPY_NEW_FROM_DTYPE = 94,
    NUMPY_API_VERSION = 211
};

/* The ABI of 1.x and of 2.x; the API of 1.20, before which the head of an array was another struct's. */
#define NUMPY_ABI_1   0x01000009u
#define NUMPY_ABI_2   0x02000000u
#define NUMPY_API_MIN 0x0000000eu

/* ---- dtypes ---- */

#define NUMPY_ELEMENT(code, bits, shift)                                                                               \
    {                                                                                                                  \
        {(code), (bits), 1}, (shift), 0, NUMPY_SAME                                                                    \
    }
#define NUMPY_PADDED(code, bits)                                                                                       \
    {                                                                                                                  \
        {(code), (bits), 1}, 0, DLPARK_VIEW_PADDED, NUMPY_SAME                                                         \
    }
#define NUMPY_NONE(kind)                                                                                               \
    {                                                                                                                  \
        {0, 0, 0}, 0, 0, (kind)                                                                                        \
    }
#define NUMPY_SHIFT(type)     (sizeof(type) == 1 ? 0 : sizeof(type) == 2 ? 1 : sizeof(type) == 4 ? 2 : 3)
#define NUMPY_INT(code, type) NUMPY_ELEMENT(code, (uint8_t)(sizeof(type) * 8), NUMPY_SHIFT(type))

/* By number. */
const numpy_element dlpark__py_numpy_builtins[NUMPY_BUILTINS] = {
    NUMPY_ELEMENT(kDLBool, 8, 0),
    NUMPY_INT(kDLInt, signed char),
    NUMPY_INT(kDLUInt, unsigned char),
    NUMPY_INT(kDLInt, short),
    NUMPY_INT(kDLUInt, unsigned short),
    NUMPY_INT(kDLInt, int),
    NUMPY_INT(kDLUInt, unsigned),
    NUMPY_INT(kDLInt, long),
    NUMPY_INT(kDLUInt, unsigned long),
    NUMPY_INT(kDLInt, long long),
    NUMPY_INT(kDLUInt, unsigned long long),
    NUMPY_ELEMENT(kDLFloat, 32, 2),
    NUMPY_ELEMENT(kDLFloat, 64, 3),
    NUMPY_NONE(NUMPY_OTHER), /* long double */
    NUMPY_ELEMENT(kDLComplex, 64, 3),
    NUMPY_ELEMENT(kDLComplex, 128, 4),
    NUMPY_NONE(NUMPY_OTHER),
    NUMPY_NONE(NUMPY_NO_NUMBER), /* object, bytes, str, void, datetime, timedelta */
    NUMPY_NONE(NUMPY_NO_NUMBER),
    NUMPY_NONE(NUMPY_NO_NUMBER),
    NUMPY_NONE(NUMPY_NO_NUMBER),
    NUMPY_NONE(NUMPY_NO_NUMBER),
    NUMPY_NONE(NUMPY_NO_NUMBER),
    NUMPY_ELEMENT(kDLFloat, 16, 1),
};

/* NumPy's own __dlpack__ refuses all of these. */
const numpy_user dlpark__py_numpy_users[NUMPY_USER_TYPES] = {
    {"bfloat16", NUMPY_ELEMENT(kDLBfloat, 16, 1)},
    {"float8_e3m4", NUMPY_ELEMENT(kDLFloat8_e3m4, 8, 0)},
    {"float8_e4m3", NUMPY_ELEMENT(kDLFloat8_e4m3, 8, 0)},
    {"float8_e4m3b11fnuz", NUMPY_ELEMENT(kDLFloat8_e4m3b11fnuz, 8, 0)},
    {"float8_e4m3fn", NUMPY_ELEMENT(kDLFloat8_e4m3fn, 8, 0)},
    {"float8_e4m3fnuz", NUMPY_ELEMENT(kDLFloat8_e4m3fnuz, 8, 0)},
    {"float8_e5m2", NUMPY_ELEMENT(kDLFloat8_e5m2, 8, 0)},
    {"float8_e5m2fnuz", NUMPY_ELEMENT(kDLFloat8_e5m2fnuz, 8, 0)},
    {"float8_e8m0fnu", NUMPY_ELEMENT(kDLFloat8_e8m0fnu, 8, 0)},
    {"float6_e2m3fn", NUMPY_PADDED(kDLFloat6_e2m3fn, 6)},
    {"float6_e3m2fn", NUMPY_PADDED(kDLFloat6_e3m2fn, 6)},
    {"float4_e2m1fn", NUMPY_PADDED(kDLFloat4_e2m1fn, 4)},
    {"complex32", NUMPY_ELEMENT(kDLComplex, 32, 2)},
    {"int1", NUMPY_PADDED(kDLInt, 1)},
    {"int2", NUMPY_PADDED(kDLInt, 2)},
    {"int4", NUMPY_PADDED(kDLInt, 4)},
    {"uint1", NUMPY_PADDED(kDLUInt, 1)},
    {"uint2", NUMPY_PADDED(kDLUInt, 2)},
    {"uint4", NUMPY_PADDED(kDLUInt, 4)},
};

/* What is known of other libraries' numbers, which NumPy gives out once in a process. */
static numpy_element numpy_seen[NUMPY_USERS];

/* What a dtype of another library is, by the name of its scalar type. */
static DLPARK_COLD numpy_element numpy_look(const numpy_dtype *dtype)
{
    numpy_element found = NUMPY_NONE(NUMPY_OTHER);
    PyObject *module = PyObject_GetAttrString((PyObject *)dtype->scalar_type, "__module__");
    PyObject *name = PyObject_GetAttrString((PyObject *)dtype->scalar_type, "__name__");
    bool is_known = module != NULL && name != NULL && PyUnicode_Check(module) && PyUnicode_Check(name) &&
                    PyUnicode_CompareWithASCIIString(module, "ml_dtypes") == 0;

    for (size_t i = 0; is_known && i < NUMPY_USER_TYPES; i++)
        if (PyUnicode_CompareWithASCIIString(name, dlpark__py_numpy_users[i].name) == 0)
            found = dlpark__py_numpy_users[i].element;
    Py_XDECREF(module);
    Py_XDECREF(name);
    PyErr_Clear();
    return found;
}

static DLPARK_COLD numpy_element numpy_element_unusual(const numpy_dtype *dtype)
{
    numpy_element element = NUMPY_NONE(NUMPY_OTHER);
    size_t at = (size_t)(unsigned)dtype->number - NUMPY_USER;

    if (at >= NUMPY_USERS)
        return element;
    __atomic_load(&numpy_seen[at], &element, __ATOMIC_RELAXED);
    if (element.kind == NUMPY_UNSEEN) {
        element = numpy_look(dtype);
        __atomic_store(&numpy_seen[at], &element, __ATOMIC_RELAXED);
    }
    return element;
}

/* ---- Arrays ---- */

static DLPARK_COLD int numpy_refuse(const numpy_array *array, numpy_element element)
{
    if (element.kind != NUMPY_NO_NUMBER)
        return 0;
    PyErr_Format(PyExc_BufferError, "a NumPy array of dtype %S cannot be exchanged: DLPack has no such elements",
                 array->dtype);
    return -1;
}

/* Whether all bytes from the lowest to the highest element, counted from element 0, have addresses. */
static bool numpy_is_placed(const numpy_array *array, int64_t lowest, int64_t highest, unsigned shift)
{
    uintptr_t data = (uintptr_t)array->data, last;

    return data > (uintptr_t)0 - (uintptr_t)lowest &&
           !__builtin_add_overflow(data, (uintptr_t)highest + ((uintptr_t)1 << shift) - 1, &last);
}

/* Whether the strides of any array are whole elements, and its elements lie where addresses are. *empty: it has none. */
static __attribute__((noinline)) bool numpy_measure(const numpy_array *array, unsigned shift, bool *empty)
{
    int64_t lowest = 0, highest = 0, reach;
    int64_t between = 0; /* bits of the strides below an element */
    bool overflow = false;

    *empty = false;
    for (int i = 0; i < array->ndim; i++) {
        int64_t extent = array->shape[i], stride = array->strides[i];
        if (extent == 1)
            continue;
        *empty |= extent == 0;
        between |= stride;
        overflow |= __builtin_mul_overflow(extent - 1, stride, &reach);
        overflow |= __builtin_add_overflow(reach < 0 ? lowest : highest, reach, reach < 0 ? &lowest : &highest);
    }
    if (*empty)
        return true;
    return !overflow && (between & (((int64_t)1 << shift) - 1)) == 0 && numpy_is_placed(array, lowest, highest, shift);
}

/* Extents less 1 and byte strides below this reach less than 2^62 bytes in 64 dimensions. */
#define NUMPY_USUAL_LIMIT (UINT64_C(1) << 28)

/* Fills in extents and strides. False for what a view cannot have. *empty: there are no elements. */
static bool numpy_fill(const numpy_array *array, unsigned shift, dlpark_view *view, bool *empty)
{
    uint64_t large = 0, strides = 0, highest = 0;

    for (int i = 0; i < array->ndim; i++) {
        uint64_t extent = (uint64_t)array->shape[i], stride = (uint64_t)array->strides[i];
        view->shape[i] = (int64_t)extent;
        view->strides[i] = (int64_t)stride >> shift;
        large |= extent - 1; /* of 0 it is large */
        strides |= stride;
        highest += (extent - 1) * stride;
    }
    if (DLPARK_UNLIKELY((large | strides) >= NUMPY_USUAL_LIMIT || (strides & ((UINT64_C(1) << shift) - 1)) != 0))
        return numpy_measure(array, shift, empty);
    *empty = false;
    return numpy_is_placed(array, 0, (int64_t)highest, shift);
}

int dlpark__py_numpy_view(const dlpark__py_numpy *numpy, PyObject *object, dlpark_view *view)
{
    const numpy_array *array = (const numpy_array *)object;
    const numpy_dtype *dtype = (const numpy_dtype *)array->dtype;
    bool empty;

    (void)numpy;
    numpy_element element = DLPARK_LIKELY((unsigned)dtype->number < NUMPY_BUILTINS)
                                ? dlpark__py_numpy_builtins[dtype->number]
                                : numpy_element_unusual(dtype);
    if (DLPARK_UNLIKELY(element.kind != NUMPY_SAME))
        return numpy_refuse(array, element);
    if (DLPARK_UNLIKELY(dtype->byteorder == NUMPY_OTHER_ORDER || (unsigned)array->ndim > DLPARK_MAX_NDIM ||
                        !numpy_fill(array, element.shift, view, &empty)))
        return 0;
    view->data = empty ? NULL : array->data;
    view->byte_offset = 0;
    view->device = DLPARK_DEVICE_CPU;
    view->dtype = element.dtype;
    view->ndim = array->ndim;
    view->flags = element.flags;
    if ((array->flags & (NUMPY_WRITEABLE | NUMPY_WARN_ON_WRITE)) != NUMPY_WRITEABLE)
        view->flags |= DLPARK_VIEW_READ_ONLY;
    view->bit_offset = 0;
    memset(view->reserved, 0, sizeof view->reserved);
    return 1;
}

bool dlpark__py_numpy_compact(PyObject *object, DLTensor *out, uint32_t *flags)
{
    const numpy_array *array = (const numpy_array *)object;
    const numpy_dtype *dtype = (const numpy_dtype *)array->dtype;

    if (DLPARK_UNLIKELY((array->flags & NUMPY_C_CONTIGUOUS) == 0 || (unsigned)dtype->number >= NUMPY_BUILTINS ||
                        dlpark__py_numpy_builtins[dtype->number].kind != NUMPY_SAME ||
                        dtype->byteorder == NUMPY_OTHER_ORDER || sizeof *array->shape != sizeof *out->shape))
        return false;
    out->data = array->data;
    out->device = DLPARK_DEVICE_CPU;
    out->ndim = array->ndim;
    out->dtype = dlpark__py_numpy_builtins[dtype->number].dtype;
    out->shape = (int64_t *)(void *)array->shape;
    out->strides = NULL;
    out->byte_offset = 0;
    *flags = (array->flags & (NUMPY_WRITEABLE | NUMPY_WARN_ON_WRITE)) != NUMPY_WRITEABLE ? DLPARK_VIEW_READ_ONLY : 0;
    return true;
}

bool dlpark__py_numpy_is_swapped(PyObject *array)
{
    return ((const numpy_dtype *)((const numpy_array *)array)->dtype)->byteorder == NUMPY_OTHER_ORDER;
}

PyObject *dlpark__py_numpy_dtype(PyObject *array)
{
    return ((const numpy_array *)array)->dtype;
}

bool dlpark__py_is_ndarray(const dlpark__py_numpy *numpy, const PyTypeObject *type)
{
    return type == numpy->array_type;
}

bool dlpark__py_numpy_is_scalar(dlpark__py_state *state, PyObject *object)
{
    const dlpark__py_numpy *numpy = dlpark__py_numpy_get(state);

    return numpy != NULL && PyObject_TypeCheck(object, numpy->scalar_type);
}

/* ---- The table ---- */

static uintptr_t numpy_entry(void *const *table, int at)
{
    return (uintptr_t)table[at];
}

/* Whether the fields are where they are declared. The first function is at the same place in every version. */
static bool numpy_is_known(void *const *table)
{
    unsigned (*abi_version)(void) = (unsigned (*)(void))numpy_entry(table, NUMPY_ABI_VERSION);
    unsigned (*api_version)(void) = (unsigned (*)(void))numpy_entry(table, NUMPY_API_VERSION);
    unsigned abi = abi_version();

    return (abi == NUMPY_ABI_1 || abi == NUMPY_ABI_2) && api_version() >= NUMPY_API_MIN;
}

/* NumPy's table of functions, static in it; NULL while it is not there, or not one that is known. */
static void *const *numpy_table(dlpark__py_state *state)
{
    static const char *const names[] = {"numpy._core._multiarray_umath", "numpy.core._multiarray_umath"};
    void *const *table = NULL;

    for (size_t i = 0; table == NULL && i < sizeof names / sizeof *names; i++) {
        PyObject *module = dlpark__py_imported(state, names[i]);
        PyObject *capsule = module != NULL ? PyObject_GetAttrString(module, "_ARRAY_API") : NULL;
        if (capsule != NULL && PyCapsule_CheckExact(capsule))
            table = PyCapsule_GetPointer(capsule, NULL);
        Py_XDECREF(capsule);
        Py_XDECREF(module);
    }
    return table != NULL && numpy_is_known(table) ? table : NULL;
}

/* Of two dtypes of one size the first has the name: int64 and the like. */
static void numpy_fill_numbers(dlpark__py_numpy *numpy)
{
    memset(numpy->numbers, -1, sizeof numpy->numbers);
    for (int i = NUMPY_BUILTINS - 1; i >= 0; i--) {
        DLDataType dtype = dlpark__py_numpy_builtins[i].dtype;
        if (dlpark__py_numpy_builtins[i].kind == NUMPY_SAME)
            numpy->numbers[dtype.code][__builtin_ctz(dtype.bits)] = (int8_t)i;
    }
}

static dlpark__py_numpy *numpy_make(void *const *table)
{
    dlpark__py_numpy *numpy = PyMem_Calloc(1, sizeof *numpy);

    if (numpy == NULL)
        return NULL;
    numpy->array_type = table[NUMPY_ARRAY_TYPE];
    numpy->scalar_type = table[NUMPY_SCALAR_TYPE];
    numpy_fill_numbers(numpy);
    numpy->dtype_from_number = (PyObject * (*)(int)) numpy_entry(table, NUMPY_DTYPE_FROM_NUMBER);
    numpy->dtype_from_type = (PyObject * (*)(PyObject *)) numpy_entry(table, NUMPY_DTYPE_FROM_TYPE);
    numpy->new_from_dtype = (PyObject * (*)(PyTypeObject *, PyObject *, int, const Py_ssize_t *, const Py_ssize_t *,
                                            void *, int, PyObject *)) numpy_entry(table, NUMPY_NEW_FROM_DTYPE);
    return numpy;
}

const dlpark__py_numpy *dlpark__py_numpy_get(dlpark__py_state *state)
{
    const dlpark__py_numpy *numpy = __atomic_load_n(&state->numpy, __ATOMIC_ACQUIRE);
    const dlpark__py_numpy *none = NULL;

    if (DLPARK_LIKELY(numpy != NULL))
        return numpy;
    pending_error saved = dlpark__py_error_save();
    void *const *table = numpy_table(state);
    dlpark__py_numpy *made = table != NULL ? numpy_make(table) : NULL;
    dlpark__py_error_forget(state);
    if (table != NULL && made == NULL)
        __atomic_store_n(&state->starved, true, __ATOMIC_RELAXED);
    dlpark__py_error_restore(&saved);
    if (made == NULL)
        return NULL;
    if (__atomic_compare_exchange_n(&state->numpy, &none, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return made;
    PyMem_Free(made); /* another thread was first */
    return none;
}
