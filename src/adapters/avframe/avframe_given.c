/* Tensors that are given out as frames, of whatever kind: what each must be, and the buffers that end them. */
#include <stdlib.h>

#include "avframe_parts.h"

dlpark_status dlpark__avframe_check_output(AVFrame *const *frame, dlpark_error *err)
{
    if (!frame)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the frame is NULL");
    if (*frame)
        return dlpark_error_set(err, DLPARK_E_NOT_EMPTY, "the output already points to a frame: begin with NULL");
    return DLPARK_OK;
}

dlpark_status dlpark__avframe_given_read(avframe_given *given, const dlpark_tensor *tensor, dlpark_error *err)
{
    int64_t lowest, highest;

    if (!tensor || !tensor->managed)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the tensor is %s", tensor ? "empty" : "NULL");
    dlpark_tensor_view(tensor, &given->view);
    const dlpark_view *view = &given->view;
    if (!dlpark_device_is_host_accessible(view->device))
        return dlpark_error_set(err, DLPARK_E_DEVICE,
                                "the tensor is on %s: %lld bytes would have to be copied to the host",
                                dlpark_device_name(view->device).text, (long long)dlpark_view_nbytes(view));
    if (dlpark_view_numel(view) == 0)
        return dlpark_error_set(err, DLPARK_E_SHAPE, "the tensor has no elements, and a frame has at least one");
    if (view->dtype.bits % 8 != 0 || view->dtype.lanes != 1)
        return dlpark_error_set(err, DLPARK_E_DTYPE, "no frame has elements of %s",
                                dlpark_dtype_name(view->dtype).text);
    int64_t nbytes = dlpark__avframe_nbytes(view->dtype);
    if ((uintptr_t)view->data % (uintptr_t)nbytes != 0)
        return dlpark_error_set(err, DLPARK_E_ALIGNMENT,
                                "%p is no multiple of the %lld bytes of a sample: %lld bytes would have to be copied",
                                view->data, (long long)nbytes, (long long)dlpark_view_nbytes(view));
    DLPARK_TRY(dlpark_layout_span(view->ndim, view->shape, view->strides, &lowest, &highest, err));
    given->lowest = lowest * nbytes;
    given->past = (highest + 1) * nbytes;
    return DLPARK_OK;
}

/* A buffer's own hold of a tensor, which can be let go again while others are still being made. */
static void given_end(void *opaque, uint8_t *data)
{
    DLManagedTensorVersioned **held = opaque;

    (void)data;
    dlpark_managed_release(held);
    free(held);
}

static AVBufferRef *given_buffer(const avframe_given *given)
{
    bool is_writable = (given->view.flags & (DLPARK_VIEW_READ_ONLY | DLPARK_VIEW_UNKNOWN_WRITE)) == 0;
    DLManagedTensorVersioned **held = calloc(1, sizeof *held);

    if (!held)
        return NULL;
    AVBufferRef *buffer =
        av_buffer_create((uint8_t *)given->view.data + given->lowest, (size_t)(given->past - given->lowest), given_end,
                         held, is_writable ? 0 : AV_BUFFER_FLAG_READONLY);
    if (!buffer)
        free(held);
    return buffer;
}

dlpark_status dlpark__avframe_given_take(AVFrame **frame, dlpark_tensor *tensors, const avframe_given *given,
                                         int32_t count, dlpark_error *err)
{
    AVFrame *made = av_frame_alloc();

    for (int32_t i = 0; made && i < count; i++) {
        made->buf[i] = given_buffer(&given[i]);
        if (!made->buf[i])
            av_frame_free(&made); /* the buffers hold nothing yet */
    }
    if (!made)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "no memory for a frame of %d buffers", (int)count);
    for (int32_t i = 0; i < count; i++) {
        DLManagedTensorVersioned **held = av_buffer_get_opaque(made->buf[i]);
        *held = dlpark_tensor_export(&tensors[i]);
    }
    *frame = made;
    return DLPARK_OK;
}
