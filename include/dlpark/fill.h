/**
 * Sets every element of a view to one value.
 *
 *     const float half = 0.5f;
 *     DLPARK_TRY(dlpark_fill(&view, &half, err));         // a view of f32
 */
#ifndef DLPARK_FILL_H
#define DLPARK_FILL_H

#include "status.h"
#include "view.h"

DLPARK_BEGIN_C

/**
 * Makes every element of `to` the one at `element`.
 *
 * @param to       in; its memory is written. Host accessible and writable. Its strides may be 0 or negative.
 * @param element  in, borrowed; any alignment. One element of the dtype of `to` as it lies in memory, with all its
 *                 lanes: dlpark_dtype_nbits() rounded up to bytes. A sub-byte element begins at the lowest bit; the
 *                 bits above it are not looked at. Must not lie in the memory of `to`.
 * @param err      out, optional.
 * @return DLPARK_OK; DLPARK_E_DEVICE; DLPARK_E_READ_ONLY. Nothing is written on failure.
 *
 * Units:   of packed sub-byte elements the neighbours' bits stay; padded ones are written with the rest of their bytes
 *          zero.
 * Threads: any, as for the memory itself. Bytes that packed elements share with neighbours are written back.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_fill(const dlpark_view *to, const void *element, dlpark_error *err);

DLPARK_END_C

#endif
