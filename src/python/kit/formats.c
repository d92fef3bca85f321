#include "formats.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define FORMATS_NATIVE   ">"
#define FORMATS_IS_OTHER '<'
#else
#define FORMATS_NATIVE   "<"
#define FORMATS_IS_OTHER '>'
#endif

/* 64-bit integers as the C type that NumPy calls int64 here, so that the dtype is the usual one of the two. */
#if LONG_MAX > 0x7fffffff
#define FORMATS_INT64  "l"
#define FORMATS_UINT64 "L"
#else
#define FORMATS_INT64  "q"
#define FORMATS_UINT64 "Q"
#endif

/* ---- Formats ---- */

/* What a code of the module struct stands for. */
typedef struct formats_code {
    char letter;
    uint8_t code;
    uint8_t native_nbytes;
    uint8_t standard_nbytes; /* with a prefix of '=', '<', '>' or '!'; 0: it has no such size */
} formats_code;

static const formats_code formats_codes[] = {
    {'?', kDLBool, 1, 1},
    {'b', kDLInt, 1, 1},
    {'B', kDLUInt, 1, 1},
    {'h', kDLInt, sizeof(short), 2},
    {'H', kDLUInt, sizeof(short), 2},
    {'i', kDLInt, sizeof(int), 4},
    {'I', kDLUInt, sizeof(int), 4},
    {'l', kDLInt, sizeof(long), 4},
    {'L', kDLUInt, sizeof(long), 4},
    {'q', kDLInt, sizeof(long long), 8},
    {'Q', kDLUInt, sizeof(long long), 8},
    {'n', kDLInt, sizeof(ptrdiff_t), 0},
    {'N', kDLUInt, sizeof(size_t), 0},
    {'e', kDLFloat, 2, 2},
    {'f', kDLFloat, 4, 4},
    {'d', kDLFloat, 8, 8},
    {'F', kDLComplex, 8, 8},
    {'D', kDLComplex, 16, 16},
};

/* What people meet, and is no number of DLPack's, by its first letter: of formats, and of kinds. */
typedef struct formats_refusal {
    char letter;
    const char *reason;
} formats_refusal;

static const formats_refusal formats_refusals[] = {
    {'c', "a character is no number"},
    {'s', "text is no number"},
    {'p', "text is no number"},
    {'u', "text is no number"},
    {'w', "text is no number"},
    {'U', "text is no number"},
    {'O', "references to Python objects cannot be exchanged"},
    {'P', "pointers cannot be exchanged"},
    {'&', "pointers cannot be exchanged"},
    {'X', "pointers cannot be exchanged"},
    {'g', "a long double has no DLPack type"},
    {'G', "a complex long double has no DLPack type"},
    {'Z', "there are complex numbers of 'e', 'f' and 'd' alone"},
    {'T', "a structure is not one number"},
    {'x', "padding is not one number"},
    {'(', "an array within the element is not one number"},
    {'t', "bits cannot be exchanged"},
};

static const formats_refusal formats_kind_refusals[] = {
    {'f', "a float has 2, 4 or 8 bytes"},
    {'c', "a complex number has 8 or 16 bytes"},
    {'b', "a boolean has 1 byte"},
    {'i', "an integer has 1, 2, 4 or 8 bytes"},
    {'u', "an integer has 1, 2, 4 or 8 bytes"},
    {'t', "bits cannot be exchanged"},
    {'m', "time differences have no DLPack type"},
    {'M', "times have no DLPack type"},
    {'O', "references to Python objects cannot be exchanged"},
    {'S', "text is no number"},
    {'a', "text is no number"},
    {'U', "text is no number"},
    {'V', "a structure, or bytes of no known meaning, is not one number"},
};

static const char *formats_reason(const formats_refusal *refusals, size_t count, char letter, const char *otherwise)
{
    for (size_t i = 0; i < count; i++)
        if (refusals[i].letter == letter)
            return refusals[i].reason;
    return otherwise;
}

static DLPARK_COLD dlpark_status formats_refuse(const char *format, const char *code, dlpark_error *err)
{
    const char *reason;

    if (*code >= '0' && *code <= '9')
        reason = "a repeat count makes it more than one number";
    else if (*code == '\0')
        reason = "it is empty";
    else if (code[1] != '\0' && strchr("TX(&Z", *code) == NULL)
        reason = "it is more than one number";
    else
        reason = formats_reason(formats_refusals, sizeof formats_refusals / sizeof *formats_refusals, *code,
                                "it is not known");
    return dlpark_error_set(err, DLPARK_E_DTYPE, "the format \"%.64s\" is of no dtype: %s", format, reason);
}

static const formats_code *formats_find(char letter)
{
    for (size_t i = 0; i < sizeof formats_codes / sizeof *formats_codes; i++)
        if (formats_codes[i].letter == letter)
            return &formats_codes[i];
    return NULL;
}

/* The dtype of what follows the prefix; its size in bytes, or 0 where it is of none. */
static uint32_t formats_read_code(const char *code, bool is_native, DLDataType *dtype)
{
    bool is_complex = *code == 'Z';
    const formats_code *found;
    uint32_t nbytes;

    if (strcmp(code, "bfloat16") == 0) {
        *dtype = DLPARK_BF16;
        return 2;
    }
    found = formats_find(code[is_complex]);
    if (found == NULL || code[is_complex + 1] != '\0' || (is_complex && found->code != kDLFloat))
        return 0;
    nbytes = is_native ? found->native_nbytes : found->standard_nbytes;
    if (is_complex)
        nbytes *= 2;
    *dtype = DLPARK_DTYPE(is_complex ? kDLComplex : found->code, 8 * nbytes, 1);
    return nbytes;
}

dlpark_status dlpark__py_format_parse(const char *format, int64_t item_nbytes, DLDataType *dtype, bool *swapped,
                                      dlpark_error *err)
{
    /* The module struct knows all but '^': native sizes without alignment. */
    char prefix = *format != '\0' && strchr("@^=<>!", *format) != NULL ? *format : '@';
    const char *code = format + (*format == prefix);
    DLDataType read;
    uint32_t nbytes = formats_read_code(code, prefix == '@' || prefix == '^', &read);

    if (nbytes == 0)
        return formats_refuse(format, code, err);
    if (nbytes != (uint64_t)item_nbytes)
        return dlpark_error_set(err, DLPARK_E_DTYPE,
                                "the format \"%.64s\" is of items of %u bytes, but the items have %lld", format,
                                (unsigned)nbytes, (long long)item_nbytes);
    *dtype = read;
    *swapped = nbytes > 1 && (prefix == '!' ? '>' : prefix) == FORMATS_IS_OTHER;
    return DLPARK_OK;
}

/* ---- Typestrs ---- */

dlpark_status dlpark__py_typestr_split(const char *text, dlpark__py_typestr *out, dlpark_error *err)
{
    bool has_order = *text != '\0' && strchr("<>|=", *text) != NULL;
    const char *digit = has_order && text[1] != '\0' ? text + 2 : "";
    int32_t nbytes = 0;

    /* Nine digits fit. */
    for (int i = 0; i < 9 && *digit >= '0' && *digit <= '9'; i++)
        nbytes = 10 * nbytes + (*digit++ - '0');
    bool has_size = digit != text + 2 || text[1] == 'O'; /* NumPy says "|O" */
    /* Times have a unit at the end: "<M8[ns]". */
    bool has_end = *digit == '\0' || (*digit == '[' && strchr("mM", text[1]) != NULL);
    if (!has_order || text[1] == '\0' || !has_size || !has_end)
        return dlpark_error_set(err, DLPARK_E_DTYPE, "the typestr \"%.64s\" is not of the form \"<f4\"", text);
    *out = (dlpark__py_typestr){nbytes > 1 && *text == FORMATS_IS_OTHER, text[1], nbytes};
    return DLPARK_OK;
}

dlpark_status dlpark__py_kind_parse(char kind, int64_t item_nbytes, DLDataType *dtype, dlpark_error *err)
{
    static const struct {
        char kind;
        uint8_t code;
        uint8_t nbytes; /* the sizes that it has, each a power of two and so a bit of its own */
    } kinds[] = {
        {'b', kDLBool, 1},          {'i', kDLInt, 1 | 2 | 4 | 8}, {'u', kDLUInt, 1 | 2 | 4 | 8},
        {'f', kDLFloat, 2 | 4 | 8}, {'c', kDLComplex, 8 | 16},
    };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i].kind == kind && item_nbytes > 0 && item_nbytes <= 16 && (item_nbytes & (item_nbytes - 1)) == 0 &&
            (kinds[i].nbytes & item_nbytes) != 0) {
            *dtype = DLPARK_DTYPE(kinds[i].code, 8 * item_nbytes, 1);
            return DLPARK_OK;
        }
    }
    const char *reason = formats_reason(
        formats_kind_refusals, sizeof formats_kind_refusals / sizeof *formats_kind_refusals, kind, "it is not known");
    return dlpark_error_set(err, DLPARK_E_DTYPE, "the kind '%c' with items of %lld bytes is of no dtype: %s",
                            kind > ' ' && kind <= '~' ? kind : '?', (long long)item_nbytes, reason);
}

bool dlpark__py_kind_is_open(char kind, int64_t item_nbytes)
{
    return kind == 'V' || kind == 'W' || (kind == 'f' && item_nbytes == 1);
}

dlpark_status dlpark__py_typestr_parse(const char *text, DLDataType *dtype, bool *swapped, dlpark_error *err)
{
    dlpark__py_typestr parts;

    DLPARK_TRY(dlpark__py_typestr_split(text, &parts, err));
    DLPARK_TRY(dlpark__py_kind_parse(parts.kind, parts.item_nbytes, dtype, err));
    *swapped = parts.is_swapped;
    return DLPARK_OK;
}

/* ---- The other way ---- */

typedef struct formats_names {
    uint8_t code;
    uint8_t bits;
    const char *format;
    const char *typestr;
} formats_names;

static const formats_names formats_table[] = {
    {kDLBool, 8, "?", "|b1"},
    {kDLInt, 8, "b", "|i1"},
    {kDLInt, 16, "h", FORMATS_NATIVE "i2"},
    {kDLInt, 32, "i", FORMATS_NATIVE "i4"},
    {kDLInt, 64, FORMATS_INT64, FORMATS_NATIVE "i8"},
    {kDLUInt, 8, "B", "|u1"},
    {kDLUInt, 16, "H", FORMATS_NATIVE "u2"},
    {kDLUInt, 32, "I", FORMATS_NATIVE "u4"},
    {kDLUInt, 64, FORMATS_UINT64, FORMATS_NATIVE "u8"},
    {kDLFloat, 16, "e", FORMATS_NATIVE "f2"},
    {kDLFloat, 32, "f", FORMATS_NATIVE "f4"},
    {kDLFloat, 64, "d", FORMATS_NATIVE "f8"},
    {kDLComplex, 64, "Zf", FORMATS_NATIVE "c8"},
    {kDLComplex, 128, "Zd", FORMATS_NATIVE "c16"},
};

static const formats_names *formats_names_of(DLDataType dtype)
{
    for (size_t i = 0; i < sizeof formats_table / sizeof *formats_table; i++)
        if (formats_table[i].code == dtype.code && formats_table[i].bits == dtype.bits && dtype.lanes == 1)
            return &formats_table[i];
    return NULL;
}

const char *dlpark__py_format_of(DLDataType dtype)
{
    const formats_names *names = formats_names_of(dtype);

    return names != NULL ? names->format : NULL;
}

const char *dlpark__py_typestr_of(DLDataType dtype)
{
    const formats_names *names = formats_names_of(dtype);

    return names != NULL ? names->typestr : NULL;
}

/* ---- Byte order ---- */

void dlpark__py_swap(void *data, int64_t nbytes, DLDataType dtype)
{
    int width = dtype.code == kDLComplex ? dtype.bits / 16 : dtype.bits / 8;

    if (width == 2) {
        uint16_t *values = data;
        for (int64_t i = 0; i < nbytes / 2; i++)
            values[i] = __builtin_bswap16(values[i]);
    } else if (width == 4) {
        uint32_t *values = data;
        for (int64_t i = 0; i < nbytes / 4; i++)
            values[i] = __builtin_bswap32(values[i]);
    } else if (width == 8) {
        uint64_t *values = data;
        for (int64_t i = 0; i < nbytes / 8; i++)
            values[i] = __builtin_bswap64(values[i]);
    }
}
