/**
 * Frames of FFmpeg's libavutil as tensors, and tensors as frames.
 *
 *     DLPARK_TRY(dlpark_avframe_share(&luma, frame, 0, &view, err));                      // u8[height, width]
 *     DLPARK_TRY(dlpark_avframe_export(&frame, &pixels, AV_PIX_FMT_RGB24, err));          // of u8[height, width, 3]
 *
 * A part of a frame is a tensor: a plane as it lies in memory, or one component of the pixels, wherever it lies. Rows keep
 * their pitch, which may be negative. Nothing is copied, and nothing is converted: what a tensor cannot say is refused by
 * the name of the format, which are samples of the other byte order, samples that share bytes, palettes, Bayer mosaics and
 * frames in the memory of a device. Samples that do not fill their element (10 bits in 16) come only to who asks for them.
 *
 * Codecs and filters read beyond a plane: swscale and filters up to 16 bytes, some code whole vectors, and rows whose
 * length is a multiple of 16 or 32 bytes are faster or even asked for. Frames that libav allocates are made for that.
 * A tensor that is given out as a frame need not be: see dlpark_avframe_options.
 *
 * Written for libavutil 57.24 or later (FFmpeg 5.1). Link with dlpark::avframe. Pointers must not be NULL unless a parameter
 * says optional. Messages name the format and the numbers.
 */
#ifndef DLPARK_AVFRAME_H
#define DLPARK_AVFRAME_H

#include <stdint.h>

#include "dlpack.h"
#include "status.h"
#include "tensor.h"
#include "view.h"

DLPARK_BEGIN_C

struct AVFrame; /* of libavutil/frame.h */

/**
 * Which part of a frame: the number of a plane, or this of a component, counted as in the format's descriptor, R G B A or
 * Y U V A. The component 0 of GBRP is in plane 2, and the components 1 and 2 of NV12 are both in plane 1.
 */
#define DLPARK_AVFRAME_COMPONENT(index) ((index) | 0x10000)

/** Or'ed to a part: also samples that do not fill their element; dlpark_avframe_component says where in it they are. */
#define DLPARK_AVFRAME_ANY_DEPTH 0x20000

/** The bytes behind a plane that suffice for all of libav: its AV_INPUT_BUFFER_PADDING_SIZE. Filters read up to 16. */
#define DLPARK_AVFRAME_PADDING 64

/** Where one component of the pixels of a format lies. */
typedef struct dlpark_avframe_component {
    int32_t plane;         /**< which of the frame's it lies in */
    int32_t step_nbytes;   /**< from one sample to the next of a row */
    int32_t offset_nbytes; /**< from the begin of the row to the first sample */
    int32_t shift;         /**< bits of the element below the sample: 6 for P010 */
    int32_t depth;         /**< bits of the sample: 10 for P010, in elements of 16 */
    int32_t log2_width;    /**< how often the width is halved, rounded up each time: 1 for the chroma of 4:2:0 */
    int32_t log2_height;   /**< the same of the height */
    DLDataType dtype;
} dlpark_avframe_component;

/** How a tensor is given out as a frame. Zero the rest: a field that is not named has its plain meaning. */
typedef struct dlpark_avframe_options {
    int32_t width;  /**< of the frame, in pixels: tensors may be larger, the rest is padding; 0: as they are */
    int32_t height; /**< the same */
    /**
     * Refuses a plane behind whose last byte the tensor does not have so many more; DLPARK_AVFRAME_PADDING suffices for
     * all of libav. 0: asks for none.
     */
    int32_t require_padding;
    int32_t require_alignment; /**< refuses planes and rows that do not begin at a multiple of it, a power of two */
    /**
     * True: also formats whose samples do not fill their element. Nobody checks that the values fit, and codecs index
     * tables by them.
     */
    int32_t any_depth;
    int32_t reserved[3]; /**< 0 */
} dlpark_avframe_options;

/**
 * Where a component of a pixel format lies.
 *
 * @param component  out. Not written on failure.
 * @param format     in. An enum AVPixelFormat.
 * @param index      in. 0 to 3, as in DLPARK_AVFRAME_COMPONENT().
 * @param err        out, optional.
 * @return DLPARK_OK; DLPARK_E_INDEX; and as dlpark_avframe_view() for the format. Any depth is allowed.
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_avframe_read_component(dlpark_avframe_component *component, int format,
                                                                        int32_t index, dlpark_error *err);

/**
 * Borrows a part of a frame.
 *
 * @param view   out. Valid as long as the frame and its buffers. Unspecified on failure. READ_ONLY unless the frame's
 *               references are the only ones to its buffers; UNKNOWN_WRITE of a frame without a buffer.
 * @param frame  in, borrowed. Pictures and sound. Of a picture a plane is [height, width] where it holds one sample a
 *               pixel, and [height, width, samples] otherwise, in the order of memory; that of packed 4:2:2 has a column
 *               for two pixels. Subsampled planes have their own height and width. A component is [height, width]. Of
 *               sound a plane is [samples], or [samples, channels] where it is packed, and a component is a channel.
 * @param part   in. See DLPARK_AVFRAME_COMPONENT().
 * @param err    out, optional.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (no such frame: sizes, a NULL pointer, rows that leave their buffer);
 *         DLPARK_E_INDEX (no such part); DLPARK_E_DTYPE (a format that is refused, see above); DLPARK_E_DEVICE (a frame of
 *         a device); DLPARK_E_STRIDES (rows that overlap, or whose pitch is no multiple of a sample).
 * Threads: any; nobody may change the frame meanwhile.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_avframe_view(dlpark_view *view, const struct AVFrame *frame,
                                                              int32_t part, dlpark_error *err);

/**
 * Adds a reference to a frame: a tensor that keeps its buffers alive, on whatever threads both end.
 *
 * @param tensor  out. Must be empty; stays so on failure. READ_ONLY, as the caller's frame is another owner: take the
 *                frame with dlpark_avframe_import() to write.
 * @param frame   in, borrowed. One without a buffer is refused, since av_frame_clone() would copy it.
 * @param part    in. As for dlpark_avframe_view().
 * @param view    out, optional.
 * @param err     out, optional.
 * @return as dlpark_avframe_view(); DLPARK_E_ARGUMENT also for a frame without a buffer; DLPARK_E_NOT_EMPTY;
 *         DLPARK_E_MEMORY.
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_avframe_share(dlpark_tensor *tensor, const struct AVFrame *frame,
                                                               int32_t part, dlpark_view *view, dlpark_error *err);

/**
 * Takes a frame: the tensor ends it, on whatever thread. For several parts share each, or share the tensor.
 *
 * @param tensor  out. Must be empty; stays so on failure. READ_ONLY unless the frame had the only references to its
 *                buffers. Never IS_COPIED: what libavutil has not counted may see the memory too.
 * @param frame   in, out. *frame is NULL on success, and still the caller's, unchanged, on failure.
 * @param part    in. As for dlpark_avframe_view().
 * @param view    out, optional.
 * @param err     out, optional.
 * @return as dlpark_avframe_share().
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_avframe_import(dlpark_tensor *tensor, struct AVFrame **frame,
                                                                int32_t part, dlpark_view *view, dlpark_error *err);

/**
 * Gives a tensor out as a picture, without a copy: the last reference to its buffer ends the tensor, on whatever thread.
 *
 * @param frame   out. *frame must be NULL, and stays so on failure. End it with av_frame_free(). Its buffer is read-only
 *                if the tensor is, or does not know.
 * @param tensor  in, out. Empty on success, unchanged on failure. On the host, with elements, aligned as its dtype. Of
 *                a format in one plane what dlpark_avframe_view() makes of that, [height, width] or [height, width, 1];
 *                of one whose components have a plane of full size each, [components, height, width], R G B for GBRP.
 *                Samples and pixels of a row lie side by side; rows may have any pitch, a negative one too.
 * @param format  in. An enum AVPixelFormat.
 * @param err     out, optional. Says how many bytes would have to be copied.
 * @return DLPARK_OK; DLPARK_E_NOT_EMPTY; DLPARK_E_ARGUMENT (an empty tensor, or an option out of range);
 *         DLPARK_E_RANK, DLPARK_E_SHAPE (also for padding that the tensor does not have); DLPARK_E_DTYPE;
 *         DLPARK_E_DEVICE; DLPARK_E_STRIDES; DLPARK_E_ALIGNMENT; DLPARK_E_OVERFLOW (beyond int); DLPARK_E_MEMORY.
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_avframe_export(struct AVFrame **frame, dlpark_tensor *tensor,
                                                                int format, dlpark_error *err);

/**
 * The same of a tensor for each plane, and with options.
 *
 * @param planes   in, out. As many as the format has planes, each as dlpark_avframe_view() makes it; or one tensor, as
 *                 for dlpark_avframe_export(). All are empty on success, and unchanged on failure.
 * @param nplanes  in. How many there are.
 * @param options  in, optional.
 * @return as dlpark_avframe_export().
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_avframe_export_planes(struct AVFrame **frame, dlpark_tensor *planes,
                                                                       int32_t nplanes, int format,
                                                                       const dlpark_avframe_options *options,
                                                                       dlpark_error *err);

/**
 * Gives a tensor out as sound: [samples], or [samples, channels] for a packed format, [channels, samples] for a planar one
 * of at most 8 channels, whose channels may be any distance apart.
 *
 * @param format       in. An enum AVSampleFormat.
 * @param sample_rate  in. Samples a second, above 0; the channel layout has its number of channels alone.
 * @return as dlpark_avframe_export().
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_avframe_export_audio(struct AVFrame **frame, dlpark_tensor *tensor,
                                                                      int format, int sample_rate, dlpark_error *err);

DLPARK_END_C

#endif
