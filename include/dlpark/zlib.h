/**
 * Deflate by zlib, for tensor files whose members are deflated, as those of numpy.savez_compressed() are.
 *
 *     const dlpark_file_options options = {.inflate = dlpark_zlib_inflate()};
 *     DLPARK_TRY(dlpark_file_open(&file, "arrays.npz", &options, err));
 *
 *     const dlpark_file_write_options packed = {.deflate = dlpark_zlib_deflate(0)};
 *     DLPARK_TRY(dlpark_file_save("arrays.npz", parts, 2, &packed, err));
 *
 * Of libdlpark-zlib, which links zlib: libdlpark itself needs no library but the C library. Threads: any.
 */
#ifndef DLPARK_ZLIB_H
#define DLPARK_ZLIB_H

#include "deflate.h"
#include "inflate.h"

DLPARK_BEGIN_C

/** What a file is opened with, so that its deflated members are read: static, the same on each call. */
DLPARK_API const dlpark_inflate *dlpark_zlib_inflate(void);

/** What a file is written with, so that its members are deflated: static, the same on each call for a level. `level`: 1,
 * which is fast, to 9, which packs best; any other is 6, zlib's own and NumPy's. */
DLPARK_API const dlpark_deflate *dlpark_zlib_deflate(int level);

DLPARK_END_C

#endif
