#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

_Static_assert(sizeof(dlpark_status) == 4, "dlpark_status is 32 bits in every build");
_Static_assert(sizeof(dlpark_error) == 512, "the layout of dlpark_error is frozen");

typedef struct status_row {
    dlpark_status status;
    const char *name;
    const char *exception;
    const char *text;
} status_row;

static const status_row status_rows[] = {
#define DLPARK_STATUS_ROW(name, value, exception, text) {DLPARK_##name, #name, #exception, text},
    DLPARK_STATUS_TABLE(DLPARK_STATUS_ROW)
#undef DLPARK_STATUS_ROW
};

static const status_row *status_find(dlpark_status status)
{
    static const status_row unknown = {DLPARK_STATUS_PIN_32, "E_UNKNOWN", "RuntimeError", "unknown status"};

    for (size_t i = 0; i < sizeof status_rows / sizeof status_rows[0]; i++)
        if (status_rows[i].status == status)
            return &status_rows[i];
    return &unknown;
}

const char *dlpark_status_name(dlpark_status status)
{
    return status_find(status)->name;
}

const char *dlpark_status_text(dlpark_status status)
{
    return status_find(status)->text;
}

const char *dlpark_status_exception(dlpark_status status)
{
    return status_find(status)->exception;
}

/* ---- Texts of others ---- */

size_t dlpark__utf8_width(const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    unsigned lead = bytes[0];
    size_t width = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
    /* The second byte's range leaves out what is longer than need be, surrogates and what is beyond the last. */
    unsigned lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    unsigned highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;

    if (width > length)
        return 0;
    if (width > 1 && (bytes[1] < lowest || bytes[1] > highest))
        return 0;
    for (size_t i = 2; i < width; i++)
        if ((bytes[i] & 0xC0) != 0x80)
            return 0;
    return width;
}

/* Whether a character is of the sort that moves a cursor or rings a bell: U+0000 to 1F, U+007F to 9F. */
static bool status_is_control(const char *text)
{
    unsigned char first = (unsigned char)text[0];

    return first < 0x20 || first == 0x7F || (first == 0xC2 && (unsigned char)text[1] < 0xA0);
}

dlpark__quoted dlpark__quote(const char *bytes, size_t length)
{
    enum { MOST = 60, DOTS = 3 };
    dlpark__quoted out;
    size_t used = 0, cut = 0; /* `cut`: how much may stay where dots follow */

    for (size_t at = 0; at < length;) {
        size_t width = dlpark__utf8_width(bytes + at, length - at);
        bool is_raw = width != 0 && !status_is_control(bytes + at);
        size_t wanted = is_raw ? width : 4;
        if (used + wanted > MOST) {
            snprintf(out.text + cut, sizeof out.text - cut, "...");
            return out;
        }
        if (is_raw)
            memcpy(out.text + used, bytes + at, width);
        else
            snprintf(out.text + used, sizeof out.text - used, "\\x%02X", (unsigned)(unsigned char)bytes[at]);
        used += wanted;
        at += is_raw ? width : 1;
        if (used <= MOST - DOTS)
            cut = used;
    }
    out.text[used] = '\0';
    return out;
}

/* ---- Messages ---- */

/* Drops a last character of which the cut left only a part. */
static void status_cut_at_character(char *text)
{
    size_t end = strlen(text);
    size_t start = end;

    while (start > 0 && ((unsigned char)text[start - 1] & 0xC0) == 0x80)
        start--;
    if (start == 0)
        return;
    unsigned char lead = (unsigned char)text[start - 1];
    size_t needs = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
    if (end - start < needs)
        text[start - 1] = '\0';
}

/* Copies a text with U+FFFD for each byte that is not UTF-8; where that makes it too long it ends before. */
static void status_copy_valid(char to[DLPARK_ERROR_MESSAGE_NBYTES], const char *from)
{
    static const char replacement[] = "\xEF\xBF\xBD";
    size_t length = strlen(from), used = 0;

    for (size_t at = 0; at < length;) {
        size_t width = dlpark__utf8_width(from + at, length - at);
        const char *source = width != 0 ? from + at : replacement;
        size_t nbytes = width != 0 ? width : sizeof replacement - 1;
        if (used + nbytes >= DLPARK_ERROR_MESSAGE_NBYTES)
            break;
        memcpy(to + used, source, nbytes);
        used += nbytes;
        at += width != 0 ? width : 1;
    }
    to[used] = '\0';
}

dlpark_status dlpark_error_set(dlpark_error *err, dlpark_status status, const char *format, ...)
{
    if (err == NULL)
        return status;

    /* Formatted apart first: an adapter may well put its words around the message that is there. */
    char message[DLPARK_ERROR_MESSAGE_NBYTES];
    int wanted = -1;
    if (format != NULL) {
        va_list arguments;
        va_start(arguments, format);
        wanted = vsnprintf(message, sizeof message, format, arguments);
        va_end(arguments);
    }
    if (wanted < 0)
        snprintf(message, sizeof message, "%s", dlpark_status_text(status));
    else if ((size_t)wanted >= sizeof message)
        status_cut_at_character(message);
    err->status = status;
    status_copy_valid(err->message, message);
    return status;
}
