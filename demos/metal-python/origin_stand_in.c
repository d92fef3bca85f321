/*
 * What stands in for buffers of Metal elsewhere: memory with a count of references, over the table of functions that dlpark
 * asks any buffer by.
 */
#include "origin.h"

#include <stdatomic.h>
#include <stdlib.h>

typedef struct stand_in {
    atomic_int references;
    size_t nbytes;
    _Alignas(64) unsigned char bytes[];
} stand_in;

static atomic_int ended;

static void retain(void *buffer)
{
    atomic_fetch_add(&((stand_in *)buffer)->references, 1);
}

static void release(void *buffer)
{
    if (atomic_fetch_sub(&((stand_in *)buffer)->references, 1) == 1) {
        free(buffer);
        atomic_fetch_add(&ended, 1);
    }
}

static void *contents(void *buffer)
{
    return ((stand_in *)buffer)->bytes;
}

static uint64_t length(void *buffer)
{
    return ((stand_in *)buffer)->nbytes;
}

static uint64_t storage_mode(void *buffer)
{
    (void)buffer;
    return DLPARK_METAL_SHARED;
}

static const dlpark_metal_functions functions = {retain, release, contents, length, storage_mode};

dlpark_status origin_open(dlpark_metal *metal, dlpark_error *err)
{
    (void)err;
    metal->functions = &functions;
    return DLPARK_OK;
}

void *origin_make(size_t nbytes)
{
    stand_in *buffer = aligned_alloc(64, sizeof *buffer + (nbytes + 63) / 64 * 64);

    if (buffer != NULL) {
        atomic_init(&buffer->references, 1);
        buffer->nbytes = nbytes;
    }
    return buffer;
}

const char *origin_device(void)
{
    return NULL;
}

int origin_references(const void *buffer)
{
    return atomic_load(&((const stand_in *)buffer)->references);
}

int origin_count_ended(void)
{
    return atomic_load(&ended);
}
