/*
 * Element types by their names in Python's interfaces: the formats of PEP 3118 and of the module struct, and the
 * typestrs of the array interfaces. Kind and item size must agree, and what is not known is an error, never a guess.
 * Knows no Python.
 */
#ifndef DLPARK_PYTHON_FORMATS_H
#define DLPARK_PYTHON_FORMATS_H

#include <stdbool.h>
#include <stdint.h>

#include <dlpark/dtype.h>
#include <dlpark/status.h>

/*
 * The dtype of a format with the size of its items.
 *
 * @param format       in. Of one number: "f", "<q", "Zd", "?", also MLX's "bfloat16".
 * @param item_nbytes  in. Any.
 * @param dtype        out. Not written on failure.
 * @param swapped      out. Whether the elements have the other byte order. Not written on failure.
 * @param err          out, optional. Quotes the format and says what it is instead of a number.
 * @return DLPARK_OK; DLPARK_E_DTYPE.
 */
DLPARK_NODISCARD dlpark_status dlpark__py_format_parse(const char *format, int64_t item_nbytes, DLDataType *dtype,
                                                       bool *swapped, dlpark_error *err);

/* What a typestr says: "<f4" is {false, 'f', 4} where the machine is little-endian. */
typedef struct dlpark__py_typestr {
    bool is_swapped; /* never of items of one byte */
    char kind;
    int32_t item_nbytes;
} dlpark__py_typestr;

/* Takes a typestr apart, of any kind. DLPARK_OK; DLPARK_E_DTYPE where it has not the form. */
DLPARK_NODISCARD dlpark_status dlpark__py_typestr_split(const char *text, dlpark__py_typestr *out, dlpark_error *err);

/* The dtype of a kind of the array interfaces with the size of its items. DLPARK_OK; DLPARK_E_DTYPE. */
DLPARK_NODISCARD dlpark_status dlpark__py_kind_parse(char kind, int64_t item_nbytes, DLDataType *dtype,
                                                     dlpark_error *err);

/* Whether NumPy has user-defined dtypes such as those of ml_dtypes under this kind, which then need another name. */
bool dlpark__py_kind_is_open(char kind, int64_t item_nbytes);

/* The two in one. DLPARK_OK; DLPARK_E_DTYPE. */
DLPARK_NODISCARD dlpark_status dlpark__py_typestr_parse(const char *text, DLDataType *dtype, bool *swapped,
                                                        dlpark_error *err);

/* The format, the typestr of a dtype, in the byte order of the machine: a static string; NULL where there is none. */
const char *dlpark__py_format_of(DLDataType dtype);
const char *dlpark__py_typestr_of(DLDataType dtype);

/* Puts the bytes of compact elements into the other order, in place. `data` is aligned for `dtype`, which has a typestr
 * or is bf16. Accepts NULL when `nbytes` is 0. */
void dlpark__py_swap(void *data, int64_t nbytes, DLDataType dtype);

#endif
