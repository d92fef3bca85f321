/**
 * From a raw DLTensor, which is somebody's claim, to a view, which is known to hold.
 *
 *     dlpark_view view;
 *     DLPARK_TRY(dlpark_check(&managed->dl_tensor, managed->flags, &view, err));
 *
 * Needed only for a tensor that stays somebody else's; a tensor that is made or imported is checked on the way. Whoever
 * wants to know everything that is wrong, and what others will misread, asks dlpark_check_all().
 * Pointers must not be NULL unless a parameter says optional.
 */
#ifndef DLPARK_CHECK_H
#define DLPARK_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "dlpack.h"
#include "rule.h"
#include "status.h"
#include "view.h"

DLPARK_BEGIN_C

/** Bytes of dlpark_fault.message, the final zero included. */
#define DLPARK_FAULT_MESSAGE_NBYTES 464

/** What is wrong with one field, in the caller's own memory. The layout is frozen. */
typedef struct dlpark_fault {
    dlpark_rule rule;
    dlpark_severity severity;
    int32_t dimension; /**< of a list's entry; -1 where the whole field is meant */
    char field[20];    /**< "ndim", "shape[2]"; always terminated */
    int64_t value;     /**< what the field holds; flags, addresses and byte_offset as the same 64 bits; 0 for NULL */
    int64_t limit;     /**< the bound that `value` passed, where it is a number; else 0 */
    char message[DLPARK_FAULT_MESSAGE_NBYTES]; /**< one sentence in English, with the numbers; always terminated */
} dlpark_fault;

/**
 * Checks a borrowed tensor and describes it as a view. Reports the first fault.
 *
 * @param tensor  in, borrowed. Its memory is not read, only its description; its shape and strides may point into `view`.
 *                NULL is refused.
 * @param flags   in. The flags of the versioned struct that it came from; 0 if there was none.
 * @param view    out, optional. Points to the tensor's memory and is valid as long as that. Carries READ_ONLY and,
 *                for a sub-byte dtype, PADDED from `flags`; UNKNOWN_WRITE where not READ_ONLY. Unspecified on failure.
 * @param err     out, optional. Names the field with its value: the message of the first broken fault of
 *                dlpark_check_all().
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (`tensor` is NULL);
 *         DLPARK_E_FLAGS (a bit that DLPack 1.3 does not define; PADDED on a dtype of whole bytes is harmless);
 *         DLPARK_E_RANK (negative, or above DLPARK_MAX_NDIM); DLPARK_E_DTYPE; DLPARK_E_DEVICE;
 *         DLPARK_E_SHAPE (NULL with a rank above 0, or a negative extent);
 *         DLPARK_E_OVERFLOW (the element count or the reach in bytes leaves 63 bits, or the address space; a byte_offset
 *         of 2^63 or more; elements of a handle outside the bytes 0 to 2^63-1);
 *         DLPARK_E_DATA (NULL although there are elements).
 * Units:   strides in elements; NULL strides are compact row-major.
 * Threads: any, as long as nobody changes the description meanwhile.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_check(const DLTensor *tensor, uint64_t flags, dlpark_view *view,
                                                       dlpark_error *err);

/**
 * Lists everything that is wrong with a tensor, and everything legal that some consumer misreads. Slow and thorough.
 *
 * @param tensor    in, borrowed; NULL is a fault. Its memory is not read. Shape and strides are looked at only where
 *                  rank and pointers allow it.
 * @param flags     in. As for dlpark_check(). Without READ_ONLY the tensor is taken for one that may be written.
 * @param faults    out, in the order of DLPARK_RULE_TABLE, then of the dimensions: as many as fit. May be NULL when
 *                  `capacity` is 0.
 * @param capacity  in. How many there is room for.
 * @return how many faults there are, which may be more than `capacity`; 0 when nothing is to be said. The tensor passes
 *         dlpark_check() if and only if none of them is DLPARK_SEVERITY_BROKEN; broken ones come first.
 * Units:   a struct of DLPack 1.3 is assumed; dlpark_check_all_version() takes another.
 * Threads: any, as long as nobody changes the description meanwhile.
 */
DLPARK_API size_t dlpark_check_all(const DLTensor *tensor, uint64_t flags, dlpark_fault *faults, size_t capacity);

/**
 * The same for a struct that names its version, on which some rules depend: NULL strides, and codes and flags that came
 * later.
 *
 * @param version  in. DLManagedTensorVersioned::version; {0, 0} for the legacy struct. Of a major version above 1 nothing
 *                 else is judged.
 */
DLPARK_API size_t dlpark_check_all_version(const DLTensor *tensor, uint64_t flags, DLPackVersion version,
                                           dlpark_fault *faults, size_t capacity);

/**
 * The same for a managed tensor, with the version and the flags that it names.
 *
 * @param managed  in, borrowed; NULL is a fault. Of another major version nothing but the version is read.
 */
DLPARK_API size_t dlpark_check_all_managed(const DLManagedTensorVersioned *managed, dlpark_fault *faults,
                                           size_t capacity);

DLPARK_END_C

#endif
