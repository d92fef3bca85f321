/* An archive as numpy.savez_compressed() makes it: packed and unpacked by zlib. */
#include <dlpark/dlpark.h>
#include <dlpark/file.h>
#include <dlpark/file_write.h>
#include <dlpark/zlib.h>
#include <stdio.h>

static dlpark_status save(const dlpark_view *weight, const char *path, dlpark_error *err)
{
    const dlpark_file_part part = {.name = "weight", .view = weight};
    const dlpark_file_write_options options = {.deflate = dlpark_zlib_deflate(0)};

    return dlpark_file_save(path, &part, 1, &options, err);
}

static dlpark_status load(dlpark_tensor *weight, const char *path, dlpark_error *err)
{
    const dlpark_file_options options = {.inflate = dlpark_zlib_inflate()};
    dlpark_file *file = NULL;

    DLPARK_TRY(dlpark_file_open(&file, path, &options, err));
    dlpark_status status = dlpark_file_load(file, dlpark_file_find(file, "weight", 6), weight, err);
    dlpark_file_release(&file);
    return status;
}

int main(void)
{
    dlpark_tensor weight = DLPARK_TENSOR_EMPTY;
    dlpark_error err;
    dlpark_view view;
    char text[200];

    dlpark_status status = load(&weight, "arrays.npz", &err);
    if (status == DLPARK_OK) {
        dlpark_tensor_view(&weight, &view);
        status = save(&view, "again.npz", &err);
    }
    if (status != DLPARK_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    dlpark_view_describe(&view, text, sizeof text);
    puts(text);
    dlpark_tensor_release(&weight);
    return 0;
}
