/**
 * Deflate by zlib, for tensor files whose members are deflated: numpy.savez_compressed().
 *
 *     const dlpark_file_options options = {.inflate = dlpark_zlib_inflate()};
 *     DLPARK_TRY(dlpark_file_open(&file, "arrays.npz", &options, err));
 *
 * Of libdlpark-zlib, which links zlib: libdlpark itself needs no library but the C library. Threads: any.
 */
#ifndef DLPARK_ZLIB_H
#define DLPARK_ZLIB_H

#include "inflate.h"

DLPARK_BEGIN_C

/** What a file is opened with, so that its deflated members are read: static, the same on each call. */
DLPARK_API const dlpark_inflate *dlpark_zlib_inflate(void);

DLPARK_END_C

#endif
