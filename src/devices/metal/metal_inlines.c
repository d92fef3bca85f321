/*
 * The inline functions of metal.h once more, as symbols: for callers that are not C, and for debuggers. Those of the headers that
 * it includes have theirs elsewhere, so these come first, as they are.
 */
#include <dlpark/status.h>
#include <dlpark/tensor.h>
#include <dlpark/view.h>

#undef DLPARK_INLINE
#define DLPARK_INLINE DLPARK_API

#include <dlpark/metal.h>
