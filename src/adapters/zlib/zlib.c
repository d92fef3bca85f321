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

/* ---- Inflate ---- */

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

/* ---- Deflate ---- */

#define ZLIB_MEMORY_LEVEL 8 /* zlib's own */
#define ZLIB_USUAL_LEVEL  6

static void *zlib_pack_begin(void *context)
{
    z_stream *stream = calloc(1, sizeof *stream);

    if (stream == NULL)
        return NULL;
    stream->zalloc = zlib_alloc;
    stream->zfree = zlib_free;
    int level = *(const int *)context;
    if (deflateInit2(stream, level, Z_DEFLATED, ZLIB_WINDOW_BITS, ZLIB_MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(stream);
        return NULL;
    }
    return stream;
}

static size_t zlib_pack_piece(void *state, const unsigned char *from, size_t from_nbytes, size_t window_nbytes,
                              bool is_last, unsigned char *to, size_t to_nbytes)
{
    z_stream *stream = state;
    unsigned room = zlib_count(to_nbytes);

    if (from_nbytes > UINT_MAX || deflateReset(stream) != Z_OK)
        return 0;
    if (window_nbytes > 0 && deflateSetDictionary(stream, from - window_nbytes, (unsigned)window_nbytes) != Z_OK)
        return 0;
    stream->next_in = from;
    stream->avail_in = (unsigned)from_nbytes;
    stream->next_out = to;
    stream->avail_out = room;
    int result = deflate(stream, is_last ? Z_FINISH : Z_SYNC_FLUSH);
    /* Of a flush that found no room all is not written, and nothing else says so. */
    bool is_whole = is_last ? result == Z_STREAM_END : result == Z_OK && stream->avail_in == 0 && stream->avail_out > 0;
    return is_whole ? room - stream->avail_out : 0;
}

static void zlib_pack_end(void *state)
{
    (void)deflateEnd(state);
    free(state);
}

#define ZLIB_DEFLATE(level)                                                                                            \
    {                                                                                                                  \
        zlib_pack_begin, zlib_pack_piece, zlib_pack_end, &levels[level]                                                \
    }

const dlpark_deflate *dlpark_zlib_deflate(int level)
{
    static int levels[] = {ZLIB_USUAL_LEVEL, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    static const dlpark_deflate functions[] = {ZLIB_DEFLATE(0), ZLIB_DEFLATE(1), ZLIB_DEFLATE(2), ZLIB_DEFLATE(3),
                                               ZLIB_DEFLATE(4), ZLIB_DEFLATE(5), ZLIB_DEFLATE(6), ZLIB_DEFLATE(7),
                                               ZLIB_DEFLATE(8), ZLIB_DEFLATE(9)};

    return &functions[level >= 1 && level <= 9 ? level : 0];
}
