/* The index file of a sharded checkpoint, byte for byte as transformers writes it, by Python's json with sorted keys. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/internal.h"
#include "../json.h"
#include "../replace.h"
#include "shards.h"

#include <dlpark/file_write.h>

/* Counts where `text` is NULL, and writes where it is not. */
typedef struct shards_text {
    char *text;
    size_t nbytes;
} shards_text;

static void shards_text_put(shards_text *out, const char *bytes)
{
    size_t nbytes = strlen(bytes);

    if (out->text != NULL)
        memcpy(out->text + out->nbytes, bytes, nbytes);
    out->nbytes += nbytes;
}

/* The character that valid UTF-8 begins with. */
static uint32_t shards_text_code(const unsigned char *text, size_t width)
{
    static const unsigned char masks[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t code = text[0] & masks[width];

    for (size_t i = 1; i < width; i++)
        code = code << 6 | (text[i] & 0x3F);
    return code;
}

/* A character as Python's json has it with ensure_ascii. */
static void shards_text_character(shards_text *out, uint32_t code)
{
    static const char letters[] = "\b\f\n\r\t\"\\", names[] = "bfnrt\"\\";
    const char *letter = code != 0 && code < 0x80 ? strchr(letters, (int)code) : NULL;
    char shown[16];

    if (letter != NULL)
        snprintf(shown, sizeof shown, "\\%c", names[letter - letters]);
    else if (code >= 0x20 && code < 0x7F)
        snprintf(shown, sizeof shown, "%c", (char)code);
    else if (code < 0x10000)
        snprintf(shown, sizeof shown, "\\u%04x", (unsigned)code);
    else
        snprintf(shown, sizeof shown, "\\u%04x\\u%04x", (unsigned)(0xD7C0 + (code >> 10)),
                 (unsigned)(0xDC00 | (code & 0x3FF)));
    shards_text_put(out, shown);
}

static void shards_text_string(shards_text *out, const dlpark_file_text *text)
{
    shards_text_put(out, "\"");
    for (size_t i = 0; i < text->nbytes;) {
        size_t width = dlpark__utf8_width(text->text + i, text->nbytes - i);
        shards_text_character(out, shards_text_code((const unsigned char *)text->text + i, width));
        i += width;
    }
    shards_text_put(out, "\"");
}

static void shards_text_index(shards_text *out, const dlpark_file_pair *pairs, size_t count, uint64_t total_nbytes)
{
    char total[96];

    snprintf(total, sizeof total, "{\n  \"metadata\": {\n    \"total_size\": %llu\n  },\n  \"weight_map\": {",
             (unsigned long long)total_nbytes);
    shards_text_put(out, total);
    for (size_t i = 0; i < count; i++) {
        shards_text_put(out, i > 0 ? ",\n    " : "\n    ");
        shards_text_string(out, &pairs[i].key);
        shards_text_put(out, ": ");
        shards_text_string(out, &pairs[i].value);
    }
    shards_text_put(out, count > 0 ? "\n  }\n}\n" : "}\n}\n");
}

/* By characters, which is by bytes. */
static int shards_text_compare(const void *left, const void *right)
{
    const dlpark_file_text *a = &((const dlpark_file_pair *)left)->key, *b = &((const dlpark_file_pair *)right)->key;
    size_t shorter = a->nbytes < b->nbytes ? a->nbytes : b->nbytes;
    int order = shorter > 0 ? memcmp(a->text, b->text, shorter) : 0;

    if (order != 0)
        return order;
    return a->nbytes < b->nbytes ? -1 : a->nbytes > b->nbytes;
}

/* Whether the pairs, which are sorted, can be an index. */
static dlpark_status shards_text_check(const dlpark_file_pair *pairs, size_t count, dlpark_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const dlpark_file_text *name = &pairs[i].key, *shard = &pairs[i].value;
        dlpark_file_name shown = dlpark_file_name_text(name->text, name->nbytes);
        if (dlpark__utf8_check(name->text, name->nbytes) != name->nbytes)
            return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the name '%s' is no UTF-8", shown.text);
        if (i > 0 && shards_text_compare(&pairs[i - 1], &pairs[i]) == 0)
            return dlpark_error_set(err, DLPARK_E_ARGUMENT, "two of the tensors are called '%s'", shown.text);
        if (!dlpark__shards_is_plain(shard->text, shard->nbytes) ||
            dlpark__utf8_check(shard->text, shard->nbytes) != shard->nbytes)
            return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the shard '%s' of tensor '%s' is no name of a file",
                                    dlpark_file_name_text(shard->text, shard->nbytes).text, shown.text);
    }
    return DLPARK_OK;
}

static dlpark_status shards_text_save(const char *path, const shards_text *text, bool sync, dlpark_error *err)
{
    dlpark__replace file;

    DLPARK_TRY(dlpark__replace_begin(&file, path, text->nbytes, err));
    dlpark_status status = dlpark__replace_write(&file, 0, text->text, text->nbytes, err);
    if (status == DLPARK_OK)
        return dlpark__replace_commit(&file, sync, err);
    dlpark__replace_abandon(&file);
    return status;
}

dlpark_status dlpark_file_save_index(const char *path, const dlpark_file_pair *tensors, size_t count,
                                     uint64_t total_nbytes, bool sync, dlpark_error *err)
{
    shards_text counted = {NULL, 0}, written = {NULL, 0};
    dlpark_file_pair *pairs = calloc(count + 1, sizeof *pairs);
    dlpark_status status = DLPARK_E_MEMORY;

    if (pairs == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    if (count > 0)
        memcpy(pairs, tensors, count * sizeof *pairs);
    qsort(pairs, count, sizeof *pairs, shards_text_compare);
    status = shards_text_check(pairs, count, err);
    if (status == DLPARK_OK) {
        shards_text_index(&counted, pairs, count, total_nbytes);
        written.text = malloc(counted.nbytes);
        if (written.text == NULL)
            status = dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    }
    if (status == DLPARK_OK) {
        shards_text_index(&written, pairs, count, total_nbytes);
        status = shards_text_save(path, &written, sync, err);
    }
    free(written.text);
    free(pairs);
    return status;
}
