/*
 * Views of ggml's tensors. Nothing here believes a field before it has been looked at: what ggml itself does with a field
 * that is wrong is to abort.
 */
#include <inttypes.h>
#include <stdbool.h>

#include "ggml_parts.h"

typedef struct gg_plain {
    enum ggml_type type;
    uint8_t code;
    uint8_t bits;
} gg_plain;

/* The types whose elements lie side by side. There are no others: no unsigned, bool, complex or 8-bit float type. */
static const gg_plain gg_plains[] = {
    {GGML_TYPE_F32, kDLFloat, 32}, {GGML_TYPE_F16, kDLFloat, 16}, {GGML_TYPE_BF16, kDLBfloat, 16},
    {GGML_TYPE_F64, kDLFloat, 64}, {GGML_TYPE_I8, kDLInt, 8},     {GGML_TYPE_I16, kDLInt, 16},
    {GGML_TYPE_I32, kDLInt, 32},   {GGML_TYPE_I64, kDLInt, 64},
};
enum { GG_PLAIN_COUNT = sizeof gg_plains / sizeof gg_plains[0] };

dlpark_status dlpark__ggml_type(DLDataType dtype, enum ggml_type *type, dlpark_error *err)
{
    for (int i = 0; i < GG_PLAIN_COUNT; i++)
        if (dlpark_dtype_equal(dtype, DLPARK_DTYPE(gg_plains[i].code, gg_plains[i].bits, 1))) {
            *type = gg_plains[i].type;
            return DLPARK_OK;
        }
    return dlpark_error_set(err, DLPARK_E_DTYPE,
                            "ggml has no %s; it has f16, bf16, f32, f64, i8, i16, i32 and i64, to one of which "
                            "dlpark_cast() would have to copy",
                            dlpark_dtype_name(dtype).text);
}

/* Whether two names are the same but for the case of ASCII letters. */
static bool gg_same_name(const char *a, const char *b)
{
    for (; *a != '\0' && *b != '\0'; a++, b++) {
        int x = *a >= 'A' && *a <= 'Z' ? *a + 32 : *a;
        int y = *b >= 'A' && *b <= 'Z' ? *b + 32 : *b;
        if (x != y)
            return false;
    }
    return *a == *b;
}

dlpark_status dlpark__ggml_block_type(const char *name, enum ggml_type *type, dlpark_error *err)
{
    for (int i = 0; i < GGML_TYPE_COUNT; i++) {
        const char *known = ggml_type_name((enum ggml_type)i);
        if (known == NULL || !gg_same_name(known, name))
            continue;
        if (ggml_blck_size((enum ggml_type)i) < 2)
            break;
        *type = (enum ggml_type)i;
        return DLPARK_OK;
    }
    return dlpark_error_set(err, DLPARK_E_DTYPE, "this ggml has no type of blocks that is called \"%.40s\"", name);
}

/* ---- Into dlpark ---- */

/* What a tensor's elements are, and the bytes from one to the next: of its own type, or of its blocks as bytes. */
static dlpark_status gg_read_type(const struct ggml_tensor *tensor, uint32_t as, DLTensor *out, dlpark_error *err)
{
    for (int i = 0; i < GG_PLAIN_COUNT; i++)
        if (tensor->type == gg_plains[i].type) {
            out->dtype = DLPARK_DTYPE(gg_plains[i].code, gg_plains[i].bits, 1);
            return DLPARK_OK;
        }
    /* Types come and go: some numbers have no type any more, and a newer library has more of them than our header. */
    if ((unsigned)tensor->type >= (unsigned)GGML_TYPE_COUNT || ggml_type_size(tensor->type) == 0)
        return dlpark_error_set(err, DLPARK_E_DTYPE, "the ggml tensor \"%.40s\" is of type %d, which is not known",
                                tensor->name, (int)tensor->type);
    if ((as & DLPARK_GGML_BLOCKS) == 0)
        return dlpark_error_set(
            err, DLPARK_E_DTYPE,
            "the ggml tensor \"%.40s\" is %s: %" PRId64 " elements share %zu bytes with their scale; "
            "DLPARK_GGML_BLOCKS gives the bytes, elements would have to be copied",
            tensor->name, ggml_type_name(tensor->type), ggml_blck_size(tensor->type), ggml_type_size(tensor->type));
    out->dtype = DLPARK_U8;
    return DLPARK_OK;
}

/* The bytes of a row of blocks, which lie side by side. */
static dlpark_status gg_read_blocks(const struct ggml_tensor *tensor, int64_t *nbytes, dlpark_error *err)
{
    int64_t block = ggml_blck_size(tensor->type);
    size_t size = ggml_type_size(tensor->type);

    if (tensor->ne[0] < 0 || tensor->ne[0] % block != 0)
        return dlpark_error_set(err, DLPARK_E_SHAPE,
                                "ne[0] of the ggml tensor \"%.40s\" is %" PRId64 ", not whole blocks of %" PRId64,
                                tensor->name, tensor->ne[0], block);
    if (tensor->ne[0] > block && tensor->nb[0] != size)
        return dlpark_error_set(err, DLPARK_E_STRIDES,
                                "nb[0] of the ggml tensor \"%.40s\" is %zu, but a block of %s has %zu bytes",
                                tensor->name, tensor->nb[0], ggml_type_name(tensor->type), size);
    if (__builtin_mul_overflow(tensor->ne[0] / block, size, nbytes))
        return dlpark_error_set(err, DLPARK_E_OVERFLOW,
                                "ne[0] is %" PRId64 " elements, %zu bytes for %" PRId64 " of them", tensor->ne[0], size,
                                block);
    return DLPARK_OK;
}

/* The stride of one dimension in elements; one of an extent of 1 means nothing. */
static dlpark_status gg_read_stride(const struct ggml_tensor *tensor, int i, size_t size, int64_t *stride,
                                    dlpark_error *err)
{
    size_t steps = tensor->nb[i] / size;

    if (tensor->ne[i] > 1 && tensor->nb[i] % size != 0)
        return dlpark_error_set(err, DLPARK_E_STRIDES,
                                "nb[%d] of the ggml tensor \"%.40s\" is %zu bytes, no multiple of the element's %zu", i,
                                tensor->name, tensor->nb[i], size);
    if (steps > (size_t)INT64_MAX)
        return dlpark_error_set(err, DLPARK_E_OVERFLOW, "nb[%d] of the ggml tensor \"%.40s\" is %zu bytes", i,
                                tensor->name, tensor->nb[i]);
    *stride = (int64_t)steps;
    return DLPARK_OK;
}

/* The rank that is asked for, or 1 plus the last place where ne is not 1. ggml_n_dims() asks where it is above 1, and so
 * makes one dimension of {3, 0}. */
static dlpark_status gg_read_ndim(const struct ggml_tensor *tensor, uint32_t as, int32_t *ndim, dlpark_error *err)
{
    int32_t used = GGML_MAX_DIMS, wanted = (int32_t)(as >> 8) - 1;

    if ((as & ~(DLPARK_GGML_BLOCKS | UINT32_C(0x700))) != 0 || wanted > GGML_MAX_DIMS)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                                "`as` is 0x%" PRIx32 "; it takes DLPARK_GGML_BLOCKS and DLPARK_GGML_NDIM(0 to %d)", as,
                                GGML_MAX_DIMS);
    while (used > 0 && tensor->ne[used - 1] == 1)
        used--;
    if (wanted >= 0 && used > wanted)
        return dlpark_error_set(err, DLPARK_E_RANK,
                                "rank %" PRId32 " was asked for, but ne[%" PRId32 "] of the ggml tensor \"%.40s\" is "
                                "%" PRId64,
                                wanted, used - 1, tensor->name, tensor->ne[used - 1]);
    *ndim = wanted >= 0 ? wanted : used > 0 ? used : 1;
    return DLPARK_OK;
}

/* Shape and strides, into the view's own lists. */
static dlpark_status gg_read_layout(const struct ggml_tensor *tensor, uint32_t as, dlpark_view *view, DLTensor *out,
                                    dlpark_error *err)
{
    size_t size = dlpark_dtype_nbits(out->dtype) / 8;
    bool blocks = out->dtype.code == kDLUInt; /* no plain type is one */

    DLPARK_TRY(gg_read_ndim(tensor, as, &out->ndim, err));
    for (int32_t i = 0; i < out->ndim; i++) {
        int32_t dim = out->ndim - 1 - i;
        view->shape[dim] = tensor->ne[i];
        if (i == 0 && blocks) {
            view->strides[dim] = 1;
            DLPARK_TRY(gg_read_blocks(tensor, &view->shape[dim], err));
        } else {
            DLPARK_TRY(gg_read_stride(tensor, i, size, &view->strides[dim], err));
        }
    }
    out->shape = view->shape;
    out->strides = view->strides;
    return DLPARK_OK;
}

static bool gg_is_empty(const struct ggml_tensor *tensor)
{
    bool empty = false;

    for (int i = 0; i < GGML_MAX_DIMS; i++)
        empty |= tensor->ne[i] == 0;
    return empty;
}

/* Where the elements are, which the host has to be able to read. */
static dlpark_status gg_read_memory(const struct ggml_tensor *tensor, DLTensor *out, uint64_t *flags, dlpark_error *err)
{
    struct ggml_backend_buffer *buffer = dlpark__ggml_buffer(tensor);

    *flags = 0;
    if (gg_is_empty(tensor))
        return DLPARK_OK;
    if (buffer != NULL && !ggml_backend_buffer_is_host(buffer))
        return dlpark_error_set(err, DLPARK_E_DEVICE,
                                "the ggml tensor \"%.40s\" is in a buffer of %.40s, which the host does not read as it "
                                "is: ggml_backend_tensor_get() would have to copy it",
                                tensor->name, ggml_backend_buffer_name(buffer));
    if (tensor->data == NULL)
        return dlpark_error_set(err, DLPARK_E_DATA,
                                "the ggml tensor \"%.40s\" has no memory yet: allocate its context or its graph first",
                                tensor->name);
    if (buffer != NULL && ggml_backend_buffer_get_usage(buffer) == GGML_BACKEND_BUFFER_USAGE_WEIGHTS)
        *flags = DLPACK_FLAG_BITMASK_READ_ONLY;
    out->data = tensor->data;
    return DLPARK_OK;
}

dlpark_status dlpark_ggml_view(dlpark_view *view, const struct ggml_tensor *tensor, dlpark_error *err)
{
    return dlpark_ggml_view_as(view, tensor, 0, err);
}

dlpark_status dlpark__ggml_read(const struct ggml_tensor *tensor, uint32_t as, dlpark_view *lists, DLTensor *claim,
                                uint64_t *flags, dlpark_error *err)
{
    *claim = (DLTensor){.device = {kDLCPU, 0}};
    if (tensor == NULL)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the ggml tensor is NULL, as for a name that a context lacks");
    DLPARK_TRY(gg_read_type(tensor, as, claim, err));
    DLPARK_TRY(gg_read_layout(tensor, as, lists, claim, err));
    return gg_read_memory(tensor, claim, flags, err);
}

dlpark_status dlpark_ggml_view_as(dlpark_view *view, const struct ggml_tensor *tensor, uint32_t as, dlpark_error *err)
{
    DLTensor claim;
    uint64_t flags;

    DLPARK_TRY(dlpark__ggml_read(tensor, as, view, &claim, &flags, err));
    DLPARK_TRY(dlpark_check(&claim, flags, view, err));
    /* ggml's memory may be written where it does not say weights. */
    return flags == 0 ? dlpark_view_allow_write(view, err) : DLPARK_OK;
}
