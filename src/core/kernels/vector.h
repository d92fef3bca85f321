/*
 * The kernels by vectors of VECTOR_LANES lanes of 16 bytes: one text for all instruction sets. The file of a set
 * defines the operations below, includes this, and has its table. What is smaller than a vector goes to the one before.
 *
 *     VECTOR                      the type
 *     VECTOR_TARGET               the attribute of a function that uses it
 *     VECTOR_LANES                1, 2 or 4
 *     VECTOR_NAME(x)              x with the suffix of the set
 *     VECTOR_BELOW                the table of the set before it
 *     VECTOR_CAST                 the set's steps of casts, or NULL
 *     VECTOR_ONLY_STREAMS         1 where the set before it is faster within the caches
 *     VECTOR_LOAD(p, step)        lane i from p + i * step
 *     VECTOR_LOAD_ALL(p)          all lanes, one after the other
 *     VECTOR_LOAD_HALF(p), VECTOR_SAVE_HALF(p, v)    8 bytes, of one lane only
 *     VECTOR_SAVE(p, v)           all lanes, one after the other
 *     VECTOR_SPREAD(p, step, v)   lane i to p + i * step, in this order
 *     VECTOR_STREAM(p, v), VECTOR_SPREAD_STREAM(p, step, v)    the same past the caches, to aligned places
 *     VECTOR_LOW8 .. LOW64, VECTOR_HIGH8 .. HIGH64(a, b)    in each lane, the halves of a and b interleaved
 *     VECTOR_PICK(v, m)           in each lane, byte m[i] of v, 0 where m[i] has its high bit
 *     VECTOR_PACK12(v)            the first 12 bytes of each lane, one after the other; then anything
 *     VECTOR_MASK(p)              the same 16 bytes in every lane
 *     VECTOR_MASKS(p, q, r, s)    16 bytes for each lane; of the pointers the first VECTOR_LANES
 *     VECTOR_DEALS(i, j, k, l)    which lane goes to each, for VECTOR_DEAL(v, deals)
 *     VECTOR_OR(a, b), VECTOR_FENCE()
 *
 * The file ends with vector_end.h, so that all of them can be compiled as one.
 */
#define VECTOR_NBYTES (16 * VECTOR_LANES)

/* Constants reach into what is inlined. Without optimising that gains nothing, and each branch would be there often. */
#if defined(__OPTIMIZE__)
#define VECTOR_ALWAYS __attribute__((always_inline))
#else
#define VECTOR_ALWAYS
#endif

/* ---- Transposing: zipping the first half of the rows with the second, as often as rows double from one ---- */

#define VECTOR_ZIP(bits, n, to, from, i)                                                                               \
    to[2 * (i)] = VECTOR_LOW##bits(from[i], from[(i) + (n) / 2]);                                                      \
    to[2 * (i) + 1] = VECTOR_HIGH##bits(from[i], from[(i) + (n) / 2])
#define VECTOR_ZIP2(bits, n, to, from, i)                                                                              \
    VECTOR_ZIP(bits, n, to, from, i);                                                                                  \
    VECTOR_ZIP(bits, n, to, from, (i) + 1)
#define VECTOR_ZIP4(bits, n, to, from, i)                                                                              \
    VECTOR_ZIP2(bits, n, to, from, i);                                                                                 \
    VECTOR_ZIP2(bits, n, to, from, (i) + 2)
#define VECTOR_ZIP8(bits, n, to, from, i)                                                                              \
    VECTOR_ZIP4(bits, n, to, from, i);                                                                                 \
    VECTOR_ZIP4(bits, n, to, from, (i) + 4)

/* Lane l of vector i is the row l * n + i: after the zipping, vector i is column i, all lanes in order. */
#define VECTOR_ROW(n, i)   VECTOR_LOAD(from + (i)*from_row, (n)*from_row)
#define VECTOR_ROWS2(i)    VECTOR_ROW(2, i), VECTOR_ROW(2, (i) + 1)
#define VECTOR_ROWS4(n, i) VECTOR_ROW(n, i), VECTOR_ROW(n, (i) + 1), VECTOR_ROW(n, (i) + 2), VECTOR_ROW(n, (i) + 3)

#define VECTOR_PUT(p, v)                                                                                               \
    do {                                                                                                               \
        if (stream)                                                                                                    \
            VECTOR_STREAM(p, v);                                                                                       \
        else                                                                                                           \
            VECTOR_SAVE(p, v);                                                                                         \
    } while (0)

static inline VECTOR_ALWAYS VECTOR_TARGET void
VECTOR_NAME(tile1)(unsigned char *to, int64_t to_row, const unsigned char *from, int64_t from_row, bool stream)
{
    VECTOR b[16], a[16] = {VECTOR_ROWS4(16, 0), VECTOR_ROWS4(16, 4), VECTOR_ROWS4(16, 8), VECTOR_ROWS4(16, 12)};

    VECTOR_ZIP8(8, 16, b, a, 0);
    VECTOR_ZIP8(8, 16, a, b, 0);
    VECTOR_ZIP8(8, 16, b, a, 0);
    VECTOR_ZIP8(8, 16, a, b, 0);
    for (int i = 0; i < 16; i++)
        VECTOR_PUT(to + i * to_row, a[i]);
}

static inline VECTOR_ALWAYS VECTOR_TARGET void
VECTOR_NAME(tile2)(unsigned char *to, int64_t to_row, const unsigned char *from, int64_t from_row, bool stream)
{
    VECTOR b[8], a[8] = {VECTOR_ROWS4(8, 0), VECTOR_ROWS4(8, 4)};

    VECTOR_ZIP4(16, 8, b, a, 0);
    VECTOR_ZIP4(16, 8, a, b, 0);
    VECTOR_ZIP4(16, 8, b, a, 0);
    for (int i = 0; i < 8; i++)
        VECTOR_PUT(to + i * to_row, b[i]);
}

static inline VECTOR_ALWAYS VECTOR_TARGET void
VECTOR_NAME(tile4)(unsigned char *to, int64_t to_row, const unsigned char *from, int64_t from_row, bool stream)
{
    VECTOR b[4], a[4] = {VECTOR_ROWS4(4, 0)};

    VECTOR_ZIP2(32, 4, b, a, 0);
    VECTOR_ZIP2(32, 4, a, b, 0);
    for (int i = 0; i < 4; i++)
        VECTOR_PUT(to + i * to_row, a[i]);
}

static inline VECTOR_ALWAYS VECTOR_TARGET void
VECTOR_NAME(tile8)(unsigned char *to, int64_t to_row, const unsigned char *from, int64_t from_row, bool stream)
{
    VECTOR b[2], a[2] = {VECTOR_ROWS2(0)};

    VECTOR_ZIP(64, 2, b, a, 0);
    VECTOR_PUT(to, b[0]);
    VECTOR_PUT(to + to_row, b[1]);
}

static inline VECTOR_ALWAYS VECTOR_TARGET void
VECTOR_NAME(tile16)(unsigned char *to, int64_t to_row, const unsigned char *from, int64_t from_row, bool stream)
{
    for (int i = 0; i < 4; i++)
        VECTOR_PUT(to + i * to_row, VECTOR_LOAD(from + 16 * i, from_row));
}

/* Bytes alone come in tiles of 8 x 8 as well, in halves of one lane. */
#if VECTOR_LANES == 1
static VECTOR_TARGET void VECTOR_NAME(tile_small)(unsigned char *to, int64_t to_row, const unsigned char *from,
                                                  int64_t from_row)
{
    VECTOR b[4], a[4];

    for (int i = 0; i < 4; i++)
        a[i] = VECTOR_LOW8(VECTOR_LOAD_HALF(from + i * from_row), VECTOR_LOAD_HALF(from + (i + 4) * from_row));
    VECTOR_ZIP2(8, 4, b, a, 0);
    VECTOR_ZIP2(8, 4, a, b, 0);
    for (int i = 0; i < 4; i++) {
        VECTOR_SAVE_HALF(to + 2 * i * to_row, a[i]);
        VECTOR_SAVE_HALF(to + (2 * i + 1) * to_row, VECTOR_HIGH64(a[i], a[i]));
    }
}

static VECTOR_TARGET void VECTOR_NAME(transpose_small)(unsigned char *to, int64_t to_row, const unsigned char *from,
                                                       int64_t from_row, int64_t nx, int64_t ny)
{
    for (int64_t y = 0; y < ny; y += 8) {
        y = y + 8 > ny ? ny - 8 : y;
        for (int64_t x = 0; x < nx; x += 8) {
            x = x + 8 > nx ? nx - 8 : x;
            VECTOR_NAME(tile_small)(to + y * to_row + x, to_row, from + x * from_row + y, from_row);
        }
    }
}
#endif

/* The last tile of a row or column is moved back into it: some elements are then copied twice. */
#define VECTOR_TILES(nbytes, tile, stream)                                                                             \
    for (int64_t y = 0; y < ny; y += rows) {                                                                           \
        y = y + rows > ny ? ny - rows : y;                                                                             \
        for (int64_t x = 0; x < nx; x += columns) {                                                                    \
            x = !(stream) && x + columns > nx ? nx - columns : x;                                                      \
            VECTOR_NAME(tile)                                                                                          \
            (to + y * to_row + x * (nbytes), to_row, from + x * from_row + y * (nbytes), from_row, stream);            \
        }                                                                                                              \
    }                                                                                                                  \
    return

#define VECTOR_TILES_OF(nbytes, tile)                                                                                  \
    if (stream) {                                                                                                      \
        VECTOR_TILES(nbytes, tile, true);                                                                              \
    }                                                                                                                  \
    VECTOR_TILES(nbytes, tile, false)

static VECTOR_TARGET void VECTOR_NAME(transpose)(unsigned char *to, int64_t to_row, const unsigned char *from,
                                                 int64_t from_row, size_t element, int64_t nx, int64_t ny, bool stream)
{
    const int64_t columns = VECTOR_NBYTES / (int64_t)element, rows = element == 16 ? 4 : 16 / (int64_t)element;

#if VECTOR_LANES == 1
    if (element == 1 && nx >= 8 && ny >= 8 && (nx < columns || ny < rows)) {
        VECTOR_NAME(transpose_small)(to, to_row, from, from_row, nx, ny);
        return;
    }
#endif
    if (nx < columns || ny < rows || (VECTOR_ONLY_STREAMS && !stream && element < 8)) {
        VECTOR_BELOW.transpose(to, to_row, from, from_row, element, nx, ny, stream);
        return;
    }
    stream = stream && ((uintptr_t)to | (uintptr_t)to_row) % VECTOR_NBYTES == 0 && nx % columns == 0;
    switch (element) {
    case 1:
        VECTOR_TILES_OF(1, tile1);
    case 2:
        VECTOR_TILES_OF(2, tile2);
    case 4:
        VECTOR_TILES_OF(4, tile4);
    case 8:
        VECTOR_TILES_OF(8, tile8);
    default:
        VECTOR_TILES_OF(16, tile16);
    }
}

/* ---- Along one dimension ---- */

static VECTOR_TARGET void VECTOR_NAME(reverse)(unsigned char *to, const unsigned char *from, size_t element,
                                               int64_t count, bool stream)
{
    const int64_t each = VECTOR_NBYTES / (int64_t)element;
    const bool aligned = stream && (uintptr_t)to % VECTOR_NBYTES == 0;
    uint8_t mask[16];

    if (VECTOR_ONLY_STREAMS && !stream) {
        VECTOR_BELOW.reverse(to, from, element, count, false);
        return;
    }

    for (size_t i = 0; i < 16; i++)
        mask[i] = (uint8_t)(16 - element - (i & ~(element - 1)) + (i & (element - 1)));
    const VECTOR pick = VECTOR_MASK(mask);
    const unsigned char *lowest = from + element - 16; /* of the first 16 bytes that are read */
    for (; count >= each; count -= each, to += VECTOR_NBYTES, lowest -= VECTOR_NBYTES) {
        const VECTOR turned = VECTOR_PICK(VECTOR_LOAD(lowest, -16), pick);
        if (aligned)
            VECTOR_STREAM(to, turned);
        else
            VECTOR_SAVE(to, turned);
    }
    if (count > 0)
        VECTOR_BELOW.reverse(to, lowest + 16 - element, element, count, stream);
}

/* The last vector of a row ends with the row: it may copy again what the one before it has. */
static VECTOR_TARGET void VECTOR_NAME(rows)(unsigned char *to, int64_t to_row, const unsigned char *from,
                                            int64_t from_row, size_t nbytes, int64_t count)
{
    if (nbytes < VECTOR_NBYTES) {
        VECTOR_BELOW.rows(to, to_row, from, from_row, nbytes, count);
        return;
    }
    for (int64_t i = 0; i < count; i++, to += to_row, from += from_row) {
        size_t at = 0;
        for (; at + VECTOR_NBYTES <= nbytes; at += VECTOR_NBYTES)
            VECTOR_SAVE(to + at, VECTOR_LOAD_ALL(from + at));
        if (at < nbytes)
            VECTOR_SAVE(to + nbytes - VECTOR_NBYTES, VECTOR_LOAD_ALL(from + nbytes - VECTOR_NBYTES));
    }
}

static VECTOR_TARGET void VECTOR_NAME(stream)(unsigned char *to, const unsigned char *from, size_t nbytes)
{
    size_t head = (size_t)(-(uintptr_t)to % VECTOR_NBYTES);

    if (nbytes < 2 * VECTOR_NBYTES) {
        memcpy(to, from, nbytes);
        return;
    }
    if (head > 0) {
        memcpy(to, from, head);
        to += head;
        from += head;
        nbytes -= head;
    }
    for (; nbytes >= VECTOR_NBYTES; nbytes -= VECTOR_NBYTES, to += VECTOR_NBYTES, from += VECTOR_NBYTES)
        VECTOR_STREAM(to, VECTOR_LOAD_ALL(from));
    if (nbytes > 0)
        memcpy(to, from, nbytes);
}

static VECTOR_TARGET void VECTOR_NAME(fence)(void)
{
    VECTOR_FENCE();
}

#include "vector_blocks.h"
#include "vector_channels.h"

/* Any strides need scalar loads: the plain loops are as good. */
#define VECTOR_TABLE(text)                                                                                             \
    {                                                                                                                  \
        .name = (text), .below = &VECTOR_BELOW, .nbytes = VECTOR_NBYTES, .strided = VECTOR_NAME(strided),              \
        .transpose = VECTOR_NAME(transpose), .split = VECTOR_NAME(split), .join = VECTOR_NAME(join),                   \
        .reverse = VECTOR_NAME(reverse), .blocks = VECTOR_NAME(blocks), .rows = VECTOR_NAME(rows),                     \
        .stream = VECTOR_NAME(stream), .fence = VECTOR_NAME(fence), .cast = VECTOR_CAST,                               \
    }

static void VECTOR_NAME(strided)(unsigned char *to, const unsigned char *from, size_t element,
                                 const dlpark__copy_dim *outer, const dlpark__copy_dim *inner)
{
    dlpark__kernels_generic.strided(to, from, element, outer, inner);
}
