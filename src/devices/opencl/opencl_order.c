/* Queues that wait for each other. */
#include "opencl_parts.h"

static dlpark_status order_context(const dlpark__opencl *loader, struct _cl_command_queue *queue,
                                   struct _cl_context **out, dlpark_error *err)
{
    OPENCL_TRY(loader, err, GetCommandQueueInfo, queue, OPENCL_QUEUE_CONTEXT, sizeof(struct _cl_context *), out, NULL);
    return DLPARK_OK;
}

/* The marker must have been flushed before another queue may wait for it. */
static dlpark_status order_behind(const dlpark__opencl *loader, struct _cl_command_queue *producer,
                                  struct _cl_command_queue *consumer, dlpark_error *err)
{
    struct _cl_event *event = NULL;

    OPENCL_TRY(loader, err, EnqueueMarkerWithWaitList, producer, 0, NULL, &event);
    const char *function = "clFlush";
    int32_t code = loader->Flush(producer);
    if (code == 0) {
        function = "clEnqueueBarrierWithWaitList";
        code = loader->EnqueueBarrierWithWaitList(consumer, 1, &event, NULL);
    }
    (void)loader->ReleaseEvent(event); /* the barrier keeps it */
    return code == 0 ? DLPARK_OK : dlpark__opencl_fail(function, code, err);
}

dlpark_status dlpark_opencl_order(const dlpark_opencl *opencl, struct _cl_command_queue *producer,
                                  struct _cl_command_queue *consumer, dlpark_error *err)
{
    struct _cl_context *theirs = NULL, *ours = NULL;

    DLPARK_TRY(dlpark__opencl_check(opencl, err));
    const dlpark__opencl *loader = opencl->loader;
    if (producer == NULL)
        return DLPARK_OK;
    if (producer == consumer) { /* which may work out of order */
        OPENCL_TRY(loader, err, EnqueueBarrierWithWaitList, producer, 0, NULL, NULL);
        return DLPARK_OK;
    }
    if (consumer != NULL) {
        DLPARK_TRY(order_context(loader, producer, &theirs, err));
        DLPARK_TRY(order_context(loader, consumer, &ours, err));
        if (theirs == ours)
            return order_behind(loader, producer, consumer, err);
    }
    OPENCL_TRY(loader, err, Finish, producer);
    return DLPARK_OK;
}
