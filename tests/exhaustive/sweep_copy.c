/*
 * copy: every source layout into every injective destination layout of rank <= 3; at rank 4 into the 384 permuted and
 * mirrored compact ones, and into those with gaps. move: the same within one buffer, so that source and destination
 * overlap in every way. Elements of 1, 2, 4, 8 and 16 bytes. What is expected is made element by element, and the
 * gaps between elements are looked at too.
 */
#include "sweep.h"

#include <string.h>

#define COPY_MIDDLE (320 * 16) /* 240 elements for the widest destination, 32 for a source, and some */

static _Alignas(16) unsigned char copy_source[2 * COPY_MIDDLE], copy_target[2 * COPY_MIDDLE],
    copy_expected[2 * COPY_MIDDLE];

static const DLDataType copy_dtypes[] = {
    {kDLUInt, 8, 1}, {kDLUInt, 16, 1}, {kDLFloat, 32, 1}, {kDLInt, 64, 1}, {kDLComplex, 128, 1}};

static void copy_fill_source(void)
{
    for (size_t i = 0; i < sizeof copy_source; i++)
        copy_source[i] = (unsigned char)(i * 7 + i / 251);
}

static dlpark_view copy_view(const sweep_layout *layout, DLDataType dtype, unsigned char *first)
{
    dlpark_view view;
    sweep_layout copy = *layout;
    DLTensor tensor = {first, {kDLCPU, 0}, copy.ndim, dtype, copy.shape, copy.strides, 0};

    SWEEP_WANT(layout, dlpark_check(&tensor, 0, &view, NULL) == DLPARK_OK);
    SWEEP_WANT(layout, dlpark_view_allow_write(&view, NULL) == DLPARK_OK);
    return view;
}

/* Source and destination as the library sees them; the oracle reads copy_source, which is never written. */
static void copy_compare(const sweep_layout *from, const sweep_layout *to, DLDataType dtype, unsigned char *source,
                         int64_t apart, size_t room)
{
    int64_t nbytes = (int64_t)dlpark_dtype_nbits(dtype) / 8;
    dlpark_view source_view = copy_view(from, dtype, source + COPY_MIDDLE + apart);
    dlpark_view target_view = copy_view(to, dtype, copy_target + COPY_MIDDLE);
    dlpark_error err;

    for (int64_t n = 0; n < sweep_count(to); n++)
        memcpy(copy_expected + COPY_MIDDLE + sweep_offset(to, n) * nbytes,
               copy_source + COPY_MIDDLE + apart + sweep_offset(from, n) * nbytes, (size_t)nbytes);
    if (dlpark_copy(&target_view, &source_view, &err) != DLPARK_OK)
        sweep_fail(from, "%s", err.message);
    if (memcmp(copy_target + COPY_MIDDLE - room, copy_expected + COPY_MIDDLE - room, 2 * room) != 0)
        sweep_fail(from, "from %lld bytes apart to strides %lld, %lld, %lld, %lld of %s: not the same",
                   (long long)apart, (long long)to->strides[0], (long long)to->strides[1], (long long)to->strides[2],
                   (long long)to->strides[3], dlpark_dtype_name(dtype).text);
}

static void copy_one(const sweep_layout *from, const sweep_layout *to, DLDataType dtype, int64_t apart)
{
    size_t room = (size_t)((sweep_reach(to) + 8) * (dlpark_dtype_nbits(dtype) / 8));

    memset(copy_target + COPY_MIDDLE - room, 0xEE, 2 * room);
    memset(copy_expected + COPY_MIDDLE - room, 0xEE, 2 * room);
    copy_compare(from, to, dtype, copy_source, apart, room);
}

static void move_one(const sweep_layout *from, const sweep_layout *to, DLDataType dtype, int64_t apart)
{
    size_t room = (size_t)((sweep_reach(to) + sweep_reach(from) + 8) * (dlpark_dtype_nbits(dtype) / 8)) + 8;

    memcpy(copy_target + COPY_MIDDLE - room, copy_source + COPY_MIDDLE - room, 2 * room);
    memcpy(copy_expected + COPY_MIDDLE - room, copy_source + COPY_MIDDLE - room, 2 * room);
    copy_compare(from, to, dtype, copy_target, apart, room);
}

typedef void copy_pair(const sweep_layout *from, const sweep_layout *to, DLDataType dtype, int64_t apart);

/* Whatever is not tried with every case is taken in turn, at lengths that have no factor in common. */
static uint64_t copy_to_ordered(const sweep_layout *first, copy_pair *pair)
{
    sweep_layout from = *first;
    uint64_t cases = 0;

    do
        for (int code = 0; code < sweep_orders(from.ndim); code++, cases++) {
            sweep_layout to = sweep_ordered(&from, code, 1 + (int64_t)(cases % 3));
            pair(&from, &to, copy_dtypes[cases % 5], (int64_t)(cases % 17) - 8);
        }
    while (sweep_next(&from));
    return cases;
}

static uint64_t copy_to_all(const sweep_layout *first, copy_pair *pair)
{
    sweep_layout to = *first;
    uint64_t cases = 0;

    do {
        if (!sweep_is_injective(&to))
            continue;
        sweep_layout from = *first;
        do
            for (int i = 0; i < 5; i++, cases++)
                pair(&from, &to, copy_dtypes[i], (int64_t)(cases % 17) - 8);
        while (sweep_next(&from));
    } while (sweep_next(&to));
    return cases;
}

uint64_t sweep_copy(int shard)
{
    sweep_layout first = sweep_first(shard);

    copy_fill_source();
    if (first.ndim == SWEEP_NDIM || sweep_count(&first) == 0)
        return copy_to_ordered(&first, copy_one);
    return copy_to_all(&first, copy_one);
}

uint64_t sweep_move(int shard)
{
    sweep_layout first = sweep_first(shard);

    copy_fill_source();
    if (first.ndim == SWEEP_NDIM || sweep_count(&first) == 0)
        return copy_to_ordered(&first, move_one);
    return copy_to_all(&first, move_one);
}
