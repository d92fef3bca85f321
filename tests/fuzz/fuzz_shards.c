/*
 * Bytes as the index of shards. What is read of it in memory is checked without its shards: there are none of fewer than a
 * tensor, and every shard has the name of a file. White space behind every brace changes nothing. From a folder without
 * shards none but an empty index opens; what is wrong with it is what opening told, and dlpark_file_check() finds that too.
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

enum { FAULTS = 4 };

static const dlpark_file_options options = {.format = DLPARK_FILE_SHARDS};

/* The status, after which nothing is open: an index that is right is refused only for want of a folder. */
static dlpark_status read_index(const uint8_t *bytes, size_t nbytes, dlpark_error *err)
{
    dlpark_file *file = NULL;
    dlpark_status status = dlpark_file_open_memory(&file, bytes, nbytes, NULL, NULL, &options, err);

    FUZZ_WANT(file == NULL);
    FUZZ_WANT(status == DLPARK_E_UNSUPPORTED || status == DLPARK_E_FORMAT || status == DLPARK_E_LIMIT);
    FUZZ_WANT(err->message[0] != '\0');
    return status;
}

/* A line's end behind every brace that is not in a string. */
static void check_spaced(dlpark_status status, const uint8_t *bytes, size_t nbytes)
{
    uint8_t *spaced = malloc(nbytes * 2 + 1);
    size_t used = 0;
    bool in_string = false;
    dlpark_error err = {.message = ""};

    FUZZ_WANT(spaced != NULL);
    for (size_t i = 0; i < nbytes; i++) {
        spaced[used++] = bytes[i];
        if (in_string && bytes[i] == '\\' && i + 1 < nbytes)
            spaced[used++] = bytes[++i];
        else if (bytes[i] == '"')
            in_string = !in_string;
        else if (!in_string && (bytes[i] == '{' || bytes[i] == '}'))
            spaced[used++] = '\n';
    }
    FUZZ_WANT(read_index(spaced, used, &err) == status);
    free(spaced);
}

/* The same from a file, in a folder where every name is a link or is not there. */
static void check_file(dlpark_status status, const dlpark_error *err, const uint8_t *bytes, size_t nbytes)
{
    static int descriptor = -1;
    static char path[40];
    dlpark_file_fault faults[FAULTS];
    dlpark_file *file = NULL;
    size_t count = 0;

    if (descriptor < 0) {
        descriptor = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    }
    FUZZ_WANT(ftruncate(descriptor, (off_t)nbytes) == 0 && pwrite(descriptor, bytes, nbytes, 0) == (ssize_t)nbytes);
    FUZZ_WANT(dlpark_file_check(path, &options, faults, FAULTS, &count, NULL) == DLPARK_OK);
    dlpark_status opened = dlpark_file_open(&file, path, &options, NULL);
    FUZZ_WANT((opened == DLPARK_OK) == (file != NULL));
    if (status != DLPARK_E_UNSUPPORTED) {
        FUZZ_WANT(opened == status && count > 0);
        FUZZ_WANT(strstr(err->message, faults[0].message) != NULL);
    } else if (file != NULL) {
        FUZZ_WANT(dlpark_file_count(file) == 0 && dlpark_file_shard_count(file) == 0);
        FUZZ_WANT(strstr(err->message, "the index of 0 shards") != NULL);
    } else {
        FUZZ_WANT(opened == DLPARK_E_NOT_FOUND || opened == DLPARK_E_PERMISSION);
        FUZZ_WANT(count > 0 && strncmp(faults[0].rule, "shard-", 6) == 0);
    }
    for (size_t i = 0; i < count && i < FAULTS; i++)
        FUZZ_WANT(faults[i].offset <= nbytes && faults[i].message[0] != '\0' && strlen(faults[i].tensor) <= 60);
    for (int64_t i = 0; file != NULL && i < dlpark_file_metadata_count(file); i++) {
        dlpark_file_text key, value;
        FUZZ_WANT(dlpark_file_metadata_get(file, i, &key, &value, NULL) == DLPARK_OK);
        FUZZ_WANT(key.nbytes + value.nbytes < nbytes);
    }
    dlpark_file_release(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    dlpark_error err = {.message = ""};
    dlpark_status status = read_index(data, size, &err);

    if (size > 0) {
        check_spaced(status, data, size);
        check_file(status, &err, data, size);
    }
    return 0;
}
