/**
 * What a function wants of its tensors, as a short text that is parsed once and matched in nanoseconds.
 *
 *     static dlpark_spec_names names; static dlpark_spec a, b;               // once
 *     DLPARK_TRY(dlpark_spec_init(&a, &names, "a", "f32[n,k] c cpu", err));
 *     DLPARK_TRY(dlpark_spec_init(&b, &names, "b", "f32[k,m] c cpu", err));
 *     dlpark_spec_bound bound; dlpark_spec_bound_init(&bound);               // for each call
 *     DLPARK_TRY(dlpark_spec_match(&a, &a_view, &bound, err));
 *     DLPARK_TRY(dlpark_spec_match(&b, &b_view, &bound, err));  // argument 'b': expected f32[k=4,m] c cpu, got f64[5,3]
 *
 * A spec is dtypes, dimensions in brackets and words, blanks between them; the manual has the grammar. A dimension is a
 * number, a name, `_` (any extent) or `...` (any number of dimensions, once); no brackets are any rank, `[]` is rank 0.
 * A name has one extent in all specs of a call: the first match binds it, the others compare.
 *
 *     f32|f64   any   same(a)          dtypes: alternatives, all, that of the argument `a`
 *     c  f  contig  inner              row-major, column-major, either of them, stride 1 in the last dimension
 *     mut  none  convert               must be writable; may be absent; may be converted
 *     cpu  cuda  cuda:1  cpu|metal     host accessible; the device type; with its id; alternatives
 *     align=64   as=numpy              alignment of element 0 in bytes; the framework of a result
 *
 * `none`, `convert` and `as=` are recorded for the caller and not matched. Nothing here allocates. Pointers must not be
 * NULL unless a parameter is optional or says when it may be.
 */
#ifndef DLPARK_SPEC_H
#define DLPARK_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dlpack.h"
#include "status.h"
#include "view.h"

/** The limits. More is an error of dlpark_spec_init(). */
#define DLPARK_SPEC_MAX_NAMES   32 /**< dimension names of one call; also its arguments with a name */
#define DLPARK_SPEC_MAX_DTYPES  16 /**< different dtypes of one spec */
#define DLPARK_SPEC_MAX_DIMS    16 /**< dimensions of one spec, `...` not counted */
#define DLPARK_SPEC_MAX_DEVICES 8  /**< different devices with an id of one spec */
#define DLPARK_SPEC_NAME_NBYTES 32 /**< of a name, the final zero included */

/** dlpark_spec.flags */
#define DLPARK_SPEC_C       UINT32_C(0x01) /**< `c`; both this and the next: `contig` */
#define DLPARK_SPEC_F       UINT32_C(0x02) /**< `f` */
#define DLPARK_SPEC_INNER   UINT32_C(0x04) /**< `inner` */
#define DLPARK_SPEC_MUT     UINT32_C(0x08) /**< `mut` */
#define DLPARK_SPEC_NONE    UINT32_C(0x10) /**< `none`: the caller lets the argument be absent */
#define DLPARK_SPEC_CONVERT UINT32_C(0x20) /**< `convert`: the caller converts what does not match */
#define DLPARK_SPEC_RESULT  UINT32_C(0x40) /**< of a result: dimensions may be `?` */

/** dlpark_spec.dims: an extent where not negative, ~i for the name i, or one of these. */
#define DLPARK_SPEC_DIM_ANY     INT64_MIN       /**< `_` */
#define DLPARK_SPEC_DIM_UNKNOWN (INT64_MIN + 1) /**< `?`: the function finds out, and then makes the result */

/** X(enumerator, name in a spec). Values are never reused. */
#define DLPARK_SPEC_FRAMEWORK_TABLE(X)                                                                                 \
    X(DLPARK, 1, "dlpark")                                                                                             \
    X(NUMPY, 2, "numpy")                                                                                               \
    X(TORCH, 3, "torch")                                                                                               \
    X(JAX, 4, "jax")                                                                                                   \
    X(CUPY, 5, "cupy")                                                                                                 \
    X(MLX, 6, "mlx")                                                                                                   \
    X(TENSORFLOW, 7, "tensorflow")                                                                                     \
    X(MEMORYVIEW, 8, "memoryview")

DLPARK_BEGIN_C

/** dlpark_spec.framework: what `as=` says. Four bytes in every build. */
typedef enum dlpark_spec_framework {
    DLPARK_SPEC_AS_UNSAID = 0, /**< no `as=` */
#define DLPARK_SPEC_ENUMERATOR(name, value, text) DLPARK_SPEC_AS_##name = (value),
    DLPARK_SPEC_FRAMEWORK_TABLE(DLPARK_SPEC_ENUMERATOR)
#undef DLPARK_SPEC_ENUMERATOR
        DLPARK_SPEC_AS_PIN_32 = 0x7fffffff /**< keeps the enum at 32 bits */
} dlpark_spec_framework;

/**
 * The names that the specs of one function share. Zeroed memory is an empty one, so a static variable needs no
 * initialising. The specs point to it: it stays where it is as long as they are used.
 */
typedef struct dlpark_spec_names {
    int32_t ndims;                                                  /**< dimension names so far */
    int32_t narguments;                                             /**< arguments so far */
    char dims[DLPARK_SPEC_MAX_NAMES][DLPARK_SPEC_NAME_NBYTES];      /**< their names, terminated */
    char arguments[DLPARK_SPEC_MAX_NAMES][DLPARK_SPEC_NAME_NBYTES]; /**< the same */
} dlpark_spec_names;

/** One parsed spec. The fields are to be read, not written; none of them points into the text. */
typedef struct dlpark_spec {
    const dlpark_spec_names *names;
    uint32_t flags;        /**< DLPARK_SPEC_* */
    uint32_t device_types; /**< DLPARK_DEVICE_BIT() of each type that is allowed with any id; all bits: any device */
    int32_t argument;      /**< index of its own name; -1: none */
    int32_t same;          /**< index of the argument that has the dtype; -1: none */
    int32_t ndtypes;       /**< 0: any dtype, or `same` */
    int32_t ndims;         /**< entries of dims */
    int32_t ndims_leading; /**< how many of them stand before `...`; all, where there is none */
    int32_t ndims_extra;   /**< 0, or DLPARK_MAX_NDIM: how many dimensions `...` may be; the same without brackets */
    int32_t ndevices;      /**< entries of devices */
    dlpark_spec_framework framework;
    uint64_t alignment_bytes; /**< 0: unsaid */
    DLDataType dtypes[DLPARK_SPEC_MAX_DTYPES];
    DLDevice devices[DLPARK_SPEC_MAX_DEVICES]; /**< those with an id */
    int64_t dims[DLPARK_SPEC_MAX_DIMS];        /**< extents, ~i for a name, or DLPARK_SPEC_DIM_* */
} dlpark_spec;

/** What the names of one call stand for. Initialised for each call; belongs to one thread at a time. */
typedef struct dlpark_spec_bound {
    uint32_t dims_known;                      /**< bit i: dims[i] has a meaning */
    uint32_t dtypes_known;                    /**< bit i: dtypes[i] has one */
    int64_t dims[DLPARK_SPEC_MAX_NAMES];      /**< extents, by index of the name */
    DLDataType dtypes[DLPARK_SPEC_MAX_NAMES]; /**< of the arguments matched so far */
} dlpark_spec_bound;

/** Makes a call's names unbound, by writing 8 bytes. */
DLPARK_INLINE void dlpark_spec_bound_init(dlpark_spec_bound *bound);

/**
 * Parses the spec of an argument.
 *
 * @param spec      out. Not written on failure.
 * @param names     in, out. Gets the names that are met for the first time. On failure what it has stays as it was:
 *                  both counts, and the names that they count.
 * @param argument  in. The argument's name, for messages and for `same(...)` in later specs; NULL: none.
 * @param text      in. Need not outlive the call.
 * @param err       out, optional. Gives the column, counted in bytes from 1, and what was expected there.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT.
 * Threads: one at a time for the same `names`.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_spec_init(dlpark_spec *spec, dlpark_spec_names *names,
                                                           const char *argument, const char *text, dlpark_error *err);

/** The same for a result, whose dimensions may be `?`. */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_spec_init_result(dlpark_spec *spec, dlpark_spec_names *names,
                                                                  const char *text, dlpark_error *err);

/** A spec as part of a longer text, such as a signature. */
typedef struct dlpark_spec_source {
    const char *text;       /**< the whole text, `length` bytes; columns are counted from its beginning */
    size_t length;          /**< need not be followed by a zero */
    size_t at;              /**< where the spec begins, at most `length` */
    const char *argument;   /**< its name, `argument_length` bytes; NULL: none */
    size_t argument_length; /**< bytes of `argument` */
    bool is_result;         /**< of a result, which may say `?` */
} dlpark_spec_source;

/**
 * Parses a spec in the middle of a text. Reading stops at a `,`, `)` or `;` that follows the spec, or at the end.
 *
 * @param source  in.
 * @param end     out, optional. Where reading stopped. NULL: the spec must be the rest of the text.
 * The rest as dlpark_spec_init(); DLPARK_E_ARGUMENT also where `at` is beyond the text. `end` is not written on failure.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_spec_init_at(dlpark_spec *spec, dlpark_spec_names *names,
                                                              const dlpark_spec_source *source, size_t *end,
                                                              dlpark_error *err);

/**
 * Compares a view with a spec and binds the names that have no extent yet.
 *
 * @param spec   in.
 * @param view   in, borrowed. Its memory is not read.
 * @param bound  in, out. On failure what is known stays as it was.
 * @param err    out, optional. Says what was expected, with the extents that are bound, and what came.
 * @return DLPARK_OK; for the first that does not match, in this order: DLPARK_E_ARGUMENT (`same(a)`, and `a` was not
 *         matched in this call); DLPARK_E_DTYPE (also where the argument was matched in this call with another one);
 *         DLPARK_E_RANK; DLPARK_E_SHAPE (an extent); DLPARK_E_DEVICE; DLPARK_E_LAYOUT; DLPARK_E_READ_ONLY (`mut`, and
 *         the view is read-only or of unknown writability); DLPARK_E_ALIGNMENT.
 * Shapes:  layouts are those of dlpark_layout_is_compact(): extents of 1 have any stride. Elements that start inside a
 *          byte, or that are narrower than bytes and padded, have none of the four layouts; no elements have all.
 * Units:   alignment in bytes, of element 0; a view without elements has every alignment.
 * Threads: any, each with a `bound` of its own. Costs about as much as a check; failure costs more.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_spec_match(const dlpark_spec *spec, const dlpark_view *view,
                                                            dlpark_spec_bound *bound, dlpark_error *err);

/**
 * The extent that a name stands for.
 *
 * @param names  in.
 * @param bound  in.
 * @param name   in.
 * @param out    out. Not written on failure.
 * @param err    out, optional.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (no spec has the name, or none with it was matched).
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_spec_dim(const dlpark_spec_names *names,
                                                          const dlpark_spec_bound *bound, const char *name,
                                                          int64_t *out, dlpark_error *err);

/**
 * The shape that a spec says, for making the result.
 *
 * @param spec   in.
 * @param bound  in. After the arguments were matched.
 * @param shape  out. `spec->ndims` extents. Not written on failure.
 * @param err    out, optional. Names the dimension that says nothing.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (any rank, `...`, `_`, `?`, or a name without an extent).
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_spec_shape(const dlpark_spec *spec, const dlpark_spec_bound *bound,
                                                            int64_t *shape, dlpark_error *err);

/**
 * The one dtype that a spec says.
 *
 * @param spec   in.
 * @param bound  in. After the arguments were matched.
 * @param out    out. Not written on failure.
 * @param err    out, optional.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (`any`, several, or `same` of an argument that was not matched).
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_spec_dtype(const dlpark_spec *spec, const dlpark_spec_bound *bound,
                                                            DLDataType *out, dlpark_error *err);

/**
 * A spec as text: short dtype names, one order of the words, no needless blanks. Parsing it gives the same spec.
 *
 * @param spec    in.
 * @param bound   in, optional. Names that have an extent then come with it, "f32[k=4,m]"; that is for people.
 * @param text    out. As much as fits, always terminated; may be NULL when `nbytes` is 0.
 * @param nbytes  in. The room of `text`.
 * @return the length of the whole text without the final zero, as snprintf().
 * Threads: any; independent of the locale.
 */
DLPARK_API size_t dlpark_spec_text(const dlpark_spec *spec, const dlpark_spec_bound *bound, char *text, size_t nbytes);

DLPARK_INLINE void dlpark_spec_bound_init(dlpark_spec_bound *bound)
{
    bound->dims_known = 0;
    bound->dtypes_known = 0;
}

DLPARK_END_C

#endif
