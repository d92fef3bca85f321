/*
 * dlpark_check() on every layout, at the very edge of the address space: element 0 is placed so that the lowest byte is
 * byte 1 (at byte 0 is nothing), or the highest the last one that exists, and then one byte further. Where the bytes
 * are is counted here in 128 bits, element by element. Nothing is read through the addresses.
 */
#include "sweep.h"

__extension__ typedef __int128 check_wide;

static const DLDataType check_dtypes[] = {{kDLUInt, 8, 1}, {kDLFloat, 32, 1}, {kDLUInt, 8, 3},
                                          {kDLInt, 4, 1},  {kDLUInt, 1, 1},   {kDLFloat6_e2m3fn, 6, 1}};

static check_wide check_floor8(check_wide bits)
{
    return bits >= 0 ? bits / 8 : -((-bits + 7) / 8);
}

/* The lowest byte and the one past the highest, from element 0; false without elements. */
static bool check_reach(const sweep_layout *layout, int64_t nbits, check_wide *below, check_wide *past)
{
    int64_t count = 1;

    *below = 0;
    *past = 0;
    for (int i = 0; i < layout->ndim; i++)
        count *= layout->shape[i];
    for (int64_t n = 0; n < count; n++) {
        check_wide at = 0;
        int64_t rest = n;
        for (int i = 0; i < layout->ndim; i++) {
            at += (check_wide)(rest % layout->shape[i]) * layout->strides[i];
            rest /= layout->shape[i];
        }
        check_wide low = check_floor8(at * nbits), high = check_floor8((at + 1) * nbits - 1) + 1;
        *below = low < *below ? low : *below;
        *past = high > *past ? high : *past;
    }
    return count > 0;
}

static void check_at(const sweep_layout *layout, DLDataType dtype, uint64_t flags, check_wide address,
                     dlpark_status want)
{
    static dlpark_view view;
    sweep_layout copy = *layout;
    DLTensor tensor = {(void *)(uintptr_t)address, {kDLCPU, 0}, copy.ndim, dtype, copy.shape, copy.strides, 0};
    dlpark_status status = dlpark_check(&tensor, flags, &view, NULL);

    if (status != want)
        sweep_fail(layout, "%s at %p: %s, expected %s", dlpark_dtype_name(dtype).text, tensor.data,
                   dlpark_status_name(status), dlpark_status_name(want));
    if (status != DLPARK_OK)
        return;
    SWEEP_WANT(layout, view.ndim == copy.ndim && view.bit_offset == 0 && view.byte_offset == 0);
    for (int i = 0; i < copy.ndim; i++)
        SWEEP_WANT(layout, view.shape[i] == copy.shape[i] && view.strides[i] == copy.strides[i]);
}

static void check_edges(const sweep_layout *layout, DLDataType dtype, bool padded)
{
    int64_t nbits = (int64_t)dlpark_dtype_nbits(dtype);
    uint64_t flags = padded ? DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED : 0;
    check_wide below, past, end = (check_wide)UINTPTR_MAX + 1;

    if (padded)
        nbits = (nbits + 7) / 8 * 8;
    if (!check_reach(layout, nbits, &below, &past)) {
        check_at(layout, dtype, flags, 0, DLPARK_OK);
        check_at(layout, dtype, flags, UINTPTR_MAX, DLPARK_OK);
        return;
    }
    check_at(layout, dtype, flags, 0, DLPARK_E_DATA);
    check_at(layout, dtype, flags, 1 - below, DLPARK_OK);
    if (below < 0)
        check_at(layout, dtype, flags, -below, DLPARK_E_OVERFLOW);
    check_at(layout, dtype, flags, end - past, DLPARK_OK);
    if (past > 1)
        check_at(layout, dtype, flags, end - past + 1, DLPARK_E_OVERFLOW);
}

uint64_t sweep_check(int shard)
{
    sweep_layout layout = sweep_first(shard);
    uint64_t cases = 0;

    do {
        for (size_t i = 0; i < sizeof check_dtypes / sizeof check_dtypes[0]; i++)
            for (int padded = 0; padded < 2; padded++, cases++)
                check_edges(&layout, check_dtypes[i], padded);
    } while (sweep_next(&layout));
    return cases;
}
