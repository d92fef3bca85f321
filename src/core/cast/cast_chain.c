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
typedef enum chain_hub { CHAIN_F32, CHAIN_F64, CHAIN_I64, CHAIN_U64 } chain_hub;

static void chain_add(dlpark__cast_chain *chain, dlpark__cast_step step)
{
    if (step != NULL)
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

static chain_hub chain_from(dlpark__cast_chain *chain, const dlpark__cast_job *job, const dlpark__cast_steps *steps)
{
    const dlpark__float_format *format = job->from.format;
    DLDataType dtype = job->from.part;

    if (format != NULL) {
        if (dtype.bits == 64)
            return CHAIN_F64;
        if (dtype.bits == 32)
            return CHAIN_F32;
        chain_widen(&chain->params, format);
        chain_add(chain, dtype.bits == 16                        ? steps->f32_of_float16
                         : format->flavour == DLPARK__FLOAT_E8M0 ? steps->f32_of_scale
                                                                 : steps->f32_of_float8);
        return CHAIN_F32;
    }
    if (dtype.code == kDLBool) {
        chain_add(chain, steps->i64_of_bool);
        return CHAIN_I64;
    }
    chain->params.nbits = dtype.bits;
    chain_add(chain, (dtype.code == kDLInt ? steps->i64_of_signed : steps->i64_of_unsigned)[chain_width(dtype.bits)]);
    return dtype.code == kDLUInt && dtype.bits == 64 ? CHAIN_U64 : CHAIN_I64;
}

/* ---- To the destination ---- */

/* The bits of a float32 with the value of a code; every code of at most 16 bits has one. */
static uint32_t chain_float(uint64_t code, const dlpark__float_format *format)
{
    uint64_t bits = dlpark__float_decode(code, format);
    double value;
    float narrow;
    uint32_t out;

    memcpy(&value, &bits, sizeof value);
    narrow = (float)value;
    memcpy(&out, &narrow, sizeof out);
    return out;
}

static void chain_narrow(dlpark__cast_params *params, const dlpark__cast_job *job)
{
    const dlpark__float_format *format = job->to.format;
    uint64_t largest = dlpark__float_largest(format), beyond = dlpark__float_beyond(format);
    const dlpark__real nan = {DLPARK__REAL_NAN, false, 0, 0};
    uint32_t half = 1u << (22 - format->fraction_bits); /* of the last place of the largest, in a float32 */
    unsigned events = 0;

    params->shift = 23u - format->fraction_bits;
    params->rebias = 127u - format->bias;
    params->sign = (uint32_t)format->fraction_bits + format->exponent_bits;
    /* What lies midway goes to the even one. */
    params->limit = chain_float(largest, format) + half - (uint32_t)(largest & 1);
    params->over = (uint32_t)(job->overflow == DLPARK_OVERFLOW_NOSAT ? beyond : largest);
    params->infinite = (uint32_t)(job->overflow == DLPARK_OVERFLOW_SATALL ? largest : beyond);
    params->nan = (uint32_t)dlpark__float_encode(&nan, format, job->overflow, job->scale, &events);
    params->payload = format->fraction_bits >= 7 ? (1u << format->fraction_bits) - 1 : 0;
    params->largest = (uint32_t)largest;
    params->fnuz = format->flavour == DLPARK__FLOAT_FNUZ;
}

static void chain_to_float(dlpark__cast_chain *chain, const dlpark__cast_job *job, const dlpark__cast_steps *steps,
                           chain_hub hub)
{
    bool small = job->to.part.bits < 32;

    chain->params.saturates = job->overflow != DLPARK_OVERFLOW_NOSAT;
    chain->params.saturates_infinite = job->overflow == DLPARK_OVERFLOW_SATALL;
    chain->params.scale = (uint8_t)job->scale;
    if (job->to.part.bits == 64) {
        chain_add(chain, hub == CHAIN_F32   ? steps->f64_of_f32
                         : hub == CHAIN_I64 ? steps->f64_of_i64
                         : hub == CHAIN_U64 ? steps->f64_of_u64
                                            : NULL);
        chain_add(chain, chain->params.saturates_infinite ? steps->finite[DLPARK__CAST_64] : NULL);
        return;
    }
    switch (hub) {
    case CHAIN_F64:
        chain_add(chain, small ? steps->odd_of_f64 : steps->f32_of_f64);
        break;
    case CHAIN_I64:
        chain_add(chain, small ? steps->odd_of_i64 : steps->f32_of_i64);
        break;
    case CHAIN_U64:
        chain_add(chain, small ? steps->odd_of_u64 : steps->f32_of_u64);
        break;
    default:
        break;
    }
    if (!small) {
        chain_add(chain, hub == CHAIN_F32 && chain->params.saturates_infinite ? steps->finite[DLPARK__CAST_32] : NULL);
        return;
    }
    if (job->to.format->flavour == DLPARK__FLOAT_E8M0) {
        chain_add(chain, steps->scale_of_f32);
        return;
    }
    chain_narrow(&chain->params, job);
    chain_add(chain, job->to.part.bits == 16 ? steps->float16_of_f32 : steps->float8_of_f32);
}

static void chain_to_integer(dlpark__cast_chain *chain, const dlpark__cast_job *job, const dlpark__cast_steps *steps,
                             chain_hub hub)
{
    unsigned bits = job->to.part.bits;
    bool is_signed = job->to.part.code == kDLInt;
    int width = chain_width(bits);
    dlpark__cast_params *params = &chain->params;

    params->high = UINT64_MAX >> (64 - bits) >> is_signed;
    params->low = is_signed ? -(int64_t)params->high - 1 : 0;
    params->low_float = (double)params->low;
    params->past_float = (double)((params->high >> 1) + 1) * 2 - (bits == 1 && is_signed);
    if (hub == CHAIN_I64 || hub == CHAIN_U64) {
        bool wraps = job->overflow == DLPARK_OVERFLOW_WRAP;
        chain_add(chain, (wraps ? steps->wrap : hub == CHAIN_U64 ? steps->saturate_u64 : steps->saturate_i64)[width]);
    } else if (job->overflow == DLPARK_OVERFLOW_WRAP) {
        chain->count = -1; /* nobody asks for that often: one element at a time */
    } else if (bits == 64) {
        if (hub == CHAIN_F32)
            chain_add(chain, steps->f64_of_f32);
        chain_add(chain, is_signed ? steps->integer_of_f64[width] : steps->uint64_of_f64);
    } else {
        chain_add(chain, (hub == CHAIN_F32 ? steps->integer_of_f32 : steps->integer_of_f64)[width]);
    }
}

void dlpark__cast_chain_make(dlpark__cast_chain *chain, const dlpark__cast_job *job)
{
    const dlpark__cast_steps *steps = &dlpark__cast_generic;
    bool to_bool = job->to.part.code == kDLBool;

    memset(chain, 0, sizeof *chain);
    if (to_bool && job->from.parts == 2) { /* both parts count */
        chain->count = -1;
        return;
    }
    if (job->to.format != NULL && job->to.format == job->from.format) { /* a part of a complex one: moved */
        chain_add(chain,
                  job->overflow == DLPARK_OVERFLOW_SATALL ? steps->finite[chain_width(job->to.part.bits)] : NULL);
        return;
    }
    chain_hub hub = chain_from(chain, job, steps);
    if (to_bool)
        chain_add(chain, hub == CHAIN_F32   ? steps->bool_of_f32
                         : hub == CHAIN_F64 ? steps->bool_of_f64
                                            : steps->bool_of_i64);
    else if (job->to.format != NULL)
        chain_to_float(chain, job, steps, hub);
    else
        chain_to_integer(chain, job, steps, hub);
}
