/* Metadata with their types, on their way from one GGUF file into another. */
#include <stdlib.h>
#include <string.h>

#include "command.h"

static bool values_is_alignment(dlpark_file_text key)
{
    static const char alignment[] = "general.alignment";

    return key.nbytes == sizeof alignment - 1 && memcmp(key.text, alignment, key.nbytes) == 0;
}

/* A pair as a text, behind those that are; else as a value. Texts at the beginning are written first, as they are read; the
 * alignment has to be one of them. */
static dlpark_status values_add(cli_values *values, const dlpark_file *file, int64_t index, dlpark_error *err)
{
    dlpark_file_value *value = &values->values[values->count];
    dlpark_file_pair *pair = &values->pairs[values->npairs];

    DLPARK_TRY(dlpark_file_metadata_get(file, index, &pair->key, &pair->value, err));
    if (values_is_alignment(pair->key)) {
        values->npairs++;
        return DLPARK_OK;
    }
    DLPARK_TRY(dlpark_file_value_load(file, index, value, err));
    if (values->count == 0 && value->dtype.bits == 0 && !value->is_array) {
        dlpark_file_value_release(value);
        values->npairs++;
        return DLPARK_OK;
    }
    values->count++;
    return DLPARK_OK;
}

int cli_values_read(cli_values *values, const cli_verb *verb, const dlpark_file *file)
{
    size_t count = (size_t)dlpark_file_metadata_count(file);
    dlpark_status status = DLPARK_OK;
    dlpark_error err;

    values->values = calloc(count + 1, sizeof *values->values);
    values->pairs = calloc(count + 1, sizeof *values->pairs);
    if (values->values == NULL || values->pairs == NULL)
        status = dlpark_error_set(&err, DLPARK_E_MEMORY, NULL);
    for (size_t i = 0; i < count && status == DLPARK_OK; i++)
        status = values_add(values, file, (int64_t)i, &err);
    if (status != DLPARK_OK)
        cli_complain(verb, "%s", err.message);
    return cli_exit_of(status);
}

void cli_values_end(cli_values *values)
{
    for (size_t i = 0; i < values->count; i++)
        dlpark_file_value_release(&values->values[i]);
    free(values->values);
    free(values->pairs);
    *values = (cli_values){.count = 0};
}
