#include <dlpark/dtype_limits.h>

#include <string.h>

#include "float_parts.h"

static double limits_double(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static double limits_decode(uint64_t code, const dlpark__float_format *format)
{
    return limits_double(dlpark__float_decode(code, format));
}

static dlpark_scalar limits_scalar(dlpark_scalar_kind kind)
{
    dlpark_scalar scalar;

    memset(&scalar, 0, sizeof scalar);
    scalar.kind = kind;
    scalar.is_exact = true;
    return scalar;
}

static void limits_of_float(const dlpark__float_format *format, dlpark_limits *out)
{
    bool is_scale = format->flavour == DLPARK__FLOAT_E8M0;
    uint64_t normal = is_scale ? 0 : UINT64_C(1) << format->fraction_bits;
    uint64_t largest = dlpark__float_largest(format);

    out->max = out->lowest = limits_scalar(DLPARK_SCALAR_FLOAT);
    out->max.re = limits_decode(largest, format);
    out->lowest.re = is_scale ? limits_decode(0, format) : -out->max.re;
    out->smallest_normal = limits_decode(normal, format);
    out->smallest_subnormal = limits_decode(!is_scale, format);
    out->eps = limits_double((uint64_t)(1023 - format->fraction_bits) << 52);
    out->digits = format->fraction_bits + 1;
    out->has_infinity = format->flavour == DLPARK__FLOAT_IEEE;
    out->has_nan = format->flavour != DLPARK__FLOAT_FINITE;
    out->has_signed_zero = !is_scale && format->flavour != DLPARK__FLOAT_FNUZ;
    out->has_zero = out->has_subnormals = !is_scale;
}

static void limits_of_integer(DLDataType dtype, dlpark_limits *out)
{
    bool is_signed = dtype.code == kDLInt;
    bool is_bool = dtype.code == kDLBool;
    unsigned digits = is_bool ? 1u : (unsigned)dtype.bits - is_signed;

    out->max = out->lowest = limits_scalar(is_bool     ? DLPARK_SCALAR_BOOL
                                           : is_signed ? DLPARK_SCALAR_INT
                                                       : DLPARK_SCALAR_UINT);
    out->max.low = digits >= 64 ? UINT64_MAX : (UINT64_C(1) << digits) - 1;
    out->max.high = digits >= 128 ? UINT64_MAX : digits > 64 ? (UINT64_C(1) << (digits - 64)) - 1 : 0;
    out->lowest.low = is_signed ? ~out->max.low : 0;
    out->lowest.high = is_signed ? ~out->max.high : 0;
    out->digits = (int32_t)digits;
    out->has_zero = true;
}

dlpark_status dlpark_dtype_limits(DLDataType dtype, dlpark_limits *out, dlpark_error *err)
{
    const dlpark__float_format *format = dlpark__float_format_of(dtype);

    dtype.lanes = 1;
    DLPARK_TRY(dlpark_dtype_check(dtype, err));
    if (format == NULL && dtype.code != kDLInt && dtype.code != kDLUInt && dtype.code != kDLBool)
        return dlpark_error_set(err, DLPARK_E_DTYPE, "%s has no limits that a double holds",
                                dlpark_dtype_name(dtype).text);
    memset(out, 0, sizeof *out);
    if (format != NULL)
        limits_of_float(format, out);
    else
        limits_of_integer(dtype, out);
    return DLPARK_OK;
}
