/*
 * What this copy of the kit keeps for each interpreter, and what all copies have in common.
 */
#include "kit.h"

#include <stdatomic.h>

#define STATE_CAPSULE "dlpark.kit.state"

/* How many interpreters find their state without a look into their dictionary. Numbers are never given twice. */
#define STATE_SLOTS 64

/* The states by the number of their interpreter. A slot is read by that interpreter alone, which also ends its state, so
 * nobody reads a state that another interpreter frees. */
typedef _Atomic(dlpark__py_state *) state_slot;
static state_slot state_slots[STATE_SLOTS];

#if defined(Py_GIL_DISABLED)
static PyMutex state_mutex;
#define STATE_LOCK()   PyMutex_Lock(&state_mutex)
#define STATE_UNLOCK() PyMutex_Unlock(&state_mutex)
#else
#define STATE_LOCK()   ((void)0)
#define STATE_UNLOCK() ((void)0)
#endif

/* ---- Making and ending ---- */

typedef struct state_name {
    size_t offset;
    const char *text;
} state_name;

static const state_name state_names[] = {
    {offsetof(dlpark__py_state, name_dlpack), "__dlpack__"},
    {offsetof(dlpark__py_state, name_dlpack_device), "__dlpack_device__"},
    {offsetof(dlpark__py_state, name_stream), "stream"},
    {offsetof(dlpark__py_state, name_max_version), "max_version"},
    {offsetof(dlpark__py_state, name_dl_device), "dl_device"},
    {offsetof(dlpark__py_state, name_copy), "copy"},
    {offsetof(dlpark__py_state, name_requires_grad), "requires_grad"},
    {offsetof(dlpark__py_state, name_cuda_stream), "__cuda_stream__"},
    {offsetof(dlpark__py_state, name_exchange), "__dlpack_c_exchange_api__"},
    {offsetof(dlpark__py_state, name_exchange_old), "__c_dlpack_exchange_api__"},
};

static PyObject **state_name_at(dlpark__py_state *state, size_t i)
{
    return (PyObject **)(void *)((char *)state + state_names[i].offset);
}

static void state_free(dlpark__py_state *state)
{
    /* First, so that no type which dies below is reported to a state that is half gone. */
    for (size_t i = 0; i < sizeof state->installed / sizeof *state->installed; i++)
        Py_XDECREF(state->installed[i].weak);
    for (size_t i = 0; i < sizeof state->types / sizeof *state->types; i++)
        Py_XDECREF((PyObject *)state->types[i].type);
    for (size_t i = 0; i < sizeof state_names / sizeof *state_names; i++)
        Py_XDECREF(*state_name_at(state, i));
    Py_XDECREF(state->abi_version);
    Py_XDECREF(state->only_max_version);
    for (size_t i = 0; i < sizeof state->devices / sizeof *state->devices; i++)
        Py_XDECREF(state->devices[i].tuple);
    Py_XDECREF(state->shared_module);
    for (size_t i = 0; i < sizeof state->framework_functions / sizeof *state->framework_functions; i++)
        Py_XDECREF(state->framework_functions[i]);
    Py_XDECREF((PyObject *)state->handoff_type);
    PyMem_Free((void *)(uintptr_t)state->numpy);
    PyMem_Free(state);
}

static state_slot *state_slot_of(int64_t interpreter)
{
    return interpreter >= 0 && interpreter < STATE_SLOTS ? &state_slots[interpreter] : NULL;
}

/* Comes when the interpreter's own dictionary is cleared, near its end. What is released here may run Python code, and
 * that code may come back: it finds no state, and makes another. */
static void state_end(PyObject *capsule)
{
    dlpark__py_state *state = PyCapsule_GetPointer(capsule, STATE_CAPSULE);
    state_slot *slot = state_slot_of(state->interpreter);
    dlpark__py_state *expected = state;

    if (slot != NULL)
        atomic_compare_exchange_strong(slot, &expected, NULL);
    pending_error saved = dlpark__py_error_save();
    state_free(state);
    dlpark__py_error_restore(&saved);
}

static int state_fill(dlpark__py_state *state)
{
    DLPackVersion abi = dlpark_abi_version();

    for (size_t i = 0; i < sizeof state_names / sizeof *state_names; i++) {
        PyObject *name = PyUnicode_InternFromString(state_names[i].text);
        if (name == NULL)
            return -1;
        *state_name_at(state, i) = name;
    }
    state->abi_version = Py_BuildValue("(II)", (unsigned)abi.major, (unsigned)abi.minor);
    state->only_max_version = PyTuple_Pack(1, state->name_max_version);
    return state->abi_version != NULL && state->only_max_version != NULL ? 0 : -1;
}

/* ---- Finding ---- */

/* The key of this copy of the kit: the address of something that no other copy has. */
static PyObject *state_key(void)
{
    return PyUnicode_FromFormat("dlpark.kit.%p", (void *)(uintptr_t)state_slots);
}

static dlpark__py_state *state_make(PyObject *dictionary, PyObject *key, int64_t interpreter)
{
    dlpark__py_state *state = PyMem_Calloc(1, sizeof *state);

    if (state == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    state->interpreter = interpreter;
    PyObject *capsule = state_fill(state) == 0 ? PyCapsule_New(state, STATE_CAPSULE, state_end) : NULL;
    if (capsule == NULL) {
        state_free(state);
        return NULL;
    }
    int status = PyDict_SetItem(dictionary, key, capsule);
    Py_DECREF(capsule); /* and with it the state, if the dictionary did not take it */
    return status == 0 ? state : NULL;
}

static dlpark__py_state *state_find_in(PyObject *dictionary, int64_t interpreter)
{
    state_slot *slot = state_slot_of(interpreter);
    dlpark__py_state *state = NULL;
    PyObject *key = state_key();

    if (key == NULL)
        return NULL;
    PyObject *capsule = PyDict_GetItemWithError(dictionary, key); /* borrowed */
    if (capsule != NULL)
        state = PyCapsule_GetPointer(capsule, STATE_CAPSULE);
    else if (PyErr_Occurred() == NULL)
        state = state_make(dictionary, key, interpreter);
    Py_DECREF(key);
    if (slot != NULL && state != NULL)
        atomic_store_explicit(slot, state, memory_order_release);
    return state;
}

static DLPARK_COLD dlpark__py_state *state_find(PyInterpreterState *interpreter)
{
    PyObject *dictionary = PyInterpreterState_GetDict(interpreter); /* borrowed */

    if (dictionary == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "the interpreter has no room for the state of extensions");
        return NULL;
    }
    STATE_LOCK();
    dlpark__py_state *state = state_find_in(dictionary, PyInterpreterState_GetID(interpreter));
    STATE_UNLOCK();
    return state;
}

dlpark__py_state *dlpark__py_state_get(void)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    int64_t number = PyInterpreterState_GetID(interpreter);

    if (DLPARK_LIKELY(number >= 0 && number < STATE_SLOTS)) {
        dlpark__py_state *state = atomic_load_explicit(&state_slots[number], memory_order_acquire);
        if (DLPARK_LIKELY(state != NULL))
            return state;
    }
    return state_find(interpreter);
}

/* ---- What is one in the process ---- */

/* sys.modules, borrowed; NULL late in the interpreter's life, when importing anything would end the process. */
static PyObject *state_modules(void)
{
    PyObject *modules = PySys_GetObject("modules");

    return modules != NULL && PyDict_Check(modules) ? modules : NULL;
}

void dlpark__py_error_forget(dlpark__py_state *state)
{
    if (PyErr_Occurred() == NULL)
        return;
    if (PyErr_ExceptionMatches(PyExc_MemoryError))
        __atomic_store_n(&state->starved, true, __ATOMIC_RELAXED);
    PyErr_Clear();
}

PyObject *dlpark__py_imported(dlpark__py_state *state, const char *name)
{
    pending_error saved = dlpark__py_error_save();
    PyObject *modules = Py_XNewRef(state_modules());
    PyObject *module = modules != NULL ? PyMapping_GetItemString(modules, name) : NULL;

    if (modules == NULL)
        __atomic_store_n(&state->starved, true,
                         __ATOMIC_RELAXED); /* or the interpreter ends, when nothing need be remembered */
    Py_XDECREF(modules);
    dlpark__py_error_forget(state);
    dlpark__py_error_restore(&saved);
    return module;
}

/* Takes the module. */
static const dlpark__py_shared *state_share(dlpark__py_state *state, PyObject *module)
{
    PyObject *capsule = PyObject_GetAttrString(module, "_shared");
    const dlpark__py_shared *shared = capsule != NULL ? PyCapsule_GetPointer(capsule, DLPARK__PY_SHARED_CAPSULE) : NULL;

    Py_XDECREF(capsule);
    if (shared != NULL && (shared->abi != DLPARK__PY_SHARED_ABI || shared->nbytes < sizeof *shared)) {
        PyErr_Format(PyExc_ImportError, "the installed dlpark speaks version %u to extensions, and this one %u",
                     (unsigned)shared->abi, DLPARK__PY_SHARED_ABI);
        shared = NULL;
    }
    if (shared == NULL) {
        dlpark__py_drop(module);
        return NULL;
    }
    STATE_LOCK();
    PyObject *spare = state->shared != NULL ? module : NULL; /* another thread was first */
    if (spare == NULL) {
        state->shared_module = module;
        __atomic_store_n(&state->shared, shared, __ATOMIC_RELEASE);
    }
    STATE_UNLOCK();
    dlpark__py_drop(spare);
    return state->shared;
}

const dlpark__py_shared *dlpark__py_shared_get(dlpark__py_state *state)
{
    const dlpark__py_shared *shared = __atomic_load_n(&state->shared, __ATOMIC_ACQUIRE);

    if (DLPARK_LIKELY(shared != NULL))
        return shared;
    if (state_modules() == NULL) {
        PyErr_SetString(PyExc_ImportError, "dlpark cannot be imported any more: the interpreter ends");
        return NULL;
    }
    PyObject *module = PyImport_ImportModule("dlpark._core");
    return module != NULL ? state_share(state, module) : NULL;
}

const dlpark__py_shared *dlpark__py_shared_peek(dlpark__py_state *state)
{
    const dlpark__py_shared *shared = __atomic_load_n(&state->shared, __ATOMIC_ACQUIRE);

    if (DLPARK_LIKELY(shared != NULL))
        return shared;
    PyObject *module = dlpark__py_imported(state, "dlpark._core");
    if (module == NULL)
        return NULL;
    shared = state_share(state, module);
    dlpark__py_error_forget(state); /* it is being imported, or is another version */
    return shared;
}
