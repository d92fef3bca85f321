/*
 * Capsules: their four names, made and consumed.
 */
#include "../kit.h"

/* Compared by value and kept by pointer, so they must be static. */
static const char capsule_name[] = "dltensor_versioned";
static const char capsule_name_used[] = "used_dltensor_versioned";
static const char capsule_name_legacy[] = "dltensor";
static const char capsule_name_legacy_used[] = "used_dltensor";

/* ---- Making ---- */

/* Whether the capsule has not been consumed; one that has got another name. Sets no exception. Usually the name is the
 * very string that it was made with. */
static inline bool capsule_has_name(PyObject *capsule, const char *name)
{
    return PyCapsule_GetName(capsule) == name || PyCapsule_IsValid(capsule, name);
}

/* Destructors run with any exception pending, and foreign deleters behind them may set one. */
static void capsule_end(PyObject *capsule)
{
    if (!capsule_has_name(capsule, capsule_name))
        return;
    dlpark_tensor tensor = {PyCapsule_GetPointer(capsule, capsule_name)};
    dlpark__py_tensor_release(&tensor);
}

static DLPARK_COLD void capsule_release_pending(DLManagedTensor *managed)
{
    pending_error saved = dlpark__py_error_save();

    dlpark_managed_release_legacy(&managed);
    dlpark__py_error_restore(&saved);
}

void dlpark__py_legacy_release(DLManagedTensor *managed)
{
    if (DLPARK_UNLIKELY(PyErr_Occurred() != NULL)) {
        capsule_release_pending(managed);
        return;
    }
    if (DLPARK_LIKELY(managed->deleter != NULL))
        managed->deleter(managed);
    if (DLPARK_UNLIKELY(PyErr_Occurred() != NULL))
        PyErr_Clear();
}

static void capsule_end_legacy(PyObject *capsule)
{
    if (capsule_has_name(capsule, capsule_name_legacy))
        dlpark__py_legacy_release(PyCapsule_GetPointer(capsule, capsule_name_legacy));
}

PyObject *dlpark_py_capsule_new(dlpark_tensor *tensor)
{
    PyObject *capsule = PyCapsule_New(tensor->managed, capsule_name, capsule_end);

    if (DLPARK_LIKELY(capsule != NULL))
        tensor->managed = NULL;
    return capsule;
}

/* What a legacy capsule cannot say, in the words of Python's protocol. */
static PyObject *capsule_raise_legacy(const dlpark_tensor *tensor, const dlpark_error *err)
{
    if (err->status == DLPARK_E_READ_ONLY) {
        PyErr_SetString(PyExc_BufferError, "the tensor is read-only, which a legacy capsule cannot say; ask with "
                                           "max_version=(1, 0) or copy=True");
        return NULL;
    }
    if (err->status == DLPARK_E_FLAGS) {
        dlpark_name dtype = dlpark_dtype_long_name(tensor->managed->dl_tensor.dtype);
        return PyErr_Format(PyExc_BufferError,
                            "the tensor's %s elements are padded, which a legacy capsule cannot say; ask with "
                            "max_version=(1, 0)",
                            dtype.text);
    }
    return dlpark_py_raise(err);
}

PyObject *dlpark_py_capsule_new_legacy(dlpark_tensor *tensor)
{
    dlpark_error err;
    DLManagedTensor *managed = NULL;

    if (dlpark_tensor_export_legacy(tensor, 0, &managed, &err))
        return capsule_raise_legacy(tensor, &err);
    PyObject *capsule = PyCapsule_New(managed, capsule_name_legacy, capsule_end_legacy);
    if (capsule == NULL)
        dlpark__py_legacy_release(managed);
    return capsule;
}

/* ---- Consuming ---- */

/*
 * Read, check and rename must happen as one. The GIL sees to that, as none of the calls runs Python code; where there
 * is no GIL a lock does.
 */
#if defined(Py_GIL_DISABLED)
static PyMutex capsule_mutex;
#define CAPSULE_LOCK()   PyMutex_Lock(&capsule_mutex)
#define CAPSULE_UNLOCK() PyMutex_Unlock(&capsule_mutex)
#else
#define CAPSULE_LOCK()   ((void)0)
#define CAPSULE_UNLOCK() ((void)0)
#endif

/* Whether the import will take it, short of memory. */
static dlpark_status capsule_check(const DLManagedTensorVersioned *managed, dlpark_error *err)
{
    DLPARK_TRY(dlpark_abi_check(managed->version, err)); /* of another major nothing else may be read */
    return dlpark_check(&managed->dl_tensor, managed->flags, NULL, err);
}

static dlpark_status capsule_check_legacy(const DLManagedTensor *managed, dlpark_error *err)
{
    return dlpark_check(&managed->dl_tensor, 0, NULL, err);
}

static dlpark_status capsule_rename(PyObject *capsule, const char *used_name, dlpark_error *err)
{
    if (PyCapsule_SetName(capsule, used_name) == 0)
        return DLPARK_OK;
    PyErr_Clear();
    return dlpark_error_set(err, DLPARK_E_FOREIGN, "the capsule cannot be renamed, and so it cannot be consumed");
}

/* *held is ours once the capsule is renamed; NULL when it has another name, another was first, or it is refused. */
static dlpark_status capsule_claim(PyObject *capsule, DLManagedTensorVersioned **held, dlpark_error *err)
{
    dlpark_status status = DLPARK_OK;

    CAPSULE_LOCK();
    if (PyCapsule_IsValid(capsule, capsule_name)) {
        DLManagedTensorVersioned *managed = PyCapsule_GetPointer(capsule, capsule_name);
        status = capsule_check(managed, err);
        if (status == DLPARK_OK)
            status = capsule_rename(capsule, capsule_name_used, err);
        *held = status == DLPARK_OK ? managed : NULL;
    }
    CAPSULE_UNLOCK();
    return status;
}

static dlpark_status capsule_claim_legacy(PyObject *capsule, DLManagedTensor **held, dlpark_error *err)
{
    dlpark_status status = DLPARK_OK;

    CAPSULE_LOCK();
    if (PyCapsule_IsValid(capsule, capsule_name_legacy)) {
        DLManagedTensor *managed = PyCapsule_GetPointer(capsule, capsule_name_legacy);
        status = capsule_check_legacy(managed, err);
        if (status == DLPARK_OK)
            status = capsule_rename(capsule, capsule_name_legacy_used, err);
        *held = status == DLPARK_OK ? managed : NULL;
    }
    CAPSULE_UNLOCK();
    return status;
}

dlpark__py_capsule_held dlpark__py_capsule_look(PyObject *capsule, bool is_versioned)
{
    dlpark__py_capsule_held held = {NULL, NULL};

    if (!PyCapsule_CheckExact(capsule))
        return held;
    void *pointer = PyCapsule_GetPointer(capsule, is_versioned ? capsule_name : capsule_name_legacy);
    if (DLPARK_UNLIKELY(pointer == NULL)) {
        PyErr_Clear();
        is_versioned = !is_versioned;
        if (PyCapsule_IsValid(capsule, is_versioned ? capsule_name : capsule_name_legacy))
            pointer = PyCapsule_GetPointer(capsule, is_versioned ? capsule_name : capsule_name_legacy);
    }
    if (is_versioned)
        held.versioned = pointer;
    else
        held.legacy = pointer;
    return held;
}

bool dlpark__py_capsule_take(PyObject *capsule, dlpark__py_capsule_held held)
{
    /* Of a capsule that nobody else can see the name does not matter, and the destructor has nothing left to do. */
    if (DLPARK_LIKELY(Py_REFCNT(capsule) == 1 && PyCapsule_SetDestructor(capsule, NULL) == 0))
        return true;
    if (DLPARK_LIKELY(PyCapsule_SetName(capsule, held.legacy != NULL ? capsule_name_legacy_used : capsule_name_used) ==
                      0))
        return true;
    PyErr_Clear();
    return false;
}

static dlpark_status capsule_refuse(PyObject *capsule, dlpark_error *err)
{
    if (PyCapsule_IsValid(capsule, capsule_name_used) || PyCapsule_IsValid(capsule, capsule_name_legacy_used))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                                "the capsule has been consumed already; a DLPack capsule can be consumed once");
    const char *name = PyCapsule_GetName(capsule);
    if (name == NULL) {
        PyErr_Clear();
        return dlpark_error_set(
            err, DLPARK_E_ARGUMENT,
            "the capsule has no name; a DLPack capsule is called 'dltensor_versioned' or 'dltensor'");
    }
    return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                            "the capsule is called '%.64s'; a DLPack capsule is called 'dltensor_versioned' or "
                            "'dltensor'",
                            name);
}

dlpark_status dlpark__py_capsule_import(PyObject *capsule, dlpark_tensor *tensor, bool *is_copied, dlpark_error *err)
{
    DLManagedTensorVersioned *managed = NULL;
    DLManagedTensor *legacy = NULL;
    dlpark_status status;

    if (is_copied != NULL)
        *is_copied = false;
    DLPARK_TRY(capsule_claim(capsule, &managed, err));
    if (managed != NULL) {
        status = dlpark_tensor_import(tensor, &managed, NULL, err);
        if (status == DLPARK_OK && is_copied != NULL)
            *is_copied = (tensor->managed->flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0;
        dlpark_managed_release(&managed); /* ours still, only if there was no memory */
        return status;
    }
    DLPARK_TRY(capsule_claim_legacy(capsule, &legacy, err));
    if (legacy == NULL)
        return capsule_refuse(capsule, err);
    status = dlpark_tensor_import_legacy(tensor, &legacy, NULL, err);
    dlpark_managed_release_legacy(&legacy);
    return status;
}
