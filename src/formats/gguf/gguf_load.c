/*
 * A value of the metadata with its type. The index keeps a text of it, which of an array is short: so it is read anew, from
 * where its key is in the file, and trusted no more than at first.
 */
#include <stdlib.h>
#include <string.h>

#include "../../core/internal.h"
#include "../swap.h"
#include "gguf_parts.h"

#define GGUF_LOAD_WINDOW ((size_t)16 << 10)

enum { GGUF_LOAD_KINDS = 13 };

/* In the order of their numbers in the file; texts and arrays have none. */
static const DLDataType gguf_load_dtypes[GGUF_LOAD_KINDS] = {
    {kDLUInt, 8, 1},  {kDLInt, 8, 1},    {kDLUInt, 16, 1}, {kDLInt, 16, 1}, {kDLUInt, 32, 1},
    {kDLInt, 32, 1},  {kDLFloat, 32, 1}, {kDLBool, 8, 1},  {0, 0, 0},       {0, 0, 0},
    {kDLUInt, 64, 1}, {kDLInt, 64, 1},   {kDLFloat, 64, 1}};

typedef struct gguf_load {
    const dlpark__source *source;
    dlpark_file_text key;
    uint64_t at;    /* in the file */
    uint64_t begin; /* of the window */
    size_t nbytes;  /* in it */
    unsigned char window[GGUF_LOAD_WINDOW];
} gguf_load;

static dlpark_status gguf_load_changed(const gguf_load *load, dlpark_error *err)
{
    return dlpark_error_set(err, DLPARK_E_FORMAT,
                            "%s: the metadata '%s' is another than when the file was opened (byte %llu)",
                            load->source->name.text, dlpark_file_name_text(load->key.text, load->key.nbytes).text,
                            (unsigned long long)load->at);
}

/* ---- Bytes ---- */

static uint64_t gguf_load_left(const gguf_load *load)
{
    return load->source->nbytes - load->at;
}

/* A number of at most 8 bytes. */
static dlpark_status gguf_load_number(gguf_load *load, size_t nbytes, uint64_t *number, dlpark_error *err)
{
    if (gguf_load_left(load) < nbytes)
        return gguf_load_changed(load, err);
    if (load->at < load->begin || load->at + nbytes > load->begin + load->nbytes) {
        uint64_t left = gguf_load_left(load);
        load->begin = load->at;
        load->nbytes = left < sizeof load->window ? (size_t)left : sizeof load->window;
        DLPARK_TRY(dlpark__source_read(load->source, load->begin, load->window, load->nbytes, err));
    }
    *number = 0;
    for (size_t i = nbytes; i > 0; i--)
        *number = *number << 8 | load->window[load->at - load->begin + i - 1];
    load->at += nbytes;
    return DLPARK_OK;
}

static dlpark_status gguf_load_bytes(gguf_load *load, void *to, size_t nbytes, dlpark_error *err)
{
    if (gguf_load_left(load) < nbytes) /* GCOVR_EXCL_BR_LINE: only while another process writes */
        return gguf_load_changed(load, err);
    if (load->at + nbytes <= load->begin + load->nbytes) /* a number before them was in the window */
        memcpy(to, load->window + (load->at - load->begin), nbytes);
    else
        DLPARK_TRY(dlpark__source_read(load->source, load->at, to, nbytes, err));
    load->at += nbytes;
    return DLPARK_OK;
}

/* From malloc(). NULL: there is none of so many bytes, which is told. */
static void *gguf_load_memory(const gguf_load *load, uint64_t nbytes, dlpark_error *err)
{
    void *memory = NULL;

    if (nbytes <= SIZE_MAX / 2) /* GCOVR_EXCL_BR_LINE: only where a size_t has 32 bits */
        memory = malloc((size_t)nbytes + 1);
    if (memory == NULL)
        (void)dlpark_error_set(err, DLPARK_E_MEMORY, "%s: no memory for the metadata '%s'", load->source->name.text,
                               dlpark_file_name_text(load->key.text, load->key.nbytes).text);
    return memory;
}

/* ---- Values ---- */

/* Bytes of so many texts, which begin here. */
static dlpark_status gguf_load_measure(gguf_load *load, uint64_t count, uint64_t *nbytes, dlpark_error *err)
{
    uint64_t some;

    *nbytes = 0;
    for (uint64_t i = 0; i < count; i++) {
        DLPARK_TRY(gguf_load_number(load, 8, &some, err));
        if (some > gguf_load_left(load))
            return gguf_load_changed(load, err);
        load->at += some;
        *nbytes += some; /* of a file, all of them */
    }
    return DLPARK_OK;
}

/* The texts into memory that has room for so many bytes, which they had when they were measured. */
static dlpark_status gguf_load_fill(gguf_load *load, dlpark_file_text *texts, size_t count, char *to, uint64_t room,
                                    dlpark_error *err)
{
    uint64_t nbytes;

    for (size_t i = 0; i < count; i++) {
        DLPARK_TRY(gguf_load_number(load, 8, &nbytes, err));
        if (nbytes > room) /* GCOVR_EXCL_BR_LINE: only while another process writes */
            return gguf_load_changed(load, err);
        DLPARK_TRY(gguf_load_bytes(load, to, (size_t)nbytes, err));
        texts[i] = (dlpark_file_text){to, (size_t)nbytes};
        to += nbytes;
        room -= nbytes;
    }
    return DLPARK_OK;
}

static dlpark_status gguf_load_texts(gguf_load *load, uint64_t count, dlpark_file_value *value, dlpark_error *err)
{
    uint64_t begin = load->at, nbytes,
             texts = count * sizeof(dlpark_file_text); /* of a count that the file has room for */

    DLPARK_TRY(gguf_load_measure(load, count, &nbytes, err));
    dlpark_file_text *data = gguf_load_memory(load, texts + nbytes, err);
    if (data == NULL)
        return DLPARK_E_MEMORY;
    load->at = begin;
    dlpark_status status = gguf_load_fill(load, data, (size_t)count, (char *)data + texts, nbytes, err);
    if (status != DLPARK_OK) {
        free(data);
        return status;
    }
    value->data = data;
    value->count = (size_t)count;
    return DLPARK_OK;
}

static dlpark_status gguf_load_numbers(gguf_load *load, DLDataType dtype, uint64_t count, dlpark_file_value *value,
                                       dlpark_error *err)
{
    uint64_t nbytes = count * (dtype.bits / 8);
    unsigned char *data = gguf_load_memory(load, nbytes, err);
    bool is_right = true;

    if (data == NULL)
        return DLPARK_E_MEMORY;
    dlpark_status status = gguf_load_bytes(load, data, (size_t)nbytes, err);
    for (uint64_t i = 0; status == DLPARK_OK && dtype.code == kDLBool && i < count; i++)
        is_right &= data[i] <= 1;
    if (!is_right)
        status = gguf_load_changed(load, err);
    if (status != DLPARK_OK) {
        free(data);
        return status;
    }
    if (DLPARK__IS_BIG_ENDIAN)
        dlpark__swap_numbers(data, nbytes, dtype);
    value->dtype = dtype;
    value->data = data;
    value->count = (size_t)count;
    return DLPARK_OK;
}

static dlpark_status gguf_load_value(gguf_load *load, dlpark_file_value *value, dlpark_error *err)
{
    uint64_t kind, count = 1;

    DLPARK_TRY(gguf_load_number(load, 4, &kind, err));
    value->is_array = kind == DLPARK__GGUF_ARRAY;
    if (value->is_array) {
        DLPARK_TRY(gguf_load_number(load, 4, &kind, err));
        DLPARK_TRY(gguf_load_number(load, 8, &count, err));
    }
    if (kind >= GGUF_LOAD_KINDS || kind == DLPARK__GGUF_ARRAY)
        return gguf_load_changed(load, err);
    size_t least = kind == DLPARK__GGUF_STRING ? 8 : gguf_load_dtypes[kind].bits / 8;
    if (count > gguf_load_left(load) / least)
        return gguf_load_changed(load, err);
    return kind == DLPARK__GGUF_STRING ? gguf_load_texts(load, count, value, err)
                                       : gguf_load_numbers(load, gguf_load_dtypes[kind], count, value, err);
}

dlpark_status dlpark__gguf_load_value(const dlpark_file *file, int64_t index, dlpark_file_value *value,
                                      dlpark_error *err)
{
    const dlpark__index *all = &file->index;
    dlpark__span_text key = all->pairs[index].key;
    gguf_load *load = malloc(sizeof *load);

    if (load == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    load->source = file->source;
    load->key = (dlpark_file_text){all->text + key.at, key.nbytes};
    load->at = dlpark__gguf_place_of(all, key) + 8 + key.nbytes;
    load->begin = load->nbytes = 0;
    dlpark_status status = gguf_load_value(load, value, err);
    free(load);
    return status;
}
