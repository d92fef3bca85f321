/*
 * What is known of the types of foreign objects: how their tensors are taken first.
 *
 * A type is kept alive by its entry, so that no other type comes to lie at its address. Where there is no GIL an entry is
 * read and written under a lock only, and what is given out is a copy of the thread's own.
 */
#include "consumer/import_parts.h"
#include "numpy_arrays.h"

#include <string.h>

/* ---- Looking ---- */

/* The version of a type's attributes: 0 where it has none, and where it cannot be read. */
static unsigned type_version(const PyTypeObject *type)
{
#if defined(Py_LIMITED_API)
    (void)type;
    return 0;
#else
    return __atomic_load_n(&type->tp_version_tag, __ATOMIC_RELAXED);
#endif
}

/* Whether objects of the type may have the attribute requires_grad: on the type, in a dictionary, or by a function. */
static bool type_asks_grad(dlpark__py_state *state, PyTypeObject *type)
{
#if !defined(Py_LIMITED_API)
    bool is_plain = type->tp_dictoffset == 0 && type->tp_getattro == PyObject_GenericGetAttr;
#if defined(Py_TPFLAGS_MANAGED_DICT)
    is_plain = is_plain && !PyType_HasFeature(type, Py_TPFLAGS_MANAGED_DICT);
#endif
    bool may = !is_plain || dlpark__py_has((PyObject *)type, state->name_requires_grad) != 0;
    dlpark__py_error_forget(state);
    return may;
#else
    (void)state;
    (void)type;
    return true;
#endif
}

typedef struct type_package {
    const char *name;
    dlpark_spec_framework framework;
} type_package;

static const type_package type_packages[] = {
    {"numpy", DLPARK_SPEC_AS_NUMPY},
    {"torch", DLPARK_SPEC_AS_TORCH},
    {"jax", DLPARK_SPEC_AS_JAX},
    {"jaxlib", DLPARK_SPEC_AS_JAX},
    {"cupy", DLPARK_SPEC_AS_CUPY},
    {"mlx", DLPARK_SPEC_AS_MLX},
    {"tensorflow", DLPARK_SPEC_AS_TENSORFLOW},
};

/* The framework that a class is of, by the package of its module. */
static dlpark_spec_framework type_framework_of(dlpark__py_state *state, PyObject *class)
{
    dlpark_spec_framework framework = DLPARK_SPEC_AS_UNSAID;
    PyObject *module = PyObject_GetAttrString(class, "__module__");
    const char *name = module != NULL && PyUnicode_Check(module) ? PyUnicode_AsUTF8AndSize(module, NULL) : NULL;

    for (size_t i = 0; name != NULL && i < sizeof type_packages / sizeof *type_packages; i++) {
        size_t length = strlen(type_packages[i].name);
        if (strncmp(name, type_packages[i].name, length) == 0 && (name[length] == '\0' || name[length] == '.'))
            framework = type_packages[i].framework;
    }
    Py_XDECREF(module);
    dlpark__py_error_forget(state);
    return framework;
}

/* The framework of a type, or of the first class that it derives from and that is of one. */
static dlpark_spec_framework type_framework(dlpark__py_state *state, PyTypeObject *type)
{
    dlpark_spec_framework framework = DLPARK_SPEC_AS_UNSAID;
    PyObject *order = PyObject_GetAttrString((PyObject *)type, "__mro__");
    Py_ssize_t count = order != NULL && PyTuple_Check(order) ? PyTuple_Size(order) : 0;

    PyErr_Clear();
    if (type == &PyMemoryView_Type)
        framework = DLPARK_SPEC_AS_MEMORYVIEW;
    for (Py_ssize_t i = 0; framework == DLPARK_SPEC_AS_UNSAID && i < count; i++)
        framework = type_framework_of(state, PyTuple_GetItem(order, i));
    Py_XDECREF(order);
    return framework;
}

/* Whether a class is numpy.ma.MaskedArray, in whatever module NumPy keeps it. */
static bool type_is_mask_class(dlpark__py_state *state, PyObject *class)
{
    PyObject *name = PyObject_GetAttrString(class, "__name__");
    bool is = name != NULL && PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "MaskedArray") == 0 &&
              type_framework_of(state, class) == DLPARK_SPEC_AS_NUMPY;

    Py_XDECREF(name);
    dlpark__py_error_forget(state);
    return is;
}

static bool type_is_masked(dlpark__py_state *state, PyTypeObject *type)
{
    PyObject *order = PyObject_GetAttrString((PyObject *)type, "__mro__");
    Py_ssize_t count = order != NULL && PyTuple_Check(order) ? PyTuple_Size(order) : 0;
    bool is = false;

    PyErr_Clear();
    for (Py_ssize_t i = 0; !is && i < count; i++)
        is = type_is_mask_class(state, PyTuple_GetItem(order, i));
    Py_XDECREF(order);
    return is;
}

/* Whether the table can say where an object's tensor is. */
static bool type_can_exchange(const DLPackExchangeAPI *table)
{
    return table->managed_tensor_from_py_object_no_sync != NULL || table->dltensor_from_py_object_no_sync != NULL;
}

/* Finds out about a type that is kept alive meanwhile; foreign code may run. False where it could not be found out, and should be the next time. */
static bool type_look(dlpark__py_state *state, dlpark__py_type *entry, PyTypeObject *type)
{
    bool overridden = false;

    __atomic_store_n(&state->starved, false, __ATOMIC_RELAXED);
    __atomic_fetch_add(&state->nlooks, 1, __ATOMIC_RELAXED);
    *entry = (dlpark__py_type){.type = type};
    const dlpark__py_shared *shared = dlpark__py_shared_peek(state);
    const dlpark__py_numpy *numpy = dlpark__py_numpy_get(state);
    int found = dlpark__py_exchange_find(state, type, &entry->exchange, &overridden, &entry->is_heir);
    if (PyType_IsSubtype(type, &PyCapsule_Type)) {
        entry->route = DLPARK__PY_ROUTE_CAPSULE;
    } else if (shared != NULL && type == shared->tensor_type) {
        entry->route = DLPARK__PY_ROUTE_OWN;
        entry->framework = DLPARK_SPEC_AS_DLPARK;
    } else if (numpy != NULL && dlpark__py_is_ndarray(numpy, type)) {
        entry->route = DLPARK__PY_ROUTE_NUMPY;
    } else if (found == 1 && !overridden && type_can_exchange(entry->exchange)) {
        entry->route = DLPARK__PY_ROUTE_EXCHANGE;
        entry->asks_grad = type_asks_grad(state, type);
    }
    if (entry->framework == DLPARK_SPEC_AS_UNSAID)
        entry->framework = type_framework(state, type);
    entry->is_masked = entry->route == DLPARK__PY_ROUTE_SLOW && entry->framework == DLPARK_SPEC_AS_NUMPY &&
                       type_is_masked(state, type);
    entry->version = type_version(type);
    return found >= 0 && !__atomic_load_n(&state->starved, __ATOMIC_RELAXED);
}

/* ---- Remembering ---- */

static size_t type_at(const PyTypeObject *type)
{
    uintptr_t address = (uintptr_t)type;

    return (address >> 4 ^ address >> (4 + DLPARK__PY_TYPES_NBITS)) & ((1u << DLPARK__PY_TYPES_NBITS) - 1);
}

/* Puts an entry into the cache, whose type it takes a reference of. Returns the type that had the place. */
static PyTypeObject *type_remember(dlpark__py_type *slot, const dlpark__py_type *entry)
{
    PyTypeObject *evicted = slot->type;

    Py_INCREF((PyObject *)entry->type);
    *slot = *entry;
    return evicted;
}

#if defined(Py_GIL_DISABLED)

/* A capsule is looked at and taken in two steps only where nothing can come in between. */
void dlpark__py_type_note_host(dlpark__py_state *state, PyTypeObject *type, bool is_host)
{
    (void)state;
    (void)type;
    (void)is_host;
}

void dlpark__py_type_note_version(dlpark__py_state *state, PyTypeObject *type)
{
    (void)state;
    (void)type;
}

static _Thread_local dlpark__py_type type_given;

const dlpark__py_type *dlpark__py_type_of(dlpark__py_state *state, PyTypeObject *type)
{
    dlpark__py_type *slot = &state->types[type_at(type)];

    PyMutex_Lock(&state->mutex);
    bool hit = slot->type == type && slot->version == type_version(type);
    if (hit)
        type_given = *slot;
    PyMutex_Unlock(&state->mutex);
    if (hit)
        return &type_given;

    dlpark__py_type entry;
    PyTypeObject *evicted = NULL;
    pending_error saved = dlpark__py_error_save();
    bool remember = type_look(state, &entry, type);
    dlpark__py_error_restore(&saved);
    if (remember) {
        PyMutex_Lock(&state->mutex);
        evicted = type_remember(slot, &entry);
        PyMutex_Unlock(&state->mutex);
    }
    dlpark__py_drop((PyObject *)evicted);
    type_given = entry;
    return &type_given;
}

#else

#if defined(Py_LIMITED_API)
static PyObject *type_method(const PyTypeObject *type, PyObject *name)
{
    (void)type;
    (void)name;
    return NULL;
}
#else
/* The method in C that objects of a type have under a name, borrowed from the type: it stays so until the type's version
 * changes. NULL for any other kind, and where that is not certain. No foreign code runs. */
static PyObject *type_method(const PyTypeObject *type, PyObject *name)
{
    bool is_certain = type_version(type) != 0 && type->tp_getattro == PyObject_GenericGetAttr && type->tp_mro != NULL;
    Py_ssize_t count = is_certain ? PyTuple_GET_SIZE(type->tp_mro) : 0;
    PyObject *method = NULL;

    for (Py_ssize_t i = 0; method == NULL && i < count; i++) {
        PyObject *dictionary = ((PyTypeObject *)PyTuple_GET_ITEM(type->tp_mro, i))->tp_dict;
        if (dictionary == NULL) /* of another interpreter */
            return NULL;
        method = PyDict_GetItemWithError(dictionary, name);
    }
    PyErr_Clear();
    return method != NULL && Py_IS_TYPE(method, &PyMethodDescr_Type) ? method : NULL;
}
#endif

void dlpark__py_type_note_host(dlpark__py_state *state, PyTypeObject *type, bool is_host)
{
    dlpark__py_type *slot = &state->types[type_at(type)];

    if (slot->type != type || slot->version != type_version(type))
        return;
    if (is_host && slot->route == DLPARK__PY_ROUTE_SLOW && !slot->is_masked) {
        slot->dlpack = type_method(type, state->name_dlpack);
        slot->route = slot->dlpack != NULL ? DLPARK__PY_ROUTE_HOST : DLPARK__PY_ROUTE_SLOW;
    } else if (!is_host && slot->route == DLPARK__PY_ROUTE_HOST) {
        slot->route = DLPARK__PY_ROUTE_SLOW;
        slot->dlpack = NULL;
    }
}

void dlpark__py_type_note_version(dlpark__py_state *state, PyTypeObject *type)
{
    dlpark__py_type *slot = &state->types[type_at(type)];

    if (slot->type == type)
        slot->needs_version = true;
}

static DLPARK_COLD const dlpark__py_type *type_miss(dlpark__py_state *state, PyTypeObject *type)
{
    dlpark__py_type *slot = &state->types[type_at(type)];
    dlpark__py_type entry;
    pending_error saved = dlpark__py_error_save();
    bool remember = type_look(state, &entry, type);

    dlpark__py_error_restore(&saved);
    if (remember)
        dlpark__py_drop((PyObject *)type_remember(slot, &entry));
    if (remember && slot->type == type)
        return slot;
    state->unremembered = entry; /* or what the drop ran has taken the place for another type */
    return &state->unremembered;
}

const dlpark__py_type *dlpark__py_type_of(dlpark__py_state *state, PyTypeObject *type)
{
    const dlpark__py_type *entry = &state->types[type_at(type)];

    if (DLPARK_LIKELY(entry->type == type && entry->version == type_version(type)))
        return entry;
    return type_miss(state, type);
}

#endif
