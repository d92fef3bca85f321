/*
 * The members of a ZIP archive: the central directory says what they are, and nothing else in the file may say otherwise.
 *
 * Stricter than most: every byte of the file is one member's, the directory's, or of the record at the end. So what is
 * found in an archive does not depend on who reads it. docs/tensor-files.md lists what is refused.
 */
#ifndef DLPARK_FORMATS_ZIP_H
#define DLPARK_FORMATS_ZIP_H

#include <stddef.h>
#include <stdint.h>

#include "../file_faults.h"
#include "../names.h"
#include "../source.h"

#define DLPARK__ZIP_STORED   0
#define DLPARK__ZIP_DEFLATED 8

/* More are refused: members, and bytes of the directory. */
#define DLPARK__ZIP_MOST_MEMBERS   UINT64_C(1000000)
#define DLPARK__ZIP_MOST_DIRECTORY UINT64_C(100000000)

typedef struct dlpark__zip_member {
    dlpark__span_text name; /* in the text of the directory */
    uint16_t flags;
    uint16_t method; /* one of those two */
    uint32_t crc32;
    uint64_t header;        /* where that of its own begins, in the file */
    uint64_t begin;         /* where its bytes do */
    uint64_t packed_nbytes; /* of them */
    uint64_t nbytes;        /* when they are unpacked */
} dlpark__zip_member;

/* Empty when zeroed. */
typedef struct dlpark__zip {
    char *text;                  /* the central directory; from malloc() */
    dlpark__zip_member *members; /* in the order of their bytes */
    size_t count;
} dlpark__zip;

/* Reads and checks all but the bytes of members. After a fault `zip` may have members, and means nothing. On failure too the
 * caller ends it. `max_nbytes`: of the directory; 0: as many as are taken at all. */
dlpark_status dlpark__zip_read(dlpark__zip *zip, const dlpark__source *source, uint64_t max_nbytes,
                               dlpark__file_faults *faults, dlpark_error *err);
void dlpark__zip_end(dlpark__zip *zip);

/* A member's name without the ".npy" at its end: what the tensor is called. */
dlpark__span_text dlpark__zip_tensor_name(const char *text, dlpark__span_text name);

/* What is wrong with a member's name; NULL: nothing. `flags` are the member's. */
const char *dlpark__zip_judge_name(const char *name, size_t nbytes, unsigned flags);

#endif
