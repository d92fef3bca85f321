#include "cast_model.h"

#include <string.h>

#include "nearest.h"

/* ---- Memory ---- */

static unsigned cast_least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Words of more than a byte are stored as the machine has them; what is gathered here has the first byte lowest. */
static uint64_t cast_native(uint64_t value, unsigned nbits)
{
    if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ || nbits < 16)
        return value;
    return __builtin_bswap64(value) >> (64 - nbits);
}

uint64_t cast_get(const unsigned char *block, int64_t at, unsigned nbits)
{
    uint64_t value = 0;

    for (unsigned done = 0, some; done < nbits; done += some, at += some) {
        unsigned bit = (unsigned)(at % 8);
        some = cast_least(8 - bit, nbits - done);
        value |= (uint64_t)((unsigned)block[at / 8] >> bit & ((1u << some) - 1)) << done;
    }
    return cast_native(value, nbits);
}

void cast_put(unsigned char *block, int64_t at, unsigned nbits, uint64_t value)
{
    value = cast_native(value, nbits);
    for (unsigned done = 0, some; done < nbits; done += some, at += some) {
        unsigned bit = (unsigned)(at % 8);
        some = cast_least(8 - bit, nbits - done);
        unsigned mask = ((1u << some) - 1) << bit;
        block[at / 8] = (unsigned char)((block[at / 8] & ~mask) | ((unsigned)(value >> done) << bit & mask));
    }
}

/* ---- Arguments ---- */

unsigned cast_parts(DLDataType dtype)
{
    return dtype.code == kDLComplex ? 2 : 1;
}

DLDataType cast_part(DLDataType dtype)
{
    if (dtype.code == kDLComplex)
        return (DLDataType){kDLFloat, (uint8_t)(dtype.bits / 2), 1};
    return (DLDataType){dtype.code, dtype.bits, 1};
}

bool cast_is_castable(DLDataType dtype)
{
    return dtype.code != kDLOpaqueHandle && cast_part(dtype).bits <= 64;
}

bool cast_is_possible(cast_machine *m, dlpark_overflow *mode)
{
    DLDataType to = m->to.view.dtype, from = m->from.view.dtype;
    bool to_float = nearest_is_float(cast_part(to)), from_float = nearest_is_float(cast_part(from));

    *mode = m->options.overflow;
    if (*mode == DLPARK_OVERFLOW_DEFAULT || *mode == DLPARK_OVERFLOW_REFUSE)
        *mode = to_float ? DLPARK_OVERFLOW_NOSAT : from_float ? DLPARK_OVERFLOW_SATURATE : DLPARK_OVERFLOW_WRAP;
    if (!cast_is_castable(to) || !cast_is_castable(from) || to.lanes != from.lanes)
        return false;
    if (cast_parts(from) == 2 && cast_parts(to) == 1 && to.code != kDLBool && !m->options.real_part)
        return false;
    if ((int)m->options.overflow > DLPARK_OVERFLOW_REFUSE || (int)m->options.scale > DLPARK_SCALE_DOWN)
        return false;
    if (to.code != kDLBool && to_float != (*mode <= DLPARK_OVERFLOW_SATALL))
        return false;
    for (int i = 0; i < m->to.view.ndim && m->count > 0; i++)
        if (m->to.view.shape[i] > 1 && m->to.view.strides[i] == 0)
            return false;
    return (m->to.view.flags & DLPARK_VIEW_READ_ONLY) == 0;
}

bool cast_next(cast_machine *m)
{
    for (int i = m->to.view.ndim - 1; i >= 0; i--) {
        if (++m->index[i] < m->to.view.shape[i])
            return true;
        m->index[i] = 0;
    }
    return false;
}

int64_t cast_at(const cast_machine *m, const cast_place *place)
{
    int64_t at = 0;

    for (int i = 0; i < place->view.ndim; i++)
        at += m->index[i] * place->view.strides[i];
    return place->first + at * place->element;
}

static void cast_tally(dlpark_cast_counts *counts, unsigned events)
{
    counts->overflowed += (events & NEAREST_OVERFLOWED) != 0;
    counts->inexact += (events & NEAREST_INEXACT) != 0;
    counts->nan += (events & NEAREST_WAS_NAN) != 0;
}

/* Parts of one dtype are moved, but for infinity where that is to be the largest. */
static uint64_t cast_move(DLDataType part, dlpark_overflow mode, uint64_t code)
{
    nearest_number number = nearest_value(part, code);
    unsigned events = 0;

    if (number.kind == NEAREST_INFINITE && mode == DLPARK_OVERFLOW_SATALL)
        return nearest_code(part, &number, mode, DLPARK_SCALE_NEAREST, &events);
    return code;
}

/* One lane into the image of the destination. */
static void cast_lane(const cast_machine *m, dlpark_overflow mode, const unsigned char *source, int64_t from,
                      unsigned char *image, int64_t to, dlpark_cast_counts *counts)
{
    DLDataType to_part = cast_part(m->to.view.dtype), from_part = cast_part(m->from.view.dtype);
    unsigned from_parts = cast_parts(m->from.view.dtype);

    for (unsigned part = 0; part < cast_parts(m->to.view.dtype); part++, to += to_part.bits, from += from_part.bits) {
        uint64_t code = part < from_parts ? cast_get(source, from, from_part.bits) : 0;
        nearest_number number = nearest_value(from_part, code);
        unsigned events = 0;
        if (to_part.code == kDLBool && from_parts == 2 && number.kind == NEAREST_FINITE && number.significand == 0)
            number = nearest_value(from_part, cast_get(source, from + from_part.bits, from_part.bits));
        uint64_t made = nearest_code(to_part, &number, mode, m->options.scale, &events);
        if (dlpark_dtype_equal(m->to.view.dtype, m->from.view.dtype))
            made = code;
        else if (dlpark_dtype_equal(to_part, from_part) && part < from_parts)
            made = cast_move(to_part, mode, code);
        if (dlpark_dtype_equal(to_part, from_part))
            events &= NEAREST_WAS_NAN;
        if (part < from_parts)
            cast_tally(counts, events);
        else
            made = 0;
        cast_put(image, to, to_part.bits, made);
    }
}

void cast_expect(cast_machine *m, dlpark_overflow mode, const unsigned char *source, unsigned char *image,
                 const unsigned char *made, dlpark_cast_counts *counts)
{
    DLDataType to = m->to.view.dtype, from = m->from.view.dtype;
    int64_t nbits = dlpark_dtype_nbits(to);
    bool same = dlpark_dtype_equal(to, from);

    memset(m->index, 0, sizeof m->index);
    do {
        int64_t to_at = cast_at(m, &m->to), from_at = cast_at(m, &m->from);
        for (int lane = 0; lane < to.lanes; lane++)
            cast_lane(m, mode, source, from_at + lane * from.bits, image, to_at + lane * to.bits, counts);
        for (int64_t rest = nbits; rest < m->to.element; rest++)
            cast_put(image, to_at + rest, 1, same ? cast_get(made, to_at + rest, 1) : 0);
    } while (cast_next(m));
}

bool cast_coincides(cast_machine *m)
{
    static unsigned char seen[CAST_BLOCK];
    bool found = false;

    memset(seen, 0, (size_t)(m->to.first + m->to.high) / 8 + 1);
    memset(m->index, 0, sizeof m->index);
    do {
        int64_t at = cast_at(m, &m->to);
        for (int64_t i = 0, some; i < m->to.element; i += some) {
            some = m->to.element - i < 64 ? m->to.element - i : 64;
            found |= cast_get(seen, at + i, (unsigned)some) != 0;
            cast_put(seen, at + i, (unsigned)some, UINT64_MAX);
        }
    } while (!found && cast_next(m));
    return found;
}
