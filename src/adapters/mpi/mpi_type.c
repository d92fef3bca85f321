/*
 * MPI datatypes from layouts.
 */
#include <float.h>
#include <stdalign.h>

#include "mpi_parts.h"

/* ---- Elements ---- */

/* X(code, bits, MPI's type, C's type) */
#define MPI_TYPES(X)                                                                                                   \
    X(kDLInt, 8, MPI_INT8_T, int8_t)                                                                                   \
    X(kDLInt, 16, MPI_INT16_T, int16_t)                                                                                \
    X(kDLInt, 32, MPI_INT32_T, int32_t)                                                                                \
    X(kDLInt, 64, MPI_INT64_T, int64_t)                                                                                \
    X(kDLUInt, 8, MPI_UINT8_T, uint8_t)                                                                                \
    X(kDLUInt, 16, MPI_UINT16_T, uint16_t)                                                                             \
    X(kDLUInt, 32, MPI_UINT32_T, uint32_t)                                                                             \
    X(kDLUInt, 64, MPI_UINT64_T, uint64_t)                                                                             \
    X(kDLFloat, 32, MPI_FLOAT, float)                                                                                  \
    X(kDLFloat, 64, MPI_DOUBLE, double)                                                                                \
    X(kDLFloat, MPI_QUAD_BITS, MPI_LONG_DOUBLE, long double)                                                           \
    X(kDLComplex, 64, MPI_C_FLOAT_COMPLEX, float _Complex)                                                             \
    X(kDLComplex, 128, MPI_C_DOUBLE_COMPLEX, double _Complex)                                                          \
    X(kDLBool, 8, MPI_C_BOOL, _Bool)

#if LDBL_MANT_DIG == 113
#define MPI_QUAD_BITS 128
#else
#define MPI_QUAD_BITS 0 /* no dtype has that: C's long double is another type */
#endif

mpi_element dlpark__mpi_element(DLDataType dtype, bool as_bytes)
{
    const uint32_t code_bits = (uint32_t)dtype.code << 8 | dtype.bits;

    if (!as_bytes) {
        switch (code_bits) {
#define MPI_CASE(of, bits, name, c_type)                                                                               \
    case (uint32_t)(of) << 8 | (bits):                                                                                 \
        if (sizeof(c_type) * 8 == (bits))                                                                              \
            return (mpi_element){(name), dtype.lanes, sizeof(c_type), alignof(c_type), false};                         \
        break;
            MPI_TYPES(MPI_CASE)
#undef MPI_CASE
        default:
            break;
        }
    }
    return (mpi_element){MPI_BYTE, (dlpark_dtype_nbits(dtype) + 7) / 8, 1, 1, !as_bytes};
}

/* ---- Layouts ---- */

/* Whether what lies `stride` apart goes on where `inner` ends: then it is more of the same. */
static bool mpi_goes_on(const mpi_repeat *inner, int64_t stride)
{
    int64_t end;

    return !__builtin_mul_overflow(inner->extent, inner->stride, &end) && end == stride;
}

void dlpark__mpi_layout(mpi_layout *layout, const dlpark_view *view, mpi_element element)
{
    const int64_t nbytes = element.count * (int64_t)element.nbytes;

    layout->element = element;
    layout->block = element.count;
    layout->ndim = 0;
    for (int32_t i = view->ndim - 1; i >= 0; i--) {
        const int64_t extent = view->shape[i];
        if (extent == 1)
            continue;
        const int64_t stride = view->strides[i] * nbytes; /* a view with elements reaches no further than 63 bits */
        mpi_repeat *inner = layout->ndim ? &layout->repeats[layout->ndim - 1] : NULL;
        if (!inner && stride == layout->block * (int64_t)element.nbytes)
            layout->block *= extent;
        else if (inner && mpi_goes_on(inner, stride))
            inner->extent *= extent;
        else
            layout->repeats[layout->ndim++] = (mpi_repeat){extent, stride};
    }
}

/* ---- Types ---- */

static DLPARK_COLD dlpark_status mpi_refuse(int code, const char *function, dlpark_error *err)
{
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;

    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
        length = 0;
    return dlpark_error_set(err, DLPARK_E_FOREIGN, "%s() failed with %d: %.*s", function, code, length, text);
}

/* A type of which `outer` is made; MPI keeps what it needs of it. Its own types are not ours to free. */
static void mpi_end_part(MPI_Datatype *part, MPI_Datatype base)
{
    if (*part != base && *part != MPI_DATATYPE_NULL)
        MPI_Type_free(part);
}

/* Open MPI 4.1.4 takes a vector of stride -1 byte for one of stride 1, and says nothing. Not so an extent of -1. */
static dlpark_status mpi_backward_bytes(MPI_Datatype *type, int count, int block, MPI_Datatype of, dlpark_error *err)
{
    MPI_Datatype blocks = MPI_DATATYPE_NULL, resized = MPI_DATATYPE_NULL;
    const char *function = "MPI_Type_contiguous";

    int code = MPI_Type_contiguous(block, of, &blocks);
    if (code == MPI_SUCCESS) {
        function = "MPI_Type_create_resized";
        code = MPI_Type_create_resized(blocks, 0, -1, &resized);
    }
    if (code == MPI_SUCCESS) {
        function = "MPI_Type_contiguous";
        code = MPI_Type_contiguous(count, resized, type);
    }
    mpi_end_part(&blocks, MPI_DATATYPE_NULL);
    mpi_end_part(&resized, MPI_DATATYPE_NULL);
    return code == MPI_SUCCESS ? DLPARK_OK : mpi_refuse(code, function, err);
}

static dlpark_status mpi_vector(MPI_Datatype *type, int64_t count, int64_t block, int64_t stride, MPI_Datatype of,
                                dlpark_error *err)
{
    MPI_Aint bytes;

    if (__builtin_add_overflow(stride, 0, &bytes))
        return dlpark_error_set(err, DLPARK_E_OVERFLOW, "a stride of %lld bytes is more than MPI_Aint has",
                                (long long)stride);
    if (bytes == -1)
        return mpi_backward_bytes(type, (int)count, (int)block, of, err);
    int code = MPI_Type_create_hvector((int)count, (int)block, bytes, of, type);
    return code == MPI_SUCCESS ? DLPARK_OK : mpi_refuse(code, "MPI_Type_create_hvector", err);
}

/* `whole`, and `rest` at `place` behind it. */
static dlpark_status mpi_join(MPI_Datatype *type, MPI_Datatype whole, MPI_Datatype rest, int64_t place,
                              dlpark_error *err)
{
    int blocks[2] = {1, 1};
    MPI_Aint places[2] = {0, 0};
    MPI_Datatype types[2] = {whole, rest};

    if (__builtin_add_overflow(place, 0, &places[1]))
        return dlpark_error_set(err, DLPARK_E_OVERFLOW, "%lld bytes are more than MPI_Aint has", (long long)place);
    int code = MPI_Type_create_struct(2, blocks, places, types, type);
    return code == MPI_SUCCESS ? DLPARK_OK : mpi_refuse(code, "MPI_Type_create_struct", err);
}

/* `of` again and again, also more often than one call can say: by parts of `limit`, as often as those fit, and the rest. */
static dlpark_status mpi_repeat_type(MPI_Datatype *type, mpi_repeat repeat, MPI_Datatype of, int limit,
                                     dlpark_error *err)
{
    const int64_t parts = repeat.extent / limit, left = repeat.extent % limit;
    MPI_Datatype part = MPI_DATATYPE_NULL, whole = MPI_DATATYPE_NULL, rest = MPI_DATATYPE_NULL;

    if (repeat.extent <= limit)
        return mpi_vector(type, repeat.extent, 1, repeat.stride, of, err);
    dlpark_status status = mpi_vector(&part, limit, 1, repeat.stride, of, err);
    if (status == DLPARK_OK)
        status = mpi_repeat_type(&whole, (mpi_repeat){parts, limit * repeat.stride}, part, limit, err);
    if (status == DLPARK_OK && left > 0)
        status = mpi_vector(&rest, left, 1, repeat.stride, of, err);
    if (status == DLPARK_OK && left > 0)
        status = mpi_join(type, whole, rest, parts * limit * repeat.stride, err);
    if (status == DLPARK_OK && left == 0) {
        *type = whole;
        whole = MPI_DATATYPE_NULL;
    }
    mpi_end_part(&part, MPI_DATATYPE_NULL);
    mpi_end_part(&whole, MPI_DATATYPE_NULL);
    mpi_end_part(&rest, MPI_DATATYPE_NULL);
    return status;
}

/* The block, with its first repeat where one call says both; `*done` is how many repeats are in it. */
static dlpark_status mpi_innermost(MPI_Datatype *type, const mpi_layout *layout, int limit, int32_t *done,
                                   dlpark_error *err)
{
    const mpi_repeat side_by_side = {layout->block, (int64_t)layout->element.nbytes}, *first = layout->repeats;

    *done = 0;
    if (layout->ndim > 0 && layout->block <= limit && first->extent <= limit) {
        *done = 1;
        return mpi_vector(type, first->extent, layout->block, first->stride, layout->element.type, err);
    }
    if (layout->block > 1 || layout->ndim == 0)
        return mpi_repeat_type(type, side_by_side, layout->element.type, limit, err);
    *type = layout->element.type;
    return DLPARK_OK;
}

dlpark_status dlpark__mpi_type_make(MPI_Datatype *type, const mpi_layout *layout, int limit, dlpark_error *err)
{
    MPI_Datatype made = MPI_DATATYPE_NULL;
    int32_t done;

    DLPARK_TRY(mpi_innermost(&made, layout, limit, &done, err));
    for (; done < layout->ndim; done++) {
        MPI_Datatype outer = MPI_DATATYPE_NULL;
        dlpark_status status = mpi_repeat_type(&outer, layout->repeats[done], made, limit, err);
        mpi_end_part(&made, layout->element.type);
        DLPARK_TRY(status);
        made = outer;
    }
    int code = MPI_Type_commit(&made);
    if (code != MPI_SUCCESS) {
        mpi_end_part(&made, layout->element.type);
        return mpi_refuse(code, "MPI_Type_commit", err);
    }
    *type = made;
    return DLPARK_OK;
}
