/* How far a long job is. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "command.h"

#define PROGRESS_SOON  0.5 /* seconds: who is done before that is told nothing */
#define PROGRESS_EVERY 0.1

static double progress_now(void)
{
    struct timespec now = {0, 0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void cli_progress_begin(cli_progress *progress, uint64_t nbytes)
{
    double now = progress_now();

    *progress = (cli_progress){.nbytes = nbytes, .began = now, .shown = now + PROGRESS_SOON - PROGRESS_EVERY};
}

static void progress_print(const cli_progress *progress, double now)
{
    enum { WIDTH = 24 };
    char bar[WIDTH + 1];
    double part = progress->nbytes > 0 ? (double)progress->done / (double)progress->nbytes : 1;
    double seconds = now - progress->began, rate = (double)progress->done / seconds;
    double left = rate > 0 ? (double)(progress->nbytes - progress->done) / rate : 0;

    for (int i = 0; i < WIDTH; i++)
        bar[i] = (double)i < part * WIDTH ? '#' : '.';
    bar[WIDTH] = '\0';
    fprintf(stderr, "\r[%s] %3d %%  %s of %s  %s/s  %d:%02d left   ", bar, (int)(part * 100),
            cli_show_size(progress->done).text, cli_show_size(progress->nbytes).text,
            cli_show_size((uint64_t)rate).text, (int)left / 60, (int)left % 60);
    (void)fflush(stderr);
}

void cli_progress_add(cli_progress *progress, uint64_t nbytes)
{
    double now = progress_now();

    progress->done += nbytes;
    if (now - progress->shown < PROGRESS_EVERY || !isatty(STDERR_FILENO))
        return;
    progress->shown = now;
    progress->is_shown = true;
    progress_print(progress, now);
}

void cli_progress_end(cli_progress *progress)
{
    if (progress->is_shown)
        fprintf(stderr, "\r%*s\r", 78, "");
    progress->is_shown = false;
}
