#include <dlpark/status.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
    memcpy(err->message, message, strlen(message) + 1);
    return status;
}
