/*
 * Pixels as views and back. Other libraries have no calls to compare with: the floor is a check of the view that comes of it.
 */
#include <stdlib.h>

#include <dlpark/check.h>
#include <dlpark/pixels.h>

#include "harness.h"

static unsigned char bytes[4096];

/* Pixels of somebody's, and the view of them. */
typedef struct crossing {
    dlpark_pixels pixels;
    dlpark_view view;
    DLTensor raw;
} crossing;

static void run_check(const void *input, long count)
{
    const crossing *of = input;

    for (long i = 0; i < count; i++) {
        dlpark_view DLPARK_UNINITIALIZED view;
        if (dlpark_check(&of->raw, 0, &view, NULL))
            abort();
        harness_use(&view);
    }
}

static bool verify_check(const void *input)
{
    const crossing *of = input;
    dlpark_view view;

    return dlpark_check(&of->raw, 0, &view, NULL) == DLPARK_OK && view.data == bytes + 2;
}

static void run_view(const void *input, long count)
{
    const crossing *of = input;

    for (long i = 0; i < count; i++) {
        dlpark_view DLPARK_UNINITIALIZED view;
        if (dlpark_pixels_view(&view, &of->pixels, "RGB", DLPARK_IMAGE_HWC, NULL))
            abort();
        harness_use(&view);
    }
}

static bool verify_view(const void *input)
{
    const crossing *of = input;
    dlpark_view view;

    return dlpark_pixels_view(&view, &of->pixels, "RGB", DLPARK_IMAGE_HWC, NULL) == DLPARK_OK &&
           view.data == bytes + 2 && view.strides[2] == -1;
}

static void run_borrow(const void *input, long count)
{
    const crossing *of = input;

    for (long i = 0; i < count; i++) {
        dlpark_pixels pixels;
        if (dlpark_pixels_borrow(&pixels, &of->view, "RGB", NULL, DLPARK_IMAGE_HWC, NULL))
            abort();
        harness_use(&pixels);
    }
}

static bool verify_borrow(const void *input)
{
    const crossing *of = input;
    dlpark_pixels pixels;

    return dlpark_pixels_borrow(&pixels, &of->view, "RGB", NULL, DLPARK_IMAGE_HWC, NULL) == DLPARK_OK &&
           pixels.data == bytes && pixels.pitch_nbytes == 64;
}

/* In as a tensor, out as pixels, ended. Whether the memory stayed where it is. */
static bool cross(const crossing *of)
{
    dlpark_pixels pixels = of->pixels;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    if (dlpark_pixels_import(&tensor, &pixels, "RGB", DLPARK_IMAGE_HWC, NULL, NULL) ||
        dlpark_pixels_export(&pixels, &tensor, "RGB", NULL, DLPARK_IMAGE_HWC, NULL))
        return false;
    pixels.release(pixels.owner);
    return pixels.data == bytes;
}

static void run_both(const void *input, long count)
{
    for (long i = 0; i < count; i++)
        if (!cross(input))
            abort();
}

static bool verify_both(const void *input)
{
    return cross(input);
}

int main(int argc, char **argv)
{
    static crossing of = {.pixels = {.data = bytes, .channels = "BGRX", .width = 16, .height = 8, .pitch_nbytes = 64}};
    harness_options options = harness_parse(argc, argv);
    int wrong = 0, missed = 0;

    of.pixels.dtype = DLPARK_U8;
    if (dlpark_pixels_view(&of.view, &of.pixels, "RGB", DLPARK_IMAGE_HWC, NULL) ||
        dlpark_view_borrow_dltensor(&of.view, &of.raw, NULL))
        return 1;
    const harness_group group = {"pixels",
                                 "RGB of BGRX",
                                 3,
                                 4,
                                 {
                                     {"dlpark_check", run_check, verify_check, &of, {{NULL, 0}}},
                                     {"dlpark_pixels_view", run_view, verify_view, &of, {{"dlpark_check", 6}}},
                                     {"dlpark_pixels_borrow", run_borrow, verify_borrow, &of, {{"dlpark_check", 6}}},
                                     {"import, export, release", run_both, verify_both, &of, {{NULL, 0}}},
                                 }};
    harness_print_machine(&options);
    wrong += harness_run(&group, &options, &missed);
    return harness_finish(&options, wrong, missed);
}
