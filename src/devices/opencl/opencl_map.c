/*
 * Tensors in the host's memory, by mapping their buffer.
 */
#include <inttypes.h>

#include "opencl_parts.h"

/* The extra bytes of a mapped tensor. */
typedef struct map_owner {
    const dlpark__opencl *loader;
    struct _cl_command_queue *queue;
    void *address;        /* NULL: nothing is mapped */
    dlpark_tensor source; /* whose memory it is */
} map_owner;

static void map_unmap(const dlpark__opencl *loader, struct _cl_command_queue *queue, struct _cl_mem *mem, void *address)
{
    /* The barrier is for a queue that works out of order; the flush, for whoever waits on another one. */
    (void)loader->EnqueueUnmapMemObject(queue, mem, address, 0, NULL, NULL);
    (void)loader->EnqueueBarrierWithWaitList(queue, 0, NULL, NULL);
    (void)loader->Flush(queue);
}

static void map_end(void *extra)
{
    map_owner *owner = extra;

    if (owner->address != NULL) {
        map_unmap(owner->loader, owner->queue, owner->source.managed->dl_tensor.data, owner->address);
        (void)owner->loader->ReleaseCommandQueue(owner->queue);
    }
    dlpark_tensor_release(&owner->source);
}

static dlpark_status map_check(const dlpark_opencl *opencl, const dlpark_tensor *mapped, const dlpark_tensor *tensor,
                               const struct _cl_command_queue *queue, uint32_t access, dlpark_error *err)
{
    DLPARK_TRY(dlpark__opencl_check(opencl, err));
    if (mapped == NULL || tensor == NULL || tensor->managed == NULL || queue == NULL)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                                mapped == NULL  ? "mapped is NULL"
                                : queue == NULL ? "queue is NULL"
                                                : "the tensor is empty");
    if (mapped->managed != NULL)
        return dlpark_error_set(err, DLPARK_E_NOT_EMPTY, "mapped already holds a tensor: release it first");
    if (access != DLPARK_OPENCL_DISCARD && (access == 0 || access > (DLPARK_OPENCL_READ | DLPARK_OPENCL_WRITE)))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                                "access is 0x%" PRIX32 ", expected READ (0x1), WRITE (0x2), both, or DISCARD (0x4)",
                                access);
    return DLPARK_OK;
}

/* What a view may be mapped for. */
static dlpark_status map_check_view(const dlpark_view *view, uint32_t access, dlpark_error *err)
{
    if (view->device.device_type != kDLOpenCL)
        return dlpark_error_set(err, DLPARK_E_DEVICE, "the tensor is on %s, expected opencl",
                                dlpark_device_name(view->device).text);
    if (access != DLPARK_OPENCL_READ)
        DLPARK_TRY(dlpark__view_check_write(view, err));
    if (access == DLPARK_OPENCL_DISCARD && view->data != NULL) {
        int64_t lowest, past_highest, nbytes = dlpark_view_nbytes(view);
        dlpark__view_byte_range(view, &lowest, &past_highest);
        if (past_highest - lowest != nbytes)
            return dlpark_error_set(err, DLPARK_E_LAYOUT,
                                    "the elements have %" PRId64 " bytes among the %" PRId64 " that would be discarded",
                                    nbytes, past_highest - lowest);
    }
    return DLPARK_OK;
}

/* A tensor that says what the part says, and is no mapping yet; it takes the source. */
static dlpark_status map_make(const dlpark__opencl *loader, dlpark_tensor *made, const dlpark_view *part,
                              dlpark_tensor *source, uint32_t access, dlpark_error *err)
{
    const dlpark_tensor_desc desc = {.data = part->data,
                                     .byte_offset = part->byte_offset,
                                     .dtype = part->dtype,
                                     .device = part->device,
                                     .ndim = part->ndim,
                                     .shape = DLPARK_DIMS((const int64_t *)part->shape),
                                     .strides = DLPARK_DIMS((const int64_t *)part->strides),
                                     .flags = (part->flags & DLPARK_VIEW_PADDED) |
                                              (access == DLPARK_OPENCL_READ ? DLPARK_TENSOR_READ_ONLY : 0),
                                     .release = map_end,
                                     .extra_nbytes = sizeof(map_owner)};

    DLPARK_TRY(dlpark_tensor_new(made, &desc, NULL, err));
    *(map_owner *)made->managed->manager_ctx = (map_owner){loader, NULL, NULL, *source};
    source->managed = NULL;
    return DLPARK_OK;
}

/* The barrier is for a queue that works out of order. */
static dlpark_status map_region(const dlpark__opencl *loader, struct _cl_command_queue *queue, struct _cl_mem *mem,
                                const opencl_region *region, uint32_t access, void **address, dlpark_error *err)
{
    int32_t code = 0;

    OPENCL_TRY(loader, err, EnqueueBarrierWithWaitList, queue, 0, NULL, NULL);
    void *mapped = loader->EnqueueMapBuffer(queue, mem, 1, access, region->origin, region->size, 0, NULL, NULL, &code);
    if (mapped == NULL)
        return dlpark__opencl_fail("clEnqueueMapBuffer", code, err);
    *address = mapped;
    return DLPARK_OK;
}

/* Maps the bytes, and makes a tensor of the host of what is there. */
static dlpark_status map_fill(dlpark_tensor *made, struct _cl_command_queue *queue, const opencl_region *region,
                              uint32_t access, dlpark_error *err)
{
    DLTensor *tensor = &made->managed->dl_tensor;
    map_owner *owner = made->managed->manager_ctx;

    tensor->device = DLPARK_DEVICE_CPU;
    if (tensor->data == NULL)
        return DLPARK_OK;
    OPENCL_TRY(owner->loader, err, RetainCommandQueue, queue);
    dlpark_status status = map_region(owner->loader, queue, tensor->data, region, access, &owner->address, err);
    if (status != DLPARK_OK) {
        (void)owner->loader->ReleaseCommandQueue(queue);
        return status;
    }
    owner->queue = queue;
    tensor->data = dlpark__address(owner->address, tensor->byte_offset - region->origin);
    tensor->byte_offset = 0;
    return DLPARK_OK;
}

/* The whole way from a share of the tensor, which is taken on success. */
static dlpark_status map_source(const dlpark__opencl *loader, dlpark_tensor *made, dlpark_tensor *source,
                                struct _cl_command_queue *queue, uint32_t access, dlpark_error *err)
{
    dlpark_view seen DLPARK_UNINITIALIZED;
    opencl_buffer buffer;
    opencl_region region = {0, 0};

    dlpark_tensor_view(source, &seen);
    DLPARK_TRY(map_check_view(&seen, access, err)); /* it is READ_ONLY where either the tensor or the part is */
    if (seen.data != NULL) {
        DLPARK_TRY(dlpark__opencl_buffer_read(loader, seen.data, &buffer, err));
        DLPARK_TRY(dlpark__opencl_buffer_place(&buffer, &seen, &region, err));
    }
    DLPARK_TRY(map_make(loader, made, &seen, source, access, err));
    return map_fill(made, queue, &region, access, err);
}

dlpark_status dlpark_opencl_map(const dlpark_opencl *opencl, dlpark_tensor *mapped, dlpark_tensor *tensor,
                                const dlpark_view *part, struct _cl_command_queue *queue, uint32_t access,
                                dlpark_view *view, dlpark_error *err)
{
    dlpark_tensor source = DLPARK_TENSOR_EMPTY, made = DLPARK_TENSOR_EMPTY;
    dlpark_view whole DLPARK_UNINITIALIZED;

    DLPARK_TRY(map_check(opencl, mapped, tensor, queue, access, err));
    dlpark_tensor_view(tensor, &whole);
    DLPARK_TRY(map_check_view(part != NULL ? part : &whole, access, err));
    DLPARK_TRY(dlpark_tensor_share(&source, tensor, part, err));
    dlpark_status status = map_source(opencl->loader, &made, &source, queue, access, err);
    dlpark_tensor_release(&source);
    if (status != DLPARK_OK) {
        dlpark_tensor_release(&made);
        return status;
    }
    *mapped = made;
    if (view != NULL)
        dlpark_tensor_view(mapped, view);
    return DLPARK_OK;
}
