/**
 * JPEG, PNG and WebP files as tensors, decoded straight into the tensor's memory.
 *
 *     dlpark_tensor photo = DLPARK_TENSOR_EMPTY;
 *     dlpark_view view;
 *     DLPARK_TRY(dlpark_image_load(&photo, &(dlpark_image_load_desc){.path = "photo.jpg"}, &view, err));
 *     DLPARK_TRY(dlpark_image_save(&view, &(dlpark_image_save_desc){.path = "photo.webp", .quality = 90}, err));
 *
 * Samples are the file's own: no gamma, no colour management, no premultiplying. Between depths u8 = round(u16 / 257),
 * u16 = 257 * u8, f32 = u8 / 255 or u16 / 65535. Grey from colour is (299 R + 587 G + 114 B) / 1000, rounded, and the
 * file's own luma for JPEG; dropping alpha leaves the colours as they are; added alpha is opaque; CMYK comes as RGB.
 * The result is always compact, oriented as the EXIF tag says, and complete: a function that fails leaves no tensor.
 * Link with dlpark::image.
 */
#ifndef DLPARK_IMAGE_H
#define DLPARK_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"
#include "tensor.h"
#include "view.h"

DLPARK_BEGIN_C

/** A file format; told by the file's first bytes on loading, and by the path's ending on saving. */
typedef enum dlpark_image_format {
    DLPARK_IMAGE_ANY = 0, /**< as the bytes or the path say */
    DLPARK_IMAGE_JPEG = 1,
    DLPARK_IMAGE_PNG = 2,
    DLPARK_IMAGE_WEBP = 3,
    DLPARK_IMAGE_FORMAT_PIN_32 = 0x7fffffff
} dlpark_image_format;

/** The order of the dimensions. */
typedef enum dlpark_image_layout {
    DLPARK_IMAGE_HWC = 0, /**< [height, width, channels] */
    DLPARK_IMAGE_CHW = 1, /**< [channels, height, width] */
    DLPARK_IMAGE_LAYOUT_PIN_32 = 0x7fffffff
} dlpark_image_layout;

/** The quality of a JPEG or a lossy WebP unless told otherwise, out of 100. */
#define DLPARK_IMAGE_QUALITY_DEFAULT 90

/** The pixels that a file may have unless told otherwise: 2^28, 16384 x 16384. */
#define DLPARK_IMAGE_MAX_PIXELS INT64_C(268435456)

/**
 * Where a picture is and how it shall come. Zero the rest: each field that is not named has its plain meaning. Grows
 * only at its end.
 */
typedef struct dlpark_image_load_desc {
    const char *path;  /**< the file; or NULL, with `bytes` */
    const void *bytes; /**< the whole file in memory, borrowed until the call returns */
    size_t nbytes;     /**< of `bytes` */
    int32_t channels;  /**< 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA; 0: as the file has it */
    dlpark_image_layout layout;
    DLDataType dtype;         /**< DLPARK_U8, DLPARK_U16, or DLPARK_F32 in 0..1; zero: u8, or u16 for 16-bit files */
    int32_t keep_orientation; /**< true: leaves the rows as stored instead of turning them as the EXIF tag says */
    int32_t tolerant;   /**< true: accepts a file that is cut short or damaged, as far as its library can; otherwise
                           whatever the library warns of is an error */
    int32_t reserved;   /**< 0 */
    int64_t max_pixels; /**< refuses more; 0: DLPARK_IMAGE_MAX_PIXELS */
    int32_t max_scans;  /**< of a progressive JPEG; 0: 256 */
    int32_t max_chunks; /**< ancillary chunks of a PNG, anywhere in it; 0: 1000 */
} dlpark_image_load_desc;

/** What a file says of itself, read without decoding. */
typedef struct dlpark_image_info {
    dlpark_image_format format;
    int32_t width;        /**< pixels, after `orientation` is applied unless keep_orientation */
    int32_t height;       /**< the same */
    int32_t channels;     /**< that loading gives with channels = 0 */
    int32_t bits;         /**< 8 or 16: that loading gives without a dtype */
    int32_t orientation;  /**< the EXIF tag, 1 to 8; 1 when there is none */
    int32_t progressive;  /**< 1: progressive JPEG, interlaced PNG; 0: no */
    int32_t lossless;     /**< 1: PNG, lossless WebP; 0: no */
    uint64_t reserved[4]; /**< 0 */
} dlpark_image_info;

/** Where a picture goes and how. Zero the rest. Grows only at its end. */
typedef struct dlpark_image_save_desc {
    const char *path;           /**< the file; see dlpark_image_save(). Not for encode */
    dlpark_image_format format; /**< ANY: as the path ends (.jpg .jpeg .png .webp) */
    dlpark_image_layout layout; /**< of the view; rank 2 is grey in either */
    int32_t quality;            /**< 1 to 100, JPEG and lossy WebP; 0: DLPARK_IMAGE_QUALITY_DEFAULT */
    int32_t lossless;           /**< true: WebP, every pixel exactly */
    int32_t compression; /**< PNG: 1 fast to 9 small; WebP: effort 1 to 6, lossless 1 to 9; 0: the library's own */
    int32_t subsampling; /**< JPEG chroma: 444, 422, 420; 0: 420 */
    int32_t progressive; /**< true: progressive JPEG */
    int32_t reserved;    /**< 0 */
} dlpark_image_save_desc;

/**
 * Reads what a file says of itself: what dlpark_image_load() with the same description would give.
 *
 * @param info  out. Not written on failure.
 * @param desc  in. The source and limits; channels, layout and dtype are not looked at.
 * @param err   out, optional. Names the file and the library's reason.
 * @return as dlpark_image_load().
 * Threads: any.
 */
DLPARK_INLINE DLPARK_NODISCARD dlpark_status dlpark_image_read_info(dlpark_image_info *info,
                                                                    const dlpark_image_load_desc *desc,
                                                                    dlpark_error *err);

/**
 * Decodes a picture into a new tensor, [height, width, channels] or [channels, height, width], compact, on the CPU.
 *
 * @param tensor  out. Must be empty; stays so on failure.
 * @param desc    in. `path`, or `bytes` and `nbytes`.
 * @param view    out, optional.
 * @param err     out, optional. Names the file and the library's reason.
 * @return DLPARK_OK; DLPARK_E_NOT_EMPTY; DLPARK_E_ARGUMENT (contradicting or out of range); DLPARK_E_NOT_FOUND,
 *         DLPARK_E_PERMISSION, DLPARK_E_IO; DLPARK_E_FORMAT (damaged, cut short, of no known format, which the first
 *         bytes tell: no more is read then; unless `tolerant` also what a library would only warn of, but never for
 *         metadata that do not touch pixels); DLPARK_E_UNSUPPORTED (animated, arithmetic-coded, 12-bit, a JPEG with a
 *         side beyond 65500, which is libjpeg's limit); DLPARK_E_LIMIT (also a `path` of more than 4 GiB - 1 bytes,
 *         however endless); DLPARK_E_MEMORY.
 * Threads: any.
 */
DLPARK_INLINE DLPARK_NODISCARD dlpark_status dlpark_image_load(dlpark_tensor *tensor,
                                                               const dlpark_image_load_desc *desc, dlpark_view *view,
                                                               dlpark_error *err);

/**
 * Decodes a picture into memory of the caller's.
 *
 * @param out   in; its memory is written. Host accessible and writable, of the shape that the picture has in the asked
 *              layout and channels, dtype u8, u16 or f32, which decides over desc->dtype. Its channels decide when
 *              desc->channels is 0. Any strides that do not make elements meet; rows with a pitch cost nothing.
 * @param desc  in.
 * @param err   out, optional.
 * @return as dlpark_image_load(), and DLPARK_E_SHAPE, DLPARK_E_DTYPE, DLPARK_E_DEVICE, DLPARK_E_READ_ONLY,
 *         DLPARK_E_STRIDES (elements share memory). When the file turns out damaged the memory is partly written.
 * Threads: any.
 */
DLPARK_INLINE DLPARK_NODISCARD dlpark_status dlpark_image_load_into(const dlpark_view *out,
                                                                    const dlpark_image_load_desc *desc,
                                                                    dlpark_error *err);

/**
 * Writes a picture to a file: all of it, or nothing.
 *
 * The bytes go to a temporary name beside the file, which is then renamed. A file that is replaced passes its
 * permission bits on, but not its owner; a new file gets what the umask leaves. A symbolic link is
 * replaced, never followed; one to what is no regular file is DLPARK_E_IO. There is no fsync: after a power failure
 * either file may be there, or a part of the picture.
 *
 * @param view  in, borrowed. u8, or u16 for PNG; [h, w], [h, w, c] or [c, h, w] with 1 to 4 channels (JPEG: 1 or 3;
 *              WebP: 3 or 4, grey is spread); any strides. Host accessible.
 * @param desc  in. `path`.
 * @param err   out, optional. Names the file and what its format cannot hold; a long path by its last 160 bytes.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT; DLPARK_E_SHAPE; DLPARK_E_DTYPE (floats are not scaled for you);
 *         DLPARK_E_DEVICE; DLPARK_E_UNSUPPORTED (alpha as JPEG, u16 as JPEG or WebP, a side beyond the limit, which is
 *         65500 for JPEG, libjpeg's own, 16383 for WebP, 2^31 - 1 for PNG); DLPARK_E_NOT_FOUND, DLPARK_E_PERMISSION,
 *         DLPARK_E_IO; DLPARK_E_MEMORY. A file of that name is untouched then.
 * Threads: any.
 */
DLPARK_INLINE DLPARK_NODISCARD dlpark_status dlpark_image_save(const dlpark_view *view,
                                                               const dlpark_image_save_desc *desc, dlpark_error *err);

/**
 * The same into memory: a tensor u8[n] with the bytes of the file. `desc->format` must say which format.
 *
 * @param tensor  out. Must be empty; stays so on failure.
 */
DLPARK_INLINE DLPARK_NODISCARD dlpark_status dlpark_image_encode(dlpark_tensor *tensor, const dlpark_view *view,
                                                                 const dlpark_image_save_desc *desc, dlpark_view *bytes,
                                                                 dlpark_error *err);

/** What the inline functions forward to: the size says which fields the caller's header knows. */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_image_read_info_sized(dlpark_image_info *info,
                                                                       const dlpark_image_load_desc *desc,
                                                                       size_t desc_nbytes, dlpark_error *err);
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_image_load_sized(dlpark_tensor *tensor,
                                                                  const dlpark_image_load_desc *desc,
                                                                  size_t desc_nbytes, dlpark_view *view,
                                                                  dlpark_error *err);
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_image_load_into_sized(const dlpark_view *out,
                                                                       const dlpark_image_load_desc *desc,
                                                                       size_t desc_nbytes, dlpark_error *err);
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_image_save_sized(const dlpark_view *view,
                                                                  const dlpark_image_save_desc *desc,
                                                                  size_t desc_nbytes, dlpark_error *err);
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_image_encode_sized(dlpark_tensor *tensor, const dlpark_view *view,
                                                                    const dlpark_image_save_desc *desc,
                                                                    size_t desc_nbytes, dlpark_view *bytes,
                                                                    dlpark_error *err);

DLPARK_INLINE dlpark_status dlpark_image_read_info(dlpark_image_info *info, const dlpark_image_load_desc *desc,
                                                   dlpark_error *err)
{
    return dlpark_image_read_info_sized(info, desc, sizeof *desc, err);
}

DLPARK_INLINE dlpark_status dlpark_image_load(dlpark_tensor *tensor, const dlpark_image_load_desc *desc,
                                              dlpark_view *view, dlpark_error *err)
{
    return dlpark_image_load_sized(tensor, desc, sizeof *desc, view, err);
}

DLPARK_INLINE dlpark_status dlpark_image_load_into(const dlpark_view *out, const dlpark_image_load_desc *desc,
                                                   dlpark_error *err)
{
    return dlpark_image_load_into_sized(out, desc, sizeof *desc, err);
}

DLPARK_INLINE dlpark_status dlpark_image_save(const dlpark_view *view, const dlpark_image_save_desc *desc,
                                              dlpark_error *err)
{
    return dlpark_image_save_sized(view, desc, sizeof *desc, err);
}

DLPARK_INLINE dlpark_status dlpark_image_encode(dlpark_tensor *tensor, const dlpark_view *view,
                                                const dlpark_image_save_desc *desc, dlpark_view *bytes,
                                                dlpark_error *err)
{
    return dlpark_image_encode_sized(tensor, view, desc, sizeof *desc, bytes, err);
}

DLPARK_END_C

#endif
