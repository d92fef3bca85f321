/*
 * Which argument is which: keywords, and the words of CPython for what is missing or too much.
 */
#include "call_parts.h"

#include <string.h>

#if defined(Py_LIMITED_API)
#define BIND_TUPLE_SIZE PyTuple_Size
#define BIND_TUPLE_ITEM PyTuple_GetItem
#else
#define BIND_TUPLE_SIZE PyTuple_GET_SIZE
#define BIND_TUPLE_ITEM PyTuple_GET_ITEM
#endif

static DLPARK_COLD dlpark__call_outcome bind_refuse_keyword(const char *name, dlpark_error *why)
{
    if (name == NULL)
        (void)dlpark_error_set(why, DLPARK_E_ARGUMENT, "got a keyword argument whose name is not valid Unicode");
    else
        (void)dlpark_error_set(why, DLPARK_E_ARGUMENT, "got an unexpected keyword argument '%.100s'", name);
    return DLPARK__CALL_REFUSED;
}

static DLPARK_COLD dlpark__call_outcome bind_refuse_twice(const char *name, dlpark_error *why)
{
    (void)dlpark_error_set(why, DLPARK_E_ARGUMENT, "got multiple values for argument '%s'", name);
    return DLPARK__CALL_REFUSED;
}

static DLPARK_COLD dlpark__call_outcome bind_refuse_count(const dlpark_signature *signature, Py_ssize_t nargs,
                                                          dlpark_error *why)
{
    const char *plural = signature->narguments == 1 ? "" : "s";
    const char *were = nargs == 1 ? "was" : "were";

    if (signature->nrequired == signature->narguments)
        (void)dlpark_error_set(why, DLPARK_E_ARGUMENT, "takes %d positional argument%s but %zd %s given",
                               (int)signature->narguments, plural, nargs, were);
    else
        (void)dlpark_error_set(why, DLPARK_E_ARGUMENT, "takes from %d to %d positional arguments but %zd %s given",
                               (int)signature->nrequired, (int)signature->narguments, nargs, were);
    return DLPARK__CALL_REFUSED;
}

static DLPARK_COLD dlpark__call_outcome bind_refuse_missing(const dlpark_signature *signature, PyObject *const *values,
                                                            dlpark_error *why)
{
    char list[DLPARK_SIGNATURE_MAX_ARGUMENTS * (DLPARK_SPEC_NAME_NBYTES + 8)];
    int total = 0, listed = 0;
    size_t at = 0;

    for (int32_t i = 0; i < signature->nrequired; i++)
        total += values[i] == NULL;
    for (int32_t i = 0; i < signature->nrequired; i++) {
        if (values[i] != NULL)
            continue;
        listed++;
        const char *between = listed == 1 ? "" : listed < total ? ", " : total == 2 ? " and " : ", and ";
        int length = PyOS_snprintf(list + at, sizeof list - at, "%s'%s'", between, signature->arguments[i].name);
        at += (size_t)length;
    }
    (void)dlpark_error_set(why, DLPARK_E_ARGUMENT, "missing %d required positional argument%s: %s", total,
                           total == 1 ? "" : "s", list);
    return DLPARK__CALL_REFUSED;
}

/* The argument of this name; -1: none. Keywords mostly come in the order of the signature: `likely` is looked at first. */
static inline int32_t bind_find(const dlpark_signature *signature, const char *name, size_t length, int32_t likely)
{
    if (length >= DLPARK_SPEC_NAME_NBYTES)
        return -1;
    for (int32_t i = 0; i < signature->narguments; i++) {
        int32_t at = likely + i < signature->narguments ? likely + i : likely + i - signature->narguments;
        if (memcmp(signature->arguments[at].name, name, length + 1) == 0)
            return at;
    }
    return -1;
}

static dlpark__call_outcome bind_keywords(const dlpark_signature *signature, PyObject *const *args, Py_ssize_t nargs,
                                          PyObject *kwnames, PyObject **values, dlpark_error *why)
{
    int32_t likely = nargs < signature->narguments ? (int32_t)nargs : 0;
    Py_ssize_t count = BIND_TUPLE_SIZE(kwnames);

    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t length = 0;
        const char *name = PyUnicode_AsUTF8AndSize(BIND_TUPLE_ITEM(kwnames, i), &length);
        if (DLPARK_UNLIKELY(name == NULL))
            PyErr_Clear();
        int32_t at = name != NULL ? bind_find(signature, name, (size_t)length, likely) : -1;
        if (DLPARK_UNLIKELY(at < 0))
            return bind_refuse_keyword(name, why);
        if (DLPARK_UNLIKELY(values[at] != NULL))
            return bind_refuse_twice(signature->arguments[at].name, why);
        values[at] = args[nargs + i];
        likely = at + 1 < signature->narguments ? at + 1 : 0;
    }
    return DLPARK__CALL_FITS;
}

dlpark__call_outcome dlpark__call_bind(const dlpark_signature *signature, PyObject *const *args, Py_ssize_t nargs,
                                       PyObject *kwnames, PyObject **values, dlpark_error *why)
{
    for (int32_t i = 0; i < signature->narguments; i++)
        values[i] = i < nargs ? args[i] : NULL;
    if (kwnames != NULL) {
        dlpark__call_outcome outcome = bind_keywords(signature, args, nargs, kwnames, values, why);
        if (outcome != DLPARK__CALL_FITS)
            return outcome;
    }
    if (DLPARK_UNLIKELY(nargs > signature->narguments))
        return bind_refuse_count(signature, nargs, why);
    for (int32_t i = 0; i < signature->nrequired; i++)
        if (DLPARK_UNLIKELY(values[i] == NULL))
            return bind_refuse_missing(signature, values, why);
    return DLPARK__CALL_FITS;
}
