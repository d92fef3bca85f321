/*
 * A format as file.c knows it: how it is told, and how its index is read.
 */
#ifndef DLPARK_FORMATS_FORMAT_H
#define DLPARK_FORMATS_FORMAT_H

#include <dlpark/file.h>

#include "file_faults.h"
#include "index.h"
#include "source.h"

/* What a reader is given. */
typedef struct dlpark__format_job {
    const dlpark__source *source;
    const dlpark_file_options *options;
    dlpark__index *index; /* empty; on failure the caller ends it */
    dlpark__file_faults
        *faults; /* for what is wrong with the file; what is wrong with reading it is the reader's status */
} dlpark__format_job;

typedef struct dlpark__format {
    dlpark_file_format format;
    const char *name;
    /* Reads and checks everything but the bytes of tensors. */
    dlpark_status (*read)(const dlpark__format_job *job, dlpark_error *err);
} dlpark__format;

/* ---- safetensors.c ---- */

extern const dlpark__format dlpark__format_safetensors;

/* ---- file.c ---- */

struct dlpark_file {
    const dlpark__format *format;
    dlpark__source *source;
    dlpark__index index;
    dlpark_file_options options;
};

/* E_INDEX unless there is such a tensor. */
dlpark_status dlpark__file_check_index(const dlpark_file *file, int64_t index, dlpark_error *err);

#endif
