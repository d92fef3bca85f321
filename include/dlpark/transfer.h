/**
 * Copies between the host and a device, and between devices: dlpark_copy() where a side is not the host's to read.
 *
 *     DLPARK_TRY(dlpark_cuda_alloc(&cuda, &tensor, &desc, NULL, &there, err));
 *     DLPARK_TRY(dlpark_cuda_copy(&cuda, &there, &here, stream, err));     // to the device
 *     DLPARK_TRY(dlpark_cuda_copy(&cuda, &back, &there, stream, err));     // and back
 *
 * Either side may have any strides. What lies in one piece on both sides, or in rows of even distance, is copied where it is;
 * what would take many small copies goes through memory of the host, packed, where the other side allows it.
 * Pointers must not be NULL unless a parameter says optional.
 */
#ifndef DLPARK_TRANSFER_H
#define DLPARK_TRANSFER_H

#include "cuda.h"
#include "hip.h"

DLPARK_BEGIN_C

/**
 * Copies every element of `from` to the same place in `to`, in the order of a stream.
 *
 * @param cuda    in.
 * @param to      in; its memory is written, and nothing between its elements. cuda:N, managed, page-locked or any other memory
 *                of the host; writable.
 * @param from    in, borrowed. The same, of the same shape and dtype.
 * @param stream  in. Of the device of `to`, or of `from` where `to` is the host's: the copy comes after what it was given
 *                before.
 * @param err     out, optional. Names the dimension or the dtypes that differ, or the driver's function and its reason.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (NULL, `cuda` empty, a stream that is none); DLPARK_E_RANK; DLPARK_E_SHAPE;
 *         DLPARK_E_DTYPE; DLPARK_E_STRIDES (`to` has a stride of 0); DLPARK_E_DEVICE (neither the host's nor of this driver, or both the host's);
 *         DLPARK_E_READ_ONLY; DLPARK_E_LAYOUT (packed elements to a device that do not fill whole bytes in one piece);
 *         DLPARK_E_MEMORY (for what goes through the host); DLPARK_E_FOREIGN (the driver's own reason). Up to the last two
 *         nothing is written.
 * Waiting: where a side is the host's, or the copy goes through the host, all of it is done on return. Else the call returns
 *          at once, and what the stream is given next sees the result.
 * Overlap: as memmove.
 * Memory:  what goes through the host takes as many bytes there as the elements, or as `from` reaches over, for the time of
 *          the call.
 * Threads: any, as for the memory itself.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_cuda_copy(const dlpark_cuda *cuda, const dlpark_view *to,
                                                           const dlpark_view *from, dlpark_stream stream,
                                                           dlpark_error *err);

/** dlpark_cuda_copy() for ROCm. */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_hip_copy(const dlpark_hip *hip, const dlpark_view *to,
                                                          const dlpark_view *from, dlpark_stream stream,
                                                          dlpark_error *err);

DLPARK_END_C

#endif
