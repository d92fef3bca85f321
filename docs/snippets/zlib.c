/* An archive of numpy.savez_compressed(): what is deflated is unpacked by zlib. */
#include <dlpark/dlpark.h>
#include <dlpark/file.h>
#include <dlpark/zlib.h>
#include <stdio.h>

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

    if (load(&weight, "arrays.npz", &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    dlpark_tensor_view(&weight, &view);
    dlpark_view_describe(&view, text, sizeof text);
    puts(text);
    dlpark_tensor_release(&weight);
    return 0;
}
