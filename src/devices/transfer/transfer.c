/*
 * Copies where a side is not the host's: what is asked of the two views, and which way the bytes take. A driver copies pieces
 * and rows; anything else goes through memory of the host, where dlpark_copy() knows all layouts.
 */
#include <stdlib.h>

#include "transfer_parts.h"

static const dlpark__view_words transfer_words = {"copy", "to", "the source", "the destination"};

/* What a source reaches over may be much more than its elements: then it is not fetched as a whole. */
#define TRANSFER_SPAN_MOST 8

/* ---- Who has the memory ---- */

/* The device of a side; -1 for the host. Page-locked memory is the host's, and managed memory a device's. */
static dlpark_status transfer_find_ordinal(dlpark__gpu *gpu, const dlpark_view *view, int32_t *ordinal,
                                           dlpark_error *err)
{
    dlpark_gpu_pointer found = {.ordinal = -1};
    dlpark__gpu_kind kind;

    *ordinal = -1;
    if (view->device.device_type != kDLCUDAManaged && dlpark_device_is_host_accessible(view->device))
        return DLPARK_OK;
    DLPARK_TRY(dlpark__gpu_read_device(gpu, view->device, &kind, ordinal, err));
    if (kind == DLPARK__GPU_DEVICE)
        return DLPARK_OK;
    DLPARK_TRY(dlpark__gpu_pointer(gpu, view->data, &found, err));
    if (found.ordinal < 0)
        return dlpark_error_set(err, DLPARK_E_DEVICE, "%s does not know the memory at %p, which is said to be %s",
                                gpu->platform->name, view->data, dlpark_device_name(view->device).text);
    *ordinal = found.ordinal;
    return DLPARK_OK;
}

/* ---- By the driver ---- */

static dlpark__gpu_result transfer_first(dlpark__gpu_result first, dlpark__gpu_result second)
{
    return first.code != DLPARK__GPU_SUCCESS ? first : second;
}

/* What the driver is given; `wait`: it is done on return, whatever came of it, since memory of the host may go then. */
static dlpark_status transfer_run_inside(const dlpark__transfer *transfer, const dlpark__transfer_plan *plan, bool wait,
                                         dlpark_error *err)
{
    const dlpark__gpu_platform *platform = transfer->gpu->platform;
    dlpark__gpu_scope scope;

    DLPARK_TRY(dlpark__gpu_report(transfer->gpu, dlpark__gpu_enter(transfer->gpu, transfer->ordinal, &scope), err));
    dlpark__gpu_result result = dlpark__transfer_run(transfer, plan);
    if (wait)
        result = transfer_first(result, platform->stream_synchronise(transfer->gpu, transfer->stream));
    return dlpark__gpu_report(transfer->gpu, transfer_first(result, platform->leave(transfer->gpu, &scope)), err);
}

static dlpark_status transfer_piece(const dlpark__transfer *transfer, void *to, const void *from, int64_t nbytes,
                                    dlpark_error *err)
{
    const dlpark__transfer_plan plan = {
        .order = {.to = to, .from = from, .element = (size_t)nbytes, .nbytes = nbytes}, .row = {1, 0, 0}, .calls = 1};

    return transfer_run_inside(transfer, &plan, true, err);
}

/* ---- Through the host ---- */

/* A view of other memory of the host in the layout of a view, from the lowest byte that it reaches on. */
static void transfer_mirror(dlpark_view *mirror, const dlpark_view *view, unsigned char *memory, int64_t lowest)
{
    dlpark_view_copy(mirror, view);
    mirror->device = DLPARK_DEVICE_CPU;
    mirror->data = memory - lowest;
    mirror->flags &= DLPARK_VIEW_PADDED;
}

/* The host may read page-locked memory once the stream has written it. */
static dlpark_status transfer_wait(const dlpark__transfer *transfer, dlpark_error *err)
{
    const dlpark__gpu_platform *platform = transfer->gpu->platform;
    dlpark__gpu_scope scope;

    DLPARK_TRY(dlpark__gpu_report(transfer->gpu, dlpark__gpu_enter(transfer->gpu, transfer->ordinal, &scope), err));
    dlpark__gpu_result result = platform->stream_synchronise(transfer->gpu, transfer->stream);
    return dlpark__gpu_report(transfer->gpu, transfer_first(result, platform->leave(transfer->gpu, &scope)), err);
}

static dlpark_status transfer_get_memory(int64_t nbytes, unsigned char **memory, dlpark_error *err)
{
    *memory = malloc((size_t)nbytes);
    if (*memory == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "no memory for %lld bytes between host and device",
                                (long long)nbytes);
    return DLPARK_OK;
}

/* Fetches all that the source reaches over; on success `memory` is the caller's to free. */
static dlpark_status transfer_fetch(const dlpark__transfer *transfer, const dlpark_view *from, dlpark_view *near,
                                    unsigned char **memory, dlpark_error *err)
{
    int64_t lowest, past;

    dlpark__view_byte_range(from, &lowest, &past);
    DLPARK_TRY(transfer_get_memory(past - lowest, memory, err));
    transfer_mirror(near, from, *memory, lowest);
    dlpark_status status = transfer_piece(transfer, *memory, (unsigned char *)from->data + lowest, past - lowest, err);
    if (status != DLPARK_OK)
        free(*memory);
    return status;
}

/* Whether every byte that a destination reaches over is an element's, whatever the order of its dimensions. */
static bool transfer_is_dense(const dlpark_view *to)
{
    dlpark__copy_plan order;

    if (dlpark__view_is_packed(to))
        return to->bit_offset == 0 && dlpark_view_is_compact(to) &&
               dlpark_view_numel(to) * dlpark_dtype_nbits(to->dtype) % 8 == 0;
    dlpark__copy_plan_order(&order, to, to);
    return order.ndim == 0;
}

/* Packs the source, which is the host's, into the destination's layout, and sends that. */
static dlpark_status transfer_send(const dlpark__transfer *transfer, const dlpark_view *to, const dlpark_view *from,
                                   dlpark_error *err)
{
    unsigned char *memory;
    dlpark_view image;
    int64_t lowest, past;

    dlpark__view_byte_range(to, &lowest, &past);
    DLPARK_TRY(transfer_get_memory(past - lowest, &memory, err));
    transfer_mirror(&image, to, memory, lowest);
    dlpark_status status = dlpark_copy(&image, from, err);
    if (status == DLPARK_OK)
        status = transfer_piece(transfer, (unsigned char *)to->data + lowest, memory, past - lowest, err);
    free(memory);
    return status;
}

/* ---- Which way ---- */

/* Whether the driver alone can do it: between two devices only one piece, and never over itself. */
static bool transfer_can_direct(const dlpark__transfer *transfer, const dlpark__transfer_plan *plan,
                                const dlpark_view *to, const dlpark_view *from)
{
    if (transfer->to_ordinal < 0 || transfer->from_ordinal < 0)
        return true;
    if (transfer->to_ordinal != transfer->from_ordinal)
        return plan->calls == 1 && plan->row.extent == 1;
    return !dlpark__view_meets(to, from);
}

/* Whether what the source reaches over is worth fetching as a whole. */
static bool transfer_is_near(const dlpark__transfer *transfer, const dlpark_view *from, int64_t nbytes)
{
    int64_t lowest, past;

    dlpark__view_byte_range(from, &lowest, &past);
    return transfer->from_ordinal < 0 || (past - lowest) / TRANSFER_SPAN_MOST <= nbytes;
}

/* From memory of the host, in whatever layout. */
static dlpark_status transfer_from_host(const dlpark__transfer *transfer, const dlpark_view *to,
                                        const dlpark_view *from, dlpark_error *err)
{
    dlpark__transfer rest = *transfer;
    dlpark__transfer_plan plan;

    rest.from_ordinal = -1;
    if (transfer->to_ordinal < 0)
        return dlpark_copy(to, from, err);
    if (transfer_is_dense(to))
        return transfer_send(&rest, to, from, err);
    dlpark__transfer_plan_make(&plan, to, from);
    return transfer_run_inside(&rest, &plan, true, err);
}

static dlpark_status transfer_through_host(const dlpark__transfer *transfer, const dlpark_view *to,
                                           const dlpark_view *from, dlpark_error *err)
{
    dlpark__transfer fetch = *transfer;
    unsigned char *memory;
    dlpark_view near;

    if (transfer->from_ordinal < 0) {
        if (from->device.device_type != kDLCPU)
            DLPARK_TRY(transfer_wait(transfer, err));
        return transfer_from_host(transfer, to, from, err);
    }
    fetch.to_ordinal = -1;
    DLPARK_TRY(transfer_fetch(&fetch, from, &near, &memory, err));
    dlpark_status status = transfer_from_host(transfer, to, &near, err);
    free(memory);
    return status;
}

/* Elements that share bytes are the host's work. */
static dlpark_status transfer_packed(const dlpark__transfer *transfer, const dlpark_view *to, const dlpark_view *from,
                                     dlpark_error *err)
{
    if (transfer->to_ordinal >= 0 && !transfer_is_dense(to))
        return dlpark_error_set(err, DLPARK_E_LAYOUT,
                                "%lld elements of %s on %s do not fill whole bytes in one piece: those beside them "
                                "would be written too",
                                (long long)dlpark_view_numel(to), dlpark_dtype_name(to->dtype).text,
                                dlpark_device_name(to->device).text);
    return transfer_through_host(transfer, to, from, err);
}

static dlpark_status transfer_elements(const dlpark__transfer *transfer, const dlpark_view *to, const dlpark_view *from,
                                       dlpark_error *err)
{
    dlpark__transfer_plan plan;

    if (dlpark__view_is_packed(to) || dlpark__view_is_packed(from))
        return transfer_packed(transfer, to, from, err);
    dlpark__transfer_plan_make(&plan, to, from);
    bool can_direct = transfer_can_direct(transfer, &plan, to, from);
    bool can_pack =
        (transfer->to_ordinal < 0 || transfer_is_dense(to)) && transfer_is_near(transfer, from, plan.order.nbytes);
    if (can_direct && (!can_pack || dlpark__transfer_plan_is_good(&plan)))
        return transfer_run_inside(transfer, &plan, transfer->to_ordinal < 0 || transfer->from_ordinal < 0, err);
    return transfer_through_host(transfer, to, from, err);
}

dlpark_status dlpark__transfer_copy(dlpark__gpu *gpu, const dlpark_view *to, const dlpark_view *from,
                                    dlpark_stream stream, dlpark_error *err)
{
    dlpark__transfer transfer = {.gpu = gpu};

    DLPARK_TRY(dlpark__view_check_same(from, to, &transfer_words, err));
    DLPARK_TRY(dlpark__view_check_write(to, err));
    DLPARK_TRY(transfer_find_ordinal(gpu, to, &transfer.to_ordinal, err));
    DLPARK_TRY(transfer_find_ordinal(gpu, from, &transfer.from_ordinal, err));
    DLPARK_TRY(dlpark__gpu_read_stream(gpu, stream, &transfer.stream, err));
    if (transfer.to_ordinal < 0 && transfer.from_ordinal < 0)
        return dlpark_error_set(err, DLPARK_E_DEVICE, "neither %s nor %s is a device: dlpark_copy() copies on the host",
                                dlpark_device_name(from->device).text, dlpark_device_name(to->device).text);
    if (dlpark_view_numel(to) == 0)
        return DLPARK_OK;
    DLPARK_TRY(dlpark__view_check_places(to, err));
    if (dlpark__copy_is_same_view(to, from))
        return DLPARK_OK;
    transfer.ordinal = transfer.to_ordinal >= 0 ? transfer.to_ordinal : transfer.from_ordinal;
    return transfer_elements(&transfer, to, from, err);
}

/* ---- The two doors ---- */

dlpark_status dlpark_cuda_copy(const dlpark_cuda *cuda, const dlpark_view *to, const dlpark_view *from,
                               dlpark_stream stream, dlpark_error *err)
{
    dlpark__gpu *gpu = cuda ? cuda->driver : NULL;

    DLPARK_TRY(dlpark__gpu_check(gpu, "dlpark_cuda_open()", err));
    return dlpark__transfer_copy(gpu, to, from, stream, err);
}

dlpark_status dlpark_hip_copy(const dlpark_hip *hip, const dlpark_view *to, const dlpark_view *from,
                              dlpark_stream stream, dlpark_error *err)
{
    dlpark__gpu *gpu = hip ? hip->driver : NULL;

    DLPARK_TRY(dlpark__gpu_check(gpu, "dlpark_hip_open()", err));
    return dlpark__transfer_copy(gpu, to, from, stream, err);
}
