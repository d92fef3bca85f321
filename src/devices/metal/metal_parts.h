/* What the two sources of Metal share. */
#ifndef DLPARK_METAL_PARTS_H
#define DLPARK_METAL_PARTS_H

#include <dlpark/metal.h>

#include "../../core/internal.h"

/* Whether there are functions to call. */
dlpark_status dlpark__metal_check(const dlpark_metal *metal, dlpark_error *err);

#endif
