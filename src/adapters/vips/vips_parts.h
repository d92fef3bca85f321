/* What the sources of the libvips adapter share. Names that begin with vips_ are libvips' own. */
#ifndef VIPS_PARTS_H
#define VIPS_PARTS_H

#include <stdbool.h>

#include <vips/vips.h>

#include <dlpark/vips.h>

/* A format of libvips and the dtype of one band. */
typedef struct vipsin_format {
    VipsBandFormat format;
    DLDataType dtype;
} vipsin_format;

/* By either side; NULL where the other has no such thing. */
const vipsin_format *dlpark__vips_by_format(VipsBandFormat format);
const vipsin_format *dlpark__vips_by_dtype(DLDataType dtype);

/* What libvips says of its failure, which its error buffer then forgets. */
dlpark_status dlpark__vips_fault(const char *what, dlpark_error *err);

/* The tensor behind an image that we gave out, borrowed; NULL of any other. */
const DLManagedTensorVersioned *dlpark__vips_tensor_of(VipsImage *image);

#endif
