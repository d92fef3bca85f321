/*
 * What the two files of the safetensors reader share: the header as a whole, and one tensor in it.
 */
#ifndef DLPARK_FORMATS_SAFETENSORS_PARTS_H
#define DLPARK_FORMATS_SAFETENSORS_PARTS_H

#include "../format.h"
#include "../json.h"

/* Of the length that a file begins with. */
#define DLPARK__SAFETENSORS_PREFIX 8

/* Zeros behind the text of a header: as many as are read at once. */
#define DLPARK__SAFETENSORS_PADDING 32

typedef struct dlpark__safetensors_reader {
    dlpark__json json;
    dlpark__index *index;
    dlpark__file_faults *faults;
    uint64_t data_begin;  /* in the file */
    uint64_t data_nbytes; /* behind the header */
    uint64_t reached;     /* where in the data the tensor before ends */
    bool is_seamless;     /* each tensor began there */
    bool has_outside;     /* a tensor that is not in the index: what seems to belong to none may be its bytes */
    bool has_metadata;
    bool is_starved; /* out of memory */
} dlpark__safetensors_reader;

/* ---- safetensors_tensor.c ---- */

/* The format's dtypes, in the order of the reference, by which its writer sorts. */
#define DLPARK__SAFETENSORS_TYPES 22
extern const dlpark__index_type dlpark__safetensors_types[DLPARK__SAFETENSORS_TYPES];

bool dlpark__safetensors_is(const dlpark__json_text *text, const char *word);

/* The value behind a name, which is at `at` of the header: into the index, unless its bytes are not within the file.
 * False ends the reading. */
bool dlpark__safetensors_read_tensor(dlpark__safetensors_reader *reader, size_t at, const dlpark__json_text *name);

/* ---- safetensors_usual.c ---- */

/* Members of the header, from the cursor on, as long as each is written as usual, is complete, and has no fault; the cursor
 * is left behind the last. False: starved. */
bool dlpark__safetensors_read_usual(dlpark__safetensors_reader *reader);

#endif
