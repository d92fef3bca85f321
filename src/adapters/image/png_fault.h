/*
 * libpng reports errors by a function that must not return. Here it jumps back to a guard, which is the only frame
 * between it and libpng: everything that owns something is outside the guard, reached through the context, so that no
 * variable is lost by the jump. Reading and writing share this, and the memory that libpng asks for.
 */
#ifndef DLPARK_IMAGE_PNG_FAULT_H
#define DLPARK_IMAGE_PNG_FAULT_H

#include <setjmp.h>
#include <stdbool.h>

#include <png.h>

typedef struct pngfault {
    jmp_buf jump;
    bool tolerant; /* warnings are not faults */
    bool out_of_memory;
    char reason[96];
    char warning[96]; /* the last that was tolerated; often the cause of the error that follows */
} pngfault;

/* libpng's struct for reading or for writing; NULL as png_create_*_struct_2() says. Call it inside a guard. */
png_structp dlpark__png_fault_reader(pngfault *fault);
png_structp dlpark__png_fault_writer(pngfault *fault);

/* Runs the step; false when libpng gave up, with the reason in the fault. Steps own nothing. */
bool dlpark__png_guard(pngfault *fault, void (*step)(void *context), void *context);

#endif
