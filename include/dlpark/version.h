/**
 * The version of the library, and the version of the DLPack ABI that it speaks.
 *
 *     if (!dlpark_abi_is_compatible(managed->version))
 *         dlpark_managed_release(&managed);   // the only thing that another major version allows
 *
 * The three numbers below are the one place where the library's version is written. Pointers must not be NULL unless a
 * parameter is optional.
 */
#ifndef DLPARK_VERSION_H
#define DLPARK_VERSION_H

#include <stdbool.h>
#include <stdint.h>

#include "api.h"
#include "dlpack.h"
#include "status.h"

/** The version of these headers. */
#define DLPARK_VERSION_MAJOR 0
#define DLPARK_VERSION_MINOR 1
#define DLPARK_VERSION_PATCH 0

/** The DLPack ABI that every tensor made by this library states. */
#define DLPARK_ABI_MAJOR 1
#define DLPARK_ABI_MINOR 3

DLPARK_BEGIN_C

/** The version of the library that runs, "major.minor.patch"; the macros are that of the headers. Static string. */
DLPARK_API const char *dlpark_version(void);

/** The ABI version that this library writes into the tensors it makes. Threads: any. */
DLPARK_API DLPackVersion dlpark_abi_version(void);

/** Whether a struct of this version may be read beyond its deleter: the major version is ours, any minor. */
DLPARK_API bool dlpark_abi_is_compatible(DLPackVersion version);

/** Whether `version` is compatible and at least as new as minor version `minor` of our major. */
DLPARK_API bool dlpark_abi_supports(DLPackVersion version, uint32_t minor);

/**
 * The checked form of dlpark_abi_is_compatible().
 *
 * @param version  in. The version that a struct or table states.
 * @param err      out, optional. Names both versions.
 * @return DLPARK_OK; DLPARK_E_VERSION.
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_abi_check(DLPackVersion version, dlpark_error *err);

DLPARK_END_C

#endif
