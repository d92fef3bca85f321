/* What decoding and encoding share: their memory, and how a group of cases is run. */
#include "image_job.h"

#include <string.h>

void job_see(dlpark_view *view, void *memory, DLDataType dtype, int64_t d0, int64_t d1, int64_t d2)
{
    int64_t shape[] = {d0, d1, d2};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = {.data = memory, .dtype = dtype, .ndim = 3, .shape = DLPARK_DIMS(shape)};
    dlpark_error err;

    if (dlpark_tensor_new(&tensor, &desc, view, &err) != DLPARK_OK)
        floor_die(err.message);
    dlpark_tensor_release(&tensor);
}

void job_forget(const job *work)
{
    memset(work->memory, 0xa5, 4 * job_nbytes(work));
}

int job_measure(const char *what, const job *work, harness_group group, const harness_options *options, int *missed)
{
    char name[96];

    snprintf(name, sizeof name, "%s %s, %d x %d", work->format->name, what, work->picture->width,
             work->picture->height);
    group.bench = "image";
    group.name = name;
    group.rank = -1;
    return harness_run(&group, options, missed);
}
