#include "adapter.h"
#include "failing_alloc.h"
#include "folder.h"
#include "jpeg_made.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
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

/* What a JPEG begins with is all that reading looks at. */
static dlpark_status read_file(const char *path, image_buffer *out, dlpark_error *err)
{
    return dlpark__image_file_read(path, IMAGE_FILE_MAX_NBYTES, out, err);
}

static void a_file_is_read_whole(void **state)
{
    (void)state;
    folder here = folder_new();
    folder_name file = folder_file(&here, "f");
    for (size_t nbytes = 3; nbytes < 400000; nbytes = 2 * nbytes + 1) {
        unsigned char *bytes = picture_memory(nbytes);
        for (size_t i = 0; i < nbytes; i++)
            bytes[i] = (unsigned char)(i * 31 + i / 256);
        memcpy(bytes, "\xFF\xD8\xFF", 3);
        folder_write(file.text, bytes, nbytes);
        image_buffer read;
        assert_ok(read_file(file.text, &read, e));
        assert_int_equal(read.nbytes, nbytes);
        assert_memory_equal(read.bytes, bytes, nbytes);
        free(read.bytes);
        free(bytes);
    }
    folder_end(&here, 1, &file);
}

/* Ends a forked child that has done its work: killed, since on an exit valgrind would look in it for leaks of the
 * parent's. */
static void child_is_done(void)
{
    kill(getpid(), SIGKILL);
}

static void assert_child_was_done(pid_t child)
{
    int status;

    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
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
        memcpy(piece, "\xFF\xD8\xFF", 3);
        for (int i = 0; i < 300; i++)
            if (write(out, piece, sizeof piece) != sizeof piece)
                _exit(1);
        child_is_done();
    }
    assert_true(child > 0);
    image_buffer read;
    assert_ok(read_file(pipe_name.text, &read, e));
    assert_child_was_done(child);
    assert_int_equal(read.nbytes, 300000);
    free(read.bytes);
    folder_end(&here, 1, &pipe_name);
}

/* Writes pieces of 1 to 7 bytes, each once the reader has taken the one before. */
static void write_in_pieces(const char *path, const picture_bytes *file)
{
    const int out = open(path, O_WRONLY);
    size_t piece = 0;
    for (size_t at = 0; at < file->nbytes; at += piece) {
        piece = 1 + at % 7;
        piece = piece < file->nbytes - at ? piece : file->nbytes - at;
        if (write(out, file->bytes + at, piece) != (ssize_t)piece)
            _exit(1);
        for (int unread = 1; unread > 0;) {
            struct pollfd gone = {.fd = out};
            if (poll(&gone, 1, 1) != 0 || ioctl(out, FIONREAD, &unread) != 0)
                _exit(1);
        }
    }
    child_is_done();
}

static void a_picture_comes_in_small_pieces(void **state)
{
    (void)state;
    folder here = folder_new();
    folder_name pipe_name = folder_file(&here, "p");
    assert_int_equal(mkfifo(pipe_name.text, 0600), 0);
    picture p = jpeg_photo(40, 30, 3);
    const jpeg_recipe recipe = {.given = JCS_RGB};
    picture_bytes file = jpeg_made(&p, &recipe);
    picture expected = jpeg_by_hand(&file, JCS_RGB);
    const pid_t child = fork();
    if (child == 0)
        write_in_pieces(pipe_name.text, &file);
    assert_true(child > 0);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    assert_ok(dlpark_image_load(&tensor, &(dlpark_image_load_desc){.path = pipe_name.text}, &view, e));
    assert_child_was_done(child);
    picture_check(&expected, &view, DLPARK_IMAGE_HWC);
    dlpark_tensor_release(&tensor);
    free(expected.samples);
    free(file.bytes);
    free(p.samples);
    folder_end(&here, 1, &pipe_name);
}

/* Nothing is allocated; a reader that goes on is stopped by the 20th allocation. */
static void an_endless_source_is_refused_by_its_first_bytes(void **state)
{
    (void)state;
    dlpark_image_info info;
    dlpark_error err;
    failing_alloc_arm_from(20);
    const dlpark_status status = dlpark_image_read_info(&info, &(dlpark_image_load_desc){.path = "/dev/zero"}, &err);
    const long asked = failing_alloc_count();
    failing_alloc_arm(0);
    assert_int_equal(status, DLPARK_E_FORMAT);
    assert_string_equal(err.message,
                        "/dev/zero: neither JPEG, PNG nor WebP: its first bytes are 00 00 00 00 00 00 00 00");
    assert_int_equal(asked, 0);
}

static void an_empty_file_is_said_to_be(void **state)
{
    (void)state;
    folder here = folder_new();
    folder_name file = folder_file(&here, "f");
    image_buffer read;
    folder_write(file.text, "", 0);
    assert_fails(DLPARK_E_FORMAT, "/f: is empty, neither", read_file(file.text, &read, e));
    folder_write(file.text, "GIF89a", 6);
    assert_fails(DLPARK_E_FORMAT, "/f: neither JPEG, PNG nor WebP: its first bytes are 47 49 46 38 39 61",
                 read_file(file.text, &read, e));
    assert_null(read.bytes);
    folder_end(&here, 1, &file);
}

/* The size is the system's word, and the file has holes: neither is read nor makes anything allocate. */
static void a_file_of_4_gib_is_refused_by_its_size(void **state)
{
    (void)state;
    folder here = folder_new();
    folder_name file = folder_file(&here, "f.jpg");
    dlpark_image_info info;
    dlpark_error err;
    folder_write(file.text, "\xFF\xD8\xFF", 3);
    assert_int_equal(truncate(file.text, (off_t)1 << 32), 0);
    failing_alloc_arm_from(1);
    const dlpark_status status = dlpark_image_read_info(&info, &(dlpark_image_load_desc){.path = file.text}, &err);
    const long asked = failing_alloc_count();
    failing_alloc_arm(0);
    assert_int_equal(status, DLPARK_E_LIMIT);
    assert_non_null(strstr(err.message, "/f.jpg: has more than 4294967295 bytes"));
    assert_int_equal(asked, 0);
    folder_end(&here, 1, &file);
}

/* Reads a pipe that says it is a JPEG and then never ends. */
static dlpark_status read_endless(const char *path, size_t max_nbytes, image_buffer *out, dlpark_error *err)
{
    const pid_t child = fork();
    if (child == 0) {
        const int to = open(path, O_WRONLY);
        char piece[1000];
        memset(piece, 'x', sizeof piece);
        memcpy(piece, "\xFF\xD8\xFF", 3);
        while (write(to, piece, sizeof piece) > 0)
            continue;
        _exit(0);
    }
    const dlpark_status status = dlpark__image_file_read(path, max_nbytes, out, err);
    int ended;
    assert_int_equal(waitpid(child, &ended, 0), child);
    return status;
}

static void what_does_not_end_is_left_at_the_limit(void **state)
{
    (void)state;
    folder here = folder_new();
    folder_name file = folder_file(&here, "p");
    image_buffer read;
    assert_int_equal(mkfifo(file.text, 0600), 0);
    const size_t limits[] = {3, 16, 65535, 65536, 300000};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "/p: has more than %zu bytes", limits[i]);
        assert_fails(DLPARK_E_LIMIT, text, read_endless(file.text, limits[i], &read, e));
        assert_null(read.bytes);
    }
    assert_int_equal(unlink(file.text), 0);
    folder_write(file.text, "\xFF\xD8\xFF and 16 more bytes", 20);
    assert_fails(DLPARK_E_LIMIT, "/p: has more than 19 bytes", dlpark__image_file_read(file.text, 19, &read, e));
    assert_ok(dlpark__image_file_read(file.text, 20, &read, e));
    assert_int_equal(read.nbytes, 20);
    free(read.bytes);
    folder_end(&here, 1, &file);
}

static void reading_says_why_not(void **state)
{
    (void)state;
    folder here = folder_new();
    folder_name file = folder_file(&here, "f");
    folder_name missing = folder_file(&here, "missing.jpg");
    folder_name below = folder_file(&here, "f/below.jpg");
    image_buffer read = {(unsigned char *)1, 1, 1};
    folder_write(file.text, "\xFF\xD8\xFF", 3);
    assert_fails(DLPARK_E_NOT_FOUND, "missing.jpg: No such file or directory", read_file(missing.text, &read, e));
    assert_fails(DLPARK_E_NOT_FOUND, "f/below.jpg: Not a directory", read_file(below.text, &read, e));
    assert_fails(DLPARK_E_IO, ": Is a directory", read_file(here.path, &read, e));
    assert_null(read.bytes);
    assert_int_equal(read.nbytes, 0);
    const long live = failing_alloc_live();
    failing_alloc_arm(1);
    assert_int_equal(read_file(file.text, &read, NULL), DLPARK_E_MEMORY);
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
    assert_fails(DLPARK_E_PERMISSION, "Permission denied", read_file(file.text, &read, e));
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

static void a_link_is_replaced_and_never_followed(void **state)
{
    (void)state;
    folder here = folder_new();
    folder_name files[3] = {folder_file(&here, "target"), folder_file(&here, "link"), folder_file(&here, "dangling")};
    image_buffer bytes = content("in its place");
    struct stat status;
    folder_write(files[0].text, "old", 3);
    assert_int_equal(chmod(files[0].text, 0600), 0);
    assert_int_equal(symlink("target", files[1].text), 0);
    assert_int_equal(symlink("gone/target", files[2].text), 0);
    const mode_t mask = umask(027);
    for (int i = 1; i < 3; i++) {
        assert_ok(dlpark__image_file_write(files[i].text, &bytes, e));
        assert_int_equal(lstat(files[i].text, &status), 0);
        assert_true(S_ISREG(status.st_mode));
        assert_int_equal(status.st_mode & 07777, 0640);
        check_content(files[i].text, "in its place");
    }
    umask(mask);
    check_content(files[0].text, "old");
    free(bytes.bytes);
    folder_end(&here, 3, files);
}

/* Whatever the umask is. */
static void a_replaced_file_keeps_its_mode(void **state)
{
    (void)state;
    folder here = folder_new();
    folder_name file = folder_file(&here, "target");
    const mode_t modes[] = {0600, 0666, 0640, 0444, 0777, 04711};
    image_buffer bytes = content("new");
    struct stat status;
    folder_write(file.text, "old", 3);
    const mode_t mask = umask(027);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(chmod(file.text, modes[i]), 0);
        assert_ok(dlpark__image_file_write(file.text, &bytes, e));
        assert_int_equal(stat(file.text, &status), 0);
        assert_int_equal(status.st_mode & 07777, modes[i]);
    }
    umask(mask);
    check_content(file.text, "new");
    free(bytes.bytes);
    folder_end(&here, 1, &file);
}

static void only_regular_files_are_replaced(void **state)
{
    (void)state;
    folder here = folder_new();
    folder_name pipe_name = folder_file(&here, "p"), link_name = folder_file(&here, "link");
    folder_name names[2] = {pipe_name, link_name};
    image_buffer bytes = content("x");
    struct stat status;
    assert_int_equal(mkfifo(pipe_name.text, 0600), 0);
    assert_fails(DLPARK_E_IO, "not a regular file", dlpark__image_file_write(pipe_name.text, &bytes, e));
    assert_fails(DLPARK_E_IO, "not a regular file", dlpark__image_file_write(here.path, &bytes, e));
    assert_int_equal(symlink("p", link_name.text), 0);
    assert_fails(DLPARK_E_IO, "not a regular file", dlpark__image_file_write(link_name.text, &bytes, e));
    assert_int_equal(stat(pipe_name.text, &status), 0);
    assert_true(S_ISFIFO(status.st_mode));
    free(bytes.bytes);
    folder_end(&here, 2, names);
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
    folder_name file = folder_file(&here, "f");
    image_buffer bytes = content("x");
    assert_fails(DLPARK_E_NOT_FOUND, "no/such/f: No such file", dlpark__image_file_write(nowhere.text, &bytes, e));
    const long live = failing_alloc_live();
    failing_alloc_arm(1);
    assert_int_equal(dlpark__image_file_write(file.text, &bytes, NULL), DLPARK_E_MEMORY);
    failing_alloc_arm(0);
    assert_int_equal(failing_alloc_live(), live);
    free(bytes.bytes);
    folder_end(&here, 0, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read_whole),
        cmocka_unit_test(a_pipe_is_read_to_its_end),
        cmocka_unit_test(a_picture_comes_in_small_pieces),
        cmocka_unit_test(an_endless_source_is_refused_by_its_first_bytes),
        cmocka_unit_test(an_empty_file_is_said_to_be),
        cmocka_unit_test(a_file_of_4_gib_is_refused_by_its_size),
        cmocka_unit_test(what_does_not_end_is_left_at_the_limit),
        cmocka_unit_test(reading_says_why_not),
        cmocka_unit_test(permission_is_needed),
        cmocka_unit_test(a_file_is_made_and_replaced),
        cmocka_unit_test(a_name_without_a_directory_is_of_this_one),
        cmocka_unit_test(a_link_is_replaced_and_never_followed),
        cmocka_unit_test(a_replaced_file_keeps_its_mode),
        cmocka_unit_test(only_regular_files_are_replaced),
        cmocka_unit_test(a_full_disk_leaves_what_was),
        cmocka_unit_test(writing_says_why_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
