#include <stdio.h>
#include <string.h>

#include "internal.h"

/* What a code can be: an exact width, a set of powers of two, or any whole number of bytes where neither is there. */
typedef struct dtype_row {
    const char *name;      /* short; followed by the width where that can vary */
    const char *long_name; /* as NumPy and ml_dtypes have it; likewise */
    uint8_t width;         /* 0 where it can vary */
    uint8_t widths;        /* bit n: 2^n bits */
    const char *expected;  /* the same for people */
} dtype_row;

#define DTYPE_WIDTH(bits)    bits, 0, #bits
#define DTYPE_INTEGER_WIDTHS 0, 0xFF, "1, 2, 4, 8, 16, 32, 64 or 128"
#define DTYPE_FLOAT_WIDTHS   0, 0xF0, "16, 32, 64 or 128"
#define DTYPE_COMPLEX_WIDTHS 0, 0xE0, "32, 64 or 128" /* both parts */
#define DTYPE_OPAQUE_WIDTHS  0, 0, "a multiple of 8"

static const dtype_row dtype_rows[] = {
    [kDLInt] = {"i", "int", DTYPE_INTEGER_WIDTHS},
    [kDLUInt] = {"u", "uint", DTYPE_INTEGER_WIDTHS},
    [kDLFloat] = {"f", "float", DTYPE_FLOAT_WIDTHS},
    [kDLOpaqueHandle] = {"opaque", "opaque", DTYPE_OPAQUE_WIDTHS},
    [kDLBfloat] = {"bf16", "bfloat16", DTYPE_WIDTH(16)},
    [kDLComplex] = {"c", "complex", DTYPE_COMPLEX_WIDTHS},
    [kDLBool] = {"bool", "bool", DTYPE_WIDTH(8)},
    [kDLFloat8_e3m4] = {"f8_e3m4", "float8_e3m4", DTYPE_WIDTH(8)},
    [kDLFloat8_e4m3] = {"f8_e4m3", "float8_e4m3", DTYPE_WIDTH(8)},
    [kDLFloat8_e4m3b11fnuz] = {"f8_e4m3b11fnuz", "float8_e4m3b11fnuz", DTYPE_WIDTH(8)},
    [kDLFloat8_e4m3fn] = {"f8_e4m3fn", "float8_e4m3fn", DTYPE_WIDTH(8)},
    [kDLFloat8_e4m3fnuz] = {"f8_e4m3fnuz", "float8_e4m3fnuz", DTYPE_WIDTH(8)},
    [kDLFloat8_e5m2] = {"f8_e5m2", "float8_e5m2", DTYPE_WIDTH(8)},
    [kDLFloat8_e5m2fnuz] = {"f8_e5m2fnuz", "float8_e5m2fnuz", DTYPE_WIDTH(8)},
    [kDLFloat8_e8m0fnu] = {"f8_e8m0fnu", "float8_e8m0fnu", DTYPE_WIDTH(8)},
    [kDLFloat6_e2m3fn] = {"f6_e2m3fn", "float6_e2m3fn", DTYPE_WIDTH(6)},
    [kDLFloat6_e3m2fn] = {"f6_e3m2fn", "float6_e3m2fn", DTYPE_WIDTH(6)},
    [kDLFloat4_e2m1fn] = {"f4_e2m1fn", "float4_e2m1fn", DTYPE_WIDTH(4)},
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

const char *dlpark__dtype_code_name(uint8_t code)
{
    return code < DTYPE_CODES ? dtype_rows[code].long_name : "unknown";
}

const char *dlpark__dtype_widths(uint8_t code)
{
    return code < DTYPE_CODES ? dtype_rows[code].expected : "";
}

static const char *dtype_plural(DLDataType dtype)
{
    return dtype.bits == 1 ? "" : "s";
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
                                "complex dtype has %u lanes of %u bit%s; bits counts both parts, lanes is 1",
                                dtype.lanes, dtype.bits, dtype_plural(dtype));
    return dlpark_error_set(err, DLPARK_E_DTYPE, "dtype code %u (%s) cannot have %u bit%s (lanes %u); expected %s",
                            dtype.code, dlpark__dtype_code_name(dtype.code), dtype.bits, dtype_plural(dtype),
                            dtype.lanes, dlpark__dtype_widths(dtype.code));
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

size_t dlpark__read_decimal(const char *text, size_t length, int64_t limit, int64_t *out)
{
    int64_t value = 0;
    size_t count = 0;

    for (; count < length && text[count] >= '0' && text[count] <= '9'; count++) {
        int next = text[count] - '0';
        if (value >= 0)
            value = value > (limit - next) / 10 ? -1 : value * 10 + next;
    }
    *out = value;
    return count > 1 && *text == '0' ? 0 : count;
}

/* Steps over a number from 1 to `limit`; false when there is none. */
static bool dtype_read_number(const char **text, int64_t limit, int64_t *out)
{
    size_t count = dlpark__read_decimal(*text, strlen(*text), limit, out);

    *text += count;
    return count > 0 && *out > 0;
}

/* Whether `name` is this row's `word`, its width and its lanes, and nothing else. */
static bool dtype_match(const char *name, const char *word, uint8_t code, DLDataType *out)
{
    size_t length = strlen(word);
    int64_t bits = dtype_rows[code].width;
    int64_t lanes = 1;

    if (strncmp(name, word, length) != 0)
        return false;
    name += length;
    if (bits == 0 && !dtype_read_number(&name, UINT8_MAX, &bits))
        return false;
    if (*name == 'x') {
        name++;
        if (!dtype_read_number(&name, UINT16_MAX, &lanes))
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
                            "\"%s\" is not a dtype; expected a name such as f32, u8, bf16, bool, c64, f8_e4m3fn, "
                            "float32 or uint8, with lanes as f32x4",
                            dlpark__quote(name, strlen(name)).text);
}
