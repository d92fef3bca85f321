/*
 * The header of an array of NumPy's, in a file of its own or as a member of an archive: what it says is checked against the
 * bytes that there are.
 *
 * It is the text of a Python dictionary, read as such. The rules are NumPy's, and stricter where it takes a text for more
 * than its own writer writes; docs/tensor-files.md lists the differences.
 */
#ifndef DLPARK_FORMATS_NPY_HEADER_H
#define DLPARK_FORMATS_NPY_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dlpark/layout.h>

#include "../file_faults.h"
#include "../index.h"

/* As much of an array's beginning as tells how long its header is. */
#define DLPARK__NPY_PREFIX ((size_t)12)

/* A header of more bytes is refused, whatever the options allow. */
#define DLPARK__NPY_MAX_HEADER UINT64_C(1048576)

/* What the format has and a tensor can be: truth values, integers, floats, complex numbers, in both byte orders. */
#define DLPARK__NPY_TYPES 25
extern const dlpark__index_type dlpark__npy_types[DLPARK__NPY_TYPES];

/* An array's first bytes, and where its faults go. */
typedef struct dlpark__npy_text {
    const unsigned char *bytes;
    size_t nbytes;         /* of them that are here */
    uint64_t array_nbytes; /* of header and data, as many as there are: the file's, or the member's */
    uint64_t at;           /* where it begins in the file, for faults */
    bool is_packed;        /* its bytes are not in the file as they are: all faults are where it begins */
    const char *name;      /* of the tensor, for faults; NULL: none */
    size_t name_nbytes;
    uint64_t max_header_nbytes; /* of the options; 0: DLPARK__NPY_MAX_HEADER */
    dlpark__file_faults *faults;
} dlpark__npy_text;

typedef struct dlpark__npy_header {
    uint8_t type;         /* row of dlpark__npy_types */
    bool is_column_major; /* and row-major would be another order */
    int32_t ndim;         /* at most 64 */
    int64_t shape[DLPARK_MAX_NDIM];
    uint64_t header_nbytes; /* where the data begins, from the array's first byte */
    uint64_t nbytes;        /* of the data, which are there */
} dlpark__npy_header;

/* Whether an array begins so. */
bool dlpark__npy_matches(const unsigned char *bytes, size_t nbytes);

/* Where the header ends, from the array's first byte: at most DLPARK__NPY_MAX_HEADER, and within the array. Looks at the
 * first DLPARK__NPY_PREFIX bytes, or at all where the array has less. False after a fault. */
bool dlpark__npy_header_nbytes(const dlpark__npy_text *text, uint64_t *header_nbytes);

/* The same and all else that the header says; `text` has as many bytes as dlpark__npy_header_nbytes() told, or
 * that is a fault too. `header` is right
 * only where true is returned: false after a fault, of which there may be more than one. DLPARK_E_UNSUPPORTED is the status
 * of a dtype that NumPy has and no tensor can be. */
bool dlpark__npy_read_header(const dlpark__npy_text *text, dlpark__npy_header *header);

#endif
