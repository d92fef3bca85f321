/*
 * What the two sources of the extension module dlpark._files share.
 */
#ifndef DLPARK_PYTHON_FILES_MODULE_H
#define DLPARK_PYTHON_FILES_MODULE_H

#include "kit.h"

/* ---- files_save.c ---- */

PyObject *dlpark__py_files_save(PyObject *module, PyObject *const *args, Py_ssize_t nargs);

extern const char dlpark__py_files_save_doc[];

#endif
