/* A tensor file: what is in it, and one tensor of it that outlives it. */
#include <dlpark/dlpark.h>
#include <dlpark/file.h>
#include <stdio.h>

/* Two tensors and a text: the length of the header; the header, with spaces so that the floats are aligned; the bytes. */
static const char header[] = "{\"__metadata__\":{\"made by\":\"hand\"},"
                             "\"bias\":{\"dtype\":\"I8\",\"shape\":[2],\"data_offsets\":[24,26]},"
                             "\"weight\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}}       ";

static int write_it(const char *path)
{
    const unsigned char nbytes[8] = {sizeof header - 1};
    const float weight[6] = {0.5F, 1, 1.5F, 2, 2.5F, 3};
    FILE *to = fopen(path, "wb");

    if (to == NULL)
        return 0;
    fwrite(nbytes, 1, sizeof nbytes, to);
    fwrite(header, 1, sizeof header - 1, to);
    fwrite(weight, 1, sizeof weight, to);
    fwrite("\001\377", 1, 2, to);
    return fclose(to) == 0;
}

static dlpark_status list(const dlpark_file *file, dlpark_error *err)
{
    for (int64_t i = 0; i < dlpark_file_count(file); i++) {
        dlpark_file_entry entry;
        DLPARK_TRY(dlpark_file_entry_get(file, i, &entry, err));
        printf("%s: %s of %d dimensions, %llu bytes from %llu on\n",
               dlpark_file_name_text(entry.name, entry.name_nbytes).text, entry.type, entry.ndim,
               (unsigned long long)entry.nbytes, (unsigned long long)entry.offset);
    }
    return DLPARK_OK;
}

static dlpark_status take_weight(dlpark_tensor *weight, const char *path, dlpark_error *err)
{
    dlpark_file *file = NULL;

    DLPARK_TRY(dlpark_file_open(&file, path, NULL, err));
    dlpark_status status = list(file, err);
    if (status == DLPARK_OK)
        status = dlpark_file_share(file, dlpark_file_find(file, "weight", 6), weight, err);
    dlpark_file_release(&file);                                 /* the tensor keeps the mapping alive */
    return status;
}

int main(void)
{
    dlpark_tensor weight = DLPARK_TENSOR_EMPTY;
    dlpark_error err;
    dlpark_view view;
    char line[80];

    if (!write_it("snippet.safetensors"))
        return 1;
    if (take_weight(&weight, "snippet.safetensors", &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    dlpark_tensor_view(&weight, &view);
    dlpark_view_describe(&view, line, sizeof line);
    puts(line);
    dlpark_tensor_release(&weight);
    remove("snippet.safetensors");
    return 0;
}
