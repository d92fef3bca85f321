/*
 * Part of vector.h: blocks of a few bytes, picked from within 16.
 */

/*
 * As many blocks at a time as their spans fit 16 bytes. Each step reads 16 bytes, maybe past its last span, and writes
 * 16, maybe past its last block: what lies there is read by, or written in, the next step. Where no next one follows
 * the blocks go one by one.
 */
static VECTOR_TARGET void VECTOR_NAME(blocks_plain)(unsigned char *to, const unsigned char *from, int64_t step,
                                                    const dlpark__copy_block *block, int64_t count)
{
    const int64_t size = step < 0 ? -step : step, nbytes = block->nbytes, span = block->span;
    int64_t group = size <= 16 - span ? (size == 0 ? 16 / nbytes : (16 - span) / size + 1) : 1;
    group = group * nbytes > 16 ? 16 / nbytes : group;
    const int64_t lowest = step < 0 ? (group - 1) * step : 0;
    uint8_t mask[16], repeated[16] = {0};
    int64_t i = 0;

    for (int64_t j = 0; j < 16; j++)
        mask[j] = (uint8_t)(j < group * nbytes ? block->map[j % nbytes] + j / nbytes * step - lowest : 0x80);
    const VECTOR pick = VECTOR_MASK(mask);
    if (step == 0) {
        memcpy(repeated, from, (size_t)span);
        from = repeated;
    }
    /* Falling: the first windows would reach past the first span. */
    if (step < 0 && (group - 1) * size < 16 - span) {
        i = (16 - span - 1) / size + 1 - (group - 1);
        i = i < count ? i : count;
        VECTOR_BELOW.blocks(to, from, step, block, i, false);
    }
    const int64_t each = group * VECTOR_LANES;
    const int64_t last_write = count * nbytes - 16 - (VECTOR_LANES - 1) * group * nbytes;
    const int64_t last_read = step > 0 ? (count - 1) * step + span - 16 - (VECTOR_LANES - 1) * group * step : INT64_MAX;
    for (; i * nbytes <= last_write && (step <= 0 || i * step <= last_read); i += each) {
        const VECTOR spans = VECTOR_LOAD(from + i * step + lowest, group * step);
        VECTOR_SPREAD(to + i * nbytes, group * nbytes, VECTOR_PICK(spans, pick));
    }
    if (i < count)
        dlpark__kernels_generic.blocks(to + i * nbytes, from + i * step, step, block, count - i, false);
}

/*
 * The same where both sides come to whole vectors after as many blocks: `ins` vectors that are read become `outs`, each
 * picked from all. Unlike the way above it writes every byte once, which a stream needs.
 */
static inline VECTOR_ALWAYS VECTOR_TARGET int64_t VECTOR_NAME(weave)(unsigned char *to, const unsigned char *from,
                                                                     int64_t step, const dlpark__copy_block *block,
                                                                     int64_t count, int ins, int outs)
{
    const int64_t group = 16 * ins / step, each = group * VECTOR_LANES;
    uint8_t mask[4][4][16];
    VECTOR pick[4][4];
    int64_t done = 0;

    memset(mask, 0x80, sizeof mask);
    for (int64_t i = 0, at = 0; i < group; i++)
        for (int j = 0; j < block->nbytes; j++, at++) {
            const int64_t in = i * step + block->map[j];
            mask[at / 16][in / 16][at % 16] = (uint8_t)(in % 16);
        }
    for (int o = 0; o < outs; o++)
        for (int i = 0; i < ins; i++)
            pick[o][i] = VECTOR_MASK(mask[o][i]);
    for (; done + each < count; done += each, to += VECTOR_NBYTES * outs, from += VECTOR_NBYTES * ins) {
        VECTOR v[4];
        for (int i = 0; i < ins; i++)
            v[i] = VECTOR_LOAD(from + 16 * i, 16 * ins);
        for (int o = 0; o < outs; o++) {
            VECTOR sum = VECTOR_PICK(v[0], pick[o][0]);
            for (int i = 1; i < ins; i++)
                sum = VECTOR_OR(sum, VECTOR_PICK(v[i], pick[o][i]));
            VECTOR_SPREAD_STREAM(to + 16 * o, 16 * outs, sum);
        }
    }
    return done;
}

/* Four in, three out, as when a pixel loses its alpha: each lane keeps 12 bytes, and the lanes move together. */
static inline VECTOR_ALWAYS VECTOR_TARGET int64_t VECTOR_NAME(narrow)(unsigned char *to, const unsigned char *from,
                                                                      int64_t step, const dlpark__copy_block *block,
                                                                      int64_t count)
{
    const int64_t group = 16 / step, each = group * VECTOR_LANES, beyond = VECTOR_LANES * 4 / block->nbytes + 1;
    uint8_t mask[16] = {0};
    int64_t done = 0;

    for (int64_t i = 0, at = 0; i < group; i++)
        for (int j = 0; j < block->nbytes; j++, at++)
            mask[at] = (uint8_t)(i * step + block->map[j]);
    const VECTOR pick = VECTOR_MASK(mask);
    for (; done + each + beyond <= count; done += each, to += 12 * VECTOR_LANES, from += VECTOR_NBYTES)
        VECTOR_SAVE(to, VECTOR_PACK12(VECTOR_PICK(VECTOR_LOAD_ALL(from), pick)));
    return done;
}

static VECTOR_TARGET void VECTOR_NAME(blocks)(unsigned char *to, const unsigned char *from, int64_t step,
                                              const dlpark__copy_block *block, int64_t count, bool stream)
{
    int64_t done = 0;

    stream = stream && (uintptr_t)to % 16 == 0;
    if (block->span <= step) {
        const bool narrow = 3 * step == 4 * block->nbytes && 16 % step == 0;
        if (narrow && stream)
            done = VECTOR_NAME(weave)(to, from, step, block, count, 4, 3);
        else if (narrow)
            done = VECTOR_NAME(narrow)(to, from, step, block, count);
        else if (stream && step == block->nbytes && 48 % step == 0 && step % 3 == 0)
            done = VECTOR_NAME(weave)(to, from, step, block, count, 3, 3);
        else if (stream && step == block->nbytes && 16 % step == 0)
            done = VECTOR_NAME(weave)(to, from, step, block, count, 1, 1);
    }
    VECTOR_NAME(blocks_plain)(to + done * block->nbytes, from + done * step, step, block, count - done);
}
