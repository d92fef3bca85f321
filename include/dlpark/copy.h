/**
 * Copies between views of the same dtype and shape, whatever their strides.
 *
 *     DLPARK_TRY(dlpark_tensor_alloc(&packed, &(dlpark_tensor_desc){.dtype = view.dtype, .ndim = view.ndim,
 *         .shape = DLPARK_DIMS(view.shape)}, &out, err));
 *     DLPARK_TRY(dlpark_copy(&out, &view, err));
 */
#ifndef DLPARK_COPY_H
#define DLPARK_COPY_H

#include "status.h"
#include "view.h"

DLPARK_BEGIN_C

/**
 * Copies every element of `from` to the same place in `to`.
 *
 * @param to    in; its memory is written, and nothing between its elements. Host accessible and writable. Where its
 *              strides let two elements meet, which of them stays is unspecified.
 * @param from  in, borrowed. Host accessible, of the same shape and dtype. Strides may be 0 or negative.
 * @param err   out, optional. Names the dimension or the dtypes that differ.
 * @return DLPARK_OK; DLPARK_E_RANK; DLPARK_E_SHAPE; DLPARK_E_STRIDES (`to` has a stride of 0); DLPARK_E_DTYPE;
 *         DLPARK_E_DEVICE; DLPARK_E_READ_ONLY; DLPARK_E_MEMORY (only where the two overlap and a copy in between is
 *         needed). Nothing is written on failure.
 *
 * Overlap:   as memmove: the result is as if all of `from` were read first.
 * Packing:   packed sub-byte elements may lie at any bit offset, and either side may be padded. From padded to padded
 *            the bytes are copied as they are; from packed to padded the upper bits become zero.
 * Alignment: any.
 * Threads:   any, as for the memory itself.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_copy(const dlpark_view *to, const dlpark_view *from,
                                                      dlpark_error *err);

/**
 * dlpark_copy() on several threads, for what is large: they are started by this call and have ended when it returns.
 *
 * @param to       as for dlpark_copy().
 * @param from     the same.
 * @param threads  in. The most threads to copy on, the calling one included: 1 to start none. How many help is the
 *                 caller's to know, a library cannot see what else the processor has to do. Each gets at least 1 MiB,
 *                 so that small copies start none; more than 64 count as 64. Where the system refuses a thread, those
 *                 that are there do its share.
 * @param err      out, optional.
 * @return as dlpark_copy(); DLPARK_E_ARGUMENT (`threads` is less than 1).
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_copy_threads(const dlpark_view *to, const dlpark_view *from,
                                                              int threads, dlpark_error *err);

DLPARK_END_C

#endif
