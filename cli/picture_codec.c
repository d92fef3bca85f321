/* Pictures by the image adapter. */
#include <string.h>

#include <dlpark/image.h>

#include "pictures.h"

static const dlpark_file_format picture_codec_formats[] = {
    [DLPARK_IMAGE_JPEG] = CLI_JPEG, [DLPARK_IMAGE_PNG] = CLI_PNG, [DLPARK_IMAGE_WEBP] = CLI_WEBP};

static dlpark_image_layout picture_codec_layout(bool is_chw)
{
    return is_chw ? DLPARK_IMAGE_CHW : DLPARK_IMAGE_HWC;
}

static dlpark_status picture_codec_describe(cli_picture *picture, const char *path, bool is_chw, dlpark_error *err)
{
    dlpark_image_info info;

    DLPARK_TRY(dlpark_image_read_info(&info, &(dlpark_image_load_desc){.path = path}, err));
    picture->format = picture_codec_formats[info.format];
    picture->dtype = info.bits == 16 ? DLPARK_U16 : DLPARK_U8;
    picture->shape[is_chw ? 1 : 0] = info.height;
    picture->shape[is_chw ? 2 : 1] = info.width;
    picture->shape[is_chw ? 0 : 2] = info.channels;
    return DLPARK_OK;
}

/* The command has no option for damaged pictures, and recommends none. */
static void picture_codec_cut(dlpark_error *err)
{
    char *advice = err != NULL ? strstr(err->message, "; `tolerant`") : NULL;

    if (advice != NULL)
        *advice = '\0';
}

static dlpark_status picture_codec_decode(const dlpark_view *out, const char *path, bool is_chw, dlpark_error *err)
{
    dlpark_status status = dlpark_image_load_into(
        out, &(dlpark_image_load_desc){.path = path, .layout = picture_codec_layout(is_chw)}, err);

    if (status != DLPARK_OK)
        picture_codec_cut(err);
    return status;
}

static dlpark_status picture_codec_save(const dlpark_view *view, const char *path, const cli_picture_options *options,
                                        dlpark_error *err)
{
    dlpark_image_save_desc desc = {
        .path = path, .layout = picture_codec_layout(options->is_chw), .quality = options->quality};

    for (int i = DLPARK_IMAGE_JPEG; i <= DLPARK_IMAGE_WEBP; i++)
        if (picture_codec_formats[i] == options->format)
            desc.format = (dlpark_image_format)i;
    return dlpark_image_save(view, &desc, err);
}

static const cli_codec picture_codec = {picture_codec_describe, picture_codec_decode, picture_codec_save};

const cli_codec *const cli_codec_built = &picture_codec;
