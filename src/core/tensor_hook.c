/*
 * Memory of a caller's allocator: a small record before it remembers how it goes back.
 */
#include "internal.h"

dlpark__hook *dlpark__hook_new(const dlpark_allocator *allocator, size_t nbytes, size_t alignment_bytes)
{
    size_t total;

    if (__builtin_add_overflow(nbytes, sizeof(dlpark__hook), &total))
        return NULL;
    dlpark__hook *hook = allocator->allocate(allocator->context, total, alignment_bytes);
    if (hook != NULL)
        *hook = (dlpark__hook){.allocator = allocator, .nbytes = total, .alignment_bytes = alignment_bytes};
    return hook;
}

void dlpark__hook_end(void *hook)
{
    dlpark__hook ended = *(dlpark__hook *)hook; /* its own memory goes back with the rest */

    if (ended.release != NULL)
        ended.release(ended.owner);
    ended.allocator->deallocate(ended.allocator->context, hook, ended.nbytes, ended.alignment_bytes);
}
