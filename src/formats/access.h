/*
 * How the bytes of a file come into memory, where the caller leaves it to us.
 */
#ifndef DLPARK_FORMATS_ACCESS_H
#define DLPARK_FORMATS_ACCESS_H

#include <dlpark/file.h>

#include "source.h"

/* What is asked for; in the place of AUTO what suits the file system that the source is on. */
dlpark_file_access dlpark__access_choose(const dlpark__source *source, dlpark_file_access asked);

#endif
