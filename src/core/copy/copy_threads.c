/*
 * A large copy cut into parts, each on a thread of its own that lives for this call only.
 */
#include <pthread.h>

#include "copy_parts.h"

#define THREADS_SHARE_FROM ((int64_t)1 << 20) /* bytes of a part that are worth starting a thread */

enum { THREADS_MOST = 64 };

typedef struct copy_part {
    const dlpark__copy_plan *plan;
    int at;
    int count;
} copy_part;

static void *threads_run_part(void *argument)
{
    const copy_part *mine = argument;
    dlpark__copy_plan part;

    if (dlpark__copy_plan_cut(mine->plan, mine->at, mine->count, &part))
        dlpark__copy_run(&part);
    return NULL;
}

void dlpark__copy_run_threads(const dlpark__copy_plan *plan, int threads)
{
    pthread_t started[THREADS_MOST];
    copy_part parts[THREADS_MOST];
    bool running[THREADS_MOST];
    int64_t most = plan->nbytes / THREADS_SHARE_FROM;
    int count = threads < THREADS_MOST ? threads : THREADS_MOST;

    count = most < count ? (int)most : count;
    if (count <= 1) {
        dlpark__copy_run(plan);
        return;
    }
    for (int i = 1; i < count; i++) {
        parts[i] = (copy_part){plan, i, count};
        running[i] = pthread_create(&started[i], NULL, threads_run_part, &parts[i]) == 0;
    }
    parts[0] = (copy_part){plan, 0, count};
    threads_run_part(&parts[0]);
    /* Where the system gave no thread, the part is done here. */
    for (int i = 1; i < count; i++)
        if (!running[i])
            threads_run_part(&parts[i]);
    for (int i = 1; i < count; i++)
        if (running[i])
            pthread_join(started[i], NULL);
}
