/*
 * The types of cast_vector.h, and its own words for what a set has defined. Included by it, or before it by a set that has
 * something to put between.
 */
#if !defined(CAST_U32)
typedef uint32_t CAST_NAME(u32) __attribute__((vector_size(CAST_LANES * 4)));
typedef int32_t CAST_NAME(i32) __attribute__((vector_size(CAST_LANES * 4)));
typedef float CAST_NAME(f32) __attribute__((vector_size(CAST_LANES * 4)));
/* Half as many, beside doubles. */
typedef uint32_t CAST_NAME(u32x) __attribute__((vector_size(CAST_LANES * 2)));
typedef int32_t CAST_NAME(i32x) __attribute__((vector_size(CAST_LANES * 2)));
typedef float CAST_NAME(f32x) __attribute__((vector_size(CAST_LANES * 2)));
typedef double CAST_NAME(f64x) __attribute__((vector_size(CAST_LANES * 4)));
typedef uint64_t CAST_NAME(u64x) __attribute__((vector_size(CAST_LANES * 4)));
typedef int64_t CAST_NAME(i64x) __attribute__((vector_size(CAST_LANES * 4)));

#define CAST_U32  CAST_NAME(u32)
#define CAST_I32  CAST_NAME(i32)
#define CAST_F32  CAST_NAME(f32)
#define CAST_U32X CAST_NAME(u32x)
#define CAST_I32X CAST_NAME(i32x)
#define CAST_F32X CAST_NAME(f32x)
#define CAST_F64X CAST_NAME(f64x)
#define CAST_U64X CAST_NAME(u64x)
#define CAST_I64X CAST_NAME(i64x)

/* Lanes of `a` where the comparison is true, of `b` elsewhere. Comparisons are of signed numbers, which sets have. */
#define CAST_PICK(test, a, b) ((CAST_U32)(((CAST_U32)(test) & (a)) | (~(CAST_U32)(test) & (b))))

#if !defined(CAST_MORE)
#define CAST_MORE(a, b, x, y) CAST_PICK((CAST_I32)(a) > (CAST_I32)(b), x, y)
#endif
#if !defined(CAST_MIN)
#define CAST_MIN(a, b) CAST_MORE(a, b, b, a)
#define CAST_MAX(a, b) CAST_MORE(a, b, a, b)
#endif
#if !defined(CAST_JOIN) /* of 4 lanes */
#define CAST_JOIN(a, b) ((CAST_U32){(uint32_t)(a)[0], (uint32_t)(a)[1], (uint32_t)(b)[0], (uint32_t)(b)[1]})
#endif
#if !defined(CAST_QUIET)
#define CAST_QUIET(v, other) CAST_MORE((v)&0x7FFFFFFF, CAST_ALL(0x7F800000), (v) | 0x00400000, other)
#endif
#if !defined(CAST_SHIFT)
#define CAST_SHIFT(v, n) ((v) >> (n))
#endif
#if !defined(CAST_SAVE_HALF)
#define CAST_SAVE_HALF(p, v) CAST_SAVE16(p, CAST_NARROW_HALF(v))
#endif
#if !defined(CAST_WIDEN_F32)
#define CAST_WIDEN_F32(v) __builtin_convertvector(v, CAST_F64X)
#define CAST_WIDEN_I32(v) __builtin_convertvector(v, CAST_F64X)
#endif
#define CAST_ALL(number) ((CAST_U32){0} + (number))

#define CAST_STEP(name)                                                                                                \
    CAST_TARGET void CAST_NAME(name)(const dlpark__cast_params *params, unsigned char *to, const unsigned char *from,  \
                                     size_t count)
/* Whole vectors of `lanes` elements; then the rest, by the step of that name. */
#define CAST_EACH(lanes)                                                                                               \
    for (size_t all = count; count >= (lanes);                                                                         \
         dlpark__cast_back(&to, &from, &count, all, lanes, out_nbytes / (lanes), in_nbytes / (lanes)))                 \
        for (; count >= (lanes); count -= (lanes), to += out_nbytes, from += in_nbytes, DLPARK__CAST_ASK_AHEAD(from))
#define CAST_REST(step) dlpark__cast_generic[step](params, to, from, count)
#endif
