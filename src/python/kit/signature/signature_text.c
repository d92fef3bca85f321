/*
 * A signature as text, in its one form.
 */
#include <string.h>

#include "signature_parts.h"

/* Where the characters go; those past the end are counted all the same. */
typedef struct signature_writer {
    char *text;
    size_t nbytes;
    size_t length;
} signature_writer;

/* What is left, the final zero included. */
static size_t signature_room(const signature_writer *writer)
{
    return writer->length < writer->nbytes ? writer->nbytes - writer->length : 0;
}

static void signature_write(signature_writer *writer, const char *text)
{
    size_t length = strlen(text), room = signature_room(writer);

    if (room > 0) {
        size_t fits = length < room ? length : room - 1;
        memcpy(writer->text + writer->length, text, fits);
        writer->text[writer->length + fits] = '\0';
    }
    writer->length += length;
}

/* `bool` alone would be read as Python's. */
static bool signature_is_bare_bool(const dlpark_spec *spec)
{
    char text[sizeof "bool"];

    return dlpark_spec_text(spec, NULL, text, sizeof text) == strlen("bool") && strcmp(text, "bool") == 0;
}

static void signature_write_spec(signature_writer *writer, const dlpark_spec *spec)
{
    size_t room = signature_room(writer);

    writer->length += dlpark_spec_text(spec, NULL, room > 0 ? writer->text + writer->length : NULL, room);
}

static void signature_write_argument(signature_writer *writer, const dlpark_signature_argument *argument)
{
    signature_write(writer, argument->name);
    signature_write(writer, argument->is_optional ? "?: " : ": ");
    if (argument->kind != DLPARK_SIGNATURE_TENSOR) {
        signature_write(writer, dlpark__signature_kinds[argument->kind]);
        return;
    }
    signature_write_spec(writer, &argument->spec);
    if (signature_is_bare_bool(&argument->spec))
        signature_write(writer, "[...]");
}

size_t dlpark_signature_text(const dlpark_signature *signature, char *text, size_t nbytes)
{
    signature_writer writer = {.text = text, .nbytes = nbytes};

    signature_write(&writer, signature->name);
    signature_write(&writer, "(");
    for (int32_t i = 0; i < signature->narguments; i++) {
        signature_write(&writer, i == 0 ? "" : ", ");
        signature_write_argument(&writer, &signature->arguments[i]);
    }
    signature_write(&writer, ")");
    for (int32_t i = 0; i < signature->nresults; i++) {
        signature_write(&writer, i == 0 ? " -> " : ", ");
        signature_write_spec(&writer, &signature->results[i]);
    }
    return writer.length;
}
