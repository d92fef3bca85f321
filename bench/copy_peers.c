/*
 * What copy_peers.py and cast_peers.py call: dlpark, the plain loops and memcpy on memory that Python owns, as often as it says, so that
 * the price of leaving Python is not in it. Built as a shared object.
 */
#include <dlpark/dlpark.h>
#include <string.h>

#include "copy_plain.h"

#define PEERS_API __attribute__((visibility("default")))

PEERS_API int peers_dlpark(const DLTensor *to, const DLTensor *from, int threads, int times);
PEERS_API int peers_cast(const DLTensor *to, const DLTensor *from, int times);
PEERS_API int peers_plain(int job, int element, void *to, const void *from, int64_t a, int64_t b, int times);
PEERS_API int peers_fresh(const DLTensor *from);
PEERS_API void peers_memcpy(void *to, const void *from, size_t nbytes, int times);

int peers_dlpark(const DLTensor *to, const DLTensor *from, int threads, int times)
{
    dlpark_view to_view, from_view;

    if (dlpark_check(to, 0, &to_view, NULL) || dlpark_check(from, 0, &from_view, NULL) ||
        dlpark_view_allow_write(&to_view, NULL))
        return -1;
    dlpark_status status = DLPARK_OK;
    for (int i = 0; i < times && status == DLPARK_OK; i++)
        status = dlpark_copy_threads(&to_view, &from_view, threads, NULL);
    return (int)status;
}

/* Into memory that is allocated for it, and given back. */
int peers_fresh(const DLTensor *from)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view to_view, from_view;
    dlpark_status status = dlpark_check(from, 0, &from_view, NULL);

    if (status == DLPARK_OK)
        status = dlpark_tensor_alloc(
            &tensor,
            &(dlpark_tensor_desc){.dtype = from->dtype, .ndim = from->ndim, .shape = DLPARK_DIMS(from_view.shape)},
            &to_view, NULL);
    if (status == DLPARK_OK)
        status = dlpark_copy(&to_view, &from_view, NULL);
    dlpark_tensor_release(&tensor);
    return (int)status;
}

int peers_plain(int job, int element, void *to, const void *from, int64_t a, int64_t b, int times)
{
    bool known = true;

    for (int i = 0; i < times; i++) {
        known = plain_copy((plain_job)job, element, to, from, a, b);
        __asm__ volatile("" : : "g"(to), "g"(from) : "memory");
    }
    return known;
}

void peers_memcpy(void *to, const void *from, size_t nbytes, int times)
{
    for (int i = 0; i < times; i++) {
        memcpy(to, from, nbytes);
        __asm__ volatile("" : : "g"(to), "g"(from) : "memory");
    }
}

int peers_cast(const DLTensor *to, const DLTensor *from, int times)
{
    dlpark_view to_view, from_view;

    if (dlpark_check(to, 0, &to_view, NULL) || dlpark_check(from, 0, &from_view, NULL) ||
        dlpark_view_allow_write(&to_view, NULL))
        return -1;
    dlpark_status status = DLPARK_OK;
    for (int i = 0; i < times && status == DLPARK_OK; i++)
        status = dlpark_cast(&to_view, &from_view, NULL, NULL);
    return (int)status;
}
