/*
 * The driver that dlpark has opened, used beside it: a kernel that takes its time, streams, and how much memory is free.
 */
#include "hardware.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

/* The text of a kernel, which any driver compiles for its device: waits, then writes. */
static const char slow_kernel[] = ".version 6.4\n"
                                  ".target sm_50\n"
                                  ".address_size 64\n"
                                  ".visible .entry slow(.param .u64 to, .param .u32 value, .param .u64 nanoseconds)\n"
                                  "{\n"
                                  "    .reg .pred %again;\n"
                                  "    .reg .b32 %value;\n"
                                  "    .reg .b64 %to, %limit, %start, %now;\n"
                                  "    ld.param.u64 %to, [to];\n"
                                  "    ld.param.u32 %value, [value];\n"
                                  "    ld.param.u64 %limit, [nanoseconds];\n"
                                  "    mov.u64 %start, %globaltimer;\n"
                                  "LOOP:\n"
                                  "    mov.u64 %now, %globaltimer;\n"
                                  "    sub.u64 %now, %now, %start;\n"
                                  "    setp.lt.u64 %again, %now, %limit;\n"
                                  "    @%again bra LOOP;\n"
                                  "    st.u32 [%to], %value;\n"
                                  "    ret;\n"
                                  "}\n";

/* What driver.h has not, as the fake has no compiler. */
CUresult cuModuleLoadData(void **module, const void *image);
CUresult cuModuleGetFunction(void **function, void *module, const char *name);
CUresult cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared_nbytes, CUstream stream, void **parameters,
                        void **extra);

/* What only the fake has, of fakecuda.h. */
int fake_launch(void *stream, void (*kernel)(void *argument), void *argument);
void *fake_touch(uint64_t address, size_t nbytes);
void fake_schedule(int order);
enum { FAKE_NEEDED_ONLY = 3 };

static void *library, *slow;
static CUcontext primary;

void *driver_find(const char *name)
{
    return dlsym(library, name);
}

bool driver_is_fake(void)
{
    return driver_find("fake_launch") != NULL;
}

void driver_push(void)
{
    if (DRIVER(cuCtxPushCurrent_v2)(primary) != CUDA_SUCCESS)
        abort();
}

void driver_pop(void)
{
    CUcontext popped;

    if (DRIVER(cuCtxPopCurrent_v2)(&popped) != CUDA_SUCCESS)
        abort();
}

static CUresult compile(void)
{
    void *module = NULL;
    CUresult result;

    driver_push();
    result = DRIVER(cuModuleLoadData)(&module, slow_kernel);
    if (result == CUDA_SUCCESS)
        result = DRIVER(cuModuleGetFunction)(&slow, module, "slow");
    driver_pop();
    return result;
}

bool driver_open(void)
{
    CUresult result;

    library = dlopen(cuda.library, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return false;
    }
    result = DRIVER(cuDevicePrimaryCtxRetain)(&primary, 0);
    if (result == CUDA_SUCCESS && driver_is_fake())
        DRIVER(fake_schedule)(FAKE_NEEDED_ONLY);
    else if (result == CUDA_SUCCESS)
        result = compile();
    if (result != CUDA_SUCCESS)
        fprintf(stderr, "the kernel of the checks: the driver's error %d\n", (int)result);
    return result == CUDA_SUCCESS;
}

/* ---- The slow kernel ---- */

typedef struct order {
    uint64_t address;
    uint32_t number;
} order;

static void write_number(void *argument)
{
    order *given = argument;
    void *memory = DRIVER(fake_touch)(given->address, sizeof given->number);

    if (memory != NULL)
        memcpy(memory, &given->number, sizeof given->number);
    free(given);
}

static CUresult launch_on_fake(CUstream stream, uint64_t address, uint32_t number)
{
    order *given = malloc(sizeof *given);

    if (given == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *given = (order){address, number};
    return (CUresult)DRIVER(fake_launch)(stream, write_number, given);
}

CUresult driver_launch_slow(CUstream stream, const void *address, uint32_t number)
{
    uint64_t to = (uint64_t)(uintptr_t)address, nanoseconds = SLOW_MS * UINT64_C(1000000);
    void *parameters[] = {&to, &number, &nanoseconds};

    if (driver_is_fake())
        return launch_on_fake(stream, to, number);
    return DRIVER(cuLaunchKernel)(slow, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
}

const char *driver_slow_kernel(void)
{
    static char words[64];

    (void)snprintf(words, sizeof words, driver_is_fake() ? "a kernel that runs late" : "a kernel of %d ms", SLOW_MS);
    return words;
}

/* ---- What the checks share ---- */

CUresult driver_free_nbytes(size_t *nbytes)
{
    size_t all;
    CUresult result;

    driver_push();
    result = DRIVER(cuMemGetInfo_v2)(nbytes, &all);
    driver_pop();
    return result;
}

double now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

verdict found(finding *seen, verdict said, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    (void)vsnprintf(seen->text, sizeof seen->text, format, values);
    va_end(values);
    return said;
}

CUresult stream_open(CUstream *stream, unsigned flags)
{
    CUresult result;

    driver_push();
    result = DRIVER(cuStreamCreate)(stream, flags);
    driver_pop();
    return result;
}

verdict number_make(finding *seen, dlpark_tensor *tensor, dlpark_view *view, DLDevice device)
{
    const dlpark_stream stream = {DLPARK_STREAM_DEFAULT, NULL};

    EXPECT_OK(dlpark_cuda_alloc(
        &cuda, tensor,
        &(dlpark_tensor_desc){.dtype = DLPARK_U32, .device = device, .ndim = 1, .shape = DLPARK_DIMS((int64_t[]){1})},
        NULL, view, err));
    EXPECT_CUDA(DRIVER(cuMemsetD8Async)((CUdeviceptr)(uintptr_t)view->data, 0, sizeof(uint32_t), NULL));
    EXPECT_OK(dlpark_cuda_wait(&cuda, (DLDevice){kDLCUDA, 0}, stream, err));
    return PASSED;
}

verdict number_read(finding *seen, const dlpark_view *view, CUstream stream, uint32_t *number)
{
    EXPECT_CUDA(DRIVER(cuMemcpyDtoHAsync_v2)(number, (CUdeviceptr)(uintptr_t)view->data, sizeof *number, stream));
    EXPECT_CUDA(DRIVER(cuStreamSynchronize)(stream));
    return PASSED;
}
