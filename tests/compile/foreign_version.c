/* An upstream dlpack.h of another major version, or one too old: ours must stop the build and say why. */
#define DLPACK_DLPACK_H_
#if defined(LATER)
#define DLPACK_MAJOR_VERSION 2
#define DLPACK_MINOR_VERSION 0
#else
#define DLPACK_VERSION 050
#endif
#include <dlpark/dlpack.h>
