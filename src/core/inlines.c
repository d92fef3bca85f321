/*
 * The inline functions of the public headers once more, as symbols: for callers that are not C, and for debuggers.
 */
#include <dlpark/api.h>

#undef DLPARK_INLINE
#define DLPARK_INLINE DLPARK_API

#include <dlpark/array.h>
#include <dlpark/dlpark.h>
