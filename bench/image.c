/*
 * Pictures: dlpark beside the libraries by hand, which are the floor. What is decoded is one photograph of the demo,
 * scaled to a square here; an enlarged photograph is smoother than a real one of its size, and decodes faster.
 */
#include <dlpark/dlpark.h>
#include <dlpark/image.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "image_floor.h"
#include "image_peak.h"

enum { FORMATS = 3 };

static const struct format {
    const char *name;
    dlpark_image_format format;
    floor_decode *decode;
    floor_encode *encode;
} formats[FORMATS] = {
    {"JPEG", DLPARK_IMAGE_JPEG, floor_jpeg_decode, floor_jpeg_encode},
    {"PNG", DLPARK_IMAGE_PNG, floor_png_decode, floor_png_encode},
    {"WebP", DLPARK_IMAGE_WEBP, floor_webp_decode, floor_webp_encode},
};

/* What the cases of a group work on. */
typedef struct job {
    const struct format *format;
    const floor_picture *picture; /* as it was encoded */
    floor_bytes file;
    unsigned char *decoded; /* by hand */
    void *memory;           /* where it is decoded to, again and again; of picture_nbytes(), planes 4 times that */
} job;

static size_t picture_nbytes(const job *work)
{
    return (size_t)work->picture->width * (size_t)work->picture->height * FLOOR_CHANNELS;
}

/* ---- Decoding into the caller's memory ---- */

static void run_hand_into(const void *input, long count)
{
    const job *work = input;

    for (long i = 0; i < count; i++) {
        work->format->decode(work->memory, &work->file);
        harness_use(work->memory);
    }
}

/* Our memory, seen as a picture. */
static void see(dlpark_view *view, void *memory, DLDataType dtype, int64_t d0, int64_t d1, int64_t d2)
{
    int64_t shape[] = {d0, d1, d2};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = {.data = memory, .dtype = dtype, .ndim = 3, .shape = DLPARK_DIMS(shape)};
    dlpark_error err;

    if (dlpark_tensor_new(&tensor, &desc, view, &err) != DLPARK_OK)
        floor_die(err.message);
    dlpark_tensor_release(&tensor);
}

static void dlpark_into(const job *work, bool planes)
{
    const int64_t side = work->picture->width;
    dlpark_image_load_desc desc = {.bytes = work->file.data, .nbytes = work->file.nbytes};
    dlpark_view view;
    dlpark_error err;

    if (planes) {
        see(&view, work->memory, DLPARK_F32, FLOOR_CHANNELS, side, side);
        desc.layout = DLPARK_IMAGE_CHW;
    } else {
        see(&view, work->memory, DLPARK_U8, side, side, FLOOR_CHANNELS);
    }
    if (dlpark_image_load_into(&view, &desc, &err) != DLPARK_OK)
        floor_die(err.message);
}

static void run_dlpark_into(const void *input, long count)
{
    for (long i = 0; i < count; i++)
        dlpark_into(input, false);
}

/* Not the same memory as before, whatever was there. */
static void forget(const job *work)
{
    memset(work->memory, 0xa5, 4 * picture_nbytes(work));
}

/* The picture itself comes back from a PNG, and one that is much like it from the others. */
static bool verify_hand_into(const void *input)
{
    const job *work = input;
    const unsigned char *got = work->memory, *wanted = work->picture->data;
    size_t nbytes = picture_nbytes(work), off = 0;

    forget(work);
    run_hand_into(work, 1);
    for (size_t i = 0; i < nbytes; i++)
        off += (size_t)abs(got[i] - wanted[i]);
    return off <= (work->format->format == DLPARK_IMAGE_PNG ? 0 : 4 * nbytes) &&
           memcmp(got, work->decoded, nbytes) == 0;
}

static bool verify_dlpark_into(const void *input)
{
    const job *work = input;

    forget(work);
    run_dlpark_into(work, 1);
    return memcmp(work->memory, work->decoded, picture_nbytes(work)) == 0;
}

/* ---- Decoding into fresh memory ---- */

static void run_hand_fresh(const void *input, long count)
{
    const job *work = input;

    for (long i = 0; i < count; i++) {
        unsigned char *memory = floor_memory(picture_nbytes(work));
        work->format->decode(memory, &work->file);
        harness_use(memory);
        free(memory);
    }
}

static bool verify_hand_fresh(const void *input)
{
    const job *work = input;
    unsigned char *memory = floor_memory(picture_nbytes(work));
    bool right;

    work->format->decode(memory, &work->file);
    right = memcmp(memory, work->decoded, picture_nbytes(work)) == 0;
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
            view.shape[2] == FLOOR_CHANNELS && memcmp(view.data, work->decoded, picture_nbytes(work)) == 0;
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
    const size_t plane = picture_nbytes(work) / FLOOR_CHANNELS;
    const float *got = work->memory;

    forget(work);
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

/* ---- Encoding ---- */

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

    see(&view, work->picture->data, DLPARK_U8, work->picture->height, work->picture->width, FLOOR_CHANNELS);
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

/* ---- Groups ---- */

static int measure(const char *what, const job *work, harness_group group, const harness_options *options, int *missed)
{
    char name[96];

    snprintf(name, sizeof name, "%s %s, %d x %d", work->format->name, what, work->picture->width,
             work->picture->height);
    group.bench = "image";
    group.name = name;
    group.rank = -1;
    return harness_run(&group, options, missed);
}

static int measure_decode(const job *work, const harness_options *options, int *missed)
{
    harness_group into = {
        .ncases = 2,
        .cases = {{"library by hand", run_hand_into, verify_hand_into, work, {{NULL, 0}}},
                  {"dlpark_image_load_into", run_dlpark_into, verify_dlpark_into, work, {{"library by hand", 1.03}}}}};
    harness_group fresh = {
        .ncases = 2,
        .cases = {{"library by hand", run_hand_fresh, verify_hand_fresh, work, {{NULL, 0}}},
                  {"dlpark_image_load", run_dlpark_fresh, verify_dlpark_fresh, work, {{"library by hand", 1.03}}}}};

    return measure("into the caller's memory", work, into, options, missed) +
           measure("into fresh memory", work, fresh, options, missed);
}

static int measure_planes(const job *work, const harness_options *options, int *missed)
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
    return measure("to f32 CHW in 0..1", work, group, options, missed);
}

static int measure_encode(const job *work, const harness_options *options, int *missed)
{
    harness_group group = {
        .ncases = 2,
        .cases = {{"library by hand", run_hand_encode, verify_hand_encode, work, {{NULL, 0}}},
                  {"dlpark_image_encode", run_dlpark_encode, verify_dlpark_encode, work, {{NULL, 0}}}}};
    harness_options fewer = *options;

    if (work->picture->width > 512 && fewer.rounds > 9)
        fewer.rounds = 9; /* a PNG takes seconds */
    return measure("encoded", work, group, &fewer, missed);
}

static int measure_side(const floor_picture *photo, int side, const harness_options *options, int *missed)
{
    floor_picture picture = floor_scale(photo, side);
    int wrong = 0;

    for (int i = 0; i < FORMATS; i++) {
        job work = {.format = &formats[i], .picture = &picture};
        work.file = work.format->encode(&picture);
        work.decoded = floor_memory(picture_nbytes(&work));
        work.memory = floor_memory(4 * picture_nbytes(&work));
        work.format->decode(work.decoded, &work.file);
        wrong += measure_decode(&work, options, missed);
        if (work.format->format == DLPARK_IMAGE_JPEG)
            wrong += measure_planes(&work, options, missed);
        wrong += measure_encode(&work, options, missed);
        free(work.file.data);
        free(work.decoded);
        free(work.memory);
    }
    free(picture.data);
    return wrong;
}

int main(int argc, char **argv)
{
    static const int sides[] = {512, 2048};
    harness_options options;
    floor_picture photo;
    int wrong = 0, missed = 0;

    if (argc > 1 && strcmp(argv[1], PEAK_OPTION) == 0)
        return peak_child(argc, argv);
    options = harness_parse(argc, argv);
    if (options.count)
        return 0; /* times of milliseconds need no instruction counts, which would take hours */
    harness_print_machine(&options);
    floor_print_libraries();
    photo = floor_photo(BENCH_PHOTO);
    for (int i = 0; i < (options.quick ? 1 : 2); i++)
        wrong += measure_side(&photo, sides[i], &options, &missed);
    wrong += peak_report(&photo, &options, &missed);
    free(photo.data);
    return harness_finish(&options, wrong, missed);
}
