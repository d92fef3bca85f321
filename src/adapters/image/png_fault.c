/* libpng's errors, warnings and memory. */
#include "png_fault.h"

#include <stdio.h>
#include <stdlib.h>

static void pngfault_on_error(png_structp png, png_const_charp text)
{
    pngfault *fault = png_get_error_ptr(png);
    snprintf(fault->reason, sizeof fault->reason, "%s", text);
    longjmp(fault->jump, 1);
}

/* A warning means that libpng would go on with a guess. */
static void pngfault_on_warning(png_structp png, png_const_charp text)
{
    pngfault *fault = png_get_error_ptr(png);
    if (!fault->tolerant)
        pngfault_on_error(png, text);
    snprintf(fault->warning, sizeof fault->warning, "%s", text);
}

static png_voidp pngfault_on_malloc(png_structp png, png_alloc_size_t nbytes)
{
    pngfault *fault = png_get_mem_ptr(png);
    void *memory = malloc(nbytes);
    fault->out_of_memory = fault->out_of_memory || memory == NULL;
    return memory;
}

static void pngfault_on_free(png_structp png, png_voidp memory)
{
    (void)png;
    free(memory);
}

png_structp dlpark__png_fault_reader(pngfault *fault)
{
    return png_create_read_struct_2(PNG_LIBPNG_VER_STRING, fault, pngfault_on_error, pngfault_on_warning, fault,
                                    pngfault_on_malloc, pngfault_on_free);
}

png_structp dlpark__png_fault_writer(pngfault *fault)
{
    return png_create_write_struct_2(PNG_LIBPNG_VER_STRING, fault, pngfault_on_error, pngfault_on_warning, fault,
                                     pngfault_on_malloc, pngfault_on_free);
}

/* The only setjmp. */
bool dlpark__png_guard(pngfault *fault, void (*step)(void *context), void *context)
{
    if (setjmp(fault->jump) != 0)
        return false;
    step(context);
    return true;
}
