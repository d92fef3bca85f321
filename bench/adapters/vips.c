/*
 * What crossing to and from libvips costs, beside the calls of libvips and GLib that each crossing cannot do without. No
 * pixel is copied, so a small image tells as much as a large one. A crossing may cost 100 ns above those calls, of which
 * libvips takes thousands for an image and GLib some fifteen for a reference: hence the targets.
 */
#include <stdlib.h>

#include <vips/vips.h>

#include <dlpark/vips.h>

#include "harness.h"

enum { HEIGHT = 4, WIDTH = 5, BANDS = 3 };

static unsigned char pixels[HEIGHT * WIDTH * BANDS];
static VipsImage *shared; /* of `pixels` */

static VipsImage *make_image(void)
{
    return vips_image_new_from_memory(pixels, sizeof pixels, WIDTH, HEIGHT, BANDS, VIPS_FORMAT_UCHAR);
}

static void nobody(void *context)
{
    harness_use(context);
}

/* An image of memory that somebody is told of when it ends: what libvips' own user has to write. */
static bool own_image(void)
{
    VipsImage *image = make_image();

    if (!image)
        return false;
    g_object_set_data_full(G_OBJECT(image), "owner", pixels, nobody);
    bool right = image->data == pixels;
    g_object_unref(image);
    return right;
}

static bool own_reference(void)
{
    VipsImage *image = g_object_ref(shared);
    bool right = image->data == pixels;

    harness_use(image);
    g_object_unref(image);
    return right;
}

static bool new_tensor(void)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_status status = dlpark_tensor_new(
        &tensor,
        &(dlpark_tensor_desc){
            .data = pixels, .dtype = DLPARK_U8, .ndim = 3, .shape = DLPARK_DIMS((int64_t[]){HEIGHT, WIDTH, BANDS})},
        NULL, NULL);

    harness_use(&tensor);
    dlpark_tensor_release(&tensor);
    return status == DLPARK_OK;
}

/* Out and, where it is asked for, back in; ends all of it. Whether the pixels stayed where they are. */
static bool cross(bool back)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    VipsImage *image = NULL;
    dlpark_view DLPARK_UNINITIALIZED view;

    if (dlpark_tensor_new(
            &tensor,
            &(dlpark_tensor_desc){
                .data = pixels, .dtype = DLPARK_U8, .ndim = 3, .shape = DLPARK_DIMS((int64_t[]){HEIGHT, WIDTH, BANDS})},
            NULL, NULL) ||
        dlpark_vips_export(&image, &tensor, DLPARK_VIPS_GUESS, NULL))
        return false;
    bool right = image->data == pixels;
    if (!back) {
        g_object_unref(image);
        return right;
    }
    if (dlpark_vips_import(&tensor, &image, &view, NULL))
        return false;
    dlpark_tensor_release(&tensor);
    return right && view.data == pixels;
}

static bool out(void)
{
    return cross(false);
}

static bool out_and_in(void)
{
    return cross(true);
}

static bool share(void)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view DLPARK_UNINITIALIZED view;

    if (dlpark_vips_share(&tensor, shared, &view, NULL))
        return false;
    dlpark_tensor_release(&tensor);
    return view.data == pixels;
}

static bool look(void)
{
    dlpark_view DLPARK_UNINITIALIZED view;

    return dlpark_vips_view(&view, shared, NULL) == DLPARK_OK && view.data == pixels;
}

/* The input of each case is its function. */
typedef struct crossing {
    bool (*once)(void);
} crossing;

static bool verify(const void *input)
{
    return ((const crossing *)input)->once();
}

static void run(const void *input, long count)
{
    for (long i = 0; i < count; i++)
        if (!verify(input))
            abort();
}

int main(int argc, char **argv)
{
    static const crossing image = {own_image}, reference = {own_reference}, made = {new_tensor}, exported = {out},
                          both = {out_and_in}, added = {share}, seen = {look};
    const harness_group out_of = {
        "vips",
        "out",
        3,
        4,
        {
            {"vips_image_new_from_memory, unref", run, verify, &image, {{NULL, 0}}},
            {"dlpark_tensor_new and release", run, verify, &made, {{NULL, 0}}},
            {"new, export, unref", run, verify, &exported, {{"vips_image_new_from_memory, unref", 1.1}}},
            {"new, export, import, release", run, verify, &both, {{"vips_image_new_from_memory, unref", 1.1}}},
        }};
    const harness_group into = {
        "vips",
        "in",
        3,
        4,
        {
            {"g_object_ref and unref", run, verify, &reference, {{NULL, 0}}},
            {"dlpark_tensor_new and release", run, verify, &made, {{NULL, 0}}},
            {"dlpark_vips_view", run, verify, &seen, {{"g_object_ref and unref", 8}}},
            {"dlpark_vips_share and release", run, verify, &added, {{"g_object_ref and unref", 8}}},
        }};
    harness_options options = harness_parse(argc, argv);
    int wrong = 0, missed = 0;

    if (vips_init(argv[0]) || !(shared = make_image()))
        return 1;
    harness_print_machine(&options);
    wrong += harness_run(&out_of, &options, &missed);
    wrong += harness_run(&into, &options, &missed);
    g_object_unref(shared);
    vips_shutdown();
    return harness_finish(&options, wrong, missed);
}
