/**
 * The extension kit: everything that an author of a CPython extension needs, in one include, before other headers.
 *
 * The kit is compiled into the extension: `find_package(dlpark)` and `target_link_libraries(ext PRIVATE dlpark::python)`,
 * or setuptools with `dlpark.get_include()` and `dlpark.get_sources()`.
 */
#ifndef DLPARK_PYTHON_H
#define DLPARK_PYTHON_H

#if !defined(PY_SSIZE_T_CLEAN)
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>

#include "call.h"
#include "dlpark.h"
#include "py_exchange.h"
#include "py_export.h"
#include "py_import.h"
#include "signature.h"
#include "stream.h"

#endif
