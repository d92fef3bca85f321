/*
 * Which argument an exception is about that somebody else raised.
 */
#include "call_parts.h"

#include <stdarg.h>

#if PY_VERSION_HEX >= 0x030C0000

static PyObject *note_take(pending_error *saved)
{
    *saved = dlpark__py_error_save();
    return saved->value;
}

#else

static PyObject *note_take(pending_error *saved)
{
    *saved = dlpark__py_error_save();
    PyErr_NormalizeException(&saved->type, &saved->value, &saved->traceback);
    return saved->value;
}

#endif

void dlpark__call_note(const char *format, ...)
{
    pending_error saved;
    PyObject *exception = note_take(&saved);
    va_list arguments;

    va_start(arguments, format);
    PyObject *text = PyUnicode_FromFormatV(format, arguments);
    va_end(arguments);
    PyObject *done = text != NULL ? PyObject_CallMethod(exception, "add_note", "O", text) : NULL;
    dlpark__py_drop(text);
    dlpark__py_drop(done);
    PyErr_Clear(); /* the exception itself matters more than its note */
    dlpark__py_error_restore(&saved);
}

void dlpark__call_note_argument(const dlpark_call *call, const char *name)
{
    dlpark__call_note("in %s() argument '%s'", call->signature->name, name);
}
