/* JSON on standard output. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "command.h"

/* A character beyond ASCII, or what should be one: as it is, unless a terminal would obey it; U+FFFD for a byte that is no
 * UTF-8, which a path of the command line may hold. Returns the bytes taken. */
static size_t json_write_wide(const char *text, size_t nbytes)
{
    char shown[24];
    unsigned char lead = (unsigned char)text[0];
    size_t width = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;

    width = width < nbytes ? width : nbytes;
    size_t length = dlpark_file_name_format(text, width, shown, sizeof shown);
    if (length == width && memcmp(shown, text, width) == 0) {
        fwrite(text, 1, width, stdout);
        return width;
    }
    if (shown[1] == 'u' && length == 6) {
        fputs(shown, stdout);
        return width;
    }
    if (width == 2 && length == 4) { /* "\x9B": one control, where two broken bytes would be eight letters */
        printf("\\u00%s", shown + 2);
        return width;
    }
    fputs("\\ufffd", stdout);
    return 1;
}

static void json_write_text(const char *text, size_t nbytes)
{
    putchar('"');
    for (size_t i = 0; i < nbytes;) {
        unsigned char byte = (unsigned char)text[i];
        if (byte >= 0x80) {
            i += json_write_wide(text + i, nbytes - i);
            continue;
        }
        if (byte == '"' || byte == '\\')
            printf("\\%c", byte);
        else if (byte < 0x20 || byte == 0x7F)
            printf("\\u%04x", byte);
        else
            putchar(byte);
        i++;
    }
    putchar('"');
}

/* What stands before a value. */
static void json_write_lead(cli_json *json, const char *key)
{
    if (json->depth > 0) {
        fputs(json->is_first ? "\n" : ",\n", stdout);
        printf("%*s", json->depth * 2, "");
    }
    json->is_first = false;
    if (key != NULL) {
        json_write_text(key, strlen(key));
        fputs(": ", stdout);
    }
}

void cli_json_open(cli_json *json, const char *key, char bracket)
{
    json_write_lead(json, key);
    putchar(bracket);
    json->depth++;
    json->is_first = true;
}

void cli_json_close(cli_json *json, char bracket)
{
    json->depth--;
    if (!json->is_first)
        printf("\n%*s", json->depth * 2, "");
    putchar(bracket);
    json->is_first = false;
    if (json->depth == 0)
        putchar('\n');
}

void cli_json_text(cli_json *json, const char *key, const char *text, size_t nbytes)
{
    json_write_lead(json, key);
    json_write_text(text, nbytes);
}

void cli_json_word(cli_json *json, const char *key, const char *text)
{
    cli_json_text(json, key, text, strlen(text));
}

void cli_json_uint(cli_json *json, const char *key, uint64_t number)
{
    json_write_lead(json, key);
    printf("%llu", (unsigned long long)number);
}

void cli_json_bool(cli_json *json, const char *key, bool value)
{
    json_write_lead(json, key);
    fputs(value ? "true" : "false", stdout);
}

void cli_json_member(cli_json *json, const char *key_text, size_t key_nbytes, const char *text, size_t nbytes)
{
    json_write_lead(json, NULL);
    json_write_text(key_text, key_nbytes);
    fputs(": ", stdout);
    json_write_text(text, nbytes);
}

void cli_json_extents(cli_json *json, const char *key, int32_t count, const int64_t *values)
{
    json_write_lead(json, key);
    putchar('[');
    for (int32_t i = 0; i < count; i++)
        printf("%s%lld", i > 0 ? ", " : "", (long long)values[i]);
    putchar(']');
}

void cli_json_shape(cli_json *json, const char *key, const dlpark_file_entry *entry)
{
    cli_json_extents(json, key, entry->ndim < DLPARK_MAX_NDIM ? entry->ndim : DLPARK_MAX_NDIM, entry->shape);
}

void cli_json_key(cli_json *json, const char *key)
{
    json_write_lead(json, key);
}

/* JSON has no NaN and no infinity. */
void cli_json_put_number(double number)
{
    if (isfinite(number))
        printf("%.17g", number);
    else
        fputs("null", stdout);
}

void cli_json_number(cli_json *json, const char *key, double number)
{
    json_write_lead(json, key);
    cli_json_put_number(number);
}

void cli_json_begin(cli_json *json, const char *schema, const char *list)
{
    cli_json_open(json, NULL, '{');
    cli_json_word(json, "schema", schema);
    cli_json_open(json, list, '[');
}

void cli_json_error(const char *schema, const char *message)
{
    cli_json json = {0};

    cli_json_open(&json, NULL, '{');
    cli_json_word(&json, "schema", schema);
    cli_json_word(&json, "error", message);
    cli_json_close(&json, '}');
}

void cli_json_end(cli_json *json)
{
    cli_json_close(json, ']');
    cli_json_close(json, '}');
}
