/*
 * GSL's objects, whatever their elements: their fields, their dtypes, their end.
 */
#include <float.h>
#include <limits.h>
#include <string.h>

#include <gsl/gsl_matrix.h>
#include <gsl/gsl_vector.h>

#include "gsl_parts.h"

#if LDBL_MANT_DIG == 53
#define GSL_LONG_DOUBLE_BITS         64
#define GSL_COMPLEX_LONG_DOUBLE_BITS 128
#elif LDBL_MANT_DIG == 113
#define GSL_LONG_DOUBLE_BITS         128
#define GSL_COMPLEX_LONG_DOUBLE_BITS 0
#else
#define GSL_LONG_DOUBLE_BITS         0
#define GSL_COMPLEX_LONG_DOUBLE_BITS 0
#endif
#if CHAR_MIN < 0
#define GSL_CHAR_CODE kDLInt
#else
#define GSL_CHAR_CODE kDLUInt
#endif

#define GSL_SAME(layout, type, member)                                                                                 \
    _Static_assert(offsetof(layout, member) == offsetof(type, member), #type " has another layout than we know")
#define GSL_SAME_SIZE(layout, type)                                                                                    \
    _Static_assert(sizeof(layout) == sizeof(type), #type " has another size than we know")

#define GSL_ASSERT_LAYOUT(name, vector, matrix, block_type, element, code, bits)                                       \
    GSL_SAME(gsl_vector_layout, vector, stride);                                                                       \
    GSL_SAME(gsl_vector_layout, vector, data);                                                                         \
    GSL_SAME(gsl_vector_layout, vector, block);                                                                        \
    GSL_SAME(gsl_vector_layout, vector, owner);                                                                        \
    GSL_SAME_SIZE(gsl_vector_layout, vector);                                                                          \
    GSL_SAME(gsl_matrix_layout, matrix, size2);                                                                        \
    GSL_SAME(gsl_matrix_layout, matrix, tda);                                                                          \
    GSL_SAME(gsl_matrix_layout, matrix, data);                                                                         \
    GSL_SAME(gsl_matrix_layout, matrix, block);                                                                        \
    GSL_SAME(gsl_matrix_layout, matrix, owner);                                                                        \
    GSL_SAME_SIZE(gsl_matrix_layout, matrix);                                                                          \
    GSL_SAME(gsl_block_layout, block_type, data);                                                                      \
    GSL_SAME_SIZE(gsl_block_layout, block_type);

GSL_TYPES(GSL_ASSERT_LAYOUT)
_Static_assert(sizeof(double *) == sizeof(void *), "pointers to numbers have another size than others");

/* GSL's own functions that end an object, by the type that a tensor's release has. */
#define GSL_END(name, vector, matrix, block, element, code, bits)                                                      \
    static void gsl_end_##vector(void *theirs)                                                                         \
    {                                                                                                                  \
        vector##_free(theirs);                                                                                         \
    }                                                                                                                  \
    static void gsl_end_##matrix(void *theirs)                                                                         \
    {                                                                                                                  \
        matrix##_free(theirs);                                                                                         \
    }
GSL_TYPES(GSL_END)
#undef GSL_END

static const gsl_type gsl_types[] = {
#define GSL_TYPE(name, vector, matrix, block, element, code, bits)                                                     \
    [DLPARK_GSL_##name] = {#vector,                                                                                    \
                           #matrix,                                                                                    \
                           gsl_end_##vector,                                                                           \
                           gsl_end_##matrix,                                                                           \
                           {(code), (bits), 1},                                                                        \
                           sizeof(element) * ((code) == kDLComplex ? 2 : 1),                                           \
                           _Alignof(element)},
    GSL_TYPES(GSL_TYPE)
#undef GSL_TYPE
};

dlpark_status dlpark__gsl_object_init(gsl_object *object, uint32_t kind, dlpark_error *err)
{
    uint32_t type = kind & ~(uint32_t)(DLPARK_GSL_MATRIX | DLPARK_GSL_CONST);

    if (type == 0 || type >= sizeof gsl_types / sizeof gsl_types[0])
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "there is no kind %#x of GSL's objects", (unsigned)kind);
    object->type = &gsl_types[type];
    object->ndim = kind & DLPARK_GSL_MATRIX ? 2 : 1;
    object->name = kind & DLPARK_GSL_MATRIX ? object->type->matrix : object->type->vector;
    object->end = kind & DLPARK_GSL_MATRIX ? object->type->end_matrix : object->type->end_vector;
    if (object->type->dtype.bits == 0)
        return dlpark_error_set(err, DLPARK_E_DTYPE,
                                "the elements of a %s have %d bits of mantissa in %u bytes, which no dtype has: "
                                "they would have to be copied, to double",
                                object->name, LDBL_MANT_DIG, (unsigned)object->type->nbytes);
    return DLPARK_OK;
}

void dlpark__gsl_object_read(gsl_object *object, const void *theirs)
{
    gsl_vector_layout vector;
    gsl_matrix_layout matrix;

    if (object->ndim == 1) {
        memcpy(&vector, theirs, sizeof vector);
        object->shape[0] = vector.size;
        object->stride = vector.stride;
        object->data = vector.data;
        object->block = vector.block;
        object->owner = vector.owner;
    } else {
        memcpy(&matrix, theirs, sizeof matrix);
        object->shape[0] = matrix.size1;
        object->shape[1] = matrix.size2;
        object->stride = matrix.tda;
        object->data = matrix.data;
        object->block = matrix.block;
        object->owner = matrix.owner;
    }
}

void dlpark__gsl_object_write(const gsl_object *object, void *theirs)
{
    const gsl_vector_layout vector = {object->shape[0], object->stride, object->data, NULL, object->owner};
    const gsl_matrix_layout matrix = {object->shape[0], object->shape[1], object->stride, object->data, NULL,
                                      object->owner};

    if (object->ndim == 1)
        memcpy(theirs, &vector, sizeof vector);
    else
        memcpy(theirs, &matrix, sizeof matrix);
}

void dlpark__gsl_block_read(const void *block, size_t *size, void **data)
{
    gsl_block_layout layout;

    memcpy(&layout, block, sizeof layout);
    *size = layout.size;
    *data = layout.data;
}
