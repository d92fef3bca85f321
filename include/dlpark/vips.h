/**
 * Tensors and images of libvips, without a copy.
 *
 *     DLPARK_TRY(dlpark_vips_share(&tensor, image, &view, err));                    // adds a reference to the image
 *     DLPARK_TRY(dlpark_vips_export(&image, &tensor, DLPARK_VIPS_GUESS, err));      // tensor is empty now
 *
 * An image in memory is a tensor [height, width, bands], compact. The formats of libvips are u8, i8, u16, i16, u32, i32,
 * f32, f64, c64 and c128; bands that a coding packs (LabQ, Radiance) are refused. Most images are not in memory but are
 * computed as somebody asks for pixels: only dlpark_vips_import() computes them, the other words say so and refuse.
 *
 * libvips takes pixels for immutable and keeps the latest operations in a cache, with the images that they read:
 *  - an image of ours that went through an operation may outlive the last reference to it. Its tensor ends when the
 *    operation leaves the cache: vips_cache_set_max(0) empties it;
 *  - what is written to shared memory is seen by later operations only after vips_image_invalidate_all(image);
 *  - vips_cache_drop_all() leaves libvips without a cache, and later operations crash. Nothing here calls it.
 *
 * None of libvips' headers is included: its type is declared here as it is there. Initialise libvips, by VIPS_INIT(),
 * before anything else. Link with dlpark::vips.
 * Pointers must not be NULL unless a parameter says optional, or a status is listed for it.
 */
#ifndef DLPARK_VIPS_H
#define DLPARK_VIPS_H

#include "status.h"
#include "tensor.h"
#include "view.h"

DLPARK_BEGIN_C

typedef struct _VipsImage VipsImage;

/** For dlpark_vips_export(): the interpretation that libvips gives by number of bands and format. */
#define DLPARK_VIPS_GUESS (-1)

/**
 * An image in memory as a view.
 *
 * @param view   out. [height, width, bands], READ_ONLY. Valid as long as the image. Unspecified on failure.
 * @param image  in, borrowed.
 * @param err    out, optional. Names the coding, the format, or where the pixels are.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (NULL); DLPARK_E_DTYPE (a coding, or no format); DLPARK_E_DATA (not in memory: the
 *         image would have to be computed or read); and as dlpark_check().
 * Threads: any, as long as nobody writes to the image or computes it in place (vips_image_get_data()) meanwhile.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_vips_view(dlpark_view *view, const VipsImage *image,
                                                           dlpark_error *err);

/**
 * Adds a reference to an image in memory, as a tensor; with one allocation.
 *
 * @param tensor  out. Must be empty; stays so on failure. READ_ONLY: others see the image.
 * @param image   in. Stays the caller's.
 * @param view    out, optional.
 * @param err     out, optional.
 * @return as dlpark_vips_view(), and DLPARK_E_NOT_EMPTY, DLPARK_E_MEMORY.
 * Threads: any; the reference is dropped on the thread that ends the tensor.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_vips_share(dlpark_tensor *tensor, VipsImage *image, dlpark_view *view,
                                                            dlpark_error *err);

/**
 * Takes an image as a tensor, with one allocation. An image that is not in memory is computed first, into memory of
 * libvips' own, which may take long; nothing that exists is copied but the pixels of an image file that is not mapped.
 *
 * @param tensor  out. Must be empty; stays so on failure. READ_ONLY, unless the caller's was the only reference and the
 *                memory is libvips' own or of a tensor that may be written.
 * @param image   in, out. NULL on success; on failure still the caller's, unchanged.
 * @param view    out, optional.
 * @param err     out, optional. What libvips says, where it fails; its error buffer is cleared then.
 * @return as dlpark_vips_share() but for DLPARK_E_DATA; DLPARK_E_FOREIGN (libvips cannot compute the image).
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_vips_import(dlpark_tensor *tensor, VipsImage **image,
                                                             dlpark_view *view, dlpark_error *err);

/**
 * Gives a tensor out as an image in memory. Allocates nothing beside what libvips does.
 *
 * @param image           out. Must point to NULL; stays so on failure. The receiver drops it by g_object_unref(); the
 *                        tensor ends with the last reference, on whatever thread, and those of the cache count too.
 * @param tensor          in, out. [height, width] or [height, width, bands], compact, aligned to its numbers, host
 *                        accessible. Empty on success, unchanged on failure.
 * @param interpretation  in. A VipsInterpretation, or DLPARK_VIPS_GUESS. What the numbers mean; none of them changes.
 * @param err             out, optional. Names what libvips has no format for, or what would have to be copied.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (NULL or an empty tensor, no such interpretation); DLPARK_E_NOT_EMPTY;
 *         DLPARK_E_DTYPE; DLPARK_E_RANK; DLPARK_E_SHAPE (an extent of 0, or beyond VIPS_MAX_COORD); DLPARK_E_LAYOUT;
 *         DLPARK_E_ALIGNMENT; DLPARK_E_DEVICE; DLPARK_E_FOREIGN (libvips refuses).
 * Ownership: libvips cannot be told that memory is READ_ONLY. It writes to no image but by vips_draw_*() and
 *            vips_image_inplace(): do not hand it an image of such a tensor.
 * Threads:   any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_vips_export(VipsImage **image, dlpark_tensor *tensor,
                                                             int interpretation, dlpark_error *err);

DLPARK_END_C

#endif
