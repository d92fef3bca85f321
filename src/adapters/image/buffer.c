/* Encoded bytes that grow by doubling. */
#include <stdlib.h>
#include <string.h>

#include "codec.h"

#define IMAGE_BUFFER_LEAST ((size_t)64 * 1024)

bool dlpark__image_buffer_reserve(image_buffer *buffer, size_t nbytes)
{
    if (nbytes <= buffer->capacity - buffer->nbytes)
        return true;
    if (nbytes > SIZE_MAX / 4 || buffer->nbytes > SIZE_MAX / 4)
        return false;
    size_t capacity = buffer->capacity ? 2 * buffer->capacity : IMAGE_BUFFER_LEAST;
    if (capacity < buffer->nbytes + nbytes)
        capacity = buffer->nbytes + nbytes;
    unsigned char *bytes = realloc(buffer->bytes, capacity);
    if (!bytes)
        return false;
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return true;
}

bool dlpark__image_buffer_append(image_buffer *buffer, const void *bytes, size_t nbytes)
{
    if (!dlpark__image_buffer_reserve(buffer, nbytes))
        return false;
    if (nbytes)
        memcpy(buffer->bytes + buffer->nbytes, bytes, nbytes);
    buffer->nbytes += nbytes;
    return true;
}
