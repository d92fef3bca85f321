/*
 * A format as file.c knows it: how it is told, how its index is read, and how it is written.
 */
#ifndef DLPARK_FORMATS_FORMAT_H
#define DLPARK_FORMATS_FORMAT_H

#include <dlpark/file.h>

#include "file_faults.h"
#include "index.h"
#include "safetensors/shards.h"
#include "source.h"
#include "write_plan.h"

/* As much of a file's beginning as tells its format. */
#define DLPARK__FORMAT_HEAD ((size_t)16)

/* What a reader is given. */
typedef struct dlpark__format_job {
    const dlpark__source *source;
    unsigned char head[DLPARK__FORMAT_HEAD]; /* the file's first bytes, as many as it has */
    const dlpark_file_options *options;
    dlpark__index *index; /* empty; on failure the caller ends it */
    dlpark__file_faults
        *faults;            /* for what is wrong with the file; what is wrong with reading it is the reader's status */
    void **state;           /* what the format keeps of an open file; ended by its `end`, on failure too */
    dlpark__shards *shards; /* empty; filled by the reader of an index file, and ended by the caller */
    const char *path;       /* of the file; NULL where it was opened by its descriptor, or is in memory */
} dlpark__format_job;

typedef struct dlpark__format {
    dlpark_file_format format;
    const char *name;
    const char *suffix; /* of names of files, by which the format of one to be written is chosen: ".npy" */
    /* Whether a file begins as this format does: `nbytes` of it, at most DLPARK__FORMAT_HEAD. NULL for the format that every
     * file is of that no other claims. */
    bool (*matches)(const unsigned char *head, size_t nbytes);
    /* Reads and checks everything but the bytes of tensors. */
    dlpark_status (*read)(const dlpark__format_job *job, dlpark_error *err);
    /* Bytes of a tensor whose entry is compressed, as they would be in the file. NULL where there are none such. */
    dlpark_status (*read_bytes)(const dlpark_file *file, int64_t index, uint64_t begin, unsigned char *to,
                                uint64_t nbytes, dlpark_error *err);
    /* A value of the metadata with its type, its data from malloc(); its key is filled in. NULL where all are texts. */
    dlpark_status (*load_value)(const dlpark_file *file, int64_t index, dlpark_file_value *value, dlpark_error *err);
    /* Of a format that keeps something. */
    void (*end)(void *state);
    /* Checks everything of a file to be written, and plans it. On failure the plan is empty. */
    dlpark_status (*plan)(dlpark__write_plan *plan, const dlpark_file_part *parts, size_t count,
                          const dlpark_file_write_options *options, dlpark_error *err);
} dlpark__format;

/* ---- npy.c ---- */

extern const dlpark__format dlpark__format_npy;

/* ---- safetensors.c ---- */

extern const dlpark__format dlpark__format_safetensors;

/* ---- shards.c ---- */

extern const dlpark__format dlpark__format_shards;

/* ---- safetensors_write.c ---- */

dlpark_status dlpark__safetensors_plan(dlpark__write_plan *plan, const dlpark_file_part *parts, size_t count,
                                       const dlpark_file_write_options *options, dlpark_error *err);

/* ---- npz.c ---- */

extern const dlpark__format dlpark__format_npz;

/* ---- npz_write.c ---- */

dlpark_status dlpark__npz_plan(dlpark__write_plan *plan, const dlpark_file_part *parts, size_t count,
                               const dlpark_file_write_options *options, dlpark_error *err);

/* ---- gguf.c ---- */

extern const dlpark__format dlpark__format_gguf;

/* ---- file.c ---- */

/* NULL: there is no such format. */
const dlpark__format *dlpark__format_find(dlpark_file_format format);

/* The format that the name of a file to be written asks for by its end; safetensors where it asks for none. */
const dlpark__format *dlpark__format_of_name(const char *path);

struct dlpark_file {
    const dlpark__format *format;
    dlpark__source *source;
    dlpark__index index;
    dlpark_file_options options;
    void *state;           /* the format's own */
    dlpark__shards shards; /* where the file is an index of others */
};

/* Where the bytes of a tensor are, which there is. */
static inline dlpark__source *dlpark__file_source(const dlpark_file *file, int64_t index)
{
    return file->shards.count == 0 ? file->source : dlpark__shards_find(&file->shards, index)->source;
}

/* E_INDEX unless there is such a tensor. */
dlpark_status dlpark__file_check_index(const dlpark_file *file, int64_t index, dlpark_error *err);

/* ---- file_tensor.c ---- */

/* Bytes of a tensor from `begin` on, in this machine's order. */
dlpark_status dlpark__file_read_bytes(const dlpark_file *file, const dlpark_file_entry *entry, uint64_t begin,
                                      unsigned char *to, uint64_t nbytes, dlpark_error *err);

/* ---- file_gather.c ---- */

/* What lies one after the other in the file, in elements. */
void dlpark__file_column_strides(const dlpark_file_entry *entry, int64_t *strides);

/* Elements of a column-major tensor, which are whole bytes, in row-major order into compact memory. */
dlpark_status dlpark__file_gather(const dlpark_file *file, const dlpark_file_entry *entry, uint64_t first,
                                  uint64_t count, unsigned char *to, dlpark_error *err);

#endif
