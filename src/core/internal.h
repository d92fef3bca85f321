/*
 * What the sources of the core share. Grouped by the file that defines it.
 */
#ifndef DLPARK_CORE_INTERNAL_H
#define DLPARK_CORE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dlpark/dlpark.h>

#if !defined(__GNUC__)
#error "the core is written for gcc and clang: checked arithmetic, atomics and attributes are theirs"
#endif

#define DLPARK_LIKELY(condition)   __builtin_expect(!!(condition), 1)
#define DLPARK_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* DLPack's structs have no const: what is borrowed for reading goes through here, and is never written. */
static inline void *dlpark__unconst(const void *pointer)
{
    return (void *)(uintptr_t)pointer;
}

/* An address of a foreign tensor; in integers, as nobody promised that it points into one object. */
static inline void *dlpark__address(void *data, uint64_t byte_offset)
{
    return (void *)((uintptr_t)data + (uintptr_t)byte_offset);
}

/* What a tensor that is given out promises: no offset where addresses add up, no data without elements. */
static inline void dlpark__tensor_normalise(DLTensor *tensor, int64_t numel)
{
    if (numel == 0) {
        tensor->data = NULL;
        tensor->byte_offset = 0;
    } else if (dlpark_device_is_addressable(tensor->device)) {
        tensor->data = dlpark__address(tensor->data, tensor->byte_offset);
        tensor->byte_offset = 0;
    }
}

/* ---- status.c ---- */

/* Bytes of the UTF-8 character that a text begins with; 0 where these bytes are none. `length` is not 0. */
size_t dlpark__utf8_width(const char *text, size_t length);

/* Bytes that came from elsewhere, for a message: at most 60 of them, cut between two characters with "...". Control
 * characters, and bytes that are not UTF-8, come as "\x1B". Without quotation marks. */
typedef struct dlpark__quoted {
    char text[64];
} dlpark__quoted;
dlpark__quoted dlpark__quote(const char *bytes, size_t length);

/* ---- dtype.c ---- */

/* Reads a decimal number without sign and leading zeros from the first `length` bytes, which may end before at a zero.
 * Returns how many digits it has, 0 where there is none. `out` is -1 for one above `limit`. */
size_t dlpark__read_decimal(const char *text, size_t length, int64_t limit, int64_t *out);

/* The name of a code, "float", as long names begin; "unknown" where DLPack 1.3 has none. */
const char *dlpark__dtype_code_name(uint8_t code);

/* The bits that a code can have, for messages: "16, 32, 64 or 128"; "" for an unknown one. */
const char *dlpark__dtype_widths(uint8_t code);

/* ---- dtype_name.c ---- */

/* How many characters must be changed, left out, added or exchanged with their neighbour to make `word` of the text, not
 * minding case; SIZE_MAX where one of them is longer than any word. */
size_t dlpark__name_distance(const char *text, size_t length, const char *word);

/* ---- layout.c ---- */

/* What one pass over the dimensions finds. Without elements: numel 0, lowest 0, highest -1. */
typedef struct dlpark__span {
    int64_t numel;
    int64_t lowest; /* elements from element 0, at most 0 */
    int64_t highest;
} dlpark__span;

/* Adds the reach of one dimension to lowest or highest; begin with both 0. False when a number leaves 64 bits: then,
 * and with an extent below 1, the span means nothing. */
static inline bool dlpark__span_add(dlpark__span *span, int64_t extent, int64_t stride)
{
    int64_t reach;
    bool odd;

    if (extent == 1)
        return true;
    /* Unsigned, as an extent of INT64_MIN would overflow. */
    odd = __builtin_mul_overflow((int64_t)((uint64_t)extent - 1), stride, &reach);
    if (reach < 0)
        odd |= __builtin_add_overflow(span->lowest, reach, &span->lowest);
    else
        odd |= __builtin_add_overflow(span->highest, reach, &span->highest);
    return !odd;
}

/* The end test: either side stays below 2^63-1 elements, so that both can be negated and counted from 1. */
static inline bool dlpark__span_fits(const dlpark__span *span)
{
    return span->lowest > -INT64_MAX && span->highest < INT64_MAX;
}

/* The pass over given strides. ndim is in range and shape not NULL when there are dimensions. */
dlpark_status dlpark__layout_scan(int32_t ndim, const int64_t *shape, const int64_t *strides, dlpark__span *extent,
                                  dlpark_error *err);

/* The pass that makes compact strides on its way. */
dlpark_status dlpark__layout_fill(int32_t ndim, const int64_t *shape, int64_t *strides, dlpark__span *extent,
                                  dlpark_error *err);

/* Whether the elements lie one after the other, the last dimension fastest or the first. True without elements. */
bool dlpark__layout_is_dense(int32_t ndim, const int64_t *shape, const int64_t *strides, bool column_major);

/* Bytes of `count` consecutive elements, rounded up once; false when they leave 63 bits. */
bool dlpark__layout_bytes(DLDataType dtype, bool padded, int64_t count, int64_t *nbytes);

/* Text for messages: "[2, 3]", cut with "..." when it does not fit. */
typedef struct dlpark__list {
    char text[160];
} dlpark__list;
dlpark__list dlpark__layout_list(int32_t ndim, const int64_t *values);

/* ---- layout_fault.c ---- */

/* A broken rule of a layout: RANK, SHAPE, EXTENT, NUMEL or REACH. `text` ends where the words of the table begin. */
typedef struct dlpark__layout_fault {
    dlpark_rule rule;
    int32_t dimension; /* -1: of no dimension */
    int64_t value;
    int64_t limit;
    char text[256];
} dlpark__layout_fault;

/* Whether there is such a fault: of the rank, or of a shape that is NULL; of the first negative extent from dimension
 * `first` on; of the element count; of the reach. For the last two no extent is negative or 0; without a fault they
 * write their part of the span. NULL strides reach as far as the count says, which then is in the span. */
bool dlpark__layout_find_head(int32_t ndim, const int64_t *shape, dlpark__layout_fault *fault);
bool dlpark__layout_find_extent(int32_t ndim, const int64_t *shape, int32_t first, dlpark__layout_fault *fault);
bool dlpark__layout_find_numel(int32_t ndim, const int64_t *shape, dlpark__span *span, dlpark__layout_fault *fault);
bool dlpark__layout_find_reach(int32_t ndim, const int64_t *shape, const int64_t *strides, dlpark__span *span,
                               dlpark__layout_fault *fault);

/* The first of all these faults, its status and its message, for a layout that was found wanting. */
DLPARK_COLD dlpark_status dlpark__layout_explain(int32_t ndim, const int64_t *shape, const int64_t *strides,
                                                 dlpark_error *err);

/* ---- check.c ---- */

/* The flags that DLPack 1.3 defines. */
#define DLPARK__FLAGS_KNOWN                                                                                            \
    ((uint64_t)(DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_COPIED |                                        \
                DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED))

/* Everything about a tensor but its dimensions: rank, dtype, device, whether a shape is there. */
dlpark_status dlpark__check_head(const DLTensor *tensor, dlpark_error *err);

/* Whether the bytes of a known extent can exist at the tensor's place: data, reach in bytes, address space. */
dlpark_status dlpark__check_bytes(const DLTensor *tensor, uint64_t flags, const dlpark__span *extent,
                                  dlpark_error *err);

/* dlpark_check() that also says whether there are no elements; `write` (0 or UNKNOWN_WRITE) goes to the view's flags where
 * READ_ONLY does not. */
dlpark_status dlpark__check_tensor(const DLTensor *tensor, uint64_t flags, uint32_t write, bool *empty,
                                   dlpark_view *view, dlpark_error *err);

/* ---- check_all.c ---- */

/* The first broken fault of a tensor that was found wanting: its status, and its message; DLPARK_E_ARGUMENT where there
 * is none any more. `lists` false: the lists are not read, and the fault is in the head. */
DLPARK_COLD dlpark_status dlpark__check_explain(const DLTensor *tensor, uint64_t flags, bool lists, dlpark_error *err);

/* ---- overlap.c ---- */

/* Whether memory is shared. UNDECIDED after `steps` steps, or where numbers leave 63 bits. */
typedef enum dlpark__overlap { DLPARK__OVERLAP_NO, DLPARK__OVERLAP_YES, DLPARK__OVERLAP_UNDECIDED } dlpark__overlap;

/* Whether two elements of a layout with a known extent and at least one element are the same. */
dlpark__overlap dlpark__overlap_layout(int32_t ndim, const int64_t *shape, const int64_t *strides, uint64_t steps);

/* Whether two elements of a view are in the same place. Packed neighbours that share a byte are not. */
dlpark__overlap dlpark__overlap_self(const dlpark_view *view, uint64_t steps);

/* Whether two views share a byte. For packed types UNDECIDED as well where they share no bit, but may share a byte. */
dlpark__overlap dlpark__overlap_two(const dlpark_view *a, const dlpark_view *b, uint64_t steps);

/* ---- view.c ---- */

/* Whether elements share bytes with their neighbours. */
static inline bool dlpark__view_is_packed(const dlpark_view *view)
{
    return dlpark_dtype_is_packed(view->dtype) && (view->flags & DLPARK_VIEW_PADDED) == 0;
}

/* Bits from one element to the next, where they lie side by side. */
static inline uint32_t dlpark__view_element_nbits(const dlpark_view *view)
{
    uint32_t nbits = dlpark_dtype_nbits(view->dtype);

    return dlpark__view_is_packed(view) ? nbits : (nbits + 7) / 8 * 8;
}

/* The bytes of `count` consecutive elements; false when they leave 63 bits. */
static inline bool dlpark__view_count_bytes(const dlpark_view *view, int64_t count, int64_t *nbytes)
{
    return dlpark__layout_bytes(view->dtype, !dlpark__view_is_packed(view), count, nbytes);
}

/* Describes a tensor that is known to be right. `strides` NULL: the view's own have been filled in already. */
void dlpark__view_fill(dlpark_view *view, const DLTensor *tensor, uint32_t flags, int64_t numel);

/* Why a view has no form as a DLTensor, or DLPARK_OK. */
dlpark_status dlpark__view_check_byte(const dlpark_view *view, dlpark_error *err);

/* What a message calls two views and what is done with them: "copy", "to", "the source", "the destination". */
typedef struct dlpark__view_words {
    const char *verb;
    const char *joint;
    const char *first;
    const char *second;
} dlpark__view_words;

/* Whether two views have one rank (E_RANK) and shape (E_SHAPE); and before that one dtype (E_DTYPE). */
dlpark_status dlpark__view_check_shapes(const dlpark_view *first, const dlpark_view *second,
                                        const dlpark__view_words *words, dlpark_error *err);
dlpark_status dlpark__view_check_same(const dlpark_view *first, const dlpark_view *second,
                                      const dlpark__view_words *words, dlpark_error *err);

/* Why a view may not be read or written by the host, or DLPARK_OK. */
dlpark_status dlpark__view_check_host(const dlpark_view *view, dlpark_error *err);
dlpark_status dlpark__view_check_write(const dlpark_view *view, dlpark_error *err);

/* Whether a view has this dtype, and its element 0 this alignment. */
dlpark_status dlpark__view_check_dtype(const dlpark_view *view, DLDataType dtype, dlpark_error *err);
dlpark_status dlpark__view_check_alignment(const dlpark_view *view, size_t alignment_bytes, dlpark_error *err);

/* Element 0; without elements an address that is not NULL, aligned for any type. */
void *dlpark__view_address(const dlpark_view *view);

/* Whether elements of a destination coincide by a stride of 0 (E_STRIDES). It has elements. */
dlpark_status dlpark__view_check_places(const dlpark_view *view, dlpark_error *err);

/* Whether the spans of two views with elements have a byte in common. */
bool dlpark__view_meets(const dlpark_view *first, const dlpark_view *second);

/* The bytes from the lowest to past the highest that a view with elements reaches, from its element 0. */
void dlpark__view_byte_range(const dlpark_view *view, int64_t *lowest, int64_t *past_highest);

/* ---- tensor.c ---- */

/* The owner behind a tensor, or a share of it, that this copy of the library made with this release function; NULL for any
 * other. */
void *dlpark__tensor_owner(DLManagedTensorVersioned *managed, void (*release)(void *owner));

/* ---- memory.c ---- */

/* Memory for a header with `nbytes` behind it, ended by free(). NULL when there is none. */
void *dlpark__memory_get(size_t nbytes);

#define DLPARK__MEMORY_HUGE_FROM ((size_t)4 << 20)

/* The same, aligned, from here on backed by huge pages where the system gives them. */
void *dlpark__memory_get_large(size_t nbytes, size_t alignment_bytes);

/* ---- copy.c ---- */

/* Copies between views whose elements do not meet, although their spans may; of one shape, dtype and so on, checked. */
void dlpark__copy_disjoint(const dlpark_view *to, const dlpark_view *from, int threads);

/* ---- copy_bits.c ---- */

/* The same for a sub-byte dtype, packed or padded on either side. Reads and writes back the bytes at the edges. */
void dlpark__copy_bits(const dlpark_view *to, const dlpark_view *from);

/* ---- copy_overlap.c ---- */

/* The same for views that have elements and whose spans meet, as if the source had been copied away first.
 * DLPARK_E_MEMORY, with nothing written, when it would have to be and there is no memory. */
dlpark_status dlpark__copy_overlapping(const dlpark_view *to, const dlpark_view *from, int threads, dlpark_error *err);

#endif
