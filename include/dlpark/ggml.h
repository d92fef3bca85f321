/**
 * ggml's tensors, both ways, without a copy.
 *
 *     dlpark_view view;
 *     DLPARK_TRY(dlpark_ggml_view(&view, result, err));            // a view of what ggml computed
 *
 *     dlpark_ggml_object weight = DLPARK_GGML_OBJECT_EMPTY;
 *     DLPARK_TRY(dlpark_ggml_export(&weight, &tensor, DLPARK_GGML_READ, err));
 *     struct ggml_tensor *out = ggml_mul_mat(context, weight.ggml, input);   // ggml reads the tensor's own memory
 *     ...
 *     dlpark_ggml_release(&weight);                                // after the last graph that reads it
 *
 * Of libdlpark-ggml, which links libggml-base: `pkg-config dlpark-ggml`, or the CMake target dlpark::ggml, which brings
 * ggml's headers and libraries along. ggml counts dimensions from the innermost, so that shape [2, 3] is ne {3, 2}, has
 * four at most, and strides in bytes, `nb`, without a sign. Its tensors have no rank, no count of users, and no mark that
 * says they must not be written; how that is met stands with each function.
 * Pointers must not be NULL unless a parameter says optional; release accepts NULL.
 * Threads: any, one at a time for each object; ggml itself keeps nothing between calls but in its objects.
 */
#ifndef DLPARK_GGML_H
#define DLPARK_GGML_H

#include <stdint.h>

#include "api.h"
#include "status.h"
#include "tensor.h"
#include "view.h"

DLPARK_BEGIN_C

struct ggml_tensor;
struct ggml_context;
struct ggml_backend_buffer;

/** How a ggml tensor shall come, in `as`: a quantised one as u8 with the bytes of a row's blocks as the last extent, as
 * GGUF files have it. Plain ones come as they are. */
#define DLPARK_GGML_BLOCKS UINT32_C(0x1)

/** The same: with this rank, 0 to 4, instead of ggml's, which knows of no trailing ne of 1: {10, 1, 1, 1} is [10]. */
#define DLPARK_GGML_NDIM(ndim) ((DLPARK_CAST(uint32_t, (ndim)) + 1u) << 8)

/** How ggml uses a tensor that it is given, in `flags`: it only reads. Lets memory pass that must not be written, or of
 * which nobody said that it may be, and elements that share their places, as sliding windows do. */
#define DLPARK_GGML_READ UINT32_C(0x1)

/** A tensor that ggml works on: ggml's, and ours, whose memory it is. */
typedef struct dlpark_ggml_object {
    struct ggml_tensor *ggml; /**< for graphs, names and the like; a leaf, in no context. NULL when empty */
    dlpark_tensor tensor;     /**< with the rank that ggml does not keep; may be shared, not released or exported */
} dlpark_ggml_object;

/** Holds nothing: what a variable begins as. */
#define DLPARK_GGML_OBJECT_EMPTY                                                                                       \
    {                                                                                                                  \
        DLPARK_NULL, DLPARK_TENSOR_EMPTY                                                                               \
    }

/**
 * What keeps the memory of a ggml tensor, and ends with the last tensor made of it: any of the three, in this order.
 * With `release` the caller's word is taken; without it the tensor must lie in the buffer, or in the context's own memory.
 * Memory of yours that ggml_init() was given is not the context's: ggml_free() leaves it to you, and nothing in ggml tells
 * the two apart. Then `release` has to end it.
 */
typedef struct dlpark_ggml_owner {
    struct ggml_backend_buffer *buffer; /**< ended by ggml_backend_buffer_free(), on any thread */
    struct ggml_context *context;       /**< ended by ggml_free(), on any thread: with every tensor and graph in it */
    void (*release)(void *owner);       /**< called once, on any thread, for whatever else is to be ended */
    void *owner;                        /**< handed to it */
} dlpark_ggml_owner;

/**
 * A view of a ggml tensor's memory, its shape in our order: [ne[1], ne[0]]. Permuted, transposed and padded ones are views
 * with such strides.
 *
 * @param view    out. Valid as long as ggml's buffer. The rank is 1 plus the last place where ne is not 1. It may be
 *                written, unless the buffer is one of weights (ggml_backend_buffer_get_usage()): those are often mapped.
 *                Unspecified on failure.
 * @param tensor  in, borrowed. NULL is refused, as ggml_get_tensor() returns it. Whether it has been computed is the
 *                caller's to know.
 * @param err     out, optional. Names the tensor.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT; DLPARK_E_DTYPE (quantised); DLPARK_E_DATA (it is not allocated);
 *         DLPARK_E_DEVICE (its buffer is not of the host); DLPARK_E_STRIDES (nb is no multiple of the element's size);
 *         and as dlpark_check().
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_ggml_view(dlpark_view *view, const struct ggml_tensor *tensor,
                                                           dlpark_error *err);

/**
 * The same, as asked for.
 *
 * @param as  in. DLPARK_GGML_BLOCKS, DLPARK_GGML_NDIM(n), both, or 0.
 * @return also DLPARK_E_ARGUMENT (unknown bits); DLPARK_E_RANK (an extent that is not 1 has no place in the rank).
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_ggml_view_as(dlpark_view *view, const struct ggml_tensor *tensor,
                                                              uint32_t as, dlpark_error *err);

/**
 * Makes a tensor of a ggml tensor's memory, and takes what keeps that. One allocation.
 *
 * @param tensor  out. Must be empty; stays so on failure.
 * @param ggml    in, borrowed. As for dlpark_ggml_view_as(), with `as`.
 * @param owner   in, out. What keeps the memory; all NULL on success, and still the caller's, unchanged, on failure.
 * @param view    out, optional. Unspecified on failure.
 * @param err     out, optional.
 * @return as dlpark_ggml_view_as(); DLPARK_E_ARGUMENT also for an owner that does not keep this memory;
 *         DLPARK_E_NOT_EMPTY; DLPARK_E_MEMORY.
 * Ownership: takes what `owner` names. Other tensors of the same context are no longer the caller's to use but through
 *            dlpark_ggml_share().
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_ggml_import(dlpark_tensor *tensor, const struct ggml_tensor *ggml,
                                                             dlpark_ggml_owner *owner, uint32_t as, dlpark_view *view,
                                                             dlpark_error *err);

/**
 * Makes a tensor of another ggml tensor whose memory the same owner keeps, and adds an owner to that.
 *
 * @param part    out. Must be empty; stays so on failure.
 * @param tensor  in, out. Not empty: one that dlpark_ggml_import() made, or a share of it. That it keeps the memory of
 *                `ggml` as well is the caller's word, as ggml does not say where a tensor's memory comes from. Changed as
 *                by dlpark_tensor_share().
 * @param ggml    in, borrowed. As for dlpark_ggml_view_as(), with `as`.
 * @param view    out, optional. READ_ONLY also where `tensor` is. Unspecified on failure.
 * @param err     out, optional.
 * @return as dlpark_ggml_view_as(); DLPARK_E_ARGUMENT also for an empty `tensor`; DLPARK_E_NOT_EMPTY; DLPARK_E_MEMORY.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_ggml_share(dlpark_tensor *part, dlpark_tensor *tensor,
                                                            const struct ggml_tensor *ggml, uint32_t as,
                                                            dlpark_view *view, dlpark_error *err);

/**
 * Gives a tensor to ggml, which works on its memory. One allocation, and one of ggml's.
 *
 * What ggml would abort on is refused here: above four dimensions, strides below 1, and elements of the last dimension that
 * are not side by side, which some of its functions abort on and others read wrongly without a word.
 *
 * @param object  out. Must be empty; stays so on failure. Ended by dlpark_ggml_release().
 * @param tensor  in, out. Empty on success, unchanged on failure. Any address that is a multiple of the element's size
 *                will do: ggml's buffer begins up to 31 bytes before it. Never clear that buffer as a whole.
 * @param flags   in. DLPARK_GGML_READ or 0. With it, the buffer is one of weights where the tensor is not known to be
 *                writable, so that a view of it says READ_ONLY again.
 * @param err     out, optional. Says what would have to be copied.
 * @return DLPARK_OK; DLPARK_E_NOT_EMPTY; DLPARK_E_ARGUMENT (an empty tensor, unknown flags); DLPARK_E_DEVICE;
 *         DLPARK_E_READ_ONLY (without DLPARK_GGML_READ); DLPARK_E_DTYPE (ggml has f16, bf16, f32, f64, i8, i16, i32,
 *         i64); DLPARK_E_RANK; DLPARK_E_STRIDES; DLPARK_E_ALIGNMENT; DLPARK_E_DATA; DLPARK_E_OVERFLOW; DLPARK_E_MEMORY.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_ggml_export(dlpark_ggml_object *object, dlpark_tensor *tensor,
                                                             uint32_t flags, dlpark_error *err);

/**
 * The same for a u8 tensor whose last extent is the bytes of a row's blocks, as GGUF files have quantised weights.
 *
 * @param type  in. What the blocks are, in ggml's name or GGUF's: "q4_0", "Q4_0".
 * @return also DLPARK_E_DTYPE (a tensor that is not u8, no such type, or one of plain elements); DLPARK_E_SHAPE (a row is
 *         not whole blocks); DLPARK_E_STRIDES (nor is what lies between the beginnings of two rows).
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_ggml_export_blocks(dlpark_ggml_object *object, dlpark_tensor *tensor,
                                                                    const char *type, uint32_t flags,
                                                                    dlpark_error *err);

/** Ends ggml's tensor and its buffer, then ours, and empties the variable. Empty or NULL: nothing. Cannot fail. */
DLPARK_API void dlpark_ggml_release(dlpark_ggml_object *object);

DLPARK_END_C

#endif
