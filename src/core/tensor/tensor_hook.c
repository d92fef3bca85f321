/*
 * Memory of a caller's allocator: a small record before it remembers how it goes back.
 */
#include "tensor_parts.h"

dlpark_status dlpark__hook_new(const dlpark_allocator *allocator, size_t nbytes, size_t alignment_bytes,
                               dlpark__hook **out, dlpark_error *err)
{
    size_t total;

    if (__builtin_add_overflow(nbytes, sizeof(dlpark__hook), &total))
        return dlpark_error_set(err, DLPARK_E_MEMORY, "no memory for a tensor of %zu bytes", nbytes);
    dlpark__hook *hook = allocator->allocate(allocator->context, total, alignment_bytes);
    if (hook == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "the allocator has no %zu bytes for a tensor", total);
    if ((uintptr_t)hook % alignment_bytes != 0) {
        allocator->deallocate(allocator->context, hook, total, alignment_bytes);
        return dlpark_error_set(err, DLPARK_E_ALIGNMENT,
                                "the allocator was asked for %zu bytes aligned to %zu and gave %p", total,
                                alignment_bytes, (void *)hook);
    }
    *hook = (dlpark__hook){.allocator = allocator, .nbytes = total, .alignment_bytes = alignment_bytes};
    *out = hook;
    return DLPARK_OK;
}

void dlpark__hook_end(void *hook)
{
    dlpark__hook ended = *(dlpark__hook *)hook; /* its own memory goes back with the rest */

    if (ended.release != NULL)
        ended.release(ended.owner);
    ended.allocator->deallocate(ended.allocator->context, hook, ended.nbytes, ended.alignment_bytes);
}
