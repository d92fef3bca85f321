/**
 * Ordinary C arrays: fixed and variable-length ones, memory of malloc or of an arena, rows or columns first.
 *
 *     double matrix[4][3];
 *     dlpark_view view;
 *     DLPARK_TRY(dlpark_array_view(&view, &DLPARK_ARRAY_2D(matrix), err));      // borrows; no tensor, no allocation
 *     double *first = DLPARK_STRIDED_MUT(double, &view, err);                   // any strides; NULL with the reason
 *     if (first) DLPARK_AT(first, &view, 2, 1) = 0.5;
 *
 * For memory that a tensor is to own, dlpark_tensor_new() takes the same descriptions. Compact elements have DLPARK_CPU.
 * Pointers must not be NULL unless a parameter says optional. Threads: any, as for the memory itself.
 */
#ifndef DLPARK_ARRAY_H
#define DLPARK_ARRAY_H

#include <stddef.h>
#include <stdint.h>

#include "dlpack.h"
#include "dtype.h"
#include "status.h"
#include "tensor.h"
#include "tensor_desc.h"
#include "view.h"

/** Which dimension varies fastest, and whether a matrix is to be transposed: the numbers of CBLAS and LAPACKE. */
#define DLPARK_ROW_MAJOR    101
#define DLPARK_COLUMN_MAJOR 102
#define DLPARK_NO_TRANSPOSE 111
#define DLPARK_TRANSPOSE    112

DLPARK_BEGIN_C

/**
 * The view of memory that stays the caller's, as a description for dlpark_tensor_new() has it. Makes no tensor.
 *
 * @param view  out. Valid as long as the memory; may be written, unless the description says READ_ONLY. Unspecified on
 *              failure.
 * @param desc  in, borrowed until the call returns. No owner, release, extra bytes, storage and allocator: a view ends
 *              nothing and allocates nothing.
 * @param err   out, optional. Names the field with its value.
 * @return as dlpark_tensor_new(); DLPARK_E_ARGUMENT also for one of these fields; never DLPARK_E_MEMORY.
 */
DLPARK_INLINE DLPARK_NODISCARD dlpark_status dlpark_array_view(dlpark_view *view, const dlpark_tensor_desc *desc,
                                                               dlpark_error *err);

/**
 * The strides of an array whose rows, or columns, lie `ld` elements apart: for `strides` of a description.
 *
 * @param ndim   in. 0 to DLPARK_MAX_NDIM.
 * @param shape  in, borrowed.
 * @param order  in. DLPARK_ROW_MAJOR: the last dimension is contiguous, the one before has stride `ld`.
 *               DLPARK_COLUMN_MAJOR: the first is contiguous, the second has stride `ld`. What is beyond these two
 *               follows without gaps: a stack of matrices.
 * @param ld     in. The leading dimension, in elements: at least the contiguous extent. 0: no gaps.
 * @param out    out. `ndim` strides in elements; may be `shape`. Not written on failure.
 * @param err    out, optional.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (another order, or an `ld` that is too small, or given below rank 2); DLPARK_E_RANK;
 *         DLPARK_E_SHAPE; DLPARK_E_OVERFLOW.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_array_strides(int32_t ndim, const int64_t *shape, int order,
                                                               int64_t ld, int64_t *out, dlpark_error *err);

/* ---- Elements of any strides ---- */

/**
 * Element 0 of a view of any strides, as DLPARK_STRIDED asks for it.
 *
 * @param view             in, borrowed.
 * @param dtype            in. What the caller takes the elements for.
 * @param alignment_bytes  in. What the caller's type needs; a power of two.
 * @param err              out, optional.
 * @return its address; NULL on failure: DLPARK_E_DTYPE (another one, or packed elements, which have no address),
 *         DLPARK_E_DEVICE, DLPARK_E_ALIGNMENT. Without elements a non-NULL pointer that must not be read.
 */
DLPARK_API const void *dlpark_array_borrow(const dlpark_view *view, DLDataType dtype, size_t alignment_bytes,
                                           dlpark_error *err);

/**
 * The same for writing. Refuses DLPARK_E_READ_ONLY as dlpark_view_cpu_mut() does, and DLPARK_E_STRIDES: two elements are
 * in the same place, or that cannot be told apart within ten thousand steps.
 */
DLPARK_API void *dlpark_array_borrow_mut(const dlpark_view *view, DLDataType dtype, size_t alignment_bytes,
                                         dlpark_error *err);

/**
 * One element with everything checked, as DLPARK_AT_CHECKED asks for it.
 *
 * @param count  in. The view's rank: how many `index` has.
 * @param index  in, borrowed. Each from 0 or, negative, from the end. May be NULL when the rank is 0.
 * @return its address; NULL as dlpark_array_borrow(), and DLPARK_E_RANK, DLPARK_E_INDEX (names the dimension).
 */
DLPARK_API const void *dlpark_array_element(const dlpark_view *view, DLDataType dtype, size_t alignment_bytes,
                                            int32_t count, const int64_t *index, dlpark_error *err);

/** The same for writing; refuses DLPARK_E_READ_ONLY, but not elements that are in the same place. */
DLPARK_API void *dlpark_array_element_mut(const dlpark_view *view, DLDataType dtype, size_t alignment_bytes,
                                          int32_t count, const int64_t *index, dlpark_error *err);

/** Where an element lies from element 0, in elements: the sum of `index` times stride over `count` dimensions. No checks. */
DLPARK_INLINE int64_t dlpark_array_offset(const dlpark_view *view, int32_t count, const int64_t *index);

/* ---- BLAS and LAPACKE ---- */

/**
 * How a view is given to BLAS as a matrix: whether transposed, and with which leading dimension.
 *
 *     DLPARK_TRY(dlpark_array_blas(&view, DLPARK_ROW_MAJOR, &transpose, &ld, err));
 *     cblas_dgemv(CblasRowMajor, transpose, ...);
 *
 * @param view       in, borrowed. Rank 2; any dtype: which types there are is the caller's business.
 * @param order      in. What the call is told: DLPARK_ROW_MAJOR or DLPARK_COLUMN_MAJOR.
 * @param transpose  out. DLPARK_NO_TRANSPOSE where the view's rows (or columns) are as `order` says, DLPARK_TRANSPOSE where
 *                   its columns are: then the matrix in memory is the transposed one, and BLAS turns it back. LAPACKE
 *                   knows no such flag: give it the other order. Both are not written on failure.
 * @param ld         out, elements; at least 1, as BLAS asks for.
 * @param err        out, optional. Names strides and shape, and what would have to be copied.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (another order); DLPARK_E_RANK; DLPARK_E_LAYOUT (neither dimension is contiguous, or
 *         lines lie backwards or meet: copy to a compact matrix first); DLPARK_E_OVERFLOW (an extent or `ld` above 2^31-1).
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_array_blas(const dlpark_view *view, int order, int *transpose,
                                                            int32_t *ld, dlpark_error *err);

/** The same for a BLAS whose integers have 64 bits (ILP64). */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_array_blas64(const dlpark_view *view, int order, int *transpose,
                                                              int64_t *ld, dlpark_error *err);

/* ---- Rows at pointers of their own ---- */

/** Rows that lie anywhere, each compact, made by DLPARK_ROWS of a `T **`. Borrowed until the call returns. */
typedef struct dlpark_rows {
    const void *pointers; /**< one for each row */
    DLDataType dtype;
    int32_t read_only; /**< 1: `T` is const */
} dlpark_rows;

/**
 * Copies rows into a view: as many as it has, each as long as its rows.
 *
 * @param to    in; its memory is written. Rank 2, host accessible and writable, any strides that dlpark_copy() takes.
 * @param rows  in, borrowed. Not looked at without elements. Must not lie in the memory of `to`.
 * @param err   out, optional. Names the row.
 * @return DLPARK_OK; DLPARK_E_RANK; DLPARK_E_DTYPE; DLPARK_E_DEVICE; DLPARK_E_READ_ONLY; DLPARK_E_STRIDES; DLPARK_E_DATA (a
 *         pointer is NULL); DLPARK_E_ARGUMENT (a row lies in the memory of the view); DLPARK_E_OVERFLOW (a row leaves the
 *         address space). Nothing is written on failure.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_array_from_rows(const dlpark_view *to, dlpark_rows rows,
                                                                 dlpark_error *err);

/** Copies a view of any strides into rows; the same rules, with `rows` written. READ_ONLY is said of rows of const. */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_array_to_rows(dlpark_rows rows, const dlpark_view *from,
                                                               dlpark_error *err);

/** What the inline function forwards to: the size says which fields the caller's header knows. */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_array_view_sized(dlpark_view *view, const dlpark_tensor_desc *desc,
                                                                  size_t desc_nbytes, dlpark_error *err);

/* The usual case in registers, as dlpark__tensor_new_heap() has it: a description that is written in place never takes shape
 * in memory, which would cost more than the view. */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark__array_view_usual(dlpark_view *view, void *data, uint64_t kind,
                                                                   const int64_t *shape, const int64_t *strides,
                                                                   dlpark_error *err);

DLPARK_INLINE dlpark_status dlpark_array_view(dlpark_view *view, const dlpark_tensor_desc *desc, dlpark_error *err)
{
    if (!desc || !dlpark__tensor_desc_is_usual(desc) || desc->owner || desc->release || desc->storage)
        return dlpark_array_view_sized(view, desc, sizeof *desc, err);
    return dlpark__array_view_usual(view, desc->data, dlpark__tensor_kind(desc->dtype, desc->ndim),
                                    DLPARK_CAST(const int64_t *, desc->shape.values),
                                    DLPARK_CAST(const int64_t *, desc->strides.values), err);
}

DLPARK_INLINE int64_t dlpark_array_offset(const dlpark_view *view, int32_t count, const int64_t *index)
{
    int64_t offset = 0;

    for (int32_t i = 0; i < count; i++)
        offset += index[i] * view->strides[i];
    return offset;
}

DLPARK_END_C

/*
 * DLPARK_ARRAY_1D(array) to DLPARK_ARRAY_4D(array): the description of an array that the compiler knows the size of, fixed or
 * variable-length, of a type that has a dtype; const elements are READ_ONLY. A pointer does not compile. A value: in C
 * `&DLPARK_ARRAY_2D(matrix)` is a `const dlpark_tensor_desc *` until the block ends, in C++ give it a name first.
 *
 * DLPARK_STRIDED(T, view, err): element 0 as `const T *`, or NULL with the reason; DLPARK_STRIDED_MUT as `T *`.
 * DLPARK_AT(first, view, i, j, ...): one element, by such a pointer, as an lvalue. Nothing is checked: as many indices as the
 * view has dimensions, each from 0 to before the extent.
 * DLPARK_AT_CHECKED(T, view, err, i, j, ...): the same as `const T *`, everything checked, indices from the end too, or NULL
 * with the reason; DLPARK_AT_CHECKED_MUT as `T *`.
 * DLPARK_ROWS(rows): of a `T **`, or of an array of `T *`.
 */
#if defined(__cplusplus)
namespace dlpark
{
namespace detail
{
template <typename A> struct array_extents {
    static const int64_t values[4];
};
template <typename A>
const int64_t array_extents<A>::values[4] = {std::extent<A, 0>::value, std::extent<A, 1>::value,
                                             std::extent<A, 2>::value, std::extent<A, 3>::value};
} // namespace detail

template <int ndim, typename A> dlpark_tensor_desc array_desc(A &values)
{
    using T = typename std::remove_all_extents<A>::type;
    static_assert(std::rank<A>::value == ndim, "an array of so many dimensions, and no pointer");
    dlpark_tensor_desc desc{};
    desc.data_const = &values;
    if (!std::is_const<T>::value) {
        desc.data_const = nullptr;
        desc.data = const_cast<void *>(static_cast<const void *>(&values));
    }
    desc.dtype = dtype_of<T>();
    desc.ndim = ndim;
    desc.shape = dims(detail::array_extents<A>::values);
    return desc;
}
template <typename T> const T *strided(const dlpark_view *view, dlpark_error *err)
{
    return static_cast<const T *>(dlpark_array_borrow(view, dtype_of<T>(), alignof(T), err));
}
template <typename T> T *strided_mut(const dlpark_view *view, dlpark_error *err)
{
    return static_cast<T *>(dlpark_array_borrow_mut(view, dtype_of<T>(), alignof(T), err));
}
template <typename T, typename... I> T &at(T *first, const dlpark_view *view, I... index)
{
    const int64_t list[] = {static_cast<int64_t>(index)...};
    return first[dlpark_array_offset(view, sizeof...(I), list)];
}
template <typename T, typename... I> const T *at_checked(const dlpark_view *view, dlpark_error *err, I... index)
{
    const int64_t list[] = {static_cast<int64_t>(index)...};
    return static_cast<const T *>(dlpark_array_element(view, dtype_of<T>(), alignof(T), sizeof...(I), list, err));
}
template <typename T, typename... I> T *at_checked_mut(const dlpark_view *view, dlpark_error *err, I... index)
{
    const int64_t list[] = {static_cast<int64_t>(index)...};
    return static_cast<T *>(dlpark_array_element_mut(view, dtype_of<T>(), alignof(T), sizeof...(I), list, err));
}
template <typename T> dlpark_rows rows(T *const *pointers)
{
    return dlpark_rows{pointers, dtype_of<T>(), std::is_const<T>::value};
}
} // namespace dlpark
#define DLPARK_ARRAY_1D(array)                   (dlpark::array_desc<1>(array))
#define DLPARK_ARRAY_2D(array)                   (dlpark::array_desc<2>(array))
#define DLPARK_ARRAY_3D(array)                   (dlpark::array_desc<3>(array))
#define DLPARK_ARRAY_4D(array)                   (dlpark::array_desc<4>(array))
#define DLPARK_STRIDED(T, view, err)             (dlpark::strided<T>((view), (err)))
#define DLPARK_STRIDED_MUT(T, view, err)         (dlpark::strided_mut<T>((view), (err)))
#define DLPARK_AT(first, view, ...)              (dlpark::at((first), (view), __VA_ARGS__))
#define DLPARK_AT_CHECKED(T, view, err, ...)     (dlpark::at_checked<T>((view), (err), __VA_ARGS__))
#define DLPARK_AT_CHECKED_MUT(T, view, err, ...) (dlpark::at_checked_mut<T>((view), (err), __VA_ARGS__))
#define DLPARK_ROWS(pointers)                    (dlpark::rows(pointers))
#else

/** The dtype of a value's type, as DLPARK_DTYPE_OF has it of a type. */
#define DLPARK_ARRAY_DTYPE(value)                                                                                      \
    DLPARK_DTYPE(_Generic((value), _Bool                                                                               \
                          : kDLBool, signed char                                                                       \
                          : kDLInt, short                                                                              \
                          : kDLInt, int                                                                                \
                          : kDLInt, long                                                                               \
                          : kDLInt, long long                                                                          \
                          : kDLInt, unsigned char                                                                      \
                          : kDLUInt, unsigned short                                                                    \
                          : kDLUInt, unsigned int                                                                      \
                          : kDLUInt, unsigned long                                                                     \
                          : kDLUInt, unsigned long long                                                                \
                          : kDLUInt, float                                                                             \
                          : kDLFloat, double                                                                           \
                          : kDLFloat, float _Complex                                                                   \
                          : kDLComplex, double _Complex                                                                \
                          : kDLComplex),                                                                               \
                 sizeof(value) * 8, 1)
/** Whether a pointer leads to const: with `void *` its type becomes the one with the same qualifiers. */
#define DLPARK_ARRAY_IS_CONST(pointer) _Generic(1 ? (pointer) : (void *)1, const void * : 1, void * : 0)
/** How many there are; of a pointer, which does not know, an array of a negative size. */
#if defined(__GNUC__)
#define DLPARK_ARRAY_EXTENT(array)                                                                                     \
    ((int64_t)(sizeof(array) / sizeof *(array)) +                                                                      \
     0 * (int64_t)sizeof(char[1 - 2 * __builtin_types_compatible_p(__typeof__(array), __typeof__(&(array)[0]))]))
#else
#define DLPARK_ARRAY_EXTENT(array) ((int64_t)(sizeof(array) / sizeof *(array)))
#endif
/** The description of `rank` dimensions from the first element on. */
#define DLPARK_ARRAY_DESC(first, rank, ...)                                                                            \
    ((dlpark_tensor_desc){.data = DLPARK_ARRAY_IS_CONST(first) ? NULL : (void *)(uintptr_t)(first),                    \
                          .data_const = DLPARK_ARRAY_IS_CONST(first) ? (first) : NULL,                                 \
                          .dtype = DLPARK_ARRAY_DTYPE(*(first)),                                                       \
                          .ndim = (rank),                                                                              \
                          .shape = {(int64_t[]){__VA_ARGS__}, -(int32_t)sizeof(int64_t), (rank)}})

/**
 * The description of an array whose size the compiler knows, with one to four dimensions: a value, of which
 * `&DLPARK_ARRAY_2D(matrix)` is a pointer until the block ends. The array is borrowed.
 */
#define DLPARK_ARRAY_1D(array) DLPARK_ARRAY_DESC(&(array)[0], 1, DLPARK_ARRAY_EXTENT(array))
#define DLPARK_ARRAY_2D(array)                                                                                         \
    DLPARK_ARRAY_DESC(&(array)[0][0], 2, DLPARK_ARRAY_EXTENT(array), DLPARK_ARRAY_EXTENT((array)[0]))
#define DLPARK_ARRAY_3D(array)                                                                                         \
    DLPARK_ARRAY_DESC(&(array)[0][0][0], 3, DLPARK_ARRAY_EXTENT(array), DLPARK_ARRAY_EXTENT((array)[0]),               \
                      DLPARK_ARRAY_EXTENT((array)[0][0]))
#define DLPARK_ARRAY_4D(array)                                                                                         \
    DLPARK_ARRAY_DESC(&(array)[0][0][0][0], 4, DLPARK_ARRAY_EXTENT(array), DLPARK_ARRAY_EXTENT((array)[0]),            \
                      DLPARK_ARRAY_EXTENT((array)[0][0]), DLPARK_ARRAY_EXTENT((array)[0][0][0]))

/** Element 0 as `const T *` and as `T *`, or NULL with the reason; dlpark_array_borrow(). */
#define DLPARK_STRIDED(T, view, err)     ((const T *)dlpark_array_borrow((view), DLPARK_DTYPE_OF(T), _Alignof(T), (err)))
#define DLPARK_STRIDED_MUT(T, view, err) ((T *)dlpark_array_borrow_mut((view), DLPARK_DTYPE_OF(T), _Alignof(T), (err)))

/** A list of indices, as count and address. */
#define DLPARK_ARRAY_INDEX(...)                                                                                        \
    (int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[])                                   \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

/** One element, as an lvalue, by a pointer that DLPARK_STRIDED gave. The indices are not checked. */
#define DLPARK_AT(first, view, ...) ((first)[dlpark_array_offset((view), DLPARK_ARRAY_INDEX(__VA_ARGS__))])

/** One element as `const T *` and as `T *`, everything checked, or NULL with the reason; dlpark_array_element(). */
#define DLPARK_AT_CHECKED(T, view, err, ...)                                                                           \
    ((const T *)dlpark_array_element((view), DLPARK_DTYPE_OF(T), _Alignof(T), DLPARK_ARRAY_INDEX(__VA_ARGS__), (err)))
#define DLPARK_AT_CHECKED_MUT(T, view, err, ...)                                                                       \
    ((T *)dlpark_array_element_mut((view), DLPARK_DTYPE_OF(T), _Alignof(T), DLPARK_ARRAY_INDEX(__VA_ARGS__), (err)))

/** A `T **`, or an array of `T *`, as rows for dlpark_array_from_rows() and dlpark_array_to_rows(). Borrowed. */
#define DLPARK_ROWS(rows) ((dlpark_rows){(rows), DLPARK_ARRAY_DTYPE(**(rows)), DLPARK_ARRAY_IS_CONST(&(**(rows)))})
#endif

#endif
