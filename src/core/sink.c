#include "sink.h"

#include <string.h>

void dlpark__sink_begin(dlpark__sink *sink, char *text, size_t nbytes)
{
    *sink = (dlpark__sink){text, nbytes, 0, 0};
}

static void sink_store(dlpark__sink *sink, char character)
{
    if (sink->length < sink->nbytes)
        sink->text[sink->length] = character;
    sink->length++;
}

static void sink_flush(dlpark__sink *sink)
{
    for (; sink->spaces > 0; sink->spaces--)
        sink_store(sink, ' ');
}

void dlpark__sink_put(dlpark__sink *sink, char character)
{
    sink_flush(sink);
    sink_store(sink, character);
}

void dlpark__sink_text(dlpark__sink *sink, const char *text)
{
    for (; *text != '\0'; text++)
        dlpark__sink_put(sink, *text);
}

void dlpark__sink_spaces(dlpark__sink *sink, int64_t count)
{
    if (count > 0)
        sink->spaces += (size_t)count;
}

void dlpark__sink_integer(dlpark__sink *sink, int64_t value)
{
    char digits[20];
    int count = 0;
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;

    do {
        digits[count++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest != 0);
    if (value < 0)
        dlpark__sink_put(sink, '-');
    while (count > 0)
        dlpark__sink_put(sink, digits[--count]);
}

void dlpark__sink_list(dlpark__sink *sink, int32_t count, const int64_t *values, const char *between)
{
    dlpark__sink_put(sink, '[');
    for (int32_t i = 0; i < count; i++) {
        dlpark__sink_text(sink, i > 0 ? between : "");
        dlpark__sink_integer(sink, values[i]);
    }
    dlpark__sink_put(sink, ']');
}

void dlpark__sink_line(dlpark__sink *sink)
{
    sink->spaces = 0;
    sink_store(sink, '\n');
}

size_t dlpark__sink_end(dlpark__sink *sink)
{
    sink_flush(sink);
    if (sink->nbytes > 0)
        sink->text[sink->length < sink->nbytes ? sink->length : sink->nbytes - 1] = '\0';
    return sink->length;
}

size_t dlpark__sink_end_marked(dlpark__sink *sink)
{
    static const char more[] = "...";
    size_t length = dlpark__sink_end(sink);

    if (length >= sink->nbytes)
        memcpy(sink->text + sink->nbytes - sizeof more, more, sizeof more);
    return length;
}
