/**
 * From a raw DLTensor, which is somebody's claim, to a view, which is known to hold.
 *
 *     dlpark_view view;
 *     DLPARK_TRY(dlpark_check(&managed->dl_tensor, managed->flags, &view, err));
 *
 * Needed only for a tensor that stays somebody else's; a tensor that is made or imported is checked on the way.
 */
#ifndef DLPARK_CHECK_H
#define DLPARK_CHECK_H

#include <stdint.h>

#include "dlpack.h"
#include "status.h"
#include "view.h"

DLPARK_BEGIN_C

/**
 * Checks a borrowed tensor and describes it as a view. Reports the first fault.
 *
 * @param tensor  in, borrowed. Its memory is not read, only its description.
 * @param flags   in. The flags of the versioned struct that it came from; 0 if there was none.
 * @param view    out, optional. Points to the tensor's memory and is valid as long as that. Carries READ_ONLY and
 *                PADDED from `flags`, and UNKNOWN_WRITE. Unspecified on failure.
 * @param err     out, optional. Names the field with its value.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (`tensor` is NULL);
 *         DLPARK_E_FLAGS (a bit that DLPack 1.3 does not define; PADDED on a dtype of whole bytes is harmless);
 *         DLPARK_E_RANK (negative, or above DLPARK_MAX_NDIM); DLPARK_E_DTYPE; DLPARK_E_DEVICE;
 *         DLPARK_E_SHAPE (NULL with a rank above 0, or a negative extent);
 *         DLPARK_E_OVERFLOW (the element count or the reach in bytes leaves 63 bits, or the address space);
 *         DLPARK_E_DATA (NULL although there are elements).
 * Units:   strides in elements; NULL strides are compact row-major.
 * Threads: any, as long as nobody changes the description meanwhile.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_check(const DLTensor *tensor, uint64_t flags, dlpark_view *view,
                                                       dlpark_error *err);

DLPARK_END_C

#endif
