/*
 * Tensor files made by hand: a header as it is to be, bytes that can be told apart, and a place for them on the disk.
 */
#ifndef TENSOR_FILE_H
#define TENSOR_FILE_H

#include <stdlib.h>
#include <unistd.h>

#include <dlpark/file.h>

#include "test.h"

typedef struct tensor_file {
    unsigned char *bytes;
    size_t nbytes;
    size_t data; /* where the header ends */
} tensor_file;

/* Byte `i` behind the header. Never 0. */
static inline unsigned char tensor_file_byte(size_t i)
{
    return (unsigned char)(i % 255 + 1);
}

static inline tensor_file tensor_file_of(const char *header, size_t header_nbytes, size_t data_nbytes)
{
    tensor_file made = {NULL, 8 + header_nbytes + data_nbytes, 8 + header_nbytes};

    made.bytes = malloc(made.nbytes);
    assert_non_null(made.bytes);
    for (unsigned i = 0; i < 8; i++)
        made.bytes[i] = (unsigned char)((uint64_t)header_nbytes >> 8 * i);
    memcpy(made.bytes + 8, header, header_nbytes);
    for (size_t i = 0; i < data_nbytes; i++)
        made.bytes[made.data + i] = tensor_file_byte(i);
    return made;
}

/* Single quotation marks stand for double ones. */
static inline tensor_file tensor_file_text(const char *header, size_t data_nbytes)
{
    tensor_file made = tensor_file_of(header, strlen(header), data_nbytes);

    for (size_t i = 8; i < made.data; i++)
        made.bytes[i] = made.bytes[i] == '\'' ? '"' : made.bytes[i];
    return made;
}

static inline void tensor_file_end(tensor_file *file)
{
    free(file->bytes);
    file->bytes = NULL;
}

/* ---- On the disk ---- */

typedef struct tensor_file_path {
    char text[64];
} tensor_file_path;

static inline tensor_file_path tensor_file_save_bytes(const void *bytes, size_t nbytes)
{
    tensor_file_path path = {"/tmp/dlpark-file-XXXXXX"};
    int descriptor = mkstemp(path.text);

    assert_true(descriptor >= 0);
    for (size_t at = 0; at < nbytes;) {
        ssize_t put = write(descriptor, (const char *)bytes + at, nbytes - at);
        assert_true(put > 0);
        at += (size_t)put;
    }
    assert_int_equal(close(descriptor), 0);
    return path;
}

static inline tensor_file_path tensor_file_save(const tensor_file *file)
{
    return tensor_file_save_bytes(file->bytes, file->nbytes);
}

static inline void tensor_file_drop(const tensor_file_path *path)
{
    assert_int_equal(unlink(path->text), 0);
}

#endif
