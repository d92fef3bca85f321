/*
 * Tensors as Arrow arrays. A receiver may move the child out of an array and release the two apart: schema and array are
 * one block each, which counts.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "arrow_parts.h"

typedef struct arrow_array_block {
    atomic_int owners;
    dlpark_tensor tensor;
    struct ArrowArray child;
    struct ArrowArray *children[1];
    const void *buffers[2]; /* no validity bitmap, then the numbers; the array of lists has the first alone */
} arrow_array_block;

typedef struct arrow_schema_block {
    atomic_int owners;
    struct ArrowSchema child;
    struct ArrowSchema *children[1];
    char format[ARROW_LIST_FORMAT_NBYTES];
    char metadata[]; /* as long as the shape needs */
} arrow_schema_block;

static bool arrow_is_last(atomic_int *owners)
{
    return atomic_fetch_sub_explicit(owners, 1, memory_order_acq_rel) == 1;
}

static void arrow_array_release(struct ArrowArray *array)
{
    arrow_array_block *block = array->private_data;

    for (int64_t i = 0; i < array->n_children; i++)
        if (array->children[i]->release)
            array->children[i]->release(array->children[i]);
    array->release = NULL;
    if (!arrow_is_last(&block->owners))
        return;
    dlpark_tensor_release(&block->tensor);
    free(block);
}

static void arrow_schema_release(struct ArrowSchema *schema)
{
    arrow_schema_block *block = schema->private_data;

    for (int64_t i = 0; i < schema->n_children; i++)
        if (schema->children[i]->release)
            schema->children[i]->release(schema->children[i]);
    schema->release = NULL;
    if (arrow_is_last(&block->owners))
        free(block);
}

static DLPARK_COLD dlpark_status arrow_refuse_layout(const dlpark_view *view, int32_t at, int64_t expected,
                                                     dlpark_error *err)
{
    return dlpark_error_set(err, DLPARK_E_LAYOUT,
                            "strides[%d] is %lld where Arrow needs %lld: the elements would have to be copied, by "
                            "dlpark_copy()",
                            (int)at, (long long)view->strides[at], (long long)expected);
}

/* How many elements a row has: the size of a list, which Arrow keeps in 32 bits. */
static dlpark_status arrow_row_size(const dlpark_view *view, int64_t *size, dlpark_error *err)
{
    DLPARK_TRY(dlpark_layout_numel(view->ndim - 1, view->shape + 1, size, err));
    if (*size > INT32_MAX)
        return dlpark_error_set(err, DLPARK_E_OVERFLOW, "a row has %lld elements, and a list of Arrow at most %ld",
                                (long long)*size, (long)INT32_MAX);
    return DLPARK_OK;
}

/* What the rows of a tensor are, from the second dimension on; refuses what would have to be copied. Without elements no
 * stride means anything. */
static dlpark_status arrow_find_rows(const dlpark_view *view, arrow_shape *row, dlpark_error *err)
{
    int64_t size, expected;

    DLPARK_TRY(arrow_row_size(view, &size, err));
    if (view->shape[0] == 0 || size == 0) {
        row->ndim = view->ndim - 1;
        row->permutation_ndim = 0;
        memcpy(row->shape, view->shape + 1, sizeof *row->shape * (size_t)row->ndim);
        return DLPARK_OK;
    }
    if (view->shape[0] > 1 && view->strides[0] != size)
        return arrow_refuse_layout(view, 0, size, err);
    int32_t fault = dlpark__arrow_permutation_find(view->ndim - 1, view->shape + 1, view->strides + 1, row, &expected);
    return fault < 0 ? DLPARK_OK : arrow_refuse_layout(view, 1 + fault, expected, err);
}

static dlpark_status arrow_check_dtype(const dlpark_view *view, dlpark_error *err)
{
    if (!dlpark__arrow_type_write(view->dtype))
        return dlpark_error_set(err, DLPARK_E_DTYPE,
                                "Arrow has no type for %s: cast the elements, or reinterpret them as integers",
                                dlpark_dtype_name(view->dtype).text);
    if (view->dtype.code == kDLBool && view->ndim > 1)
        return dlpark_error_set(err, DLPARK_E_RANK,
                                "the rank is %d, and " ARROW_BOOL8 " has one dimension: reinterpret the elements as u8",
                                (int)view->ndim);
    return DLPARK_OK;
}

/* What a tensor needs to be for Arrow, whatever its device. */
static dlpark_status arrow_check_tensor(const dlpark_tensor *tensor, dlpark_view *view, arrow_shape *row,
                                        dlpark_error *err)
{
    if (!tensor->managed)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the tensor is empty");
    dlpark_tensor_view(tensor, view);
    if (!dlpark_device_is_addressable(view->device))
        return dlpark_error_set(err, DLPARK_E_DEVICE, "memory of %s has handles, and Arrow takes addresses",
                                dlpark_device_name(view->device).text);
    if (view->ndim == 0)
        return dlpark_error_set(err, DLPARK_E_RANK,
                                "the rank is 0, and an array has a length: dlpark_view_expand_dims() adds a dimension");
    DLPARK_TRY(arrow_check_dtype(view, err));
    return arrow_find_rows(view, row, err);
}

/* ---- The type ---- */

static char *arrow_put_text(char *at, const char *text, size_t nbytes)
{
    int32_t count = (int32_t)nbytes;

    memcpy(at, &count, sizeof count);
    memcpy(at + sizeof count, text, nbytes);
    return at + sizeof count + nbytes;
}

/* The pairs that make an extension type: its name, and what it says. */
static void arrow_put_extension(char *at, const char *name, const char *says, size_t says_nbytes)
{
    const int32_t pairs = 2;

    memcpy(at, &pairs, sizeof pairs);
    at = arrow_put_text(at + sizeof pairs, ARROW_EXTENSION_NAME, sizeof ARROW_EXTENSION_NAME - 1);
    at = arrow_put_text(at, name, strlen(name));
    at = arrow_put_text(at, ARROW_EXTENSION_METADATA, sizeof ARROW_EXTENSION_METADATA - 1);
    (void)arrow_put_text(at, says, says_nbytes);
}

/* What arrow_put_extension() takes beside what the extension says. */
#define ARROW_EXTENSION_NBYTES                                                                                         \
    (5 * sizeof(int32_t) + sizeof ARROW_EXTENSION_NAME + sizeof ARROW_EXTENSION_METADATA + sizeof ARROW_TENSOR)

static struct ArrowSchema arrow_schema_of(arrow_schema_block *block, const char *format)
{
    return (struct ArrowSchema){.format = format, .name = "", .release = arrow_schema_release, .private_data = block};
}

static void arrow_fill_schema(arrow_schema_block *block, const dlpark_view *view, const arrow_shape *row, char *says,
                              struct ArrowSchema *out)
{
    const char *letter = dlpark__arrow_type_write(view->dtype);

    atomic_init(&block->owners, view->ndim > 1 ? 2 : 1);
    *out = arrow_schema_of(block, letter);
    if (view->dtype.code == kDLBool) {
        arrow_put_extension(block->metadata, ARROW_BOOL8, "", 0);
        out->metadata = block->metadata;
    }
    if (view->ndim == 1)
        return;
    int64_t size = 1;
    for (int32_t i = 1; i < view->ndim; i++)
        size *= view->shape[i];
    memcpy(block->format, "+w:", 3);
    *dlpark__arrow_write_number(size, block->format + 3) = '\0';
    arrow_put_extension(block->metadata, ARROW_TENSOR, says, dlpark__arrow_shape_write(row, says));
    block->child = *out;
    block->child.name = "item";
    block->children[0] = &block->child;
    *out = arrow_schema_of(block, block->format);
    out->metadata = block->metadata;
    out->n_children = 1;
    out->children = block->children;
}

/* ---- The data ---- */

static void arrow_fill_array(arrow_array_block *block, const dlpark_view *view, struct ArrowArray *out)
{
    const struct ArrowArray primitive = {.length = dlpark_view_numel(view),
                                         .n_buffers = 2,
                                         .buffers = block->buffers,
                                         .release = arrow_array_release,
                                         .private_data = block};

    atomic_init(&block->owners, view->ndim > 1 ? 2 : 1);
    block->buffers[0] = NULL;
    block->buffers[1] = view->data;
    *out = primitive;
    if (view->ndim == 1)
        return;
    block->child = primitive;
    block->children[0] = &block->child;
    out->length = view->shape[0];
    out->n_buffers = 1;
    out->n_children = 1;
    out->children = block->children;
}

static dlpark_status arrow_export_checked(struct ArrowSchema *schema, struct ArrowArray *array, dlpark_tensor *tensor,
                                          const dlpark_view *view, const arrow_shape *row, dlpark_error *err)
{
    /* The shape is written behind its final place, and moved there. */
    size_t says_nbytes = dlpark__arrow_shape_nbytes(view->ndim);
    arrow_schema_block *type = malloc(sizeof *type + ARROW_EXTENSION_NBYTES + 2 * says_nbytes);
    arrow_array_block *data = malloc(sizeof *data);

    if (!type || !data) {
        free(type);
        free(data);
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    }
    arrow_fill_schema(type, view, row, type->metadata + ARROW_EXTENSION_NBYTES + says_nbytes, schema);
    arrow_fill_array(data, view, array);
    data->tensor = *tensor;
    tensor->managed = NULL;
    return DLPARK_OK;
}

dlpark_status dlpark_arrow_export(struct ArrowSchema *schema, struct ArrowArray *array, dlpark_tensor *tensor,
                                  dlpark_error *err)
{
    dlpark_view DLPARK_UNINITIALIZED view;
    arrow_shape row;

    DLPARK_TRY(arrow_check_tensor(tensor, &view, &row, err));
    if (!dlpark_device_is_host_accessible(view.device))
        return dlpark_error_set(err, DLPARK_E_DEVICE,
                                "the tensor is on %s, which the host cannot read: dlpark_arrow_export_device() says so",
                                dlpark_device_name(view.device).text);
    return arrow_export_checked(schema, array, tensor, &view, &row, err);
}

dlpark_status dlpark_arrow_export_device(struct ArrowSchema *schema, struct ArrowDeviceArray *array,
                                         dlpark_tensor *tensor, dlpark_error *err)
{
    dlpark_view DLPARK_UNINITIALIZED view;
    arrow_shape row;

    DLPARK_TRY(arrow_check_tensor(tensor, &view, &row, err));
    DLPARK_TRY(arrow_export_checked(schema, &array->array, tensor, &view, &row, err));
    array->device_type = (ArrowDeviceType)view.device.device_type;
    array->device_id = view.device.device_type == kDLCPU ? -1 : view.device.device_id;
    array->sync_event = NULL;
    memset(array->reserved, 0, sizeof array->reserved);
    return DLPARK_OK;
}
