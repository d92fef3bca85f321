/*
 * A reader of Python's literals, as far as headers of NumPy's have them, that a parser of a known shape drives: strings,
 * numbers, True, False and None, tuples and lists. What a program could write and a header never has is refused: comments,
 * prefixes, sums, two strings in a row.
 *
 * A function that fails leaves why, and where, in the reader, and every later one fails too.
 */
#ifndef DLPARK_FORMATS_NPY_LITERAL_H
#define DLPARK_FORMATS_NPY_LITERAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How deep an ignored value may nest. */
#define DLPARK__NPY_DEPTH 32

typedef struct dlpark__npy_literal {
    const char *text;
    size_t at;
    size_t end;
    bool has_longs;  /* a number may end in L, as in Python 2 */
    bool has_comma;  /* one was taken since the caller cleared this */
    size_t fault_at; /* where in the text */
    char fault[160]; /* why; "" while all is well */
} dlpark__npy_literal;

/* A string, decoded: as much of it as has room, and its whole length. A character beyond ASCII that was an escape is "?":
 * no word of the format has one. */
typedef struct dlpark__npy_string {
    size_t nbytes;
    char text[48];
} dlpark__npy_string;

/* Fails with a text of the caller's about what is at `at`. Returns false. */
bool dlpark__npy_literal_fail(dlpark__npy_literal *literal, size_t at, const char *format, ...)
    __attribute__((cold, format(printf, 3, 4)));

/* The next byte that is not white space, which stays; 0 at the end. */
char dlpark__npy_literal_peek(dlpark__npy_literal *literal);

/* Takes a byte that must come; `what` is for the message. */
bool dlpark__npy_literal_expect(dlpark__npy_literal *literal, char byte, const char *what);

/* Takes a bracket that must come, and its other half where nothing is between them. */
bool dlpark__npy_literal_open(dlpark__npy_literal *literal, char open, const char *what, bool *is_empty);

/* Behind an item: true when another follows, its comma taken; false when `close` was taken instead, with a comma before it or
 * not, or on a fault. */
bool dlpark__npy_literal_more(dlpark__npy_literal *literal, char close);

bool dlpark__npy_literal_string(dlpark__npy_literal *literal, const char *what, dlpark__npy_string *out);

bool dlpark__npy_literal_bool(dlpark__npy_literal *literal, const char *what, bool *out);

/* Digits, without leading zeros, and L where it may be; where they begin, and how many there are. */
bool dlpark__npy_literal_digits(dlpark__npy_literal *literal, const char *what, size_t *begin, size_t *count);

/* Any value, checked and ignored. */
bool dlpark__npy_literal_skip(dlpark__npy_literal *literal);

/* Nothing but white space follows. */
bool dlpark__npy_literal_end(dlpark__npy_literal *literal);

#endif
