/*
 * What the sources of array share among themselves.
 */
#ifndef DLPARK_ARRAY_PARTS_H
#define DLPARK_ARRAY_PARTS_H

#include <dlpark/array.h>

#include "../internal.h"

/* ---- array_blas.c ---- */

DLPARK_COLD dlpark_status dlpark__array_refuse_order(int order, dlpark_error *err);

#endif
