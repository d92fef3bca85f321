/*
 * Views and tensors as GSL's vectors and matrices.
 */
#include <stdlib.h>
#include <string.h>

#include <dlpark/array.h>

#include "gsl_parts.h"

/* What is given out: GSL's struct first, so that its address is that of the whole, and the tensor behind. */
typedef struct gsl_given {
    gsl_matrix_layout theirs; /* or a vector, which is smaller */
    dlpark_tensor tensor;
} gsl_given;

/* ---- The layout ---- */

static DLPARK_COLD dlpark_status gsl_refuse_vector(const dlpark_view *view, const gsl_object *object, dlpark_error *err)
{
    return dlpark_error_set(
        err, DLPARK_E_LAYOUT,
        "strides[0] is %lld, and a %s has a positive one: the %lld bytes of its elements would have "
        "to be copied, by dlpark_copy()",
        (long long)view->strides[0], object->name, (long long)dlpark_view_nbytes(view));
}

static DLPARK_COLD dlpark_status gsl_refuse_matrix(const dlpark_view *view, const gsl_object *object, dlpark_error *err)
{
    bool transposed = view->strides[0] == 1 && view->strides[1] >= view->shape[0];

    return dlpark_error_set(
        err, DLPARK_E_LAYOUT,
        "the strides are [%lld, %lld], and a %s of %lld x %lld has [%lld or more, 1]: %sthe %lld bytes "
        "of its elements would have to be copied, by dlpark_copy()",
        (long long)view->strides[0], (long long)view->strides[1], object->name, (long long)view->shape[0],
        (long long)view->shape[1], (long long)view->shape[1],
        transposed ? "it passes after dlpark_view_transpose(), or " : "", (long long)dlpark_view_nbytes(view));
}

/* Dimensions of one element, and those of nothing, may have any stride. */
static dlpark_status gsl_find_stride(const dlpark_view *view, const gsl_object *object, int64_t *stride,
                                     dlpark_error *err)
{
    bool is_empty = dlpark_view_numel(view) == 0, is_vector = view->ndim == 1;
    int64_t inner = is_vector ? 1 : view->shape[1];

    *stride = inner;
    if (is_empty)
        return DLPARK_OK;
    if (!is_vector && view->shape[1] > 1 && view->strides[1] != 1)
        return gsl_refuse_matrix(view, object, err);
    if (view->shape[0] == 1)
        return DLPARK_OK;
    if (view->strides[0] < inner)
        return is_vector ? gsl_refuse_vector(view, object, err) : gsl_refuse_matrix(view, object, err);
    *stride = view->strides[0];
    return DLPARK_OK;
}

static dlpark_status gsl_write_size(int64_t extent, const gsl_object *object, size_t *out, dlpark_error *err)
{
    if (__builtin_add_overflow(extent, 0, out))
        return dlpark_error_set(err, DLPARK_E_OVERFLOW, "%lld is more than a size of a %s can be", (long long)extent,
                                object->name);
    return DLPARK_OK;
}

/* Fills the object with what GSL would have to see for the elements of a view. */
static dlpark_status gsl_lay_out(const dlpark_view *view, uint32_t kind, gsl_object *object, dlpark_error *err)
{
    dlpark_error DLPARK_UNINITIALIZED unwanted;
    int64_t stride;

    DLPARK_TRY(dlpark__gsl_object_init(object, kind, err));
    if (view->ndim != object->ndim)
        return dlpark_error_set(err, DLPARK_E_RANK, "the rank is %d, and a %s has %d", (int)view->ndim, object->name,
                                (int)object->ndim);
    err = err ? err : &unwanted;
    if (kind & DLPARK_GSL_CONST) {
        const void *data = dlpark_array_borrow(view, object->type->dtype, object->type->alignment_bytes, err);
        memcpy(&object->data, &data, sizeof data); /* who reads is told by the type that nobody writes */
    } else {
        object->data = dlpark_array_borrow_mut(view, object->type->dtype, object->type->alignment_bytes, err);
    }
    if (!object->data)
        return err->status;
    DLPARK_TRY(gsl_find_stride(view, object, &stride, err));
    for (int32_t i = 0; i < view->ndim; i++)
        DLPARK_TRY(gsl_write_size(view->shape[i], object, &object->shape[i], err));
    return gsl_write_size(stride, object, &object->stride, err);
}

dlpark_status dlpark_gsl_borrow_kind(void *object, const dlpark_view *view, uint32_t kind, dlpark_error *err)
{
    gsl_object made = {.owner = 0};

    DLPARK_TRY(gsl_lay_out(view, kind, &made, err));
    dlpark__gsl_object_write(&made, object);
    return DLPARK_OK;
}

/* ---- Tensors ---- */

dlpark_status dlpark_gsl_export_kind(void *object, dlpark_tensor *tensor, uint32_t kind, dlpark_error *err)
{
    gsl_object made = {.owner = GSL_OURS};
    dlpark_view DLPARK_UNINITIALIZED view;
    void *theirs;

    memcpy(&theirs, object, sizeof theirs);
    if (theirs)
        return dlpark_error_set(err, DLPARK_E_NOT_EMPTY, "the variable for GSL's object is %p, expected NULL", theirs);
    if (!tensor->managed)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the tensor is empty");
    dlpark_tensor_view(tensor, &view);
    DLPARK_TRY(gsl_lay_out(&view, kind, &made, err));
    gsl_given *given = malloc(sizeof *given);
    if (!given)
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    dlpark__gsl_object_write(&made, given);
    given->tensor = *tensor;
    tensor->managed = NULL;
    theirs = given;
    memcpy(object, &theirs, sizeof theirs);
    return DLPARK_OK;
}

void dlpark__gsl_given_take(void *theirs, dlpark_tensor *tensor)
{
    gsl_given *given = theirs;

    *tensor = given->tensor;
    free(given);
}

void dlpark_gsl_release_kind(void *object, uint32_t kind)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    void *theirs = NULL;
    gsl_object seen;

    if (object)
        memcpy(&theirs, object, sizeof theirs);
    if (!theirs || dlpark__gsl_object_init(&seen, kind, NULL) != DLPARK_OK)
        return;
    dlpark__gsl_object_read(&seen, theirs);
    if (seen.owner != GSL_OURS)
        return;
    dlpark__gsl_given_take(theirs, &tensor);
    dlpark_tensor_release(&tensor);
    theirs = NULL;
    memcpy(object, &theirs, sizeof theirs);
}
