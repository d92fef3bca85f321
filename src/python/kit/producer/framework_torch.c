/*
 * Results as tensors of PyTorch, and of whatever has an exchange table.
 */
#include "frameworks.h"

PyObject *dlpark__py_to_exchange(const DLPackExchangeAPI *table, dlpark_tensor *tensor)
{
    void *object = NULL;

    /* Whether a tensor that was refused has been ended is up to the table; it is not ours in any case. */
    if (table->managed_tensor_to_py_object_no_sync(dlpark_tensor_export(tensor), &object) == 0 && object != NULL)
        return object;
    if (PyErr_Occurred() == NULL)
        PyErr_SetString(PyExc_RuntimeError, "its exchange table failed without saying why");
    return NULL;
}

/* PyTorch ended the process over them. */
static int torch_refuse_negative_strides(const DLTensor *tensor)
{
    for (int32_t i = 0; i < tensor->ndim; i++) {
        if (tensor->strides[i] < 0 && tensor->shape[i] > 1) {
            PyErr_Format(PyExc_BufferError, "it has no negative strides, and strides[%d] is %lld", (int)i,
                         (long long)tensor->strides[i]);
            return -1;
        }
    }
    return 0;
}

/* Whether PyTorch has had the dtype for as long as it has had a table. */
static bool torch_has(DLDataType dtype)
{
    static const uint8_t bits[] = {
        [kDLInt] = 8 | 16 | 32 | 64, [kDLUInt] = 8 | 16 | 32 | 64,
        [kDLFloat] = 16 | 32 | 64,   [kDLBfloat] = 16,
        [kDLComplex] = 64 | 128,     [kDLBool] = 8,
    };

    return dtype.lanes == 1 && dtype.code < sizeof bits && (bits[dtype.code] & dtype.bits) == dtype.bits &&
           (dtype.bits & (dtype.bits - 1)) == 0;
}

/* Remembers PyTorch's table, if this one has any. NULL with or without an exception. */
static DLPARK_COLD const DLPackExchangeAPI *torch_find_table(dlpark__py_state *state)
{
    const DLPackExchangeAPI *table = NULL;
    PyObject *module = PyImport_ImportModule("torch");
    PyObject *type = module != NULL ? PyObject_GetAttrString(module, "Tensor") : NULL;

    if (type == NULL && module != NULL && PyErr_ExceptionMatches(PyExc_AttributeError))
        PyErr_Clear();
    if (type != NULL && PyType_Check(type))
        table = dlpark__py_type_of(state, (PyTypeObject *)type)->exchange;
    dlpark__py_drop(module);
    dlpark__py_drop(type);
    if (table != NULL && table->managed_tensor_to_py_object_no_sync == NULL)
        table = NULL;
    __atomic_store_n(&state->torch_exchange, table, __ATOMIC_RELEASE);
    return table;
}

static uint32_t torch_device_bit(DLDevice device)
{
    return (uint32_t)device.device_type < 32 ? DLPARK_DEVICE_BIT(device.device_type) : 0;
}

/* Whether a tensor is one that PyTorch takes for certain. */
static bool torch_takes(dlpark__py_state *state, const DLTensor *tensor)
{
    uint32_t known = DLPARK_DEVICE_BIT(kDLCPU) | __atomic_load_n(&state->torch_devices, __ATOMIC_RELAXED);
    int64_t count = 1;
    bool odd = false;

    for (int32_t i = 0; i < tensor->ndim; i++)
        odd |= tensor->strides[i] < 0 || __builtin_mul_overflow(count, tensor->shape[i], &count);
    return !odd && (known & torch_device_bit(tensor->device)) != 0 && torch_has(tensor->dtype);
}

/* By the function that any consumer has. */
static DLPARK_COLD PyObject *torch_from_dlpack(dlpark__py_state *state, dlpark_tensor *tensor)
{
    if (torch_refuse_negative_strides(&tensor->managed->dl_tensor) < 0 ||
        dlpark__py_framework_refuse_many(&tensor->managed->dl_tensor) < 0 ||
        dlpark__py_framework_relabel(tensor, false) < 0) {
        dlpark__py_tensor_release(tensor);
        return NULL;
    }
    uint32_t device_bit = torch_device_bit(tensor->managed->dl_tensor.device);
    PyObject *result = dlpark__py_framework_call(state, tensor, DLPARK_SPEC_AS_TORCH);
    if (result != NULL)
        __atomic_fetch_or(&state->torch_devices, device_bit, __ATOMIC_RELAXED);
    return result;
}

/* The table's function leaks what it refuses, so it is given only what has been taken before, or will be for certain. */
PyObject *dlpark__py_to_torch(dlpark__py_state *state, dlpark_tensor *tensor)
{
    const DLPackExchangeAPI *table = __atomic_load_n(&state->torch_exchange, __ATOMIC_ACQUIRE);

    if (DLPARK_UNLIKELY(table == NULL)) {
        table = torch_find_table(state);
        if (table == NULL && PyErr_Occurred() != NULL) {
            dlpark__py_tensor_release(tensor);
            return NULL;
        }
    }
    if (DLPARK_LIKELY(table != NULL && torch_takes(state, &tensor->managed->dl_tensor)))
        return dlpark__py_to_exchange(table, tensor);
    return torch_from_dlpack(state, tensor);
}
