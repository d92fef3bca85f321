/*
 * Several signatures of one function.
 */
#include "call_parts.h"

/* Adds "  name(a: f32) -> f32: why" to the text, which it takes. NULL with an exception; accepts NULL. */
static PyObject *overloads_list(PyObject *text, const dlpark_signature *signature, const dlpark_error *why)
{
    char line[512];
    size_t length = dlpark_signature_text(signature, line, sizeof line);

    if (text == NULL)
        return NULL;
    PyObject *more = PyUnicode_FromFormat("\n  %s%s: %s", line, length < sizeof line ? "" : "...", why->message);
    PyObject *both = more != NULL ? PyUnicode_Concat(text, more) : NULL;
    dlpark__py_drop(more);
    dlpark__py_drop(text);
    return both;
}

static void overloads_drop_carry(dlpark__call_carry *carry)
{
    while (carry->count > 0)
        dlpark__py_tensor_release(&(dlpark_tensor){carry->managed[--carry->count]});
}

/* Takes the list of reasons. */
static void overloads_refuse(const dlpark_overloads *overloads, PyObject *reasons)
{
    if (reasons == NULL) {
        PyErr_SetString(PyExc_SystemError, "a call of overloads without signatures");
        return;
    }
    PyErr_Format(PyExc_TypeError, "%s(): the arguments fit none of its signatures%U", overloads->signatures[0]->name,
                 reasons);
    dlpark__py_drop(reasons);
}

int dlpark_call_begin_overloads(dlpark_call *call, PyObject *module, const dlpark_overloads *overloads,
                                PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    DLPARK_UNINITIALIZED dlpark_error why;
    DLPARK_UNINITIALIZED dlpark__call_carry carry;
    dlpark__py_state *state = dlpark__py_state_get();
    dlpark__call_outcome outcome = DLPARK__CALL_REFUSED;
    PyObject *reasons = NULL;
    int fitting = -1;

    (void)module;
    if (state == NULL)
        return -1;
    carry.count = 0;
    for (int i = 0; outcome == DLPARK__CALL_REFUSED && i < overloads->count; i++) {
        outcome = dlpark__call_read(call, state, overloads->signatures[i], args, nargs, kwnames, &carry, &why);
        if (outcome == DLPARK__CALL_FITS) {
            fitting = i;
        } else if (outcome == DLPARK__CALL_REFUSED) {
            reasons = overloads_list(i == 0 ? PyUnicode_FromString("") : reasons, overloads->signatures[i], &why);
            outcome = reasons != NULL ? outcome : DLPARK__CALL_RAISED;
        }
    }
    bool carried = carry.count > 0;
    overloads_drop_carry(&carry);
    if (carried && outcome == DLPARK__CALL_FITS && dlpark__call_settle(call) < 0) {
        outcome = DLPARK__CALL_RAISED;
        fitting = -1;
    }
    if (outcome == DLPARK__CALL_REFUSED)
        overloads_refuse(overloads, reasons);
    else
        dlpark__py_drop(reasons);
    return fitting;
}
