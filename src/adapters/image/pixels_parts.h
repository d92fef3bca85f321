/*
 * What the two sources of pixels share.
 */
#ifndef DLPARK_PIXELS_PARTS_H
#define DLPARK_PIXELS_PARTS_H

#include <dlpark/pixels.h>

#include "adapter.h"

/* ---- pixels.c ---- */

/* How many letters a text has: one to seven, all capital, each once but 'X', unless `repeats`. E_ARGUMENT for any other. */
dlpark_status dlpark__pixels_check_letters(const char *field, const char *letters, bool repeats, int32_t *count,
                                           dlpark_error *err);

/* E_DTYPE for what cannot be a sample; E_DEVICE for memory without addresses; E_ARGUMENT for another layout. */
dlpark_status dlpark__pixels_check_form(DLDataType dtype, DLDevice device, dlpark_image_layout layout,
                                        dlpark_error *err);

/* From a sample of a pixel to the next, from a pixel, from a row. */
enum { PIXELS_CHANNEL, PIXELS_PIXEL, PIXELS_ROW };

/* One direction in which pixels lie: rows, columns, or the samples of a pixel. */
typedef struct pixels_axis {
    const char *field; /* that says the step */
    int64_t step;      /* bytes, of any sign */
    int64_t count;
} pixels_axis;

typedef enum pixels_fault { PIXELS_FAULT_NONE, PIXELS_FAULT_MEETS, PIXELS_FAULT_OVERFLOW } pixels_fault;

/* Whether each of the three axes steps over what lies within it, a sample of `reach` bytes innermost, and rows over pixels.
 * Sorts them, the shortest step first. `reach` is then what all of it spans; MEETS: what `*at` would have to step over. */
pixels_fault dlpark__pixels_nest(pixels_axis axes[3], int64_t *reach, int *at);

#endif
