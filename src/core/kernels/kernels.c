#include "kernels.h"

#include <stdatomic.h>
#include <stdbool.h>

#if defined(DLPARK__KERNELS_X86)
#include <cpuid.h>
#endif

/* NULL until the first use. Two threads that come first both find the same set. */
static _Atomic(const dlpark__kernels *) kernels_chosen;

#if defined(DLPARK__KERNELS_X86)
static bool kernels_have_ssse3(void)
{
    return __builtin_cpu_supports("ssse3") != 0;
}

static bool kernels_have_avx2(void)
{
    /* Every processor that has AVX2 has F16C, which clang 14 does not know by name; asked by its bit all the same. */
    unsigned a, b, c = 0, d;
    (void)__get_cpuid(1, &a, &b, &c, &d); /* where it fails, `c` stays 0 */
    return !!__builtin_cpu_supports("avx2") & !!(c & bit_F16C);
}

static bool kernels_have_avx512(void)
{
    return !!__builtin_cpu_supports("avx512f") & !!__builtin_cpu_supports("avx512bw") &
           !!__builtin_cpu_supports("avx512vl") & !!__builtin_cpu_supports("avx512dq");
}

static bool kernels_have_avx512vbmi(void)
{
    return kernels_have_avx512() & !!__builtin_cpu_supports("avx512vbmi");
}

/* Together with VBMI; the oldest processors with BF16 lack it, and do without both. */
static bool kernels_have_avx512bf16(void)
{
    return kernels_have_avx512vbmi() & !!__builtin_cpu_supports("avx512bf16");
}
#endif

static bool kernels_always(void)
{
    return true;
}

/* The plainest first. A processor that has one has all before it. */
static const struct {
    const dlpark__kernels *set;
    bool (*have)(void);
} kernels_sets[] = {
    {&dlpark__kernels_generic, kernels_always},
#if defined(DLPARK__KERNELS_X86)
    {&dlpark__kernels_ssse3, kernels_have_ssse3},
    {&dlpark__kernels_avx2, kernels_have_avx2},
    {&dlpark__kernels_avx512, kernels_have_avx512},
    {&dlpark__kernels_avx512vbmi, kernels_have_avx512vbmi},
    {&dlpark__kernels_avx512bf16, kernels_have_avx512bf16},
#elif defined(DLPARK__KERNELS_NEON)
    {&dlpark__kernels_neon, kernels_always},
#endif
};

const dlpark__kernels *dlpark__kernels_list(size_t at)
{
    if (at >= sizeof kernels_sets / sizeof kernels_sets[0])
        return NULL;
    return kernels_sets[at].have() ? kernels_sets[at].set
                                   : NULL; /* GCOVR_EXCL_BR_LINE: both ways need two processors */
}

const dlpark__kernels *dlpark__kernels_get(void)
{
    const dlpark__kernels *set = atomic_load_explicit(&kernels_chosen, memory_order_relaxed);

    if (set != NULL)
        return set;
    for (size_t i = 0; dlpark__kernels_list(i) != NULL; i++)
        set = dlpark__kernels_list(i);
    atomic_store_explicit(&kernels_chosen, set, memory_order_relaxed);
    return set;
}

void dlpark__kernels_use(const dlpark__kernels *set)
{
    atomic_store_explicit(&kernels_chosen, set, memory_order_relaxed);
}
