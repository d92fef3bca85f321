/*
 * What is to be seen on a machine with a GPU, as a program that writes a report: its checks, and what they share. The fake
 * driver of tests/support/fakecuda is taken as well, so that the program itself is known to work; the report says so then.
 */
#ifndef HARDWARE_H
#define HARDWARE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <dlpark/cuda.h>
#include <dlpark/transfer.h>
#include <dlpark/transform.h>

#include "fakecuda/driver.h"

/* How long the slow kernel runs, and what is much less than that. */
enum { SLOW_MS = 300, SHORT_MS = 100 };

typedef enum verdict { PASSED, FAILED, LEFT_OUT } verdict;

/* What a check has seen: for the report, or why it failed. */
typedef struct finding {
    char text[400];
} finding;

typedef struct check {
    const char *what;
    verdict (*run)(finding *seen);
} check;

extern const check memory_checks[], stream_checks[], end_checks[]; /* up to one without a name */
extern dlpark_cuda cuda;

/* What `hardware --ending` does instead: see hardware_ends.c. */
int end_with_a_tensor(void);

/* Writes the words, and returns the verdict. */
verdict found(finding *seen, verdict said, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Inside a check: what has to hold, or what was seen instead. */
#define EXPECT(holds, ...)                                                                                             \
    do {                                                                                                               \
        if (!(holds))                                                                                                  \
            return found(seen, FAILED, __VA_ARGS__);                                                                   \
    } while (0)

/* The same of a function of dlpark that is given `err`. */
#define EXPECT_OK(call)                                                                                                \
    do {                                                                                                               \
        dlpark_error error_, *err = &error_;                                                                           \
        if ((call) != DLPARK_OK)                                                                                       \
            return found(seen, FAILED, "%.*s: %s", (int)strcspn(#call, "("), #call, err->message);                     \
    } while (0)

/* And of a function of the driver's, called in the primary context of cuda:0. */
#define EXPECT_CUDA(call)                                                                                              \
    do {                                                                                                               \
        CUresult result_;                                                                                              \
        driver_push();                                                                                                 \
        result_ = (call);                                                                                              \
        driver_pop();                                                                                                  \
        if (result_ != CUDA_SUCCESS)                                                                                   \
            return found(seen, FAILED, "%s: the driver's error %d", #call, (int)result_);                              \
    } while (0)

/* ---- The driver, beside dlpark (hardware_driver.c) ---- */

/* The driver's functions, by the names that driver.h has for them: DRIVER(cuMemAlloc_v2)(&pointer, nbytes). */
#define DRIVER(name) ((__typeof__(&name))(uintptr_t)driver_find(#name))

/* NULL: the driver has none of this name. */
void *driver_find(const char *name);

/* Finds what the checks need of the driver that `cuda` was opened from; false, having said why. */
bool driver_open(void);

/* Whether it is the fake one: there is no GPU then. */
bool driver_is_fake(void);

/* The primary context of cuda:0 current on this thread, and as it was again. */
void driver_push(void);
void driver_pop(void);

/* Launches a kernel that waits for SLOW_MS, then writes the number at an address that the device can write. With the fake
   driver nothing waits: the kernel runs when somebody waits for it, and not before. Inside a context. */
CUresult driver_launch_slow(CUstream stream, const void *address, uint32_t number);

/* How many bytes of cuda:0 are free. */
CUresult driver_free_nbytes(size_t *nbytes);

/* The slow kernel, for people. */
const char *driver_slow_kernel(void);

double now_ms(void);

/* A stream of cuda:0 that is not ordered against the default stream, or one that is. */
CUresult stream_open(CUstream *stream, unsigned flags);

/* One u32 of a device's, written as 0, and what a stream that is not waited for by others sees there. */
verdict number_make(finding *seen, dlpark_tensor *tensor, dlpark_view *view, DLDevice device);
verdict number_read(finding *seen, const dlpark_view *view, CUstream stream, uint32_t *number);

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        verdict verdict_ = (call);                                                                                     \
        if (verdict_ != PASSED)                                                                                        \
            return verdict_;                                                                                           \
    } while (0)

#endif
