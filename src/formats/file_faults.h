/*
 * Where the faults of a file go: the first to the caller's error, which ends the reading; or each into a list.
 */
#ifndef DLPARK_FORMATS_FILE_FAULTS_H
#define DLPARK_FORMATS_FILE_FAULTS_H

#include <stdbool.h>
#include <stddef.h>

#include <dlpark/file.h>

#include "source.h"

typedef struct dlpark__file_faults {
    const dlpark__source_name *file;
    dlpark_error *err;    /* for the first; */
    dlpark_status status; /* what it is */
    bool lists;           /* or: all of them, into */
    dlpark_file_fault *list;
    size_t capacity;
    size_t count;
    const char *within; /* the shard that is read, fit to be printed; NULL: the file itself */
} dlpark__file_faults;

/* Where a fault is, and of which tensor: `name` NULL for none. */
typedef struct dlpark__file_fault_place {
    const char *rule;
    uint64_t offset;
    const char *name;
    size_t name_nbytes;
} dlpark__file_fault_place;

/* Notes one. Returns whether the reading goes on, as far as it makes sense. */
bool dlpark__file_faults_add(dlpark__file_faults *faults, dlpark_status status, const dlpark__file_fault_place *place,
                             const char *format, ...) __attribute__((cold, format(printf, 4, 5)));

#endif
