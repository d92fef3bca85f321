/**
 * What a function wants of its arguments and gives back, as one line of text that is parsed once.
 *
 *     static dlpark_signature signature;
 *     DLPARK_TRY(dlpark_signature_parse(&signature, "scale(a: f32[n,k] c cpu, by?: float) -> f32[n,k]", err));
 *
 *     signature = name "(" [argument {"," argument}] ")" ["->" result {"," result}]
 *     argument  = name ["?"] ":" ("int" | "float" | "bool" | "str" | "object" | spec)
 *     result    = spec
 *
 * A spec is what spec.h describes. An argument with `?` may be left out; those without stand before those with. Names of
 * dimensions are bound across all arguments and results. Nothing here allocates or needs Python. Pointers must not be NULL
 * unless a parameter says optional.
 */
#ifndef DLPARK_SIGNATURE_H
#define DLPARK_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spec.h"
#include "status.h"

/** The limits. More is an error of dlpark_signature_parse(). */
#define DLPARK_SIGNATURE_MAX_ARGUMENTS 24 /**< of them at most 16 tensors */
#define DLPARK_SIGNATURE_MAX_TENSORS   16
#define DLPARK_SIGNATURE_MAX_RESULTS   8
#define DLPARK_SIGNATURE_NAME_NBYTES   64 /**< of the function's name, the final zero included */

DLPARK_BEGIN_C

/** What an argument is. Four bytes in every build. */
typedef enum dlpark_signature_kind {
    DLPARK_SIGNATURE_TENSOR = 0,
    DLPARK_SIGNATURE_INT,    /**< anything with __index__, as int64_t */
    DLPARK_SIGNATURE_FLOAT,  /**< anything with __float__ or __index__, as double */
    DLPARK_SIGNATURE_BOOL,   /**< True or False, or NumPy's */
    DLPARK_SIGNATURE_STR,    /**< as UTF-8 */
    DLPARK_SIGNATURE_OBJECT, /**< anything, borrowed */
    DLPARK_SIGNATURE_PIN_32 = 0x7fffffff
} dlpark_signature_kind;

/** One argument. */
typedef struct dlpark_signature_argument {
    char name[DLPARK_SPEC_NAME_NBYTES]; /**< terminated */
    dlpark_signature_kind kind;
    int32_t tensor;   /**< which of the tensors it is; -1 for scalars */
    bool is_optional; /**< may be left out: `?` */
    /** Of a tensor that is plain: of one dtype and a rank, and a compact one on the host fits. */
    bool is_plain;
    uint8_t address_mask;               /**< the bits that are 0 in an address where C reads its elements */
    uint32_t refused_flags;             /**< DLPARK_VIEW_* that it must not have */
    uint32_t bit;                       /**< 1 << tensor */
    uint32_t names;                     /**< the names of dimensions in its spec, as bits */
    int8_t codes[DLPARK_SPEC_MAX_DIMS]; /**< of each dimension the index of its name, or -1 */
    int32_t ndim;                       /**< this and the next as in DLTensor */
    DLDataType dtype;
    dlpark_spec spec; /**< of a tensor */
} dlpark_signature_argument;

/** A parsed signature: about 13 KiB, meant to be static. The fields are to be read, not written. Frozen once parsed: it may
 * be used on any thread and in any interpreter, and stays where it is. */
typedef struct dlpark_signature {
    char name[DLPARK_SIGNATURE_NAME_NBYTES]; /**< of the function, terminated */
    int32_t narguments;                      /**< scalars among them */
    int32_t nrequired;                       /**< how many of them must be given; these come first */
    int32_t ntensors;                        /**< how many of the arguments are tensors */
    int32_t nresults;                        /**< how many tensors it gives back */
    dlpark_spec_names names;
    dlpark_signature_argument arguments[DLPARK_SIGNATURE_MAX_ARGUMENTS];
    dlpark_spec results[DLPARK_SIGNATURE_MAX_RESULTS];
    /** Bit i: result i may be on the host, is row-major, and its extents are known when the arguments are. */
    uint32_t plain_results;
} dlpark_signature;

/**
 * Parses a signature.
 *
 * @param signature  out. All zero on failure, which no call accepts.
 * @param text       in. Need not outlive the call.
 * @param err        out, optional. Gives the column, counted in bytes from 1, and what was expected there.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT.
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_signature_parse(dlpark_signature *signature, const char *text,
                                                                 dlpark_error *err);

/**
 * A signature as text, in the one form that it has: parsing it gives the same signature.
 *
 * @return the length of the whole text without the final zero, as snprintf().
 */
DLPARK_API size_t dlpark_signature_text(const dlpark_signature *signature, char *text, size_t nbytes);

DLPARK_END_C

#endif
