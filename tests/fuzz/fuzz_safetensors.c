/*
 * Bytes as a file. One that opens is whole: each byte of its data is of one tensor, and each tensor is found, mapped and
 * loaded as what its entry says. A space behind every brace changes nothing, which has the text read by another way.
 * dlpark_file_check() finds no fault where the file opens, and where not, first of all the one that opening told.
 */
#define _GNU_SOURCE /* memfd_create() */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <dlpark/dlpark.h>
#include <dlpark/file.h>

#include "fuzz.h"

enum { PREFIX = 8, FAULTS = 4 };

static uint64_t header_nbytes(const uint8_t *bytes)
{
    uint64_t nbytes = 0;

    for (int i = PREFIX - 1; i >= 0; i--)
        nbytes = nbytes << 8 | bytes[i];
    return nbytes;
}

static void set_header_nbytes(uint8_t *bytes, uint64_t nbytes)
{
    for (int i = 0; i < PREFIX; i++)
        bytes[i] = (uint8_t)(nbytes >> 8 * i);
}

static dlpark_status open_file(dlpark_file **file, const uint8_t *bytes, size_t nbytes, dlpark_error *err)
{
    const dlpark_file_options options = {.format = DLPARK_FILE_SAFETENSORS,
                                         .float4 = (dlpark_file_float4)(nbytes % 3)};

    *file = NULL;
    dlpark_status status = dlpark_file_open_memory(file, bytes, nbytes, NULL, NULL, &options, err);
    FUZZ_WANT((*file != NULL) == (status == DLPARK_OK));
    FUZZ_WANT(status == DLPARK_OK || status == DLPARK_E_FORMAT || status == DLPARK_E_LIMIT);
    return status;
}

/* ---- What is true of a file that opened ---- */

static bool is_mapped(const dlpark_file_entry *entry)
{
    const uint16_t one = 1;
    uint8_t first;

    memcpy(&first, &one, 1);
    return entry->ndim <= DLPARK_MAX_NDIM && (first == 1 || entry->nbytes == 0 || entry->dtype.bits <= 8);
}

static void check_tensor(dlpark_file *file, int64_t index, const dlpark_file_entry *entry, const uint8_t *bytes)
{
    dlpark_tensor loaded = DLPARK_TENSOR_EMPTY, shared = DLPARK_TENSOR_EMPTY;
    dlpark_view view, mapped;

    if (!is_mapped(entry)) {
        FUZZ_WANT(dlpark_file_view(file, index, &view, NULL) == DLPARK_E_UNSUPPORTED);
        return;
    }
    FUZZ_WANT(dlpark_file_view(file, index, &mapped, NULL) == DLPARK_OK);
    FUZZ_WANT((uint64_t)dlpark_view_nbytes(&mapped) == entry->nbytes && mapped.flags == DLPARK_VIEW_READ_ONLY);
    FUZZ_WANT(entry->nbytes == 0 || mapped.data == (const void *)(bytes + entry->offset));
    FUZZ_WANT(entry->nbytes == 0 || (uintptr_t)mapped.data % entry->alignment_bytes == 0);
    FUZZ_WANT(dlpark_file_share(file, index, &shared, NULL) == DLPARK_OK);
    FUZZ_WANT(dlpark_file_load(file, index, &loaded, NULL) == DLPARK_OK);
    dlpark_tensor_view(&loaded, &view);
    FUZZ_WANT(dlpark_dtype_equal(view.dtype, mapped.dtype) && view.ndim == mapped.ndim);
    FUZZ_WANT(memcmp(view.shape, mapped.shape, (size_t)view.ndim * sizeof *view.shape) == 0);
    FUZZ_WANT(entry->nbytes == 0 || memcmp(view.data, mapped.data, (size_t)entry->nbytes) == 0);
    dlpark_tensor_release(&loaded);
    dlpark_tensor_release(&shared);
}

static void check_file(dlpark_file *file, const uint8_t *bytes, size_t nbytes)
{
    uint64_t reached = PREFIX + header_nbytes(bytes);

    for (int64_t i = 0; i < dlpark_file_count(file); i++) {
        dlpark_file_entry entry;
        FUZZ_WANT(dlpark_file_entry_get(file, i, &entry, NULL) == DLPARK_OK);
        FUZZ_WANT(entry.offset == reached && entry.nbytes <= nbytes);
        reached += entry.nbytes;
        FUZZ_WANT(dlpark_file_find(file, entry.name, entry.name_nbytes) == i);
        FUZZ_WANT(strlen(dlpark_file_name_text(entry.name, entry.name_nbytes).text) <= 60);
        check_tensor(file, i, &entry, bytes);
    }
    FUZZ_WANT(reached == nbytes);
    for (int64_t i = 0; i < dlpark_file_metadata_count(file); i++) {
        dlpark_file_text key, value;
        FUZZ_WANT(dlpark_file_metadata_get(file, i, &key, &value, NULL) == DLPARK_OK);
        FUZZ_WANT(key.nbytes + value.nbytes < nbytes);
    }
}

/* ---- The same text with spaces ---- */

static bool is_same_entry(const dlpark_file_entry *a, const dlpark_file_entry *b)
{
    int32_t kept = a->ndim < DLPARK_MAX_NDIM ? a->ndim : DLPARK_MAX_NDIM;

    return a->name_nbytes == b->name_nbytes && memcmp(a->name, b->name, a->name_nbytes) == 0 && a->type == b->type &&
           a->nbytes == b->nbytes && a->ndim == b->ndim &&
           memcmp(a->shape, b->shape, (size_t)kept * sizeof *a->shape) == 0;
}

/* A space behind every brace that is not in a string; the room is twice the file's. */
static size_t add_spaces(uint8_t *to, const uint8_t *bytes, size_t nbytes)
{
    size_t header = (size_t)header_nbytes(bytes), used = PREFIX;
    bool in_string = false;

    for (size_t i = PREFIX; i < PREFIX + header; i++) {
        to[used++] = bytes[i];
        if (in_string && bytes[i] == '\\' && i + 1 < PREFIX + header)
            to[used++] = bytes[++i];
        else if (bytes[i] == '"')
            in_string = !in_string;
        else if (!in_string && bytes[i] == '{')
            to[used++] = ' ';
    }
    set_header_nbytes(to, used - PREFIX);
    memcpy(to + used, bytes + PREFIX + header, nbytes - PREFIX - header);
    return used + nbytes - PREFIX - header;
}

static void check_spaced(const dlpark_file *file, dlpark_status status, const uint8_t *bytes, size_t nbytes)
{
    dlpark_file *other;

    if (nbytes < PREFIX || header_nbytes(bytes) > nbytes - PREFIX)
        return;
    uint8_t *spaced = malloc(nbytes * 2);
    FUZZ_WANT(spaced != NULL);
    size_t used = add_spaces(spaced, bytes, nbytes);
    FUZZ_WANT(open_file(&other, spaced, used, NULL) == status);
    if (file != NULL) {
        FUZZ_WANT(dlpark_file_count(file) == dlpark_file_count(other));
        FUZZ_WANT(dlpark_file_metadata_count(file) == dlpark_file_metadata_count(other));
        for (int64_t i = 0; i < dlpark_file_count(file) && (nbytes - used) % 3 == 0; i++) { /* of one form of float4 */
            dlpark_file_entry one, two;
            FUZZ_WANT(dlpark_file_entry_get(file, i, &one, NULL) == DLPARK_OK);
            FUZZ_WANT(dlpark_file_entry_get(other, i, &two, NULL) == DLPARK_OK);
            FUZZ_WANT(is_same_entry(&one, &two));
        }
    }
    dlpark_file_release(&other);
    free(spaced);
}

/* ---- Every fault ---- */

static void check_faults(dlpark_status status, const dlpark_error *err, const uint8_t *bytes, size_t nbytes)
{
    static int descriptor = -1;
    static char path[40];
    const dlpark_file_options options = {.format = DLPARK_FILE_SAFETENSORS};
    dlpark_file_fault faults[FAULTS];
    size_t count = 0;

    if (descriptor < 0) {
        descriptor = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    }
    FUZZ_WANT(ftruncate(descriptor, (off_t)nbytes) == 0 && pwrite(descriptor, bytes, nbytes, 0) == (ssize_t)nbytes);
    FUZZ_WANT(dlpark_file_check(path, &options, faults, FAULTS, &count, NULL) == DLPARK_OK);
    FUZZ_WANT((count == 0) == (status == DLPARK_OK));
    for (size_t i = 0; i < count && i < FAULTS; i++) {
        FUZZ_WANT(faults[i].offset <= nbytes && faults[i].message[0] != '\0' && faults[i].rule[0] != '\0');
        FUZZ_WANT(strlen(faults[i].tensor) <= 60 && strlen(faults[i].message) < sizeof faults[i].message);
    }
    FUZZ_WANT(count == 0 || strstr(err->message, faults[0].message) != NULL);
}

static void check_bytes(const uint8_t *bytes, size_t nbytes)
{
    dlpark_file *file;
    dlpark_error err = {.message = ""};
    dlpark_status status = open_file(&file, bytes, nbytes, &err);

    if (file != NULL)
        check_file(file, bytes, nbytes);
    check_spaced(file, status, bytes, nbytes);
    check_faults(status, &err, bytes, nbytes);
    dlpark_file_release(&file);
}

/* As it is, and with the length of a header that ends at the last brace: else most of what is tried would end there. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t end = size;

    check_bytes(data, size);
    while (end > PREFIX && data[end - 1] != '}')
        end--;
    if (end <= PREFIX || header_nbytes(data) == end - PREFIX)
        return 0;
    uint8_t *repaired = malloc(size);
    FUZZ_WANT(repaired != NULL);
    memcpy(repaired, data, size);
    set_header_nbytes(repaired, end - PREFIX);
    check_bytes(repaired, size);
    free(repaired);
    return 0;
}
