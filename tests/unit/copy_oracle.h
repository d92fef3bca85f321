/*
 * Copies element by element, the way the doc comment says it, and layouts made up to try it on. Knows nothing of plans.
 * Who includes it defines _POSIX_C_SOURCE first, for posix_memalign().
 */
#ifndef COPY_ORACLE_H
#define COPY_ORACLE_H

#include <stdbool.h>
#include <stdlib.h>

#include "test.h"

enum { ORACLE_MAX_NDIM = 8, ORACLE_GUARD = 96 };

typedef struct oracle_case {
    int ndim;
    size_t element;
    int64_t shape[ORACLE_MAX_NDIM], to[ORACLE_MAX_NDIM], from[ORACLE_MAX_NDIM]; /* strides in elements */
} oracle_case;

/* Memory that holds one side with guards around it: element 0 at base + at. */
typedef struct oracle_side {
    unsigned char *base;
    size_t nbytes;
    size_t at;
} oracle_side;

/* A small generator with a fixed seed, so that a failure comes back. */
static uint64_t oracle_state = 88172645463325252u;

static inline uint64_t oracle_random(uint64_t below)
{
    oracle_state ^= oracle_state << 13;
    oracle_state ^= oracle_state >> 7;
    oracle_state ^= oracle_state << 17;
    return (oracle_state >> 11) % below;
}

/* Memory for a layout, filled with noise, element 0 at an odd place. */
static inline oracle_side oracle_make(const oracle_case *c, const int64_t *strides)
{
    int64_t low = 0, high = 1;
    bool aligned = oracle_random(2) == 0; /* element 0, to a cache line; else anywhere */
    oracle_side side;

    for (int i = 0; i < c->ndim; i++) {
        int64_t reach = (c->shape[i] - 1) * strides[i];
        *(reach < 0 ? &low : &high) += reach;
    }
    size_t below = (size_t)-low * c->element + (size_t)ORACLE_GUARD;
    size_t odd = aligned ? -below % 64 : (size_t)oracle_random(64);
    side.nbytes = (size_t)(high - low) * c->element + odd + 2 * (size_t)ORACLE_GUARD;
    side.at = below + odd;
    void *base = NULL;
    assert_int_equal(posix_memalign(&base, 64, side.nbytes), 0);
    side.base = base;
    for (size_t i = 0; i < side.nbytes; i++)
        side.base[i] = (unsigned char)(i * 37 + i / 251 + odd);
    return side;
}

static inline dlpark_view oracle_view(const oracle_case *c, const oracle_side *side, const int64_t *strides)
{
    dlpark_view view;
    DLTensor tensor = {side->base,
                       {kDLCPU, 0},
                       c->ndim,
                       DLPARK_DTYPE(kDLUInt, 8, (uint16_t)c->element),
                       (int64_t *)(uintptr_t)c->shape,
                       (int64_t *)(uintptr_t)strides,
                       side->at};

    assert_ok(dlpark_check(&tensor, 0, &view, e));
    assert_ok(dlpark_view_allow_write(&view, e));
    return view;
}

/* Writes what a copy must make of `to` into `expected`, a copy of the whole of its memory. */
static inline void oracle_copy(const oracle_case *c, unsigned char *expected, const oracle_side *to,
                               const oracle_side *from)
{
    int64_t index[ORACLE_MAX_NDIM] = {0};
    int i;

    for (i = 0; i < c->ndim; i++)
        if (c->shape[i] == 0)
            return;
    do {
        int64_t to_at = (int64_t)to->at, from_at = (int64_t)from->at;
        for (i = 0; i < c->ndim; i++) {
            to_at += index[i] * c->to[i] * (int64_t)c->element;
            from_at += index[i] * c->from[i] * (int64_t)c->element;
        }
        memcpy(expected + to_at, from->base + from_at, c->element);
        for (i = c->ndim - 1; i >= 0; i--) {
            if (++index[i] < c->shape[i])
                break;
            index[i] = 0;
        }
    } while (i >= 0);
}

/* Strides in the order of a permutation, with gaps and flips by chance: no two elements meet. */
static inline void oracle_layout(const oracle_case *c, int64_t *strides, bool plain)
{
    int order[ORACLE_MAX_NDIM];
    int64_t stride = 1;

    for (int i = 0; i < c->ndim; i++)
        order[i] = i;
    for (int i = c->ndim - 1; i > 0; i--) {
        int j = (int)oracle_random((uint64_t)i + 1), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
    for (int i = 0; i < c->ndim; i++) {
        stride *= plain || oracle_random(4) ? 1 : (int64_t)oracle_random(3) + 2;
        strides[order[i]] = !plain && oracle_random(4) == 0 ? -stride : stride;
        stride *= c->shape[order[i]];
        stride += !plain && oracle_random(6) == 0 ? (int64_t)oracle_random(3) : 0;
    }
}

/* A case of at most `most` elements; half of them without gaps, some with a source that is broadcast. */
static inline oracle_case oracle_random_case(int64_t most)
{
    static const int64_t extents[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 63, 64, 65, 70, 130};
    oracle_case c = {.ndim = (int)oracle_random(7)};
    int64_t numel = 1;

    c.element = oracle_random(2) ? (size_t)1 << oracle_random(5) : (size_t)oracle_random(33) + 1;
    for (int i = 0; i < c.ndim; i++) {
        do
            c.shape[i] = extents[oracle_random(20)];
        while (numel * c.shape[i] > most);
        numel *= c.shape[i];
    }
    oracle_layout(&c, c.to, oracle_random(2));
    oracle_layout(&c, c.from, oracle_random(2));
    if (c.ndim > 0 && oracle_random(6) == 0)
        c.from[oracle_random((uint64_t)c.ndim)] = 0;
    return c;
}

static inline void oracle_explain(const oracle_case *c, const char *what)
{
    print_message("%s: element %zu\n", what, c->element);
    for (int i = 0; i < c->ndim; i++)
        print_message("  extent %lld to %lld from %lld\n", (long long)c->shape[i], (long long)c->to[i],
                      (long long)c->from[i]);
}

/* Copies by `copy`, and compares all of the destination's memory, guards and gaps included. */
static inline void oracle_check(const oracle_case *c, void (*copy)(const dlpark_view *, const dlpark_view *),
                                const char *what)
{
    oracle_side to = oracle_make(c, c->to), from = oracle_make(c, c->from);
    dlpark_view to_view = oracle_view(c, &to, c->to), from_view = oracle_view(c, &from, c->from);
    unsigned char *expected = malloc(to.nbytes);

    assert_non_null(expected);
    memcpy(expected, to.base, to.nbytes);
    oracle_copy(c, expected, &to, &from);
    copy(&to_view, &from_view);
    if (memcmp(to.base, expected, to.nbytes) != 0)
        oracle_explain(c, what);
    assert_memory_equal(to.base, expected, to.nbytes);
    free(expected);
    free(to.base);
    free(from.base);
}

#endif
