#include <limits.h>
#include <stdlib.h>

#define ZLIB_CONST
#include <zlib.h>

#include <dlpark/zlib.h>

/* A stream without zlib's or gzip's own header; its window is the largest. */
#define ZLIB_WINDOW_BITS (-15)

/* zlib's memory comes from here, so that it can be counted. */
static void *zlib_alloc(void *context, unsigned count, unsigned nbytes)
{
    (void)context;
    return calloc(count, nbytes);
}

static void zlib_free(void *context, void *memory)
{
    (void)context;
    free(memory);
}

static void *zlib_begin(void *context)
{
    z_stream *stream = calloc(1, sizeof *stream);

    (void)context;
    if (stream == NULL)
        return NULL;
    stream->zalloc = zlib_alloc;
    stream->zfree = zlib_free;
    if (inflateInit2(stream, ZLIB_WINDOW_BITS) != Z_OK) {
        free(stream);
        return NULL;
    }
    return stream;
}

/* zlib counts in unsigned int. */
static unsigned zlib_count(size_t nbytes)
{
    return nbytes < UINT_MAX ? (unsigned)nbytes : UINT_MAX;
}

static dlpark_inflate_result zlib_step(void *state, const unsigned char *from, size_t *from_nbytes, unsigned char *to,
                                       size_t *to_nbytes)
{
    z_stream *stream = state;
    unsigned from_count = zlib_count(*from_nbytes), to_count = zlib_count(*to_nbytes);

    stream->next_in = from;
    stream->avail_in = from_count;
    stream->next_out = to;
    stream->avail_out = to_count;
    int result = inflate(stream, Z_NO_FLUSH);
    *from_nbytes -= from_count - stream->avail_in;
    *to_nbytes -= to_count - stream->avail_out;
    switch (result) {
    case Z_OK:
    case Z_BUF_ERROR: /* nothing to unpack, or no room */
        return DLPARK_INFLATE_MORE;
    case Z_STREAM_END:
        return DLPARK_INFLATE_END;
    case Z_MEM_ERROR:
        return DLPARK_INFLATE_MEMORY;
    default:
        return DLPARK_INFLATE_BROKEN;
    }
}

static void zlib_end(void *state)
{
    (void)inflateEnd(state);
    free(state);
}

const dlpark_inflate *dlpark_zlib_inflate(void)
{
    static const dlpark_inflate functions = {zlib_begin, zlib_step, zlib_end, NULL};

    return &functions;
}
