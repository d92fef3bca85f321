/*
 * Tensors as images of libvips. The tensor hangs on the image as data of its object, which GLib ends when the image is
 * finalised: later than any region or operation, and for a tenth of what a handler of its signals costs.
 */
#include <inttypes.h>

#include "vips_parts.h"

static GQuark vipsout_quark(void)
{
    return g_quark_from_static_string("dlpark-tensor");
}

const DLManagedTensorVersioned *dlpark__vips_tensor_of(VipsImage *image)
{
    return g_object_get_qdata(G_OBJECT(image), vipsout_quark());
}

static void vipsout_end(void *managed)
{
    DLManagedTensorVersioned *ended = managed;

    dlpark_managed_release(&ended);
}

static DLPARK_COLD dlpark_status vipsout_refuse_layout(const dlpark_view *view, dlpark_error *err)
{
    int64_t expected = 1;
    int at = view->ndim - 1;

    for (; at > 0 && (view->shape[at] == 1 || view->strides[at] == expected); at--)
        expected *= view->shape[at];
    return dlpark_error_set(err, DLPARK_E_LAYOUT,
                            "strides[%d] is %" PRId64 " where libvips needs %" PRId64
                            ": it takes bands, pixels and rows without gaps, and %" PRId64
                            " bytes would have to be copied, by dlpark_copy()",
                            at, view->strides[at], expected, dlpark_view_nbytes(view));
}

static dlpark_status vipsout_check_extents(const dlpark_view *view, dlpark_error *err)
{
    if (view->ndim != 2 && view->ndim != 3)
        return dlpark_error_set(err, DLPARK_E_RANK,
                                "the rank is %d, and an image is [height, width] or [height, width, bands]",
                                (int)view->ndim);
    for (int32_t i = 0; i < view->ndim; i++)
        if (view->shape[i] < 1 || view->shape[i] > VIPS_MAX_COORD)
            return dlpark_error_set(err, DLPARK_E_SHAPE, "shape[%d] is %" PRId64 ", and libvips takes 1 to %d", (int)i,
                                    view->shape[i], (int)VIPS_MAX_COORD);
    return DLPARK_OK;
}

/* What a tensor needs to be for libvips. */
static dlpark_status vipsout_check(const dlpark_view *view, const vipsin_format **format, dlpark_error *err)
{
    *format = dlpark__vips_by_dtype(view->dtype);
    if (!*format)
        return dlpark_error_set(err, DLPARK_E_DTYPE,
                                "libvips has no format for %s: cast the elements, or reinterpret them",
                                dlpark_dtype_name(view->dtype).text);
    if (!dlpark_device_is_host_accessible(view->device))
        return dlpark_error_set(err, DLPARK_E_DEVICE,
                                "the tensor is on %s, which the host cannot read: it would have to be copied",
                                dlpark_device_name(view->device).text);
    DLPARK_TRY(vipsout_check_extents(view, err));
    if (!dlpark_view_is_compact(view))
        return vipsout_refuse_layout(view, err);
    /* A complex number is aligned as each half of it. */
    unsigned alignment = view->dtype.bits / (view->dtype.code == kDLComplex ? 16u : 8u);
    if ((uintptr_t)view->data % alignment)
        return dlpark_error_set(
            err, DLPARK_E_ALIGNMENT,
            "the data is %u bytes past a multiple of %u, and libvips reads whole numbers: the elements "
            "would have to be copied, by dlpark_copy()",
            (unsigned)((uintptr_t)view->data % alignment), alignment);
    return DLPARK_OK;
}

static bool vipsout_is_interpretation(int interpretation)
{
    if (interpretation == DLPARK_VIPS_GUESS)
        return true;
    GEnumClass *all = g_type_class_ref(VIPS_TYPE_INTERPRETATION);
    bool found = interpretation != VIPS_INTERPRETATION_LAST && g_enum_get_value(all, interpretation);

    g_type_class_unref(all);
    return found;
}

static dlpark_status vipsout_make(VipsImage **image, const dlpark_view *view, const vipsin_format *format,
                                  int interpretation, dlpark_error *err)
{
    int height = (int)view->shape[0], width = (int)view->shape[1];
    int bands = view->ndim == 3 ? (int)view->shape[2] : 1;
    VipsImage *made =
        vips_image_new_from_memory(view->data, (size_t)dlpark_view_nbytes(view), width, height, bands, format->format);

    if (!made)
        return dlpark__vips_fault("cannot make an image of the tensor", err);
    if (interpretation != DLPARK_VIPS_GUESS)
        vips_image_init_fields(made, width, height, bands, format->format, VIPS_CODING_NONE,
                               (VipsInterpretation)interpretation, 1.0, 1.0);
    *image = made;
    return DLPARK_OK;
}

dlpark_status dlpark_vips_export(VipsImage **image, dlpark_tensor *tensor, int interpretation, dlpark_error *err)
{
    dlpark_view DLPARK_UNINITIALIZED view;
    const vipsin_format *format;

    if (!tensor || !tensor->managed)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the tensor is %s", tensor ? "empty" : "NULL");
    if (!image || *image)
        return dlpark_error_set(err, image ? DLPARK_E_NOT_EMPTY : DLPARK_E_ARGUMENT, "the image is %s",
                                image ? "there already" : "NULL");
    if (!vipsout_is_interpretation(interpretation))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the interpretation %d is none of libvips'", interpretation);
    dlpark_tensor_view(tensor, &view);
    DLPARK_TRY(vipsout_check(&view, &format, err));
    DLPARK_TRY(vipsout_make(image, &view, format, interpretation, err));
    g_object_set_qdata_full(G_OBJECT(*image), vipsout_quark(), dlpark_tensor_export(tensor), vipsout_end);
    return DLPARK_OK;
}
