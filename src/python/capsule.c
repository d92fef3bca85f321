/*
 * Capsules: their four names, made and consumed.
 */
#include "module.h"

/* Compared by value and kept by pointer, so they must be static. */
static const char capsule_name[] = "dltensor_versioned";
static const char capsule_name_used[] = "used_dltensor_versioned";
static const char capsule_name_legacy[] = "dltensor";
static const char capsule_name_legacy_used[] = "used_dltensor";

/* ---- Making ---- */

/*
 * Destructors run with any exception pending, and foreign deleters behind them may set one. A consumed capsule has
 * another name and is none of ours; PyCapsule_IsValid() sets no exception.
 */
static void capsule_end(PyObject *capsule)
{
    if (!PyCapsule_IsValid(capsule, capsule_name))
        return;
    pending_error saved = dlpark__py_error_save();
    DLManagedTensorVersioned *managed = PyCapsule_GetPointer(capsule, capsule_name);
    dlpark_managed_release(&managed);
    dlpark__py_error_restore(&saved);
}

static void capsule_end_legacy(PyObject *capsule)
{
    if (!PyCapsule_IsValid(capsule, capsule_name_legacy))
        return;
    pending_error saved = dlpark__py_error_save();
    DLManagedTensor *managed = PyCapsule_GetPointer(capsule, capsule_name_legacy);
    dlpark_managed_release_legacy(&managed);
    dlpark__py_error_restore(&saved);
}

PyObject *dlpark__py_capsule_new(dlpark_tensor *tensor)
{
    PyObject *capsule = PyCapsule_New(tensor->managed, capsule_name, capsule_end);

    if (capsule != NULL)
        tensor->managed = NULL;
    return capsule;
}

PyObject *dlpark__py_capsule_new_legacy(dlpark_tensor *tensor)
{
    dlpark_error err;
    DLManagedTensor *managed = NULL;

    if (dlpark_tensor_export_legacy(tensor, 0, &managed, &err))
        return dlpark__py_raise(&err);
    PyObject *capsule = PyCapsule_New(managed, capsule_name_legacy, capsule_end_legacy);
    if (capsule == NULL) {
        pending_error saved = dlpark__py_error_save();
        dlpark_managed_release_legacy(&managed);
        dlpark__py_error_restore(&saved);
    }
    return capsule;
}

/* ---- Consuming ---- */

/*
 * Check, read and rename must happen as one. The GIL sees to that, as none of the three calls runs Python code; where
 * there is no GIL a lock does.
 */
#if defined(Py_GIL_DISABLED)
static PyMutex capsule_mutex;
#define CAPSULE_LOCK()   PyMutex_Lock(&capsule_mutex)
#define CAPSULE_UNLOCK() PyMutex_Unlock(&capsule_mutex)
#else
#define CAPSULE_LOCK()   ((void)0)
#define CAPSULE_UNLOCK() ((void)0)
#endif

/* What the capsule holds, once it is renamed and therefore ours; NULL when it has another name or another was first. */
static void *capsule_claim(PyObject *capsule, const char *name, const char *used_name)
{
    void *held = NULL;

    CAPSULE_LOCK();
    if (PyCapsule_IsValid(capsule, name)) {
        held = PyCapsule_GetPointer(capsule, name);
        if (PyCapsule_SetName(capsule, used_name) != 0)
            held = NULL;
    }
    CAPSULE_UNLOCK();
    return held;
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
    DLManagedTensorVersioned *managed = capsule_claim(capsule, capsule_name, capsule_name_used);
    dlpark_status status;

    if (is_copied != NULL)
        *is_copied = false;
    if (managed != NULL) {
        status = dlpark_tensor_import(tensor, &managed, NULL, err);
        if (status == DLPARK_OK && is_copied != NULL)
            *is_copied = (tensor->managed->flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0;
        dlpark_managed_release(&managed); /* ours still, only if the import failed */
        return status;
    }
    DLManagedTensor *legacy = capsule_claim(capsule, capsule_name_legacy, capsule_name_legacy_used);
    if (legacy == NULL)
        return capsule_refuse(capsule, err);
    status = dlpark_tensor_import_legacy(tensor, &legacy, NULL, err);
    dlpark_managed_release_legacy(&legacy);
    return status;
}
