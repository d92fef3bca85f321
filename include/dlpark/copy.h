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
 * @param to    in; its memory is written. Host accessible and writable. Where its strides let two elements meet, which
 *              of them stays is unspecified.
 * @param from  in, borrowed. Host accessible, of the same shape and dtype. Strides may be 0 or negative.
 * @param err   out, optional. Names the dimension or the dtypes that differ.
 * @return DLPARK_OK; DLPARK_E_SHAPE; DLPARK_E_STRIDES (`to` has a stride of 0); DLPARK_E_DTYPE (another dtype, or a sub-byte one whose two layouts are not both
 *         compact); DLPARK_E_DEVICE; DLPARK_E_READ_ONLY; DLPARK_E_OVERLAP (the byte spans meet, unless both views are
 *         the same). Nothing is written on failure.
 * Threads: any, as for the memory itself.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_copy(const dlpark_view *to, const dlpark_view *from,
                                                      dlpark_error *err);

DLPARK_END_C

#endif
