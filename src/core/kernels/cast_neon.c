/*
 * The steps of casts for AArch64, which converts float16 in its oldest form. It rounds as the floating-point unit is set
 * to, and whoever runs a chain has set it to nearest.
 */
#include "kernels.h"

#if defined(DLPARK__KERNELS_NEON)
#include <arm_neon.h>
#include <string.h>

#define CAST_LANES 4
#define CAST_TARGET
#define CAST_NAME(name) cast_neon_##name

/* Four bytes, in the lower half of eight; intrinsics load no fewer without a promise of alignment. */
static inline uint8x8_t cast_neon_load4(const unsigned char *from)
{
    uint32_t bytes;

    memcpy(&bytes, from, sizeof bytes);
    return vreinterpret_u8_u32(vdup_n_u32(bytes));
}

static inline void cast_neon_save4(unsigned char *to, uint32x4_t v)
{
    uint16x4_t pairs = vmovn_u32(v);
    uint32_t bytes = vget_lane_u32(vreinterpret_u32_u8(vmovn_u16(vcombine_u16(pairs, pairs))), 0);

    memcpy(to, &bytes, sizeof bytes);
}

#define CAST_NEON_16(p)    vreinterpret_u16_u8(vld1_u8(p))
#define CAST_LOAD8(p)      ((CAST_U32)vmovl_u16(vget_low_u16(vmovl_u8(cast_neon_load4(p)))))
#define CAST_LOAD16(p)     ((CAST_U32)vmovl_u16(CAST_NEON_16(p)))
#define CAST_EXTEND8(p)    ((CAST_U32)vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u8(cast_neon_load4(p))))))
#define CAST_EXTEND16(p)   ((CAST_U32)vmovl_s16(vreinterpret_s16_u16(CAST_NEON_16(p))))
#define CAST_SAVE8(p, v)   cast_neon_save4((p), (uint32x4_t)(v))
#define CAST_SAVE16(p, v)  vst1_u8((p), vreinterpret_u8_u16(vmovn_u32((uint32x4_t)(v))))
#define CAST_WIDEN_HALF(p) ((CAST_F32)vcvt_f32_f16(vreinterpret_f16_u16(CAST_NEON_16(p))))
#define CAST_NARROW_HALF(v)                                                                                            \
    ((CAST_U32)vmovl_u16(vreinterpret_u16_f16(vcvt_f16_f32(vreinterpretq_f32_u32((uint32x4_t)(v))))))

#include "cast_vector.h"

const dlpark__cast_step dlpark__cast_neon[DLPARK__CAST_STEPS] = CAST_TABLE;

#include "cast_vector_end.h"
#undef CAST_NEON_16
#else
typedef int cast_neon_is_absent;
#endif
