/*
 * Buffers as tensors: what OpenCL says of a buffer, whether a layout stays in it, and who ends it.
 */
#include <inttypes.h>
#include <string.h>

#include "../../core/tensor/tensor_parts.h"
#include "opencl_parts.h"

/* ---- What OpenCL says ---- */

dlpark_status dlpark__opencl_buffer_read(const dlpark__opencl *loader, struct _cl_mem *mem, opencl_buffer *out,
                                         dlpark_error *err)
{
    uint32_t type = 0;

    if (mem == NULL)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "mem is NULL");
    OPENCL_TRY(loader, err, GetMemObjectInfo, mem, OPENCL_MEM_TYPE, sizeof type, &type, NULL);
    if (type != OPENCL_MEM_OBJECT_BUFFER)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the cl_mem is of type 0x%" PRIX32 ", and no buffer (0x%X)",
                                type, (unsigned)OPENCL_MEM_OBJECT_BUFFER);
    OPENCL_TRY(loader, err, GetMemObjectInfo, mem, OPENCL_MEM_FLAGS, sizeof out->flags, &out->flags, NULL);
    if ((out->flags & OPENCL_MEM_WRITE_ONLY) != 0)
        return dlpark_error_set(
            err, DLPARK_E_ARGUMENT,
            "the buffer has the flags 0x%" PRIX64 ": kernels may only write it, which no tensor says", out->flags);
    OPENCL_TRY(loader, err, GetMemObjectInfo, mem, OPENCL_MEM_SIZE, sizeof out->nbytes, &out->nbytes, NULL);
    OPENCL_TRY(loader, err, GetMemObjectInfo, mem, OPENCL_MEM_CONTEXT, sizeof(struct _cl_context *), &out->context,
               NULL);
    return DLPARK_OK;
}

dlpark_status dlpark__opencl_context_devices(const dlpark__opencl *loader, struct _cl_context *context,
                                             struct _cl_device_id **out, size_t *count, dlpark_error *err)
{
    size_t nbytes = 0;

    OPENCL_TRY(loader, err, GetContextInfo, context, OPENCL_CONTEXT_DEVICES, 0, NULL, &nbytes);
    *count = nbytes / sizeof(struct _cl_device_id *);
    if (*count > OPENCL_MAX_DEVICES)
        return dlpark_error_set(err, DLPARK_E_DEVICE, "the context has %zu devices, at most %d are known", *count,
                                OPENCL_MAX_DEVICES);
    OPENCL_TRY(loader, err, GetContextInfo, context, OPENCL_CONTEXT_DEVICES, nbytes, out, NULL);
    return DLPARK_OK;
}

/* What a device is called; 0 where the loader does not list it. */
static int32_t buffer_device_id(const dlpark__opencl *loader, const struct _cl_device_id *device)
{
    for (uint32_t i = 0; i < loader->device_count; i++)
        if (loader->devices[i] == device)
            return (int32_t)i;
    return 0;
}

/* The device that a description means: one of the context's, the first where it does not say. */
static dlpark_status buffer_find_device(const dlpark__opencl *loader, struct _cl_context *context, DLDevice wanted,
                                        DLDevice *out, dlpark_error *err)
{
    struct _cl_device_id *devices[OPENCL_MAX_DEVICES] = {NULL};
    bool is_said = wanted.device_type != 0 || wanted.device_id != 0;
    size_t count = 0;

    if (is_said && wanted.device_type != kDLOpenCL)
        return dlpark_error_set(err, DLPARK_E_DEVICE, "device is %s, expected opencl", dlpark_device_name(wanted).text);
    DLPARK_TRY(dlpark__opencl_context_devices(loader, context, devices, &count, err));
    for (size_t i = 0; i < (is_said ? count : 1); i++)
        if (!is_said || buffer_device_id(loader, devices[i]) == wanted.device_id) {
            *out = (DLDevice){kDLOpenCL, buffer_device_id(loader, devices[i])};
            return DLPARK_OK;
        }
    return dlpark_error_set(err, DLPARK_E_DEVICE, "device is %s, which is none of the %zu of the buffer's context",
                            dlpark_device_name(wanted).text, count);
}

dlpark_status dlpark__opencl_buffer_place(const opencl_buffer *buffer, const dlpark_view *view, opencl_region *out,
                                          dlpark_error *err)
{
    int64_t lowest, past_highest;

    dlpark__view_byte_range(view, &lowest, &past_highest);
    uint64_t first = view->byte_offset + (uint64_t)lowest, past = view->byte_offset + (uint64_t)past_highest;
    if (past > buffer->nbytes) /* a view's bytes are known to lie between 0 and 2^63-1 */
        return dlpark_error_set(err, DLPARK_E_LAYOUT,
                                "the elements are the bytes %" PRIu64 " to %" PRIu64 ", and the buffer has %zu", first,
                                past, buffer->nbytes);
    *out = (opencl_region){(size_t)first, (size_t)(past - first)};
    return DLPARK_OK;
}

/* ---- Descriptions ---- */

static dlpark_status buffer_check_desc(const dlpark_tensor_desc *desc, bool is_alloc, dlpark_error *err)
{
    const struct {
        const char *name;
        bool is_given;
    } fields[] = {
        {"data", desc->data != NULL},
        {"data_const", desc->data_const != NULL},
        {"owner", desc->owner != NULL},
        {"release", desc->release != NULL},
        {"extra_nbytes", desc->extra_nbytes != 0},
        {"storage", desc->storage != NULL || desc->storage_nbytes != 0},
        {"allocator", desc->allocator != NULL},
        {"alignment_bytes", desc->alignment_bytes != 0},
        {"byte_offset", is_alloc && desc->byte_offset != 0},
        {"strides", is_alloc && (desc->strides.values != NULL || desc->strides_borrowed != NULL)},
        {"flags", is_alloc && (desc->flags & ~DLPARK_TENSOR_PADDED) != 0},
    };

    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (fields[i].is_given)
            return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                                    "desc->%s is given, which a buffer of OpenCL has no use for", fields[i].name);
    return DLPARK_OK;
}

/* The description with the buffer in it. */
static dlpark_status buffer_read_desc(const dlpark__opencl *loader, const dlpark_tensor_desc *desc, size_t desc_nbytes,
                                      struct _cl_mem *mem, opencl_buffer *buffer, dlpark_tensor_desc *out,
                                      dlpark_error *err)
{
    DLPARK_TRY(dlpark__desc_read_sized(desc, desc_nbytes, out, err));
    DLPARK_TRY(buffer_check_desc(out, false, err));
    DLPARK_TRY(dlpark__opencl_buffer_read(loader, mem, buffer, err));
    DLPARK_TRY(buffer_find_device(loader, buffer->context, out->device, &out->device, err));
    out->data = mem;
    if ((buffer->flags & OPENCL_MEM_READ_ONLY) != 0)
        out->flags |= DLPARK_TENSOR_READ_ONLY;
    return DLPARK_OK;
}

/* ---- Owners ---- */

/* The extra bytes of a tensor. */
typedef struct buffer_owner {
    opencl_ReleaseMemObject_fn *release;
    struct _cl_mem *mem; /* NULL: nothing to end */
} buffer_owner;

static void buffer_end_tensor(void *extra)
{
    buffer_owner *owner = extra;

    if (owner->mem != NULL)
        (void)owner->release(owner->mem);
}

/* A tensor that ends nothing yet. The view is of it. */
static dlpark_status buffer_make(const dlpark__opencl *loader, dlpark_tensor *made, dlpark_tensor_desc *desc,
                                 dlpark_view *seen, dlpark_error *err)
{
    desc->release = buffer_end_tensor;
    desc->extra_nbytes = sizeof(buffer_owner);
    DLPARK_TRY(dlpark_tensor_new(made, desc, seen, err));
    *(buffer_owner *)made->managed->manager_ctx = (buffer_owner){loader->ReleaseMemObject, NULL};
    return DLPARK_OK;
}

static void buffer_own(dlpark_tensor *made, struct _cl_mem *mem)
{
    ((buffer_owner *)made->managed->manager_ctx)->mem = mem;
}

struct _cl_mem *dlpark__opencl_buffer_take(const dlpark_tensor *tensor)
{
    dlpark__block *block = dlpark__block_of(tensor->managed);

    if (block == NULL || block->release != buffer_end_tensor || block->managed.deleter != dlpark__block_end_heap)
        return NULL;
    buffer_owner *owner = block->managed.manager_ctx;
    struct _cl_mem *mem = owner->mem;
    owner->mem = NULL;
    return mem;
}

static dlpark_status buffer_check_output(const dlpark_opencl *opencl, const dlpark_tensor *tensor, dlpark_error *err)
{
    DLPARK_TRY(dlpark__opencl_check(opencl, err));
    if (tensor == NULL)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "tensor is NULL");
    return dlpark__tensor_check_output(tensor, err);
}

/* A tensor over a buffer, whose reference it has still to be given; what was read of the buffer is right then. */
static dlpark_status buffer_wrap(const dlpark__opencl *loader, dlpark_tensor *made, struct _cl_mem *mem,
                                 const dlpark_tensor_desc *desc, size_t desc_nbytes, dlpark_view *seen,
                                 dlpark_error *err)
{
    dlpark_tensor_desc full;
    opencl_buffer buffer;
    opencl_region region;

    DLPARK_TRY(buffer_read_desc(loader, desc, desc_nbytes, mem, &buffer, &full, err));
    DLPARK_TRY(buffer_make(loader, made, &full, seen, err));
    dlpark_status status = seen->data != NULL ? dlpark__opencl_buffer_place(&buffer, seen, &region, err) : DLPARK_OK;
    if (status != DLPARK_OK)
        dlpark_tensor_release(made);
    return status;
}

dlpark_status dlpark_opencl_import_sized(const dlpark_opencl *opencl, dlpark_tensor *tensor, struct _cl_mem **mem,
                                         const dlpark_tensor_desc *desc, size_t desc_nbytes, dlpark_view *view,
                                         dlpark_error *err)
{
    dlpark_view seen DLPARK_UNINITIALIZED;

    DLPARK_TRY(buffer_check_output(opencl, tensor, err));
    if (mem == NULL)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "mem is NULL");
    DLPARK_TRY(buffer_wrap(opencl->loader, tensor, *mem, desc, desc_nbytes, view != NULL ? view : &seen, err));
    buffer_own(tensor, *mem);
    *mem = NULL;
    return DLPARK_OK;
}

dlpark_status dlpark_opencl_share_sized(const dlpark_opencl *opencl, dlpark_tensor *tensor, struct _cl_mem *mem,
                                        const dlpark_tensor_desc *desc, size_t desc_nbytes, dlpark_view *view,
                                        dlpark_error *err)
{
    dlpark_view seen DLPARK_UNINITIALIZED;

    DLPARK_TRY(buffer_check_output(opencl, tensor, err));
    DLPARK_TRY(buffer_wrap(opencl->loader, tensor, mem, desc, desc_nbytes, view != NULL ? view : &seen, err));
    int32_t code = opencl->loader->RetainMemObject(mem);
    if (code != 0) {
        dlpark_tensor_release(tensor);
        return dlpark__opencl_fail("clRetainMemObject", code, err);
    }
    buffer_own(tensor, mem);
    return DLPARK_OK;
}

dlpark_status dlpark_opencl_view_sized(const dlpark_opencl *opencl, dlpark_view *view, struct _cl_mem *mem,
                                       const dlpark_tensor_desc *desc, size_t desc_nbytes, dlpark_error *err)
{
    _Alignas(max_align_t) unsigned char storage[DLPARK_TENSOR_STORAGE_NBYTES(DLPARK_MAX_NDIM)] DLPARK_UNINITIALIZED;
    dlpark_tensor made = DLPARK_TENSOR_EMPTY; /* that nobody owns: what it is, is what the view is */
    dlpark_tensor_desc full;
    opencl_buffer buffer;
    opencl_region region;

    DLPARK_TRY(dlpark__opencl_check(opencl, err));
    if (view == NULL)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "view is NULL");
    DLPARK_TRY(buffer_read_desc(opencl->loader, desc, desc_nbytes, mem, &buffer, &full, err));
    full.storage = storage;
    full.storage_nbytes = sizeof storage;
    DLPARK_TRY(dlpark_tensor_new(&made, &full, view, err));
    return view->data != NULL ? dlpark__opencl_buffer_place(&buffer, view, &region, err) : DLPARK_OK;
}

/* ---- Memory of our own ---- */

static dlpark_status buffer_create(const dlpark__opencl *loader, struct _cl_context *context, dlpark_tensor *made,
                                   dlpark_view *seen, dlpark_error *err)
{
    int64_t nbytes = dlpark_view_nbytes(seen);
    int32_t code = 0;

#if SIZE_MAX < INT64_MAX
    if (nbytes > (int64_t)SIZE_MAX)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "%" PRId64 " bytes leave the address space", nbytes);
#endif
    struct _cl_mem *mem = loader->CreateBuffer(context, OPENCL_MEM_READ_WRITE, (size_t)nbytes, NULL, &code);
    if (mem == NULL)
        return dlpark__opencl_fail("clCreateBuffer", code, err);
    buffer_own(made, mem);
    made->managed->dl_tensor.data = seen->data = mem;
    return DLPARK_OK;
}

dlpark_status dlpark_opencl_alloc_sized(const dlpark_opencl *opencl, dlpark_tensor *tensor, struct _cl_context *context,
                                        const dlpark_tensor_desc *desc, size_t desc_nbytes, dlpark_view *view,
                                        dlpark_error *err)
{
    static char no_buffer_yet;
    dlpark_view seen DLPARK_UNINITIALIZED, *out = view != NULL ? view : &seen;
    dlpark_tensor_desc full;

    DLPARK_TRY(buffer_check_output(opencl, tensor, err));
    if (context == NULL)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "context is NULL");
    DLPARK_TRY(dlpark__desc_read_sized(desc, desc_nbytes, &full, err));
    DLPARK_TRY(buffer_check_desc(&full, true, err));
    DLPARK_TRY(buffer_find_device(opencl->loader, context, full.device, &full.device, err));
    full.data = &no_buffer_yet;
    full.flags |= DLPARK_TENSOR_CLAIM_COPIED;
    DLPARK_TRY(buffer_make(opencl->loader, tensor, &full, out, err));
    dlpark_status status = out->data != NULL ? buffer_create(opencl->loader, context, tensor, out, err) : DLPARK_OK;
    if (status != DLPARK_OK)
        dlpark_tensor_release(tensor);
    return status;
}
