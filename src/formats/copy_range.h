/*
 * Bytes from one file into another.
 */
#ifndef DLPARK_FORMATS_COPY_RANGE_H
#define DLPARK_FORMATS_COPY_RANGE_H

#include "replace.h"
#include "source.h"

/* Copies all of it, by the kernel alone where it can: file systems that share blocks share them. Threads: any. */
dlpark_status dlpark__copy_range(const dlpark__source *source, uint64_t from, const dlpark__replace *replace,
                                 uint64_t to, uint64_t nbytes, dlpark_error *err);

#endif
