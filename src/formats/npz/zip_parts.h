/*
 * What the files of the ZIP reader share: numbers, extra fields, and where it stands.
 */
#ifndef DLPARK_FORMATS_ZIP_PARTS_H
#define DLPARK_FORMATS_ZIP_PARTS_H

#include <stdbool.h>

#include "zip.h"

/* Sizes of records without what varies. */
#define DLPARK__ZIP_LOCAL_NBYTES ((size_t)30)
#define DLPARK__ZIP_ENTRY_NBYTES ((size_t)46)

/* "Stands in the ZIP64 field". */
#define DLPARK__ZIP_FULL_16 UINT64_C(0xFFFF)
#define DLPARK__ZIP_FULL_32 UINT64_C(0xFFFFFFFF)

/* Bits of flags. */
#define DLPARK__ZIP_HAS_DESCRIPTOR 0x0008u
#define DLPARK__ZIP_IS_UTF8        0x0800u

typedef struct dlpark__zip_reader {
    const dlpark__source *source;
    dlpark__file_faults *faults;
    dlpark__zip *zip;
    uint64_t directory; /* where it begins, in the file */
    uint64_t directory_nbytes;
    uint64_t count; /* of members */
} dlpark__zip_reader;

/* Little-endian, at most 8 bytes. */
uint64_t dlpark__zip_number(const unsigned char *bytes, size_t nbytes);

/* Where a fault is: of a member, or NULL. */
dlpark__file_fault_place dlpark__zip_place(const dlpark__zip_reader *reader, const char *rule, uint64_t at,
                                           const dlpark__zip_member *member);

#define DLPARK__ZIP_FAULT(reader, status, rule, at, member, ...)                                                       \
    (dlpark__file_faults_add((reader)->faults, (status),                                                               \
                             (dlpark__file_fault_place[]){dlpark__zip_place((reader), (rule), (at), (member))},        \
                             __VA_ARGS__))

/* The numbers that the ZIP64 field among a record's extra fields has for those of 32 bits that are full, in its order;
 * those that are not stay. NULL, or what is wrong. */
const char *dlpark__zip_widen(const unsigned char *extra, size_t nbytes, uint64_t *const *numbers, size_t count);

/* ---- zip_end.c ---- */

/* What the records at the file's end say of the directory, which then ends where they begin. */
dlpark_status dlpark__zip_find_directory(dlpark__zip_reader *reader, uint64_t max_nbytes, dlpark_error *err);

/* ---- zip_local.c ---- */

/* Holds the headers of the members themselves against the directory, and finds where their bytes begin and that they lie
 * one behind the other. */
dlpark_status dlpark__zip_check_members(dlpark__zip_reader *reader, dlpark_error *err);

#endif
