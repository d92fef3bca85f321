/*
 * Buffers as tensors: whether a layout stays in a buffer, who ends it, and the host's view of the same memory.
 */
#include <inttypes.h>
#include <stdalign.h>

#include "../../core/tensor/tensor_parts.h"
#include "metal_parts.h"

/* ---- What Metal says ---- */

/* Whether the elements lie within a buffer. Without elements there is none that matters. */
static dlpark_status metal_check_place(const dlpark_metal *metal, const dlpark_view *view, dlpark_error *err)
{
    int64_t lowest, past;

    if (view->data == NULL)
        return DLPARK_OK;
    uint64_t length = metal->functions->length(view->data);
    dlpark__view_byte_range(view, &lowest, &past);
    uint64_t end = view->byte_offset + (uint64_t)past; /* a view's bytes are known to lie between 0 and 2^63-1 */
    if (end > length)
        return dlpark_error_set(err, DLPARK_E_LAYOUT,
                                "the elements are the bytes %" PRIu64 " to %" PRIu64 ", and the buffer has %" PRIu64,
                                view->byte_offset + (uint64_t)lowest, end, length);
    if (metal->functions->storage_mode(view->data) == DLPARK_METAL_MEMORYLESS)
        return dlpark_error_set(err, DLPARK_E_LAYOUT, "the buffer is memoryless: it has no bytes beyond one pass");
    return DLPARK_OK;
}

/* ---- Descriptions ---- */

static dlpark_status metal_check_desc(const dlpark_tensor_desc *desc, dlpark_error *err)
{
    const struct {
        const char *name;
        bool is_given;
    } fields[] = {
        {"data", desc->data != NULL || desc->data_const != NULL},
        {"owner", desc->owner != NULL},
        {"release", desc->release != NULL},
        {"extra_nbytes", desc->extra_nbytes != 0},
        {"storage", desc->storage != NULL || desc->storage_nbytes != 0},
        {"allocator", desc->allocator != NULL},
        {"alignment_bytes", desc->alignment_bytes != 0},
    };

    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (fields[i].is_given)
            return dlpark_error_set(err, DLPARK_E_ARGUMENT, "desc->%s is given, which a buffer of Metal has no use for",
                                    fields[i].name);
    if (desc->device.device_type != 0 && desc->device.device_type != kDLMetal)
        return dlpark_error_set(err, DLPARK_E_DEVICE, "device is %s, expected metal",
                                dlpark_device_name(desc->device).text);
    return DLPARK_OK;
}

/* The description with the buffer in it. */
static dlpark_status metal_read_desc(const dlpark_metal *metal, const dlpark_tensor_desc *desc, size_t desc_nbytes,
                                     void *buffer, dlpark_tensor_desc *out, dlpark_error *err)
{
    DLPARK_TRY(dlpark__metal_check(metal, err));
    if (buffer == NULL)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "buffer is NULL");
    DLPARK_TRY(dlpark__desc_read_sized(desc, desc_nbytes, out, err));
    DLPARK_TRY(metal_check_desc(out, err));
    out->device.device_type = kDLMetal;
    out->data = buffer;
    return DLPARK_OK;
}

/* ---- Owners ---- */

/* The extra bytes of a tensor. */
typedef struct metal_owner {
    const dlpark_metal_functions *functions;
    void *buffer; /* NULL: nothing to end yet */
} metal_owner;

static void metal_end(void *extra)
{
    metal_owner *owner = extra;

    if (owner->buffer != NULL)
        owner->functions->release(owner->buffer);
}

static dlpark_status metal_check_output(const dlpark_tensor *tensor, dlpark_error *err)
{
    if (tensor == NULL)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the output tensor is NULL");
    return dlpark__tensor_check_output(tensor, err);
}

/* A tensor over a buffer, with no reference to it yet. */
static dlpark_status metal_wrap(const dlpark_metal *metal, dlpark_tensor *made, void *buffer,
                                const dlpark_tensor_desc *desc, size_t desc_nbytes, dlpark_view *view,
                                dlpark_error *err)
{
    dlpark_view seen DLPARK_UNINITIALIZED, *out = view != NULL ? view : &seen;
    dlpark_tensor_desc full;

    DLPARK_TRY(metal_check_output(made, err));
    DLPARK_TRY(metal_read_desc(metal, desc, desc_nbytes, buffer, &full, err));
    full.release = metal_end;
    full.extra_nbytes = sizeof(metal_owner);
    DLPARK_TRY(dlpark_tensor_new(made, &full, out, err));
    *(metal_owner *)dlpark_tensor_extra(made) = (metal_owner){metal->functions, NULL};
    dlpark_status status = metal_check_place(metal, out, err);
    if (status != DLPARK_OK)
        dlpark_tensor_release(made);
    return status;
}

dlpark_status dlpark_metal_share_sized(const dlpark_metal *metal, dlpark_tensor *tensor, void *buffer,
                                       const dlpark_tensor_desc *desc, size_t desc_nbytes, dlpark_view *view,
                                       dlpark_error *err)
{
    DLPARK_TRY(metal_wrap(metal, tensor, buffer, desc, desc_nbytes, view, err));
    metal->functions->retain(buffer);
    ((metal_owner *)dlpark_tensor_extra(tensor))->buffer = buffer;
    return DLPARK_OK;
}

dlpark_status dlpark_metal_import_sized(const dlpark_metal *metal, dlpark_tensor *tensor, void **buffer,
                                        const dlpark_tensor_desc *desc, size_t desc_nbytes, dlpark_view *view,
                                        dlpark_error *err)
{
    DLPARK_TRY(metal_wrap(metal, tensor, buffer != NULL ? *buffer : NULL, desc, desc_nbytes, view, err));
    ((metal_owner *)dlpark_tensor_extra(tensor))->buffer = *buffer;
    *buffer = NULL;
    return DLPARK_OK;
}

dlpark_status dlpark_metal_view_sized(const dlpark_metal *metal, dlpark_view *view, void *buffer,
                                      const dlpark_tensor_desc *desc, size_t desc_nbytes, dlpark_error *err)
{
    _Alignas(max_align_t) unsigned char storage[DLPARK_TENSOR_STORAGE_NBYTES(DLPARK_MAX_NDIM)] DLPARK_UNINITIALIZED;
    dlpark_tensor made = DLPARK_TENSOR_EMPTY; /* that nobody owns: what it is, is what the view is */
    dlpark_tensor_desc full;

    if (view == NULL)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "view is NULL");
    DLPARK_TRY(metal_read_desc(metal, desc, desc_nbytes, buffer, &full, err));
    full.storage = storage;
    full.storage_nbytes = sizeof storage;
    DLPARK_TRY(dlpark_tensor_new(&made, &full, view, err));
    return metal_check_place(metal, view, err);
}

/* ---- Out again ---- */

static dlpark_status metal_find_buffer(const dlpark_metal *metal, const dlpark_view *view, dlpark_error *err)
{
    DLPARK_TRY(dlpark__metal_check(metal, err));
    if (view == NULL)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "view is NULL");
    if (view->device.device_type != kDLMetal)
        return dlpark_error_set(err, DLPARK_E_DEVICE, "the tensor is on %s, expected metal",
                                dlpark_device_name(view->device).text);
    if (view->data == NULL)
        return dlpark_error_set(err, DLPARK_E_SHAPE, "the tensor has no elements, and so no buffer");
    return metal_check_place(metal, view, err);
}

void *dlpark_metal_borrow(const dlpark_metal *metal, const dlpark_view *view, dlpark_error *err)
{
    return metal_find_buffer(metal, view, err) == DLPARK_OK ? view->data : NULL;
}

dlpark_status dlpark_metal_export(const dlpark_metal *metal, void **buffer, uint64_t *byte_offset,
                                  dlpark_tensor *tensor, dlpark_error *err)
{
    dlpark_view view DLPARK_UNINITIALIZED;

    if (buffer == NULL || byte_offset == NULL || tensor == NULL || tensor->managed == NULL)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                                buffer == NULL        ? "buffer is NULL"
                                : byte_offset == NULL ? "byte_offset is NULL"
                                                      : "the tensor is empty");
    if (*buffer != NULL)
        return dlpark_error_set(err, DLPARK_E_NOT_EMPTY, "the output already is a buffer, %p", *buffer);
    dlpark_tensor_view(tensor, &view);
    DLPARK_TRY(metal_find_buffer(metal, &view, err));
    metal->functions->retain(view.data);
    *buffer = view.data;
    *byte_offset = view.byte_offset;
    dlpark_tensor_release(tensor); /* the buffer keeps its memory */
    return DLPARK_OK;
}

/* ---- On the host ---- */

static void metal_end_map(void *extra)
{
    dlpark_tensor_release(extra);
}

/* Where the host finds element 0. */
static dlpark_status metal_find_contents(const dlpark_metal *metal, const dlpark_view *view, unsigned char **out,
                                         dlpark_error *err)
{
    static const char *const modes[] = {"shared", "managed, a copy of what the device has", "private", "memoryless"};

    DLPARK_TRY(metal_find_buffer(metal, view, err));
    uint64_t mode = metal->functions->storage_mode(view->data);
    unsigned char *contents = mode == DLPARK_METAL_SHARED ? metal->functions->contents(view->data) : NULL;
    if (contents == NULL)
        return dlpark_error_set(err, DLPARK_E_DEVICE,
                                "the buffer is %s, and the host does not see its %" PRIu64
                                " bytes as they are: a blit to a shared one would have to copy them",
                                mode < 4 ? modes[mode] : "of a storage mode that is not known",
                                metal->functions->length(view->data));
    *out = contents + view->byte_offset;
    return DLPARK_OK;
}

/* The tensor of the host, which takes the source on success. */
static dlpark_status metal_make_map(const dlpark_metal *metal, dlpark_tensor *host, dlpark_tensor *source,
                                    dlpark_view *view, dlpark_error *err)
{
    dlpark_view mapped DLPARK_UNINITIALIZED;
    unsigned char *data = NULL;

    dlpark_tensor_view(source, &mapped);
    DLPARK_TRY(metal_find_contents(metal, &mapped, &data, err));
    const dlpark_tensor_desc desc = {.data = data,
                                     .dtype = mapped.dtype,
                                     .ndim = mapped.ndim,
                                     .shape = DLPARK_DIMS((const int64_t *)mapped.shape),
                                     .strides = DLPARK_DIMS((const int64_t *)mapped.strides),
                                     .flags = mapped.flags & (DLPARK_VIEW_READ_ONLY | DLPARK_VIEW_PADDED),
                                     .release = metal_end_map,
                                     .extra_nbytes = sizeof *source};
    DLPARK_TRY(dlpark_tensor_new(host, &desc, view, err));
    *(dlpark_tensor *)dlpark_tensor_extra(host) = *source;
    source->managed = NULL;
    return DLPARK_OK;
}

dlpark_status dlpark_metal_map(const dlpark_metal *metal, dlpark_tensor *host, dlpark_tensor *tensor,
                               const dlpark_view *part, dlpark_view *view, dlpark_error *err)
{
    dlpark_tensor source = DLPARK_TENSOR_EMPTY;

    DLPARK_TRY(dlpark__metal_check(metal, err));
    DLPARK_TRY(metal_check_output(host, err));
    if (tensor == NULL || tensor->managed == NULL)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the tensor is empty");
    DLPARK_TRY(dlpark_tensor_share(&source, tensor, part, err));
    dlpark_status status = metal_make_map(metal, host, &source, view, err);
    dlpark_tensor_release(&source); /* nothing, where the host's tensor has it */
    return status;
}
