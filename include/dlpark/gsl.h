/**
 * Vectors and matrices of the GNU Scientific Library, GSL, as tensors and back.
 *
 *     DLPARK_TRY(dlpark_gsl_view(&view, matrix, err));               // borrows a gsl_matrix *
 *     DLPARK_TRY(dlpark_gsl_import(&tensor, &matrix, &view, err));   // takes it: matrix is NULL then
 *     DLPARK_TRY(dlpark_gsl_export(&matrix, &tensor, err));          // the tensor as a gsl_matrix: tensor is empty then
 *     dlpark_gsl_release(&matrix);                                   // instead of gsl_matrix_free()
 *
 *     gsl_vector_float row;
 *     DLPARK_TRY(dlpark_gsl_borrow(&row, &view, err));               // a view as a gsl_vector_float, to read
 *
 * GSL is under the GNU General Public License, version 3 or later. A program that is linked with it, and so with
 * libdlpark-gsl, can be given to others under the terms of that licence only. No other part of dlpark needs it.
 *
 * A vector is of rank 1, with its `stride`; a matrix of rank 2, with the strides {tda, 1}. The words are macros: they see
 * by the object whether it is a vector or a matrix, of which elements, and whether it is const. What has no dtype is
 * refused: `long double` where it is neither binary64 nor binary128, and its complex numbers. `char` is i8 where it has a
 * sign, u8 elsewhere. GSL counts no users: there is no dlpark_gsl_share(). No header of GSL is needed here.
 * Link with dlpark::gsl. Pointers must not be NULL unless a parameter says optional, or a status is listed for it.
 */
#ifndef DLPARK_GSL_H
#define DLPARK_GSL_H

#include <stddef.h>
#include <stdint.h>

#include "api.h"
#include "status.h"
#include "tensor.h"
#include "view.h"

#if defined(__cplusplus)
#include <type_traits>
#endif

/** X(name, value, the block that such elements lie in) */
#define DLPARK_GSL_TABLE(X)                                                                                            \
    X(DOUBLE, 1, gsl_block_struct)                                                                                     \
    X(FLOAT, 2, gsl_block_float_struct)                                                                                \
    X(LONG_DOUBLE, 3, gsl_block_long_double_struct)                                                                    \
    X(CHAR, 4, gsl_block_char_struct)                                                                                  \
    X(UCHAR, 5, gsl_block_uchar_struct)                                                                                \
    X(SHORT, 6, gsl_block_short_struct)                                                                                \
    X(USHORT, 7, gsl_block_ushort_struct)                                                                              \
    X(INT, 8, gsl_block_int_struct)                                                                                    \
    X(UINT, 9, gsl_block_uint_struct)                                                                                  \
    X(LONG, 10, gsl_block_long_struct)                                                                                 \
    X(ULONG, 11, gsl_block_ulong_struct)                                                                               \
    X(COMPLEX, 12, gsl_block_complex_struct)                                                                           \
    X(COMPLEX_FLOAT, 13, gsl_block_complex_float_struct)                                                               \
    X(COMPLEX_LONG_DOUBLE, 14, gsl_block_complex_long_double_struct)

DLPARK_BEGIN_C

#define DLPARK_GSL_BLOCK(name, value, block) struct block;
DLPARK_GSL_TABLE(DLPARK_GSL_BLOCK)
#undef DLPARK_GSL_BLOCK

/** What an object is, as the macros find it out: its elements, and two bits. */
typedef enum dlpark_gsl_kind {
#define DLPARK_GSL_ENUMERATOR(name, value, block) DLPARK_GSL_##name = (value),
    DLPARK_GSL_TABLE(DLPARK_GSL_ENUMERATOR)
#undef DLPARK_GSL_ENUMERATOR
        DLPARK_GSL_MATRIX = 0x100, /**< it is a matrix, not a vector */
    DLPARK_GSL_CONST = 0x200,      /**< it is const, or will only be read */
    DLPARK_GSL_KIND_PIN_32 = 0x7fffffff
} dlpark_gsl_kind;

/**
 * A vector or matrix as a view. Called through dlpark_gsl_view(view, object, err).
 *
 * @param view    out. May be written, unless the object is const. Valid as long as the object's memory. Unspecified on
 *                failure.
 * @param object  in, borrowed. Any `gsl_vector_TYPE *` or `gsl_matrix_TYPE *`, const or not, those inside of GSL's views
 *                too: `&rows.matrix`.
 * @param kind    in. What it is.
 * @param err     out, optional. Names the type, and the field with its value.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (NULL; all of it zero, which is how GSL says that it could not make a view);
 *         DLPARK_E_DTYPE (long double); DLPARK_E_STRIDES (a stride of 0, a tda less than size2); and as dlpark_check().
 * Threads: any, as long as nobody changes the object meanwhile.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_gsl_view_kind(dlpark_view *view, const void *object, uint32_t kind,
                                                               dlpark_error *err);

/**
 * Takes a vector or matrix as a tensor, which ends it as GSL would; one allocation. Called through
 * dlpark_gsl_import(tensor, object, view, err). What dlpark_gsl_export() gave is the same tensor again, by none.
 *
 * @param tensor  out. Must be empty; stays so on failure.
 * @param object  in, out: a `gsl_matrix **` or its like. *object is NULL on success, unchanged on failure. GSL's views of
 *                it stay usable as long as the tensor.
 * @param view    out, optional. Unspecified on failure.
 * @param err     out, optional.
 * @return as dlpark_gsl_view_kind(); DLPARK_E_NOT_EMPTY; DLPARK_E_ARGUMENT also for what does not own its memory (a view,
 *         or made of another's block: borrow it, or take the one that it is a part of), for what is const, and for
 *         elements outside of the block; DLPARK_E_MEMORY.
 * Threads: any; the object ends on the thread that ends the tensor.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_gsl_import_kind(dlpark_tensor *tensor, void *object, uint32_t kind,
                                                                 dlpark_view *view, dlpark_error *err);

/**
 * A view as a vector or matrix in storage of the caller's, without an allocation. Called through
 * dlpark_gsl_borrow(object, view, err), for GSL to read, and dlpark_gsl_borrow_mut(object, view, err), to write too.
 *
 * @param object  out: a `gsl_matrix *` or its like. Valid as long as the view's memory; nobody frees it. Of what was borrowed
 *                to be read hand on `const gsl_matrix *`. Not written on failure.
 * @param view    in, borrowed. The memory is; the view itself is not needed afterwards.
 * @param kind    in.
 * @param err     out, optional. Says what would have to be copied.
 * @return DLPARK_OK; DLPARK_E_RANK (1 for a vector, 2 for a matrix); DLPARK_E_DTYPE (not exactly the object's);
 *         DLPARK_E_DEVICE; DLPARK_E_ALIGNMENT; DLPARK_E_READ_ONLY (to write; also where nobody said that it may be);
 *         DLPARK_E_LAYOUT (a vector's stride is positive, a matrix has rows whose elements lie side by side, and which do
 *         not meet); DLPARK_E_OVERFLOW (an extent of more than the address space has).
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_gsl_borrow_kind(void *object, const dlpark_view *view, uint32_t kind,
                                                                 dlpark_error *err);

/**
 * Gives a tensor out as a vector or matrix; one small allocation. Called through dlpark_gsl_export(object, tensor, err).
 *
 * GSL has no callback that could end the tensor: end it with dlpark_gsl_release(). gsl_matrix_free() of it would free the
 * struct, and the tensor would never end.
 *
 * @param object  out: a `gsl_matrix **`, or a `const gsl_matrix **` for what must not be written. *object must be NULL;
 *                stays so on failure.
 * @param tensor  in, out. Empty on success, unchanged on failure.
 * @param kind    in.
 * @param err     out, optional. Says what would have to be copied.
 * @return as dlpark_gsl_borrow_kind(); DLPARK_E_NOT_EMPTY; DLPARK_E_ARGUMENT (`tensor` is empty); DLPARK_E_MEMORY.
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_gsl_export_kind(void *object, dlpark_tensor *tensor, uint32_t kind,
                                                                 dlpark_error *err);

/**
 * Ends the tensor behind what dlpark_gsl_export() gave, and clears the variable. Called through dlpark_gsl_release(object).
 * A NULL variable: nothing; so what GSL has made itself. Cannot fail.
 */
DLPARK_API void dlpark_gsl_release_kind(void *object, uint32_t kind);

DLPARK_END_C

/** Whether a type, which is that of a vector or of a matrix, has the three sizes of a matrix. */
#define DLPARK_GSL_SHAPE_OF(type)                                                                                      \
    (sizeof(type) < 3 * sizeof(size_t) + 2 * sizeof(void *) + sizeof(int) ? 0u                                         \
                                                                          : DLPARK_CAST(uint32_t, DLPARK_GSL_MATRIX))

#if defined(__cplusplus)
namespace dlpark
{
namespace detail
{
template <typename Block> struct gsl_elements; /* only what GSL calls a block, and so a vector or a matrix, has one */
#define DLPARK_GSL_ELEMENTS(name, value, block)                                                                        \
    template <> struct gsl_elements<struct block *> {                                                                  \
        static constexpr uint32_t kind = (value);                                                                      \
    };
DLPARK_GSL_TABLE(DLPARK_GSL_ELEMENTS)
#undef DLPARK_GSL_ELEMENTS
} // namespace detail

template <typename T> constexpr uint32_t gsl_kind(T *)
{
    return detail::gsl_elements<decltype(T::block)>::kind | DLPARK_GSL_SHAPE_OF(T) |
           (std::is_const<T>::value ? static_cast<uint32_t>(DLPARK_GSL_CONST) : 0u);
}
template <typename T> constexpr uint32_t gsl_kind_at(T **)
{
    return gsl_kind(static_cast<T *>(nullptr));
}
} // namespace dlpark
#define DLPARK_GSL_KIND(object)    (dlpark::gsl_kind(object))
#define DLPARK_GSL_KIND_AT(object) (dlpark::gsl_kind_at(object))
#else
/** For _Generic: the kind of each block. */
#define DLPARK_GSL_ELEMENTS(name, value, block) , struct block * : (value)
/** What a pointer to a vector or a matrix leads to, and what a pointer to such a pointer does: dlpark_gsl_kind. */
#define DLPARK_GSL_KIND(object)                                                                                        \
    (_Generic((object)->block, int: 0 DLPARK_GSL_TABLE(DLPARK_GSL_ELEMENTS)) | DLPARK_GSL_SHAPE_OF(*(object)) |        \
     (uint32_t)_Generic(&(object)->owner, int *: 0, const int *: DLPARK_GSL_CONST))
#define DLPARK_GSL_KIND_AT(object) DLPARK_GSL_KIND(*(object))
#endif

/** dlpark_gsl_view_kind(), dlpark_gsl_import_kind() and the rest, with the kind from the type of `object`. */
#define dlpark_gsl_view(view, object, err) dlpark_gsl_view_kind((view), (object), DLPARK_GSL_KIND(object), (err))
#define dlpark_gsl_import(tensor, object, view, err)                                                                   \
    dlpark_gsl_import_kind((tensor), (object), DLPARK_GSL_KIND_AT(object), (view), (err))
#define dlpark_gsl_borrow(object, view, err)                                                                           \
    dlpark_gsl_borrow_kind((object), (view), DLPARK_GSL_KIND(object) | DLPARK_GSL_CONST, (err))
#define dlpark_gsl_borrow_mut(object, view, err)                                                                       \
    dlpark_gsl_borrow_kind((object), (view), DLPARK_GSL_KIND(object), (err))
#define dlpark_gsl_export(object, tensor, err)                                                                         \
    dlpark_gsl_export_kind((object), (tensor), DLPARK_GSL_KIND_AT(object), (err))
#define dlpark_gsl_release(object) dlpark_gsl_release_kind((object), DLPARK_GSL_KIND_AT(object))

#endif
