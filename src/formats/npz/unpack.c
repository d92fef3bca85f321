#include <stdlib.h>

#include "../../core/internal.h"
#include "crc32.h"
#include "unpack.h"

dlpark_status dlpark__unpack_begin(dlpark__unpack **out, const dlpark__source *source, const dlpark_inflate *inflate,
                                   uint64_t begin, uint64_t nbytes, dlpark_error *err)
{
    dlpark__unpack *unpack = malloc(sizeof *unpack);

    if (unpack == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    unpack->source = source;
    unpack->inflate = inflate;
    unpack->begin = unpack->next = begin;
    unpack->end = begin + nbytes;
    unpack->done = 0;
    unpack->sum = DLPARK__CRC32_BEGIN;
    unpack->is_ended = false;
    unpack->fault = NULL;
    unpack->held = unpack->packed;
    unpack->held_nbytes = 0;
    unpack->state = inflate->begin(inflate->context);
    if (unpack->state == NULL) {
        free(unpack);
        return dlpark_error_set(err, DLPARK_E_MEMORY, "%s: no memory to unpack it", source->name.text);
    }
    *out = unpack;
    return DLPARK_OK;
}

void dlpark__unpack_end(dlpark__unpack *unpack)
{
    if (unpack == NULL)
        return;
    unpack->inflate->end(unpack->state);
    free(unpack);
}

static dlpark_status unpack_refill(dlpark__unpack *unpack, dlpark_error *err)
{
    uint64_t left = unpack->end - unpack->next;

    if (unpack->held_nbytes != 0 || left == 0)
        return DLPARK_OK;
    size_t some = left < sizeof unpack->packed ? (size_t)left : sizeof unpack->packed;
    DLPARK_TRY(dlpark__source_read(unpack->source, unpack->next, unpack->packed, some, err));
    unpack->next += some;
    unpack->held = unpack->packed;
    unpack->held_nbytes = some;
    return DLPARK_OK;
}

/* Some bytes to `to`, of which there is room for `nbytes`; how many is told. None: there is a fault, or the end. */
static dlpark_status unpack_some(dlpark__unpack *unpack, unsigned char *to, size_t nbytes, size_t *got,
                                 dlpark_error *err)
{
    size_t room = nbytes;

    *got = 0;
    while (room == nbytes && !unpack->is_ended && unpack->fault == NULL) {
        DLPARK_TRY(unpack_refill(unpack, err));
        size_t held = unpack->held_nbytes;
        const unsigned char *from = unpack->held;
        dlpark_inflate_result result = unpack->inflate->step(unpack->state, from, &unpack->held_nbytes, to, &room);
        unpack->held += held - unpack->held_nbytes;
        if (result == DLPARK_INFLATE_MEMORY)
            return dlpark_error_set(err, DLPARK_E_MEMORY, "%s: no memory to unpack it", unpack->source->name.text);
        unpack->is_ended = result == DLPARK_INFLATE_END;
        if (result == DLPARK_INFLATE_BROKEN)
            unpack->fault = "its deflated bytes are broken";
        else if (!unpack->is_ended && room == nbytes && unpack->held_nbytes == held)
            unpack->fault = "its deflated bytes end too early";
    }
    *got = nbytes - room;
    unpack->sum = dlpark__crc32_add(unpack->sum, to, *got);
    unpack->done += *got;
    return DLPARK_OK;
}

dlpark_status dlpark__unpack_read(dlpark__unpack *unpack, unsigned char *to, uint64_t nbytes, dlpark_error *err)
{
    while (nbytes > 0 && unpack->fault == NULL) {
        size_t most = to != NULL ? (size_t)1 << 30 : sizeof unpack->skipped, got;
        if (nbytes < most)
            most = (size_t)nbytes;
        DLPARK_TRY(unpack_some(unpack, to != NULL ? to : unpack->skipped, most, &got, err));
        if (to != NULL)
            to += got;
        nbytes -= got;
        if (unpack->is_ended && nbytes > 0)
            unpack->fault = "its deflated bytes unpack to fewer than the directory says";
    }
    return DLPARK_OK;
}

dlpark_status dlpark__unpack_finish(dlpark__unpack *unpack, uint32_t crc32, dlpark_error *err)
{
    size_t got;

    DLPARK_TRY(unpack_some(unpack, unpack->skipped, 1, &got, err));
    if (unpack->fault != NULL)
        return DLPARK_OK;
    if (got != 0)
        unpack->fault = "its deflated bytes unpack to more than the directory says";
    else if (unpack->held_nbytes != 0 || unpack->next != unpack->end)
        unpack->fault = "bytes stand behind its deflated ones";
    else if ((unpack->sum ^ DLPARK__CRC32_BEGIN) != crc32)
        unpack->fault = "its bytes have another CRC-32 than the directory says";
    return DLPARK_OK;
}
