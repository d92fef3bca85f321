/*
 * Bytes as the description of a tensor, extreme values included: dlpark_check() against dlpark_check_all() and against
 * what 128-bit arithmetic says. The addresses are made up, so that reading through them would crash.
 */
#include "fuzz.h"

#include <stdbool.h>
#include <string.h>

#include <dlpark/dlpark.h>

#define CHECK_FEW 64 /* elements, every two of which are compared */

__extension__ typedef __int128 wide;

typedef struct description {
    DLTensor tensor;
    int64_t shape[DLPARK_MAX_NDIM];
    int64_t strides[DLPARK_MAX_NDIM];
    uint64_t flags;
} description;

static void check_describe(fuzz_input *in, description *d)
{
    static const int32_t ranks[] = {-1, INT32_MIN, INT32_MAX, 65, 64, 63, 9, 33};
    uint8_t rank = fuzz_byte(in), places = fuzz_byte(in);
    DLTensor *t = &d->tensor;

    t->ndim = rank < 0xF8 ? rank % 6 : ranks[rank - 0xF8];
    t->shape = places & 1 ? NULL : d->shape;
    t->strides = places & 2 ? NULL : d->strides;
    d->flags = places & 4 ? (uint64_t)fuzz_number(in) : places >> 3 & 7;
    t->dtype.code = (uint8_t)(places & 64 ? fuzz_byte(in) : fuzz_choice(in, 18));
    t->dtype.bits = (uint8_t)(places & 64 ? fuzz_byte(in) : 1 << fuzz_choice(in, 8));
    t->dtype.lanes = (uint16_t)(places & 64 ? fuzz_number(in) : 1);
    t->device.device_type = (DLDeviceType)(places & 128 ? fuzz_byte(in) : 1 + fuzz_choice(in, 4));
    t->device.device_id = (int32_t)(places & 128 ? fuzz_number(in) : 0);
    t->data = (void *)(uintptr_t)fuzz_number(in);
    t->byte_offset = (uint64_t)fuzz_number(in);
    for (int i = 0; i < t->ndim && i < DLPARK_MAX_NDIM; i++) {
        d->shape[i] = fuzz_number(in);
        d->strides[i] = fuzz_number(in);
    }
}

/* ---- The oracle: a bit for each thing that is wrong ---- */

enum { BAD_FLAGS = 1, BAD_RANK = 2, BAD_DTYPE = 4, BAD_DEVICE = 8, BAD_SHAPE = 16, BAD_SIZE = 32, BAD_DATA = 64 };

static bool check_dtype_exists(DLDataType dtype)
{
    static const uint8_t only[] = {[4] = 16, [6] = 8,  [7] = 8,  [8] = 8,  [9] = 8,  [10] = 8, [11] = 8,
                                   [12] = 8, [13] = 8, [14] = 8, [15] = 6, [16] = 6, [17] = 4};
    bool power = dtype.bits != 0 && (dtype.bits & (dtype.bits - 1)) == 0;

    if (dtype.code > 17 || dtype.lanes == 0)
        return false;
    switch (dtype.code) {
    case 0:
    case 1:
        return power;
    case 2:
        return power && dtype.bits >= 16;
    case 3:
        return dtype.bits != 0 && dtype.bits % 8 == 0;
    case 5:
        return power && dtype.bits >= 32 && dtype.lanes == 1;
    default:
        return dtype.bits == only[dtype.code];
    }
}

static bool check_device_exists(DLDevice device)
{
    unsigned type = (unsigned)device.device_type;

    return ((type >= 1 && type <= 4) || (type >= 7 && type <= 18)) && device.device_id >= 0;
}

/* Whole bytes that `count` elements take, rounded up once. */
static wide check_bytes(const description *d, wide count)
{
    wide nbits = (wide)d->tensor.dtype.bits * d->tensor.dtype.lanes;

    if (d->flags & 4)
        nbits = (nbits + 7) / 8 * 8;
    return (count * nbits + 7) / 8;
}

/* Sums of products of 63 bits: far from 128 bits when each step is refused beyond 2^64. */
static void check_add(wide *sum, wide value)
{
    const wide limit = (wide)1 << 64;

    *sum += value > limit ? limit : value;
    *sum = *sum > limit ? limit : *sum;
}

/* The elements below and above element 0, both counted from 0; and how many there are. Saturated at 2^64. */
static void check_extent(const description *d, wide *count, wide *below, wide *above)
{
    wide compact = 1;

    *count = 1;
    *below = *above = 0;
    for (int i = d->tensor.ndim - 1; i >= 0; i--) {
        wide stride = d->tensor.strides != NULL ? d->strides[i] : compact;
        wide reach = (wide)(d->shape[i] - 1) * stride;
        check_add(reach < 0 ? below : above, reach < 0 ? -reach : reach);
        wide product = *count * d->shape[i];
        *count = 0;
        check_add(count, product);
        compact = *count;
    }
}

/* No element lies at address 0; a handle's offset may be 0. */
static unsigned check_place(const description *d, wide below, wide above)
{
    unsigned type = (unsigned)d->tensor.device.device_type;
    bool handle = type == 4 || type == 7 || type == 8 || type == 15;
    wide first = (wide)(handle ? 0 : (uint64_t)(uintptr_t)d->tensor.data) + d->tensor.byte_offset;
    wide end = handle ? (wide)INT64_MAX : (wide)UINTPTR_MAX;

    if (d->tensor.byte_offset > INT64_MAX || first - below < !handle || first + above - 1 > end)
        return BAD_SIZE;
    return 0;
}

/* What needs a field that is wrong itself is not judged. */
static unsigned check_dimensions(const description *d, bool dtype_known, bool device_known)
{
    wide count, below, above;
    unsigned bad = 0;

    for (int i = 0; i < d->tensor.ndim; i++)
        if (d->shape[i] < 0)
            return BAD_SHAPE;
    for (int i = 0; i < d->tensor.ndim; i++)
        if (d->shape[i] == 0)
            return 0;
    check_extent(d, &count, &below, &above);
    if (d->tensor.data == NULL)
        bad |= BAD_DATA;
    if (count > INT64_MAX || below >= INT64_MAX || above >= INT64_MAX)
        return bad | BAD_SIZE;
    if (!dtype_known)
        return bad;
    count = check_bytes(d, count);
    below = check_bytes(d, below);
    above = check_bytes(d, above + 1);
    if (count > INT64_MAX || below > INT64_MAX || above > INT64_MAX)
        return bad | BAD_SIZE;
    return bad | (d->tensor.data != NULL && device_known ? check_place(d, below, above) : 0);
}

static unsigned check_slowly(const description *d)
{
    unsigned bad = 0;
    bool rank = d->tensor.ndim >= 0 && d->tensor.ndim <= 64, dtype = check_dtype_exists(d->tensor.dtype);
    bool device = check_device_exists(d->tensor.device);

    bad |= d->flags > 7 ? BAD_FLAGS : 0;
    bad |= rank ? 0 : BAD_RANK;
    bad |= dtype ? 0 : BAD_DTYPE;
    bad |= device ? 0 : BAD_DEVICE;
    if (rank && d->tensor.ndim > 0 && d->tensor.shape == NULL)
        bad |= BAD_SHAPE;
    else if (rank)
        bad |= check_dimensions(d, dtype, device);
    return bad;
}

static unsigned check_status_bit(dlpark_status status)
{
    switch (status) {
    case DLPARK_OK:
        return 0;
    case DLPARK_E_FLAGS:
        return BAD_FLAGS;
    case DLPARK_E_RANK:
        return BAD_RANK;
    case DLPARK_E_DTYPE:
        return BAD_DTYPE;
    case DLPARK_E_DEVICE:
        return BAD_DEVICE;
    case DLPARK_E_SHAPE:
        return BAD_SHAPE;
    case DLPARK_E_OVERFLOW:
        return BAD_SIZE;
    case DLPARK_E_DATA:
        return BAD_DATA;
    default:
        return ~0U;
    }
}

/* ---- The comparison ---- */

static void check_view(const description *d, const dlpark_view *view)
{
    FUZZ_WANT(view->ndim == d->tensor.ndim);
    FUZZ_WANT(memcmp(view->shape, d->shape, (size_t)view->ndim * sizeof d->shape[0]) == 0);
    if (d->tensor.strides != NULL)
        FUZZ_WANT(memcmp(view->strides, d->strides, (size_t)view->ndim * sizeof d->shape[0]) == 0);
    else
        FUZZ_WANT(dlpark_view_is_compact(view));
    FUZZ_WANT((view->flags & 7) == (d->flags & (view->dtype.bits * view->dtype.lanes % 8 == 0 ? 1 : 5)));
    FUZZ_WANT(view->bit_offset == 0);
}

/* Whether two of a few elements are in one place. Not known where there are many, or strides for which the library may
 * answer that it could not decide. */
static bool check_overlaps(const description *d, bool *known)
{
    int64_t at[CHECK_FEW], count = 1;

    for (int i = 0; i < d->tensor.ndim; i++) {
        wide product = (wide)count * d->shape[i];
        count = product > CHECK_FEW ? CHECK_FEW + 1 : (int64_t)product;
    }
    *known = count <= CHECK_FEW;
    for (int i = 0; i < d->tensor.ndim; i++)
        *known = *known && (d->shape[i] < 2 || (d->strides[i] < INT64_MAX / 256 && d->strides[i] > -INT64_MAX / 256));
    for (int64_t n = 0; n < count && *known; n++) {
        int64_t rest = n;
        at[n] = 0;
        for (int i = 0; i < d->tensor.ndim; i++) {
            at[n] += rest % d->shape[i] * (d->shape[i] > 1 ? d->strides[i] : 0);
            rest /= d->shape[i];
        }
        for (int64_t m = 0; m < n; m++)
            if (at[m] == at[n])
                return true;
    }
    return false;
}

static void check_hazards(const description *d, const dlpark_fault *faults, size_t count)
{
    bool known, overlap = false, negative = false;
    bool overlaps = check_overlaps(d, &known), empty = false, turned = false;

    for (size_t i = 0; i < count; i++) {
        overlap |= faults[i].rule == DLPARK_RULE_SELF_OVERLAP;
        negative |= faults[i].rule == DLPARK_RULE_NEGATIVE_STRIDE;
        FUZZ_WANT(!known || faults[i].rule != DLPARK_RULE_MAYBE_OVERLAP);
    }
    for (int i = 0; i < d->tensor.ndim; i++) {
        turned |= d->shape[i] > 1 && d->strides[i] < 0;
        empty |= d->shape[i] == 0;
    }
    FUZZ_WANT(!known || overlap == (overlaps && (d->flags & 1) == 0));
    FUZZ_WANT(negative == (turned && !empty));
}

static void check_list(const description *d, dlpark_status status, const char *message, unsigned bad)
{
    static dlpark_fault faults[256];
    size_t count = dlpark_check_all(&d->tensor, d->flags, faults, sizeof faults / sizeof faults[0]);
    unsigned listed = 0;

    FUZZ_WANT(count == dlpark_check_all(&d->tensor, d->flags, NULL, 0));
    count = count < 256 ? count : 256;
    for (size_t i = 0; i < count; i++) {
        FUZZ_WANT(faults[i].severity == dlpark_rule_severity(faults[i].rule));
        FUZZ_WANT(memchr(faults[i].message, 0, sizeof faults[i].message) != NULL);
        if (faults[i].severity == DLPARK_SEVERITY_BROKEN)
            listed |= check_status_bit(dlpark_rule_status(faults[i].rule));
    }
    FUZZ_WANT(listed == bad);
    if (bad == 0 && d->tensor.strides != NULL)
        check_hazards(d, faults, count);
    if (status != DLPARK_OK) {
        FUZZ_WANT(dlpark_rule_status(faults[0].rule) == status);
        FUZZ_WANT(strncmp(faults[0].message, message, sizeof faults[0].message - 1) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, size};
    static description d;
    static dlpark_view view;
    dlpark_error err = {DLPARK_OK, ""};

    memset(&d, 0, sizeof d);
    check_describe(&in, &d);
    unsigned bad = check_slowly(&d);
    dlpark_status status = dlpark_check(&d.tensor, d.flags, &view, &err);
    FUZZ_WANT((status == DLPARK_OK) == (bad == 0));
    FUZZ_WANT((check_status_bit(status) & ~bad) == 0);
    FUZZ_WANT(dlpark_check(&d.tensor, d.flags, NULL, NULL) == status);
    if (status == DLPARK_OK)
        check_view(&d, &view);
    check_list(&d, status, err.message, bad);
    return 0;
}
