/*
 * A loader of OpenCL that is none: buffers in the host's memory, checked more strictly than an implementation does.
 *
 * It ends the program where a rule is broken that OpenCL leaves undefined: a reference that is dropped twice, a mapping
 * that is undone twice. A mapping is a copy, which goes back when it is undone, so that nothing passes by chance.
 */
#ifndef FAKEOPENCL_H
#define FAKEOPENCL_H

#include <stddef.h>
#include <stdint.h>

struct _cl_command_queue;
struct _cl_context;
struct _cl_mem;

/* What may be set; all 0: as an implementation is. */
typedef struct fakeopencl_settings {
    int32_t platforms_code; /* what clGetPlatformIDs() returns */
    int32_t devices_code;   /* what clGetDeviceIDs() returns */
    int32_t no_platforms;   /* of none of them, as by no error */
    uint32_t mem_type;      /* what objects are said to be */
    size_t context_devices; /* how many contexts are said to have */
    uint32_t align_nbits;   /* CL_DEVICE_MEM_BASE_ADDR_ALIGN; 0: 1024 */
} fakeopencl_settings;

extern fakeopencl_settings fakeopencl;

/* The n-th call from here on returns `code`; 0: none does. Calls that release or unmap are not counted. */
void fakeopencl_fail(long nth, int32_t code);
/* How many there were since. */
long fakeopencl_calls(void);
/* The function that was made to fail, "clFinish", or NULL. */
const char *fakeopencl_failed(void);
/* Contexts, queues, buffers, events and mappings that are alive. */
long fakeopencl_live(void);

/* What queues were given since the last call, a word each: "marker0 flush0 barrier1<0". The numbers are the queues'. */
const char *fakeopencl_log(void);

/* `device` is an index among all that are listed; -1: one that is not. */
struct _cl_context *fakeopencl_context(int device);
void fakeopencl_context_release(struct _cl_context *context);
struct _cl_command_queue *fakeopencl_queue(struct _cl_context *context, int number);
/* Its bytes; of a sub-buffer those of its parent's from its origin on. */
unsigned char *fakeopencl_bytes(struct _cl_mem *mem);
uint32_t fakeopencl_references(struct _cl_mem *mem);

#endif
