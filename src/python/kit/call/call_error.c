/*
 * Which argument an exception is about that somebody else raised.
 */
#include "call_parts.h"

#include <stdarg.h>

void dlpark__call_note(const char *format, ...)
{
    pending_error saved = dlpark__py_error_save();
    PyObject *exception = dlpark__py_error_value(&saved);
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
