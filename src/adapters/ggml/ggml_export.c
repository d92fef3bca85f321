/*
 * Tensors for ggml: a leaf with a buffer of its own around the elements. Everything that ggml would abort on has been
 * refused before it sees anything.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "ggml_parts.h"

/* What object.ggml points to the first part of. The buffer stands by itself, as graph allocators may change the tensor. */
typedef struct gg_held {
    struct ggml_tensor tensor;
    struct ggml_backend_buffer *buffer;
} gg_held;

/* Where elements are that there are none of: ggml takes neither NULL nor a buffer of no bytes. */
static _Alignas(DLPARK__GGML_ALIGNMENT_NBYTES) unsigned char gg_nowhere[DLPARK__GGML_ALIGNMENT_NBYTES];

static dlpark_status gg_check_call(const dlpark_ggml_object *object, const dlpark_tensor *tensor, uint32_t flags,
                                   dlpark_error *err)
{
    if (object->ggml != NULL || object->tensor.managed != NULL)
        return dlpark_error_set(err, DLPARK_E_NOT_EMPTY, "the output object already holds a tensor");
    if (tensor->managed == NULL)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the tensor is empty");
    if ((flags & ~DLPARK_GGML_READ) != 0)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "flags are 0x%" PRIx32 ", not 0 or DLPARK_GGML_READ", flags);
    return DLPARK_OK;
}

static dlpark_status gg_check_access(const dlpark_view *view, uint32_t flags, dlpark_error *err)
{
    if (!dlpark_device_is_host_accessible(view->device))
        return dlpark_error_set(
            err, DLPARK_E_DEVICE,
            "the tensor is on %s: ggml's buffers around memory of others are the host's, its %" PRId64
            " bytes would have to be copied",
            dlpark_device_name(view->device).text, dlpark_view_nbytes(view));
    if ((view->flags & (DLPARK_VIEW_READ_ONLY | DLPARK_VIEW_UNKNOWN_WRITE)) != 0 && (flags & DLPARK_GGML_READ) == 0)
        return dlpark_error_set(err, DLPARK_E_READ_ONLY,
                                "%s, which ggml cannot be told: say DLPARK_GGML_READ where its graphs only read it",
                                view->flags & DLPARK_VIEW_READ_ONLY ? "the memory must not be written"
                                                                    : "nobody said that the memory may be written");
    return DLPARK_OK;
}

/* The buffer begins below element 0, where ggml wants it to; nothing but the tensor is in it. */
static void gg_attach(gg_held *held, const dlpark_view *view)
{
    unsigned char *data = view->data != NULL ? view->data : gg_nowhere;
    size_t before = (uintptr_t)data % DLPARK__GGML_ALIGNMENT_NBYTES;
    size_t nbytes = view->data != NULL ? ggml_nbytes(&held->tensor) : sizeof gg_nowhere;

    held->buffer = ggml_backend_cpu_buffer_from_ptr(data - before, before + nbytes);
    /* Its result is not looked at: older versions have none, and a buffer of this kind has nothing that could fail. */
    (void)ggml_backend_tensor_alloc(held->buffer, &held->tensor, data);
    if ((view->flags & (DLPARK_VIEW_READ_ONLY | DLPARK_VIEW_UNKNOWN_WRITE)) != 0)
        ggml_backend_buffer_set_usage(held->buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
}

static dlpark_status gg_export(dlpark_ggml_object *object, dlpark_tensor *tensor, const dlpark_view *view,
                               enum ggml_type type, uint32_t flags, dlpark_error *err)
{
    struct ggml_tensor layout = {.type = type, .op = GGML_OP_NONE};

    DLPARK_TRY(gg_check_access(view, flags, err));
    DLPARK_TRY(dlpark__ggml_layout(&layout, view, type, flags, err));
    gg_held *held = malloc(sizeof *held);
    if (held == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "no memory for %zu bytes of a ggml tensor", sizeof *held);
    held->tensor = layout;
    gg_attach(held, view);
    object->ggml = &held->tensor;
    object->tensor = *tensor;
    tensor->managed = NULL;
    return DLPARK_OK;
}

dlpark_status dlpark_ggml_export(dlpark_ggml_object *object, dlpark_tensor *tensor, uint32_t flags, dlpark_error *err)
{
    DLPARK_UNINITIALIZED dlpark_view view;
    enum ggml_type type;

    DLPARK_TRY(gg_check_call(object, tensor, flags, err));
    dlpark_tensor_view(tensor, &view);
    DLPARK_TRY(dlpark__ggml_type(view.dtype, &type, err));
    return gg_export(object, tensor, &view, type, flags, err);
}

dlpark_status dlpark_ggml_export_blocks(dlpark_ggml_object *object, dlpark_tensor *tensor, const char *type,
                                        uint32_t flags, dlpark_error *err)
{
    DLPARK_UNINITIALIZED dlpark_view view;
    enum ggml_type known;

    DLPARK_TRY(gg_check_call(object, tensor, flags, err));
    dlpark_tensor_view(tensor, &view);
    DLPARK_TRY(dlpark__ggml_block_type(type, &known, err));
    if (!dlpark_dtype_equal(view.dtype, DLPARK_U8))
        return dlpark_error_set(err, DLPARK_E_DTYPE, "blocks come as u8, the tensor is %s",
                                dlpark_dtype_name(view.dtype).text);
    return gg_export(object, tensor, &view, known, flags, err);
}

void dlpark_ggml_release(dlpark_ggml_object *object)
{
    if (object == NULL || object->ggml == NULL)
        return;
    gg_held *held = (gg_held *)(void *)object->ggml;

    object->ggml = NULL;
    ggml_backend_buffer_free(held->buffer);
    free(held);
    dlpark_tensor_release(&object->tensor);
}
