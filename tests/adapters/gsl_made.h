/*
 * GSL's types of elements for its tests, and a GSL that fails a test where it would end the program.
 */
#ifndef GSL_MADE_H
#define GSL_MADE_H

#include "test.h"

#include <float.h>
#include <limits.h>
#include <stdlib.h>

#include <gsl/gsl_errno.h>
#include <gsl/gsl_matrix.h>
#include <gsl/gsl_vector.h>

#include <dlpark/array.h>
#include <dlpark/gsl.h>

/* X(vector, matrix, element, dtype): all that have a dtype on every machine. */
#define GSL_KINDS(X)                                                                                                   \
    X(gsl_vector, gsl_matrix, double, DLPARK_F64)                                                                      \
    X(gsl_vector_float, gsl_matrix_float, float, DLPARK_F32)                                                           \
    X(gsl_vector_char, gsl_matrix_char, char, (CHAR_MIN < 0 ? DLPARK_I8 : DLPARK_U8))                                  \
    X(gsl_vector_uchar, gsl_matrix_uchar, unsigned char, DLPARK_U8)                                                    \
    X(gsl_vector_short, gsl_matrix_short, short, DLPARK_I16)                                                           \
    X(gsl_vector_ushort, gsl_matrix_ushort, unsigned short, DLPARK_U16)                                                \
    X(gsl_vector_int, gsl_matrix_int, int, DLPARK_I32)                                                                 \
    X(gsl_vector_uint, gsl_matrix_uint, unsigned int, DLPARK_U32)                                                      \
    X(gsl_vector_long, gsl_matrix_long, long, DLPARK_DTYPE_OF(long))                                                   \
    X(gsl_vector_ulong, gsl_matrix_ulong, unsigned long, DLPARK_DTYPE_OF(unsigned long))                               \
    X(gsl_vector_complex, gsl_matrix_complex, double _Complex, DLPARK_C128)                                            \
    X(gsl_vector_complex_float, gsl_matrix_complex_float, float _Complex, DLPARK_C64)

static inline void made_refuse(const char *reason, const char *file, int line, int gsl_errno)
{
    fail_msg("GSL would have ended the program: %s (%s:%d, %d)", reason, file, line, gsl_errno);
}

/* For a group of tests. */
static inline int made_gsl(void **state)
{
    (void)state;
    gsl_set_error_handler(made_refuse);
    return 0;
}

/* A view of memory that may be written, described by its first element, shape and strides. */
static inline dlpark_view made_view(void *data, DLDataType dtype, int32_t ndim, const int64_t *shape,
                                    const int64_t *strides)
{
    const dlpark_tensor_desc desc = {
        .data = data, .dtype = dtype, .ndim = ndim, .shape = DLPARK_DIMS(shape), .strides = DLPARK_DIMS(strides)};
    dlpark_view view;

    assert_ok(dlpark_array_view(&view, &desc, e));
    return view;
}

static inline void assert_layout(const dlpark_view *view, int32_t ndim, const int64_t *shape, const int64_t *strides)
{
    assert_int_equal(view->ndim, ndim);
    for (int32_t i = 0; i < ndim; i++) {
        assert_int_equal(view->shape[i], shape[i]);
        assert_int_equal(view->strides[i], strides[i]);
    }
}

#endif
