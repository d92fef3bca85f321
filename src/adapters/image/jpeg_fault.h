/*
 * libjpeg reports errors by a function that must not return. Here it jumps back to a guard, which is the only frame
 * between it and libjpeg: everything that owns something is outside the guard, reached through the context.
 */
#ifndef DLPARK_IMAGE_JPEG_FAULT_H
#define DLPARK_IMAGE_JPEG_FAULT_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h> /* jpeglib.h needs FILE and size_t before it */

#include <jpeglib.h>

#include "codec.h"

typedef struct jpegfault {
    struct jpeg_error_mgr base; /* first: libjpeg's pointer to it is one to us */
    jmp_buf jump;
    bool tolerant;  /* warnings are not faults */
    bool tolerable; /* a tolerant reader would not have given up there */
    dlpark_status status;
    char reason[JMSG_LENGTH_MAX];
} jpegfault;

/* Fills the manager that is to be put into cinfo->err. */
struct jpeg_error_mgr *dlpark__jpeg_fault_init(jpegfault *fault, bool tolerant);

/* Runs the step; false when libjpeg gave up, with status and reason in the fault. Steps allocate nothing. */
bool dlpark__jpeg_guard(jpegfault *fault, void (*step)(void *context), void *context);

/* Gives up from inside a step or a callback of libjpeg. Does not return. */
void dlpark__jpeg_fault_raise(jpegfault *fault, dlpark_status status, const char *format, ...) DLPARK_PRINTF(3, 4);

/* "name: reason", and the advice, which may be empty. Returns the fault's status. */
dlpark_status dlpark__jpeg_fault_report(const jpegfault *fault, const char *name, const char *advice,
                                        dlpark_error *err);

#endif
