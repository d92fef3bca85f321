/*
 * Bytes as an array of NumPy's. One that opens has its bytes within the file, and is the same loaded, mapped, read into
 * row-major order, whole and in ranges. Spaces between the items of the header change nothing. What is written of it is read
 * again. dlpark_file_check() finds no fault where the file opens, and where not, first of all the one that opening told.
 */
#define _GNU_SOURCE /* memfd_create() */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <dlpark/dlpark.h>
#include <dlpark/file_write.h>

#include "fuzz.h"

enum { FAULTS = 4, MOST = 1 << 20 };

static const dlpark_file_options npy = {.format = DLPARK_FILE_NPY};

static dlpark_status open_array(dlpark_file **file, const uint8_t *bytes, size_t nbytes, dlpark_error *err)
{
    *file = NULL;
    dlpark_status status = dlpark_file_open_memory(file, bytes, nbytes, NULL, NULL, &npy, err);
    FUZZ_WANT((*file != NULL) == (status == DLPARK_OK));
    FUZZ_WANT(status == DLPARK_OK || status == DLPARK_E_FORMAT || status == DLPARK_E_LIMIT ||
              status == DLPARK_E_UNSUPPORTED);
    return status;
}

/* ---- What is true of an array that opened ---- */

/* A tensor of the entry's dtype and shape, row-major. */
static void make_tensor(dlpark_tensor *tensor, dlpark_view *view, const dlpark_file_entry *entry)
{
    const dlpark_tensor_desc desc = {.dtype = entry->dtype, .ndim = entry->ndim, .shape = DLPARK_DIMS(entry->shape)};

    FUZZ_WANT(dlpark_tensor_alloc(tensor, &desc, view, NULL) == DLPARK_OK);
}

/* In two ranges that meet at an element of the input's choosing. */
static void check_ranges(const dlpark_file *file, const dlpark_file_entry *entry, const dlpark_view *whole, size_t seed)
{
    int64_t numel = dlpark_view_numel(whole), cut = numel > 0 ? (int64_t)(seed % (size_t)numel) : 0;
    const int64_t counts[] = {cut, numel - cut}, firsts[] = {0, cut};

    for (int i = 0; i < 2; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        dlpark_view view;
        const dlpark_tensor_desc desc = {.dtype = entry->dtype, .ndim = 1, .shape = DLPARK_DIMS(&counts[i])};
        FUZZ_WANT(dlpark_tensor_alloc(&tensor, &desc, &view, NULL) == DLPARK_OK);
        FUZZ_WANT(dlpark_file_read_range(file, 0, firsts[i], &view, NULL) == DLPARK_OK);
        size_t item = entry->dtype.bits / 8;
        if (counts[i] > 0)
            FUZZ_WANT(memcmp(view.data, (char *)whole->data + (size_t)firsts[i] * item, (size_t)counts[i] * item) == 0);
        dlpark_tensor_release(&tensor);
    }
}

/* The elements of a view are those of a row-major one. */
static void check_same(const dlpark_view *view, const dlpark_view *whole, const dlpark_file_entry *entry)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view copy;

    FUZZ_WANT(dlpark_dtype_equal(view->dtype, entry->dtype) && view->ndim == entry->ndim);
    FUZZ_WANT(memcmp(view->shape, entry->shape, (size_t)entry->ndim * sizeof *view->shape) == 0);
    make_tensor(&tensor, &copy, entry);
    FUZZ_WANT(dlpark_copy(&copy, view, NULL) == DLPARK_OK);
    FUZZ_WANT(entry->nbytes == 0 || memcmp(copy.data, whole->data, (size_t)entry->nbytes) == 0);
    dlpark_tensor_release(&tensor);
}

/* What is written is read again, and is row-major and in this machine's order but for its bytes. */
static void check_written(const dlpark_view *whole)
{
    static char path[64];
    dlpark_file *file = NULL;
    dlpark_tensor loaded = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    const dlpark_file_part part = {.name = "x", .view = whole};

    if (path[0] == '\0')
        snprintf(path, sizeof path, "/tmp/dlpark-fuzz-%ld.npy", (long)getpid());
    FUZZ_WANT(dlpark_file_save(path, &part, 1, NULL, NULL) == DLPARK_OK);
    FUZZ_WANT(dlpark_file_open(&file, path, &npy, NULL) == DLPARK_OK);
    FUZZ_WANT(unlink(path) == 0);
    FUZZ_WANT(dlpark_file_load(file, 0, &loaded, NULL) == DLPARK_OK);
    dlpark_tensor_view(&loaded, &view);
    FUZZ_WANT(view.ndim == whole->ndim && dlpark_dtype_equal(view.dtype, whole->dtype));
    FUZZ_WANT(memcmp(view.shape, whole->shape, (size_t)view.ndim * sizeof *view.shape) == 0);
    FUZZ_WANT(dlpark_view_numel(&view) == 0 || memcmp(view.data, whole->data, (size_t)dlpark_view_nbytes(&view)) == 0);
    dlpark_tensor_release(&loaded);
    dlpark_file_release(&file);
}

static void check_array(dlpark_file *file, const uint8_t *bytes, size_t nbytes)
{
    dlpark_tensor tensors[2] = {DLPARK_TENSOR_EMPTY, DLPARK_TENSOR_EMPTY};
    dlpark_file_entry entry;
    dlpark_view whole, view;

    FUZZ_WANT(dlpark_file_count(file) == 1 && dlpark_file_metadata_count(file) == 0);
    FUZZ_WANT(dlpark_file_find(file, "arr_0", 5) == 0);
    FUZZ_WANT(dlpark_file_entry_get(file, 0, &entry, NULL) == DLPARK_OK);
    FUZZ_WANT(entry.offset <= nbytes && entry.nbytes <= nbytes - entry.offset && entry.ndim <= DLPARK_MAX_NDIM);
    make_tensor(&tensors[0], &whole, &entry);
    FUZZ_WANT(dlpark_file_read(file, 0, &whole, NULL) == DLPARK_OK);
    FUZZ_WANT(dlpark_file_load(file, 0, &tensors[1], NULL) == DLPARK_OK);
    dlpark_tensor_view(&tensors[1], &view);
    check_same(&view, &whole, &entry);
    dlpark_status status = dlpark_file_view(file, 0, &view, NULL);
    if ((entry.flags & DLPARK_FILE_SWAPPED) != 0 && entry.nbytes != 0) {
        FUZZ_WANT(status == DLPARK_E_UNSUPPORTED);
    } else {
        FUZZ_WANT(status == DLPARK_OK && view.flags == DLPARK_VIEW_READ_ONLY);
        FUZZ_WANT(entry.nbytes == 0 || view.data == (const void *)(bytes + entry.offset));
        check_same(&view, &whole, &entry);
    }
    check_ranges(file, &entry, &whole, nbytes + bytes[nbytes - 1]);
    if (nbytes % 16 == 0)
        check_written(&whole);
    dlpark_tensor_release(&tensors[0]);
    dlpark_tensor_release(&tensors[1]);
}

/* ---- The same text with spaces ---- */

static size_t header_begin(const uint8_t *bytes)
{
    return bytes[6] == 1 ? 10 : 12;
}

static size_t header_nbytes(const uint8_t *bytes)
{
    size_t nbytes = 0;

    for (size_t i = header_begin(bytes); i > 8; i--)
        nbytes = nbytes << 8 | bytes[i - 1];
    return nbytes;
}

static void set_header_nbytes(uint8_t *bytes, size_t nbytes)
{
    for (size_t i = 8; i < header_begin(bytes); i++)
        bytes[i] = (uint8_t)(nbytes >> 8 * (i - 8));
}

/* A space behind every comma and bracket that is not in a string; the room is twice the file's. */
static size_t add_spaces(uint8_t *to, const uint8_t *bytes, size_t begin, size_t end)
{
    size_t used = begin;
    uint8_t quote = 0;

    memcpy(to, bytes, begin);
    for (size_t i = begin; i < end; i++) {
        to[used++] = bytes[i];
        if (quote != 0 && bytes[i] == '\\' && i + 1 < end)
            to[used++] = bytes[++i];
        else if (quote != 0)
            quote = bytes[i] == quote ? 0 : quote;
        else if (bytes[i] == '\'' || bytes[i] == '"')
            quote = bytes[i];
        else if (bytes[i] != 0 && strchr(",:()[]{}", bytes[i]) != NULL)
            to[used++] = ' ';
    }
    return used;
}

static void check_spaced(dlpark_status status, const uint8_t *bytes, size_t nbytes)
{
    dlpark_file *other;

    if (nbytes < 12 || status == DLPARK_E_LIMIT || header_nbytes(bytes) > nbytes - header_begin(bytes))
        return;
    size_t begin = header_begin(bytes), end = begin + header_nbytes(bytes);
    uint8_t *spaced = malloc(nbytes * 2);
    FUZZ_WANT(spaced != NULL);
    size_t used = add_spaces(spaced, bytes, begin, end);
    if (used - begin <= 0xFFFF) {
        set_header_nbytes(spaced, used - begin);
        memcpy(spaced + used, bytes + end, nbytes - end);
        FUZZ_WANT(open_array(&other, spaced, used + nbytes - end, NULL) == status);
        dlpark_file_release(&other);
    }
    free(spaced);
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
    FUZZ_WANT(dlpark_file_check(path, &npy, faults, FAULTS, &count, NULL) == DLPARK_OK);
    FUZZ_WANT((count == 0) == (status == DLPARK_OK));
    for (size_t i = 0; i < count && i < FAULTS; i++) {
        FUZZ_WANT(faults[i].offset <= nbytes && faults[i].message[0] != '\0' && faults[i].rule[0] != '\0');
        FUZZ_WANT(strlen(faults[i].message) < sizeof faults[i].message);
    }
    /* A message that is long is cut, with the name of the file before it. */
    FUZZ_WANT(count == 0 || strlen(faults[0].message) > 200 || strstr(err->message, faults[0].message) != NULL);
}

static void check_bytes(const uint8_t *bytes, size_t nbytes)
{
    dlpark_file *file;
    dlpark_error err = {.message = ""};
    dlpark_status status = open_array(&file, bytes, nbytes, &err);

    if (file != NULL)
        check_array(file, bytes, nbytes);
    check_spaced(status, bytes, nbytes);
    check_faults(status, &err, bytes, nbytes);
    dlpark_file_release(&file);
}

/* As it is, and with magic, version and the length of a header that ends at the last brace: else most of what is tried would
 * end there. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t end = size;

    if (size > MOST)
        return 0;
    check_bytes(data, size);
    while (end > 12 && data[end - 1] != '}')
        end--;
    if (end <= 12 || end > 0xFFFF)
        return 0;
    uint8_t *repaired = malloc(size);
    FUZZ_WANT(repaired != NULL);
    memcpy(repaired, data, size);
    memcpy(repaired, "\x93NUMPY", 6);
    repaired[6] = (uint8_t)(1 + data[6] % 3);
    repaired[7] = 0;
    set_header_nbytes(repaired, end - header_begin(repaired));
    check_bytes(repaired, size);
    free(repaired);
    return 0;
}
