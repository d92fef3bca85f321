/*
 * From two layouts to the copies that a driver knows: of one piece, and of rows of even distance.
 */
#include "transfer_parts.h"

#define TRANSFER_CALLS_FEW  16
#define TRANSFER_RUN_LONG   ((int64_t)64)    /* bytes of a row from which the device moves it at its speed */
#define TRANSFER_CALL_LARGE ((int64_t)65536) /* bytes of a call against which the call itself is nothing */

void dlpark__transfer_plan_make(dlpark__transfer_plan *plan, const dlpark_view *to, const dlpark_view *from)
{
    dlpark__copy_plan *order = &plan->order;

    plan->row = (dlpark__copy_dim){1, 0, 0};
    plan->calls = 1;
    dlpark__copy_plan_order(order, to, from);
    if (order->ndim > 0) {
        const dlpark__copy_dim *last = &order->dims[order->ndim - 1];
        int64_t run = (int64_t)order->element;
        if (last->to >= run && last->from >= run) { /* a pitch: the rows do not meet, on either side */
            plan->row = *last;
            order->ndim--;
        }
    }
    for (int32_t i = 0; i < order->ndim; i++)
        if (__builtin_mul_overflow(plan->calls, order->dims[i].extent, &plan->calls))
            plan->calls = INT64_MAX;
}

bool dlpark__transfer_plan_is_good(const dlpark__transfer_plan *plan)
{
    bool is_long = plan->row.extent == 1 || (int64_t)plan->order.element >= TRANSFER_RUN_LONG;

    return is_long && (plan->calls <= TRANSFER_CALLS_FEW || plan->order.nbytes / plan->calls >= TRANSFER_CALL_LARGE);
}

static dlpark__gpu_way transfer_way(const dlpark__transfer *transfer)
{
    if (transfer->from_ordinal < 0)
        return DLPARK__GPU_TO_DEVICE;
    return transfer->to_ordinal < 0 ? DLPARK__GPU_TO_HOST : DLPARK__GPU_ON_DEVICE;
}

/* One call of the driver. */
static dlpark__gpu_result transfer_call(const dlpark__transfer *transfer, const dlpark__transfer_plan *plan,
                                        unsigned char *to, const unsigned char *from)
{
    const dlpark__gpu *gpu = transfer->gpu;
    dlpark__gpu_way way = transfer_way(transfer);
    size_t run = plan->order.element;

    if (way == DLPARK__GPU_ON_DEVICE && transfer->to_ordinal != transfer->from_ordinal)
        return gpu->platform->copy_peer(gpu, to, transfer->to_ordinal, from, transfer->from_ordinal, run,
                                        transfer->stream);
    if (plan->row.extent == 1)
        return gpu->platform->copy(gpu, way, to, from, run, transfer->stream);
    const dlpark__gpu_rows rows = {.to = to,
                                   .from = from,
                                   .to_pitch = (size_t)plan->row.to,
                                   .from_pitch = (size_t)plan->row.from,
                                   .nbytes = run,
                                   .count = (size_t)plan->row.extent};
    return gpu->platform->copy_rows(gpu, way, &rows, transfer->stream);
}

dlpark__gpu_result dlpark__transfer_run(const dlpark__transfer *transfer, const dlpark__transfer_plan *plan)
{
    const dlpark__copy_plan *order = &plan->order;
    int64_t index[DLPARK_MAX_NDIM] = {0};
    unsigned char *to = order->to;
    const unsigned char *from = order->from;

    for (;;) {
        dlpark__gpu_result result = transfer_call(transfer, plan, to, from);
        int32_t i = order->ndim - 1;
        if (result.code != DLPARK__GPU_SUCCESS)
            return result;
        for (; i >= 0; i--) {
            const dlpark__copy_dim *dim = &order->dims[i];
            to += dim->to;
            from += dim->from;
            if (++index[i] < dim->extent)
                break;
            to -= dim->extent * dim->to;
            from -= dim->extent * dim->from;
            index[i] = 0;
        }
        if (i < 0)
            return result;
    }
}
