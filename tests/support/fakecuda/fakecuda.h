/*
 * A CUDA driver without a GPU, for tests: build/.../fakecuda/libcuda.so.1, with two devices made of host memory. Link it,
 * or find these controls by dlsym(); the driver's own calls are in driver.h.
 *
 * Strict: it answers as the driver does where a rule is broken (no current context, not initialised, freed twice, outside
 * of the allocation, a graph being captured), and where the documentation leaves things open it refuses. Memory of a device
 * cannot be touched at its address, as on a real one: that is a segmentation fault; fake_memory() says where it lies.
 * Freed memory stays mapped, is overwritten and unreadable for the address sanitizer and valgrind, and its address does not
 * come back soon.
 *
 * Lazy, when told so: streams are queues, and their work runs as late and in the order that fake_schedule() says, within
 * what CUDA's model of streams, events and the legacy default stream allows. What works by luck fails here every time.
 *
 * Every function may be called on any thread; after fork() the driver's calls fail in the child, as the real ones do.
 */
#ifndef FAKECUDA_H
#define FAKECUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_API __attribute__((visibility("default")))

enum {
    FAKE_DEVICES = 2,
    FAKE_UNWRITTEN = 0xCD, /* every byte of fresh memory */
    FAKE_FREED = 0xEE,     /* every byte of freed memory */
};

/* ---- What driver it is ---- */

/* Also by the environment, until the first call of fake_mode(): FAKECUDA=stub, old, or no-device. */
typedef enum fake_driver_mode {
    FAKE_MODE_USUAL,     /* CUDA 13.0, pools, two devices */
    FAKE_MODE_OLD,       /* CUDA 10.2, which has no pools: their calls say "not supported" */
    FAKE_MODE_STUB,      /* the toolkit's stub: cuInit() fails with 34, and so does everything else */
    FAKE_MODE_NO_DEVICE, /* cuInit() fails with 100, as on a machine without a GPU */
    FAKE_MODE_ENDED, /* the process is exiting: every call fails with 4. So it is after the library's own destructor */
} fake_driver_mode;

FAKE_API void fake_mode(fake_driver_mode mode);

/* As if cuInit() had never been called. Contexts, memory, streams and events stay. */
FAKE_API void fake_uninit(void);

/* The context of a device is lost, with that error (719, say), for every call that needs it; 0: it is well again. */
FAKE_API void fake_lose(int device, int error);

/* Whether pools are supported by the devices; they are at first. */
FAKE_API void fake_pools(bool supported);

/* Whether cuMemFree of memory that is not of a pool waits for the device first: the driver does, but its documentation says
   only that it may. It does at first. */
FAKE_API void fake_free_waits(bool waits);

/* Controls and counters as at the start, after all work that is queued has run. What is alive stays alive, contexts and
   captures too. */
FAKE_API void fake_reset(void);

/* ---- Errors ---- */

/* The n-th call from here on of the function ("cuMemFree_v2"; NULL: of any) fails with this error and does nothing; 0: none. */
FAKE_API void fake_fail(const char *function, long nth, int error);

/* The same for the n-th and all that follow. */
FAKE_API void fake_fail_from(const char *function, long nth, int error);

/* Whether a call has failed by fake_fail() since it was told. */
FAKE_API bool fake_failed(void);

/* ---- Counters ---- */

/* How often a function was called since the last fake_reset(); NULL: all of them together. */
FAKE_API long fake_calls(const char *function);

typedef enum fake_kind {
    FAKE_MEMORY, /* of cuMemAlloc */
    FAKE_POOL_MEMORY,
    FAKE_MANAGED_MEMORY,
    FAKE_HOST_MEMORY, /* page-locked */
    FAKE_EVENT,
    FAKE_STREAM,  /* without the default streams */
    FAKE_PRIMARY, /* references to primary contexts */
    FAKE_WORK,    /* queued and not yet run */
    FAKE_KINDS,
} fake_kind;

/* How many are alive; memory that a queued cuMemFreeAsync will free is. */
FAKE_API long fake_live(fake_kind kind);

/* All memory, events, streams and queued work; not the primary contexts, which programs keep. */
FAKE_API long fake_live_all(void);

/* How many contexts the calling thread has pushed and not popped. */
FAKE_API int fake_context_depth(void);

/* Things that no correct program does and the driver would not report: memory used after its end or before its beginning
   by queued work, a driver's call from a kernel or in a forked child. */
FAKE_API long fake_faults(void);

/* The last of them in words, "" if there was none. Until the next fault. */
FAKE_API const char *fake_fault(void);

/* ---- Memory and kernels ---- */

/* Where the host finds what is at a device's address; NULL if that is no memory in use. */
FAKE_API void *fake_memory(uint64_t address);

/* The same for a kernel that uses it now; a fault if not all of the bytes are in one allocation that is in use. */
FAKE_API void *fake_touch(uint64_t address, size_t nbytes);

/* Launches a kernel in a stream of the current context: a function of the host, which must call no other function of the
   driver. `argument` must outlive the work. Returns a CUresult. */
FAKE_API int fake_launch(void *stream, void (*kernel)(void *argument), void *argument);

/* ---- When work runs ---- */

typedef enum fake_order {
    FAKE_AT_ONCE,      /* when it is queued; so it is at first */
    FAKE_OLDEST_FIRST, /* when waited for; streams run in the order of their creation, each as far as it can */
    FAKE_NEWEST_FIRST, /* in the opposite order */
    FAKE_NEEDED_ONLY,  /* and nothing but what is waited for */
    FAKE_SHUFFLED,     /* in an order that fake_shuffle() says */
} fake_order;

FAKE_API void fake_schedule(fake_order order);

/* Another order for FAKE_SHUFFLED. */
FAKE_API void fake_shuffle(uint64_t seed);

/* Runs all work that is queued. */
FAKE_API void fake_drain(void);

#endif
