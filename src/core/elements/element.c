#include <stddef.h>
#include <string.h>

#include <dlpark/cast.h>
#include <dlpark/check.h>

#include "element_parts.h"
#include "float_parts.h"

_Static_assert(sizeof(double) == 8, "a double is IEEE binary64");

#define ELEMENT_SIGN      (UINT64_C(1) << 63)
#define ELEMENT_INFINITE  (UINT64_C(0x7FF) << 52)
#define ELEMENT_QUIET     (UINT64_C(1) << 51)
#define ELEMENT_BIAS      1023
#define ELEMENT_QUAD_BIAS 16383

/* ---- Bits ---- */

/* Doubles are moved as integers: a register of the x87 would make a signalling NaN quiet. */
static void element_store(double *to, uint64_t bits)
{
    memcpy(to, &bits, sizeof bits);
}

/* A whole number of bytes, 1, 2, 4 or 8, in the host's byte order. */
static uint64_t element_word(const unsigned char *at, unsigned nbytes)
{
    uint16_t two;
    uint32_t four;
    uint64_t eight;

    switch (nbytes) {
    case 1:
        return *at;
    case 2:
        memcpy(&two, at, 2);
        return two;
    case 4:
        memcpy(&four, at, 4);
        return four;
    default:
        memcpy(&eight, at, 8);
        return eight;
    }
}

static void element_halves(const unsigned char *at, dlpark_scalar *out)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    out->high = element_word(at, 8);
    out->low = element_word(at + 8, 8);
#else
    out->low = element_word(at, 8);
    out->high = element_word(at + 8, 8);
#endif
}

/* At most 64 bits. A lane of 6 bits can lie across two bytes; the second is touched only then. */
static uint64_t element_bits(const unsigned char *at, unsigned bit, unsigned width)
{
    if (width >= 8)
        return element_word(at, width / 8);

    unsigned value = (unsigned)at[0] >> bit;
    if (bit + width > 8)
        value |= (unsigned)at[1] << (8 - bit);
    return value & ((1u << width) - 1);
}

/* ---- Floats ---- */

/* Shifts right; what falls out stays visible in the lowest bit, so that rounding sees whether it was 0. */
static uint64_t element_shift(uint64_t value, int64_t count)
{
    if (count <= 0)
        return value;
    if (count > 63)
        return value != 0;
    return value >> count | (value << (64 - count) != 0);
}

/* IEEE binary128 as the nearest double, ties to even. */
static void element_quad(dlpark_scalar *out)
{
    uint64_t sign = out->high & ELEMENT_SIGN;
    int64_t exponent = (int64_t)(out->high >> 48 & 0x7FFF);
    uint64_t fraction = (out->high & 0xFFFFFFFFFFFF) << 16 | out->low >> 48; /* 64 of its 112 bits */
    uint64_t rest = out->low << 16;

    out->is_exact = true;
    if (exponent == 0x7FFF) {
        bool is_nan = fraction != 0 || rest != 0;
        element_store(&out->re, sign | ELEMENT_INFINITE | (is_nan ? ELEMENT_QUIET | fraction >> 12 : 0));
        return;
    }
    if (exponent == 0) { /* zero, or far below the smallest double */
        out->is_exact = fraction == 0 && rest == 0;
        element_store(&out->re, sign);
        return;
    }
    /* 64 bits of the significand, the highest of them 1, the lowest for all that follow. */
    uint64_t significand = ELEMENT_SIGN | element_shift(fraction, 1) | (rest != 0);
    int64_t biased = exponent - ELEMENT_QUAD_BIAS + ELEMENT_BIAS;
    significand = element_shift(significand, 1 - biased);
    uint64_t bits = significand >> 11;
    uint64_t dropped = significand & 0x7FF;
    bits += dropped > 0x400 || (dropped == 0x400 && (bits & 1) != 0);
    if (biased > 0)
        bits += (uint64_t)(biased - 1) << 52; /* the highest bit of the significand is the other 1 */
    out->is_exact = dropped == 0 && biased < 0x7FF;
    element_store(&out->re, sign | (biased < 0x7FF ? bits : ELEMENT_INFINITE));
}

/* The same for a float, or a part of a complex number, of 16, 32 or 64 bits. */
static uint64_t element_part(const unsigned char *at, unsigned width)
{
    const dlpark__float_format *format = dlpark__float_format_of((DLDataType){kDLFloat, (uint8_t)width, 1});

    return dlpark__float_decode(element_word(at, width / 8), format);
}

/* ---- One lane ---- */

static void element_load_integer(const unsigned char *at, unsigned bit, DLDataType dtype, dlpark_scalar *out)
{
    out->kind = dtype.code == kDLInt ? DLPARK_SCALAR_INT : DLPARK_SCALAR_UINT;
    if (dtype.bits == 128) {
        element_halves(at, out);
        return;
    }
    out->low = element_bits(at, bit, dtype.bits);
    out->high = 0;
    if (dtype.code == kDLInt && (out->low >> (dtype.bits - 1) & 1) != 0) {
        out->low |= dtype.bits < 64 ? UINT64_MAX << dtype.bits : 0;
        out->high = UINT64_MAX;
    }
}

void dlpark__element_load(const unsigned char *at, unsigned bit, DLDataType dtype, dlpark_scalar *out)
{
    out->is_exact = true;
    switch (dtype.code) {
    case kDLInt:
    case kDLUInt:
        element_load_integer(at, bit, dtype, out);
        return;
    case kDLBool:
        out->kind = DLPARK_SCALAR_BOOL;
        out->low = *at != 0;
        out->high = 0;
        return;
    case kDLOpaqueHandle:
        out->kind = DLPARK_SCALAR_OPAQUE;
        out->nbytes = dtype.bits / 8u;
        memcpy(out->raw, at, out->nbytes);
        return;
    case kDLComplex:
        out->kind = DLPARK_SCALAR_COMPLEX;
        element_store(&out->re, element_part(at, dtype.bits / 2u));
        element_store(&out->im, element_part(at + dtype.bits / 16u, dtype.bits / 2u));
        return;
    case kDLFloat:
        out->kind = DLPARK_SCALAR_FLOAT;
        if (dtype.bits == 128) {
            element_halves(at, out);
            element_quad(out);
        } else {
            element_store(&out->re, element_part(at, dtype.bits));
        }
        return;
    default:
        out->kind = DLPARK_SCALAR_FLOAT;
        element_store(&out->re,
                      dlpark__float_decode(element_bits(at, bit, dtype.bits), dlpark__float_format_of(dtype)));
    }
}

dlpark__grid dlpark__element_grid(DLDataType dtype)
{
    const dlpark__float_format *format = dlpark__float_format_of(dtype);

    if (format == NULL)
        return (dlpark__grid){113, 1 - ELEMENT_QUAD_BIAS - 112};
    /* The smallest exponent is that of the subnormal numbers, where there are any. */
    return (dlpark__grid){format->fraction_bits + 1,
                          (format->flavour != DLPARK__FLOAT_E8M0) - format->bias - format->fraction_bits};
}

/* ---- Elements of a view ---- */

/* The byte in which an element begins, and the bit of it. */
static const unsigned char *element_find(const dlpark_view *view, int64_t at, unsigned *bit)
{
    int64_t nbits = dlpark__view_element_nbits(view);
    const unsigned char *data = view->data;

    *bit = 0;
    if (!dlpark__view_is_packed(view))
        return data + nbits / 8 * at;
    /* Eight elements are whole bytes; the bits of all of them together might leave 63 bits. */
    int64_t rest = at & 7;
    int64_t bits = rest * nbits + view->bit_offset;
    *bit = (unsigned)(bits % 8);
    return data + (at - rest) / 8 * nbits + bits / 8;
}

void dlpark_element_load(const dlpark_view *view, int64_t at, uint32_t lane, dlpark_scalar *out)
{
    unsigned bit;
    const unsigned char *data = element_find(view, at, &bit);
    uint64_t bits = bit + (uint64_t)lane * view->dtype.bits;

    dlpark__element_load(data + bits / 8, (unsigned)(bits % 8), view->dtype, out);
}

/* Where an element lies, in elements from element 0, once it is known that there is such a lane of it. */
static dlpark_status element_locate(const dlpark_view *view, const int64_t *index, uint32_t lane, int64_t *out,
                                    dlpark_error *err)
{
    uint64_t at = 0; /* unsigned: strides that mean nothing, as without elements, may be any number */

    DLPARK_TRY(dlpark__view_check_host(view, err));
    if (index == NULL && view->ndim > 0)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "index is NULL although the rank is %d", (int)view->ndim);
    for (int32_t i = 0; i < view->ndim; i++) {
        int64_t extent = view->shape[i];
        int64_t place = index[i] < 0 ? index[i] + extent : index[i];
        if (place < 0 || place >= extent)
            return dlpark_error_set(err, DLPARK_E_INDEX, "index %lld is out of range for dimension %d of extent %lld",
                                    (long long)index[i], (int)i, (long long)extent);
        at += (uint64_t)place * (uint64_t)view->strides[i];
    }
    if (lane >= view->dtype.lanes)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "lane %u is out of range for %s", (unsigned)lane,
                                dlpark_dtype_name(view->dtype).text);
    *out = (int64_t)at;
    return DLPARK_OK;
}

dlpark_status dlpark_element_read(const dlpark_view *view, const int64_t *index, uint32_t lane, dlpark_scalar *out,
                                  dlpark_error *err)
{
    int64_t at = 0; /* for compilers that take the failure for a way to here */

    DLPARK_TRY(element_locate(view, index, lane, &at, err));
    dlpark_element_load(view, at, lane, out);
    return DLPARK_OK;
}

/* ---- Writing: a cast from one element to one ---- */

/* A scalar as a tensor of rank 0, whose memory is `room`. */
static dlpark_status element_source(const dlpark_scalar *scalar, double room[2], DLTensor *out, dlpark_error *err)
{
    bool fits = true;

    *out = (DLTensor){.data = room, .device = {kDLCPU, 0}};
    switch (scalar->kind) {
    case DLPARK_SCALAR_BOOL:
    case DLPARK_SCALAR_UINT:
        out->dtype = DLPARK_U64;
        fits = scalar->high == 0;
        break;
    case DLPARK_SCALAR_INT:
        out->dtype = DLPARK_I64;
        fits = scalar->high == (scalar->low >> 63 != 0 ? UINT64_MAX : 0);
        break;
    case DLPARK_SCALAR_FLOAT:
    case DLPARK_SCALAR_COMPLEX:
        out->dtype = scalar->kind == DLPARK_SCALAR_FLOAT ? DLPARK_F64 : DLPARK_C128;
        memcpy(&room[0], &scalar->re, sizeof scalar->re);
        memcpy(&room[1], &scalar->im, scalar->kind == DLPARK_SCALAR_FLOAT ? 0 : sizeof scalar->im);
        return DLPARK_OK;
    default:
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the scalar is of kind %d, which is no number",
                                (int)scalar->kind);
    }
    if (!fits)
        return dlpark_error_set(err, DLPARK_E_VALUE, "the scalar is an integer of more than 64 bits");
    memcpy(room, &scalar->low, sizeof scalar->low);
    return DLPARK_OK;
}

/* One lane of one element as a view of rank 0. */
static void element_target(const dlpark_view *view, int64_t at, uint32_t lane, dlpark_view *out)
{
    unsigned bit;
    const unsigned char *data = element_find(view, at, &bit);
    uint64_t bits = bit + (uint64_t)lane * view->dtype.bits;

    memset(out, 0, offsetof(dlpark_view, shape));
    out->data = (unsigned char *)(uintptr_t)data + bits / 8; /* as `view` itself has it, to be written */
    out->device = view->device;
    out->dtype = view->dtype;
    out->dtype.lanes = 1;
    out->flags = view->flags & ~(view->dtype.lanes > 1 ? DLPARK_VIEW_PADDED : 0); /* lanes lie side by side */
    out->bit_offset = (uint32_t)(bits % 8);
}

dlpark_status dlpark_element_write(const dlpark_view *view, const int64_t *index, uint32_t lane,
                                   const dlpark_scalar *scalar, const dlpark_cast_options *options, dlpark_error *err)
{
    double room[2] = {0, 0};
    dlpark_view to, from;
    DLTensor source;
    int64_t at = 0; /* as above */

    DLPARK_TRY(element_locate(view, index, lane, &at, err));
    DLPARK_TRY(dlpark__view_check_write(view, err));
    DLPARK_TRY(element_source(scalar, room, &source, err));
    DLPARK_TRY(dlpark_check(&source, 0, &from, err)); /* GCOVR_EXCL_BR_LINE: nothing is wrong with what was made here */
    element_target(view, at, lane, &to);
    return dlpark_cast(&to, &from, options, err);
}
