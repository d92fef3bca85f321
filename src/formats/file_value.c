#include <stdlib.h>
#include <string.h>

#include "../core/internal.h"
#include "format.h"

/* A copy, so that it is ended as all others are. */
static dlpark_status file_value_text(dlpark_file_text text, dlpark_file_value *value, dlpark_error *err)
{
    dlpark_file_text *data = malloc(sizeof *data + text.nbytes);

    if (data == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    char *bytes = (char *)(data + 1);
    if (text.nbytes > 0)
        memcpy(bytes, text.text, text.nbytes);
    *data = (dlpark_file_text){bytes, text.nbytes};
    value->data = data;
    value->count = 1;
    return DLPARK_OK;
}

dlpark_status dlpark_file_value_load(const dlpark_file *file, int64_t index, dlpark_file_value *value,
                                     dlpark_error *err)
{
    dlpark_file_value loaded = {.count = 0};
    dlpark_file_text text;

    DLPARK_TRY(dlpark_file_metadata_get(file, index, &loaded.key, &text, err));
    if (file->format->load_value != NULL)
        DLPARK_TRY(file->format->load_value(file, index, &loaded, err));
    else
        DLPARK_TRY(file_value_text(text, &loaded, err));
    *value = loaded;
    return DLPARK_OK;
}

void dlpark_file_value_release(dlpark_file_value *value)
{
    if (value == NULL)
        return;
    free(dlpark__unconst(value->data));
    *value = (dlpark_file_value){.count = 0};
}
