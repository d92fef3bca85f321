/*
 * Rows at pointers of their own, T **, copied into a view and out of one.
 */
#include <string.h>

#include "array_parts.h"

/* What a message calls the two sides, and which of them is written. */
typedef struct array_sides {
    const dlpark_view *view;
    dlpark_rows rows;
    bool to_rows;
} array_sides;

/* The pointer to a row: whatever it points to, it is stored like any other. */
static void *array_row_pointer(dlpark_rows rows, int64_t i)
{
    void *row;

    memcpy(&row, (const unsigned char *)rows.pointers + (size_t)i * sizeof row, sizeof row);
    return row;
}

/* One row of the rows as a view; they differ in their address alone. */
static dlpark_status array_check_row(const array_sides *sides, int64_t i, dlpark_view *row, dlpark_error *err)
{
    const dlpark_view *view = sides->view;
    int64_t columns = view->shape[1];
    const DLTensor described = {.data = array_row_pointer(sides->rows, i),
                                .device = {kDLCPU, 0},
                                .ndim = 1,
                                .dtype = view->dtype,
                                .shape = &columns};

    if (described.data == NULL)
        return dlpark_error_set(err, DLPARK_E_DATA, "rows[%lld] is NULL although it has %lld elements", (long long)i,
                                (long long)columns);
    if (dlpark_check(&described, view->flags & DLPARK_VIEW_PADDED, row, NULL) != DLPARK_OK)
        return dlpark_error_set(err, DLPARK_E_OVERFLOW,
                                "rows[%lld] at %p leaves the address space with its %lld elements", (long long)i,
                                described.data, (long long)columns);
    row->strides[0] = 1;
    row->flags &= ~DLPARK_VIEW_UNKNOWN_WRITE;
    if (dlpark__view_meets(row, view))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "rows[%lld] at %p lies in the memory of the view", (long long)i,
                                described.data);
    return DLPARK_OK;
}

static dlpark_status array_check_sides(const array_sides *sides, dlpark_error *err)
{
    const dlpark_view *view = sides->view;

    if (view->ndim != 2)
        return dlpark_error_set(err, DLPARK_E_RANK, "expected a view of rank 2 for rows, got shape %s",
                                dlpark__layout_list(view->ndim, view->shape).text);
    if (!dlpark_dtype_equal(view->dtype, sides->rows.dtype))
        return dlpark_error_set(err, DLPARK_E_DTYPE, "the rows are of %s, and the view of %s",
                                dlpark_dtype_name(sides->rows.dtype).text, dlpark_dtype_name(view->dtype).text);
    DLPARK_TRY(dlpark__view_check_host(view, err));
    if (sides->to_rows && sides->rows.read_only)
        return dlpark_error_set(err, DLPARK_E_READ_ONLY, "the rows are of const elements");
    return sides->to_rows ? DLPARK_OK : dlpark__view_check_write(view, err);
}

static void array_view_row(const dlpark_view *view, int64_t i, dlpark_view *row)
{
    dlpark_view_copy(row, view);
    (void)!dlpark_view_index(row, 0, i, NULL); /* i is within the extent */
}

static dlpark_status array_copy_rows(const array_sides *sides, dlpark_error *err)
{
    dlpark_view ours DLPARK_UNINITIALIZED, theirs DLPARK_UNINITIALIZED;

    DLPARK_TRY(array_check_sides(sides, err));
    if (dlpark_view_numel(sides->view) == 0)
        return DLPARK_OK;
    if (!sides->to_rows)
        DLPARK_TRY(dlpark__view_check_places(sides->view, err));
    if (sides->rows.pointers == NULL)
        return dlpark_error_set(err, DLPARK_E_DATA, "rows is NULL although there are %lld",
                                (long long)sides->view->shape[0]);
    for (int64_t i = 0; i < sides->view->shape[0]; i++)
        DLPARK_TRY(array_check_row(sides, i, &theirs, err));
    for (int64_t i = 0; i < sides->view->shape[0]; i++) {
        theirs.data = array_row_pointer(sides->rows, i);
        array_view_row(sides->view, i, &ours);
        if (sides->to_rows)
            dlpark__copy_disjoint(&theirs, &ours, 1);
        else
            dlpark__copy_disjoint(&ours, &theirs, 1);
    }
    return DLPARK_OK;
}

dlpark_status dlpark_array_from_rows(const dlpark_view *to, dlpark_rows rows, dlpark_error *err)
{
    return array_copy_rows(&(array_sides){to, rows, false}, err);
}

dlpark_status dlpark_array_to_rows(dlpark_rows rows, const dlpark_view *from, dlpark_error *err)
{
    return array_copy_rows(&(array_sides){from, rows, true}, err);
}
