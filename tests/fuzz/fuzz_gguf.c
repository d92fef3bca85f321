/*
 * Bytes as a GGUF file. One that opens is sound: its tensors do not meet and lie within it, at multiples of its alignment,
 * each is found, mapped and loaded as what its entry says, and so are metadata with their types. dlpark_file_check() finds no fault where the file opens, and where
 * not, first of all the one that opening told. What begins with other letters is read as if it began with these.
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

enum { PREFIX = 24, FAULTS = 4 };

/* ---- What is true of a file that opened ---- */

static uint64_t bytes_of(const dlpark_file_entry *entry)
{
    uint64_t nbytes = entry->dtype.bits / 8;

    for (int32_t i = 0; i < entry->ndim; i++)
        nbytes *= (uint64_t)entry->shape[i];
    return nbytes;
}

static void check_tensor(dlpark_file *file, const dlpark_file_entry *entry, const uint8_t *bytes)
{
    dlpark_tensor loaded = DLPARK_TENSOR_EMPTY;
    dlpark_view view, mapped;

    FUZZ_WANT(entry->ndim >= 0 && entry->ndim <= 4 && entry->dtype.lanes == 1 && entry->dtype.bits % 8 == 0);
    FUZZ_WANT(bytes_of(entry) == entry->nbytes && entry->type != NULL);
    FUZZ_WANT(dlpark_file_load(file, entry->index, &loaded, NULL) == DLPARK_OK);
    dlpark_tensor_view(&loaded, &view);
    FUZZ_WANT((uint64_t)dlpark_view_nbytes(&view) == entry->nbytes);
    if ((entry->flags & DLPARK_FILE_SWAPPED) == 0) {
        FUZZ_WANT(dlpark_file_view(file, entry->index, &mapped, NULL) == DLPARK_OK);
        FUZZ_WANT(entry->nbytes == 0 || mapped.data == (const void *)(bytes + entry->offset));
        FUZZ_WANT(entry->nbytes == 0 || memcmp(view.data, mapped.data, (size_t)entry->nbytes) == 0);
    }
    dlpark_tensor_release(&loaded);
}

/* A value is what its text says, where that has it, and takes no more than the file. */
static void check_value(const dlpark_file *file, int64_t index, dlpark_file_text text, size_t nbytes)
{
    dlpark_file_value value = {.count = 0};

    FUZZ_WANT(dlpark_file_value_load(file, index, &value, NULL) == DLPARK_OK);
    FUZZ_WANT(value.data != NULL && (value.is_array || value.count == 1));
    const dlpark_file_text *texts = value.data;
    size_t sum = value.dtype.bits / 8 * value.count;
    for (size_t i = 0; i < value.count && value.dtype.bits == 0; i++)
        sum += 8 + texts[i].nbytes;
    FUZZ_WANT(sum < nbytes);
    if (value.dtype.bits == 0 && !value.is_array)
        FUZZ_WANT(texts->nbytes == text.nbytes &&
                  (text.nbytes == 0 || memcmp(texts->text, text.text, text.nbytes) == 0));
    if (value.dtype.code == kDLBool && !value.is_array)
        FUZZ_WANT(text.nbytes == (*(const unsigned char *)value.data == 1 ? 4 : 5));
    dlpark_file_value_release(&value);
}

static void check_file(dlpark_file *file, const uint8_t *bytes, size_t nbytes)
{
    uint64_t reached = PREFIX;

    FUZZ_WANT(dlpark_file_format_of(file) == DLPARK_FILE_GGUF);
    for (int64_t i = 0; i < dlpark_file_count(file); i++) {
        dlpark_file_entry entry;
        FUZZ_WANT(dlpark_file_entry_get(file, i, &entry, NULL) == DLPARK_OK);
        FUZZ_WANT(entry.offset >= reached && entry.offset <= nbytes && entry.nbytes <= nbytes - entry.offset);
        FUZZ_WANT(entry.nbytes == 0 || entry.offset % 8 == 0);
        reached = entry.offset + entry.nbytes;
        FUZZ_WANT(dlpark_file_find(file, entry.name, entry.name_nbytes) == i);
        check_tensor(file, &entry, bytes);
    }
    for (int64_t i = 0; i < dlpark_file_metadata_count(file); i++) {
        dlpark_file_text key, value;
        FUZZ_WANT(dlpark_file_metadata_get(file, i, &key, &value, NULL) == DLPARK_OK);
        FUZZ_WANT(key.nbytes > 0 && key.nbytes < nbytes && value.nbytes < 6 * nbytes + 32);
        check_value(file, i, value, nbytes);
        for (size_t at = 0; at < value.nbytes; at++) /* all of it is there */
            FUZZ_WANT((unsigned char)value.text[at] != 0xFF);
    }
}

/* ---- Every fault ---- */

static void check_faults(dlpark_status status, const dlpark_error *err, const uint8_t *bytes, size_t nbytes)
{
    static int descriptor = -1;
    static char path[40];
    dlpark_file_fault faults[FAULTS];
    size_t count = 0;

    if (descriptor < 0) {
        descriptor = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    }
    FUZZ_WANT(ftruncate(descriptor, (off_t)nbytes) == 0 && pwrite(descriptor, bytes, nbytes, 0) == (ssize_t)nbytes);
    FUZZ_WANT(dlpark_file_check(path, NULL, faults, FAULTS, &count, NULL) == DLPARK_OK);
    FUZZ_WANT((count == 0) == (status == DLPARK_OK));
    for (size_t i = 0; i < count && i < FAULTS; i++) {
        FUZZ_WANT(faults[i].offset <= nbytes && faults[i].message[0] != '\0' && faults[i].rule[0] != '\0');
        FUZZ_WANT(strlen(faults[i].tensor) <= 60 && strlen(faults[i].message) < sizeof faults[i].message);
    }
    FUZZ_WANT(count == 0 || strstr(err->message, faults[0].message) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t letters[] = {'G', 'G', 'U', 'F'};
    dlpark_file *file = NULL;
    dlpark_error err = {.message = ""};

    if (size < sizeof letters)
        return 0;
    uint8_t *bytes = malloc(size);
    FUZZ_WANT(bytes != NULL);
    memcpy(bytes, data, size);
    memcpy(bytes, letters, sizeof letters);
    dlpark_status status = dlpark_file_open_memory(&file, bytes, size, NULL, NULL, NULL, &err);
    FUZZ_WANT((file != NULL) == (status == DLPARK_OK));
    FUZZ_WANT(status == DLPARK_OK || status == DLPARK_E_FORMAT || status == DLPARK_E_LIMIT);
    if (file != NULL)
        check_file(file, bytes, size);
    check_faults(status, &err, bytes, size);
    dlpark_file_release(&file);
    free(bytes);
    return 0;
}
