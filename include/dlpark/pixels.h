/**
 * Pixels in memory of other libraries: rows with a pitch, channels in any order, interleaved or in planes.
 *
 *     const dlpark_pixels pixels = {.data = surface->pixels, .channels = "BGRX", .dtype = DLPARK_U8,
 *                                   .width = surface->w, .height = surface->h, .pitch_nbytes = surface->pitch};
 *     DLPARK_TRY(dlpark_pixels_view(&view, &pixels, "RGB", DLPARK_IMAGE_HWC, err));   // the same bytes as [h, w, 3]
 *     DLPARK_TRY(dlpark_image_load_into(&view, &(dlpark_image_load_desc){.path = "photo.jpg"}, err));
 *
 * A view asks for channels by their letters; what strides can say of them is given, without a copy: RGB of BGR, of BGRA and
 * of ARGB, grey as RGB, rows from the bottom up. RGBA of BGRA no strides say: ask for RGB and for A, or copy.
 * The other way, a view or tensor is described as pixels, in the order in which it has them.
 * Link with dlpark::image. Pointers must not be NULL unless a parameter says optional, or a status is listed for it.
 * Threads: any, as for the memory itself.
 */
#ifndef DLPARK_PIXELS_H
#define DLPARK_PIXELS_H

#include <stdint.h>

#include "dlpack.h"
#include "image.h"
#include "status.h"
#include "tensor.h"
#include "view.h"

DLPARK_BEGIN_C

/** The channels that a pixel can have, and one more for the end of the text. */
#define DLPARK_PIXELS_CHANNELS_NBYTES 8

/**
 * Pixels in somebody's memory. Zero the rest: a field that is not named has its plain meaning. The layout is frozen.
 */
typedef struct dlpark_pixels {
    void *data; /**< the first sample of the first row; the row that is shown at the top, wherever it lies */
    const void *data_const; /**< instead of `data`: must not be written */
    char channels
        [DLPARK_PIXELS_CHANNELS_NBYTES]; /**< a capital letter for each sample of a pixel, or for each plane, in the
                                                       order of memory: "RGB", "BGRA", "Y". 'X' is one of no meaning */
    DLDataType dtype;                    /**< of a sample: whole bytes, one lane */
    DLDevice device;                     /**< {0, 0} is the CPU; one whose memory has addresses */
    int32_t width;                       /**< pixels */
    int32_t height;                      /**< the same */
    int32_t planar;       /**< true: the samples lie in planes, one for each letter; false: side by side */
    int32_t reserved;     /**< 0 */
    int64_t pitch_nbytes; /**< from a row to the next below it; negative: rows lie from the bottom up; 0: no gap */
    int64_t pixel_nbytes; /**< from a pixel to the next; 0: no gap */
    int64_t plane_nbytes; /**< from a plane to the next; 0: no gap; only with `planar` */
    uint64_t nbytes;      /**< of the whole memory, from its lowest row on: checked; 0: not known */
    void *owner;          /**< what `release` ends */
    void (*release)(void *owner); /**< called once, on any thread, by who ends the pixels; NULL: nothing to end */
} dlpark_pixels;

/**
 * Pixels as a view, [height, width, n] or [n, height, width].
 *
 * @param view    out. Valid as long as the memory. May be written, unless `data_const` says otherwise, or a channel is
 *                there twice. Unspecified on failure.
 * @param pixels  in, borrowed until the call returns. Nothing is released.
 * @param wanted  in, optional. The channels of the view, in its order: "RGB", "A", "YYY" (grey as three equal channels).
 *                NULL: all that have a meaning, in the order of memory.
 * @param layout  in. DLPARK_IMAGE_HWC or DLPARK_IMAGE_CHW.
 * @param err     out, optional. Names the field with its value, or what would have to be copied.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (letters that are none, a channel that is not there, contradicting fields, a pitch
 *         less than its row, more bytes than `nbytes`); DLPARK_E_SHAPE (a negative side); DLPARK_E_DTYPE; DLPARK_E_DEVICE;
 *         DLPARK_E_STRIDES (a distance that is no multiple of a sample); DLPARK_E_LAYOUT (channels that lie at no one
 *         distance from each other); DLPARK_E_DATA; DLPARK_E_OVERFLOW.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_pixels_view(dlpark_view *view, const dlpark_pixels *pixels,
                                                             const char *wanted, dlpark_image_layout layout,
                                                             dlpark_error *err);

/**
 * Takes pixels as a tensor, which calls `release`; one allocation.
 *
 * @param tensor  out. Must be empty; stays so on failure.
 * @param pixels  in, out. All zeros on success, unchanged on failure.
 * @param view    out, optional. Unspecified on failure.
 * @return as dlpark_pixels_view(), and DLPARK_E_NOT_EMPTY, DLPARK_E_MEMORY.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_pixels_import(dlpark_tensor *tensor, dlpark_pixels *pixels,
                                                               const char *wanted, dlpark_image_layout layout,
                                                               dlpark_view *view, dlpark_error *err);

/**
 * A view described as pixels, for a library that borrows its memory.
 *
 * @param pixels    out. Every field is filled but `owner` and `release`, each distance in full: `channels` in the order of
 *                  memory, `data` NULL where it must not be written, or nobody said that it may be, and `data_const` then.
 *                  Valid as long as the view's memory. Not written on failure.
 * @param view      in, borrowed. Of rank 3; or 2, one channel.
 * @param channels  in. What the view's channels are, a letter each: "RGB". 'X' for one of no meaning.
 * @param needed    in, optional. How the library has to find them in memory, interleaved and without a gap between pixels:
 *                  "BGR". NULL: in any order, interleaved or in planes; the fields tell.
 * @param layout    in. Of the view.
 * @param err       out, optional. Says what would have to be copied.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (letters that are none, or not as many as channels); DLPARK_E_RANK; DLPARK_E_SHAPE (a
 *         side beyond 2^31-1, no channels or more than 7); DLPARK_E_DTYPE; DLPARK_E_DEVICE; DLPARK_E_LAYOUT (columns lie
 *         backwards or meet, or the channels do; or not as `needed`).
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_pixels_borrow(dlpark_pixels *pixels, const dlpark_view *view,
                                                               const char *channels, const char *needed,
                                                               dlpark_image_layout layout, dlpark_error *err);

/**
 * Gives a tensor out as pixels, without an allocation: their `release`, called once with their `owner`, ends it.
 *
 * @param pixels  out. The receiver's. Not written on failure.
 * @param tensor  in, out. Empty on success, unchanged on failure.
 * @return as dlpark_pixels_borrow(), and DLPARK_E_ARGUMENT also for an empty tensor.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_pixels_export(dlpark_pixels *pixels, dlpark_tensor *tensor,
                                                               const char *channels, const char *needed,
                                                               dlpark_image_layout layout, dlpark_error *err);

DLPARK_END_C

#endif
