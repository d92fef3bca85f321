/*
 * A main() for a fuzz target without a fuzzer: runs every file of the folders and files that it is given, so that the
 * corpora are ordinary tests of every build. Fails when there was nothing to run.
 */
#define _XOPEN_SOURCE 700

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"

static long replayed;

static void replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    static uint8_t bytes[1 << 16];

    if (file == NULL) {
        perror(path);
        exit(1);
    }
    size_t nbytes = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    fprintf(stderr, "%s\r", path); /* what a crash leaves on the screen */

    /* A block of exactly this size: an address sanitizer then sees a byte too many. */
    uint8_t *input = malloc(nbytes > 0 ? nbytes : 1);
    if (input == NULL)
        exit(1);
    memcpy(input, bytes, nbytes);
    (void)LLVMFuzzerTestOneInput(input, nbytes);
    free(input);
    replayed++;
}

static void replay_folder(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    char name[4096];

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        struct stat status;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.' && stat(name, &status) == 0 && S_ISREG(status.st_mode))
            replay_file(name);
    }
    if (folder != NULL)
        closedir(folder);
}

int main(int count, char **paths)
{
    for (int i = 1; i < count; i++) {
        struct stat status;
        if (stat(paths[i], &status) == 0 && S_ISDIR(status.st_mode))
            replay_folder(paths[i]);
        else
            replay_file(paths[i]);
    }
    printf("%ld inputs\n", replayed);
    return replayed > 0 ? 0 : 1;
}
