/* Decoding, into the caller's memory, into fresh memory and to planes of f32, beside the libraries by hand. */
#include <dlpark/dlpark.h>
#include <dlpark/image.h>
#include <stdlib.h>
#include <string.h>

#include "image_job.h"

/* ---- Decoding into the caller's memory ---- */

static void run_hand_into(const void *input, long count)
{
    const job *work = input;

    for (long i = 0; i < count; i++) {
        work->format->decode(work->memory, &work->file);
        harness_use(work->memory);
    }
}

static void dlpark_into(const job *work, bool planes)
{
    const int64_t side = work->picture->width;
    dlpark_image_load_desc desc = {.bytes = work->file.data, .nbytes = work->file.nbytes};
    dlpark_view view;
    dlpark_error err;

    if (planes) {
        job_see(&view, work->memory, DLPARK_F32, FLOOR_CHANNELS, side, side);
        desc.layout = DLPARK_IMAGE_CHW;
    } else {
        job_see(&view, work->memory, DLPARK_U8, side, side, FLOOR_CHANNELS);
    }
    if (dlpark_image_load_into(&view, &desc, &err) != DLPARK_OK)
        floor_die(err.message);
}

static void run_dlpark_into(const void *input, long count)
{
    for (long i = 0; i < count; i++)
        dlpark_into(input, false);
}

/* The picture itself comes back from a PNG, and one that is much like it from the others. */
static bool verify_hand_into(const void *input)
{
    const job *work = input;
    const unsigned char *got = work->memory, *wanted = work->picture->data;
    size_t nbytes = job_nbytes(work), off = 0;

    job_forget(work);
    run_hand_into(work, 1);
    for (size_t i = 0; i < nbytes; i++)
        off += (size_t)abs(got[i] - wanted[i]);
    return off <= (work->format->format == DLPARK_IMAGE_PNG ? 0 : 4 * nbytes) &&
           memcmp(got, work->decoded, nbytes) == 0;
}

static bool verify_dlpark_into(const void *input)
{
    const job *work = input;

    job_forget(work);
    run_dlpark_into(work, 1);
    return memcmp(work->memory, work->decoded, job_nbytes(work)) == 0;
}

/* ---- Decoding into fresh memory ---- */

static void run_hand_fresh(const void *input, long count)
{
    const job *work = input;

    for (long i = 0; i < count; i++) {
        unsigned char *memory = floor_memory(job_nbytes(work));
        work->format->decode(memory, &work->file);
        harness_use(memory);
        free(memory);
    }
}

static bool verify_hand_fresh(const void *input)
{
    const job *work = input;
    unsigned char *memory = floor_memory(job_nbytes(work));
    bool right;

    work->format->decode(memory, &work->file);
    right = memcmp(memory, work->decoded, job_nbytes(work)) == 0;
    free(memory);
    return right;
}

static void dlpark_fresh(const job *work, dlpark_tensor *tensor, dlpark_view *view)
{
    dlpark_error err;

    if (dlpark_image_load(tensor, &(dlpark_image_load_desc){.bytes = work->file.data, .nbytes = work->file.nbytes},
                          view, &err))
        floor_die(err.message);
}

static void run_dlpark_fresh(const void *input, long count)
{
    for (long i = 0; i < count; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        dlpark_view view;
        dlpark_fresh(input, &tensor, &view);
        harness_use(view.data);
        dlpark_tensor_release(&tensor);
    }
}

static bool verify_dlpark_fresh(const void *input)
{
    const job *work = input;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    bool right;

    dlpark_fresh(work, &tensor, &view);
    right = view.ndim == 3 && view.shape[0] == work->picture->height && view.shape[1] == work->picture->width &&
            view.shape[2] == FLOOR_CHANNELS && memcmp(view.data, work->decoded, job_nbytes(work)) == 0;
    dlpark_tensor_release(&tensor);
    return right;
}

/* ---- A JPEG as three planes of f32 in 0..1 ---- */

static void run_table_planes(const void *input, long count)
{
    const job *work = input;

    for (long i = 0; i < count; i++) {
        floor_jpeg_planes_table(work->memory, &work->file);
        harness_use(work->memory);
    }
}

static void run_avx2_planes(const void *input, long count)
{
    const job *work = input;

    for (long i = 0; i < count; i++) {
        floor_jpeg_planes_avx2(work->memory, &work->file);
        harness_use(work->memory);
    }
}

static void run_dlpark_planes(const void *input, long count)
{
    for (long i = 0; i < count; i++)
        dlpark_into(input, true);
}

static bool verify_planes(const job *work, void (*run)(const void *input, long count))
{
    const size_t plane = job_nbytes(work) / FLOOR_CHANNELS;
    const float *got = work->memory;

    job_forget(work);
    run(work, 1);
    for (size_t i = 0; i < plane; i++)
        for (size_t c = 0; c < FLOOR_CHANNELS; c++) {
            const float wanted = (float)work->decoded[i * FLOOR_CHANNELS + c] / 255.0f;
            if (memcmp(&got[c * plane + i], &wanted, sizeof wanted) != 0)
                return false;
        }
    return true;
}

static bool verify_table_planes(const void *input)
{
    return verify_planes(input, run_table_planes);
}

static bool verify_avx2_planes(const void *input)
{
    return verify_planes(input, run_avx2_planes);
}

static bool verify_dlpark_planes(const void *input)
{
    return verify_planes(input, run_dlpark_planes);
}

/* ---- Groups ---- */

int measure_decode(const job *work, const harness_options *options, int *missed)
{
    harness_group into = {
        .ncases = 2,
        .cases = {{"library by hand", run_hand_into, verify_hand_into, work, {{NULL, 0}}},
                  {"dlpark_image_load_into", run_dlpark_into, verify_dlpark_into, work, {{"library by hand", 1.03}}}}};
    harness_group fresh = {
        .ncases = 2,
        .cases = {{"library by hand", run_hand_fresh, verify_hand_fresh, work, {{NULL, 0}}},
                  {"dlpark_image_load", run_dlpark_fresh, verify_dlpark_fresh, work, {{"library by hand", 1.03}}}}};

    return job_measure("into the caller's memory", work, into, options, missed) +
           job_measure("into fresh memory", work, fresh, options, missed);
}

int measure_planes(const job *work, const harness_options *options, int *missed)
{
    harness_group group = {.ncases = 3,
                           .cases = {{"rows, table", run_table_planes, verify_table_planes, work, {{NULL, 0}}},
                                     {"dlpark_image_load_into",
                                      run_dlpark_planes,
                                      verify_dlpark_planes,
                                      work,
                                      {{"rows, table", 1.15}, {"rows, AVX2", 1.15}}},
                                     {"decode alone", run_hand_into, verify_hand_into, work, {{NULL, 0}}}}};

    if (floor_has_avx2())
        group.cases[group.ncases++] =
            (harness_case){"rows, AVX2", run_avx2_planes, verify_avx2_planes, work, {{NULL, 0}}};
    return job_measure("to f32 CHW in 0..1", work, group, options, missed);
}
