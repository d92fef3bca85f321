/* libjpeg's errors as statuses. */
#include "jpeg_fault.h"

#include <stdarg.h>

#include <jerror.h>

static dlpark_status jpegfault_status(int code)
{
    switch (code) {
    case JERR_OUT_OF_MEMORY:
        return DLPARK_E_MEMORY;
    case JERR_ARITH_NOTIMPL:
    case JERR_BAD_PRECISION:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_IMAGE_TOO_BIG:
    case JERR_SOF_UNSUPPORTED:
        return DLPARK_E_UNSUPPORTED;
    default:
        return DLPARK_E_FORMAT;
    }
}

static void jpegfault_exit(j_common_ptr cinfo)
{
    jpegfault *fault = (jpegfault *)cinfo->err;
    fault->status = jpegfault_status(cinfo->err->msg_code);
    (*cinfo->err->format_message)(cinfo, fault->reason);
    longjmp(fault->jump, 1);
}

/* Negative levels are warnings: the data is damaged and libjpeg would go on with a guess. */
static void jpegfault_emit(j_common_ptr cinfo, int level)
{
    jpegfault *fault = (jpegfault *)cinfo->err;
    if (level >= 0)
        return;
    cinfo->err->num_warnings++;
    if (fault->tolerant)
        return;
    fault->tolerable = true;
    jpegfault_exit(cinfo);
}

static void jpegfault_print(j_common_ptr cinfo)
{
    (void)cinfo; /* nothing is ever printed */
}

struct jpeg_error_mgr *dlpark__jpeg_fault_init(jpegfault *fault, bool tolerant)
{
    (void)jpeg_std_error(&fault->base);
    fault->base.error_exit = jpegfault_exit;
    fault->base.emit_message = jpegfault_emit;
    fault->base.output_message = jpegfault_print;
    fault->tolerant = tolerant;
    fault->tolerable = false;
    fault->status = DLPARK_OK;
    fault->reason[0] = '\0';
    return &fault->base;
}

bool dlpark__jpeg_guard(jpegfault *fault, void (*step)(void *context), void *context)
{
    if (setjmp(fault->jump))
        return false;
    step(context);
    return true;
}

void dlpark__jpeg_fault_raise(jpegfault *fault, dlpark_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(fault->reason, sizeof fault->reason, format, arguments);
    va_end(arguments);
    fault->status = status;
    longjmp(fault->jump, 1);
}

dlpark_status dlpark__jpeg_fault_report(const jpegfault *fault, const char *name, const char *advice, dlpark_error *err)
{
    return dlpark_error_set(err, fault->status, "%s: %s%s", name, fault->reason, advice);
}
