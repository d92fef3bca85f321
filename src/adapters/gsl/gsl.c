/*
 * GSL's vectors and matrices as views and tensors.
 */
#include <string.h>

#include <dlpark/check.h>

#include "gsl_parts.h"

/* Whether GSL could make it: with its error handler off, a view of impossible sizes is all zeros. */
static bool gsl_is_nothing(const gsl_object *object)
{
    return object->shape[0] == 0 && (object->ndim == 1 || object->shape[1] == 0) && object->stride == 0 &&
           !object->data && !object->block;
}

static dlpark_status gsl_check_object(const gsl_object *object, dlpark_error *err)
{
    if (gsl_is_nothing(object))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the %s is all zeros: GSL could not make it", object->name);
    if (object->ndim == 1 && object->stride == 0)
        return dlpark_error_set(err, DLPARK_E_STRIDES, "the %s has a stride of 0, and %zu elements", object->name,
                                object->shape[0]);
    if (object->ndim == 2 && object->stride < object->shape[1])
        return dlpark_error_set(err, DLPARK_E_STRIDES, "the %s has a tda of %zu, which is less than its size2, %zu",
                                object->name, object->stride, object->shape[1]);
    return DLPARK_OK;
}

/* A size as an extent or stride, which have a sign. */
static dlpark_status gsl_read_size(const gsl_object *object, const char *field, size_t size, int64_t *out,
                                   dlpark_error *err)
{
    if (__builtin_add_overflow(size, (size_t)0, out))
        return dlpark_error_set(err, DLPARK_E_OVERFLOW, "the %s has a %s of %zu, which leaves 63 bits", object->name,
                                field, size);
    return DLPARK_OK;
}

/* What an object says, as a claim that is checked as anybody's. */
static dlpark_status gsl_view_object(dlpark_view *view, const gsl_object *object, bool read_only, dlpark_error *err)
{
    bool is_vector = object->ndim == 1;
    DLTensor tensor = {.data = object->data,
                       .device = {kDLCPU, 0},
                       .ndim = object->ndim,
                       .dtype = object->type->dtype,
                       .shape = view->shape,
                       .strides = view->strides};

    DLPARK_TRY(gsl_check_object(object, err));
    DLPARK_TRY(gsl_read_size(object, is_vector ? "size" : "size1", object->shape[0], &view->shape[0], err));
    DLPARK_TRY(gsl_read_size(object, is_vector ? "stride" : "tda", object->stride, &view->strides[0], err));
    if (!is_vector) {
        view->shape[1] = (int64_t)object->shape[1]; /* at most tda */
        view->strides[1] = 1;
    }
    DLPARK_TRY(dlpark_check(&tensor, read_only ? DLPACK_FLAG_BITMASK_READ_ONLY : 0, view, err));
    return read_only ? DLPARK_OK : dlpark_view_allow_write(view, err);
}

dlpark_status dlpark_gsl_view_kind(dlpark_view *view, const void *object, uint32_t kind, dlpark_error *err)
{
    gsl_object seen;

    DLPARK_TRY(dlpark__gsl_object_init(&seen, kind, err));
    if (!object)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the %s is NULL", seen.name);
    dlpark__gsl_object_read(&seen, object);
    return gsl_view_object(view, &seen, (kind & DLPARK_GSL_CONST) != 0, err);
}

/* ---- Import ---- */

/* Whether an object has its block to itself, and lies in it. */
static dlpark_status gsl_check_owner(const gsl_object *object, const dlpark_view *view, uint32_t kind,
                                     dlpark_error *err)
{
    size_t size = 0, from, needed;
    void *data = NULL;

    if (kind & DLPARK_GSL_CONST)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the %s is const, and what is taken is freed", object->name);
    if (!object->owner || !object->block)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                                "the %s does not own its memory (owner is %d, block is %p): dlpark_gsl_view() borrows "
                                "it, or take what it is a part of",
                                object->name, object->owner, object->block);
    if (dlpark_view_numel(view) == 0)
        return DLPARK_OK;
    dlpark__gsl_block_read(object->block, &size, &data);
    /* The view's reach is known to fit, and every stride is positive. */
    needed = (object->shape[0] - 1) * object->stride + (object->ndim == 1 ? 1 : object->shape[1]);
    from = (uintptr_t)object->data - (uintptr_t)data;
    if (from % object->type->nbytes != 0 || from / object->type->nbytes > size ||
        needed > size - from / object->type->nbytes)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                                "the %s reaches over %zu elements from %p on, and its block has %zu from %p on",
                                object->name, needed, object->data, size, data);
    return DLPARK_OK;
}

static dlpark_status gsl_take(dlpark_tensor *tensor, void *theirs, const gsl_object *object, uint32_t kind,
                              dlpark_view *view, dlpark_error *err)
{
    dlpark_view DLPARK_UNINITIALIZED seen;

    DLPARK_TRY(gsl_view_object(&seen, object, false, err));
    DLPARK_TRY(gsl_check_owner(object, &seen, kind, err));
    const dlpark_tensor_desc desc = {.data = object->data,
                                     .dtype = seen.dtype,
                                     .ndim = seen.ndim,
                                     .shape = DLPARK_DIMS(seen.shape),
                                     .strides = DLPARK_DIMS(seen.strides),
                                     .owner = theirs,
                                     .release = object->end};
    return dlpark_tensor_new(tensor, &desc, view, err);
}

dlpark_status dlpark_gsl_import_kind(dlpark_tensor *tensor, void *object, uint32_t kind, dlpark_view *view,
                                     dlpark_error *err)
{
    void *theirs = NULL;
    gsl_object seen;

    if (tensor->managed)
        return dlpark_error_set(err, DLPARK_E_NOT_EMPTY, NULL);
    DLPARK_TRY(dlpark__gsl_object_init(&seen, kind, err));
    if (object)
        memcpy(&theirs, object, sizeof theirs);
    if (!theirs)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the %s is NULL", seen.name);
    dlpark__gsl_object_read(&seen, theirs);
    if (seen.owner == GSL_OURS) {
        dlpark__gsl_given_take(theirs, tensor);
        if (view)
            dlpark_tensor_view(tensor, view);
    } else {
        DLPARK_TRY(gsl_take(tensor, theirs, &seen, kind, view, err));
    }
    theirs = NULL;
    memcpy(object, &theirs, sizeof theirs);
    return DLPARK_OK;
}
