/**
 * What a tensor shall be: the description that dlpark_tensor_new() and dlpark_tensor_alloc() read.
 *
 *     (dlpark_tensor_desc){.data = values, .dtype = DLPARK_I32, .ndim = 2, .shape = DLPARK_DIMS((int64_t[]){2, 3}),
 *                          .owner = values, .release = free}
 *
 * A field that is not named is zero and has its plain meaning. Lists may have any integer type; they are borrowed until
 * the call returns, and copied.
 * Pointers must not be NULL unless a parameter says optional; a field may be NULL, and then has its plain meaning.
 */
#ifndef DLPARK_TENSOR_DESC_H
#define DLPARK_TENSOR_DESC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device.h"
#include "dlpack.h"
#include "dtype.h"
#include "layout.h"

DLPARK_BEGIN_C

/** A list of extents or strides in any integer type, made by DLPARK_DIMS. Borrowed until the call returns. */
typedef struct dlpark_dims {
    const void *values; /**< the first of them */
    int32_t width;      /**< bytes of one value; negative when it is signed */
    int32_t count;      /**< how many there are at least, where an array said it; 0: not known */
} dlpark_dims;

/**
 * Where one tensor's memory comes from, instead of malloc. It must outlive the tensor; the functions run on whatever
 * thread makes or ends that.
 */
typedef struct dlpark_allocator {
    /** At least `nbytes` (never 0) at a multiple of `alignment_bytes`, a power of two; NULL: there is none. */
    void *(*allocate)(void *context, size_t nbytes, size_t alignment_bytes);
    /** Takes back what allocate() gave, with the same numbers. */
    void (*deallocate)(void *context, void *memory, size_t nbytes, size_t alignment_bytes);
    void *context; /**< handed to both */
} dlpark_allocator;

/** dlpark_tensor_desc.flags: what dlpark_tensor_new() may be told of the memory. */
#define DLPARK_TENSOR_READ_ONLY    UINT64_C(0x1) /**< nobody may write; implied by `data_const` */
#define DLPARK_TENSOR_PADDED       UINT64_C(0x4) /**< each sub-byte element fills whole bytes; else without effect */
#define DLPARK_TENSOR_CLAIM_COPIED UINT64_C(0x10000) /**< sets IS_COPIED: the caller vouches that nobody else sees it */

/**
 * What a tensor shall be. Zero the rest: a field that is not named has its plain meaning. Grows only at its end.
 */
typedef struct dlpark_tensor_desc {
    void *data;             /**< base of the memory; NULL only without elements. Not for alloc */
    const void *data_const; /**< instead of `data`: sets READ_ONLY */
    uint64_t byte_offset;   /**< from the base to element 0 */
    DLDataType dtype;
    DLDevice device;                 /**< {0, 0} is the CPU */
    int32_t ndim;                    /**< 0 to DLPARK_MAX_NDIM */
    dlpark_dims shape;               /**< `ndim` extents, copied */
    dlpark_dims strides;             /**< `ndim` strides in elements, copied; absent, or without
                                          elements: compact row-major */
    const int64_t *shape_borrowed;   /**< instead of `shape`: not copied, must outlive the tensor */
    const int64_t *strides_borrowed; /**< instead of `strides`: not copied, must outlive the tensor */
    uint64_t flags;                  /**< DLPARK_TENSOR_* */
    void *owner;                     /**< what `release` ends; NULL with `extra_nbytes`: the extra bytes */
    void (*release)(void *owner); /**< called once, by whoever ends the tensor, on any thread; NULL: nothing to end */
    size_t extra_nbytes;          /**< bytes for the caller in the same block, below 2^31: dlpark_tensor_extra() */
    void *storage;                /**< memory of the caller's for the header, instead of malloc; aligned as malloc's.
                                          It must outlive the receiver; `release` is its last touch */
    size_t storage_nbytes; /**< at least DLPARK_TENSOR_STORAGE_NBYTES(ndim) + extra_nbytes; 0 without `storage` */
    const dlpark_allocator *allocator; /**< for header, extra bytes and, in alloc, data; NULL: malloc */
    size_t alignment_bytes;            /**< of element 0, a power of two; alloc makes it so, 0 is 64; new refuses data
                                          that is not, 0 asks for nothing */
} dlpark_tensor_desc;

/** Bytes of `storage` that suffice for a header of this rank, without extra bytes. A constant expression. */
#define DLPARK_TENSOR_STORAGE_NBYTES(ndim)                                                                             \
    (sizeof(DLManagedTensorVersioned) + 48 + 2 * sizeof(int64_t) * DLPARK_CAST(size_t, (ndim)))

/* Whether a description has none of the rare fields; whether the memory may be written is not looked at. The compiler knows
 * where the description is written in place. */
DLPARK_INLINE bool dlpark__tensor_desc_is_plain(const dlpark_tensor_desc *desc);

DLPARK_INLINE bool dlpark__tensor_desc_is_plain(const dlpark_tensor_desc *desc)
{
    return (!desc->data || !desc->data_const) && desc->byte_offset == 0 &&
           (desc->flags & ~DLPARK_TENSOR_READ_ONLY) == 0 && desc->extra_nbytes == 0 && !desc->allocator &&
           desc->alignment_bytes == 0 && (desc->storage || desc->storage_nbytes == 0) && !desc->shape_borrowed &&
           !desc->strides_borrowed && dlpark__device_is_usual(desc->device) && desc->shape.width == -8 &&
           (!desc->strides.values || desc->strides.width == -8) &&
           (desc->shape.count == 0 || desc->shape.count >= desc->ndim) &&
           (desc->strides.count == 0 || desc->strides.count >= desc->ndim) && dlpark__dtype_is_usual(desc->dtype);
}

/* The same for memory that may be written. */
DLPARK_INLINE bool dlpark__tensor_desc_is_usual(const dlpark_tensor_desc *desc);

DLPARK_INLINE bool dlpark__tensor_desc_is_usual(const dlpark_tensor_desc *desc)
{
    return !desc->data_const && desc->flags == 0 && dlpark__tensor_desc_is_plain(desc);
}

/* Whether the storage of a description is aligned, and holds a header of its rank. */
DLPARK_INLINE bool dlpark__tensor_storage_suffices(const dlpark_tensor_desc *desc);

DLPARK_INLINE bool dlpark__tensor_storage_suffices(const dlpark_tensor_desc *desc)
{
    return DLPARK_ADDRESS(desc->storage) % 16 == 0 &&
           (desc->storage_nbytes >= DLPARK_TENSOR_STORAGE_NBYTES(DLPARK_MAX_NDIM) ||
            desc->storage_nbytes >= DLPARK_TENSOR_STORAGE_NBYTES(desc->ndim));
}

DLPARK_END_C

/**
 * The first `ndim` values of an array of any integer type, as shape or strides. Always copied, every value checked.
 * The array is only borrowed: DLPARK_DIMS((int64_t[]){2, 3}). An array, unlike a pointer, that is shorter than `ndim` is
 * refused.
 */
#if defined(__cplusplus)
namespace dlpark
{
template <typename T> constexpr dlpark_dims dims(const T *const &values, int32_t count = 0)
{
    static_assert(detail::is_number<T>::value, "extents and strides are integers");
    return dlpark_dims{
        values, std::is_signed<T>::value ? -static_cast<int32_t>(sizeof(T)) : static_cast<int32_t>(sizeof(T)), count};
}
template <typename T, std::size_t N> constexpr dlpark_dims dims(const T (&values)[N])
{
    return dims(static_cast<const T *>(values), static_cast<int32_t>(N));
}
} // namespace dlpark
#define DLPARK_DIMS(...) (dlpark::dims(__VA_ARGS__))
#else
/** Bytes of an integer, negative when it is signed. */
#define DLPARK_DIMS_WIDTH(value)                                                                                       \
    _Generic((value), signed char                                                                                      \
             : -(int32_t)sizeof(signed char), short                                                                    \
             : -(int32_t)sizeof(short), int                                                                            \
             : -(int32_t)sizeof(int), long                                                                             \
             : -(int32_t)sizeof(long), long long                                                                       \
             : -(int32_t)sizeof(long long), unsigned char                                                              \
             : (int32_t)sizeof(unsigned char), unsigned short                                                          \
             : (int32_t)sizeof(unsigned short), unsigned int                                                           \
             : (int32_t)sizeof(unsigned int), unsigned long                                                            \
             : (int32_t)sizeof(unsigned long), unsigned long long                                                      \
             : (int32_t)sizeof(unsigned long long))
#if defined(__GNUC__)
/** How many an array has; 0 of a pointer, which does not know. */
#define DLPARK_DIMS_COUNT(values)                                                                                      \
    (__builtin_types_compatible_p(__typeof__(values), __typeof__(&(values)[0]))                                        \
         ? 0                                                                                                           \
         : (int32_t)((sizeof(values) + 0) / sizeof *(values))) /* + 0: compilers warn of the plain form */
#else
#define DLPARK_DIMS_COUNT(values) 0
#endif
/** The first `ndim` values of an array of any integer type, borrowed; every value is checked. */
#define DLPARK_DIMS(...)                                                                                               \
    ((dlpark_dims){(__VA_ARGS__), DLPARK_DIMS_WIDTH(*(__VA_ARGS__)), DLPARK_DIMS_COUNT((__VA_ARGS__))})
#endif

#endif
