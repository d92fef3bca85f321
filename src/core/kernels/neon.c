/* The kernels for AArch64: one lane. It has no stores past the caches that C can name. */
#include "kernels.h"

#if defined(DLPARK__KERNELS_NEON)
#include <arm_neon.h>
#include <string.h>

#define VECTOR uint8x16_t

#define VECTOR_TARGET
#define VECTOR_LANES        1
#define VECTOR_NAME(name)   neon_##name
#define VECTOR_BELOW        dlpark__kernels_generic
#define VECTOR_CAST         dlpark__cast_neon
#define VECTOR_ONLY_STREAMS 0

#define VECTOR_LOAD(p, step)      ((void)(step), vld1q_u8(p))
#define VECTOR_LOAD_ALL(p)        vld1q_u8(p)
#define VECTOR_LOAD_HALF(p)       vcombine_u8(vld1_u8(p), vdup_n_u8(0))
#define VECTOR_SAVE_HALF(p, v)    vst1_u8((p), vget_low_u8(v))
#define VECTOR_SAVE(p, v)         vst1q_u8((p), v)
#define VECTOR_SPREAD(p, step, v) ((void)(step), vst1q_u8((p), v))
#define VECTOR_STREAM(p, v)       vst1q_u8((p), v)
#define NEON_BYTES(bits, v)       vreinterpretq_u8_u##bits(v)
#define NEON_ZIP(end, bits, a, b)                                                                                      \
    NEON_BYTES(bits, vzip##end##q_u##bits(vreinterpretq_u##bits##_u8(a), vreinterpretq_u##bits##_u8(b)))
#define VECTOR_SPREAD_STREAM(p, step, v) ((void)(step), VECTOR_STREAM(p, v))
#define VECTOR_LOW8(a, b)                vzip1q_u8(a, b)
#define VECTOR_HIGH8(a, b)               vzip2q_u8(a, b)
#define VECTOR_LOW16(a, b)               NEON_ZIP(1, 16, a, b)
#define VECTOR_HIGH16(a, b)              NEON_ZIP(2, 16, a, b)
#define VECTOR_LOW32(a, b)               NEON_ZIP(1, 32, a, b)
#define VECTOR_HIGH32(a, b)              NEON_ZIP(2, 32, a, b)
#define VECTOR_LOW64(a, b)               NEON_ZIP(1, 64, a, b)
#define VECTOR_HIGH64(a, b)              NEON_ZIP(2, 64, a, b)
#define VECTOR_PICK(v, m)                vqtbl1q_u8(v, m)
#define VECTOR_OR(a, b)                  vorrq_u8(a, b)
#define VECTOR_MASK(p)                   vld1q_u8(p)
#define VECTOR_MASKS(p, q, r, s)         VECTOR_MASK(p)
#define VECTOR_DEALS(i, j, k, l)         vdupq_n_u8(0)
#define VECTOR_DEAL(v, deals)            ((void)(deals), (v))
#define VECTOR_PACK12(v)                 (v)
#define VECTOR_FENCE()                   ((void)0)

#include "vector.h"

const dlpark__kernels dlpark__kernels_neon = VECTOR_TABLE("neon");

#include "vector_end.h"
#else
typedef int neon_is_absent;
#endif
