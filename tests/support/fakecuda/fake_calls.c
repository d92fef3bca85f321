#include "fake.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool initialised;
static atomic_bool in_child;
static atomic_long faults;
static char fault[200];
static bool pools = true;

/* -1: nobody has said yet, the environment does. */
static int mode = -1;

static long counts[FAKE_CALL_COUNT];

typedef struct failure {
    int call; /* FAKE_CALL_COUNT: any */
    long first, last, seen;
    int error; /* 0: none */
    bool happened;
} failure;

static failure failing;

#define CALL_NAME(name, parameters) #name,
static const char *const names[FAKE_CALL_COUNT] = {DRIVER_CALLS(CALL_NAME)};

/* ---- The lock, and what is noted ---- */

void fake_lock(void)
{
    if (!fake_this_thread.in_kernel)
        pthread_mutex_lock(&lock);
}

void fake_unlock(void)
{
    if (!fake_this_thread.in_kernel)
        pthread_mutex_unlock(&lock);
}

void fake_note(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(fault, sizeof fault, format, arguments);
    va_end(arguments);
    atomic_fetch_add(&faults, 1);
}

long fake_faults(void)
{
    return atomic_load(&faults);
}

const char *fake_fault(void)
{
    return fault;
}

/* ---- What driver it is ---- */

static int mode_now(void)
{
    static const struct {
        const char *name;
        fake_driver_mode mode;
    } modes[] = {{"stub", FAKE_MODE_STUB}, {"old", FAKE_MODE_OLD}, {"no-device", FAKE_MODE_NO_DEVICE}};
    const char *wanted = getenv("FAKECUDA");

    if (mode >= 0)
        return mode;
    mode = FAKE_MODE_USUAL;
    for (size_t i = 0; wanted != NULL && i < sizeof modes / sizeof *modes; i++)
        if (strcmp(wanted, modes[i].name) == 0)
            mode = (int)modes[i].mode;
    return mode;
}

void fake_mode(fake_driver_mode wanted)
{
    fake_lock();
    mode = (int)wanted;
    fake_unlock();
}

/* The driver shuts down with the process, before what was loaded earlier does. */
__attribute__((destructor)) static void shut_down(void)
{
    fake_mode(FAKE_MODE_ENDED);
}

void fake_uninit(void)
{
    fake_lock();
    initialised = false;
    fake_unlock();
}

void fake_pools(bool supported)
{
    fake_lock();
    pools = supported;
    fake_unlock();
}

bool fake_has_pools(void)
{
    return pools && mode_now() != FAKE_MODE_OLD;
}

/* ---- Errors to order ---- */

static int call_of(const char *function)
{
    for (int i = 0; i < FAKE_CALL_COUNT; i++)
        if (function != NULL && strcmp(names[i], function) == 0)
            return i;
    return FAKE_CALL_COUNT;
}

static void arm(const char *function, long first, long last, int error)
{
    if (function != NULL && call_of(function) == FAKE_CALL_COUNT)
        abort(); /* a test that misspells it would pass */
    fake_lock();
    failing = (failure){.call = call_of(function), .first = first, .last = last, .error = first > 0 ? error : 0};
    fake_unlock();
}

void fake_fail(const char *function, long nth, int error)
{
    arm(function, nth, nth, error);
}

void fake_fail_from(const char *function, long nth, int error)
{
    arm(function, nth, INT32_MAX, error);
}

bool fake_failed(void)
{
    fake_lock();
    bool happened = failing.happened;
    fake_unlock();
    return happened;
}

static CUresult ordered_error(fake_call call)
{
    if (failing.error == 0 || (failing.call != FAKE_CALL_COUNT && failing.call != (int)call))
        return CUDA_SUCCESS;
    failing.seen++;
    if (failing.seen < failing.first || failing.seen > failing.last)
        return CUDA_SUCCESS;
    failing.happened = true;
    return (CUresult)failing.error;
}

/* ---- Every call ---- */

static CUresult answer(fake_call call, unsigned needs)
{
    CUcontext context = fake_current();
    CUresult error = ordered_error(call);

    counts[call]++;
    if (error != CUDA_SUCCESS)
        return error;
    if (mode_now() == FAKE_MODE_ENDED)
        return CUDA_ERROR_DEINITIALIZED;
    if (mode_now() == FAKE_MODE_STUB)
        return CUDA_ERROR_STUB_LIBRARY;
    if ((needs & FAKE_NEEDS_INIT) != 0 && !initialised)
        return CUDA_ERROR_NOT_INITIALIZED;
    if ((needs & FAKE_NEEDS_CONTEXT) == FAKE_NEEDS_CONTEXT) {
        if (context == NULL)
            return CUDA_ERROR_INVALID_CONTEXT;
        if (context->references == 0)
            return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        if (context->lost != 0)
            return (CUresult)context->lost;
    }
    if ((needs & FAKE_UNSAFE_IN_CAPTURE) != 0 && fake_capture_forbids())
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return CUDA_SUCCESS;
}

CUresult fake_begin(fake_call call, unsigned needs)
{
    CUresult error;

    if (fake_this_thread.in_kernel) {
        fake_note("a kernel calls %s", names[call]);
        return CUDA_ERROR_NOT_PERMITTED;
    }
    /* Another thread of the parent may have held the lock. */
    if (atomic_load(&in_child)) {
        fake_note("%s in a forked child", names[call]);
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    pthread_mutex_lock(&lock);
    error = answer(call, needs);
    if (error != CUDA_SUCCESS)
        pthread_mutex_unlock(&lock);
    return error;
}

CUresult fake_end(CUresult result)
{
    pthread_mutex_unlock(&lock);
    return result;
}

static void after_fork(void)
{
    atomic_store(&in_child, true);
}

CUresult cuInit(unsigned int flags)
{
    static bool watched;

    FAKE_BEGIN(cuInit, FAKE_NEEDS_NOTHING);
    if (flags != 0)
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    if (mode_now() == FAKE_MODE_NO_DEVICE)
        return fake_end(CUDA_ERROR_NO_DEVICE);
    if (!watched && pthread_atfork(NULL, NULL, after_fork) != 0)
        return fake_end(CUDA_ERROR_OUT_OF_MEMORY);
    watched = true;
    initialised = true;
    return fake_end(CUDA_SUCCESS);
}

CUresult cuDriverGetVersion(int *version)
{
    FAKE_BEGIN(cuDriverGetVersion, FAKE_NEEDS_NOTHING);
    if (version == NULL)
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    *version = mode_now() == FAKE_MODE_OLD ? 10020 : 13000;
    return fake_end(CUDA_SUCCESS);
}

/* ---- Errors in words: no lock is needed, and they work at any time ---- */

#define RESULT_NAME(name, value, text) {(value), #name, (text)},
static const struct {
    int value;
    const char *name, *text;
} results[] = {DRIVER_RESULTS(RESULT_NAME)};

static CUresult say(CUresult result, const char **out, bool name)
{
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *out = NULL;
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        if (results[i].value == (int)result)
            *out = name ? results[i].name : results[i].text;
    return *out != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorName(CUresult result, const char **text)
{
    return say(result, text, true);
}

CUresult cuGetErrorString(CUresult result, const char **text)
{
    return say(result, text, false);
}

/* ---- Counters ---- */

long fake_calls(const char *function)
{
    long sum = 0;
    int wanted = call_of(function);

    if (function != NULL && wanted == FAKE_CALL_COUNT)
        abort();
    fake_lock();
    for (int i = 0; i < FAKE_CALL_COUNT; i++)
        if (function == NULL || i == wanted)
            sum += counts[i];
    fake_unlock();
    return sum;
}

void fake_reset(void)
{
    fake_drain();
    fake_schedule(FAKE_AT_ONCE);
    fake_free_waits(true);
    for (int i = 0; i < FAKE_DEVICES; i++)
        fake_lose(i, 0);
    fake_lock();
    mode = FAKE_MODE_USUAL;
    pools = true;
    failing = (failure){0};
    memset(counts, 0, sizeof counts);
    atomic_store(&faults, 0);
    fault[0] = '\0';
    fake_unlock();
}
