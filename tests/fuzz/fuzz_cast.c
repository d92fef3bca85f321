/*
 * Bytes as a cast: two dtypes, a shape, where each side lies, what is to become of values that do not fit, and the
 * values. Expected is what one element at a time becomes by the oracle, written into a copy of the destination's memory:
 * every byte has to be as there. The blocks are as long as the views reach, so that a sanitizer sees a byte too many.
 */
#include <stdlib.h>
#include <string.h>

#include "cast_model.h"
#include "fuzz.h"
#include "kernels/kernels.h"
#include "nearest.h"

#define CAST_ELEMENTS 6000

static const DLDataType cast_dtypes[] = {{kDLFloat, 32, 1},
                                         {kDLFloat, 16, 1},
                                         {kDLBfloat, 16, 1},
                                         {kDLFloat, 64, 1},
                                         {kDLInt, 8, 1},
                                         {kDLUInt, 8, 1},
                                         {kDLInt, 32, 1},
                                         {kDLInt, 64, 1},
                                         {kDLUInt, 64, 1},
                                         {kDLUInt, 32, 1},
                                         {kDLInt, 16, 1},
                                         {kDLUInt, 16, 1},
                                         {kDLFloat8_e3m4, 8, 1},
                                         {kDLFloat8_e4m3, 8, 1},
                                         {kDLFloat8_e4m3fn, 8, 1},
                                         {kDLFloat8_e4m3b11fnuz, 8, 1},
                                         {kDLFloat8_e5m2, 8, 1},
                                         {kDLFloat8_e4m3fnuz, 8, 1},
                                         {kDLFloat8_e5m2fnuz, 8, 1},
                                         {kDLFloat8_e8m0fnu, 8, 1},
                                         {kDLFloat6_e2m3fn, 6, 1},
                                         {kDLFloat6_e3m2fn, 6, 1},
                                         {kDLFloat4_e2m1fn, 4, 1},
                                         {kDLInt, 4, 1},
                                         {kDLUInt, 4, 1},
                                         {kDLInt, 2, 1},
                                         {kDLUInt, 2, 1},
                                         {kDLInt, 1, 1},
                                         {kDLUInt, 1, 1},
                                         {kDLBool, 8, 1},
                                         {kDLComplex, 32, 1},
                                         {kDLComplex, 64, 1},
                                         {kDLComplex, 128, 1},
                                         {kDLOpaqueHandle, 64, 1},
                                         {kDLInt, 128, 1},
                                         {kDLFloat, 128, 1}};

#define CAST_DTYPES ((int)(sizeof cast_dtypes / sizeof cast_dtypes[0]))

/* ---- What is to be cast ---- */

static DLDataType cast_dtype(cast_machine *m, uint16_t lanes)
{
    int choice = fuzz_byte(&m->in);
    DLDataType dtype = cast_dtypes[choice % (choice < 4 * (CAST_DTYPES - 3) ? CAST_DTYPES - 3 : CAST_DTYPES)];

    dtype.lanes = lanes;
    return dtype;
}

static int cast_shape(cast_machine *m, int64_t *shape)
{
    int ndim = fuzz_choice(&m->in, CAST_NDIM + 1), large = fuzz_byte(&m->in);

    for (int i = 0; i < ndim; i++)
        shape[i] = fuzz_choice(&m->in, 16) == 15 ? 0 : 1 + fuzz_choice(&m->in, 6);
    if (ndim > 0 && large < 48)
        shape[large % ndim] = 100 * (1 + fuzz_choice(&m->in, 26));
    return ndim;
}

/* Dense in some order of dimensions, with gaps and signs; or, rarely, anything. */
static void cast_strides(cast_machine *m, int ndim, const int64_t *shape, int64_t *strides)
{
    int kind = fuzz_byte(&m->in), signs = fuzz_byte(&m->in), order = fuzz_byte(&m->in);
    int64_t step = kind < 128 ? 1 : 1 + kind % 3;
    bool used[CAST_NDIM] = {false};

    for (int left = ndim; left > 0; left--) {
        int nth = kind < 96 ? left - 1 : order % left, i = 0; /* mostly row-major */
        for (order /= 2; used[i] || nth > 0; i++)
            nth -= !used[i];
        used[i] = true;
        strides[i] = kind >= 64 && (signs >> i & 1) != 0 ? -step : step;
        step *= shape[i] > 0 ? shape[i] : 1;
        step += kind >= 160 ? signs >> i & 3 : 0;
    }
    for (int i = 0; kind >= 240 && i < ndim; i++)
        strides[i] = fuzz_choice(&m->in, 16) - 5;
}

/* The layout of one side, its block yet to be made: `data` is where the block will begin. */
static void cast_lay(cast_machine *m, cast_place *place, DLDataType dtype, int ndim, const int64_t *shape)
{
    bool padded = dlpark_dtype_nbits(dtype) % 8 != 0 && fuzz_byte(&m->in) % 2 != 0;
    int64_t nbits = dlpark_dtype_nbits(dtype), reach[2] = {0, 0};
    dlpark_view *view = &place->view;

    memset(view, 0, sizeof *view);
    view->dtype = dtype;
    view->device = (DLDevice){kDLCPU, 0};
    view->ndim = ndim;
    view->flags = padded ? DLPARK_VIEW_PADDED : 0;
    memcpy(view->shape, shape, (size_t)ndim * sizeof *shape);
    cast_strides(m, ndim, shape, view->strides);
    place->element = padded ? (nbits + 7) / 8 * 8 : nbits;
    for (int i = 0; i < ndim; i++) {
        int64_t last = shape[i] > 0 ? (shape[i] - 1) * view->strides[i] : 0;
        reach[last > 0] += last;
    }
    place->low = reach[0] * place->element;
    place->high = (reach[1] + 1) * place->element;
    place->first = -place->low;
    if (place->element % 8 != 0) /* in any bit of its byte; packed views get there by slicing */
        place->first += fuzz_choice(&m->in, 8);
}

static void cast_settle(cast_place *place, unsigned char *block)
{
    place->view.data = block + place->first / 8;
    place->view.bit_offset = (uint32_t)(place->first % 8);
}

static dlpark_cast_options *cast_options(cast_machine *m)
{
    int kind = fuzz_byte(&m->in);

    m->options = (dlpark_cast_options){.overflow = (dlpark_overflow)(kind % 8)};
    kind = fuzz_byte(&m->in);
    m->options.scale = (dlpark_scale_rounding)(kind < 250 ? kind % 3 : 3);
    m->options.real_part = kind / 4 % 2 != 0;
    m->counts = (dlpark_cast_counts){77, 77, 77};
    m->options.counts = kind / 8 % 2 != 0 ? &m->counts : NULL;
    if (kind / 16 % 4 != 0)
        return &m->options;
    m->options = (dlpark_cast_options){.overflow = DLPARK_OVERFLOW_DEFAULT};
    return NULL;
}

/* ---- Blocks ---- */

/* As many bytes as a side reaches. */
static size_t cast_nbytes(const cast_place *place)
{
    return (size_t)((place->first + place->high + 7) / 8);
}

static unsigned char *cast_block(const cast_machine *m, size_t nbytes, const unsigned char *like)
{
    unsigned char *block = malloc(m->count > 0 ? nbytes : 1);

    FUZZ_WANT(block != NULL);
    if (like != NULL && m->count > 0)
        memcpy(block, like, nbytes);
    return block;
}

static uint64_t cast_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state ^ *state >> 29;
}

/* A number of the source near to where two codes of the destination meet, or any. */
static uint64_t cast_code(cast_machine *m, uint64_t *random)
{
    DLDataType to = cast_part(m->to.view.dtype), from = cast_part(m->from.view.dtype);
    uint64_t word = cast_random(random), past = UINT64_C(1) << (from.bits - 1);
    unsigned events = 0;

    if (word % 4 == 0 || !cast_is_castable(to))
        return word >> 2;
    if (word % 4 == 1 || !nearest_is_float(to))
        return word >> (8 + word / 4 % 56);
    nearest_number middle = nearest_middle(to, (word >> 8) % (nearest_largest(to) + 1));
    middle.negative = word / 4 % 2 != 0;
    bool is_float = nearest_is_float(from);
    uint64_t code = nearest_code(from, &middle, is_float ? DLPARK_OVERFLOW_NOSAT : DLPARK_OVERFLOW_SATURATE,
                                 DLPARK_SCALE_NEAREST, &events);
    return (code + word / 8 % 3 - 1) & (past | (past - 1));
}

static void cast_fill(cast_machine *m, unsigned char *block, size_t nbytes)
{
    DLDataType from = m->from.view.dtype, part = cast_part(from);
    uint64_t random = fuzz_byte(&m->in);

    for (size_t i = 0; i < nbytes; i++)
        block[i] = (unsigned char)(m->in.left > 0 ? fuzz_byte(&m->in) : (uint8_t)cast_random(&random));
    if (random % 4 == 0 || !cast_is_castable(from)) /* as it came */
        return;
    memset(m->index, 0, sizeof m->index);
    do {
        int64_t at = cast_at(m, &m->from);
        for (unsigned lane = 0; lane < from.lanes * cast_parts(from); lane++, at += part.bits)
            cast_put(block, at, part.bits, cast_code(m, &random));
    } while (cast_next(m));
}

/* Reads dtypes, shape and places; false when that is too much. */
static bool cast_begin(cast_machine *m)
{
    int64_t shape[CAST_NDIM];
    int lanes = fuzz_byte(&m->in);
    DLDataType from = cast_dtype(m, (uint16_t)(lanes < 192 ? 1 : 1 + lanes % 3));
    DLDataType to = cast_dtype(m, (uint16_t)(lanes < 255 ? from.lanes : 2));
    int ndim = cast_shape(m, shape), kind;

    m->count = 1;
    for (int i = 0; i < ndim; i++)
        m->count *= shape[i];
    cast_lay(m, &m->from, from, ndim, shape);
    cast_lay(m, &m->to, to, ndim, shape);
    kind = fuzz_byte(&m->in);
    m->to.view.flags |= kind >= 250 ? DLPARK_VIEW_READ_ONLY : 0;
    m->shared = kind % 4 == 3;
    int64_t shift = kind >= 224 ? kind % 16 : 0;
    int64_t gap = m->from.first / 8 - m->to.first / 8;
    if (m->shared) { /* both begin at one byte, or a few bytes apart */
        m->from.first += gap < 0 ? -gap * 8 : 0;
        m->to.first += (gap > 0 ? gap * 8 : 0) + shift * 8;
    }
    return m->count <= CAST_ELEMENTS && cast_nbytes(&m->from) < CAST_BLOCK && cast_nbytes(&m->to) < CAST_BLOCK;
}

/* ---- What must hold ---- */

/* What is nowhere refused for overlapping. */
static bool cast_may_overlap(const cast_machine *m)
{
    const dlpark_view *to = &m->to.view, *from = &m->from.view;
    bool has_rest = to->dtype.lanes > 1 && m->to.element != dlpark_dtype_nbits(to->dtype);

    if (!m->shared || dlpark_dtype_equal(to->dtype, from->dtype) || m->count == 0)
        return true;
    return to->data == from->data && dlpark_view_is_compact(to) && dlpark_view_is_compact(from) && !has_rest &&
           m->to.element <= m->from.element && to->dtype.bits <= from->dtype.bits;
}

static void cast_judge(cast_machine *m, dlpark_overflow mode, dlpark_status status, const unsigned char *source,
                       unsigned char *image, const unsigned char *made, size_t nbytes)
{
    bool same = dlpark_dtype_equal(m->to.view.dtype, m->from.view.dtype);
    bool to_integer = !nearest_is_float(cast_part(m->to.view.dtype)) && m->to.view.dtype.code != kDLBool;
    bool joined = m->to.view.dtype.code == kDLBool && m->from.view.dtype.code == kDLComplex;
    bool refused = status == DLPARK_E_ARGUMENT && !cast_may_overlap(m);
    unsigned char *before = cast_block(m, nbytes, image);
    dlpark_cast_counts counts = {0, 0, 0};

    if (m->count > 0)
        cast_expect(m, mode, source, image, made, &counts);
    if (m->options.overflow == DLPARK_OVERFLOW_REFUSE && !same &&
        (counts.overflowed > 0 || (to_integer && counts.nan > 0))) {
        FUZZ_WANT(refused || status == DLPARK_E_VALUE);
        refused = true;
    }
    FUZZ_WANT(refused || status == DLPARK_OK);
    FUZZ_WANT(m->count == 0 || memcmp(made, refused ? before : image, nbytes) == 0);
    if (m->options.counts != NULL && !joined) {
        const dlpark_cast_counts untouched = {77, 77, 77};
        FUZZ_WANT(memcmp(&m->counts, refused ? &untouched : &counts, sizeof counts) == 0);
    }
    free(before);
}

static void cast_try(cast_machine *m, unsigned char *from, unsigned char *to, size_t nbytes, size_t to_nbytes)
{
    unsigned char *source = cast_block(m, nbytes, from), *image = cast_block(m, to_nbytes, to);
    const dlpark_cast_options *options = cast_options(m);
    dlpark_overflow mode;

    if (m->count == 0)
        m->from.view.data = m->to.view.data = NULL;
    bool possible = cast_is_possible(m, &mode);
    dlpark_status status = dlpark_cast(&m->to.view, &m->from.view, options, NULL);
    FUZZ_WANT(m->count == 0 || m->shared || memcmp(from, source, nbytes) == 0);
    if (!possible) {
        FUZZ_WANT(status != DLPARK_OK);
        FUZZ_WANT(m->count == 0 || memcmp(to, image, to_nbytes) == 0);
    } else if (m->count == 0 || !cast_coincides(m)) {
        cast_judge(m, mode, status, source, image, to, to_nbytes);
    }
    free(source);
    free(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static cast_machine m;
    size_t sets = 0;

    memset(&m, 0, sizeof m);
    m.in = (fuzz_input){data, size};
    while (dlpark__kernels_list(sets) != NULL)
        sets++;
    dlpark__kernels_use(dlpark__kernels_list(sets - 1 - (size_t)fuzz_choice(&m.in, (int)sets)));
    if (!cast_begin(&m))
        return 0;
    size_t nbytes = cast_nbytes(&m.from), to_nbytes = cast_nbytes(&m.to);
    if (m.shared)
        nbytes = to_nbytes = nbytes > to_nbytes ? nbytes : to_nbytes;
    unsigned char *from = cast_block(&m, nbytes, NULL);
    unsigned char *to = m.shared ? from : cast_block(&m, to_nbytes, NULL);
    if (m.count > 0) {
        cast_settle(&m.from, from);
        cast_settle(&m.to, to);
        memset(to, 0xA5, to_nbytes);
        cast_fill(&m, from, nbytes);
    }
    cast_try(&m, from, to, nbytes, to_nbytes);
    if (to != from)
        free(to);
    free(from);
    dlpark__kernels_use(NULL);
    return 0;
}
