/**
 * A view as text for people: one line about it, or its elements as NumPy prints them.
 *
 *     char line[256];
 *     dlpark_view_describe(&view, line, sizeof line);           // f32[3, 4] cpu c read-only
 *     size_t length = dlpark_view_text(&view, NULL, NULL, 0);   // what the elements need, before the final zero
 *     dlpark_view_text(&view, NULL, text, length + 1);          // [[1.  2.5] ...
 *
 * Both write into the caller's memory, as snprintf() does: always terminated, cut where it does not fit, and the return
 * value is the length of the whole text. They allocate nothing and no locale changes a character. Pointers must not be
 * NULL unless a parameter is optional or says when it may be.
 */
#ifndef DLPARK_TEXT_H
#define DLPARK_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "view.h"

DLPARK_BEGIN_C

/** How elements are written. Start from DLPARK_TEXT_DEFAULTS and change fields. The layout is frozen. */
typedef struct dlpark_text_options {
    int64_t threshold;    /**< with more elements than this the middle of long dimensions is left out, as "..." */
    int32_t edgeitems;    /**< then so many are shown at each end of a dimension; 1 where it is less */
    int32_t precision;    /**< digits after the point, at most; 0 where it is less */
    int32_t linewidth;    /**< characters of a line, at most, where a line holds more than one element */
    uint32_t reserved[3]; /**< 0 */
} dlpark_text_options;

/** NumPy's own defaults. */
#define DLPARK_TEXT_DEFAULTS (DLPARK_LITERAL(dlpark_text_options){1000, 3, 8, 75, {0, 0, 0}})

/**
 * One line about a view: "f32[3, 4] cpu c read-only".
 *
 * The words, in this order: dtype and extents; device; "c" (row-major), "f" (column-major), "strides [1, 8]" (in
 * elements; always so where there is a bit offset) or "empty"; "byte offset 64" where the data is a handle; "bit offset
 * 4"; "padded", of a sub-byte dtype; "read-only", or "write unknown" where nobody said that it may be written. "c" is
 * said where dlpark_view_bytes() has the elements, if the host can access them.
 *
 * @param view    in, borrowed. Its memory is not read.
 * @param text    out. May be NULL when `nbytes` is 0.
 * @param nbytes  in. Bytes of `text`, the final zero included.
 * @return the length of the whole text without the final zero; it was cut if that is `nbytes` or more.
 * Threads: any.
 */
DLPARK_API size_t dlpark_view_describe(const dlpark_view *view, char *text, size_t nbytes);

/**
 * The elements, as NumPy 2.4 writes an array of them: [[1.  2.5] and, below it, [3.  4. ]].
 *
 * For every dtype that NumPy has, the text is that of its str(array) character for character: numbers in columns of one
 * width, floats with the fewest digits that tell them from their neighbours, an exponent for all where they differ too
 * much, brackets, line breaks, "..." for what is left out. A rank of 0 is the lone number with all its digits.
 *
 * What NumPy does not have follows the same rules. bf16 and the 8, 6 and 4 bit floats are written with the fewest digits
 * that are theirs alone: 0.1 for what is 0.10009765625 in bf16. A float of 128 bits is IEEE binary128. An element with
 * lanes is "(1, 2, 3)". An opaque element is its bytes in hexadecimal digits, in the order of memory.
 *
 * @param view     in, borrowed. Memory that the host cannot access is not read: the text is then that of
 *                 dlpark_view_describe() as "<f32[3] cuda:0 c: not accessible to the host>".
 * @param options  in, optional. NULL is DLPARK_TEXT_DEFAULTS.
 * @param text     out. May be NULL when `nbytes` is 0.
 * @param nbytes   in. Bytes of `text`, the final zero included.
 * @return the length of the whole text without the final zero; it was cut if that is `nbytes` or more. When another
 *         thread changes the elements meanwhile, a second call may come to another length.
 * Shapes:  what is shown is read up to three times. Dimensions of up to 2 * `edgeitems` are shown whole. At most 2^20
 *          elements are shown, each lane counting as one: with more, `threshold` does not count; then one element is
 *          shown at each end of a dimension; and where that is still more, the text is that of dlpark_view_describe()
 *          as "<u8[6, 6] cpu c: too many elements to show>".
 * Threads: any, as for reading the memory itself.
 */
DLPARK_API size_t dlpark_view_text(const dlpark_view *view, const dlpark_text_options *options, char *text,
                                   size_t nbytes);

DLPARK_END_C

#endif
