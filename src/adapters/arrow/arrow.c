/*
 * Arrow arrays as views and tensors. An array is walked from the outermost list to the numbers: each level has a length,
 * an offset, and perhaps nulls, of its own.
 */
#include <inttypes.h>
#include <string.h>

#include <dlpark/check.h>

#include "arrow_parts.h"

/* Where the walk stands, and what it has found. `first` and `count` are the elements of this level that are meant; `lists` is
 * where shape and strides go, and nothing else of it is written. */
typedef struct arrow_walk {
    const struct ArrowSchema *schema;
    const struct ArrowArray *array;
    DLDevice device;
    int64_t first;
    int64_t count;
    int32_t ndim;
    dlpark_view *lists;
} arrow_walk;

static DLPARK_COLD dlpark_status arrow_contradiction(const struct ArrowSchema *schema, const char *what, int64_t value,
                                                     dlpark_error *err)
{
    return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the array of type \"%s\" contradicts itself: %s %" PRId64,
                            schema->format, what, value);
}

static DLPARK_COLD dlpark_status arrow_refuse_null(int64_t at, dlpark_error *err)
{
    return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                            "element %" PRId64 " is null, which a tensor cannot hold: fill or drop it first", at);
}

/* Reads the validity bitmap of this level: a bit for each element, 1 where there is a value. */
static dlpark_status arrow_search_null(const arrow_walk *walk, const unsigned char *bits, dlpark_error *err)
{
    if (!dlpark_device_is_host_accessible(walk->device))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                                "nobody counted the nulls (null_count is -1), and the host cannot read memory of %s",
                                dlpark_device_name(walk->device).text);
    for (int64_t i = walk->first; i < walk->first + walk->count; i++)
        if ((bits[i / 8] >> i % 8 & 1) == 0)
            return arrow_refuse_null(i - walk->array->offset, err);
    return DLPARK_OK;
}

static dlpark_status arrow_check_nulls(const arrow_walk *walk, dlpark_error *err)
{
    const struct ArrowArray *array = walk->array;
    const void *bits = array->n_buffers > 0 && array->buffers ? array->buffers[0] : NULL;

    if (array->null_count < -1 || (array->null_count > 0 && !bits))
        return arrow_contradiction(walk->schema, bits ? "null_count is" : "there is no bitmap, and null_count is",
                                   array->null_count, err);
    if (array->null_count == 0 || !bits || walk->count == 0)
        return DLPARK_OK;
    if (dlpark_device_is_host_accessible(walk->device) || array->null_count < 0)
        return arrow_search_null(walk, bits, err); /* of the elements that are meant: others may be null */
    return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%" PRId64 " of %" PRId64 " elements are null", array->null_count,
                            array->length);
}

/* A child may have been moved out by somebody, who ends it when he likes. */
static dlpark_status arrow_check_child(const struct ArrowSchema *schema, const struct ArrowArray *array,
                                       dlpark_error *err)
{
    if (schema->children[0]->release && schema->children[0]->format && array->children[0]->release)
        return DLPARK_OK;
    return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the child of the %s of type \"%s\" is released or was moved out",
                            array->children[0]->release ? "schema" : "array", schema->format);
}

/* Whether the elements that are meant lie within the array, and its counts are possible. */
static dlpark_status arrow_check_level(const arrow_walk *walk, int64_t n_buffers, int64_t n_children, dlpark_error *err)
{
    const struct ArrowArray *array = walk->array;
    int64_t end, needed;

    if (array->length < 0)
        return arrow_contradiction(walk->schema, "its length is", array->length, err);
    if (array->offset < 0 || __builtin_add_overflow(array->offset, array->length, &end))
        return arrow_contradiction(walk->schema, "its offset is", array->offset, err);
    if (__builtin_add_overflow(walk->first, walk->count, &needed) || needed > end)
        return arrow_contradiction(walk->schema, "its elements end before what its list needs, at", end, err);
    if (array->n_buffers != n_buffers || !array->buffers)
        return arrow_contradiction(walk->schema, "n_buffers is", array->n_buffers, err);
    if (array->n_children != n_children || (n_children && (!array->children || !array->children[0])))
        return arrow_contradiction(walk->schema, "n_children of the array is", array->n_children, err);
    if (walk->schema->n_children != n_children ||
        (n_children && (!walk->schema->children || !walk->schema->children[0])))
        return arrow_contradiction(walk->schema, "n_children of the type is", walk->schema->n_children, err);
    if (n_children)
        DLPARK_TRY(arrow_check_child(walk->schema, walk->array, err));
    if (array->dictionary && !walk->schema->dictionary)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the array of type \"%s\" has a dictionary, and its type none",
                                walk->schema->format);
    return arrow_check_nulls(walk, err);
}

static dlpark_status arrow_push(arrow_walk *walk, int64_t extent, dlpark_error *err)
{
    if (walk->ndim == DLPARK_MAX_NDIM)
        return dlpark_error_set(err, DLPARK_E_RANK, "the lists make more than %d dimensions", DLPARK_MAX_NDIM);
    walk->lists->shape[walk->ndim++] = extent;
    return DLPARK_OK;
}

/* The extents of the rows of arrow.fixed_shape_tensor, whose product is the size of its lists. */
static dlpark_status arrow_push_tensor(arrow_walk *walk, const arrow_shape *shape, int64_t size, dlpark_error *err)
{
    int64_t product = 1;
    bool overflow = false;

    for (int32_t i = 0; i < shape->ndim; i++) {
        overflow |= __builtin_mul_overflow(product, shape->shape[i], &product);
        DLPARK_TRY(arrow_push(walk, shape->shape[i], err));
    }
    /* What overflows and then meets a 0 has none: it is counted again, slowly. */
    if (overflow)
        DLPARK_TRY(dlpark_layout_numel(shape->ndim, shape->shape, &product, err));
    if (product != size)
        return arrow_contradiction(walk->schema, "its shape does not have as many elements, but", product, err);
    return DLPARK_OK;
}

/* Digits of a size, which Arrow keeps in 32 bits; zeros in front of it are not more than these. */
#define ARROW_SIZE_DIGITS 18

/* The N of "+w:N"; -1 where there is none. */
static int64_t arrow_list_size(const char *format)
{
    const char *digits = format + 3, *at = digits;
    int64_t size = 0;

    if (strncmp(format, "+w:", 3) != 0)
        return -1;
    for (; *at >= '0' && *at <= '9' && at - digits < ARROW_SIZE_DIGITS; at++)
        size = 10 * size + (*at - '0');
    return at == digits || *at ? -1 : size;
}

/* Through one list, to the elements of what it holds. `shape` is filled by an array of tensors, which has to be outermost. */
static dlpark_status arrow_enter_list(arrow_walk *walk, int64_t size, arrow_shape *shape, dlpark_error *err)
{
    const struct ArrowSchema *schema = walk->schema;
    arrow_text extension = dlpark__arrow_metadata_find(schema->metadata, ARROW_TEXT(ARROW_EXTENSION_NAME));
    bool is_tensor = walk->ndim == 1 && dlpark__arrow_text_is(extension, ARROW_TEXT(ARROW_TENSOR));

    DLPARK_TRY(arrow_check_level(walk, 1, 1, err));
    if (extension.bytes && !is_tensor)
        return dlpark_error_set(err, DLPARK_E_DTYPE, "the lists are of the extension type \"%.*s\"",
                                extension.nbytes < 64 ? extension.nbytes : 64, extension.bytes);
    if (is_tensor) {
        DLPARK_TRY(dlpark__arrow_shape_read(
            dlpark__arrow_metadata_find(schema->metadata, ARROW_TEXT(ARROW_EXTENSION_METADATA)), shape, err));
        DLPARK_TRY(arrow_push_tensor(walk, shape, size, err));
    } else {
        DLPARK_TRY(arrow_push(walk, size, err));
    }
    walk->array = walk->array->children[0];
    walk->schema = schema->children[0];
    if (__builtin_mul_overflow(walk->first, size, &walk->first) ||
        __builtin_mul_overflow(walk->count, size, &walk->count) ||
        __builtin_add_overflow(walk->first, walk->array->offset, &walk->first) || walk->array->offset < 0)
        return arrow_contradiction(walk->schema, "its list starts past 63 bits, with an offset of", walk->array->offset,
                                   err);
    return DLPARK_OK;
}

/* Puts the dimensions of each row into the order that the permutation says. */
static dlpark_status arrow_permute(const arrow_walk *walk, const arrow_shape *shape, dlpark_error *err)
{
    int64_t strides[DLPARK_MAX_NDIM];

    DLPARK_TRY(dlpark_layout_compact_strides(walk->ndim, walk->lists->shape, walk->lists->strides, err));
    memcpy(strides, walk->lists->strides + 1, sizeof *strides * (size_t)shape->ndim);
    for (int32_t i = 0; i < shape->permutation_ndim; i++) {
        walk->lists->shape[1 + i] = shape->shape[shape->permutation[i]];
        walk->lists->strides[1 + i] = strides[shape->permutation[i]];
    }
    return DLPARK_OK;
}

/* What the walk has found. */
static dlpark_status arrow_finish(const arrow_walk *walk, const arrow_shape *shape, DLTensor *claim, dlpark_error *err)
{
    uint64_t offset;

    *claim = (DLTensor){.device = walk->device, .ndim = walk->ndim, .shape = walk->lists->shape};
    DLPARK_TRY(dlpark__arrow_type_read(walk->schema, &claim->dtype, err));
    DLPARK_TRY(arrow_check_level(walk, 2, 0, err));
    if (shape->permutation_ndim != 0) {
        DLPARK_TRY(arrow_permute(walk, shape, err));
        claim->strides = walk->lists->strides;
    }
    if (__builtin_mul_overflow((uint64_t)walk->first, claim->dtype.bits / 8u, &offset))
        return arrow_contradiction(walk->schema, "its offset is", walk->array->offset, err);
    memcpy(&claim->data, &walk->array->buffers[1], sizeof claim->data); /* not const there; the claim is READ_ONLY */
    claim->byte_offset = claim->data ? offset : 0;
    return DLPARK_OK;
}

/* What an array says of itself: a claim, READ_ONLY, that dlpark_check() or dlpark_tensor_new() has yet to judge. */
static dlpark_status arrow_read(dlpark_view *lists, const struct ArrowSchema *schema, const struct ArrowArray *array,
                                DLDevice device, DLTensor *claim, dlpark_error *err)
{
    arrow_shape DLPARK_UNINITIALIZED shape;
    arrow_walk walk = {.device = device, .lists = lists};
    int64_t size;

    if (!schema || !schema->release || !schema->format)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the schema is %s", schema ? "released" : "NULL");
    if (!array || !array->release)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the array is %s", array ? "released" : "NULL");
    shape.ndim = shape.permutation_ndim = 0;
    walk.schema = schema;
    walk.array = array;
    walk.first = array->offset;
    walk.count = array->length;
    DLPARK_TRY(arrow_push(&walk, array->length, err));
    while ((size = arrow_list_size(walk.schema->format)) >= 0)
        DLPARK_TRY(arrow_enter_list(&walk, size, &shape, err));
    return arrow_finish(&walk, &shape, claim, err);
}

dlpark_status dlpark_arrow_view(dlpark_view *view, const struct ArrowSchema *schema, const struct ArrowArray *array,
                                dlpark_error *err)
{
    DLTensor claim;

    DLPARK_TRY(arrow_read(view, schema, array, (DLDevice){kDLCPU, 0}, &claim, err));
    return dlpark_check(&claim, DLPACK_FLAG_BITMASK_READ_ONLY, view, err);
}

/* The array lies in the tensor's own block. */
static void arrow_release_array(void *owner)
{
    struct ArrowArray *array = owner;

    array->release(array);
}

static dlpark_status arrow_import_on(dlpark_tensor *tensor, const struct ArrowSchema *schema, struct ArrowArray *array,
                                     DLDevice device, dlpark_view *view, dlpark_error *err)
{
    dlpark_view DLPARK_UNINITIALIZED lists;
    DLTensor claim;

    if (tensor->managed)
        return dlpark_error_set(err, DLPARK_E_NOT_EMPTY, NULL);
    DLPARK_TRY(arrow_read(&lists, schema, array, device, &claim, err));
    const dlpark_tensor_desc desc = {.data = claim.data,
                                     .byte_offset = claim.byte_offset,
                                     .dtype = claim.dtype,
                                     .device = device,
                                     .ndim = claim.ndim,
                                     .shape = DLPARK_DIMS(claim.shape),
                                     .strides = DLPARK_DIMS(claim.strides),
                                     .flags = DLPARK_TENSOR_READ_ONLY,
                                     .release = arrow_release_array,
                                     .extra_nbytes = sizeof *array};
    DLPARK_TRY(dlpark_tensor_new(tensor, &desc, view, err));
    memcpy(dlpark_tensor_extra(tensor), array, sizeof *array);
    array->release = NULL;
    return DLPARK_OK;
}

dlpark_status dlpark_arrow_import(dlpark_tensor *tensor, const struct ArrowSchema *schema, struct ArrowArray *array,
                                  dlpark_view *view, dlpark_error *err)
{
    return arrow_import_on(tensor, schema, array, (DLDevice){kDLCPU, 0}, view, err);
}

dlpark_status dlpark_arrow_import_device(dlpark_tensor *tensor, const struct ArrowSchema *schema,
                                         struct ArrowDeviceArray *array, dlpark_view *view, dlpark_error *err)
{
    if (!array)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the array is NULL");
    if (array->device_id < -1 || array->device_id > INT32_MAX)
        return dlpark_error_set(err, DLPARK_E_DEVICE, "device_id is %" PRId64, array->device_id);
    if (array->sync_event)
        return dlpark_error_set(err, DLPARK_E_DEVICE,
                                "the data may not be ready: wait for the event %p, then set sync_event to NULL",
                                array->sync_event);
    const DLDevice device = {(DLDeviceType)array->device_type, array->device_id < 0 ? 0 : (int32_t)array->device_id};
    DLPARK_TRY(dlpark_device_check(device, err));
    return arrow_import_on(tensor, schema, &array->array, device, view, err);
}
