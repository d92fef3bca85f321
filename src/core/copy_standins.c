/* Stands in for copy_bits.c and copy_overlap.c; to be deleted where these are. */
#include <stdlib.h>
#include <string.h>

#include "copy_parts.h"

static void standin_move_bit(unsigned char *to, int64_t to_bit, const unsigned char *from, int64_t from_bit)
{
    unsigned bit = (unsigned)(from[from_bit >> 3] >> (from_bit & 7)) & 1u;
    to[to_bit >> 3] = (unsigned char)((to[to_bit >> 3] & ~(1u << (to_bit & 7))) | (bit << (to_bit & 7)));
}

void dlpark__copy_bits(const dlpark_view *to, const dlpark_view *from)
{
    int64_t index[DLPARK_MAX_NDIM] = {0}, nbits = dlpark_dtype_nbits(to->dtype), whole = (nbits + 7) / 8 * 8;
    int64_t to_size = to->flags & DLPARK_VIEW_PADDED ? whole : nbits;
    int64_t from_size = from->flags & DLPARK_VIEW_PADDED ? whole : nbits;
    int32_t i;

    do {
        int64_t to_bit = to->bit_offset, from_bit = from->bit_offset;
        for (i = 0; i < to->ndim; i++) {
            to_bit += index[i] * to->strides[i] * to_size;
            from_bit += index[i] * from->strides[i] * from_size;
        }
        for (int64_t b = 0; b < nbits; b++)
            standin_move_bit(to->data, to_bit + b, from->data, from_bit + b);
        for (i = to->ndim - 1; i >= 0; i--) {
            if (++index[i] < to->shape[i])
                break;
            index[i] = 0;
        }
    } while (i >= 0);
}

dlpark_status dlpark__copy_overlapping(const dlpark_view *to, const dlpark_view *from, int threads, dlpark_error *err)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view between;

    (void)threads;
    DLPARK_TRY(dlpark_tensor_alloc(
        &tensor, &(dlpark_tensor_desc){.dtype = from->dtype, .ndim = from->ndim, .shape = DLPARK_DIMS(from->shape)},
        &between, err));
    dlpark__copy_disjoint(&between, from, 1);
    dlpark__copy_disjoint(to, &between, 1);
    dlpark_tensor_release(&tensor);
    return DLPARK_OK;
}
