/* Other views of the same elements: nothing is copied, and a call that fails changes nothing. */
#include <dlpark/dlpark.h>
#include <stdio.h>

static void show(const char *what, const dlpark_view *view)
{
    printf("%-9s [", what);
    for (int i = 0; i < view->ndim; i++)
        printf("%s%lld", i ? ", " : "", (long long)view->shape[i]);
    printf("] strides [");
    for (int i = 0; i < view->ndim; i++)
        printf("%s%lld", i ? ", " : "", (long long)view->strides[i]);
    printf("] of %s, from %d\n", dlpark_dtype_name(view->dtype).text, *(const unsigned char *)view->data);
}

/* A picture: rows from the bottom, channels first, its red channel in tiles of 2 by 2. */
static dlpark_status look(const dlpark_view *picture, dlpark_error *err)
{
    dlpark_view view;

    dlpark_view_copy(&view, picture);
    DLPARK_TRY(dlpark_view_slice(&view, 0, DLPARK_NONE, DLPARK_NONE, -1, err)); /* all rows, last first */
    DLPARK_TRY(dlpark_view_permute(&view, 3, (int[]){2, 0, 1}, err));           /* HWC -> CHW */
    show("permuted", &view);
    DLPARK_TRY(dlpark_view_index(&view, 0, 0, err));                            /* the red channel */
    DLPARK_TRY(dlpark_view_window(&view, 0, 2, 2, err));
    DLPARK_TRY(dlpark_view_window(&view, 1, 2, 2, err));
    show("tiled", &view);
    return dlpark_view_reshape(&view, 2, (int64_t[]){4, -1}, err);              /* a tile a row: needs a copy */
}

/* The same bytes: a batch of one, its pixels in one row, each pixel's channels as one element. */
static dlpark_status regroup(const dlpark_view *picture, dlpark_error *err)
{
    dlpark_view view;

    dlpark_view_copy(&view, picture);
    DLPARK_TRY(dlpark_view_expand_dims(&view, 0, err));
    DLPARK_TRY(dlpark_view_reshape(&view, 3, (int64_t[]){1, -1, 3}, err));
    show("reshaped", &view);
    DLPARK_TRY(dlpark_view_reinterpret(&view, DLPARK_DTYPE(kDLUInt, 8, 3), err));
    dlpark_view_squeeze_all(&view);
    show("regrouped", &view);
    DLPARK_TRY(dlpark_view_broadcast(&view, 2, (int64_t[]){5, 16}, err));
    show("repeated", &view);
    return DLPARK_OK;
}

int main(void)
{
    unsigned char pixels[4 * 4 * 3];
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    dlpark_error err;

    for (int i = 0; i < 4 * 4 * 3; i++)
        pixels[i] = (unsigned char)i;
    if (dlpark_tensor_new(&tensor, &(dlpark_tensor_desc){
            .data = pixels, .dtype = DLPARK_U8, .ndim = 3, .shape = DLPARK_DIMS((int64_t[]){4, 4, 3})}, &view, &err))
        return 1;
    if (look(&view, &err))
        printf("%s: %s\n", dlpark_status_name(err.status), err.message);
    if (regroup(&view, &err))
        return 1;
    dlpark_tensor_release(&tensor);
}
