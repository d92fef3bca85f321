/* Encoding, beside the libraries by hand. */
#include <dlpark/dlpark.h>
#include <dlpark/image.h>
#include <stdlib.h>
#include <string.h>

#include "image_job.h"

static void run_hand_encode(const void *input, long count)
{
    const job *work = input;

    for (long i = 0; i < count; i++) {
        floor_bytes file = work->format->encode(work->picture);
        harness_use(file.data);
        free(file.data);
    }
}

static bool verify_hand_encode(const void *input)
{
    const job *work = input;
    floor_bytes file = work->format->encode(work->picture);
    bool right = file.nbytes == work->file.nbytes && memcmp(file.data, work->file.data, file.nbytes) == 0;

    free(file.data);
    return right;
}

static void dlpark_encode(const job *work, dlpark_tensor *tensor, dlpark_view *bytes)
{
    dlpark_view view;
    dlpark_image_save_desc desc = {.format = work->format->format, .quality = FLOOR_QUALITY};
    dlpark_error err;

    job_see(&view, work->picture->data, DLPARK_U8, work->picture->height, work->picture->width, FLOOR_CHANNELS);
    if (dlpark_image_encode(tensor, &view, &desc, bytes, &err) != DLPARK_OK)
        floor_die(err.message);
}

static void run_dlpark_encode(const void *input, long count)
{
    for (long i = 0; i < count; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        dlpark_view bytes;
        dlpark_encode(input, &tensor, &bytes);
        harness_use(bytes.data);
        dlpark_tensor_release(&tensor);
    }
}

static bool verify_dlpark_encode(const void *input)
{
    const job *work = input;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view bytes;
    bool right;

    dlpark_encode(work, &tensor, &bytes);
    right = bytes.ndim == 1 && (size_t)bytes.shape[0] == work->file.nbytes &&
            memcmp(bytes.data, work->file.data, work->file.nbytes) == 0;
    dlpark_tensor_release(&tensor);
    return right;
}

int measure_encode(const job *work, const harness_options *options, int *missed)
{
    harness_group group = {
        .ncases = 2,
        .cases = {{"library by hand", run_hand_encode, verify_hand_encode, work, {{NULL, 0}}},
                  {"dlpark_image_encode", run_dlpark_encode, verify_dlpark_encode, work, {{NULL, 0}}}}};
    harness_options fewer = *options;

    if (work->picture->width > 512 && fewer.rounds > 9)
        fewer.rounds = 9; /* a PNG takes seconds */
    return job_measure("encoded", work, group, &fewer, missed);
}
