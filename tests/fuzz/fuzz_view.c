/*
 * Bytes as a program of view operations, run on the library and on the oracle. After every step both must agree about
 * whether it could be done, about the shape and about the place of every element; a step that failed must have changed
 * nothing. The addresses are made up, so that reading an element would crash.
 */
#include <string.h>

#include "fuzz.h"
#include "oracle.h"

#define VIEW_BASE  UINT32_C(0x10000000)
#define VIEW_STEPS 16

static const DLDataType view_dtypes[] = {
    {kDLUInt, 8, 1},     {kDLFloat, 32, 1},        {kDLInt, 16, 1},          {kDLFloat, 64, 1},
    {kDLComplex, 64, 1}, {kDLUInt, 4, 1},          {kDLComplex, 128, 1},     {kDLUInt, 8, 3},
    {kDLUInt, 2, 1},     {kDLFloat6_e2m3fn, 6, 1}, {kDLUInt, 1, 1},          {kDLInt, 4, 3},
    {kDLComplex, 32, 1}, {kDLBool, 8, 1},          {kDLFloat4_e2m1fn, 4, 1}, {kDLInt, 128, 1}};

#define VIEW_DTYPES ((int)(sizeof view_dtypes / sizeof view_dtypes[0]))

typedef struct machine {
    fuzz_input in;
    dlpark_view view;
    oracle model;
} machine;

/* The flags when the elements become those of a dtype: PADDED speaks of sub-byte elements alone. */
static uint32_t view_flags(const dlpark_view *view, DLDataType dtype)
{
    bool whole = dlpark_dtype_nbits(view->dtype) % 8 == 0 || dlpark_dtype_nbits(dtype) % 8 == 0;

    return whole ? view->flags & ~DLPARK_VIEW_PADDED : view->flags;
}

static int64_t view_nbits(const dlpark_view *view, DLDataType dtype)
{
    int64_t nbits = dlpark_dtype_nbits(dtype);

    return view_flags(view, dtype) & DLPARK_VIEW_PADDED ? (nbits + 7) / 8 * 8 : nbits;
}

/* A rank of 0 to 5 with small extents and any small strides. */
static bool view_begin(machine *m)
{
    static const DLDeviceType devices[] = {kDLCPU, kDLCUDA, kDLOpenCL, kDLCPU};
    int64_t shape[5], strides[5];
    uint64_t flags = fuzz_byte(&m->in) & 5;
    DLTensor tensor = {.data = (void *)(uintptr_t)VIEW_BASE, .shape = shape, .strides = strides};

    tensor.device.device_type = devices[fuzz_choice(&m->in, 4)];
    tensor.dtype = view_dtypes[fuzz_choice(&m->in, VIEW_DTYPES)];
    tensor.ndim = fuzz_choice(&m->in, 6);
    for (int i = 0; i < tensor.ndim; i++) {
        shape[i] = (7 - fuzz_choice(&m->in, 8)) % 7; /* 0 is as rare as a large one */
        strides[i] = fuzz_choice(&m->in, 32) - 12;
    }
    tensor.byte_offset = 0x4000 + fuzz_byte(&m->in);
    if (fuzz_byte(&m->in) % 2 == 0)
        FUZZ_WANT(dlpark_layout_compact_strides(tensor.ndim, shape, strides, NULL) == DLPARK_OK);
    FUZZ_WANT(dlpark_check(&tensor, flags, &m->view, NULL) == DLPARK_OK);
    if (!oracle_init(&m->model, view_nbits(&m->view, tensor.dtype), tensor.ndim, shape, strides))
        return false;
    for (int64_t n = 0; n < m->model.count; n++)
        m->model.at[n] += (int64_t)tensor.byte_offset * 8;
    return true;
}

/* ---- One step: what the library and the oracle say ---- */

typedef struct verdict {
    dlpark_status status;
    bool possible;
    bool skipped; /* it would make more elements than the oracle holds */
} verdict;

/* Mostly one that exists, from either end. */
static int view_dim(machine *m)
{
    int64_t any = fuzz_number(&m->in);

    return m->model.ndim > 0 && any < 100 && any > -100 ? (int)(any % (m->model.ndim + 1)) : (int)any;
}

static int64_t view_bound(machine *m)
{
    int64_t any = fuzz_number(&m->in);

    return any == 11 ? DLPARK_NONE : any;
}

static verdict view_cut(machine *m, int kind)
{
    int dim = view_dim(m);
    int64_t a = view_bound(m), b = kind < 2 ? 0 : view_bound(m), c = kind < 3 ? 0 : view_bound(m);

    if (kind == 0)
        return (verdict){dlpark_view_flip(&m->view, dim, NULL), oracle_flip(&m->model, dim), false};
    if (kind == 1)
        return (verdict){dlpark_view_index(&m->view, dim, a, NULL), oracle_index(&m->model, dim, a), false};
    if (kind == 2)
        return (verdict){dlpark_view_diagonal(&m->view, a, dim, (int)b, NULL),
                         oracle_diagonal(&m->model, a, dim, (int)b), false};
    return (verdict){dlpark_view_slice(&m->view, dim, a, b, c, NULL), oracle_slice(&m->model, dim, a, b, c), false};
}

static verdict view_window(machine *m)
{
    int dim = view_dim(m);
    int64_t size = fuzz_number(&m->in), step = fuzz_number(&m->in), most = 1;

    for (int i = 0; i < m->model.ndim; i++)
        most = m->model.shape[i] > most ? m->model.shape[i] : most;
    if (size > 0 && size <= most && m->model.count * size > ORACLE_ELEMENTS)
        return (verdict){.skipped = true};
    return (verdict){dlpark_view_window(&m->view, dim, size, step, NULL), oracle_window(&m->model, dim, size, step),
                     false};
}

static verdict view_order(machine *m, int kind)
{
    int order[DLPARK_MAX_NDIM], ndim = m->model.ndim, a, b;

    switch (kind) {
    case 0:
        a = view_dim(m);
        b = view_dim(m);
        return (verdict){dlpark_view_transpose(&m->view, a, b, NULL), oracle_transpose(&m->model, a, b), false};
    case 1:
        a = view_dim(m);
        return (verdict){dlpark_view_squeeze(&m->view, a, NULL), oracle_squeeze(&m->model, a), false};
    case 2:
        a = view_dim(m);
        return (verdict){dlpark_view_expand_dims(&m->view, a, NULL), oracle_expand(&m->model, a), false};
    case 3:
        dlpark_view_squeeze_all(&m->view);
        oracle_squeeze_all(&m->model);
        return (verdict){DLPARK_OK, true, false};
    default:
        for (int i = 0; i < ndim; i++)
            order[i] = i;
        for (int i = 0; i < ndim; i++) { /* a permutation, and sometimes not */
            int other = fuzz_choice(&m->in, ndim + 1);
            int kept = order[i];
            order[i] = other < ndim ? order[other] : view_dim(m);
            if (other < ndim)
                order[other] = kept;
        }
        ndim = fuzz_choice(&m->in, 32) == 31 ? ndim - 1 : ndim;
        return (verdict){dlpark_view_permute(&m->view, ndim, order, NULL), oracle_permute(&m->model, ndim, order),
                         false};
    }
}

/* A shape with as many elements: factors of the count in random order; then, now and then, one extent is anything. */
static int view_factors(machine *m, int64_t *shape)
{
    int64_t left = m->model.count;
    int ndim = fuzz_choice(&m->in, 7);

    for (int i = 0; i < ndim; i++) {
        int64_t extent = 1 + fuzz_choice(&m->in, 12);
        shape[i] = i == ndim - 1 ? left : left > 0 && left % extent == 0 ? extent : 1;
        left = shape[i] > 0 ? left / shape[i] : left;
    }
    for (int i = ndim - 1; i > 0; i--) {
        int other = fuzz_choice(&m->in, i + 1);
        int64_t kept = shape[i];
        shape[i] = shape[other];
        shape[other] = kept;
    }
    int change = fuzz_byte(&m->in);
    if (ndim > 0 && change < 128)
        shape[change % ndim] = change < 96 ? -1 : fuzz_number(&m->in);
    return ndim;
}

static verdict view_shape(machine *m, int kind)
{
    int64_t shape[DLPARK_MAX_NDIM];
    int ndim;

    if (kind == 0) {
        ndim = view_factors(m, shape);
        return (verdict){dlpark_view_reshape(&m->view, ndim, shape, NULL), oracle_reshape(&m->model, ndim, shape),
                         false};
    }
    ndim = m->model.ndim + fuzz_choice(&m->in, 4) - 1;
    ndim = ndim < 0 ? 0 : ndim > DLPARK_MAX_NDIM ? DLPARK_MAX_NDIM : ndim;
    for (int i = 0; i < ndim; i++) {
        int at = i - (ndim - m->model.ndim);
        shape[i] = at >= 0 && m->model.shape[at] != 1 ? m->model.shape[at] : fuzz_choice(&m->in, 5);
    }
    if (ndim > 0 && fuzz_byte(&m->in) < 32)
        shape[fuzz_choice(&m->in, ndim)] = fuzz_number(&m->in);
    bool negative = false;
    for (int i = 0; i < ndim; i++)
        negative |= shape[i] < 0;
    if (!negative && oracle_count(ndim, shape) < 0)
        return (verdict){.skipped = true};
    return (verdict){dlpark_view_broadcast(&m->view, ndim, shape, NULL), oracle_broadcast(&m->model, ndim, shape),
                     false};
}

static verdict view_type(machine *m, int kind)
{
    DLDataType dtype = view_dtypes[fuzz_choice(&m->in, VIEW_DTYPES)];
    int64_t nbits = view_nbits(&m->view, dtype);
    bool complex = m->view.dtype.code == kDLComplex;

    if (kind > 0) {
        verdict v = {kind == 1 ? dlpark_view_real(&m->view, NULL) : dlpark_view_imag(&m->view, NULL), complex, false};
        if (complex)
            oracle_half(&m->model, kind - 1);
        return v;
    }
    if (m->model.count * m->model.nbits / nbits > ORACLE_ELEMENTS)
        return (verdict){.skipped = true};
    return (verdict){dlpark_view_reinterpret(&m->view, dtype, NULL), oracle_reinterpret(&m->model, nbits), false};
}

static verdict view_step(machine *m)
{
    int kind = fuzz_choice(&m->in, 16);

    if (kind < 4)
        return view_cut(m, kind);
    if (kind == 4)
        return view_window(m);
    if (kind < 10)
        return view_order(m, kind - 5);
    if (kind < 13)
        return view_shape(m, kind - 10 > 1);
    return view_type(m, kind - 13);
}

/* ---- What must hold ---- */

static bool view_is_same(const dlpark_view *a, const dlpark_view *b)
{
    size_t used = (size_t)a->ndim * sizeof a->shape[0];

    return memcmp(a, b, offsetof(dlpark_view, shape)) == 0 && memcmp(a->shape, b->shape, used) == 0 &&
           memcmp(a->strides, b->strides, used) == 0;
}

static void view_judge(machine *m, const dlpark_view *before)
{
    const dlpark_view *view = &m->view;
    bool in_order = true;

    FUZZ_WANT(oracle_agrees(&m->model, view, VIEW_BASE));
    FUZZ_WANT(view_flags(view, view->dtype) == view_flags(before, view->dtype));
    FUZZ_WANT(view->device.device_type == before->device.device_type);
    FUZZ_WANT(view_nbits(view, view->dtype) == m->model.nbits);
    FUZZ_WANT(dlpark_view_numel(view) == m->model.count);
    FUZZ_WANT((view->data == NULL) == (m->model.count == 0));
    if (!dlpark_device_is_addressable(view->device) && m->model.count > 0)
        FUZZ_WANT(view->data == (void *)(uintptr_t)VIEW_BASE); /* nobody adds to a handle */
    FUZZ_WANT(dlpark_view_nbytes(view) == (m->model.count * m->model.nbits + 7) / 8);
    for (int64_t n = 0; n < m->model.count; n++)
        in_order &= m->model.at[n] == m->model.at[0] + n * m->model.nbits;
    FUZZ_WANT(dlpark_view_is_compact(view) == (in_order && view->bit_offset == 0));
    DLTensor raw;
    dlpark_status borrowed = dlpark_view_borrow_dltensor(&m->view, &raw, NULL);
    FUZZ_WANT((borrowed == DLPARK_OK) == (view->bit_offset == 0));
    if (borrowed == DLPARK_OK)
        FUZZ_WANT(dlpark_check(&raw, view->flags & 5, NULL, NULL) == DLPARK_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static machine m;
    static dlpark_view before;

    memset(&m.view, 0, sizeof m.view);
    m.in = (fuzz_input){data, size};
    if (!view_begin(&m))
        return 0;
    memset(&before, 0, sizeof before);
    dlpark_view_copy(&before, &m.view);
    for (int step = 0; step < VIEW_STEPS && m.in.left > 0; step++) {
        verdict v = view_step(&m);
        if (v.skipped)
            continue;
        FUZZ_WANT((v.status == DLPARK_OK) == v.possible);
        if (!v.possible)
            FUZZ_WANT(view_is_same(&m.view, &before));
        view_judge(&m, &before);
        dlpark_view_copy(&before, &m.view);
    }
    return 0;
}
