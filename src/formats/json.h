/*
 * A strict reader of JSON (RFC 8259), one value after the other, that a parser of a known shape drives. It holds no
 * tree: strings are decoded in place, in the text itself, which only grows shorter by that.
 *
 * The text is valid UTF-8: dlpark__utf8_check() has seen it. A function that fails leaves why, and where, in the reader,
 * and every later one fails too.
 */
#ifndef DLPARK_FORMATS_JSON_H
#define DLPARK_FORMATS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How deep an ignored value may nest. */
#define DLPARK__JSON_DEPTH 64

typedef struct dlpark__json {
    char *text;
    size_t at;
    size_t end;
    size_t fault_at; /* where in the text */
    char fault[160]; /* why; "" while all is well */
} dlpark__json;

/* A string: its bytes in the text, decoded. */
typedef struct dlpark__json_text {
    const char *text;
    size_t nbytes;
} dlpark__json_text;

/* Where the first byte that is no UTF-8 is; `nbytes` when there is none. */
size_t dlpark__utf8_check(const char *text, size_t nbytes);

void dlpark__json_begin(dlpark__json *json, char *text, size_t nbytes);

/* Fails with a text of the caller's about what is at `at`. Returns false. */
bool dlpark__json_fail(dlpark__json *json, size_t at, const char *format, ...)
    __attribute__((cold, format(printf, 3, 4)));

/* The next byte that is not white space, which stays; 0 at the end. */
char dlpark__json_peek(dlpark__json *json);

/* Takes a byte that must come; `what` is for the message. */
bool dlpark__json_expect(dlpark__json *json, char byte, const char *what);

/* Behind a member or an element: true when another follows, its comma taken, false when `close` was taken instead, or
 * on a fault. */
bool dlpark__json_more(dlpark__json *json, char close);

/* "{" or "[", and whether something is in it: where not, its end is taken too. */
bool dlpark__json_open(dlpark__json *json, char open, const char *what, bool *is_empty);

bool dlpark__json_string(dlpark__json *json, const char *what, dlpark__json_text *out);

/* A string and the colon behind it. */
bool dlpark__json_key(dlpark__json *json, dlpark__json_text *out);

/* Digits only, without leading zeros, below 2^64. */
bool dlpark__json_uint(dlpark__json *json, const char *what, uint64_t *out);

/* Any value, checked and ignored. */
bool dlpark__json_skip(dlpark__json *json);

/* Nothing but white space follows. */
bool dlpark__json_end(dlpark__json *json);

#endif
