/*
 * The parts of the module kit_probe: a table of functions for each header of the kit.
 */
#ifndef DLPARK_TESTS_PROBE_H
#define DLPARK_TESTS_PROBE_H

#include "kit.h"

extern PyMethodDef probe_call_functions[];
extern PyMethodDef probe_exchange_functions[];
extern PyMethodDef probe_export_functions[];
extern PyMethodDef probe_import_functions[];
extern PyMethodDef probe_interface_functions[];
extern PyMethodDef probe_memory_functions[];
extern PyMethodDef probe_stream_functions[];

#endif
