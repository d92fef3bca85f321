/* The header's own assertion with a number that is wrong: this must not compile. */
#include <dlpark/dlpack.h>

#if defined(WRONG)
DLPARK_ABI_SIZE(DLTensor, 49, 37 + DLPARK_ABI_PAD);
#else
DLPARK_ABI_SIZE(DLTensor, 48, 36 + DLPARK_ABI_PAD);
#endif
