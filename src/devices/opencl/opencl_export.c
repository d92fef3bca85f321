/*
 * Tensors as buffers: borrowed, or given out as a buffer whose last reference ends the tensor.
 */
#include <inttypes.h>

#include "opencl_parts.h"

static dlpark_status export_check_view(const dlpark_view *view, dlpark_error *err)
{
    if (view->data == NULL)
        return dlpark_error_set(err, DLPARK_E_SHAPE, "shape %s has no elements, and OpenCL no buffer of 0 bytes",
                                dlpark__layout_list(view->ndim, view->shape).text);
    return DLPARK_OK;
}

static DLPARK_COLD dlpark_status export_refuse_place(const dlpark_view *view, dlpark_error *err)
{
    return dlpark_error_set(err, DLPARK_E_DEVICE, "the tensor is on %s, expected opencl",
                            dlpark_device_name(view->device).text);
}

static dlpark_status export_find_context(const dlpark_opencl *opencl, const dlpark_view *view, dlpark_error *err)
{
    opencl_buffer buffer;
    opencl_region region;

    DLPARK_TRY(dlpark__opencl_check(opencl, err));
    if (view == NULL)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "view is NULL");
    if (view->device.device_type != kDLOpenCL)
        return export_refuse_place(view, err);
    DLPARK_TRY(export_check_view(view, err));
    DLPARK_TRY(dlpark__opencl_buffer_read(opencl->loader, view->data, &buffer, err));
    return dlpark__opencl_buffer_place(&buffer, view, &region, err);
}

struct _cl_mem *dlpark_opencl_borrow(const dlpark_opencl *opencl, const dlpark_view *view, dlpark_error *err)
{
    return export_find_context(opencl, view, err) == DLPARK_OK ? view->data : NULL;
}

/* ---- A buffer that ends a tensor ---- */

/* What is given out: in which object, and where in that. */
typedef struct export_plan {
    const dlpark__opencl *loader;
    struct _cl_context *context;
    uint64_t flags;
    opencl_region region;      /* of the parent; of memory of the host only the size means something */
    struct _cl_mem *parent;    /* NULL: memory of the host */
    void *host;                /* its first byte */
    uint64_t byte_offset;      /* from there to element 0 */
    uint64_t alignment_nbytes; /* at whose multiples a buffer may begin */
} export_plan;

static void export_end(struct _cl_mem *mem, void *managed)
{
    DLManagedTensorVersioned *ended = managed;

    (void)mem;
    dlpark_managed_release(&ended);
}

/* At whose multiples sub-buffers begin that every device of the context can use. */
static dlpark_status export_read_alignment(export_plan *plan, dlpark_error *err)
{
    struct _cl_device_id *devices[OPENCL_MAX_DEVICES] = {NULL};
    size_t count = 0;

    DLPARK_TRY(dlpark__opencl_context_devices(plan->loader, plan->context, devices, &count, err));
    plan->alignment_nbytes = 1;
    for (size_t i = 0; i < count; i++) {
        uint32_t nbits = 0;
        OPENCL_TRY(plan->loader, err, GetDeviceInfo, devices[i], OPENCL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof nbits,
                   &nbits, NULL);
        if (nbits / 8 > plan->alignment_nbytes) /* powers of two */
            plan->alignment_nbytes = nbits / 8;
    }
    return DLPARK_OK;
}

/* There are no sub-buffers of sub-buffers: the parent is what has the memory. */
static dlpark_status export_plan_part(export_plan *plan, const dlpark_view *view, dlpark_error *err)
{
    struct _cl_mem *whole = NULL;
    size_t whole_offset = 0;

    plan->parent = view->data;
    OPENCL_TRY(plan->loader, err, GetMemObjectInfo, plan->parent, OPENCL_MEM_ASSOCIATED_MEMOBJECT, sizeof whole, &whole,
               NULL);
    if (whole != NULL) {
        OPENCL_TRY(plan->loader, err, GetMemObjectInfo, plan->parent, OPENCL_MEM_OFFSET, sizeof whole_offset,
                   &whole_offset, NULL);
        plan->parent = whole;
    }
    DLPARK_TRY(export_read_alignment(plan, err));
    uint64_t lead = (whole_offset + plan->region.origin) % plan->alignment_nbytes;
    plan->byte_offset = view->byte_offset - plan->region.origin + lead;
    plan->region.origin += whole_offset - (size_t)lead;
    plan->region.size += (size_t)lead;
    return DLPARK_OK;
}

static dlpark_status export_plan_device(export_plan *plan, const dlpark_view *view, dlpark_error *err)
{
    opencl_buffer buffer;

    DLPARK_TRY(dlpark__opencl_buffer_read(plan->loader, view->data, &buffer, err));
    DLPARK_TRY(dlpark__opencl_buffer_place(&buffer, view, &plan->region, err));
    if (plan->context != NULL && plan->context != buffer.context)
        return dlpark_error_set(err, DLPARK_E_DEVICE, "the buffer is of the context %p, and asked for in %p",
                                (void *)buffer.context, (void *)plan->context);
    plan->context = buffer.context;
    return DLPARK_OK;
}

static dlpark_status export_plan_host(export_plan *plan, const dlpark_view *view, dlpark_error *err)
{
    int64_t lowest, past_highest;

    if (plan->context == NULL)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "context is NULL, and the tensor on %s has none",
                                dlpark_device_name(view->device).text);
    dlpark__view_byte_range(view, &lowest, &past_highest);
    plan->byte_offset = (uint64_t)-lowest;
    plan->host = dlpark__address(view->data, (uint64_t)lowest);
    plan->region.size = (size_t)(past_highest - lowest); /* a view's bytes fit the address space */
    plan->alignment_nbytes = 1;
    return DLPARK_OK;
}

static dlpark_status export_check_offset(const export_plan *plan, dlpark_error *err)
{
    if (plan->byte_offset == 0)
        return DLPARK_OK;
    return dlpark_error_set(err, DLPARK_E_ALIGNMENT,
                            "element 0 would be at byte %" PRIu64
                            " of the buffer, as buffers begin at multiples of %" PRIu64
                            " bytes and at the lowest element: ask for byte_offset, or copy",
                            plan->byte_offset, plan->alignment_nbytes);
}

/* Makes the object, and has it end the tensor; the one thing that is done after everything was checked. */
static dlpark_status export_create(const export_plan *plan, struct _cl_mem **mem, dlpark_tensor *tensor,
                                   dlpark_error *err)
{
    const dlpark__opencl *loader = plan->loader;
    int32_t code = 0;
    struct _cl_mem *made =
        plan->parent != NULL
            ? loader->CreateSubBuffer(plan->parent, plan->flags, OPENCL_BUFFER_CREATE_TYPE_REGION, &plan->region, &code)
            : loader->CreateBuffer(plan->context, plan->flags | OPENCL_MEM_USE_HOST_PTR, plan->region.size, plan->host,
                                   &code);
    if (made == NULL)
        return dlpark__opencl_fail(plan->parent != NULL ? "clCreateSubBuffer" : "clCreateBuffer", code, err);
    code = loader->SetMemObjectDestructorCallback(made, export_end, tensor->managed);
    if (code != 0) {
        (void)loader->ReleaseMemObject(made);
        return dlpark__opencl_fail("clSetMemObjectDestructorCallback", code, err);
    }
    tensor->managed = NULL;
    *mem = made;
    return DLPARK_OK;
}

/* The tensor's own buffer, where nobody else has it, and it says as much as the tensor does. */
static bool export_whole(const dlpark__opencl *loader, struct _cl_mem **mem, dlpark_tensor *tensor,
                         const dlpark_view *view)
{
    uint64_t flags = 0;

    if ((view->flags & DLPARK_VIEW_READ_ONLY) != 0 &&
        (loader->GetMemObjectInfo(view->data, OPENCL_MEM_FLAGS, sizeof flags, &flags, NULL) != 0 ||
         (flags & OPENCL_MEM_READ_ONLY) == 0))
        return false;
    *mem = dlpark__opencl_buffer_take(tensor);
    if (*mem != NULL)
        dlpark_tensor_release(tensor);
    return *mem != NULL;
}

static dlpark_status export_check(const dlpark_opencl *opencl, struct _cl_mem **mem, const dlpark_tensor *tensor,
                                  dlpark_error *err)
{
    DLPARK_TRY(dlpark__opencl_check(opencl, err));
    if (mem == NULL || tensor == NULL || tensor->managed == NULL)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, mem == NULL ? "mem is NULL" : "the tensor is empty");
    if (*mem != NULL)
        return dlpark_error_set(err, DLPARK_E_NOT_EMPTY, "*mem is %p already: release it, and begin with NULL",
                                (void *)*mem);
    return DLPARK_OK;
}

dlpark_status dlpark_opencl_export(const dlpark_opencl *opencl, struct _cl_mem **mem, uint64_t *byte_offset,
                                   dlpark_tensor *tensor, struct _cl_context *context, dlpark_error *err)
{
    dlpark_view view DLPARK_UNINITIALIZED;

    DLPARK_TRY(export_check(opencl, mem, tensor, err));
    dlpark_tensor_view(tensor, &view);
    DLPARK_TRY(export_check_view(&view, err));
    bool is_host = dlpark_device_is_host_accessible(view.device);
    bool may_write = (view.flags & (DLPARK_VIEW_READ_ONLY | DLPARK_VIEW_UNKNOWN_WRITE)) == 0;
    export_plan plan = {.loader = opencl->loader,
                        .context = context,
                        .flags = may_write ? OPENCL_MEM_READ_WRITE : OPENCL_MEM_READ_ONLY};
    if (!is_host && view.device.device_type != kDLOpenCL)
        return export_refuse_place(&view, err);
    DLPARK_TRY(is_host ? export_plan_host(&plan, &view, err) : export_plan_device(&plan, &view, err));
    if (!is_host && (byte_offset != NULL || view.byte_offset == 0) &&
        export_whole(opencl->loader, mem, tensor, &view)) {
        if (byte_offset != NULL)
            *byte_offset = view.byte_offset;
        return DLPARK_OK;
    }
    if (!is_host)
        DLPARK_TRY(export_plan_part(&plan, &view, err));
    if (byte_offset == NULL)
        DLPARK_TRY(export_check_offset(&plan, err));
    DLPARK_TRY(export_create(&plan, mem, tensor, err));
    if (byte_offset != NULL)
        *byte_offset = plan.byte_offset;
    return DLPARK_OK;
}
