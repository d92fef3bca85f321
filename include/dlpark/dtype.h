/**
 * Element types: constants, names both ways, widths.
 *
 *     DLDataType dtype;
 *     DLPARK_TRY(dlpark_dtype_parse("bfloat16", &dtype, err));
 *     printf("%s\n", dlpark_dtype_name(dtype).text);           // bf16
 *
 * A dtype is the whole triple of code, bits and lanes: two dtypes are equal only if all three are. A code that DLPack
 * 1.3 does not define is named as such and never guessed. Pointers must not be NULL unless a parameter is optional.
 */
#ifndef DLPARK_DTYPE_H
#define DLPARK_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "dlpack.h"
#include "status.h"

/** A dtype from its three parts. A value: strict C11 has no constants of a struct type for static initialisers. */
#define DLPARK_DTYPE(code, bits, lanes)                                                                                \
    (DLPARK_LITERAL(DLDataType){DLPARK_CAST(uint8_t, (code)), DLPARK_CAST(uint8_t, (bits)),                            \
                                DLPARK_CAST(uint16_t, (lanes))})

/** The everyday dtypes of one lane, and every narrow float: bits in the name, `I` signed, `U` unsigned, `F` float. */
#define DLPARK_BOOL           DLPARK_DTYPE(kDLBool, 8, 1)
#define DLPARK_I8             DLPARK_DTYPE(kDLInt, 8, 1)
#define DLPARK_I16            DLPARK_DTYPE(kDLInt, 16, 1)
#define DLPARK_I32            DLPARK_DTYPE(kDLInt, 32, 1)
#define DLPARK_I64            DLPARK_DTYPE(kDLInt, 64, 1)
#define DLPARK_U8             DLPARK_DTYPE(kDLUInt, 8, 1)
#define DLPARK_U16            DLPARK_DTYPE(kDLUInt, 16, 1)
#define DLPARK_U32            DLPARK_DTYPE(kDLUInt, 32, 1)
#define DLPARK_U64            DLPARK_DTYPE(kDLUInt, 64, 1)
#define DLPARK_I4             DLPARK_DTYPE(kDLInt, 4, 1)
#define DLPARK_U4             DLPARK_DTYPE(kDLUInt, 4, 1)
#define DLPARK_F16            DLPARK_DTYPE(kDLFloat, 16, 1)
#define DLPARK_F32            DLPARK_DTYPE(kDLFloat, 32, 1)
#define DLPARK_F64            DLPARK_DTYPE(kDLFloat, 64, 1)
#define DLPARK_BF16           DLPARK_DTYPE(kDLBfloat, 16, 1)
#define DLPARK_C64            DLPARK_DTYPE(kDLComplex, 64, 1)
#define DLPARK_C128           DLPARK_DTYPE(kDLComplex, 128, 1)
#define DLPARK_F8_E3M4        DLPARK_DTYPE(kDLFloat8_e3m4, 8, 1)
#define DLPARK_F8_E4M3        DLPARK_DTYPE(kDLFloat8_e4m3, 8, 1)
#define DLPARK_F8_E4M3B11FNUZ DLPARK_DTYPE(kDLFloat8_e4m3b11fnuz, 8, 1)
#define DLPARK_F8_E4M3FN      DLPARK_DTYPE(kDLFloat8_e4m3fn, 8, 1)
#define DLPARK_F8_E4M3FNUZ    DLPARK_DTYPE(kDLFloat8_e4m3fnuz, 8, 1)
#define DLPARK_F8_E5M2        DLPARK_DTYPE(kDLFloat8_e5m2, 8, 1)
#define DLPARK_F8_E5M2FNUZ    DLPARK_DTYPE(kDLFloat8_e5m2fnuz, 8, 1)
#define DLPARK_F8_E8M0FNU     DLPARK_DTYPE(kDLFloat8_e8m0fnu, 8, 1)
#define DLPARK_F6_E2M3FN      DLPARK_DTYPE(kDLFloat6_e2m3fn, 6, 1)
#define DLPARK_F6_E3M2FN      DLPARK_DTYPE(kDLFloat6_e3m2fn, 6, 1)
#define DLPARK_F4_E2M1FN      DLPARK_DTYPE(kDLFloat4_e2m1fn, 4, 1)

DLPARK_BEGIN_C

/** Whether code, bits and lanes are all equal. */
DLPARK_INLINE bool dlpark_dtype_equal(DLDataType a, DLDataType b);

/** Bits of one element, all lanes: 96 for f32x3, 4 for i4. 0 if bits or lanes is 0. */
DLPARK_INLINE uint32_t dlpark_dtype_nbits(DLDataType dtype);

/** Whether elements are narrower than a byte boundary, so that neighbours share bytes unless padded. */
DLPARK_INLINE bool dlpark_dtype_is_packed(DLDataType dtype);

/** Whether it is one of the everyday dtypes: one lane of bool, i8 to i64, u8 to u64, f16, f32, f64, bf16, c64 or c128. */
DLPARK_INLINE bool dlpark__dtype_is_usual(DLDataType dtype);

/**
 * The short name: "f32", "u8", "bf16", "c64", "bool", "f8_e4m3fn", "opaque64", with lanes "f32x4".
 * A triple that DLPack 1.3 does not define comes as "dtype(code=18, bits=16, lanes=1)".
 * Threads: any.
 */
DLPARK_API dlpark_name dlpark_dtype_name(DLDataType dtype);

/** The long name, as NumPy and ml_dtypes have it: "float32", "uint8", "bfloat16", "float8_e4m3fn". Else as above. */
DLPARK_API dlpark_name dlpark_dtype_long_name(DLDataType dtype);

/**
 * The dtype of a short or long name, with an optional "xN" for lanes. Case matters.
 *
 * @param name  in. Must not be NULL.
 * @param out   out. Not written on failure.
 * @param err   out, optional. Quotes what was not understood.
 * @return DLPARK_OK; DLPARK_E_DTYPE.
 * Threads: any; independent of the locale.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_dtype_parse(const char *name, DLDataType *out, dlpark_error *err);

/**
 * The dtype of a name in whatever spelling: those that dlpark_dtype_parse() takes, and those of NumPy ("float32", "<f4",
 * "numpy.single"), PyTorch ("torch.float32", "torch.half"), ml_dtypes and JAX ("jnp.bfloat16"), safetensors and GGML ("F32",
 * "BF16", "F8_E4M3", which is f8_e4m3fn).
 *
 * A word that means different things to different libraries needs the library's name before it: "float" is refused,
 * "torch.float" is f32. Short names count bits, as dlpark_dtype_name() does: "i8" is int8, and "<i8" is NumPy's int64.
 *
 * @param name  in. Case matters. For user input; what programs write to each other is for dlpark_dtype_parse().
 * @param out   out. Not written on failure.
 * @param err   out, optional. Quotes the name, and says which one was probably meant.
 * @return DLPARK_OK; DLPARK_E_DTYPE (also for the other byte order, as in ">f4").
 * Threads: any; independent of the locale.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_dtype_from_name(const char *name, DLDataType *out, dlpark_error *err);

/**
 * Whether DLPack 1.3 defines this triple: a known code with a width that the code can have, and at least one lane.
 *
 * Integers have 1, 2, 4, 8, 16, 32, 64 or 128 bits, floats 16, 32, 64 or 128, complex numbers 32, 64, 128 (both
 * parts, one lane), opaque handles a multiple of 8; every other code has exactly one width.
 *
 * @param dtype  in.
 * @param err    out, optional. Names code, bits and lanes, and the bits that the code can have.
 * @return DLPARK_OK; DLPARK_E_DTYPE.
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_dtype_check(DLDataType dtype, dlpark_error *err);

DLPARK_INLINE bool dlpark_dtype_equal(DLDataType a, DLDataType b)
{
    return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

DLPARK_INLINE uint32_t dlpark_dtype_nbits(DLDataType dtype)
{
    return DLPARK_CAST(uint32_t, dtype.bits) * dtype.lanes;
}

DLPARK_INLINE bool dlpark__dtype_is_usual(DLDataType dtype)
{
    /* A byte for each code, from kDLInt to kDLBool: the widths it has, each a power of two and so a bit of its own. */
    return dtype.lanes == 1 && dtype.code <= kDLBool && (dtype.bits & (dtype.bits - 1)) == 0 &&
           (UINT64_C(0x08C01000707878) >> 8 * dtype.code & dtype.bits) != 0;
}

DLPARK_INLINE bool dlpark_dtype_is_packed(DLDataType dtype)
{
    return dlpark_dtype_nbits(dtype) % 8 != 0;
}

DLPARK_END_C

/* ---- The dtype of a C type: DLPARK_DTYPE_OF(float) is DLPARK_F32. A type without a dtype does not compile. ------ */

#if defined(__cplusplus)

#include <complex>
#include <type_traits>

namespace dlpark
{
namespace detail
{
template <typename T> struct is_complex : std::false_type {
};
template <> struct is_complex<std::complex<float>> : std::true_type {
};
template <> struct is_complex<std::complex<double>> : std::true_type {
};

template <typename T> struct is_text : std::false_type {
};
template <> struct is_text<char> : std::true_type {
};
template <> struct is_text<wchar_t> : std::true_type {
};
#if defined(__cpp_char8_t)
template <> struct is_text<char8_t> : std::true_type {
};
#endif
template <> struct is_text<char16_t> : std::true_type {
};
template <> struct is_text<char32_t> : std::true_type {
};

/* The whole numbers that stand for extents and elements: what is neither text nor a truth value. */
template <typename T>
struct is_number
    : std::integral_constant<bool, std::is_integral<T>::value && !std::is_same<T, bool>::value && !is_text<T>::value> {
};
} // namespace detail

template <typename Qualified> constexpr DLDataType dtype_of()
{
    using T = typename std::remove_cv<Qualified>::type;
    static_assert(detail::is_number<T>::value || detail::is_complex<T>::value || std::is_same<T, bool>::value ||
                      std::is_same<T, float>::value || std::is_same<T, double>::value,
                  "no DLPack dtype stands for this C++ type");
    return DLDataType{static_cast<uint8_t>(std::is_same<T, bool>::value       ? kDLBool
                                           : detail::is_complex<T>::value     ? kDLComplex
                                           : std::is_floating_point<T>::value ? kDLFloat
                                           : std::is_signed<T>::value         ? kDLInt
                                                                              : kDLUInt),
                      static_cast<uint8_t>(sizeof(T) * 8), 1};
}
} // namespace dlpark

#define DLPARK_DTYPE_OF(T) (dlpark::dtype_of<T>())

#else

/** The dtype of this code that is as wide as T. */
#define DLPARK_DTYPE_OF_BITS(code, T) DLPARK_DTYPE((code), (uint8_t)(sizeof(T) * 8), 1)
/** The dtype of a C type: integers, bool, float, double and complex. */
#define DLPARK_DTYPE_OF(T)                                                                                             \
    _Generic((T *)0,                                                                                                   \
        _Bool *: DLPARK_DTYPE_OF_BITS(kDLBool, T),                                                                     \
        signed char *: DLPARK_DTYPE_OF_BITS(kDLInt, T),                                                                \
        short *: DLPARK_DTYPE_OF_BITS(kDLInt, T),                                                                      \
        int *: DLPARK_DTYPE_OF_BITS(kDLInt, T),                                                                        \
        long *: DLPARK_DTYPE_OF_BITS(kDLInt, T),                                                                       \
        long long *: DLPARK_DTYPE_OF_BITS(kDLInt, T),                                                                  \
        unsigned char *: DLPARK_DTYPE_OF_BITS(kDLUInt, T),                                                             \
        unsigned short *: DLPARK_DTYPE_OF_BITS(kDLUInt, T),                                                            \
        unsigned int *: DLPARK_DTYPE_OF_BITS(kDLUInt, T),                                                              \
        unsigned long *: DLPARK_DTYPE_OF_BITS(kDLUInt, T),                                                             \
        unsigned long long *: DLPARK_DTYPE_OF_BITS(kDLUInt, T),                                                        \
        float *: DLPARK_DTYPE_OF_BITS(kDLFloat, T),                                                                    \
        double *: DLPARK_DTYPE_OF_BITS(kDLFloat, T),                                                                   \
        float _Complex *: DLPARK_DTYPE_OF_BITS(kDLComplex, T),                                                         \
        double _Complex *: DLPARK_DTYPE_OF_BITS(kDLComplex, T))

#endif

#endif
