/*
 * What the sources of the signatures share. Nothing of it needs Python.
 */
#ifndef DLPARK_PYTHON_SIGNATURE_PARTS_H
#define DLPARK_PYTHON_SIGNATURE_PARTS_H

#include <dlpark/signature.h>

/* ---- signature_token.c ---- */

/* A run of letters, digits and `_`, "->", or one other byte; `length` 0 at the end of the text. */
typedef struct dlpark__signature_token {
    const char *text;
    size_t at;
    size_t length;
} dlpark__signature_token;

typedef struct dlpark__signature_parser {
    const char *text;
    size_t length;
    size_t at; /* behind `token` */
    dlpark__signature_token token;
    dlpark_signature *signature;
    dlpark_error *err;
} dlpark__signature_parser;

/* Steps to the next token; accept does so when it is `text`. */
void dlpark__signature_advance(dlpark__signature_parser *parser);
bool dlpark__signature_accept(dlpark__signature_parser *parser, const char *text);
bool dlpark__signature_is(dlpark__signature_token token, const char *text);

/* Whether it consists of letters, digits and `_`, begins with no digit, and is not `_` alone. */
bool dlpark__signature_is_name(dlpark__signature_token token);

/* Whether Python reserves the word: no argument can be passed by such a name. */
bool dlpark__signature_is_reserved(dlpark__signature_token token);

/* The error at a token, with its column. The second: "expected X, got TOKEN" about the one that is being looked at. */
DLPARK_COLD dlpark_status dlpark__signature_refuse(const dlpark__signature_parser *parser,
                                                   dlpark__signature_token token, const char *format, ...)
    DLPARK_PRINTF(3, 4);
DLPARK_COLD dlpark_status dlpark__signature_refuse_token(const dlpark__signature_parser *parser, const char *expected);

/* ---- signature.c ---- */

/* The words for arguments that are no tensors, by dlpark_signature_kind; "" for a tensor. */
enum { DLPARK__SIGNATURE_NKINDS = 6 };
extern const char *const dlpark__signature_kinds[DLPARK__SIGNATURE_NKINDS];

#endif
