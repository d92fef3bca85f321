/*
 * Bytes as an archive of arrays. In one that opens tensors lie one behind the other, each is found, and is mapped and loaded, or
 * unpacked, as what its entry says; in two ranges it is the same. dlpark_file_check() finds no fault where it opens, and
 * where not, first of all the one that opening told.
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
#if defined(FUZZ_HAS_ZLIB)
#include <dlpark/zlib.h>
#endif

#include "fuzz.h"
#include "plain_inflate.h"

enum { END = 22, FAULTS = 4 };

static dlpark_file_options options_of_all(void)
{
    dlpark_file_options options = {.format = DLPARK_FILE_NPZ, .inflate = plain_inflate()};

#if defined(FUZZ_HAS_ZLIB)
    options.inflate = dlpark_zlib_inflate();
#endif
    return options;
}

/* ---- What is true of a file that opened ---- */

static dlpark_view view_of(const dlpark_file_entry *entry, unsigned char *bytes, uint64_t first, uint64_t count)
{
    int64_t shape[] = {(int64_t)count};
    DLTensor tensor = {bytes + first * (entry->dtype.bits / 8), {kDLCPU, 0}, 1, entry->dtype, shape, NULL, 0};
    dlpark_view view;

    FUZZ_WANT(dlpark_check(&tensor, 0, &view, NULL) == DLPARK_OK);
    FUZZ_WANT(dlpark_view_allow_write(&view, NULL) == DLPARK_OK);
    return view;
}

/* In two ranges, as in one: in the order of the file where that is row-major. */
static void check_ranges(const dlpark_file *file, const dlpark_file_entry *entry, const dlpark_view *whole)
{
    uint64_t numel = entry->nbytes / (entry->dtype.bits / 8), half = numel / 3;
    unsigned char *bytes = malloc((size_t)entry->nbytes + 1);

    FUZZ_WANT(bytes != NULL);
    dlpark_view first = view_of(entry, bytes, 0, half), second = view_of(entry, bytes, half, numel - half);
    FUZZ_WANT(dlpark_file_read_range(file, entry->index, 0, &first, NULL) == DLPARK_OK);
    FUZZ_WANT(dlpark_file_read_range(file, entry->index, (int64_t)half, &second, NULL) == DLPARK_OK);
    if ((entry->flags & DLPARK_FILE_COLUMN_MAJOR) == 0 && entry->nbytes > 0)
        FUZZ_WANT(memcmp(bytes, whole->data, (size_t)entry->nbytes) == 0);
    free(bytes);
}

static void check_tensor(dlpark_file *file, const dlpark_file_entry *entry, const uint8_t *bytes)
{
    dlpark_tensor loaded = DLPARK_TENSOR_EMPTY;
    dlpark_view view, mapped;
    bool is_compressed = (entry->flags & DLPARK_FILE_COMPRESSED) != 0;
    dlpark_status status = dlpark_file_load(file, entry->index, &loaded, NULL);

    FUZZ_WANT(status == DLPARK_OK || (status == DLPARK_E_FORMAT && is_compressed));
    dlpark_status other = dlpark_file_view(file, entry->index, &mapped, NULL);
    FUZZ_WANT(other == DLPARK_OK || (other == DLPARK_E_UNSUPPORTED && entry->flags != 0));
    FUZZ_WANT(other != DLPARK_OK || !is_compressed);
    if (status == DLPARK_OK) {
        dlpark_tensor_view(&loaded, &view);
        FUZZ_WANT((uint64_t)dlpark_view_nbytes(&view) == entry->nbytes);
        check_ranges(file, entry, &view);
        if (other == DLPARK_OK && entry->nbytes > 0) {
            FUZZ_WANT(mapped.data == (const void *)(bytes + entry->offset));
            FUZZ_WANT(memcmp(view.data, mapped.data, (size_t)entry->nbytes) == 0);
        }
    }
    dlpark_tensor_release(&loaded);
}

static void check_file(dlpark_file *file, const uint8_t *bytes, size_t nbytes)
{
    uint64_t reached = 0;

    for (int64_t i = 0; i < dlpark_file_count(file); i++) {
        dlpark_file_entry entry;
        FUZZ_WANT(dlpark_file_entry_get(file, i, &entry, NULL) == DLPARK_OK);
        FUZZ_WANT(entry.offset > reached && entry.offset < nbytes && entry.nbytes <= nbytes * 1032);
        FUZZ_WANT((entry.flags & DLPARK_FILE_COMPRESSED) != 0 || entry.nbytes < nbytes - entry.offset);
        reached = entry.offset + ((entry.flags & DLPARK_FILE_COMPRESSED) != 0 ? 0 : entry.nbytes);
        FUZZ_WANT(dlpark_file_find(file, entry.name, entry.name_nbytes) == i);
        check_tensor(file, &entry, bytes);
    }
    FUZZ_WANT(dlpark_file_metadata_count(file) == 0);
}

/* ---- Every fault ---- */

static void check_faults(dlpark_status status, const dlpark_error *err, const uint8_t *bytes, size_t nbytes)
{
    static int descriptor = -1;
    static char path[40];
    const dlpark_file_options options = options_of_all();
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
    const dlpark_file_options options = options_of_all();
    dlpark_file *file = NULL;
    dlpark_error err = {.message = ""};
    dlpark_status status = dlpark_file_open_memory(&file, bytes, nbytes, NULL, NULL, &options, &err);

    FUZZ_WANT((file != NULL) == (status == DLPARK_OK));
    FUZZ_WANT(status == DLPARK_OK || status == DLPARK_E_FORMAT || status == DLPARK_E_LIMIT ||
              status == DLPARK_E_UNSUPPORTED);
    if (file != NULL)
        check_file(file, bytes, nbytes);
    check_faults(status, &err, bytes, nbytes);
    dlpark_file_release(&file);
}

/* ---- Places, put right ---- */

static void set_number(uint8_t *to, uint64_t number, int nbytes)
{
    for (int i = 0; i < nbytes; i++)
        to[i] = (uint8_t)(number >> 8 * i);
}

/* The next mark of that kind, from `at` on; `nbytes` where there is none. */
static size_t find_mark(const uint8_t *bytes, size_t nbytes, size_t at, const char *mark)
{
    while (at + 4 <= nbytes && memcmp(bytes + at, mark, 4) != 0)
        at++;
    return at + 4 <= nbytes ? at : nbytes;
}

/* Each entry at the header of its number, and the directory where its first entry is. */
static void repair(uint8_t *bytes, size_t nbytes)
{
    size_t local = 0, first = find_mark(bytes, nbytes, 0, "PK\1\2"), end = find_mark(bytes, nbytes, 0, "PK\5\6");

    for (size_t at = first; at + 46 <= nbytes; at = find_mark(bytes, nbytes, at + 4, "PK\1\2")) {
        local = find_mark(bytes, nbytes, local, "PK\3\4");
        set_number(bytes + at + 42, local, 4);
        local += 4;
    }
    if (end + END > nbytes)
        return;
    first = first < end ? first : end;
    set_number(bytes + end + 12, end - first, 4);
    set_number(bytes + end + 16, first, 4);
    set_number(bytes + end + 20, nbytes - end - END, 2);
}

/* As it is, and repaired: else most of what is tried would end at a place that is one byte off. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *repaired = malloc(size + 1);

    check_bytes(data, size);
    FUZZ_WANT(repaired != NULL);
    if (size > 0)
        memcpy(repaired, data, size);
    repair(repaired, size);
    check_bytes(repaired, size);
    free(repaired);
    return 0;
}
