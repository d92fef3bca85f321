/**
 * The core of dlpark in one include. Adapters (`image.h` and others) and the Python kit have headers of their own.
 */
#ifndef DLPARK_DLPARK_H
#define DLPARK_DLPARK_H

#include "cast.h"
#include "check.h"
#include "code.h"
#include "compare.h"
#include "copy.h"
#include "device.h"
#include "dlpack.h"
#include "dtype.h"
#include "dtype_limits.h"
#include "element.h"
#include "fill.h"
#include "layout.h"
#include "rule.h"
#include "spec.h"
#include "status.h"
#include "tensor.h"
#include "tensor_desc.h"
#include "text.h"
#include "transform.h"
#include "version.h"
#include "view.h"

#endif
