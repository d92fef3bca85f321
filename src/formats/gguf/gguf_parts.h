/*
 * What the files of the GGUF reader and writer share: the header's bytes as they come, its pairs, and its tensors.
 *
 * The header says nowhere how long it is, and most of it are vocabularies, which nobody asks here. So it is read through
 * a window that moves, and only what the index keeps is kept: names, keys and values, in the index's text. Before each key
 * and name stands where it is in the file, as 8 bytes.
 */
#ifndef DLPARK_FORMATS_GGUF_PARTS_H
#define DLPARK_FORMATS_GGUF_PARTS_H

#include "../format.h"

typedef struct dlpark__gguf_reader {
    const dlpark__source *source;
    dlpark__index *index;
    dlpark__file_faults *faults;
    dlpark_error *err;    /* of reading and of memory, */
    dlpark_status status; /* which end everything */
    uint64_t most;        /* bytes of a header */
    unsigned char *window;
    uint64_t begin; /* of the window, in the file */
    size_t nbytes;  /* in the window */
    size_t room;
    size_t at;              /* in the window */
    size_t text_nbytes;     /* of the index's text */
    size_t text_room;       /* of which so many are reserved */
    dlpark__span_text name; /* of the tensor that is read; not of one: `nbytes` is UINT32_MAX */
    uint64_t ntensors;
    uint64_t npairs;
    uint64_t alignment;
    uint64_t data_begin;  /* in the file */
    uint64_t data_nbytes; /* behind that */
    bool has_outside;     /* a tensor that is not in the index: what seems to belong to none may be its bytes */
} dlpark__gguf_reader;

/* ---- gguf_bytes.c ---- */

/* Where the next byte is, in the file, and how many there are from it on. */
uint64_t dlpark__gguf_at(const dlpark__gguf_reader *reader);
uint64_t dlpark__gguf_left(const dlpark__gguf_reader *reader);

/* A fault of the file, or of the tensor that is read. Evaluates to whether the reading goes on. */
#define DLPARK__GGUF_FAULT(reader, status, rule, offset, ...)                                                          \
    (dlpark__file_faults_add((reader)->faults, (status),                                                               \
                             (dlpark__file_fault_place[]){dlpark__gguf_place((reader), (rule), (offset))},             \
                             __VA_ARGS__))
dlpark__file_fault_place dlpark__gguf_place(const dlpark__gguf_reader *reader, const char *rule, uint64_t offset);

/* These take what comes next; `what` is for messages. False ends the reading: a fault was told, or `status` says why. */
bool dlpark__gguf_take(dlpark__gguf_reader *reader, size_t nbytes, const char *what, uint64_t *out); /* at most 8 */
bool dlpark__gguf_skip(dlpark__gguf_reader *reader, uint64_t nbytes, const char *what);
/* A text behind its length: onto the end of the index's text. */
bool dlpark__gguf_text(dlpark__gguf_reader *reader, const char *what, dlpark__span_text *out);
/* The same for a key or a name, with its place before it. */
bool dlpark__gguf_name(dlpark__gguf_reader *reader, const char *what, dlpark__span_text *out);

/* Whether the text that ends at the cursor is UTF-8. Where not, a fault is told: `goes_on`. */
bool dlpark__gguf_is_utf8(dlpark__gguf_reader *reader, dlpark__span_text span, const char *what, bool *goes_on);

/* Onto the end of the index's text. False: out of memory, which `status` says. */
bool dlpark__gguf_put(dlpark__gguf_reader *reader, const void *bytes, size_t nbytes);

/* Where in the file a key or name is. */
uint64_t dlpark__gguf_place_of(const dlpark__index *index, dlpark__span_text span);

/* ---- gguf_value.c ---- */

#define DLPARK__GGUF_ALIGNMENT       UINT64_C(32) /* where nothing is said */
#define DLPARK__GGUF_ALIGNMENT_LEAST UINT64_C(8)
#define DLPARK__GGUF_ALIGNMENT_MOST  UINT64_C(65536)
#define DLPARK__GGUF_ALIGNMENT_KEY   "general.alignment"

/* The numbers of three of the types of values. */
enum { DLPARK__GGUF_U32 = 4, DLPARK__GGUF_STRING = 8, DLPARK__GGUF_ARRAY = 9 };

/* A key and its value, as a text. */
bool dlpark__gguf_read_pair(dlpark__gguf_reader *reader);

/* ---- gguf_load.c ---- */

dlpark_status dlpark__gguf_load_value(const dlpark_file *file, int64_t index, dlpark_file_value *value,
                                      dlpark_error *err);

/* ---- gguf_tensor.c ---- */

/* ggml's types by their numbers; those that it took out have no name. */
#define DLPARK__GGUF_TYPES 42
extern const dlpark__index_type dlpark__gguf_types[DLPARK__GGUF_TYPES];

#define DLPARK__GGUF_MAX_NDIM 4

/* A tensor into the index, its place counted from where the data begins; unless it is broken. */
bool dlpark__gguf_read_tensor(dlpark__gguf_reader *reader);

/* ---- gguf_write.c ---- */

dlpark_status dlpark__gguf_plan(dlpark__write_plan *plan, const dlpark_file_part *parts, size_t count,
                                const dlpark_file_write_options *options, dlpark_error *err);

#endif
