/*
 * Whether two index tuples lead to the same memory: a linear equation in bounded integers.
 *
 * Each dimension is a term, coefficient times a variable within bounds, and the question is whether the terms can add up
 * to a target. In general that is as hard as any puzzle of its kind; what is met in practice is settled at once, since
 * with the largest coefficient first, the reach of the terms behind it and their greatest common divisor leave hardly a
 * value to try. The values that are tried are counted, and the answer is UNDECIDED when the count runs out.
 */
#include "internal.h"

#define OVERLAP_MAX_TERMS (2 * DLPARK_MAX_NDIM + 1)

typedef struct overlap_term {
    int64_t coefficient; /* above 0 */
    int64_t low;         /* bounds of the variable */
    int64_t high;
} overlap_term;

/* What the terms from one on can do. */
typedef struct overlap_rest {
    int64_t low; /* bounds of their sum */
    int64_t high;
    int64_t divisor; /* of every sum */
    int64_t step;    /* values of this variable that leave a multiple of the next divisor lie this far apart */
    int64_t inverse; /* of coefficient / divisor, modulo step */
} overlap_rest;

typedef struct overlap_search {
    int32_t count;
    bool overflow;
    uint64_t steps; /* left */
    overlap_term terms[OVERLAP_MAX_TERMS];
    overlap_rest rest[OVERLAP_MAX_TERMS + 1];
} overlap_search;

static int64_t overlap_gcd(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t next = a % b;
        a = b;
        b = next;
    }
    return a;
}

/* a * b modulo m, all in 0 to m - 1: bit by bit where the product may leave 63 bits. */
static int64_t overlap_multiply(int64_t a, int64_t b, int64_t m)
{
    uint64_t product = 0, term = (uint64_t)a, modulus = (uint64_t)m;

    if (m <= INT32_MAX)
        return a * b % m;
    for (uint64_t factor = (uint64_t)b; factor != 0; factor >>= 1) {
        if (factor & 1)
            product = (product + term) % modulus;
        term = (term + term) % modulus;
    }
    return (int64_t)product;
}

/* The inverse of a modulo m, where they have no common divisor. */
static int64_t overlap_invert(int64_t a, int64_t m)
{
    int64_t old = a % m, now = m, old_factor = 1, factor = 0;

    while (now != 0) {
        int64_t quotient = old / now, next = old % now, next_factor = old_factor - quotient * factor;
        old = now;
        now = next;
        old_factor = factor;
        factor = next_factor;
    }
    old_factor %= m;
    return old_factor < 0 ? old_factor + m : old_factor;
}

static int64_t overlap_floor(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static int64_t overlap_modulo(int64_t a, int64_t m)
{
    int64_t rest = a % m;

    return rest < 0 ? rest + m : rest;
}

/* Puts a term in its place, the largest coefficient first. */
static void overlap_insert(overlap_search *search, overlap_term term)
{
    int32_t at = search->count++;

    for (; at > 0 && search->terms[at - 1].coefficient < term.coefficient; at--)
        search->terms[at] = search->terms[at - 1];
    search->terms[at] = term;
}

/* Adds a term for an index of 0 to extent - 1. Two variables with one coefficient are as good as one. */
static void overlap_add_index(overlap_search *search, int64_t extent, int64_t stride)
{
    overlap_term term = {stride, 0, extent - 1};

    if (stride < 0)
        term = (overlap_term){-stride, 1 - extent, 0};
    if (extent == 1 || stride == 0)
        return;
    for (int32_t i = 0; i < search->count; i++)
        if (search->terms[i].coefficient == term.coefficient) {
            search->overflow |= __builtin_add_overflow(search->terms[i].low, term.low, &search->terms[i].low);
            search->overflow |= __builtin_add_overflow(search->terms[i].high, term.high, &search->terms[i].high);
            return;
        }
    overlap_insert(search, term);
}

/* What follows from the terms for each place in their row, from the last to the first. */
static void overlap_prepare(overlap_search *search)
{
    int32_t last = search->count - 1;

    search->rest[search->count] = (overlap_rest){0, 0, 0, 0, 0};
    for (int32_t i = last; i >= 0 && !search->overflow; i--) {
        const overlap_term *term = &search->terms[i];
        const overlap_rest *next = &search->rest[i + 1];
        overlap_rest *rest = &search->rest[i];
        int64_t low, high;

        search->overflow |= __builtin_mul_overflow(term->low, term->coefficient, &low);
        search->overflow |= __builtin_mul_overflow(term->high, term->coefficient, &high);
        search->overflow |= __builtin_add_overflow(low, next->low, &rest->low);
        search->overflow |= __builtin_add_overflow(high, next->high, &rest->high);
        /* Targets stay within twice these. */
        search->overflow |= rest->low < -(INT64_MAX / 4) || rest->high > INT64_MAX / 4;
        rest->divisor = overlap_gcd(term->coefficient, next->divisor);
        rest->step = i == last ? 1 : next->divisor / rest->divisor;
        rest->inverse = overlap_invert(term->coefficient / rest->divisor, rest->step);
    }
}

/* Whether the terms from `at` on add up to a target that is within their bounds and a multiple of their divisor. */
static dlpark__overlap overlap_solve(overlap_search *search, int32_t at, int64_t target)
{
    const overlap_term *term = &search->terms[at];
    const overlap_rest *rest = &search->rest[at], *next = rest + 1;

    /* The last variable follows from the target. */
    if (at >= search->count - 1)
        return DLPARK__OVERLAP_YES;
    int64_t low = -overlap_floor(next->high - target, term->coefficient);
    int64_t high = overlap_floor(target - next->low, term->coefficient);
    low = low > term->low ? low : term->low;
    high = high < term->high ? high : term->high;
    int64_t first = overlap_multiply(overlap_modulo(target / rest->divisor, rest->step), rest->inverse, rest->step);

    for (int64_t value = low + overlap_modulo(first - low % rest->step, rest->step); value <= high;
         value += rest->step) {
        if (search->steps == 0)
            return DLPARK__OVERLAP_UNDECIDED;
        search->steps--;
        dlpark__overlap found = overlap_solve(search, at + 1, target - value * term->coefficient);
        if (found != DLPARK__OVERLAP_NO)
            return found;
    }
    return DLPARK__OVERLAP_NO;
}

static dlpark__overlap overlap_find(overlap_search *search, int32_t at, int64_t target)
{
    const overlap_rest *rest = &search->rest[at];

    if (target < rest->low || target > rest->high || (rest->divisor != 0 && target % rest->divisor != 0))
        return DLPARK__OVERLAP_NO;
    return overlap_solve(search, at, target);
}

/* Whether each stride is larger than all that the smaller ones reach together: then no two index tuples meet, however
 * large the numbers. The reach of a layout with a known extent fits. */
static bool overlap_is_nested(const overlap_search *search)
{
    uint64_t reach = 0;

    for (int32_t i = search->count - 1; i >= 0; i--) {
        uint64_t stride = (uint64_t)search->terms[i].coefficient;
        if (stride <= reach)
            return false;
        reach += stride * (uint64_t)search->terms[i].high;
    }
    return true;
}

/* Whether two dimensions alone lead back to where they started: b steps of a, and a steps back of b. */
static bool overlap_has_pair(const overlap_search *search)
{
    for (int32_t i = 0; i < search->count; i++)
        for (int32_t j = i + 1; j < search->count; j++) {
            const overlap_term *one = &search->terms[i], *two = &search->terms[j];
            int64_t divisor = overlap_gcd(one->coefficient, two->coefficient);
            if (two->coefficient / divisor <= one->high && one->coefficient / divisor <= two->high)
                return true;
        }
    return false;
}

/*
 * Two different index tuples, the first different variable of which is that of term `at`: without loss of generality its
 * difference is above 0. The terms before it have differences of 0.
 */
static dlpark__overlap overlap_differ_at(overlap_search *search, int32_t at)
{
    const overlap_term whole = search->terms[at];
    const overlap_rest rest = search->rest[at];

    search->terms[at].low = 1;
    search->rest[at].low = whole.coefficient + search->rest[at + 1].low;
    dlpark__overlap found = overlap_find(search, at, 0);
    search->terms[at] = whole;
    search->rest[at] = rest;
    return found;
}

dlpark__overlap dlpark__overlap_layout(int32_t ndim, const int64_t *shape, const int64_t *strides, uint64_t steps)
{
    overlap_search search DLPARK_UNINITIALIZED;

    search.count = 0;
    search.overflow = false;
    search.steps = steps;
    for (int32_t i = 0; i < ndim; i++) {
        if (shape[i] == 1)
            continue;
        if (strides[i] == 0)
            return DLPARK__OVERLAP_YES;
        search.overflow |= strides[i] == INT64_MIN;
        /* The sign of a difference is as good as the other. */
        overlap_insert(&search, (overlap_term){search.overflow || strides[i] > 0 ? strides[i] : -strides[i],
                                               1 - shape[i], shape[i] - 1});
    }
    if (!search.overflow && overlap_is_nested(&search))
        return DLPARK__OVERLAP_NO;
    overlap_prepare(&search);
    if (search.overflow)
        return DLPARK__OVERLAP_UNDECIDED;
    if (overlap_has_pair(&search))
        return DLPARK__OVERLAP_YES;

    bool decided = true;
    for (int32_t at = search.count - 2; at >= 0; at--) {
        dlpark__overlap found = overlap_differ_at(&search, at);
        if (found == DLPARK__OVERLAP_YES)
            return found;
        decided &= found == DLPARK__OVERLAP_NO;
    }
    return decided ? DLPARK__OVERLAP_NO : DLPARK__OVERLAP_UNDECIDED;
}

dlpark__overlap dlpark__overlap_self(const dlpark_view *view, uint64_t steps)
{
    return dlpark_view_numel(view) == 0 ? DLPARK__OVERLAP_NO
                                        : dlpark__overlap_layout(view->ndim, view->shape, view->strides, steps);
}

/* ---- Two views ---- */

/* The distance from element 0 of `a` to that of `b` in bytes, without its sign, and whether `b` lies before `a`. False
 * where they cannot be in one piece of memory at all. */
static bool overlap_measure(const dlpark_view *a, const dlpark_view *b, uint64_t *distance, bool *before)
{
    bool addressable = dlpark_device_is_addressable(a->device);

    if (addressable != dlpark_device_is_addressable(b->device) || (!addressable && a->data != b->data))
        return false;
    uint64_t from = addressable ? (uintptr_t)a->data : a->byte_offset;
    uint64_t to = addressable ? (uintptr_t)b->data : b->byte_offset;
    *before = to < from;
    *distance = *before ? from - to : to - from;
    return true;
}

/* Whether the bytes from the lowest to the highest of both have none in common. */
static bool overlap_is_apart(const dlpark_view *a, const dlpark_view *b, uint64_t distance, bool before)
{
    const dlpark_view *first = before ? b : a, *second = before ? a : b;
    int64_t low, high, unused;

    dlpark__view_byte_range(first, &unused, &high);
    dlpark__view_byte_range(second, &low, &unused);
    return distance >= (uint64_t)high - (uint64_t)low;
}

static bool overlap_is_packed(const dlpark_view *view)
{
    return dlpark_dtype_is_packed(view->dtype) && (view->flags & DLPARK_VIEW_PADDED) == 0;
}

/* Of one element, in bits. */
static int64_t overlap_nbits(const dlpark_view *view)
{
    int64_t nbits = dlpark_dtype_nbits(view->dtype);

    return overlap_is_packed(view) ? nbits : (nbits + 7) / 8 * 8;
}

/* Adds the dimensions of a view whose elements take `size` units. */
static void overlap_add_view(overlap_search *search, const dlpark_view *view, int64_t size, bool backward)
{
    int64_t stride;

    for (int32_t i = 0; i < view->ndim && !search->overflow; i++) {
        if (view->shape[i] == 1)
            continue;
        search->overflow |= __builtin_mul_overflow(view->strides[i], backward ? -size : size, &stride);
        search->overflow |= stride == INT64_MIN;
        if (!search->overflow)
            overlap_add_index(search, view->shape[i], stride);
    }
}

dlpark__overlap dlpark__overlap_two(const dlpark_view *a, const dlpark_view *b, uint64_t steps)
{
    overlap_search search DLPARK_UNINITIALIZED;
    uint64_t nbytes;
    bool before;

    if (dlpark_view_numel(a) == 0 || dlpark_view_numel(b) == 0 || !overlap_measure(a, b, &nbytes, &before) ||
        overlap_is_apart(a, b, nbytes, before))
        return DLPARK__OVERLAP_NO;
    if (nbytes > INT64_MAX / 64)
        return DLPARK__OVERLAP_UNDECIDED;

    /* In bits, and then in the largest unit that all of it is a multiple of. */
    int64_t distance = (before ? -8 : 8) * (int64_t)nbytes + b->bit_offset - a->bit_offset;
    int64_t a_size = overlap_nbits(a), b_size = overlap_nbits(b);
    int64_t unit = overlap_gcd(overlap_gcd(a_size, b_size), distance < 0 ? -distance : distance);
    distance /= unit;
    a_size /= unit;
    b_size /= unit;

    /* Index of a, index of b, and where within their elements: a - b is the distance. */
    search.count = 0;
    search.steps = steps;
    search.overflow = false;
    overlap_add_view(&search, a, a_size, false);
    overlap_add_view(&search, b, b_size, true);
    overlap_add_index(&search, a_size + b_size - 1, 1);
    overlap_prepare(&search);
    if (search.overflow)
        return DLPARK__OVERLAP_UNDECIDED;
    dlpark__overlap found = overlap_find(&search, 0, distance + b_size - 1);
    /* Where one of them has whole bytes, sharing a byte is sharing a bit. */
    bool is_packed = overlap_is_packed(a) && overlap_is_packed(b);
    return found == DLPARK__OVERLAP_NO && is_packed ? DLPARK__OVERLAP_UNDECIDED : found;
}
