/* A function that goes with the next line of releases, as a header of ours would declare it; with CALLS somebody uses it. */
#include <dlpark/api.h>

DLPARK_API DLPARK_DEPRECATED("use deprecated_new()") int deprecated_old(void);
DLPARK_API int deprecated_new(void);

int deprecated_caller(void)
{
#if defined(CALLS)
    return deprecated_old();
#else
    return deprecated_new();
#endif
}
