/*
 * A signature that is wrong, as a Python exception that points into its text.
 */
#include "call_parts.h"

#include <stdlib.h>
#include <string.h>

/* How much of a line is shown around the place. */
#define POINT_BEFORE 70
#define POINT_WIDTH  100

/* The line of the text around the byte `at`, and a caret below that. */
typedef struct point_lines {
    char text[POINT_WIDTH + 8];
    char caret[POINT_WIDTH + 8];
} point_lines;

static void point_at(const char *text, size_t at, point_lines *out)
{
    size_t begin = at, end = at, width = 0;

    while (begin > 0 && text[begin - 1] != '\n')
        begin--;
    end += strcspn(text + end, "\n");
    const char *before = at - begin > POINT_BEFORE ? "..." : "";
    if (at - begin > POINT_BEFORE)
        begin = at - POINT_BEFORE;
    const char *after = end - begin > POINT_WIDTH ? "..." : "";
    if (end - begin > POINT_WIDTH)
        end = begin + POINT_WIDTH;
    PyOS_snprintf(out->text, sizeof out->text, "%s%.*s%s", before, (int)(end - begin), text + begin, after);
    for (char *c = out->text; *c != '\0'; c++)
        *c = (char)((unsigned char)*c < ' ' ? ' ' : *c); /* a tab would move the caret */
    for (width = strlen(before) + (at - begin); width > 0; width--)
        out->caret[width - 1] = ' ';
    memcpy(out->caret + strlen(before) + (at - begin), "^", 2);
}

int dlpark_signature_init(dlpark_signature *signature, const char *text)
{
    dlpark_error err;
    point_lines lines;

    if (dlpark_signature_parse(signature, text, &err) == DLPARK_OK)
        return 0;
    /* Every message of the parser begins with "column N: ". */
    size_t column = (size_t)strtoull(err.message + strlen("column "), NULL, 10);
    size_t length = strlen(text);
    point_at(text, column > length ? length : column - 1, &lines);
    PyErr_Format(PyExc_ValueError, "%s\n  %s\n  %s", err.message, lines.text, lines.caret);
    return -1;
}
