/*
 * GGUF files made by hand, right or wrong: piece after piece, and what is true of every one that opens.
 */
#ifndef GGUF_MADE_H
#define GGUF_MADE_H

#include <stdbool.h>
#include <stdlib.h>

#include "tensor_file.h"

/* The numbers of types of values. */
enum {
    MADE_U8,
    MADE_I8,
    MADE_U16,
    MADE_I16,
    MADE_U32,
    MADE_I32,
    MADE_F32,
    MADE_BOOL,
    MADE_STR,
    MADE_ARR,
    MADE_U64,
    MADE_I64,
    MADE_F64
};

typedef struct gguf_made {
    unsigned char *bytes;
    size_t nbytes;
    size_t room;
} gguf_made;

static inline void gguf_made_put(gguf_made *made, const void *bytes, size_t nbytes)
{
    if (made->room - made->nbytes < nbytes) {
        made->room = made->room * 2 + nbytes + 256;
        made->bytes = realloc(made->bytes, made->room);
        assert_non_null(made->bytes);
    }
    if (nbytes > 0)
        memcpy(made->bytes + made->nbytes, bytes, nbytes);
    made->nbytes += nbytes;
}

static inline void gguf_made_number(gguf_made *made, uint64_t number, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++)
        gguf_made_put(made, &(unsigned char){(unsigned char)(number >> 8 * i)}, 1);
}

static inline void gguf_made_string(gguf_made *made, const char *text, size_t nbytes)
{
    gguf_made_number(made, nbytes, 8);
    gguf_made_put(made, text, nbytes);
}

static inline gguf_made gguf_made_begin(uint64_t ntensors, uint64_t npairs)
{
    gguf_made made = {NULL, 0, 0};

    gguf_made_put(&made, "GGUF", 4);
    gguf_made_number(&made, 3, 4);
    gguf_made_number(&made, ntensors, 8);
    gguf_made_number(&made, npairs, 8);
    return made;
}

/* What begins a pair; its value follows. */
static inline void gguf_made_key(gguf_made *made, const char *key, uint64_t kind)
{
    gguf_made_string(made, key, strlen(key));
    gguf_made_number(made, kind, 4);
}

static inline void gguf_made_array(gguf_made *made, const char *key, uint64_t kind, uint64_t count)
{
    gguf_made_key(made, key, MADE_ARR);
    gguf_made_number(made, kind, 4);
    gguf_made_number(made, count, 8);
}

/* Extents as in the file: the fastest first. */
static inline void gguf_made_tensor(gguf_made *made, const char *name, uint32_t ndim, const uint64_t *extents,
                                    uint32_t type, uint64_t begin)
{
    gguf_made_string(made, name, strlen(name));
    gguf_made_number(made, ndim, 4);
    for (uint32_t i = 0; i < ndim; i++)
        gguf_made_number(made, extents[i], 8);
    gguf_made_number(made, type, 4);
    gguf_made_number(made, begin, 8);
}

/* Padding to a multiple, and so many bytes behind it that can be told apart. */
static inline void gguf_made_data(gguf_made *made, size_t multiple, size_t nbytes)
{
    while (made->nbytes % multiple != 0)
        gguf_made_number(made, 0, 1);
    for (size_t i = 0; i < nbytes; i++)
        gguf_made_number(made, tensor_file_byte(i), 1);
}

static inline void gguf_made_end(gguf_made *made)
{
    free(made->bytes);
    *made = (gguf_made){NULL, 0, 0};
}

/* ---- As dlpark sees it ---- */

static inline dlpark_status gguf_made_open(dlpark_file **file, const gguf_made *made, dlpark_error *err)
{
    return dlpark_file_open_memory(file, made->bytes, made->nbytes, NULL, NULL, NULL, err);
}

/* Tensors do not meet, each name is found, each tensor has its bytes, and can be loaded. */
static inline void gguf_made_check(dlpark_file *file)
{
    uint64_t reached = 24;

    assert_int_equal(dlpark_file_format_of(file), DLPARK_FILE_GGUF);
    for (int64_t i = 0; i < dlpark_file_count(file); i++) {
        dlpark_file_entry entry;
        dlpark_tensor loaded = DLPARK_TENSOR_EMPTY;
        assert_ok(dlpark_file_entry_get(file, i, &entry, e));
        assert_true(entry.offset >= reached && entry.nbytes <= dlpark_file_nbytes(file) - entry.offset);
        reached = entry.offset + entry.nbytes;
        assert_int_equal(dlpark_file_find(file, entry.name, entry.name_nbytes), i);
        uint64_t nbytes = entry.dtype.bits / 8;
        for (int32_t d = 0; d < entry.ndim; d++)
            nbytes *= (uint64_t)entry.shape[d];
        assert_int_equal(nbytes, entry.nbytes);
        assert_ok(dlpark_file_load(file, i, &loaded, e));
        dlpark_tensor_release(&loaded);
    }
    for (int64_t i = 0; i < dlpark_file_metadata_count(file); i++) {
        dlpark_file_text key, value;
        assert_ok(dlpark_file_metadata_get(file, i, &key, &value, e));
        assert_true(key.nbytes > 0 && key.nbytes < dlpark_file_nbytes(file));
    }
}

/* Faults by their rules, "key utf8"; opening tells the first, and nothing is told of a file that opens. Ends the file. */
static inline void gguf_made_faults(gguf_made *made, const char *rules, const char *message)
{
    tensor_file_path path = tensor_file_save_bytes(made->bytes, made->nbytes);
    dlpark_file_fault faults[16];
    char found[256] = "", all[2048] = "";
    size_t count = 0;
    dlpark_file *file = NULL;
    dlpark_error err = {.message = ""};
    const dlpark_file_options options = {.format = DLPARK_FILE_GGUF};

    assert_ok(dlpark_file_check(path.text, &options, faults, 16, &count, e));
    for (size_t i = 0; i < count && i < 16; i++) {
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s%s", i > 0 ? " " : "", faults[i].rule);
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s|", faults[i].message);
        assert_true(faults[i].offset <= made->nbytes && faults[i].message[0] != '\0');
    }
    assert_string_equal(found, rules);
    if (strstr(all, message) == NULL)
        fail_msg("\"%s\" does not contain \"%s\"", all, message);
    dlpark_status status = dlpark_file_open(&file, path.text, &options, &err);
    assert_int_equal(status == DLPARK_OK, count == 0);
    if (status != DLPARK_OK) {
        assert_true(status == DLPARK_E_FORMAT || status == DLPARK_E_LIMIT);
        assert_null(file);
        assert_non_null(strstr(err.message, faults[0].message));
    } else {
        gguf_made_check(file);
    }
    dlpark_file_release(&file);
    tensor_file_drop(&path);
    gguf_made_end(made);
}

#endif
