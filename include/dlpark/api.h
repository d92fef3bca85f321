/**
 * The attributes that every public header of dlpark uses. Nothing here is of interest to a caller.
 * In all of them, pointers must not be NULL unless a parameter says optional; release functions accept NULL.
 */
#ifndef DLPARK_API_H
#define DLPARK_API_H

#if defined(DLPARK_SHARED) && defined(_WIN32)
#if defined(DLPARK_BUILDING)
#define DLPARK_API __declspec(dllexport)
#else
#define DLPARK_API __declspec(dllimport)
#endif
#elif defined(DLPARK_SHARED) && defined(__GNUC__)
#define DLPARK_API __attribute__((visibility("default")))
#else
#define DLPARK_API
#endif

#if defined(__GNUC__)
/** A status must be looked at. */
#define DLPARK_NODISCARD __attribute__((warn_unused_result))
/** Keeps failure out of the hot path. */
#define DLPARK_COLD                        __attribute__((cold, noinline))
#define DLPARK_PRINTF(format_at, first_at) __attribute__((format(printf, format_at, first_at)))
/** What goes with the next line of releases: the compiler warns, and says what to use instead. */
#define DLPARK_DEPRECATED(instead) __attribute__((deprecated(instead)))
#else
#define DLPARK_NODISCARD
#define DLPARK_DEPRECATED(instead)
#define DLPARK_COLD
#define DLPARK_PRINTF(format_at, first_at)
#endif

/** On a local variable that is about to be filled: not cleared by builds with -ftrivial-auto-var-init either. */
#if defined(__has_attribute)
#if __has_attribute(uninitialized)
#define DLPARK_UNINITIALIZED __attribute__((uninitialized))
#endif
#endif
#if !defined(DLPARK_UNINITIALIZED)
#define DLPARK_UNINITIALIZED
#endif

/* One source of the library redefines this, so that every inline function also exists as a symbol, for callers
 * that are not C and for debuggers. */
#if !defined(DLPARK_INLINE)
#if defined(__GNUC__)
#define DLPARK_INLINE static inline __attribute__((always_inline))
#else
#define DLPARK_INLINE static inline
#endif
#endif

/* A constant of a struct type: a compound literal in C, a braced temporary in C++. A cast that each language likes.
 * The headers open and close extern "C" themselves: do not include them inside one, C++ parts of them are templates. */
#if defined(__cplusplus)
#define DLPARK_CAST(type, value) (static_cast<type>(value))
#define DLPARK_ADDRESS(pointer)  (reinterpret_cast<uintptr_t>(pointer))
#define DLPARK_POINTER(address)  (reinterpret_cast<void *>(address))
#define DLPARK_NULL              nullptr
#define DLPARK_LITERAL(type)     type
#define DLPARK_BEGIN_C           extern "C" {
#define DLPARK_END_C             }
#else
#define DLPARK_CAST(type, value) ((type)(value))
#define DLPARK_ADDRESS(pointer)  ((uintptr_t)(pointer))
#define DLPARK_POINTER(address)  ((void *)(address))
#define DLPARK_NULL              NULL
#define DLPARK_LITERAL(type)     (type)
#define DLPARK_BEGIN_C
#define DLPARK_END_C
#endif

#endif
