/*
 * Part of vector.h: interleaved channels to planes and back.
 */
/* ---- Channels: every vector of the result is picked from every vector of the source ---- */

/* For each byte of 16 / element interleaved elements of all channels: where it is there, and where in its plane. */
static inline VECTOR_ALWAYS VECTOR_TARGET void VECTOR_NAME(channel_masks)(uint8_t mask[4][4][16], size_t element,
                                                                          int channels, bool join)
{
    int at = 0;

    memset(mask, 0x80, 256);
    for (size_t i = 0; i < 16; i += element)
        for (int p = 0; p < channels; p++)
            for (size_t b = 0; b < element; b++, at++) {
                if (join)
                    mask[at / 16][p][at % 16] = (uint8_t)(i + b);
                else
                    mask[p][at / 16][i + b] = (uint8_t)(at % 16);
            }
}

static inline VECTOR_ALWAYS VECTOR_TARGET int64_t VECTOR_NAME(split_some)(unsigned char *to, int64_t to_plane,
                                                                          const unsigned char *from, size_t element,
                                                                          int channels, int planes, int64_t count,
                                                                          bool stream)
{
    const int64_t each = VECTOR_NBYTES / (int64_t)element;
    const int64_t last = planes == channels ? count : count - 1;
    uint8_t mask[4][4][16];
    VECTOR pick[4][4];
    int64_t done = 0;

    if (last < each)
        return 0;
    VECTOR_NAME(channel_masks)(mask, element, channels, false);
    for (int p = 0; p < planes; p++)
        for (int c = 0; c < channels; c++)
            pick[p][c] = VECTOR_MASK(mask[p][c]);
    for (; done + each <= last; done += each, to += VECTOR_NBYTES, from += VECTOR_NBYTES * channels) {
        VECTOR v[4];
        for (int c = 0; c < channels; c++)
            v[c] = VECTOR_LOAD(from + 16 * c, 16 * channels);
        for (int p = 0; p < planes; p++) {
            VECTOR sum = VECTOR_PICK(v[0], pick[p][0]);
            for (int c = 1; c < channels; c++)
                sum = VECTOR_OR(sum, VECTOR_PICK(v[c], pick[p][c]));
            VECTOR_PUT(to + p * to_plane, sum);
        }
    }
    return done;
}

/* Constants, so that the loops over channels are unrolled and the vectors lie in registers. */
#define VECTOR_SPLIT(channels, planes)                                                                                 \
    case (channels)*4 + (planes):                                                                                      \
        done = aligned ? VECTOR_NAME(split_some)(to, to_plane, from, element, channels, planes, count, true)           \
                       : VECTOR_NAME(split_some)(to, to_plane, from, element, channels, planes, count, false);         \
        break

static VECTOR_TARGET void VECTOR_NAME(split)(unsigned char *to, int64_t to_plane, const unsigned char *from,
                                             size_t element, int channels, int planes, int64_t count, bool stream)
{
    const bool aligned = stream && ((uintptr_t)to | (planes > 1 ? (uintptr_t)to_plane : 0)) % VECTOR_NBYTES == 0;
    int64_t done = 0;

    if (VECTOR_ONLY_STREAMS && !stream) {
        VECTOR_BELOW.split(to, to_plane, from, element, channels, planes, count, false);
        return;
    }
    switch (channels * 4 + planes) {
        VECTOR_SPLIT(2, 1);
        VECTOR_SPLIT(2, 2);
        VECTOR_SPLIT(3, 1);
        VECTOR_SPLIT(3, 2);
        VECTOR_SPLIT(3, 3);
        VECTOR_SPLIT(4, 1);
        VECTOR_SPLIT(4, 2);
        VECTOR_SPLIT(4, 3);
    default:
        done = aligned ? VECTOR_NAME(split_some)(to, to_plane, from, element, 4, 4, count, true)
                       : VECTOR_NAME(split_some)(to, to_plane, from, element, 4, 4, count, false);
    }
    if (done < count)
        VECTOR_BELOW.split(to + done * (int64_t)element, to_plane, from + done * (int64_t)element * channels, element,
                           channels, planes, count - done, stream);
}

/* Lane l of vector c of the result is piece c * VECTOR_LANES + l of it, and `channels` pieces come of one lane. */
static inline VECTOR_ALWAYS VECTOR_TARGET int64_t VECTOR_NAME(join_some)(unsigned char *to, const unsigned char *from,
                                                                         int64_t from_plane, size_t element,
                                                                         int channels, int64_t count, bool stream)
{
    const int64_t each = VECTOR_NBYTES / (int64_t)element;
    uint8_t mask[4][4][16];
    VECTOR pick[4][4], deal[4];
    int64_t done = 0;

    if (count < each)
        return 0;
    VECTOR_NAME(channel_masks)(mask, element, channels, true);
    for (int c = 0; c < channels; c++) {
        const int first = c * VECTOR_LANES;
        deal[c] =
            VECTOR_DEALS(first / channels, (first + 1) / channels, (first + 2) / channels, (first + 3) / channels);
        for (int p = 0; p < channels; p++)
            pick[c][p] = VECTOR_MASKS(mask[first % channels][p], mask[(first + 1) % channels][p],
                                      mask[(first + 2) % channels][p], mask[(first + 3) % channels][p]);
    }
    for (; done + each <= count; done += each, from += VECTOR_NBYTES, to += VECTOR_NBYTES * channels) {
        VECTOR v[4];
        for (int p = 0; p < channels; p++)
            v[p] = VECTOR_LOAD_ALL(from + p * from_plane);
        for (int c = 0; c < channels; c++) {
            VECTOR sum = VECTOR_PICK(VECTOR_DEAL(v[0], deal[c]), pick[c][0]);
            for (int p = 1; p < channels; p++)
                sum = VECTOR_OR(sum, VECTOR_PICK(VECTOR_DEAL(v[p], deal[c]), pick[c][p]));
            VECTOR_PUT(to + VECTOR_NBYTES * c, sum);
        }
    }
    return done;
}

#define VECTOR_JOIN(channels)                                                                                          \
    done = aligned ? VECTOR_NAME(join_some)(to, from, from_plane, element, channels, count, true)                      \
                   : VECTOR_NAME(join_some)(to, from, from_plane, element, channels, count, false)

static VECTOR_TARGET void VECTOR_NAME(join)(unsigned char *to, const unsigned char *from, int64_t from_plane,
                                            size_t element, int channels, int64_t count, bool stream)
{
    const bool aligned = stream && (uintptr_t)to % VECTOR_NBYTES == 0;
    int64_t done;

    if (channels == 2)
        VECTOR_JOIN(2);
    else if (channels == 3)
        VECTOR_JOIN(3);
    else
        VECTOR_JOIN(4);
    if (done < count)
        VECTOR_BELOW.join(to + done * (int64_t)element * channels, from + done * (int64_t)element, from_plane, element,
                          channels, count - done, stream);
}
