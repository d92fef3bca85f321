/* Types: what Arrow spells by a letter, and the names of extensions in a schema's metadata. */
#include <string.h>

#include "arrow_parts.h"

typedef struct arrow_type {
    char format[4]; /* one letter */
    DLDataType dtype;
} arrow_type;

static const arrow_type arrow_types[] = {
    {"c", {kDLInt, 8, 1}},    {"s", {kDLInt, 16, 1}},   {"i", {kDLInt, 32, 1}},   {"l", {kDLInt, 64, 1}},
    {"C", {kDLUInt, 8, 1}},   {"S", {kDLUInt, 16, 1}},  {"I", {kDLUInt, 32, 1}},  {"L", {kDLUInt, 64, 1}},
    {"e", {kDLFloat, 16, 1}}, {"f", {kDLFloat, 32, 1}}, {"g", {kDLFloat, 64, 1}},
};

#define ARROW_TYPE_COUNT (sizeof arrow_types / sizeof arrow_types[0])

static int32_t arrow_read_count(const char **at)
{
    int32_t count;

    memcpy(&count, *at, sizeof count);
    *at += sizeof count;
    return count;
}

/* A counted string; without bytes where its count is none. */
static arrow_text arrow_read_text(const char **at)
{
    int32_t nbytes = arrow_read_count(at);
    arrow_text text = {*at, nbytes};

    if (nbytes < 0)
        return (arrow_text){NULL, 0};
    *at += nbytes;
    return text;
}

arrow_text dlpark__arrow_metadata_find(const char *metadata, arrow_text key)
{
    const char *at = metadata;
    const arrow_text none = {NULL, 0};

    for (int32_t pairs = at ? arrow_read_count(&at) : 0; pairs > 0; pairs--) {
        arrow_text name = arrow_read_text(&at);
        arrow_text value = name.bytes ? arrow_read_text(&at) : none;
        if (!value.bytes)
            return none;
        if (dlpark__arrow_text_is(name, key))
            return value;
    }
    return none;
}

/* What a type is called that is none of the above: what people know it by, as far as its first letters say. */
static const char *arrow_type_kind(const char *format)
{
    static const char *const kinds[][2] = {
        {"b", "booleans as bits, which would have to be unpacked"},
        {"n", "nothing but nulls"},
        {"d", "decimal numbers"},
        {"w", "binary data of a fixed size"},
        {"z", "binary data"},
        {"Z", "binary data"},
        {"v", "views of text or binary data"},
        {"u", "text"},
        {"U", "text"},
        {"t", "dates, times or durations, whose unit would be lost: cast them to integers"},
        {"+w", "lists of a fixed size, whose elements are not numbers"},
        {"+l", "lists of any length"},
        {"+L", "lists of any length"},
        {"+v", "views of lists"},
        {"+s", "structs: take one of their fields"},
        {"+m", "maps"},
        {"+u", "unions"},
        {"+r", "runs of equal values, which would have to be decoded"},
    };

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strncmp(format, kinds[i][0], strlen(kinds[i][0])) == 0)
            return kinds[i][1];
    return "of no type that is known here";
}

static DLPARK_COLD dlpark_status arrow_type_refuse(const struct ArrowSchema *schema, arrow_text extension,
                                                   dlpark_error *err)
{
    if (schema->dictionary)
        return dlpark_error_set(err, DLPARK_E_DTYPE,
                                "the array is dictionary-encoded (\"%s\"), and would have to be decoded",
                                schema->format);
    if (extension.bytes)
        return dlpark_error_set(err, DLPARK_E_DTYPE, "the elements are of the extension type \"%.*s\" over \"%s\"",
                                extension.nbytes < 64 ? extension.nbytes : 64, extension.bytes, schema->format);
    return dlpark_error_set(err, DLPARK_E_DTYPE, "the elements are \"%s\": %s", schema->format,
                            arrow_type_kind(schema->format));
}

dlpark_status dlpark__arrow_type_read(const struct ArrowSchema *schema, DLDataType *dtype, dlpark_error *err)
{
    arrow_text extension = dlpark__arrow_metadata_find(schema->metadata, ARROW_TEXT(ARROW_EXTENSION_NAME));
    bool is_bool = dlpark__arrow_text_is(extension, ARROW_TEXT(ARROW_BOOL8)) && strcmp(schema->format, "c") == 0;

    if (schema->dictionary || (extension.bytes && !is_bool))
        return arrow_type_refuse(schema, extension, err);
    if (is_bool) {
        *dtype = (DLDataType){kDLBool, 8, 1};
        return DLPARK_OK;
    }
    for (size_t i = 0; i < ARROW_TYPE_COUNT; i++)
        if (schema->format[0] == arrow_types[i].format[0] && schema->format[1] == '\0') {
            *dtype = arrow_types[i].dtype;
            return DLPARK_OK;
        }
    return arrow_type_refuse(schema, extension, err);
}

const char *dlpark__arrow_type_write(DLDataType dtype)
{
    if (dlpark_dtype_equal(dtype, (DLDataType){kDLBool, 8, 1}))
        return "c";
    for (size_t i = 0; i < ARROW_TYPE_COUNT; i++)
        if (dlpark_dtype_equal(dtype, arrow_types[i].dtype))
            return arrow_types[i].format;
    return NULL;
}
