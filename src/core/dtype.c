#include <stdio.h>
#include <string.h>

#include "internal.h"

/* What a code can be: an exact width, or a set of powers of two. Bit n of `widths` is a width of 2^n bits. */
typedef struct dtype_row {
    const char *name;      /* short; followed by the width where that can vary */
    const char *long_name; /* as NumPy and ml_dtypes have it; likewise */
    uint8_t width;         /* 0 where it can vary */
    uint8_t widths;
} dtype_row;

#define DTYPE_INTEGER_WIDTHS 0xFF /* 1 to 128 */
#define DTYPE_FLOAT_WIDTHS   0xF0 /* 16 to 128 */
#define DTYPE_COMPLEX_WIDTHS 0xE0 /* 32 to 128, both parts */

static const dtype_row dtype_rows[] = {
    [kDLInt] = {"i", "int", 0, DTYPE_INTEGER_WIDTHS},
    [kDLUInt] = {"u", "uint", 0, DTYPE_INTEGER_WIDTHS},
    [kDLFloat] = {"f", "float", 0, DTYPE_FLOAT_WIDTHS},
    [kDLOpaqueHandle] = {"opaque", "opaque", 0, 0}, /* any whole number of bytes */
    [kDLBfloat] = {"bf16", "bfloat16", 16, 0},
    [kDLComplex] = {"c", "complex", 0, DTYPE_COMPLEX_WIDTHS},
    [kDLBool] = {"bool", "bool", 8, 0},
    [kDLFloat8_e3m4] = {"f8_e3m4", "float8_e3m4", 8, 0},
    [kDLFloat8_e4m3] = {"f8_e4m3", "float8_e4m3", 8, 0},
    [kDLFloat8_e4m3b11fnuz] = {"f8_e4m3b11fnuz", "float8_e4m3b11fnuz", 8, 0},
    [kDLFloat8_e4m3fn] = {"f8_e4m3fn", "float8_e4m3fn", 8, 0},
    [kDLFloat8_e4m3fnuz] = {"f8_e4m3fnuz", "float8_e4m3fnuz", 8, 0},
    [kDLFloat8_e5m2] = {"f8_e5m2", "float8_e5m2", 8, 0},
    [kDLFloat8_e5m2fnuz] = {"f8_e5m2fnuz", "float8_e5m2fnuz", 8, 0},
    [kDLFloat8_e8m0fnu] = {"f8_e8m0fnu", "float8_e8m0fnu", 8, 0},
    [kDLFloat6_e2m3fn] = {"f6_e2m3fn", "float6_e2m3fn", 6, 0},
    [kDLFloat6_e3m2fn] = {"f6_e3m2fn", "float6_e3m2fn", 6, 0},
    [kDLFloat4_e2m1fn] = {"f4_e2m1fn", "float4_e2m1fn", 4, 0},
};

#define DTYPE_CODES (sizeof dtype_rows / sizeof dtype_rows[0])

static bool dtype_is_known(DLDataType dtype)
{
    if (dtype.code >= DTYPE_CODES || dtype.lanes == 0 || dtype.bits == 0)
        return false;

    const dtype_row *row = &dtype_rows[dtype.code];
    if (dtype.code == kDLComplex && dtype.lanes != 1)
        return false; /* two lanes of 32 bits are how some meant complex64 */
    if (row->width != 0)
        return dtype.bits == row->width;
    if (row->widths == 0)
        return dtype.bits % 8 == 0;
    return (dtype.bits & (dtype.bits - 1)) == 0 && (row->widths >> __builtin_ctz(dtype.bits) & 1) != 0;
}

dlpark_status dlpark_dtype_check(DLDataType dtype, dlpark_error *err)
{
    if (DLPARK_LIKELY(dtype_is_known(dtype)))
        return DLPARK_OK;
    if (dtype.code >= DTYPE_CODES)
        return dlpark_error_set(err, DLPARK_E_DTYPE, "dtype code %u (bits %u, lanes %u) is unknown to DLPack %d.%d",
                                dtype.code, dtype.bits, dtype.lanes, DLPARK_ABI_MAJOR, DLPARK_ABI_MINOR);
    if (dtype.lanes == 0)
        return dlpark_error_set(err, DLPARK_E_DTYPE, "dtype has 0 lanes (code %u, bits %u)", dtype.code, dtype.bits);
    if (dtype.code == kDLComplex && dtype.lanes != 1)
        return dlpark_error_set(err, DLPARK_E_DTYPE,
                                "complex dtype has %u lanes of %u bits; bits counts both parts, "
                                "lanes is 1",
                                dtype.lanes, dtype.bits);
    return dlpark_error_set(err, DLPARK_E_DTYPE, "dtype code %u (%s) cannot have %u bits (lanes %u)", dtype.code,
                            dtype_rows[dtype.code].long_name, dtype.bits, dtype.lanes);
}

static dlpark_name dtype_format(DLDataType dtype, const char *name)
{
    dlpark_name out;
    int at;

    if (!dtype_is_known(dtype)) {
        snprintf(out.text, sizeof out.text, "dtype(code=%u, bits=%u, lanes=%u)", dtype.code, dtype.bits, dtype.lanes);
        return out;
    }
    if (dtype_rows[dtype.code].width != 0)
        at = snprintf(out.text, sizeof out.text, "%s", name);
    else
        at = snprintf(out.text, sizeof out.text, "%s%u", name, dtype.bits);
    if (dtype.lanes != 1)
        snprintf(out.text + at, sizeof out.text - (size_t)at, "x%u", dtype.lanes);
    return out;
}

dlpark_name dlpark_dtype_name(DLDataType dtype)
{
    return dtype_format(dtype, dtype.code < DTYPE_CODES ? dtype_rows[dtype.code].name : "");
}

dlpark_name dlpark_dtype_long_name(DLDataType dtype)
{
    return dtype_format(dtype, dtype.code < DTYPE_CODES ? dtype_rows[dtype.code].long_name : "");
}

/* Reads a decimal without sign or leading zeros, at most `limit`; returns what follows it, NULL when there is none. */
static const char *dtype_read_number(const char *text, unsigned limit, unsigned *out)
{
    unsigned value = 0;

    if (*text < '1' || *text > '9')
        return NULL;
    for (; *text >= '0' && *text <= '9'; text++) {
        value = value * 10 + (unsigned)(*text - '0');
        if (value > limit)
            return NULL;
    }
    *out = value;
    return text;
}

/* Whether `name` is this row's `word`, its width and its lanes, and nothing else. */
static bool dtype_match(const char *name, const char *word, uint8_t code, DLDataType *out)
{
    size_t length = strlen(word);
    unsigned bits = dtype_rows[code].width;
    unsigned lanes = 1;

    if (strncmp(name, word, length) != 0)
        return false;
    name += length;
    if (bits == 0) {
        name = dtype_read_number(name, UINT8_MAX, &bits);
        if (name == NULL)
            return false;
    }
    if (*name == 'x') {
        name = dtype_read_number(name + 1, UINT16_MAX, &lanes);
        if (name == NULL)
            return false;
    }
    DLDataType dtype = {code, (uint8_t)bits, (uint16_t)lanes};
    if (*name != '\0' || !dtype_is_known(dtype))
        return false;
    *out = dtype;
    return true;
}

dlpark_status dlpark_dtype_parse(const char *name, DLDataType *out, dlpark_error *err)
{
    for (uint8_t code = 0; code < DTYPE_CODES; code++)
        if (dtype_match(name, dtype_rows[code].name, code, out) ||
            dtype_match(name, dtype_rows[code].long_name, code, out))
            return DLPARK_OK;
    return dlpark_error_set(err, DLPARK_E_DTYPE,
                            "\"%.60s\" is not a dtype; expected a name such as f32, u8, bf16, bool, c64, f8_e4m3fn, "
                            "float32 or uint8, with lanes as f32x4",
                            name);
}
