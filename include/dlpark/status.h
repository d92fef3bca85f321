/**
 * Status codes and the optional error text.
 *
 *     dlpark_error err;
 *     if (dlpark_dtype_parse("f33", &dtype, &err))
 *         fprintf(stderr, "%s: %s\n", dlpark_status_name(err.status), err.message);
 *
 * A function that can fail returns a dlpark_status, and says what was wrong, with the offending numbers, in a
 * dlpark_error of the caller's. There is no thread-local or global state, no errno, no printing, no abort. Pointers must
 * not be NULL unless a parameter is optional.
 */
#ifndef DLPARK_STATUS_H
#define DLPARK_STATUS_H

#include <stdint.h>

#include "api.h"

DLPARK_BEGIN_C

/** X(name, value, Python exception, default text). Values are spaced by family and never reused. */
#define DLPARK_STATUS_TABLE(X)                                                                                         \
    X(OK, 0, None, "no error")                                                                                         \
    X(E_ARGUMENT, 10, ValueError, "an argument is out of range or contradicts another")                                \
    X(E_NOT_EMPTY, 11, ValueError, "the output already holds something")                                               \
    X(E_INDEX, 12, IndexError, "an index is out of range")                                                             \
    X(E_RANK, 20, BufferError, "the rank is negative or too large")                                                    \
    X(E_SHAPE, 21, BufferError, "the shape is missing, negative or not the expected one")                              \
    X(E_STRIDES, 22, BufferError, "the strides are not usable")                                                        \
    X(E_OVERFLOW, 23, BufferError, "a size does not fit 63 bits or the address space")                                 \
    X(E_LAYOUT, 24, BufferError, "the elements are not compact in row-major order")                                    \
    X(E_DATA, 25, BufferError, "the data pointer is NULL although there are elements")                                 \
    X(E_ALIGNMENT, 26, BufferError, "the data is not aligned as required")                                             \
    X(E_DTYPE, 30, BufferError, "the dtype is unknown or not the expected one")                                        \
    X(E_VALUE, 31, OverflowError, "a value does not fit the dtype")                                                    \
    X(E_DEVICE, 40, BufferError, "the device is unknown or not the expected one")                                      \
    X(E_VERSION, 50, BufferError, "the DLPack major version is not ours")                                              \
    X(E_FLAGS, 51, BufferError, "a flag is unknown, or lost on the way out")                                           \
    X(E_READ_ONLY, 52, BufferError, "the memory must not be written")                                                  \
    X(E_MEMORY, 60, MemoryError, "out of memory")                                                                      \
    X(E_FOREIGN, 70, RuntimeError, "another library's function failed")                                                \
    X(E_IO, 80, OSError, "reading or writing a file failed")                                                           \
    X(E_NOT_FOUND, 81, FileNotFoundError, "there is no such file")                                                     \
    X(E_PERMISSION, 82, PermissionError, "the file may not be accessed")                                               \
    X(E_FORMAT, 83, ValueError, "the file is damaged or of another format")                                            \
    X(E_UNSUPPORTED, 84, ValueError, "the file format cannot express this")                                            \
    X(E_LIMIT, 85, ValueError, "a limit against hostile files was reached")

/** What a function has to say. 0 is success; anything else names one kind of failure. Four bytes in every build. */
typedef enum dlpark_status {
#define DLPARK_STATUS_ENUMERATOR(name, value, exception, text) DLPARK_##name = (value),
    DLPARK_STATUS_TABLE(DLPARK_STATUS_ENUMERATOR)
#undef DLPARK_STATUS_ENUMERATOR
        DLPARK_STATUS_PIN_32 = 0x7fffffff /**< keeps the enum at 32 bits; never returned */
} dlpark_status;

/** Bytes of dlpark_error.message, the final zero included. */
#define DLPARK_ERROR_MESSAGE_NBYTES 508

/**
 * The reason of a failure, in the caller's own memory. Needs no initialising and no cleaning up.
 * Written only when a function fails; always terminated; valid UTF-8, whatever it quotes: a text that is too long is cut
 * between two characters. The layout is frozen.
 */
typedef struct dlpark_error {
    dlpark_status status;                      /**< what the function returned */
    char message[DLPARK_ERROR_MESSAGE_NBYTES]; /**< one sentence in English, UTF-8 */
} dlpark_error;

/** A short text by value: `printf("%s", dlpark_dtype_name(dtype).text)`. Always terminated. */
typedef struct dlpark_name {
    char text[48];
} dlpark_name;

/**
 * The name of a status, such as "E_OVERFLOW". "E_UNKNOWN" for a value that is not in the table.
 *
 * @return a static string, never NULL.
 * Threads: any.
 */
DLPARK_API const char *dlpark_status_name(dlpark_status status);

/** What a status means in general, such as "out of memory". A static string, never NULL. Threads: any. */
DLPARK_API const char *dlpark_status_text(dlpark_status status);

/** The Python exception that stands for a status, such as "BufferError"; "None" for DLPARK_OK. A static string. */
DLPARK_API const char *dlpark_status_exception(dlpark_status status);

/**
 * Writes a formatted message and returns `status`, for callbacks and adapters that report through dlpark_error.
 *
 * @param err     out, optional. Untouched when NULL.
 * @param status  in. Not DLPARK_OK.
 * @param format  in. As printf's; the result is cut to fit, and U+FFFD stands for each byte that is not UTF-8. Control
 *                characters stay. NULL takes the status' own text. The arguments may point into `err`.
 * @return `status`.
 * Threads: any; independent of the locale but for what `format` itself asks (floating point).
 */
DLPARK_API DLPARK_COLD dlpark_status dlpark_error_set(dlpark_error *err, dlpark_status status, const char *format, ...)
    DLPARK_PRINTF(3, 4);

/** Returns from the calling function with the status of `expression` unless that is DLPARK_OK. */
#define DLPARK_TRY(expression)                                                                                         \
    do {                                                                                                               \
        dlpark_status dlpark_try_status = (expression);                                                                \
        if (dlpark_try_status != DLPARK_OK)                                                                            \
            return dlpark_try_status;                                                                                  \
    } while (0)

DLPARK_END_C

#endif
