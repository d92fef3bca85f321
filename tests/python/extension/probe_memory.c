/*
 * Memory, as far as the tests look at it: how much is asked for and alive, and what happens when there is none.
 */
#include "failing_alloc.h"
#include "probe.h"

#include <stdatomic.h>
#include <stdlib.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

/* ---- Allocations of Python, and of this module ---- */

static atomic_size_t memory_nallocated;

static void memory_count(void)
{
    atomic_fetch_add_explicit(&memory_nallocated, 1, memory_order_relaxed);
}

static void *memory_malloc(void *ctx, size_t nbytes)
{
    PyMemAllocatorEx *allocator = ctx;

    memory_count();
    return allocator->malloc(allocator->ctx, nbytes);
}

static void *memory_calloc(void *ctx, size_t count, size_t nbytes)
{
    PyMemAllocatorEx *allocator = ctx;

    memory_count();
    return allocator->calloc(allocator->ctx, count, nbytes);
}

static void *memory_realloc(void *ctx, void *memory, size_t nbytes)
{
    PyMemAllocatorEx *allocator = ctx;

    memory_count();
    return allocator->realloc(allocator->ctx, memory, nbytes);
}

static void memory_free(void *ctx, void *memory)
{
    PyMemAllocatorEx *allocator = ctx;

    allocator->free(allocator->ctx, memory);
}

/* The C library's functions, as far as this module, the kit and the library in it call them: see CMakeLists.txt. */
void *__real_malloc(size_t nbytes);
void *__real_calloc(size_t count, size_t nbytes);
void *__real_realloc(void *memory, size_t nbytes);
void *__real_aligned_alloc(size_t alignment, size_t nbytes);
int __real_posix_memalign(void **out, size_t alignment, size_t nbytes);
void *__wrap_malloc(size_t nbytes);
void *__wrap_calloc(size_t count, size_t nbytes);
void *__wrap_realloc(void *memory, size_t nbytes);
void *__wrap_aligned_alloc(size_t alignment, size_t nbytes);
int __wrap_posix_memalign(void **out, size_t alignment, size_t nbytes);

void *__wrap_malloc(size_t nbytes)
{
    memory_count();
    return __real_malloc(nbytes);
}

void *__wrap_calloc(size_t count, size_t nbytes)
{
    memory_count();
    return __real_calloc(count, nbytes);
}

void *__wrap_realloc(void *memory, size_t nbytes)
{
    memory_count();
    return __real_realloc(memory, nbytes);
}

void *__wrap_aligned_alloc(size_t alignment, size_t nbytes)
{
    memory_count();
    return __real_aligned_alloc(alignment, nbytes);
}

int __wrap_posix_memalign(void **out, size_t alignment, size_t nbytes)
{
    memory_count();
    return __real_posix_memalign(out, alignment, nbytes);
}

/* ---- Calls in a loop, which allocates nothing itself ---- */

/* A function and its arguments, as memory_loop() calls them. */
typedef struct memory_job {
    PyObject *function;
    PyObject *args[DLPARK_SIGNATURE_MAX_ARGUMENTS];
    Py_ssize_t nargs;
    long times;
} memory_job;

/* (function, tuple of arguments, times) */
static int memory_read(PyObject *args, memory_job *job)
{
    PyObject *tuple;

    if (!PyArg_ParseTuple(args, "OO!l", &job->function, &PyTuple_Type, &tuple, &job->times))
        return -1;
    job->nargs = PyTuple_Size(tuple);
    for (Py_ssize_t i = 0; i < job->nargs && i < DLPARK_SIGNATURE_MAX_ARGUMENTS; i++)
        job->args[i] = PyTuple_GetItem(tuple, i);
    return 0;
}

static int memory_loop(const memory_job *job, long times)
{
    for (long i = 0; i < times; i++) {
        PyObject *result = PyObject_Vectorcall(job->function, job->args, (size_t)job->nargs, NULL);
        if (result == NULL)
            return -1;
        Py_DECREF(result);
    }
    return 0;
}

/* repeat(function, args, times): calls it so often, and drops what it returns. */
static PyObject *memory_repeat(PyObject *module, PyObject *args)
{
    memory_job job;

    (void)module;
    if (memory_read(args, &job) < 0 || memory_loop(&job, job.times) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* count_allocations(function, args, times): how often memory was asked for, of Python or of the C library, in so many
 * calls after a first one. */
static PyObject *memory_count_allocations(PyObject *module, PyObject *args)
{
    static const PyMemAllocatorDomain domains[] = {PYMEM_DOMAIN_RAW, PYMEM_DOMAIN_MEM, PYMEM_DOMAIN_OBJ};
    PyMemAllocatorEx before[3];
    memory_job job;

    (void)module;
    if (memory_read(args, &job) < 0 || memory_loop(&job, 1) < 0)
        return NULL;
    for (int i = 0; i < 3; i++) {
        PyMem_GetAllocator(domains[i], &before[i]);
        PyMemAllocatorEx counting = {&before[i], memory_malloc, memory_calloc, memory_realloc, memory_free};
        PyMem_SetAllocator(domains[i], &counting);
    }
    atomic_store(&memory_nallocated, 0);
    int status = memory_loop(&job, job.times);
    size_t counted = atomic_load(&memory_nallocated);
    for (int i = 0; i < 3; i++)
        PyMem_SetAllocator(domains[i], &before[i]);
    return status == 0 ? PyLong_FromSize_t(counted) : NULL;
}

/* heap_nbytes(): what is in use of the C library's heap, whoever asked for it; 0 where that cannot be known. */
static PyObject *memory_heap_nbytes(PyObject *module, PyObject *ignored)
{
    size_t nbytes = 0;

    (void)module;
    (void)ignored;
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    struct mallinfo2 info = mallinfo2();
    nbytes = info.uordblks + info.hblkhd;
#endif
    return PyLong_FromSize_t(nbytes);
}

/* ---- Memory that fails: there where failing_malloc.c is preloaded ---- */

#pragma weak failing_alloc_arm
#pragma weak failing_alloc_arm_from
#pragma weak failing_alloc_count
#pragma weak failing_alloc_live

static bool memory_is_guarded(void)
{
    if (failing_alloc_arm != NULL)
        return true;
    PyErr_SetString(PyExc_RuntimeError, "failing_malloc.so is not preloaded");
    return false;
}

/* live(): how many blocks are allocated in the process. */
static PyObject *memory_live(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    return memory_is_guarded() ? PyLong_FromLong(failing_alloc_live()) : NULL;
}

/* The pending exception itself, without a traceback. */
static PyObject *memory_caught(void)
{
    pending_error saved = dlpark__py_error_save();
    PyObject *exception = Py_XNewRef(dlpark__py_error_value(&saved));

    dlpark__py_error_discard(&saved);
    return exception != NULL ? exception : PyErr_Format(PyExc_SystemError, "a failure without an exception");
}

/* starve(nth, function, *args): whether the nth allocation of the call, which fails, was asked for, and what the call
 * returned, or its exception. A negative nth: all from that one on fail. */
static PyObject *memory_starve(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    if (nargs < 2 || !memory_is_guarded())
        return PyErr_Occurred() != NULL ? NULL : PyErr_Format(PyExc_TypeError, "a number and a function are needed");
    long nth = PyLong_AsLong(args[0]);
    if (PyErr_Occurred() != NULL)
        return NULL;
    if (nth < 0)
        failing_alloc_arm_from(-nth);
    else
        failing_alloc_arm(nth);
    PyObject *result = PyObject_Vectorcall(args[1], args + 2, (size_t)nargs - 2, NULL);
    bool has_failed = failing_alloc_count() >= labs(nth);
    failing_alloc_arm(0);
    if (result == NULL)
        result = memory_caught();
    return result != NULL ? Py_BuildValue("(NN)", PyBool_FromLong(has_failed), result) : NULL;
}

PyMethodDef probe_memory_functions[] = {
    {"count_allocations", memory_count_allocations, METH_VARARGS, NULL},
    {"heap_nbytes", memory_heap_nbytes, METH_NOARGS, NULL},
    {"live", memory_live, METH_NOARGS, NULL},
    {"repeat", memory_repeat, METH_VARARGS, NULL},
    {"starve", (PyCFunction)(void (*)(void))memory_starve, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};
