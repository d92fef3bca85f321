/*
 * Where the characters of a text go: memory of a caller or of a message, in which not all of them may have room.
 */
#ifndef DLPARK_CORE_SINK_H
#define DLPARK_CORE_SINK_H

#include <stddef.h>
#include <stdint.h>

/* Characters past the end are counted all the same. Spaces wait until something follows them. */
typedef struct dlpark__sink {
    char *text;
    size_t nbytes;
    size_t length;
    size_t spaces;
} dlpark__sink;

void dlpark__sink_begin(dlpark__sink *sink, char *text, size_t nbytes);
void dlpark__sink_put(dlpark__sink *sink, char character);
void dlpark__sink_text(dlpark__sink *sink, const char *text);
void dlpark__sink_spaces(dlpark__sink *sink, int64_t count); /* none when negative */
void dlpark__sink_integer(dlpark__sink *sink, int64_t value);

/* "[5, 3]" with ", " between them, "[5,3]" with ",". */
void dlpark__sink_list(dlpark__sink *sink, int32_t count, const int64_t *values, const char *between);

/* Ends the line: spaces at its end are dropped. */
void dlpark__sink_line(dlpark__sink *sink);

/* Terminates the text, cut to fit; the second marks the cut with "..." and needs room for that. Both return the length
 * of all of it. */
size_t dlpark__sink_end(dlpark__sink *sink);
size_t dlpark__sink_end_marked(dlpark__sink *sink);

#endif
