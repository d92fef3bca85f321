/**
 * Tensors and arrays of Apache Arrow, by the C data interface and the C device data interface, without a copy.
 *
 *     DLPARK_TRY(dlpark_arrow_import(&tensor, &schema, &array, &view, err));   // array.release is NULL now
 *     DLPARK_TRY(dlpark_arrow_export(&schema, &array, &tensor, err));          // tensor is empty now
 *
 * A primitive array of integers or floats is a tensor of rank 1; a fixed_size_list adds a dimension, and the extension
 * type arrow.fixed_shape_tensor as many as it says, in the order that its permutation says. arrow.bool8 is bool. What
 * Arrow lets be null, or gives another meaning than that of a number (dates, dictionaries, text), is refused by name,
 * and so are Arrow's own booleans, which are bits. Arrow's data are immutable: what comes from there is READ_ONLY.
 *
 * The structs are those of Arrow's specification and are declared here, under the guards that it asks for: no library is
 * needed. The numbers of devices are DLPack's. Link with dlpark::arrow.
 * Pointers must not be NULL unless a parameter says optional.
 */
#ifndef DLPARK_ARROW_H
#define DLPARK_ARROW_H

#include <stdint.h>

#include "status.h"
#include "tensor.h"
#include "view.h"

DLPARK_BEGIN_C

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

/** Bits of ArrowSchema.flags, by Arrow's names. */
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE           2
#define ARROW_FLAG_MAP_KEYS_SORTED    4

/** The type of an array. Whoever holds it ends it by `release`, which sets itself to NULL. */
struct ArrowSchema {
    const char *format;             /**< the type, as Arrow spells it */
    const char *name;               /**< optional */
    const char *metadata;           /**< optional: pairs of counted strings, an extension type among them */
    int64_t flags;                  /**< ARROW_FLAG_* */
    int64_t n_children;             /**< how many `children` has */
    struct ArrowSchema **children;  /**< the types that it is made of; owned */
    struct ArrowSchema *dictionary; /**< of the values, where the array has indices into them; owned, or NULL */
    void (*release)(struct ArrowSchema *schema); /**< NULL: the struct holds nothing any more */
    void *private_data;                          /**< of whoever made it */
};

/** The data of an array. Whoever holds it ends it by `release`, which sets itself to NULL. */
struct ArrowArray {
    int64_t length;                            /**< in elements */
    int64_t null_count;                        /**< -1: nobody counted */
    int64_t offset;                            /**< in elements */
    int64_t n_buffers;                         /**< how many `buffers` has */
    int64_t n_children;                        /**< how many `children` has */
    const void **buffers;                      /**< owned; the first of most types says which elements are not null */
    struct ArrowArray **children;              /**< owned */
    struct ArrowArray *dictionary;             /**< the values that the elements are indices of; owned, or NULL */
    void (*release)(struct ArrowArray *array); /**< NULL: the struct holds nothing any more */
    void *private_data;                        /**< of whoever made it */
};

#endif

#ifndef ARROW_C_DEVICE_DATA_INTERFACE
#define ARROW_C_DEVICE_DATA_INTERFACE

/** A DLDeviceType. */
typedef int32_t ArrowDeviceType;

/** An array on a device. */
struct ArrowDeviceArray {
    struct ArrowArray array;
    int64_t device_id;           /**< -1 where there is only one, as for the CPU */
    ArrowDeviceType device_type; /**< a DLDeviceType */
    void *sync_event;            /**< what has to be waited for before the data are touched; NULL: nothing */
    int64_t reserved[3];
};

#endif

/**
 * An Arrow array as a view.
 *
 * @param view    out. READ_ONLY. [length], and a dimension for each list; without `offset`. Valid as long as the array.
 *                Unspecified on failure.
 * @param schema  in, borrowed until the call returns. Not released.
 * @param array   in, borrowed. Not released. A validity bitmap is read where nobody counted the nulls.
 * @param err     out, optional. Names the type, the element that is null, or the field with its value.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (NULL, released or moved out; schema and array contradict each other or themselves; an
 *         element is null); DLPARK_E_DTYPE (a type that is no number); and as dlpark_check().
 * Threads: any, as long as nobody changes schema or array meanwhile.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_arrow_view(dlpark_view *view, const struct ArrowSchema *schema,
                                                            const struct ArrowArray *array, dlpark_error *err);

/**
 * Takes an Arrow array as a tensor, with one allocation.
 *
 * @param tensor  out. Must be empty; stays so on failure. READ_ONLY.
 * @param schema  in, borrowed until the call returns, and still the caller's to release.
 * @param array   in, out. Moved on success: array->release is NULL. Unchanged on failure.
 * @param view    out, optional.
 * @param err     out, optional.
 * @return as dlpark_arrow_view(), and DLPARK_E_NOT_EMPTY, DLPARK_E_MEMORY.
 * Threads: any; the array is released on the thread that ends the tensor.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_arrow_import(dlpark_tensor *tensor, const struct ArrowSchema *schema,
                                                              struct ArrowArray *array, dlpark_view *view,
                                                              dlpark_error *err);

/**
 * The same for an array on a device.
 *
 * @param array  in, out. With an event to wait for it is refused, DLPARK_E_DEVICE: wait for it, then set sync_event NULL.
 *               Nulls must have been counted where the host cannot read the bitmap.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_arrow_import_device(dlpark_tensor *tensor,
                                                                     const struct ArrowSchema *schema,
                                                                     struct ArrowDeviceArray *array, dlpark_view *view,
                                                                     dlpark_error *err);

/**
 * Gives a tensor out as an Arrow array, with two allocations.
 *
 * Rank 1 becomes a primitive array, or one of arrow.bool8; higher ranks an array of arrow.fixed_shape_tensor, whose
 * length is the first extent. Rows must follow each other without gaps; within a row the dimensions may lie in any order,
 * which the extension's permutation then says.
 *
 * @param schema  out. Written over on success, not written on failure. The receiver releases it.
 * @param array   out. The same. The tensor ends when the array and the children that were moved out of it have been
 *                released, on whatever thread.
 * @param tensor  in, out. Host accessible. Empty on success, unchanged on failure.
 * @param err     out, optional. Names what Arrow cannot say, or what would have to be copied.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (NULL or empty tensor); DLPARK_E_RANK (0, or above 1 with bool);
 *         DLPARK_E_DTYPE (complex, bfloat16, less than 8 bits, lanes ...); DLPARK_E_LAYOUT; DLPARK_E_OVERFLOW (a row of
 *         more than 2^31-1 elements, which are the lists of Arrow); DLPARK_E_DEVICE;
 *         DLPARK_E_MEMORY.
 * Ownership: nobody may write to what Arrow holds; a view that the caller kept must not be written through any more.
 * Threads:   any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_arrow_export(struct ArrowSchema *schema, struct ArrowArray *array,
                                                              dlpark_tensor *tensor, dlpark_error *err);

/**
 * The same for any device whose memory has addresses. There is no event to wait for: all work on the tensor must have
 * been waited for.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_arrow_export_device(struct ArrowSchema *schema,
                                                                     struct ArrowDeviceArray *array,
                                                                     dlpark_tensor *tensor, dlpark_error *err);

DLPARK_END_C

#endif
