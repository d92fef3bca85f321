/* A file of two tensors in one call; one whose tensors come later, piece by piece; and one of metadata with types. */
#include <dlpark/dlpark.h>
#include <dlpark/file_write.h>
#include <stdio.h>

static dlpark_status save(const char *path, dlpark_error *err)
{
    float weight[6] = {1, 2, 3, 4, 5, 6}, bias[2] = {0.5F, -0.5F};
    dlpark_tensor tensors[2] = {DLPARK_TENSOR_EMPTY, DLPARK_TENSOR_EMPTY};
    dlpark_view views[2];

    DLPARK_TRY(dlpark_tensor_new(&tensors[0],
                                 &(dlpark_tensor_desc){.data = weight, .dtype = DLPARK_F32, .ndim = 2,
                                                       .shape = DLPARK_DIMS((int64_t[]){2, 3})}, &views[0], err));
    DLPARK_TRY(dlpark_tensor_new(&tensors[1],
                                 &(dlpark_tensor_desc){.data = bias, .dtype = DLPARK_F32, .ndim = 1,
                                                       .shape = DLPARK_DIMS((int64_t[]){2})}, &views[1], err));
    DLPARK_TRY(dlpark_view_permute(&views[0], 2, (int[]){1, 0}, err)); /* any strides */
    dlpark_file_part parts[] = {{.name = "weight", .view = &views[0]}, {.name = "bias", .view = &views[1]}};
    dlpark_status status = dlpark_file_save(path, parts, 2, NULL, err);
    dlpark_tensor_release(&tensors[0]);
    dlpark_tensor_release(&tensors[1]);
    return status;
}

static dlpark_status stream(const char *path, dlpark_error *err)
{
    const int64_t shape[] = {1000, 1000};
    dlpark_file_part part = {.name = "large", .dtype = DLPARK_U8, .ndim = 2, .shape = shape};
    dlpark_file_writer *writer = NULL;
    unsigned char row[1000] = {7};
    dlpark_status status = DLPARK_OK;

    DLPARK_TRY(dlpark_file_writer_open(&writer, path, &part, 1, NULL, err));
    for (uint64_t i = 0; i < 1000 && status == DLPARK_OK; i++)
        status = dlpark_file_writer_put_bytes(writer, 0, i * sizeof row, row, sizeof row, err);
    if (status == DLPARK_OK)
        return dlpark_file_writer_finish(&writer, err);
    dlpark_file_writer_release(&writer); /* without a file */
    return status;
}

static dlpark_status say(const char *path, dlpark_error *err)
{
    const uint32_t layers = 32;
    const dlpark_file_value value = {{"llama.block_count", 17}, DLPARK_U32, &layers, 1, false};
    const dlpark_file_write_options options = {.values = &value, .nvalues = 1};
    dlpark_file_text key, text;
    dlpark_file *file = NULL;

    DLPARK_TRY(dlpark_file_save(path, NULL, 0, &options, err));
    DLPARK_TRY(dlpark_file_open(&file, path, NULL, err));
    DLPARK_TRY(dlpark_file_metadata_get(file, 0, &key, &text, err));
    printf("%.*s: %.*s\n", (int)key.nbytes, key.text, (int)text.nbytes, text.text);
    dlpark_file_release(&file);
    return DLPARK_OK;
}

static dlpark_status look(const char *path, dlpark_error *err)
{
    dlpark_file *file = NULL;

    DLPARK_TRY(dlpark_file_open(&file, path, NULL, err));
    for (int64_t i = 0; i < dlpark_file_count(file); i++) {
        dlpark_view view;
        char line[80];
        DLPARK_TRY(dlpark_file_view(file, i, &view, err));
        dlpark_view_describe(&view, line, sizeof line);
        puts(line);
    }
    dlpark_file_release(&file);
    return DLPARK_OK;
}

int main(void)
{
    static const char path[] = "snippet-write.safetensors", other[] = "snippet-write.gguf";
    dlpark_error err;

    if (save(path, &err) || look(path, &err) || stream(path, &err) || look(path, &err) || say(other, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    remove(path);
    remove(other);
    return 0;
}
