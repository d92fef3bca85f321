/* One public header, with nothing before it, and again. */
#include FIRST

#include FIRST

typedef int compile_alone_not_empty;

#if defined(DLPARK_DLPACK_H) && !defined(__cplusplus)
_Static_assert(sizeof(DLDeviceType) == 4, "DLDeviceType");
#endif
#if defined(DLPARK_STATUS_H) && !defined(__cplusplus)
_Static_assert(sizeof(dlpark_status) == 4 && sizeof(dlpark_error) == 512, "dlpark_error");
#endif
