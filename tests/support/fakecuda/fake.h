/*
 * What the fake driver's files share. One lock guards everything; a call that has begun holds it.
 */
#ifndef FAKECUDA_FAKE_H
#define FAKECUDA_FAKE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver.h"
#include "fakecuda.h"

/* ---- Calls (fake_calls.c) ---- */

#define FAKE_INDEX(name, parameters) FAKE_CALL_##name,
typedef enum fake_call { DRIVER_CALLS(FAKE_INDEX) FAKE_CALL_COUNT } fake_call;
#undef FAKE_INDEX

/* What a call needs, so that it is answered as the driver does where it is not there. */
enum {
    FAKE_NEEDS_NOTHING = 0,
    FAKE_NEEDS_INIT = 1,
    FAKE_NEEDS_CONTEXT = 2 | FAKE_NEEDS_INIT,
    FAKE_UNSAFE_IN_CAPTURE = 4, /* "potentially unsafe": it is not ordered by a stream, and waits or changes memory */
};

/* Counts the call and takes the lock. An error: the call must return it, and the lock is not held. */
CUresult fake_begin(fake_call call, unsigned needs);

/* Gives the lock back and passes the result on. */
CUresult fake_end(CUresult result);

#define FAKE_BEGIN(name, needs)                                                                                        \
    do {                                                                                                               \
        CUresult fake_refused = fake_begin(FAKE_CALL_##name, (needs));                                                 \
        if (fake_refused != CUDA_SUCCESS)                                                                              \
            return fake_refused;                                                                                       \
    } while (0)

/* For the controls: nothing is counted, and a kernel may call them. */
void fake_lock(void);
void fake_unlock(void);

/* Notes a fault in words. */
void fake_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

bool fake_has_pools(void);

/* ---- Contexts (fake_contexts.c) ---- */

struct CUctx_st {
    int device;
    long references;
    int lost; /* the error that it has, 0: none */
};

typedef struct fake_thread {
    CUcontext stack[32];
    int depth;
    CUstreamCaptureMode mode;
    bool in_kernel;
    CUstream per_thread[FAKE_DEVICES];
} fake_thread;

extern _Thread_local fake_thread fake_this_thread;
extern struct CUctx_st fake_contexts[FAKE_DEVICES];

CUcontext fake_current(void);
bool fake_is_context(CUcontext context);

/* ---- Memory (fake_memory.c) ---- */

typedef struct fake_block {
    fake_kind kind;
    CUcontext context;
    CUdeviceptr address;
    size_t nbytes;
    unsigned long id;
    bool used;    /* there is or was memory here */
    bool reached; /* its stream has come to its allocation; true from the start where that is of no stream */
    bool doomed;  /* a stream will come to its end: nothing new may use it */
    bool freed;
} fake_block;

/* The allocation that an address lies in, also a freed one; NULL: none. */
fake_block *fake_block_at(CUdeviceptr address);

/* The same with all of the bytes in it, for work that is queued now; NULL if it is freed, will be, or is too short. */
fake_block *fake_block_usable(CUdeviceptr address, size_t nbytes);

/* Where the host finds the address of a block. */
void *fake_alias(CUdeviceptr address);

CUresult fake_allocate(fake_kind kind, CUcontext context, size_t nbytes, fake_block **out);
void fake_free_block(fake_block *block);

/* All memory of a context, whose last reference went. */
void fake_free_all(CUcontext context);
long fake_block_count(fake_kind kind);

/* All bytes of a device's memory, and those that are free. */
size_t fake_memory_info(int device, size_t *free_nbytes);

/* ---- Work in streams (fake_work.c) ---- */

/* A place in a stream, as events hold it. */
typedef struct fake_fence {
    long references;
    CUstream stream;
    uint64_t ticket;
    bool done;
} fake_fence;

typedef enum fake_task { FAKE_KERNEL, FAKE_COPY, FAKE_SET, FAKE_BORN, FAKE_END, FAKE_RECORD, FAKE_WAIT } fake_task;

typedef struct fake_work {
    struct fake_work *next;
    uint64_t ticket; /* rises over all streams */
    fake_task task;
    void (*kernel)(void *argument);
    void *argument;
    fake_block *block; /* FAKE_BORN, FAKE_END */
    fake_fence *fence; /* FAKE_RECORD, FAKE_WAIT */
    CUdeviceptr to, from;
    size_t to_pitch, from_pitch, width, height;
    unsigned char value;
    unsigned char staged[]; /* what a copy from pageable memory takes at once */
} fake_work;

struct CUstream_st {
    bool open;     /* the handle is valid */
    bool blocking; /* ordered against the legacy default stream */
    bool counted;  /* no default stream */
    CUcontext context;
    fake_work *first, *last;
    CUstreamCaptureStatus capture;
    CUstreamCaptureMode capture_mode;
    fake_thread *capture_thread;
    CUstream capture_origin; /* where the capture began that this stream is part of */
    unsigned long capture_id;
    bool capture_joined; /* the origin waits for all that this stream has captured */
};

enum { FAKE_STREAMS = 256 };

extern struct CUstream_st fake_streams[FAKE_STREAMS]; /* the first FAKE_DEVICES are the legacy default streams */

/* Zeroed work with room behind it; NULL without memory. */
fake_work *fake_new_work(fake_task task, size_t nbytes);

/* Work that was not queued; NULL: nothing. */
void fake_drop_work(fake_work *work);

/* Takes the work: into the queue of the stream, and runs it where that is the order of the day. */
void fake_queue(CUstream stream, fake_work *work);

bool fake_is_idle(CUstream stream);
void fake_run_stream(CUstream stream);
void fake_run_fence(fake_fence *fence);
void fake_run_context(CUcontext context);
void fake_run_all(void);
void fake_release_fence(fake_fence *fence);
long fake_work_count(void);

/* ---- Streams, events and captures (fake_streams.c, fake_events.c, fake_capture.c) ---- */

/* The stream that a handle means to the calling thread, in the current context or, `anywhere`, in another; checks that it may
   be given work. */
CUresult fake_find_stream(CUstream handle, bool anywhere, CUstream *out);

/* Is there one that the calling thread's unsafe calls must leave alone? If so all those captures are spoilt. */
bool fake_capture_forbids(void);

/* Spoils every capture of a context, for whoever waits for all of it. False if there is none. */
bool fake_capture_spoil(CUcontext context, bool blocking_only);
void fake_capture_spoil_stream(CUstream stream);
void fake_capture_spoil_id(unsigned long id);

/* Is there one in a stream that the context's legacy default stream waits for? */
bool fake_capture_holds(CUcontext context);

/* Is it being captured, so that what it is given is not to run? An error where the capture is spoilt. */
CUresult fake_capture_takes(CUstream stream, bool *takes);

/* A stream waits for an event that was recorded in a capture, in the stream `from`: it becomes part of it. */
CUresult fake_capture_join(CUstream stream, CUstream from, unsigned long id);

/* All streams and events of a context, whose last reference went. */
void fake_close_streams(CUcontext context);
void fake_close_events(CUcontext context);
long fake_stream_count(void);
long fake_event_count(void);

#endif
