/*
 * Names of dtypes as other libraries spell them.
 */
#include <stdio.h>
#include <string.h>

#include "internal.h"

/* Whose word it is. */
enum { NAME_BARE = 1, NAME_TORCH = 2, NAME_NUMPY = 4, NAME_OTHER = 8 };

/* By what a name of a library begins. */
static const struct name_prefix {
    const char *text;
    unsigned whose;
} name_prefixes[] = {
    {"torch.", NAME_TORCH},      {"numpy.", NAME_NUMPY},     {"np.", NAME_NUMPY},  {"cupy.", NAME_NUMPY},
    {"ml_dtypes.", NAME_OTHER},  {"jax.numpy.", NAME_OTHER}, {"jnp.", NAME_OTHER}, {"mlx.core.", NAME_OTHER},
    {"tensorflow.", NAME_OTHER}, {"tf.", NAME_OTHER},
};

/* Words beside the names of dtype.c. Those of C's types mean in NumPy what they mean in C, and in PyTorch always the
 * same; without a prefix they are taken where both agree. */
static const struct name_alias {
    const char *text;
    unsigned whose;
    DLDataType dtype;
} name_aliases[] = {
    {"half", NAME_BARE | NAME_TORCH | NAME_NUMPY | NAME_OTHER, {kDLFloat, 16, 1}},
    {"single", NAME_BARE | NAME_NUMPY, {kDLFloat, 32, 1}},
    {"double", NAME_BARE | NAME_TORCH | NAME_NUMPY | NAME_OTHER, {kDLFloat, 64, 1}},
    {"float", NAME_TORCH, {kDLFloat, 32, 1}},
    {"short", NAME_BARE | NAME_TORCH | NAME_NUMPY, {kDLInt, 16, 1}},
    {"int", NAME_TORCH, {kDLInt, 32, 1}},
    {"long", NAME_BARE | NAME_TORCH, {kDLInt, 64, 1}},
    {"long", NAME_NUMPY, {kDLInt, sizeof(long) * 8, 1}},
    {"longlong", NAME_BARE | NAME_NUMPY, {kDLInt, 64, 1}},
    {"intc", NAME_BARE | NAME_NUMPY, {kDLInt, 32, 1}},
    {"byte", NAME_NUMPY, {kDLInt, 8, 1}},
    {"ubyte", NAME_BARE | NAME_NUMPY, {kDLUInt, 8, 1}},
    {"ushort", NAME_BARE | NAME_NUMPY, {kDLUInt, 16, 1}},
    {"uintc", NAME_BARE | NAME_NUMPY, {kDLUInt, 32, 1}},
    {"ulong", NAME_NUMPY, {kDLUInt, sizeof(long) * 8, 1}},
    {"ulonglong", NAME_BARE | NAME_NUMPY, {kDLUInt, 64, 1}},
    {"bool_", NAME_BARE | NAME_NUMPY | NAME_OTHER, {kDLBool, 8, 1}},
    {"chalf", NAME_BARE | NAME_TORCH, {kDLComplex, 32, 1}},
    {"cfloat", NAME_TORCH, {kDLComplex, 64, 1}},
    {"csingle", NAME_BARE | NAME_NUMPY, {kDLComplex, 64, 1}},
    {"cdouble", NAME_BARE | NAME_TORCH | NAME_NUMPY, {kDLComplex, 128, 1}},
    {"float4_e2m1fn_x2", NAME_BARE | NAME_TORCH, {kDLFloat4_e2m1fn, 4, 2}},
    /* safetensors; the plain ones are GGML's too. Its E4M3 is the one without infinity. */
    {"BOOL", NAME_BARE, {kDLBool, 8, 1}},
    {"I8", NAME_BARE, {kDLInt, 8, 1}},
    {"I16", NAME_BARE, {kDLInt, 16, 1}},
    {"I32", NAME_BARE, {kDLInt, 32, 1}},
    {"I64", NAME_BARE, {kDLInt, 64, 1}},
    {"U8", NAME_BARE, {kDLUInt, 8, 1}},
    {"U16", NAME_BARE, {kDLUInt, 16, 1}},
    {"U32", NAME_BARE, {kDLUInt, 32, 1}},
    {"U64", NAME_BARE, {kDLUInt, 64, 1}},
    {"F16", NAME_BARE, {kDLFloat, 16, 1}},
    {"F32", NAME_BARE, {kDLFloat, 32, 1}},
    {"F64", NAME_BARE, {kDLFloat, 64, 1}},
    {"BF16", NAME_BARE, {kDLBfloat, 16, 1}},
    {"C64", NAME_BARE, {kDLComplex, 64, 1}},
    {"F8_E4M3", NAME_BARE, {kDLFloat8_e4m3fn, 8, 1}},
    {"F8_E4M3FNUZ", NAME_BARE, {kDLFloat8_e4m3fnuz, 8, 1}},
    {"F8_E5M2", NAME_BARE, {kDLFloat8_e5m2, 8, 1}},
    {"F8_E5M2FNUZ", NAME_BARE, {kDLFloat8_e5m2fnuz, 8, 1}},
    {"F8_E8M0", NAME_BARE, {kDLFloat8_e8m0fnu, 8, 1}},
    {"F6_E2M3", NAME_BARE, {kDLFloat6_e2m3fn, 6, 1}},
    {"F6_E3M2", NAME_BARE, {kDLFloat6_e3m2fn, 6, 1}},
    {"F4", NAME_BARE, {kDLFloat4_e2m1fn, 4, 1}},
};

#define NAME_ALIASES (sizeof name_aliases / sizeof name_aliases[0])

/* Words that are not taken, as they mean different things to different people. */
static const struct name_doubtful {
    const char *text;
    const char *meanings;
} name_doubtfuls[] = {
    {"float", "float32 (torch.float) or float64 (Python, NumPy)"},
    {"int", "int32 (torch.int) or int64 (Python, NumPy)"},
    {"uint", "uint32 or uint64"},
    {"byte", "int8 (NumPy) or uint8"},
    {"char", "int8 or uint8"},
    {"ulong", "uint64 or uint32"},
    {"complex", "complex64 or complex128"},
    {"cfloat", "complex64 (torch.cfloat) or complex128"},
    {"f2", "float16, which is f16 or <f2"},
    {"f4", "float32, which is f32 or <f4"},
    {"f8", "float64, which is f64 or <f8"},
    {"c8", "complex64, which is c64 or <c8"},
    {"c16", "complex128, which is c128 or <c16"},
    {"float8", "float8_e4m3fn or float8_e5m2"},
    {"fp8", "float8_e4m3fn or float8_e5m2"},
    {"F8", "F8_E4M3 or F8_E5M2"},
    {"F6", "F6_E2M3 or F6_E3M2"},
    {"float4", "float4_e2m1fn"},
    {"fp4", "float4_e2m1fn"},
};

/* ---- Typestrs: "<f4" ---- */

static bool name_is_native(char order)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return order == '=' || order == '|' || order == '>';
#else
    return order == '=' || order == '|' || order == '<';
#endif
}

/* The dtype of a kind and of bytes, as NumPy counts them. */
static bool name_typestr(const char *kind, DLDataType *out)
{
    static const struct {
        const char *text;
        DLDataType dtype;
    } kinds[] = {
        {"b1", {kDLBool, 8, 1}},     {"i1", {kDLInt, 8, 1}},        {"i2", {kDLInt, 16, 1}},
        {"i4", {kDLInt, 32, 1}},     {"i8", {kDLInt, 64, 1}},       {"u1", {kDLUInt, 8, 1}},
        {"u2", {kDLUInt, 16, 1}},    {"u4", {kDLUInt, 32, 1}},      {"u8", {kDLUInt, 64, 1}},
        {"f2", {kDLFloat, 16, 1}},   {"f4", {kDLFloat, 32, 1}},     {"f8", {kDLFloat, 64, 1}},
        {"c8", {kDLComplex, 64, 1}}, {"c16", {kDLComplex, 128, 1}},
    };

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kind, kinds[i].text) == 0) {
            *out = kinds[i].dtype;
            return true;
        }
    }
    return false;
}

/* ---- What was meant ---- */

static char name_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

size_t dlpark__name_distance(const char *text, size_t length, const char *word)
{
    enum { MOST = 24 }; /* no word is longer */
    size_t rows[3][MOST + 1], width = strlen(word);

    if (width > MOST || length > MOST)
        return SIZE_MAX;
    for (size_t j = 0; j <= width; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= length; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            char left = name_lower(text[i - 1]), right = name_lower(word[j - 1]);
            size_t least = above[j - 1] + (left != right);
            least = above[j] + 1 < least ? above[j] + 1 : least;
            least = row[j - 1] + 1 < least ? row[j - 1] + 1 : least;
            if (i > 1 && j > 1 && left == name_lower(word[j - 2]) && name_lower(text[i - 2]) == right &&
                before[j - 2] + 1 < least)
                least = before[j - 2] + 1;
            row[j] = least;
        }
    }
    return rows[length % 3][width];
}

static void name_nearer(const char *name, const char *other, dlpark_name *best, size_t *least)
{
    size_t distance = dlpark__name_distance(name, strlen(name), other);

    if (distance >= *least)
        return;
    *least = distance;
    snprintf(best->text, sizeof best->text, "%s", other);
}

/* The name that is nearest, if it is near at all; else an empty one. Behind a library's name the long ones alone. */
static dlpark_name name_nearest(const char *name, unsigned whose)
{
    static const uint8_t widths[] = {1, 2, 4, 6, 8, 16, 32, 64, 128};
    dlpark_name best = {""};
    size_t length = strlen(name);
    size_t least = length < 3 ? 1 : length < 6 ? 2 : 3; /* one below it is near */

    for (unsigned code = 0; code <= kDLFloat4_e2m1fn; code++)
        for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
            DLDataType dtype = {(uint8_t)code, widths[i], 1};
            if (code == kDLOpaqueHandle || dlpark_dtype_check(dtype, NULL) != DLPARK_OK)
                continue;
            name_nearer(name, dlpark_dtype_long_name(dtype).text, &best, &least);
            if (whose == NAME_BARE)
                name_nearer(name, dlpark_dtype_name(dtype).text, &best, &least);
        }
    for (size_t i = 0; i < NAME_ALIASES; i++)
        if ((name_aliases[i].whose & whose) != 0)
            name_nearer(name, name_aliases[i].text, &best, &least);
    return best;
}

/* "Q4_K", "IQ2_XS", "MXFP4": numbers come in blocks there. */
static bool name_is_block(const char *name)
{
    const char *digit = strncmp(name, "IQ", 2) == 0 || strncmp(name, "TQ", 2) == 0 ? name + 2 : name + 1;

    return strcmp(name, "MXFP4") == 0 || strcmp(name, "NVFP4") == 0 ||
           (strchr("QIT", name[0]) != NULL && name[0] != '\0' && (digit != name + 1 || name[0] == 'Q') &&
            *digit >= '0' && *digit <= '9');
}

static DLPARK_COLD dlpark_status name_refuse(const char *name, const char *last, unsigned whose, dlpark_error *err)
{
    dlpark__quoted quoted = dlpark__quote(name, strlen(name));

    for (size_t i = 0; i < sizeof name_doubtfuls / sizeof name_doubtfuls[0]; i++)
        if (strcmp(last, name_doubtfuls[i].text) == 0)
            return dlpark_error_set(err, DLPARK_E_DTYPE, "\"%s\" is not clear as a dtype; did you mean %s?",
                                    quoted.text, name_doubtfuls[i].meanings);
    if (name_is_block(last))
        return dlpark_error_set(err, DLPARK_E_DTYPE, "\"%s\" is a format of whole blocks, not the dtype of an element",
                                quoted.text);
    dlpark_name nearest = name_nearest(last, whose);
    if (nearest.text[0] != '\0')
        return dlpark_error_set(err, DLPARK_E_DTYPE, "\"%s\" is not a dtype; did you mean %s?", quoted.text,
                                nearest.text);
    return dlpark_error_set(err, DLPARK_E_DTYPE,
                            "\"%s\" is not a dtype; expected a name such as float32, f32, <f4, torch.half, BF16 or "
                            "float8_e4m3fn",
                            quoted.text);
}

/* ---- All of them ---- */

static bool name_find(const char *name, unsigned whose, DLDataType *out)
{
    for (size_t i = 0; i < NAME_ALIASES; i++) {
        if ((name_aliases[i].whose & whose) != 0 && strcmp(name, name_aliases[i].text) == 0) {
            *out = name_aliases[i].dtype;
            return true;
        }
    }
    DLDataType dtype;
    if (dlpark_dtype_parse(name, &dtype, NULL) != DLPARK_OK)
        return false;
    /* Behind a library's name only the long ones are its own: numpy.i8 would have 8 bytes. */
    if (whose != NAME_BARE && strcmp(dlpark_dtype_long_name(dtype).text, name) != 0)
        return false;
    *out = dtype;
    return true;
}

dlpark_status dlpark_dtype_from_name(const char *name, DLDataType *out, dlpark_error *err)
{
    const char *last = name;
    unsigned whose = NAME_BARE;
    DLDataType dtype;

    if (*name != '\0' && strchr("<>=|", *name) != NULL) {
        if (!name_typestr(name + 1, &dtype))
            return dlpark_error_set(err, DLPARK_E_DTYPE,
                                    "\"%s\" is not the typestr of a dtype; expected one such as <f4",
                                    dlpark__quote(name, strlen(name)).text);
        if (!name_is_native(*name) && dtype.bits > 8)
            return dlpark_error_set(err, DLPARK_E_DTYPE,
                                    "\"%s\" is of the other byte order, which DLPack cannot express", name);
        *out = dtype;
        return DLPARK_OK;
    }
    for (size_t i = 0; i < sizeof name_prefixes / sizeof name_prefixes[0] && whose == NAME_BARE; i++) {
        size_t length = strlen(name_prefixes[i].text);
        if (strncmp(name, name_prefixes[i].text, length) == 0) {
            whose = name_prefixes[i].whose;
            last = name + length;
        }
    }
    return name_find(last, whose, out) ? DLPARK_OK : name_refuse(name, last, whose, err);
}
