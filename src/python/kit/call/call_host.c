/*
 * Arguments by __dlpack__ of types whose memory was on the host the last time, and whose method is in C: what runs is
 * foreign, but not somebody's Python. They are asked without a look at the device first, which costs as much again: where
 * the memory is elsewhere after all, the answer is dropped and the object asked as any other. What is only read is asked
 * for by the legacy ABI, which is faster at both ends.
 */
#include "call_parts.h"

/* By what the type has under the name, as the interpreter finds special methods. */
static inline PyObject *host_call(dlpark__py_state *state, PyObject *method, PyObject *object, bool is_versioned)
{
    PyObject *args[3] = {NULL, object, state->abi_version};

    Py_INCREF(method); /* the type may lose it meanwhile */
    PyObject *capsule = PyObject_Vectorcall(method, args + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                            is_versioned ? state->only_max_version : NULL);
    Py_DECREF(method);
    return capsule;
}

/* After an exception: a versioned answer where a legacy one was refused, such as of memory that must not be written; else
 * NULL. What ends the call stays set; an error does not, as the object will be asked once more, and heard. */
static DLPARK_COLD PyObject *host_call_again(dlpark__py_state *state, PyObject *object, bool is_versioned)
{
    PyObject *capsule = NULL;

    if (!is_versioned && PyErr_ExceptionMatches(PyExc_BufferError)) {
        PyErr_Clear();
        dlpark__py_type_note_version(state, Py_TYPE(object));
        const dlpark__py_type *entry = dlpark__py_type_of(state, Py_TYPE(object));
        capsule = entry->dlpack != NULL ? host_call(state, entry->dlpack, object, true) : NULL;
    }
    if (capsule != NULL)
        return capsule;
    if (PyErr_Occurred() != NULL && PyErr_ExceptionMatches(PyExc_Exception))
        PyErr_Clear();
    dlpark__py_type_note_host(state, Py_TYPE(object), false);
    return NULL;
}

/* Whether a versioned tensor is of our major version, and not a copy that would be written and lost. */
static inline bool host_is_good(const DLManagedTensorVersioned *managed, uint32_t refused_flags)
{
    uint64_t flags = managed->flags;
    bool is_refused = (flags & refused_flags & DLPARK_VIEW_READ_ONLY) != 0 ||
                      (refused_flags != 0 && (flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0);

    return managed->version.major == DLPARK_ABI_MAJOR && !is_refused;
}

/* Keeps what a capsule holds, and takes it. */
static inline bool host_keep(const dlpark__call_reader *reader, const dlpark_signature_argument *argument,
                             PyObject *object, PyObject *capsule, bool is_versioned)
{
    dlpark_call *call = reader->call;
    dlpark__py_capsule_held held = dlpark__py_capsule_look(capsule, is_versioned);
    uint32_t flags = DLPARK_VIEW_UNKNOWN_WRITE;
    const DLTensor *tensor;

    if (DLPARK_LIKELY(held.legacy != NULL && argument->refused_flags == 0)) {
        tensor = &held.legacy->dl_tensor;
    } else if (held.versioned != NULL && host_is_good(held.versioned, argument->refused_flags)) {
        tensor = &held.versioned->dl_tensor;
        flags = (uint32_t)held.versioned->flags & DLPARK_VIEW_READ_ONLY;
    } else {
        return false;
    }
    if (DLPARK_UNLIKELY(tensor->device.device_type != kDLCPU))
        dlpark__py_type_note_host(reader->state, Py_TYPE(object), false);
    if (DLPARK_UNLIKELY(!dlpark__call_keep_raw(call, argument, tensor, flags, object) ||
                        !dlpark__py_capsule_take(capsule, held)))
        return false;
    call->tensors[argument->tensor].managed = held.versioned;
    call->tensors[argument->tensor].legacy = held.legacy;
    call->owned |= argument->bit;
    call->legacy |= held.legacy != NULL ? argument->bit : 0;
    return true;
}

bool dlpark__call_keep_host(const dlpark__call_reader *reader, const dlpark_signature_argument *argument,
                            PyObject *object)
{
    const dlpark__py_type *entry = dlpark__py_type_of(reader->state, Py_TYPE(object));
    bool is_versioned = argument->refused_flags != 0 || entry->needs_version;

    if (DLPARK_UNLIKELY(entry->dlpack == NULL)) /* no more */
        return false;
    PyObject *capsule = host_call(reader->state, entry->dlpack, object, is_versioned);

    if (DLPARK_UNLIKELY(capsule == NULL)) {
        capsule = host_call_again(reader->state, object, is_versioned);
        if (capsule == NULL)
            return false;
    }
    if (DLPARK_UNLIKELY(!host_keep(reader, argument, object, capsule, is_versioned))) {
        dlpark__py_drop(capsule);
        return false;
    }
    Py_DECREF(capsule); /* runs nothing: it has been taken */
    /* The code that ran may have changed what was lent before. */
    return DLPARK_LIKELY(reader->call->lent == 0) || dlpark__call_own_after(reader->call) == 0;
}
