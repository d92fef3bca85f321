/*
 * A picture in one format, and what is measured on it.
 */
#ifndef BENCH_IMAGE_JOB_H
#define BENCH_IMAGE_JOB_H

#include <dlpark/dlpark.h>
#include <dlpark/image.h>
#include <stddef.h>
#include <stdint.h>

#include "harness.h"
#include "image_floor.h"

/* A format, and its library by hand. */
typedef struct job_format {
    const char *name;
    dlpark_image_format format;
    floor_decode *decode;
    floor_encode *encode;
} job_format;

/* What the cases of a group work on. */
typedef struct job {
    const job_format *format;
    const floor_picture *picture; /* as it was encoded */
    floor_bytes file;
    unsigned char *decoded; /* by hand */
    void *memory;           /* where it is decoded to, again and again; of job_nbytes(), planes 4 times that */
} job;

static inline size_t job_nbytes(const job *work)
{
    return (size_t)work->picture->width * (size_t)work->picture->height * FLOOR_CHANNELS;
}

/* Our memory, seen as a picture. */
void job_see(dlpark_view *view, void *memory, DLDataType dtype, int64_t d0, int64_t d1, int64_t d2);

/* Not the same memory as before, whatever was there. */
void job_forget(const job *work);

/* Runs a group under the job's name. Returns how many results were wrong, and adds missed targets to *missed. */
int job_measure(const char *what, const job *work, harness_group group, const harness_options *options, int *missed);

/* ---- the groups, each as job_measure() ---- */

int measure_decode(const job *work, const harness_options *options, int *missed);

/* Only of a JPEG. */
int measure_planes(const job *work, const harness_options *options, int *missed);

int measure_encode(const job *work, const harness_options *options, int *missed);

#endif
