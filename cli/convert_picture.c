/* What convert makes pictures of: one tensor of a file, as it is or of another dtype. */
#include <stdlib.h>
#include <string.h>

#include "pictures.h"

bool cli_read_layout(const cli_call *call, int option, bool *is_chw)
{
    const char *given = cli_value(call, option);

    *is_chw = given != NULL && strcmp(given, "chw") == 0;
    if (given == NULL || *is_chw || strcmp(given, "hwc") == 0)
        return true;
    cli_complain(call->verb, "--layout %s: expected hwc or chw", given);
    return false;
}

bool cli_read_quality(const cli_call *call, int option, int32_t *quality)
{
    const char *given = cli_value(call, option);
    char *end = NULL;
    long number = given != NULL ? strtol(given, &end, 10) : 0;

    *quality = (int32_t)number;
    if (given == NULL || (end != given && *end == '\0' && number >= 1 && number <= 100))
        return true;
    cli_complain(call->verb, "--quality %s: expected a number from 1 to 100", given);
    return false;
}

/* The view that is written: of `loaded`, or of `converted` where the dtype changes. Both are the caller's to end. Nothing is
 * mapped: a file that is cut short meanwhile is an error. */
static dlpark_status convert_picture_view(const cli_picture_source *source, dlpark_view *view, dlpark_tensor *loaded,
                                          dlpark_tensor *converted, dlpark_error *err)
{
    dlpark_view from;

    DLPARK_TRY(dlpark_file_load(source->file, source->index, loaded, err));
    dlpark_tensor_view(loaded, &from);
    dlpark_view_copy(view, &from);
    if (dlpark_dtype_equal(from.dtype, source->dtype))
        return DLPARK_OK;
    const dlpark_tensor_desc desc = {.dtype = source->dtype, .ndim = from.ndim, .shape = DLPARK_DIMS(from.shape)};
    DLPARK_TRY(dlpark_tensor_alloc(converted, &desc, view, err));
    return dlpark_cast(view, &from, source->cast, err);
}

int cli_picture_write(const cli_call *call, const char *path, const cli_picture_source *source,
                      const cli_picture_options *options)
{
    dlpark_tensor loaded = DLPARK_TENSOR_EMPTY, converted = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    dlpark_error err;
    dlpark_status status = convert_picture_view(source, &view, &loaded, &converted, &err);
    bool is_interrupted = cli_is_interrupted(); /* from here on a wish to end comes too late */

    if (status == DLPARK_OK && !is_interrupted)
        status = cli_codec_built->save(&view, path, options, &err);
    dlpark_tensor_release(&converted);
    dlpark_tensor_release(&loaded);
    if (is_interrupted) {
        cli_complain(call->verb, "interrupted; %s is as it was", path);
        return cli_interrupted();
    }
    if (status != DLPARK_OK)
        cli_complain(call->verb, "%s", err.message);
    return cli_exit_of_written(status, options->format);
}
