/*
 * A folder of its own for each test, which must be as it is expected to be at the end.
 */
#ifndef FOLDER_H
#define FOLDER_H

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "picture.h"

typedef struct folder {
    char path[64];
} folder;

typedef struct folder_name {
    char text[128];
} folder_name;

static inline folder folder_new(void)
{
    folder made = {"/tmp/dlpark-image-XXXXXX"};
    assert_non_null(mkdtemp(made.path));
    assert_int_equal(chmod(made.path, 0755), 0);
    return made;
}

static inline folder_name folder_file(const folder *in, const char *name)
{
    folder_name file;
    (void)snprintf(file.text, sizeof file.text, "%s/%s", in->path, name);
    return file;
}

/* How many names there are, whatever they are. */
static inline int folder_count(const folder *in)
{
    DIR *names = opendir(in->path);
    assert_non_null(names);
    int count = 0;
    for (struct dirent *entry = readdir(names); entry; entry = readdir(names))
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    assert_int_equal(closedir(names), 0);
    return count;
}

static inline void folder_write(const char *path, const void *bytes, size_t nbytes)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, nbytes, file), nbytes);
    assert_int_equal(fclose(file), 0);
}

static inline picture_bytes folder_read(const char *path)
{
    picture_bytes read = {picture_memory(1 << 20), 0};
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    read.nbytes = fread(read.bytes, 1, 1 << 20, file);
    assert_int_equal(fclose(file), 0);
    return read;
}

/* Ends the folder, which holds these files and nothing else. */
static inline void folder_end(folder *in, int count, const folder_name *files)
{
    assert_int_equal(folder_count(in), count);
    for (int i = 0; i < count; i++)
        assert_int_equal(unlink(files[i].text), 0);
    assert_int_equal(rmdir(in->path), 0);
}

#endif
