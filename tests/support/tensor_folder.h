/*
 * A folder of tensor files that lie beside one another, as a sharded checkpoint has them.
 */
#ifndef TENSOR_FOLDER_H
#define TENSOR_FOLDER_H

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "tensor_file.h"

typedef struct tensor_folder {
    char path[64];
} tensor_folder;

typedef struct tensor_folder_path {
    char text[400];
} tensor_folder_path;

static inline tensor_folder tensor_folder_make(void)
{
    tensor_folder made = {"/tmp/dlpark-folder-XXXXXX"};

    assert_non_null(mkdtemp(made.path));
    return made;
}

/* "" for the folder itself. */
static inline tensor_folder_path tensor_folder_path_of(const tensor_folder *folder, const char *name)
{
    tensor_folder_path path;

    snprintf(path.text, sizeof path.text, "%s/%s", folder->path, name);
    return path;
}

static inline void tensor_folder_put(const tensor_folder *folder, const char *name, const void *bytes, size_t nbytes)
{
    tensor_folder_path path = tensor_folder_path_of(folder, name);
    int descriptor = open(path.text, O_WRONLY | O_CREAT | O_TRUNC, 0666);

    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, bytes, nbytes), (ssize_t)nbytes);
    assert_int_equal(close(descriptor), 0);
}

/* Single quotation marks stand for double ones. */
static inline void tensor_folder_put_text(const tensor_folder *folder, const char *name, const char *text)
{
    size_t nbytes = strlen(text);
    char *bytes = malloc(nbytes + 1);

    assert_non_null(bytes);
    for (size_t i = 0; i < nbytes; i++)
        bytes[i] = text[i] == '\'' ? '"' : text[i];
    tensor_folder_put(folder, name, bytes, nbytes);
    free(bytes);
}

static inline void tensor_folder_put_tensors(const tensor_folder *folder, const char *name, const char *header,
                                             size_t data_nbytes)
{
    tensor_file made = tensor_file_text(header, data_nbytes);

    tensor_folder_put(folder, name, made.bytes, made.nbytes);
    tensor_file_end(&made);
}

/* How many files are in it. By the shell: under qemu readdir() of 32-bit machines fails. */
static inline int tensor_folder_count(const tensor_folder *folder)
{
    char command[128];
    int count = -1;

    snprintf(command, sizeof command, "ls -A '%s' | wc -l", folder->path);
    FILE *list = popen(command, "r");
    assert_non_null(list);
    assert_int_equal(fscanf(list, "%d", &count), 1);
    assert_int_equal(pclose(list), 0);
    return count;
}

static inline void tensor_folder_drop(const tensor_folder *folder)
{
    char command[128];

    snprintf(command, sizeof command, "rm -r '%s'", folder->path);
    assert_int_equal(system(command), 0);
}

#endif
