/*
 * Which steps lead from one dtype to another.
 *
 * Every float of at most 32 bits, and every value of it, is a float32; so that, or float64, is where floats meet. What
 * has more bits, float64 and integers of 64, comes to float32 rounded to odd: truncated, with the last place set where
 * something was lost. The step after it rounds to at most 11 bits of significand, and float32 has two more than that
 * needs, also among its subnormal numbers; then both roundings together are the one from the exact value (Boldo and
 * Melquiond, "Emulation of FMA and correctly rounded sums", IEEE Transactions on Computers 57.4, 2008).
 */
#include <string.h>

#include "cast_parts.h"

/* Where floats and integers meet. */
typedef enum chain_hub { CHAIN_F32, CHAIN_F64, CHAIN_I64, CHAIN_U64, CHAIN_I32, CHAIN_I16 } chain_hub;

#define CHAIN_NOTHING (-1) /* there is nothing to do */

/* The step of the best set of vectors that has it; NULL: none. */
static dlpark__cast_step chain_find(int name)
{
    for (const dlpark__kernels *set = dlpark__kernels_get(); set != NULL; set = set->below)
        if (set->cast != NULL && set->cast[name] != NULL)
            return set->cast[name];
    return NULL;
}

static void chain_add(dlpark__cast_chain *chain, int name)
{
    if (name == CHAIN_NOTHING)
        return;
    dlpark__cast_step step = chain_find(name);
    if (step == NULL)
        step = dlpark__cast_generic[name];
    if (step != NULL) /* none: int64 is what it is in 64 bits */
        chain->steps[chain->count++] = step;
}

static int chain_width(unsigned bits)
{
    return bits <= 8 ? DLPARK__CAST_8 : bits == 16 ? DLPARK__CAST_16 : bits == 32 ? DLPARK__CAST_32 : DLPARK__CAST_64;
}

/* ---- From the source ---- */

static void chain_widen(dlpark__cast_params *params, const dlpark__float_format *format)
{
    uint64_t largest = dlpark__float_largest(format);

    params->from_fraction = format->fraction_bits;
    params->from_rebias = 127u - format->bias;
    params->from_sign = (uint32_t)format->fraction_bits + format->exponent_bits;
    params->from_top = (uint32_t)largest + 1;
    params->from_infinite = format->flavour == DLPARK__FLOAT_IEEE;
    params->from_fnuz = format->flavour == DLPARK__FLOAT_FNUZ;
}

static chain_hub chain_from_float(dlpark__cast_chain *chain, const dlpark__cast_side *from, const dlpark__cast_side *to)
{
    if (from->part.bits == 64)
        return CHAIN_F64;
    if (from->part.bits == 32)
        return CHAIN_F32;
    chain_widen(&chain->params, from->format);
    chain->params.from_raw = to->format == NULL || to->part.bits != 32;
    chain_add(chain, from->part.bits == 16                         ? DLPARK__CAST_F32_OF_FLOAT16
                     : from->format->flavour == DLPARK__FLOAT_E8M0 ? DLPARK__CAST_F32_OF_SCALE
                                                                   : DLPARK__CAST_F32_OF_FLOAT8);
    return CHAIN_F32;
}

/* To floats, integers of up to 16 bits are float32; those of 32 are float64, or stay as they are where they are to be
 * rounded. */
static chain_hub chain_from_integer_to_float(dlpark__cast_chain *chain, DLDataType dtype, unsigned to_bits)
{
    int width = chain_width(dtype.bits);
    bool is_signed = dtype.code == kDLInt;

    if (width == DLPARK__CAST_64)
        return is_signed ? CHAIN_I64 : CHAIN_U64;
    if (width == DLPARK__CAST_32 && is_signed && to_bits <= 32)
        return CHAIN_I32;
    int direct = (is_signed ? DLPARK__CAST_F64_OF_SIGNED_8 : DLPARK__CAST_F64_OF_UNSIGNED_8) + width;
    if (to_bits == 64 && width < DLPARK__CAST_32 && chain_find(direct) != NULL) {
        chain_add(chain, direct);
        return CHAIN_F64;
    }
    chain_add(chain, (is_signed ? DLPARK__CAST_FLOAT_OF_SIGNED_8 : DLPARK__CAST_FLOAT_OF_UNSIGNED_8) + width);
    return width == DLPARK__CAST_32 ? CHAIN_F64 : CHAIN_F32;
}

/* To integers of up to 32 bits, others of up to 32 bits need no more; but to saturate, uint32 does. */
static chain_hub chain_from_integer(dlpark__cast_chain *chain, const dlpark__cast_job *job)
{
    DLDataType dtype = job->from.part;
    int width = chain_width(dtype.bits);
    bool is_signed = dtype.code == kDLInt, to_bool = job->to.part.code == kDLBool;
    bool is_narrow =
        width < DLPARK__CAST_32 || (width == DLPARK__CAST_32 && (is_signed || job->overflow == DLPARK_OVERFLOW_WRAP));

    if (dtype.code == kDLBool) {
        chain_add(chain, DLPARK__CAST_I64_OF_BOOL);
        return CHAIN_I64;
    }
    chain->params.nbits = dtype.bits;
    if (is_signed && dtype.bits < 8)
        chain_add(chain, DLPARK__CAST_I8_OF_FEW);
    if (job->to.format != NULL)
        return chain_from_integer_to_float(chain, dtype, job->to.part.bits);
    if (is_narrow && !to_bool && job->to.part.bits <= 16 && width < DLPARK__CAST_32 &&
        (width == DLPARK__CAST_8 || is_signed || job->overflow == DLPARK_OVERFLOW_WRAP)) {
        if (width == DLPARK__CAST_8)
            chain_add(chain, is_signed ? DLPARK__CAST_I16_OF_I8 : DLPARK__CAST_I16_OF_U8);
        return CHAIN_I16;
    }
    if (is_narrow && !to_bool && job->to.part.bits <= 32) {
        if (width < DLPARK__CAST_32)
            chain_add(chain, (is_signed ? DLPARK__CAST_I32_OF_SIGNED_8 : DLPARK__CAST_I32_OF_UNSIGNED_8) + width);
        return CHAIN_I32;
    }
    chain_add(chain, (is_signed ? DLPARK__CAST_I64_OF_SIGNED_8 : DLPARK__CAST_I64_OF_UNSIGNED_8) + width);
    return !is_signed && width == DLPARK__CAST_64 ? CHAIN_U64 : CHAIN_I64;
}

/* ---- To the destination ---- */

static void chain_narrow(dlpark__cast_params *params, const dlpark__cast_job *job)
{
    const dlpark__float_format *format = job->to.format;
    uint64_t largest = dlpark__float_largest(format), beyond = dlpark__float_beyond(format);
    const dlpark__real nan = {DLPARK__REAL_NAN, false, 0, 0};
    uint32_t half = 1u << (22 - format->fraction_bits); /* of the last place of the largest, in a float32 */
    uint32_t top;                                       /* the largest as a float32; it is normal in both */
    unsigned events = 0;

    params->shift = 23u - format->fraction_bits;
    params->rebias = 127u - format->bias;
    params->sign = (uint32_t)format->fraction_bits + format->exponent_bits;
    /* What lies midway goes to the even one. */
    top = ((uint32_t)largest << params->shift) + (params->rebias << 23);
    params->limit = top + half - (uint32_t)(largest & 1);
    /* What has no place above the largest, or should not go there, is clamped to it; else infinity, or NaN, comes next. */
    params->clamp = job->overflow == DLPARK_OVERFLOW_NOSAT && beyond != largest ? params->limit + 1 : top;
    params->over = (uint32_t)(job->overflow == DLPARK_OVERFLOW_NOSAT ? beyond : largest);
    params->infinite = (uint32_t)(job->overflow == DLPARK_OVERFLOW_SATALL ? largest : beyond);
    params->nan = (uint32_t)dlpark__float_encode(&nan, format, job->overflow, job->scale, &events);
    params->payload = format->fraction_bits >= 7 ? (1u << format->fraction_bits) - 1 : 0;
    params->largest = (uint32_t)largest;
    params->fnuz = format->flavour == DLPARK__FLOAT_FNUZ;
}

/* By the hub: what leads to float64, to float32, and to float32 rounded to odd. */
static const int chain_doubles[] = {DLPARK__CAST_F64_OF_F32, CHAIN_NOTHING, DLPARK__CAST_F64_OF_I64,
                                    DLPARK__CAST_F64_OF_U64, CHAIN_NOTHING};
static const int chain_singles[] = {CHAIN_NOTHING, DLPARK__CAST_F32_OF_F64, DLPARK__CAST_F32_OF_I64,
                                    DLPARK__CAST_F32_OF_U64, DLPARK__CAST_F32_OF_I32};
static const int chain_odds[] = {CHAIN_NOTHING, DLPARK__CAST_ODD_OF_F64, DLPARK__CAST_ODD_OF_I64,
                                 DLPARK__CAST_ODD_OF_U64, DLPARK__CAST_ODD_OF_I32};

static void chain_to_float(dlpark__cast_chain *chain, const dlpark__cast_job *job, chain_hub hub)
{
    unsigned bits = job->to.part.bits;

    chain->params.saturates = job->overflow != DLPARK_OVERFLOW_NOSAT;
    chain->params.saturates_infinite = job->overflow == DLPARK_OVERFLOW_SATALL;
    chain->params.scale = (uint8_t)job->scale;
    if (bits >= 32) {
        chain_add(chain, (bits == 64 ? chain_doubles : chain_singles)[hub]);
        if (chain->params.saturates_infinite)
            chain_add(chain, DLPARK__CAST_FINITE_8 + chain_width(bits));
        return;
    }
    bool is_scale = job->to.format->flavour == DLPARK__FLOAT_E8M0;
    if (is_scale && hub == CHAIN_F64 && job->scale == DLPARK_SCALE_DOWN && !chain->params.saturates) {
        chain->count = -1; /* rounded to odd, what is beyond float32 would come down to the largest power */
        return;
    }
    chain_add(chain, chain_odds[hub]);
    if (is_scale) {
        chain_add(chain, DLPARK__CAST_SCALE_OF_F32);
        return;
    }
    chain_narrow(&chain->params, job);
    chain_add(chain, bits == 16 ? DLPARK__CAST_FLOAT16_OF_F32 : DLPARK__CAST_FLOAT8_OF_F32);
}

static void chain_to_integer(dlpark__cast_chain *chain, const dlpark__cast_job *job, chain_hub hub)
{
    unsigned bits = job->to.part.bits;
    bool is_signed = job->to.part.code == kDLInt;
    int width = chain_width(bits);
    dlpark__cast_params *params = &chain->params;

    params->high = UINT64_MAX >> (64 - bits) >> is_signed;
    params->low = is_signed ? -(int64_t)params->high - 1 : 0;
    params->low_float = (double)params->low;
    params->past_float = (double)((params->high >> 1) + 1) * 2 - (bits == 1 && is_signed);
    bool wraps = job->overflow == DLPARK_OVERFLOW_WRAP;
    if (hub == CHAIN_I16) {
        if (!wraps || width == DLPARK__CAST_8)
            chain_add(chain, (wraps ? DLPARK__CAST_WRAP_I16 : DLPARK__CAST_SATURATE_I16 + width));
    } else if (hub == CHAIN_I32) {
        if (!wraps || width < DLPARK__CAST_32)
            chain_add(chain, (wraps ? DLPARK__CAST_WRAP_I32_8 : DLPARK__CAST_SATURATE_I32_8) + width);
    } else if (hub == CHAIN_I64 || hub == CHAIN_U64) {
        int saturate = hub == CHAIN_U64 ? DLPARK__CAST_SATURATE_U64_8 : DLPARK__CAST_SATURATE_I64_8;
        if (width < DLPARK__CAST_64 || (!wraps && is_signed == (hub == CHAIN_U64)))
            chain_add(chain, (wraps ? DLPARK__CAST_WRAP_8 : saturate) + width);
    } else if (wraps) {
        chain->count = -1; /* nobody asks for that often: one element at a time */
    } else if (bits == 64 && !is_signed) {
        chain_add(chain, chain_doubles[hub]);
        chain_add(chain, DLPARK__CAST_UINT64_OF_F64);
    } else if (job->from.part.bits == 16 && bits <= 32 &&
               chain_find(DLPARK__CAST_INTEGER_OF_FLOAT16_8 + width) != NULL) {
        chain->count = 0; /* from the source at once */
        chain_add(chain, DLPARK__CAST_INTEGER_OF_FLOAT16_8 + width);
    } else {
        chain_add(chain, (hub == CHAIN_F32 ? DLPARK__CAST_INTEGER_OF_F32_8 : DLPARK__CAST_INTEGER_OF_F64_8) + width);
    }
}

/* Whether integers are only called by another name. */
static bool chain_keeps_bits(const dlpark__cast_job *job)
{
    return job->to.format == NULL && job->from.format == NULL && job->overflow == DLPARK_OVERFLOW_WRAP &&
           job->to.part.bits == job->from.part.bits && job->to.part.code != kDLBool && job->from.part.code != kDLBool;
}

/* The step that leads from a source to floats of at most 16 bits at once. */
static int chain_direct_name(const dlpark__cast_side *from, bool to_16)
{
    if (from->format != NULL && from->part.bits == 16)
        return to_16 ? DLPARK__CAST_FLOAT16_OF_FLOAT16 : DLPARK__CAST_FLOAT8_OF_FLOAT16;
    if (from->format != NULL && from->part.bits == 64 && to_16)
        return DLPARK__CAST_FLOAT16_OF_F64;
    if (from->part.code != kDLInt)
        return CHAIN_NOTHING;
    return from->part.bits == 16   ? (to_16 ? DLPARK__CAST_FLOAT16_OF_I16 : DLPARK__CAST_FLOAT8_OF_I16)
           : from->part.bits == 32 ? (to_16 ? DLPARK__CAST_FLOAT16_OF_I32 : DLPARK__CAST_FLOAT8_OF_I32)
                                   : CHAIN_NOTHING;
}

/* Adds it where a set of vectors has it. */
static bool chain_add_direct(dlpark__cast_chain *chain, const dlpark__cast_job *job)
{
    const dlpark__float_format *to = job->to.format;

    if (to == NULL || job->to.part.bits > 16 || to->flavour == DLPARK__FLOAT_E8M0)
        return false;
    int name = chain_direct_name(&job->from, job->to.part.bits == 16);
    if (name == CHAIN_NOTHING || chain_find(name) == NULL)
        return false;
    if (job->from.format != NULL && job->from.part.bits == 16)
        chain_widen(&chain->params, job->from.format);
    chain_narrow(&chain->params, job);
    chain_add(chain, name);
    return true;
}

void dlpark__cast_chain_make(dlpark__cast_chain *chain, const dlpark__cast_job *job)
{
    static const int to_bool[] = {DLPARK__CAST_BOOL_OF_F32, DLPARK__CAST_BOOL_OF_F64, DLPARK__CAST_BOOL_OF_I64,
                                  DLPARK__CAST_BOOL_OF_I64, CHAIN_NOTHING};
    const dlpark__float_format *to = job->to.format, *from = job->from.format;
    bool is_bool = job->to.part.code == kDLBool;

    chain->count = 0;
    memset(&chain->params, 0, sizeof chain->params);
    if (is_bool && job->from.parts == 2) { /* both parts count */
        chain->count = -1;
        return;
    }
    if (to != NULL && to == from) { /* a part of a complex one: moved */
        if (job->overflow == DLPARK_OVERFLOW_SATALL)
            chain_add(chain, DLPARK__CAST_FINITE_8 + chain_width(job->to.part.bits));
        return;
    }
    if (chain_keeps_bits(job))
        return;
    if (chain_add_direct(chain, job))
        return;
    chain_hub hub = from != NULL ? chain_from_float(chain, &job->from, &job->to) : chain_from_integer(chain, job);
    if (is_bool)
        chain_add(chain, to_bool[hub]);
    else if (to != NULL)
        chain_to_float(chain, job, hub);
    else
        chain_to_integer(chain, job, hub);
}

/* The step of a table by vectors: of the few codes there are, or of all of a byte. CHAIN_NOTHING: no set has one. */
static int chain_table_find(int all, int few, unsigned bits)
{
    if (bits <= 6 && chain_find(few) != NULL)
        return few;
    return chain_find(all) != NULL ? all : CHAIN_NOTHING;
}

/* What a table can stand for where a source has at most 8 bits: the name of its step, and how many steps of the chain it
 * replaces. */
static int chain_table_name(const dlpark__cast_chain *chain, const dlpark__cast_job *job, int *steps)
{
    const unsigned bits = job->from.part.bits;
    bool from_float = job->from.format != NULL;
    int found;

    *steps = chain->count;
    if (chain->count == 0)
        return CHAIN_NOTHING;
    if (job->to.part.bits <= 8) {
        found = chain_table_find(DLPARK__CAST_TABLE, DLPARK__CAST_TABLE_FEW, bits);
        return found != CHAIN_NOTHING ? found : DLPARK__CAST_TABLE;
    }
    if (job->to.part.bits == 16) { /* integers are as fast without, but for sets that have a way */
        found = chain_table_find(DLPARK__CAST_TABLE_16, DLPARK__CAST_TABLE_FEW_16, bits);
        return chain->count == 1 || (found == CHAIN_NOTHING && !from_float) ? CHAIN_NOTHING
               : found != CHAIN_NOTHING                                     ? found
                                                                            : DLPARK__CAST_TABLE_16;
    }
    *steps = 1;
    return from_float ? chain_table_find(DLPARK__CAST_TABLE_F32, DLPARK__CAST_TABLE_FEW_F32, bits) : CHAIN_NOTHING;
}

void dlpark__cast_chain_tabulate(dlpark__cast_chain *chain, const dlpark__cast_job *job)
{
    unsigned char tiles[2][256 * 8], *from = tiles[0];
    unsigned codes = 1u << (job->from.part.bits < 8 ? job->from.part.bits : 8);
    int steps, name = chain_table_name(chain, job, &steps);

    if (name == CHAIN_NOTHING)
        return;
    for (unsigned code = 0; code < codes; code++)
        from[code] = (unsigned char)code;
    for (int i = 0; i < steps; i++) {
        unsigned char *to = tiles[(i + 1) % 2];
        chain->steps[i](&chain->params, to, from, codes);
        from = to;
    }
    for (unsigned code = 0; code < codes; code++) {
        uint16_t word = from[code];
        uint32_t number;
        if (name == DLPARK__CAST_TABLE_16 || name == DLPARK__CAST_TABLE_FEW_16)
            memcpy(&word, from + 2 * code, sizeof word);
        if (name == DLPARK__CAST_TABLE_F32 || name == DLPARK__CAST_TABLE_FEW_F32) {
            memcpy(&number, from + 4 * code, sizeof number);
            word = (uint16_t)(number >> 16); /* below there is nothing: no such format has eight bits of fraction */
        }
        chain->table[code] = (uint8_t)word;
        chain->table[256 + code] = (uint8_t)(word >> 8);
    }
    chain->params.table = chain->table;
    int rest = chain->count - steps;
    memmove(chain->steps + 1, chain->steps + steps, (size_t)rest * sizeof chain->steps[0]);
    chain->count = 0;
    chain_add(chain, name);
    chain->count = rest + 1;
}
