/*
 * What the sources of the specs share: the words with a meaning in several of them, tokens, and messages.
 */
#ifndef DLPARK_CORE_SPEC_PARTS_H
#define DLPARK_CORE_SPEC_PARTS_H

#include "../internal.h"
#include "../sink.h"

/* The device types that the word `cpu` stands for. */
#define DLPARK__SPEC_HOST                                                                                              \
    (DLPARK_DEVICE_BIT(kDLCPU) | DLPARK_DEVICE_BIT(kDLCUDAHost) | DLPARK_DEVICE_BIT(kDLROCMHost) |                     \
     DLPARK_DEVICE_BIT(kDLCUDAManaged))

/* A word that stands alone, and the flags it sets. Words of one class exclude each other. */
typedef struct dlpark__spec_word {
    const char *name;
    const char *class_name; /* NULL: it has no other words */
    uint32_t flags;
    uint32_t class_flags;
} dlpark__spec_word;

enum { DLPARK__SPEC_NWORDS = 7, DLPARK__SPEC_NFRAMEWORKS = 9 };

/* In the order in which a spec is printed. */
extern const dlpark__spec_word dlpark__spec_words[DLPARK__SPEC_NWORDS];

/* By dlpark_spec_framework; the first is "". */
extern const char *const dlpark__spec_frameworks[DLPARK__SPEC_NFRAMEWORKS];

/* A spec for a message, marked where it is cut. */
typedef struct dlpark__spec_line {
    char text[224];
} dlpark__spec_line;
dlpark__spec_line dlpark__spec_line_of(const dlpark_spec *spec, const dlpark_spec_bound *bound);

/* The name of the device's type alone, "cuda". The type is known. */
dlpark_name dlpark__spec_device_word(int type);

/* ---- spec_token.c ---- */

/* A run of letters, digits and `_`, "...", or one other byte; `length` 0 at the end of the text. */
typedef struct dlpark__spec_token {
    const char *text;
    size_t at;
    size_t length;
} dlpark__spec_token;

typedef struct dlpark__spec_parser {
    const dlpark_spec_source *source;
    size_t at; /* behind `token` */
    dlpark__spec_token token;
    dlpark_spec *spec;
    dlpark_spec_names *names;
    int32_t ndims; /* dimension names, those of this spec included */
    uint32_t seen; /* the classes of words that were read */
    dlpark_error *err;
} dlpark__spec_parser;

/* Steps to the next token; accept does so when it is `text`. */
void dlpark__spec_advance(dlpark__spec_parser *parser);
bool dlpark__spec_accept(dlpark__spec_parser *parser, const char *text);

bool dlpark__spec_is(dlpark__spec_token token, const char *text);
bool dlpark__spec_is_digit(char c);

/* Whether it consists of letters, digits and `_`; a name begins with no digit and is not `_` alone. */
bool dlpark__spec_is_word(dlpark__spec_token token);
bool dlpark__spec_is_name(dlpark__spec_token token);

/* A token as a terminated text; a longer one comes as "", which is the name of nothing. */
dlpark_name dlpark__spec_copy(dlpark__spec_token token);

/* A token for a message: in quotation marks, cut, without bytes that are no characters. */
dlpark__spec_line dlpark__spec_quote(dlpark__spec_token token);

/* The error at a token, with its column. The second: "expected X, got TOKEN" about the one that is being looked at. */
DLPARK_COLD dlpark_status dlpark__spec_refuse(const dlpark__spec_parser *parser, dlpark__spec_token token,
                                              const char *format, ...) DLPARK_PRINTF(3, 4);
DLPARK_COLD dlpark_status dlpark__spec_refuse_token(const dlpark__spec_parser *parser, const char *expected);

/* The word that a wrong token was meant for: that of the words tried which is near, nearest, and came first. */
typedef struct dlpark__spec_guess {
    dlpark__spec_token token;
    size_t nearest; /* letters to change; what is found must be nearer */
    dlpark_name word;
} dlpark__spec_guess;

dlpark__spec_guess dlpark__spec_guess_begin(dlpark__spec_token token);
void dlpark__spec_guess_try(dlpark__spec_guess *guess, const char *word);

/* " (did you mean "X"?)", or "" where none is near. */
dlpark__spec_line dlpark__spec_guess_text(const dlpark__spec_guess *guess);

#endif
