/*
 * The fake loader, opened, with two contexts and their queues; and that nothing is left of a test in it.
 */
#ifndef OPENCL_MADE_H
#define OPENCL_MADE_H

#include "test.h"

#include <dlfcn.h>
#include <dlpark/opencl.h>

#include "fakeopencl/fakeopencl.h"

/* Of CL/cl.h. */
enum { CL_READ_WRITE = 1, CL_WRITE_ONLY = 2, CL_READ_ONLY = 4, CL_USE_HOST_PTR = 8 };

static dlpark_opencl opencl;
static struct _cl_context *context, *other_context;
static struct _cl_command_queue *queue, *second_queue, *other_queue;
static long live_before;

struct _cl_mem *clCreateBuffer(struct _cl_context *where, uint64_t flags, size_t size, void *host, int32_t *code);
struct _cl_mem *clCreateSubBuffer(struct _cl_mem *parent, uint64_t flags, uint32_t kind, const void *region,
                                  int32_t *code);
int32_t clReleaseMemObject(struct _cl_mem *mem);
int32_t clReleaseCommandQueue(struct _cl_command_queue *which);

/* The fake is loaded, not linked: what it allocates must not be counted, nor fail. */
static inline void *opencl_made_find(const char *name)
{
    static void *fake;

    if (fake == NULL)
        fake = dlopen(FAKEOPENCL_PATH, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(fake);
    void *symbol = dlsym(fake, name);
    assert_non_null(symbol);
    return symbol;
}

#define FAKE(name)                 ((__typeof__(&name))(uintptr_t)opencl_made_find(#name))
#define clCreateBuffer             FAKE(clCreateBuffer)
#define clCreateSubBuffer          FAKE(clCreateSubBuffer)
#define clReleaseMemObject         FAKE(clReleaseMemObject)
#define clReleaseCommandQueue      FAKE(clReleaseCommandQueue)
#define fakeopencl_fail            FAKE(fakeopencl_fail)
#define fakeopencl_calls           FAKE(fakeopencl_calls)
#define fakeopencl_failed          FAKE(fakeopencl_failed)
#define fakeopencl_live            FAKE(fakeopencl_live)
#define fakeopencl_log             FAKE(fakeopencl_log)
#define fakeopencl_context         FAKE(fakeopencl_context)
#define fakeopencl_context_release FAKE(fakeopencl_context_release)
#define fakeopencl_queue           FAKE(fakeopencl_queue)
#define fakeopencl_bytes           FAKE(fakeopencl_bytes)
#define fakeopencl_references      FAKE(fakeopencl_references)
#define fakeopencl                 (*(fakeopencl_settings *)opencl_made_find("fakeopencl"))

static int opencl_made_open(void **state)
{
    (void)state;
    assert_ok(dlpark_opencl_open(&opencl, FAKEOPENCL_PATH, e));
    context = fakeopencl_context(1);
    other_context = fakeopencl_context(3);
    queue = fakeopencl_queue(context, 0);
    second_queue = fakeopencl_queue(context, 1);
    other_queue = fakeopencl_queue(other_context, 2);
    live_before = fakeopencl_live();
    return 0;
}

static int opencl_made_close(void **state)
{
    (void)state;
    (void)clReleaseCommandQueue(queue);
    (void)clReleaseCommandQueue(second_queue);
    (void)clReleaseCommandQueue(other_queue);
    fakeopencl_context_release(context);
    fakeopencl_context_release(other_context);
    return fakeopencl_live() == 0 ? 0 : -1;
}

/* What a test leaves behind is told of that test. */
static int opencl_made_nothing_left(void **state)
{
    (void)state;
    fakeopencl = (fakeopencl_settings){0};
    fakeopencl_fail(0, 0);
    (void)fakeopencl_log();
    assert_int_equal(fakeopencl_live(), live_before);
    return 0;
}

#define OPENCL_TEST(name) cmocka_unit_test_teardown(name, opencl_made_nothing_left)

static inline struct _cl_mem *opencl_made_buffer(uint64_t flags, size_t nbytes)
{
    int32_t code = -1;
    struct _cl_mem *mem = clCreateBuffer(context, flags, nbytes, NULL, &code);

    assert_int_equal(code, 0);
    for (size_t i = 0; i < nbytes; i++)
        fakeopencl_bytes(mem)[i] = (unsigned char)i;
    return mem;
}

static inline struct _cl_mem *opencl_made_part(struct _cl_mem *parent, size_t origin, size_t nbytes)
{
    int32_t code = -1;
    struct _cl_mem *mem = clCreateSubBuffer(parent, 0, 0x1220, (const size_t[]){origin, nbytes}, &code);

    assert_int_equal(code, 0);
    return mem;
}

/* u8[rows, columns] with a row pitch, from a byte on. */
static inline dlpark_tensor_desc opencl_made_desc(const int64_t *shape, const int64_t *strides, uint64_t byte_offset)
{
    return (dlpark_tensor_desc){.dtype = DLPARK_U8,
                                .ndim = 2,
                                .shape = DLPARK_DIMS(shape),
                                .strides = DLPARK_DIMS(strides),
                                .byte_offset = byte_offset};
}

#endif
