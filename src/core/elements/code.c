#include <dlpark/code.h>

#include <string.h>

#include "element_parts.h"
#include "float_parts.h"

/* Doubles by their bits: an x87 would make a signalling NaN quiet. */
static uint64_t code_double_bits(const double *value)
{
    uint64_t bits;

    memcpy(&bits, value, sizeof bits);
    return bits;
}

static dlpark_status code_check(DLDataType dtype, dlpark_error *err)
{
    dtype.lanes = 1;
    DLPARK_TRY(dlpark_dtype_check(dtype, err));
    if (dtype.bits <= 64 && dtype.code != kDLComplex && dtype.code != kDLOpaqueHandle)
        return DLPARK_OK;
    return dlpark_error_set(err, DLPARK_E_DTYPE, "%s is not one number of at most 64 bits",
                            dlpark_dtype_name(dtype).text);
}

/* The code alone, with what an integer has above it: copies of its sign. */
static uint64_t code_trim(DLDataType dtype, uint64_t code)
{
    unsigned spare = 64u - dtype.bits;

    code = code << spare >> spare;
    if (dtype.code == kDLInt && (code >> (dtype.bits - 1) & 1) != 0)
        code |= spare > 0 ? UINT64_MAX << dtype.bits : 0;
    return code;
}

dlpark_status dlpark_code_decode(DLDataType dtype, uint64_t code, double *out, dlpark_error *err)
{
    DLPARK_TRY(code_check(dtype, err));

    const dlpark__float_format *format = dlpark__float_format_of(dtype);
    uint64_t bits;
    code = code_trim(dtype, code);
    if (format != NULL) {
        bits = dlpark__float_decode(code, format);
    } else {
        bool is_negative = dtype.code == kDLInt && code >> 63 != 0;
        dlpark__real real = dlpark__real_of_integer(dtype.code == kDLBool ? code != 0 : code, is_negative);
        unsigned events = 0;
        bits = dlpark__float_encode(&real, dlpark__float_format_of(DLPARK_F64), DLPARK_OVERFLOW_NOSAT,
                                    DLPARK_SCALE_NEAREST, &events);
    }
    memcpy(out, &bits, sizeof bits);
    return DLPARK_OK;
}

static dlpark_status code_check_overflow(DLDataType dtype, bool to_float, dlpark_overflow overflow, dlpark_error *err)
{
    if ((unsigned)overflow > DLPARK_OVERFLOW_REFUSE)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "overflow is %d, which is no mode", (int)overflow);
    if (overflow == DLPARK_OVERFLOW_DEFAULT || overflow == DLPARK_OVERFLOW_REFUSE || dtype.code == kDLBool ||
        to_float == (overflow <= DLPARK_OVERFLOW_SATALL))
        return DLPARK_OK;
    dtype.lanes = 1;
    return dlpark_error_set(err, DLPARK_E_ARGUMENT, "overflow is %d, which has no meaning for %s", (int)overflow,
                            dlpark_dtype_name(dtype).text);
}

/* The code in a mode that is none of DEFAULT and REFUSE, but for bool. */
static uint64_t code_of(DLDataType dtype, const double *value, const dlpark__float_format *format,
                        dlpark_overflow overflow, unsigned *events)
{
    uint64_t bits = code_double_bits(value);
    dlpark__real real = dlpark__real_of_double(bits);

    if (format != NULL && format->fraction_bits == 52)
        return bits;
    if (dtype.code == kDLBool)
        return bits << 1 != 0; /* -0 is 0, and NaN is not */
    return format != NULL ? dlpark__float_encode(&real, format, overflow, DLPARK_SCALE_NEAREST, events)
                          : dlpark__integer_encode(&real, dtype.bits, dtype.code == kDLInt, overflow, events);
}

dlpark_status dlpark_code_encode(DLDataType dtype, double value, dlpark_overflow overflow, uint64_t *out,
                                 dlpark_error *err)
{
    DLPARK_TRY(code_check(dtype, err));

    const dlpark__float_format *format = dlpark__float_format_of(dtype);
    dlpark_overflow mode = overflow;
    unsigned events = 0;
    DLPARK_TRY(code_check_overflow(dtype, format != NULL, overflow, err));
    if (overflow == DLPARK_OVERFLOW_DEFAULT || overflow == DLPARK_OVERFLOW_REFUSE)
        mode = format != NULL ? DLPARK_OVERFLOW_NOSAT : DLPARK_OVERFLOW_SATURATE;
    uint64_t code = code_of(dtype, &value, format, mode, &events);
    if (overflow == DLPARK_OVERFLOW_REFUSE && dlpark__real_is_lost(events, dtype)) {
        dtype.lanes = 1;
        return dlpark_error_set(err, DLPARK_E_VALUE, "the value is %.17g, which %s does not hold", value,
                                dlpark_dtype_name(dtype).text);
    }
    *out = code;
    return DLPARK_OK;
}
