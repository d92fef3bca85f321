#include "oracle.h"

#include <string.h>

/* ---- Counting through a shape ---- */

int64_t oracle_count(int ndim, const int64_t *shape)
{
    int64_t count = 1;

    for (int i = 0; i < ndim; i++)
        count = shape[i] == 0 ? 0 : count;
    for (int i = 0; i < ndim; i++)
        if (shape[i] < 0)
            return -1;
    for (int i = 0; i < ndim && count > 0; i++)
        if (shape[i] < 0 || shape[i] > ORACLE_ELEMENTS || (count *= shape[i]) > ORACLE_ELEMENTS)
            return -1;
    return count;
}

/* The index of the next element, last dimension fastest; of the first again after the last. */
static void oracle_advance(int ndim, const int64_t *shape, int64_t *index)
{
    for (int i = ndim - 1; i >= 0; i--) {
        if (++index[i] < shape[i])
            return;
        index[i] = 0;
    }
}

static int64_t oracle_ravel(int ndim, const int64_t *shape, const int64_t *index)
{
    int64_t number = 0;

    for (int i = 0; i < ndim; i++)
        number = number * shape[i] + index[i];
    return number;
}

bool oracle_init(oracle *o, int64_t nbits, int ndim, const int64_t *shape, const int64_t *strides)
{
    int64_t index[DLPARK_MAX_NDIM] = {0};

    o->ndim = ndim;
    o->nbits = nbits;
    o->count = oracle_count(ndim, shape);
    if (o->count < 0)
        return false;
    for (int i = 0; i < ndim; i++)
        o->shape[i] = shape[i];
    for (int64_t n = 0; n < o->count; n++, oracle_advance(ndim, shape, index)) {
        o->at[n] = 0;
        for (int i = 0; i < ndim; i++)
            o->at[n] += index[i] * strides[i] * nbits;
    }
    return true;
}

void oracle_copy(oracle *to, const oracle *from)
{
    to->ndim = from->ndim;
    to->count = from->count;
    to->nbits = from->nbits;
    memcpy(to->shape, from->shape, (size_t)from->ndim * sizeof from->shape[0]);
    memcpy(to->at, from->at, (size_t)from->count * sizeof from->at[0]);
}

/* ---- Comparing ---- */

bool oracle_strides(const oracle *o, int64_t *strides)
{
    int64_t index[DLPARK_MAX_NDIM] = {0};

    for (int i = 0; i < o->ndim; i++) {
        strides[i] = 0;
        if (o->count == 0 || o->shape[i] == 1)
            continue;
        index[i] = 1;
        int64_t step = o->at[oracle_ravel(o->ndim, o->shape, index)] - o->at[0];
        index[i] = 0;
        if (step % o->nbits != 0)
            return false;
        strides[i] = step / o->nbits;
    }
    for (int64_t n = 0; n < o->count; n++, oracle_advance(o->ndim, o->shape, index)) {
        int64_t at = o->at[0];
        for (int i = 0; i < o->ndim; i++)
            at += index[i] * strides[i] * o->nbits;
        if (at != o->at[n])
            return false;
    }
    return true;
}

bool oracle_agrees(const oracle *o, const dlpark_view *view, uint64_t base)
{
    int64_t index[DLPARK_MAX_NDIM] = {0};

    if (view->ndim != o->ndim || memcmp(view->shape, o->shape, (size_t)o->ndim * sizeof o->shape[0]) != 0)
        return false;
    if (o->count == 0)
        return true;

    oracle_wide first = ((oracle_wide)(uintptr_t)view->data - (oracle_wide)base + (oracle_wide)view->byte_offset) * 8;
    first += view->bit_offset;
    if (view->bit_offset > 7)
        return false;
    for (int64_t n = 0; n < o->count; n++, oracle_advance(o->ndim, o->shape, index)) {
        oracle_wide at = first;
        for (int i = 0; i < o->ndim; i++)
            at += (oracle_wide)index[i] * view->strides[i] * o->nbits;
        if (at != o->at[n])
            return false;
    }
    return true;
}

bool oracle_overlaps(const oracle *o)
{
    for (int64_t n = 0; n < o->count; n++)
        for (int64_t m = 0; m < n; m++) {
            int64_t apart = o->at[n] - o->at[m];
            if ((apart < 0 ? -apart : apart) < o->nbits)
                return true;
        }
    return false;
}

/* ---- The operations: where in the source is an element of the result ---- */

typedef struct oracle_args {
    int dim, other;       /* of the source */
    int64_t start, step;  /* along dim */
    int64_t start_other;  /* along other */
    const int *order;     /* order[i]: the source's dimension that becomes i; -1 for one that is made */
    int ndim;             /* of the source */
    const int64_t *shape; /* of the source */
} oracle_args;

typedef void oracle_place(const oracle_args *args, int ndim, const int64_t *index, int64_t *source);

static bool oracle_rebuild(oracle *o, oracle_args args, int ndim, const int64_t *shape, oracle_place *place)
{
    int64_t index[DLPARK_MAX_NDIM] = {0}, source[DLPARK_MAX_NDIM];
    int64_t count = ndim <= DLPARK_MAX_NDIM ? oracle_count(ndim, shape) : -1;
    static int64_t at[ORACLE_ELEMENTS];

    if (count < 0)
        return false;
    args.ndim = o->ndim;
    args.shape = o->shape;
    for (int64_t n = 0; n < count; n++, oracle_advance(ndim, shape, index)) {
        place(&args, ndim, index, source);
        at[n] = o->at[oracle_ravel(o->ndim, o->shape, source)];
    }
    memcpy(o->at, at, (size_t)count * sizeof at[0]);
    memcpy(o->shape, shape, (size_t)ndim * sizeof shape[0]);
    o->count = count;
    o->ndim = ndim;
    return true;
}

static bool oracle_has(const oracle *o, int dim)
{
    return dim >= -o->ndim && dim < o->ndim;
}

static int oracle_dim(const oracle *o, int dim)
{
    return dim < 0 ? dim + o->ndim : dim;
}

/* The shape without one dimension. */
static int oracle_without(const oracle *o, int dim, int64_t *shape)
{
    int kept = 0;

    for (int i = 0; i < o->ndim; i++)
        if (i != dim)
            shape[kept++] = o->shape[i];
    return kept;
}

static void place_index(const oracle_args *args, int ndim, const int64_t *index, int64_t *source)
{
    int taken = 0;

    (void)ndim;
    for (int i = 0; i < args->ndim; i++)
        source[i] = i == args->dim ? args->start : index[taken++];
}

bool oracle_index(oracle *o, int dim, int64_t index)
{
    int64_t shape[DLPARK_MAX_NDIM];

    if (!oracle_has(o, dim))
        return false;
    dim = oracle_dim(o, dim);
    if (index < -o->shape[dim] || index >= o->shape[dim])
        return false;
    oracle_args args = {.dim = dim, .start = index < 0 ? index + o->shape[dim] : index};
    return oracle_rebuild(o, args, oracle_without(o, dim, shape), shape, place_index);
}

static void place_slice(const oracle_args *args, int ndim, const int64_t *index, int64_t *source)
{
    for (int i = 0; i < ndim; i++)
        source[i] = i == args->dim ? args->start + index[i] * args->step : index[i];
}

/* Python's len(range(*slice(start, stop, step).indices(n))), in 128 bits. */
bool oracle_slice(oracle *o, int dim, int64_t start, int64_t stop, int64_t step)
{
    int64_t shape[DLPARK_MAX_NDIM];

    if (!oracle_has(o, dim) || step == 0)
        return false;
    dim = oracle_dim(o, dim);
    oracle_wide n = o->shape[dim], by = step == DLPARK_NONE ? 1 : step, first = start, past = stop;
    oracle_wide low = by < 0 ? -1 : 0, high = by < 0 ? n - 1 : n;
    first = first < 0 ? first + n : first;
    past = past < 0 ? past + n : past;
    first = first < low ? low : first > high ? high : first;
    past = past < low ? low : past > high ? high : past;
    if (start == DLPARK_NONE)
        first = by < 0 ? high : low;
    if (stop == DLPARK_NONE)
        past = by < 0 ? low : high;
    memcpy(shape, o->shape, sizeof shape[0] * (size_t)o->ndim);
    oracle_wide way = by < 0 ? first - past : past - first, stride = by < 0 ? -by : by;
    shape[dim] = way > 0 ? (int64_t)((way + stride - 1) / stride) : 0;
    oracle_args args = {.dim = dim, .start = (int64_t)first, .step = (int64_t)by};
    return oracle_rebuild(o, args, o->ndim, shape, place_slice);
}

bool oracle_flip(oracle *o, int dim)
{
    int64_t shape[DLPARK_MAX_NDIM];

    if (!oracle_has(o, dim))
        return false;
    dim = oracle_dim(o, dim);
    memcpy(shape, o->shape, sizeof shape[0] * (size_t)o->ndim);
    oracle_args args = {.dim = dim, .start = o->shape[dim] - 1, .step = -1};
    return oracle_rebuild(o, args, o->ndim, shape, place_slice);
}

static void place_order(const oracle_args *args, int ndim, const int64_t *index, int64_t *source)
{
    for (int i = 0; i < args->ndim; i++)
        source[i] = 0; /* dimensions that vanish have one place */
    for (int i = 0; i < ndim; i++)
        if (args->order[i] >= 0)
            source[args->order[i]] = args->shape[args->order[i]] == 1 ? 0 : index[i];
}

static bool oracle_order(oracle *o, int ndim, const int *order, const int64_t *made)
{
    int64_t shape[DLPARK_MAX_NDIM];

    for (int i = 0; i < ndim; i++)
        shape[i] = made != NULL ? made[i] : order[i] < 0 ? 1 : o->shape[order[i]];
    return oracle_rebuild(o, (oracle_args){.order = order}, ndim, shape, place_order);
}

bool oracle_permute(oracle *o, int ndim, const int *order)
{
    int clean[DLPARK_MAX_NDIM];
    bool seen[DLPARK_MAX_NDIM] = {false};

    if (ndim != o->ndim)
        return false;
    for (int i = 0; i < ndim; i++) {
        if (!oracle_has(o, order[i]) || seen[oracle_dim(o, order[i])])
            return false;
        clean[i] = oracle_dim(o, order[i]);
        seen[clean[i]] = true;
    }
    return oracle_order(o, ndim, clean, NULL);
}

bool oracle_transpose(oracle *o, int a, int b)
{
    int order[DLPARK_MAX_NDIM];

    if (!oracle_has(o, a) || !oracle_has(o, b))
        return false;
    for (int i = 0; i < o->ndim; i++)
        order[i] = i;
    order[oracle_dim(o, a)] = oracle_dim(o, b);
    order[oracle_dim(o, b)] = oracle_dim(o, a);
    return oracle_order(o, o->ndim, order, NULL);
}

bool oracle_squeeze(oracle *o, int dim)
{
    return oracle_has(o, dim) && o->shape[oracle_dim(o, dim)] == 1 && oracle_index(o, dim, 0);
}

void oracle_squeeze_all(oracle *o)
{
    for (int i = o->ndim - 1; i >= 0; i--)
        (void)oracle_squeeze(o, i);
}

bool oracle_expand(oracle *o, int dim)
{
    int order[DLPARK_MAX_NDIM + 1], from = 0;

    if (o->ndim == DLPARK_MAX_NDIM || dim < -o->ndim - 1 || dim > o->ndim)
        return false;
    dim = dim < 0 ? dim + o->ndim + 1 : dim;
    for (int i = 0; i <= o->ndim; i++)
        order[i] = i == dim ? -1 : from++;
    return oracle_order(o, o->ndim + 1, order, NULL);
}

static void place_diagonal(const oracle_args *args, int ndim, const int64_t *index, int64_t *source)
{
    int taken = 0;

    for (int i = 0; i < args->ndim; i++)
        source[i] = i == args->dim     ? args->start + index[ndim - 1]
                    : i == args->other ? args->start_other + index[ndim - 1]
                                       : index[taken++];
}

/* NumPy's: both dimensions go, their diagonal comes last. */
bool oracle_diagonal(oracle *o, int64_t offset, int a, int b)
{
    int64_t shape[DLPARK_MAX_NDIM];
    int kept = 0;

    if (!oracle_has(o, a) || !oracle_has(o, b) || oracle_dim(o, a) == oracle_dim(o, b))
        return false;
    a = oracle_dim(o, a);
    b = oracle_dim(o, b);
    for (int i = 0; i < o->ndim; i++)
        if (i != a && i != b)
            shape[kept++] = o->shape[i];
    oracle_wide down = offset < 0 ? -(oracle_wide)offset : 0, right = offset > 0 ? offset : 0;
    oracle_wide length = o->shape[a] - down < o->shape[b] - right ? o->shape[a] - down : o->shape[b] - right;
    shape[kept++] = length > 0 ? (int64_t)length : 0;
    oracle_args args = {.dim = a, .other = b, .start = (int64_t)down, .start_other = (int64_t)right};
    return oracle_rebuild(o, args, kept, shape, place_diagonal);
}

static void place_window(const oracle_args *args, int ndim, const int64_t *index, int64_t *source)
{
    for (int i = 0; i < args->ndim; i++)
        source[i] = i == args->dim ? index[i] * args->step + index[ndim - 1] : index[i];
}

/* The windows in the place of the dimension, what is in a window last. */
bool oracle_window(oracle *o, int dim, int64_t size, int64_t step)
{
    int64_t shape[DLPARK_MAX_NDIM + 1];

    if (o->ndim == DLPARK_MAX_NDIM || !oracle_has(o, dim) || step <= 0)
        return false;
    dim = oracle_dim(o, dim);
    if (size < 1 || size > o->shape[dim])
        return false;
    memcpy(shape, o->shape, sizeof shape[0] * (size_t)o->ndim);
    shape[dim] = (o->shape[dim] - size) / step + 1;
    shape[o->ndim] = size;
    return oracle_rebuild(o, (oracle_args){.dim = dim, .step = step}, o->ndim + 1, shape, place_window);
}

bool oracle_broadcast(oracle *o, int ndim, const int64_t *shape)
{
    int order[DLPARK_MAX_NDIM];

    if (ndim < o->ndim || ndim > DLPARK_MAX_NDIM)
        return false;
    for (int i = 0; i < ndim; i++) {
        order[i] = i - (ndim - o->ndim) < 0 ? -1 : i - (ndim - o->ndim);
        if (shape[i] < 0 || (order[i] >= 0 && o->shape[order[i]] != shape[i] && o->shape[order[i]] != 1))
            return false;
    }
    return oracle_order(o, ndim, order, shape);
}

/* What -1 stands for; false where that cannot be told, or an extent is negative. */
static bool oracle_infer(const oracle *o, int ndim, const int64_t **shape, int64_t *inferred)
{
    int64_t others = 1;
    int unknown = -1;

    for (int i = 0; i < ndim; i++) {
        inferred[i] = (*shape)[i];
        if (inferred[i] == -1 && unknown < 0) {
            unknown = i;
            inferred[i] = 1;
        } else if (inferred[i] < 0) {
            return false;
        }
    }
    if (unknown >= 0) {
        others = oracle_count(ndim, inferred);
        if (others <= 0 || o->count % others != 0)
            return false;
        inferred[unknown] = o->count / others;
    }
    *shape = inferred;
    return true;
}

bool oracle_reshape(oracle *o, int ndim, const int64_t *shape)
{
    static oracle trial;
    int64_t inferred[DLPARK_MAX_NDIM];
    int64_t strides[DLPARK_MAX_NDIM];

    if (ndim < 0 || ndim > DLPARK_MAX_NDIM || !oracle_infer(o, ndim, &shape, inferred) ||
        oracle_count(ndim, shape) != o->count)
        return false;
    oracle_copy(&trial, o);
    trial.ndim = ndim;
    memcpy(trial.shape, shape, sizeof shape[0] * (size_t)ndim);
    if (!oracle_strides(&trial, strides))
        return false;
    oracle_copy(o, &trial);
    return true;
}

/* ---- Other widths ---- */

void oracle_half(oracle *o, int half)
{
    o->nbits /= 2;
    for (int64_t n = 0; n < o->count; n++)
        o->at[n] += half * o->nbits;
}

/* Every row of the last dimension is one run of bits, which is cut anew. */
static bool oracle_cut(oracle *o, int64_t nbits)
{
    static int64_t at[ORACLE_ELEMENTS];
    int64_t old = o->ndim > 0 ? o->shape[o->ndim - 1] : 0;
    oracle_wide run = (oracle_wide)old * o->nbits;
    int64_t made = run / nbits <= INT64_MAX ? (int64_t)(run / nbits) : -1; /* without elements it may be that long */

    if (o->ndim == 0 || run % nbits != 0 || made < 0)
        return false;
    if (o->count > 0 && o->count / old * made > ORACLE_ELEMENTS)
        return false;
    for (int64_t n = 0; n < o->count; n++)
        if (o->at[n] != o->at[n / old * old] + n % old * o->nbits)
            return false;
    o->count = o->count > 0 ? o->count / old * made : 0;
    for (int64_t n = 0; n < o->count; n++)
        at[n] = o->at[n / made * old] + n % made * nbits;
    memcpy(o->at, at, (size_t)o->count * sizeof at[0]);
    o->shape[o->ndim - 1] = made;
    o->nbits = nbits;
    return true;
}

bool oracle_reinterpret(oracle *o, int64_t nbits)
{
    static oracle trial;
    int64_t strides[DLPARK_MAX_NDIM];

    if (nbits == o->nbits)
        return true;
    oracle_copy(&trial, o);
    if (!oracle_cut(&trial, nbits) || !oracle_strides(&trial, strides))
        return false;
    if (trial.count > 0 && nbits % 8 == 0 && trial.at[0] % 8 != 0)
        return false;
    oracle_copy(o, &trial);
    return true;
}
