/*
 * Pixel formats by their descriptors: which of them tensors can say, and where planes and components lie in their rows.
 */
#include "avframe_parts.h"

/* Bytes of the element that a sample lies in. */
static int format_sample_nbytes(const AVComponentDescriptor *component)
{
    int bits = component->shift + component->depth;

    return bits <= 8 ? 1 : bits <= 16 ? 2 : 4;
}

static bool format_is_chroma(const AVPixFmtDescriptor *descriptor, int index)
{
    return descriptor->nb_components >= 3 && (index == 1 || index == 2);
}

static int format_log2_width(const AVPixFmtDescriptor *descriptor, int index)
{
    return format_is_chroma(descriptor, index) ? descriptor->log2_chroma_w : 0;
}

static int format_log2_height(const AVPixFmtDescriptor *descriptor, int index)
{
    return format_is_chroma(descriptor, index) ? descriptor->log2_chroma_h : 0;
}

/* The component of a plane with the longest way from one sample to the next; -1 where the plane has none. */
static int format_widest(const AVPixFmtDescriptor *descriptor, int32_t plane)
{
    int widest = -1;

    for (int i = 0; i < descriptor->nb_components; i++)
        if (descriptor->comp[i].plane == plane &&
            (widest < 0 || descriptor->comp[i].step > descriptor->comp[widest].step))
            widest = i;
    return widest;
}

static bool format_is_foreign_endian(const AVPixFmtDescriptor *descriptor)
{
    const uint16_t one = 1;
    bool host_is_big = *(const unsigned char *)&one == 0;

    return descriptor->nb_components > 0 && format_sample_nbytes(&descriptor->comp[0]) > 1 &&
           ((descriptor->flags & AV_PIX_FMT_FLAG_BE) != 0) != host_is_big;
}

/* Whether two components have bytes in common. In one plane they repeat with the widest step. */
static bool format_shares_bytes(const AVPixFmtDescriptor *descriptor)
{
    for (int i = 0; i < descriptor->nb_components; i++)
        for (int j = 0; j < i; j++) {
            const AVComponentDescriptor *a = &descriptor->comp[i], *b = &descriptor->comp[j];
            if (a->plane == b->plane && a->offset < b->offset + format_sample_nbytes(b) &&
                b->offset < a->offset + format_sample_nbytes(a))
                return true;
        }
    return false;
}

/* Whether every sample is where step and offset say, in elements of one size. Of UYYVYY411 they do not say it. */
static bool format_is_regular(const AVPixFmtDescriptor *descriptor)
{
    int first_nbytes = format_sample_nbytes(&descriptor->comp[0]);

    for (int i = 0, widest = 0; i < descriptor->nb_components; i++) {
        const AVComponentDescriptor *component = &descriptor->comp[i];
        int nbytes = format_sample_nbytes(component);
        if (i == 0 || component->plane != descriptor->comp[i - 1].plane) /* else it is that of the one before */
            widest = format_widest(descriptor, component->plane);
        int halvings = format_log2_width(descriptor, widest) - format_log2_width(descriptor, i);
        if (halvings < 0 || component->step << halvings != descriptor->comp[widest].step ||
            component->step % nbytes != 0 || component->offset % nbytes != 0 || nbytes != first_nbytes)
            return false;
    }
    return true;
}

static DLPARK_COLD dlpark_status format_refuse_endian(const AVPixFmtDescriptor *descriptor, dlpark_error *err)
{
    enum AVPixelFormat other = av_pix_fmt_swap_endianness(av_pix_fmt_desc_get_id(descriptor));
    const char *name = av_get_pix_fmt_name(other);

    return dlpark_error_set(
        err, DLPARK_E_DTYPE,
        "%s has samples of %d bytes in the other byte order: the frame would have to be converted%s%s",
        descriptor->name, format_sample_nbytes(&descriptor->comp[0]), name ? ", to " : "", name ? name : "");
}

static DLPARK_COLD dlpark_status format_refuse(const char *name, const char *what, dlpark_error *err)
{
    return dlpark_error_set(err, DLPARK_E_DTYPE, "%s %s: the frame would have to be converted", name, what);
}

dlpark_status dlpark__avframe_format_read(const AVPixFmtDescriptor **descriptor, int format, dlpark_error *err)
{
    const AVPixFmtDescriptor *found = av_pix_fmt_desc_get(format);

    if (!found)
        return dlpark_error_set(err, DLPARK_E_DTYPE, "libavutil knows no pixel format %d", format);
    if (found->flags & AV_PIX_FMT_FLAG_HWACCEL)
        return dlpark_error_set(
            err, DLPARK_E_DEVICE,
            "%s is a frame in the memory of a device: av_hwframe_transfer_data() copies it to the host", found->name);
    if (found->flags & AV_PIX_FMT_FLAG_PAL)
        return format_refuse(found->name, "has a palette", err);
    if (found->flags & AV_PIX_FMT_FLAG_BAYER)
        return format_refuse(found->name, "is a Bayer mosaic", err);
    if ((found->flags & AV_PIX_FMT_FLAG_BITSTREAM) || format_shares_bytes(found))
        return format_refuse(found->name, "has samples that share bytes", err);
    if (format_is_foreign_endian(found))
        return format_refuse_endian(found, err);
    if (found->nb_components == 0 || !format_is_regular(found))
        return format_refuse(found->name, "has samples at no regular distance", err);
    *descriptor = found;
    return DLPARK_OK;
}

int32_t dlpark__avframe_format_planes(const AVPixFmtDescriptor *descriptor)
{
    int32_t count = 0;

    for (int i = 0; i < descriptor->nb_components; i++)
        if (descriptor->comp[i].plane >= count)
            count = descriptor->comp[i].plane + 1;
    return count;
}

int32_t dlpark__avframe_format_halvings(const AVPixFmtDescriptor *descriptor, int32_t plane)
{
    return format_log2_width(descriptor, format_widest(descriptor, plane));
}

/* Float formats of 16 bits came after those of 32. */
static DLDataType format_dtype(const AVPixFmtDescriptor *descriptor)
{
    bool is_float = (descriptor->flags & AV_PIX_FMT_FLAG_FLOAT) != 0;

    switch (format_sample_nbytes(&descriptor->comp[0])) {
    case 1:
        return DLPARK_U8;
    case 2:
        return is_float ? DLPARK_F16 : DLPARK_U16;
    default:
        return is_float ? DLPARK_F32 : DLPARK_U32;
    }
}

dlpark_status dlpark_avframe_read_component(dlpark_avframe_component *component, int format, int32_t index,
                                            dlpark_error *err)
{
    const AVPixFmtDescriptor *descriptor;

    DLPARK_TRY(dlpark__avframe_format_read(&descriptor, format, err));
    if (index < 0 || index >= descriptor->nb_components)
        return dlpark_error_set(err, DLPARK_E_INDEX, "%s has %d components, and no component %d", descriptor->name,
                                descriptor->nb_components, (int)index);
    const AVComponentDescriptor *found = &descriptor->comp[index];
    *component = (dlpark_avframe_component){.plane = found->plane,
                                            .step_nbytes = found->step,
                                            .offset_nbytes = found->offset,
                                            .shift = found->shift,
                                            .depth = found->depth,
                                            .log2_width = format_log2_width(descriptor, index),
                                            .log2_height = format_log2_height(descriptor, index),
                                            .dtype = format_dtype(descriptor)};
    return DLPARK_OK;
}

/* Refuses samples that do not fill their element. */
static dlpark_status format_check_depth(const AVPixFmtDescriptor *descriptor, int index, dlpark_error *err)
{
    const AVComponentDescriptor *component = &descriptor->comp[index];
    int bits = 8 * format_sample_nbytes(component);

    if (component->depth == bits)
        return DLPARK_OK;
    return dlpark_error_set(err, DLPARK_E_DTYPE,
                            "%s has samples of %d bits, %d bits up in elements of %d: they pass as such only where "
                            "ANY_DEPTH asks for it",
                            descriptor->name, component->depth, component->shift, bits);
}

static dlpark_status format_find_part(const AVPixFmtDescriptor *descriptor, int32_t part, int32_t *plane, int *index,
                                      dlpark_error *err)
{
    int32_t number = part & 0xffff, planes = dlpark__avframe_format_planes(descriptor);
    bool is_component = (part & DLPARK_AVFRAME_COMPONENT(0)) != 0;

    if (part < 0 || part > (DLPARK_AVFRAME_COMPONENT(0xffff) | DLPARK_AVFRAME_ANY_DEPTH))
        return dlpark_error_set(err, DLPARK_E_INDEX, "part %d is neither a plane nor a component", (int)part);
    if (number >= (is_component ? descriptor->nb_components : planes))
        return dlpark_error_set(err, DLPARK_E_INDEX, "%s has %d planes and %d components, and no %s %d",
                                descriptor->name, (int)planes, descriptor->nb_components,
                                is_component ? "component" : "plane", (int)number);
    *index = is_component ? number : format_widest(descriptor, number);
    *plane = descriptor->comp[*index].plane;
    return DLPARK_OK;
}

dlpark_status dlpark__avframe_format_layout(avframe_layout *layout, const AVPixFmtDescriptor *descriptor, int64_t width,
                                            int64_t height, int32_t part, dlpark_error *err)
{
    bool is_component = (part & DLPARK_AVFRAME_COMPONENT(0)) != 0;
    int32_t plane = 0;
    int index = 0;

    DLPARK_TRY(format_find_part(descriptor, part, &plane, &index, err));
    if ((part & DLPARK_AVFRAME_ANY_DEPTH) == 0)
        DLPARK_TRY(format_check_depth(descriptor, index, err));
    const AVComponentDescriptor *component = &descriptor->comp[index];
    int widest = format_widest(descriptor, plane);
    int64_t nbytes = format_sample_nbytes(component), samples = component->step / nbytes;
    layout->format = descriptor->name;
    layout->plane = plane;
    layout->ndim = is_component || samples == 1 ? 2 : 3;
    layout->dtype = format_dtype(descriptor);
    layout->shape[0] = dlpark__avframe_halve(height, format_log2_height(descriptor, index));
    layout->shape[1] = dlpark__avframe_halve(width, format_log2_width(descriptor, index));
    layout->shape[2] = samples;
    layout->strides[0] = 0;
    layout->strides[1] = samples;
    layout->strides[2] = 1;
    layout->offset_nbytes = is_component ? component->offset : 0;
    layout->row_nbytes =
        dlpark__avframe_halve(width, format_log2_width(descriptor, widest)) * descriptor->comp[widest].step;
    return DLPARK_OK;
}
