/* What is printed, and where. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "command.h"

int cli_columns(void)
{
    struct winsize size;

    if (!isatty(STDOUT_FILENO))
        return 0;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col < 40 ? 40 : size.ws_col;
    return 80;
}

static bool terminal_is_plain(void)
{
    const char *refused = getenv("NO_COLOR"), *kind = getenv("TERM");

    return !isatty(STDOUT_FILENO) || (refused != NULL && refused[0] != '\0') ||
           (kind != NULL && strcmp(kind, "dumb") == 0);
}

const char *cli_bold(void)
{
    return terminal_is_plain() ? "" : "\033[1m";
}

const char *cli_plain(void)
{
    return terminal_is_plain() ? "" : "\033[0m";
}

void cli_complain(const cli_verb *verb, const char *format, ...)
{
    va_list arguments;

    (void)fflush(stdout); /* in the order in which things were said */
    fprintf(stderr, "dlpark%s%s: ", verb != NULL ? " " : "", verb != NULL ? verb->name : "");
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

int cli_exit_of(dlpark_status status)
{
    switch (status) {
    case DLPARK_OK:
        return CLI_FINE;
    case DLPARK_E_FORMAT:
    case DLPARK_E_LIMIT:
    case DLPARK_E_UNSUPPORTED:
        return CLI_FAULTY;
    default:
        return CLI_UNREADABLE;
    }
}

cli_size cli_show_size(uint64_t nbytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    cli_size out;
    size_t unit = 0;
    uint64_t tenths = nbytes * 10;

    if (nbytes > UINT64_MAX / 10)
        tenths = nbytes / 1024 * 10, unit = 1;
    for (; tenths >= 10240 - 1 && unit < sizeof units / sizeof units[0] - 1; unit++)
        tenths = (tenths + 512) / 1024;
    if (unit == 0)
        snprintf(out.text, sizeof out.text, "%llu B", (unsigned long long)nbytes);
    else
        snprintf(out.text, sizeof out.text, "%llu.%llu %s", (unsigned long long)(tenths / 10),
                 (unsigned long long)(tenths % 10), units[unit]);
    return out;
}

/* Decimal digits of what is not negative; returns their end. A file may have a million tensors, which printf would feel. */
static char *terminal_put_number(char *to, int64_t number)
{
    char digits[20];
    size_t count = 0;

    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    while (count > 0)
        *to++ = digits[--count];
    return to;
}

cli_shape cli_show_shape(const dlpark_file_entry *entry)
{
    cli_shape out;
    char *to = out.text;
    int32_t shown = entry->ndim < DLPARK_MAX_NDIM ? entry->ndim : DLPARK_MAX_NDIM;

    *to++ = '[';
    for (int32_t i = 0; i < shown; i++) { /* at most 64 of 19 digits, and what is between */
        if (i > 0) {
            *to++ = ',';
            *to++ = ' ';
        }
        to = terminal_put_number(to, entry->shape[i]);
    }
    strcpy(to, shown < entry->ndim ? ", ...]" : "]");
    out.length = (int)(to - out.text) + (int)strlen(to);
    return out;
}

bool cli_is_quantised(const dlpark_file *file, const dlpark_file_entry *entry)
{
    return dlpark_file_format_of(file) == DLPARK_FILE_GGUF && dlpark_dtype_equal(entry->dtype, DLPARK_U8);
}

char *cli_show_name(const char *name, size_t nbytes)
{
    char *text = malloc(nbytes + 1);
    size_t length = text != NULL ? dlpark_file_name_format(name, nbytes, text, nbytes + 1) : 0;

    if (length <= nbytes) /* nothing is escaped, as in nearly all */
        return text;
    free(text);
    text = malloc(length + 1);
    if (text != NULL)
        (void)dlpark_file_name_format(name, nbytes, text, length + 1);
    return text;
}

int cli_finish(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    if (cli_is_interrupted())
        return cli_interrupted();
    cli_complain(NULL, "standard output: %s", strerror(errno));
    return CLI_UNREADABLE;
}
