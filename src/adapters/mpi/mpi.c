/*
 * Views as buffers of MPI.
 */
#include <limits.h>

#include <dlpark/array.h>
#include <dlpark/device.h>

#include "mpi_parts.h"

/* ---- What is refused ---- */

static dlpark_status mpi_check_device(const dlpark_view *view, uint32_t options, dlpark_error *err)
{
    if (dlpark_device_is_host_accessible(view->device))
        return DLPARK_OK;
    if (!dlpark_device_is_addressable(view->device))
        return dlpark_error_set(
            err, DLPARK_E_DEVICE,
            "the elements are behind a handle of %s, which no MPI reaches: the %lld bytes would have "
            "to be copied to the host",
            dlpark_device_name(view->device).text, (long long)dlpark_view_nbytes(view));
    if (options & DLPARK_MPI_DEVICE)
        return DLPARK_OK;
    return dlpark_error_set(err, DLPARK_E_DEVICE,
                            "the elements are on %s: the %lld bytes would have to be copied to the host, unless this "
                            "MPI reaches them, which DLPARK_MPI_DEVICE says",
                            dlpark_device_name(view->device).text, (long long)dlpark_view_nbytes(view));
}

static dlpark_status mpi_check_packing(const dlpark_view *view, dlpark_error *err)
{
    if (!dlpark_dtype_is_packed(view->dtype) || view->flags & DLPARK_VIEW_PADDED)
        return DLPARK_OK;
    return dlpark_error_set(err, DLPARK_E_DTYPE,
                            "elements of %s share bytes, and MPI's smallest type is one: send the %lld bytes by a view "
                            "of u8, or copy to padded elements",
                            dlpark_dtype_name(view->dtype).text, (long long)dlpark_view_nbytes(view));
}

/* Everything that a view can be refused for; the address of element 0. */
static dlpark_status mpi_check(const dlpark_view *view, uint32_t options, bool writes, const mpi_element *element,
                               void **data, dlpark_error *err)
{
    dlpark_view DLPARK_UNINITIALIZED host;
    dlpark_error DLPARK_UNINITIALIZED unwanted;

    if (options & ~(DLPARK_MPI_BYTES | DLPARK_MPI_DEVICE))
        return dlpark_error_set(err, DLPARK_E_FLAGS, "the options are 0x%x, and there are 0x%x and 0x%x",
                                (unsigned)options, (unsigned)DLPARK_MPI_BYTES, (unsigned)DLPARK_MPI_DEVICE);
    DLPARK_TRY(mpi_check_packing(view, err));
    DLPARK_TRY(mpi_check_device(view, options, err));
    /* An address is an address: what is known of the host's memory is asked for that of devices too. */
    dlpark_view_copy(&host, view);
    host.device = (DLDevice){kDLCPU, 0};
    err = err ? err : &unwanted;
    const void *at = writes ? dlpark_array_borrow_mut(&host, view->dtype, element->alignment_bytes, err)
                            : dlpark_array_borrow(&host, view->dtype, element->alignment_bytes, err);
    *data = view->data;
    return at ? DLPARK_OK : err->status;
}

static dlpark_status mpi_check_running(dlpark_error *err)
{
    int is_initialised = 0, is_finalised = 0;

    MPI_Initialized(&is_initialised);
    MPI_Finalized(&is_finalised);
    if (is_initialised && !is_finalised)
        return DLPARK_OK;
    return dlpark_error_set(err, DLPARK_E_ARGUMENT, "a datatype has to be made for this view, and MPI %s",
                            is_finalised ? "is finalised" : "is not initialised: call MPI_Init() first");
}

/* ---- Buffers ---- */

/*
 * How many of a type the elements are where they lie side by side; 0 where they do not, or an int cannot say it. Of elements
 * that MPI has no type for one type is one element: MPI_BYTE would be added by MPI_SUM, byte by byte, in Open MPI.
 */
static int mpi_count(const mpi_layout *layout)
{
    const int64_t count = layout->element.is_nameless ? layout->block / layout->element.count : layout->block;

    return layout->ndim == 0 && count <= INT_MAX ? (int)count : 0;
}

static dlpark_status mpi_borrow(dlpark_mpi_buffer *buffer, const dlpark_view *view, uint32_t options, bool writes,
                                dlpark_error *err)
{
    mpi_element element = dlpark__mpi_element(view->dtype, options & DLPARK_MPI_BYTES);
    mpi_layout DLPARK_UNINITIALIZED layout;
    dlpark_mpi_buffer made = {.type = element.type};

    if (buffer->type != MPI_DATATYPE_NULL)
        return dlpark_error_set(err, DLPARK_E_NOT_EMPTY, "the buffer already has a type, of %d", buffer->count);
    DLPARK_TRY(mpi_check(view, options, writes, &element, &made.data, err));
    if (dlpark_view_numel(view) == 0) {
        *buffer = made;
        return DLPARK_OK;
    }
    dlpark__mpi_layout(&layout, view, element);
    made.count = mpi_count(&layout);
    made.is_made = made.count == 0 || element.is_nameless;
    if (made.is_made) {
        if (made.count > 0)
            layout.block = element.count; /* the type is one element */
        else
            made.count = 1;
        DLPARK_TRY(mpi_check_running(err));
        DLPARK_TRY(dlpark__mpi_type_make(&made.type, &layout, INT_MAX, err));
    }
    *buffer = made;
    return DLPARK_OK;
}

dlpark_status dlpark_mpi_borrow(dlpark_mpi_buffer *buffer, const dlpark_view *view, uint32_t options, dlpark_error *err)
{
    return mpi_borrow(buffer, view, options, false, err);
}

dlpark_status dlpark_mpi_borrow_mut(dlpark_mpi_buffer *buffer, const dlpark_view *view, uint32_t options,
                                    dlpark_error *err)
{
    return mpi_borrow(buffer, view, options, true, err);
}

void dlpark_mpi_release(dlpark_mpi_buffer *buffer)
{
    static const dlpark_mpi_buffer empty = DLPARK_MPI_BUFFER_EMPTY;

    if (buffer->is_made && mpi_check_running(NULL) == DLPARK_OK)
        MPI_Type_free(&buffer->type);
    *buffer = empty;
}
