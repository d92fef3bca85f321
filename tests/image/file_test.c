#include "adapter.h"
#include "failing_alloc.h"
#include "folder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static image_buffer content(const char *text)
{
    image_buffer buffer = {NULL, 0, 0};
    assert_true(dlpark__image_buffer_append(&buffer, text, strlen(text)));
    return buffer;
}

static void check_content(const char *path, const char *text)
{
    picture_bytes read = folder_read(path);
    assert_int_equal(read.nbytes, strlen(text));
    assert_memory_equal(read.bytes, text, read.nbytes);
    free(read.bytes);
}

static void a_file_is_read_whole(void **state)
{
    (void)state;
    folder here = folder_new();
    folder_name file = folder_file(&here, "f");
    for (size_t nbytes = 0; nbytes < 400000; nbytes = 3 * nbytes + 1) {
        unsigned char *bytes = picture_memory(nbytes);
        for (size_t i = 0; i < nbytes; i++)
            bytes[i] = (unsigned char)(i * 31 + i / 256);
        folder_write(file.text, bytes, nbytes);
        image_buffer read;
        assert_ok(dlpark__image_file_read(file.text, &read, e));
        assert_int_equal(read.nbytes, nbytes);
        assert_memory_equal(read.bytes, bytes, nbytes);
        free(read.bytes);
        free(bytes);
    }
    folder_end(&here, 1, &file);
}

/* Pipes have no size to ask for, and their bytes come in pieces. */
static void a_pipe_is_read_to_its_end(void **state)
{
    (void)state;
    folder here = folder_new();
    folder_name pipe_name = folder_file(&here, "p");
    assert_int_equal(mkfifo(pipe_name.text, 0600), 0);
    const pid_t child = fork();
    if (child == 0) {
        const int out = open(pipe_name.text, O_WRONLY);
        char piece[1000];
        memset(piece, 'x', sizeof piece);
        for (int i = 0; i < 300; i++)
            if (write(out, piece, sizeof piece) != sizeof piece)
                _exit(1);
        _exit(0);
    }
    assert_true(child > 0);
    image_buffer read;
    assert_ok(dlpark__image_file_read(pipe_name.text, &read, e));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(read.nbytes, 300000);
    free(read.bytes);
    folder_end(&here, 1, &pipe_name);
}

static void reading_says_why_not(void **state)
{
    (void)state;
    folder here = folder_new();
    folder_name file = folder_file(&here, "f");
    folder_name missing = folder_file(&here, "missing.jpg");
    folder_name below = folder_file(&here, "f/below.jpg");
    image_buffer read = {(unsigned char *)1, 1, 1};
    folder_write(file.text, "x", 1);
    assert_fails(DLPARK_E_NOT_FOUND, "missing.jpg: No such file or directory",
                 dlpark__image_file_read(missing.text, &read, e));
    assert_fails(DLPARK_E_NOT_FOUND, "f/below.jpg: Not a directory", dlpark__image_file_read(below.text, &read, e));
    assert_fails(DLPARK_E_IO, ": Is a directory", dlpark__image_file_read(here.path, &read, e));
    assert_null(read.bytes);
    assert_int_equal(read.nbytes, 0);
    const long live = failing_alloc_live();
    failing_alloc_arm(1);
    assert_int_equal(dlpark__image_file_read(file.text, &read, NULL), DLPARK_E_MEMORY);
    failing_alloc_arm(0);
    assert_null(read.bytes);
    assert_int_equal(failing_alloc_live(), live);
    folder_end(&here, 1, &file);
}

/* As somebody without rights: root has all of them. */
static void permission_is_needed(void **state)
{
    (void)state;
    folder here = folder_new();
    folder_name file = folder_file(&here, "f");
    image_buffer bytes = content("new");
    image_buffer read;
    folder_write(file.text, "old", 3);
    assert_int_equal(chmod(file.text, 0), 0);
    assert_int_equal(chmod(here.path, 0555), 0);
    const bool is_root = geteuid() == 0;
    if (is_root)
        assert_int_equal(seteuid(65534), 0);
    assert_fails(DLPARK_E_PERMISSION, "Permission denied", dlpark__image_file_read(file.text, &read, e));
    assert_fails(DLPARK_E_PERMISSION, "Permission denied", dlpark__image_file_write(file.text, &bytes, e));
    if (is_root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(here.path, 0755), 0);
    assert_int_equal(chmod(file.text, 0600), 0);
    check_content(file.text, "old");
    free(bytes.bytes);
    folder_end(&here, 1, &file);
}

static void a_file_is_made_and_replaced(void **state)
{
    (void)state;
    folder here = folder_new();
    folder_name file = folder_file(&here, "f");
    const mode_t mask = umask(027);
    for (int i = 0; i < 3; i++) {
        const char *text = i == 1 ? "second" : "first and third";
        image_buffer bytes = content(text);
        struct stat status;
        assert_ok(dlpark__image_file_write(file.text, &bytes, e));
        check_content(file.text, text);
        assert_int_equal(stat(file.text, &status), 0);
        assert_int_equal(status.st_mode & 0777, 0640);
        assert_int_equal(folder_count(&here), 1);
        free(bytes.bytes);
    }
    umask(mask);
    folder_end(&here, 1, &file);
}

static void a_name_without_a_directory_is_of_this_one(void **state)
{
    (void)state;
    folder here = folder_new();
    folder_name file = folder_file(&here, "f");
    char before[4096];
    image_buffer bytes = content("here");
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(here.path), 0);
    assert_ok(dlpark__image_file_write("f", &bytes, e));
    assert_int_equal(chdir(before), 0);
    check_content(file.text, "here");
    free(bytes.bytes);
    folder_end(&here, 1, &file);
}

static void a_link_stays_a_link(void **state)
{
    (void)state;
    folder here = folder_new();
    folder_name files[2] = {folder_file(&here, "target"), folder_file(&here, "link")};
    image_buffer bytes = content("through the link");
    struct stat status;
    folder_write(files[0].text, "old", 3);
    assert_int_equal(symlink("target", files[1].text), 0);
    assert_ok(dlpark__image_file_write(files[1].text, &bytes, e));
    assert_int_equal(lstat(files[1].text, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    check_content(files[0].text, "through the link");
    free(bytes.bytes);
    folder_end(&here, 2, files);
}

static void only_regular_files_are_replaced(void **state)
{
    (void)state;
    folder here = folder_new();
    folder_name pipe_name = folder_file(&here, "p");
    image_buffer bytes = content("x");
    struct stat status;
    assert_int_equal(mkfifo(pipe_name.text, 0600), 0);
    assert_fails(DLPARK_E_IO, "not a regular file", dlpark__image_file_write(pipe_name.text, &bytes, e));
    assert_fails(DLPARK_E_IO, "not a regular file", dlpark__image_file_write(here.path, &bytes, e));
    assert_int_equal(stat(pipe_name.text, &status), 0);
    assert_true(S_ISFIFO(status.st_mode));
    free(bytes.bytes);
    folder_end(&here, 1, &pipe_name);
}

/* The disk is full: told by a limit on file sizes, which the system checks as it would the disk. */
static void a_full_disk_leaves_what_was(void **state)
{
    (void)state;
    folder here = folder_new();
    folder_name file = folder_file(&here, "f");
    folder_write(file.text, "old", 3);
    image_buffer bytes = {NULL, 0, 0};
    for (int i = 0; i < 20000; i++)
        assert_true(dlpark__image_buffer_append(&bytes, "0123456789", 10));
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit small = {100000, before.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    dlpark_error err;
    const dlpark_status status = dlpark__image_file_write(file.text, &bytes, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(status, DLPARK_E_IO);
    assert_non_null(strstr(err.message, "File too large"));
    check_content(file.text, "old");
    free(bytes.bytes);
    folder_end(&here, 1, &file);
}

static void writing_says_why_not(void **state)
{
    (void)state;
    folder here = folder_new();
    folder_name nowhere = folder_file(&here, "no/such/f");
    folder_name dangling = folder_file(&here, "link");
    folder_name file = folder_file(&here, "f");
    image_buffer bytes = content("x");
    assert_fails(DLPARK_E_NOT_FOUND, "no/such/f: No such file", dlpark__image_file_write(nowhere.text, &bytes, e));
    assert_int_equal(symlink("gone/target", dangling.text), 0);
    assert_fails(DLPARK_E_NOT_FOUND, "link: No such file", dlpark__image_file_write(dangling.text, &bytes, e));
    const long live = failing_alloc_live();
    failing_alloc_arm(1);
    assert_int_equal(dlpark__image_file_write(file.text, &bytes, NULL), DLPARK_E_MEMORY);
    failing_alloc_arm(0);
    assert_int_equal(failing_alloc_live(), live);
    free(bytes.bytes);
    folder_end(&here, 1, &dangling);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read_whole),        cmocka_unit_test(a_pipe_is_read_to_its_end),
        cmocka_unit_test(reading_says_why_not),        cmocka_unit_test(permission_is_needed),
        cmocka_unit_test(a_file_is_made_and_replaced), cmocka_unit_test(a_name_without_a_directory_is_of_this_one),
        cmocka_unit_test(a_link_stays_a_link),         cmocka_unit_test(only_regular_files_are_replaced),
        cmocka_unit_test(a_full_disk_leaves_what_was), cmocka_unit_test(writing_says_why_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
