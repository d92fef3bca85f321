/* The bytes of a GGUF header, one after the other, through a window; and the texts of it that are kept. */
#include <stdlib.h>
#include <string.h>

#include "../../core/internal.h"
#include "../json.h"
#include "gguf_parts.h"

/* The window grows from the one to the other: a small file is not asked for more than it has, a long header in few reads. */
#define GGUF_WINDOW_LEAST ((size_t)16 << 10)
#define GGUF_WINDOW_MOST  ((size_t)1 << 20)

uint64_t dlpark__gguf_at(const dlpark__gguf_reader *reader)
{
    return reader->begin + reader->at;
}

uint64_t dlpark__gguf_left(const dlpark__gguf_reader *reader)
{
    return reader->source->nbytes - dlpark__gguf_at(reader);
}

dlpark__file_fault_place dlpark__gguf_place(const dlpark__gguf_reader *reader, const char *rule, uint64_t offset)
{
    if (reader->name.nbytes == UINT32_MAX)
        return (dlpark__file_fault_place){rule, offset, NULL, 0};
    return (dlpark__file_fault_place){rule, offset, reader->index->text + reader->name.at, reader->name.nbytes};
}

/* ---- The window ---- */

/* Whether so many bytes follow, in the file and in what a header may have. */
static bool gguf_bytes_follow(dlpark__gguf_reader *reader, uint64_t nbytes, const char *what)
{
    uint64_t at = dlpark__gguf_at(reader), left = dlpark__gguf_left(reader);

    if (nbytes > left) {
        (void)DLPARK__GGUF_FAULT(reader, DLPARK_E_FORMAT, "truncated", at,
                                 "%s takes %llu bytes, and the file has %llu behind byte %llu", what,
                                 (unsigned long long)nbytes, (unsigned long long)left, (unsigned long long)at);
        return false;
    }
    if (nbytes <= reader->most && at <= reader->most - nbytes)
        return true;
    (void)DLPARK__GGUF_FAULT(reader, DLPARK_E_LIMIT, "header-size", at,
                             "%s takes %llu bytes, and the header has no more than %llu", what,
                             (unsigned long long)nbytes, (unsigned long long)reader->most);
    return false;
}

static bool gguf_bytes_starve(dlpark__gguf_reader *reader)
{
    reader->status =
        dlpark_error_set(reader->err, DLPARK_E_MEMORY, "%s: no memory for its header", reader->source->name.text);
    return false;
}

/* A window that has only what follows the cursor, and then as much of the file as it holds. */
static bool gguf_bytes_fill(dlpark__gguf_reader *reader)
{
    size_t kept = reader->nbytes - reader->at;
    size_t room = reader->room == 0 ? GGUF_WINDOW_LEAST : reader->room * 2;

    if (kept > 0) /* the beginning of a number */
        memmove(reader->window, reader->window + reader->at, kept);
    reader->begin += reader->at;
    reader->at = 0;
    reader->nbytes = kept;
    if (room <= GGUF_WINDOW_MOST) {
        unsigned char *window = realloc(reader->window, room);
        if (window == NULL)
            return gguf_bytes_starve(reader);
        reader->window = window;
        reader->room = room;
    }
    uint64_t more = reader->source->nbytes - reader->begin - kept;
    more = more < reader->room - kept ? more : reader->room - kept;
    reader->status =
        dlpark__source_read(reader->source, reader->begin + kept, reader->window + kept, (size_t)more, reader->err);
    reader->nbytes += reader->status == DLPARK_OK ? (size_t)more : 0;
    return reader->status == DLPARK_OK;
}

bool dlpark__gguf_take(dlpark__gguf_reader *reader, size_t nbytes, const char *what, uint64_t *out)
{
    uint64_t value = 0;

    if (!gguf_bytes_follow(reader, nbytes, what))
        return false;
    if (reader->nbytes - reader->at < nbytes && !gguf_bytes_fill(reader))
        return false;
    for (size_t i = nbytes; i > 0; i--)
        value = value << 8 | reader->window[reader->at + i - 1];
    reader->at += nbytes;
    *out = value;
    return true;
}

/* Past bytes that follow. */
static void gguf_bytes_pass(dlpark__gguf_reader *reader, uint64_t nbytes)
{
    if (nbytes <= reader->nbytes - reader->at) {
        reader->at += (size_t)nbytes;
        return;
    }
    reader->begin += reader->at + nbytes;
    reader->at = reader->nbytes = 0;
}

bool dlpark__gguf_skip(dlpark__gguf_reader *reader, uint64_t nbytes, const char *what)
{
    if (!gguf_bytes_follow(reader, nbytes, what))
        return false;
    gguf_bytes_pass(reader, nbytes);
    return true;
}

/* ---- Texts ---- */

/* Room at the end of the text, which no header fills up to 2^32 bytes: what grows most is a byte that becomes "\u0001". */
static char *gguf_bytes_reserve(dlpark__gguf_reader *reader, size_t nbytes)
{
    size_t wanted = reader->text_room + reader->text_room / 2 + 256;

    if (nbytes > reader->text_room - reader->text_nbytes) {
        if (wanted - reader->text_nbytes < nbytes)
            wanted = reader->text_nbytes + nbytes;
        char *text = realloc(reader->index->text, wanted);
        if (text == NULL) {
            (void)gguf_bytes_starve(reader);
            return NULL;
        }
        reader->index->text = text;
        reader->text_room = wanted;
    }
    return reader->index->text + reader->text_nbytes;
}

bool dlpark__gguf_put(dlpark__gguf_reader *reader, const void *bytes, size_t nbytes)
{
    char *to = gguf_bytes_reserve(reader, nbytes);

    if (to == NULL)
        return false;
    memcpy(to, bytes, nbytes);
    reader->text_nbytes += nbytes;
    return true;
}

bool dlpark__gguf_text(dlpark__gguf_reader *reader, const char *what, dlpark__span_text *out)
{
    uint64_t nbytes;

    if (!dlpark__gguf_take(reader, 8, what, &nbytes) || !gguf_bytes_follow(reader, nbytes, what))
        return false;
    char *to = gguf_bytes_reserve(reader, (size_t)nbytes);
    if (to == NULL)
        return false;
    size_t ready = reader->nbytes - reader->at;
    ready = ready < nbytes ? ready : (size_t)nbytes;
    memcpy(to, reader->window + reader->at, ready);
    if (ready < nbytes) { /* the rest does not go through the window */
        reader->status = dlpark__source_read(reader->source, dlpark__gguf_at(reader) + ready, to + ready,
                                             (size_t)nbytes - ready, reader->err);
        if (reader->status != DLPARK_OK)
            return false;
    }
    gguf_bytes_pass(reader, nbytes);
    *out = (dlpark__span_text){(uint32_t)reader->text_nbytes, (uint32_t)nbytes};
    reader->text_nbytes += (size_t)nbytes;
    return true;
}

bool dlpark__gguf_name(dlpark__gguf_reader *reader, const char *what, dlpark__span_text *out)
{
    uint64_t at = dlpark__gguf_at(reader);

    return dlpark__gguf_put(reader, &at, sizeof at) && dlpark__gguf_text(reader, what, out);
}

uint64_t dlpark__gguf_place_of(const dlpark__index *index, dlpark__span_text span)
{
    uint64_t at;

    memcpy(&at, index->text + span.at - sizeof at, sizeof at);
    return at;
}

bool dlpark__gguf_is_utf8(dlpark__gguf_reader *reader, dlpark__span_text span, const char *what, bool *goes_on)
{
    const char *text = reader->index->text + span.at;
    size_t valid = dlpark__utf8_check(text, span.nbytes);

    *goes_on = true;
    if (valid == span.nbytes)
        return true;
    *goes_on = DLPARK__GGUF_FAULT(reader, DLPARK_E_FORMAT, "utf8", dlpark__gguf_at(reader) - span.nbytes + valid,
                                  "byte 0x%02X of %s is no UTF-8", (unsigned)(unsigned char)text[valid], what);
    return false;
}
