#include "tensor_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "failing_alloc.h"
#include "replace.h"

/* ---- System calls that fail when they are told to ---- */

enum { OPEN, FSTAT, FTRUNCATE, PWRITE, PREAD, FCHMOD, FSYNC, CLOSE, RENAME, CALLS };

static struct {
    int first, past, number, count;
} plans[CALLS];
static int open_now;
static size_t most_at_once;
static uint64_t entropy;
static bool has_entropy = true;

static void plan(int call, int first, int times, int number)
{
    plans[call].first = first;
    plans[call].past = first + times;
    plans[call].number = number;
    plans[call].count = 0;
}

static bool fails_now(int call)
{
    int count = ++plans[call].count;

    if (count < plans[call].first || count >= plans[call].past)
        return false;
    errno = plans[call].number;
    return true;
}

int __real_open(const char *path, int flags, ...);
int __real_fstat(int descriptor, struct stat *status);
int __real_ftruncate(int descriptor, off_t nbytes);
ssize_t __real_pwrite(int descriptor, const void *from, size_t nbytes, off_t offset);
ssize_t __real_pread(int descriptor, void *to, size_t nbytes, off_t offset);
int __real_fchmod(int descriptor, mode_t mode);
int __real_fsync(int descriptor);
int __real_close(int descriptor);
int __real_rename(const char *from, const char *to);
int __wrap_open(const char *path, int flags, ...);
int __wrap_fstat(int descriptor, struct stat *status);
int __wrap_ftruncate(int descriptor, off_t nbytes);
ssize_t __wrap_pwrite(int descriptor, const void *from, size_t nbytes, off_t offset);
ssize_t __wrap_pread(int descriptor, void *to, size_t nbytes, off_t offset);
int __wrap_fchmod(int descriptor, mode_t mode);
int __wrap_fsync(int descriptor);
int __wrap_close(int descriptor);
int __wrap_rename(const char *from, const char *to);
int __wrap_getentropy(void *to, size_t nbytes);

int __wrap_open(const char *path, int flags, ...)
{
    va_list rest;

    va_start(rest, flags);
    int mode = (flags & O_CREAT) != 0 ? va_arg(rest, int) : 0;
    va_end(rest);
    int descriptor = fails_now(OPEN) ? -1 : __real_open(path, flags, mode);
    open_now += descriptor >= 0;
    return descriptor;
}

int __wrap_fstat(int descriptor, struct stat *status)
{
    return fails_now(FSTAT) ? -1 : __real_fstat(descriptor, status);
}

int __wrap_ftruncate(int descriptor, off_t nbytes)
{
    return fails_now(FTRUNCATE) ? -1 : __real_ftruncate(descriptor, nbytes);
}

ssize_t __wrap_pwrite(int descriptor, const void *from, size_t nbytes, off_t offset)
{
    if (fails_now(PWRITE))
        return -1;
    return __real_pwrite(descriptor, from, most_at_once != 0 && nbytes > most_at_once ? most_at_once : nbytes, offset);
}

ssize_t __wrap_pread(int descriptor, void *to, size_t nbytes, off_t offset)
{
    if (fails_now(PREAD))
        return -1;
    return __real_pread(descriptor, to, most_at_once != 0 && nbytes > most_at_once ? most_at_once : nbytes, offset);
}

int __wrap_fchmod(int descriptor, mode_t mode)
{
    return fails_now(FCHMOD) ? -1 : __real_fchmod(descriptor, mode);
}

int __wrap_fsync(int descriptor)
{
    return fails_now(FSYNC) ? -1 : __real_fsync(descriptor);
}

int __wrap_close(int descriptor)
{
    open_now--;
    int closed = __real_close(descriptor);
    return fails_now(CLOSE) ? -1 : closed;
}

int __wrap_rename(const char *from, const char *to)
{
    return fails_now(RENAME) ? -1 : __real_rename(from, to);
}

int __wrap_getentropy(void *to, size_t nbytes)
{
    if (!has_entropy)
        return -1;
    memset(to, 0, nbytes);
    memcpy(to, &entropy, nbytes < sizeof entropy ? nbytes : sizeof entropy);
    entropy++;
    return 0;
}

/* ---- A folder to write in ---- */

static char folder[] = "/tmp/dlpark-replace-XXXXXX";
static char path[sizeof folder + 32];

static int folder_make(void **state)
{
    (void)state;
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    snprintf(path, sizeof path, "%s/file", mkdtemp(folder));
    memset(plans, 0, sizeof plans);
    open_now = 0;
    most_at_once = 0;
    has_entropy = true;
    return 0;
}

static int files_in_folder(void)
{
    DIR *opened = opendir(folder);
    int count = 0;

    assert_non_null(opened);
    for (struct dirent *entry; (entry = readdir(opened)) != NULL;)
        count += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
    closedir(opened);
    return count;
}

static int folder_drop(void **state)
{
    (void)state;
    (void)unlink(path);
    assert_int_equal(rmdir(folder), 0); /* nothing else is left in it */
    return 0;
}

static void put_old(void)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    fputs("old", file);
    fclose(file);
}

static void assert_content(const char *expected)
{
    char content[64] = "";
    FILE *file = fopen(path, "rb");

    assert_non_null(file);
    content[fread(content, 1, sizeof content - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(content, expected);
}

static dlpark_status replace_by(const char *text, bool sync, dlpark_error *err)
{
    dlpark__replace replace;

    DLPARK_TRY(dlpark__replace_begin(&replace, path, strlen(text), err));
    dlpark_status status = dlpark__replace_write(&replace, 0, text, strlen(text), err);
    if (status != DLPARK_OK) {
        dlpark__replace_abandon(&replace);
        return status;
    }
    return dlpark__replace_commit(&replace, sync, err);
}

/* ---- Tests ---- */

static void a_file_is_made_or_replaced(void **state)
{
    (void)state;
    assert_ok(replace_by("first", false, e));
    assert_content("first");
    most_at_once = 2;
    assert_ok(replace_by("second", true, e));
    assert_content("second");
    assert_int_equal(files_in_folder(), 1);
    assert_int_equal(open_now, 0);
}

static void what_is_abandoned_leaves_nothing(void **state)
{
    (void)state;
    dlpark__replace replace;

    put_old();
    assert_ok(dlpark__replace_begin(&replace, path, 10, e));
    assert_int_equal(files_in_folder(), 2);
    dlpark__replace_abandon(&replace);
    assert_int_equal(files_in_folder(), 1);
    assert_content("old");
    assert_int_equal(open_now, 0);
}

static void holes_are_zeros(void **state)
{
    (void)state;
    dlpark__replace replace;
    struct stat status;

    assert_ok(dlpark__replace_begin(&replace, path, 9, e));
    assert_ok(dlpark__replace_write(&replace, 8, "x", 1, e));
    assert_ok(dlpark__replace_write(&replace, 3, "", 0, e));
    assert_ok(dlpark__replace_commit(&replace, false, e));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, 9);
    assert_content("");
}

/* What was written before the file has its name is read, in as many calls as it takes, and cut. */
static void what_was_written_is_read_and_cut(void **state)
{
    (void)state;
    dlpark__replace replace;
    char got[8] = "";

    assert_ok(dlpark__replace_begin(&replace, path, 9, e));
    assert_ok(dlpark__replace_write(&replace, 0, "abcdefgh", 8, e));
    most_at_once = 3;
    plan(PREAD, 2, 1, EINTR);
    assert_ok(dlpark__replace_read(&replace, 1, got, 7, e));
    assert_string_equal(got, "bcdefgh");
    plan(PREAD, 1, 2, EIO);
    assert_fails(DLPARK_E_IO, "Input/output", dlpark__replace_read(&replace, 0, got, 8, e));
    plan(PREAD, 0, 0, 0);
    assert_fails(DLPARK_E_IO, "somebody cut it short", dlpark__replace_read(&replace, 5, got, 5, e));
    plan(FTRUNCATE, 1, 2, EIO);
    assert_fails(DLPARK_E_IO, "Input/output", dlpark__replace_cut(&replace, 4, e));
    assert_ok(dlpark__replace_cut(&replace, 4, e));
    assert_ok(dlpark__replace_commit(&replace, false, e));
    assert_content("abcd");
}

static void the_mode_is_kept(void **state)
{
    (void)state;
    struct stat status;
    mode_t mask = umask(027);

    assert_ok(replace_by("new", false, e));
    umask(mask);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
    assert_int_equal(chmod(path, 0604), 0);
    assert_ok(replace_by("newer", false, e));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0604);
}

static void a_link_is_replaced(void **state)
{
    (void)state;
    char target[sizeof folder + 32];
    struct stat status;

    snprintf(target, sizeof target, "%s/target", folder);
    assert_int_equal(symlink(target, path), 0);
    assert_ok(replace_by("new", false, e));
    assert_int_equal(lstat(path, &status), 0);
    assert_true(S_ISREG(status.st_mode));
    assert_int_equal(lstat(target, &status), -1);
}

/* A name for the same file elsewhere, such as a shard in another checkpoint: it keeps the old bytes. */
static void another_name_keeps_the_file(void **state)
{
    (void)state;
    char other[sizeof folder + 32];

    put_old();
    snprintf(other, sizeof other, "%s/other", folder);
    assert_int_equal(link(path, other), 0);
    assert_ok(replace_by("new", false, e));
    assert_content("new");
    assert_int_equal(rename(other, path), 0);
    assert_content("old");
}

static void a_link_to_a_device_is_not(void **state)
{
    (void)state;
    struct stat status;

    assert_int_equal(symlink("/dev/null", path), 0);
    assert_fails(DLPARK_E_IO, "not a regular file", replace_by("new", false, e));
    assert_int_equal(lstat(path, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
}

static void names_that_are_taken_are_passed_over(void **state)
{
    (void)state;
    dlpark__replace first, second;

    entropy = 7;
    assert_ok(dlpark__replace_begin(&first, path, 1, e));
    entropy = 7;
    assert_ok(dlpark__replace_begin(&second, path, 1, e));
    assert_string_not_equal(first.temporary, second.temporary);
    dlpark__replace_abandon(&first);
    dlpark__replace_abandon(&second);
    has_entropy = false;
    assert_ok(replace_by("new", false, e));
    has_entropy = true;
    plan(OPEN, 1, 3, EEXIST);
    assert_ok(replace_by("newer", false, e));
    plan(OPEN, 1, 1000, EEXIST);
    assert_fails(DLPARK_E_IO, "exists", replace_by("newest", false, e));
}

static void what_is_no_file_is_not_replaced(void **state)
{
    (void)state;
    dlpark__replace replace;
    char absent[sizeof path + 8];

    assert_fails(DLPARK_E_IO, "not a regular file", dlpark__replace_begin(&replace, folder, 1, e));
    snprintf(absent, sizeof absent, "%s/x/y", path);
    assert_fails(DLPARK_E_NOT_FOUND, "No such file", dlpark__replace_begin(&replace, absent, 1, e));
    assert_fails(DLPARK_E_IO, "too large", dlpark__replace_begin(&replace, path, UINT64_C(1) << 63, e));
    assert_int_equal(files_in_folder(), 0);
}

/* Each call fails in turn: the old file is there, nothing else is, and every descriptor is closed. */
static void a_failing_call_leaves_the_old_file(void **state)
{
    (void)state;
    static const struct {
        int call, nth, number;
        dlpark_status status;
        const char *text;
    } cases[] = {
        {OPEN, 1, EACCES, DLPARK_E_PERMISSION, "Permission denied"},
        {OPEN, 1, EROFS, DLPARK_E_PERMISSION, "Read-only"},
        {FTRUNCATE, 1, EFBIG, DLPARK_E_IO, "too large"},
        {PWRITE, 1, ENOSPC, DLPARK_E_IO, "No space left"},
        {PWRITE, 1, EIO, DLPARK_E_IO, "Input/output"},
        {FCHMOD, 1, EPERM, DLPARK_E_PERMISSION, "not permitted"},
        {FCHMOD, 2, EIO, DLPARK_E_IO, "Input/output"}, /* when it gets the mode that it is to have */
        {FSTAT, 1, EIO, DLPARK_E_IO, "Input/output"},
        {FSYNC, 1, EIO, DLPARK_E_IO, "Input/output"},
        {CLOSE, 1, EDQUOT, DLPARK_E_IO, "quota"},
        {RENAME, 1, EXDEV, DLPARK_E_IO, "link"},
    };

    put_old();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dlpark_error err = test_fresh_error();
        plan(cases[i].call, cases[i].nth, 1, cases[i].number);
        assert_int_equal(replace_by("new", true, &err), cases[i].status);
        assert_non_null(strstr(err.message, cases[i].text));
        assert_non_null(strstr(err.message, path));
        assert_content("old");
        assert_int_equal(files_in_folder(), 1);
        assert_int_equal(open_now, 0);
    }
}

/* Interrupted calls are repeated; and what no file system need be able to do is not missed. */
static void what_is_no_failure_is_none(void **state)
{
    (void)state;
    plan(OPEN, 1, 2, EINTR);
    plan(PWRITE, 1, 2, EINTR);
    plan(CLOSE, 1, 1, EINTR);
    plan(FSYNC, 2, 1, EINVAL); /* the folder's */
    assert_ok(replace_by("new", true, e));
    assert_content("new");
    plan(FSYNC, 2, 1, ENOTSUP);
    assert_ok(replace_by("newer", true, e));
    assert_content("newer");
    assert_int_equal(open_now, 0);
}

/* The file has its name by then. */
static void a_folder_that_cannot_be_synced_is_told(void **state)
{
    (void)state;
    plan(FSYNC, 2, 1, EIO);
    assert_int_equal(replace_by("new", true, NULL), DLPARK_E_IO);
    assert_content("new");
    plan(OPEN, 2, 1, EACCES);
    assert_int_equal(replace_by("newer", true, NULL), DLPARK_E_PERMISSION);
    assert_int_equal(open_now, 0);
}

static void a_path_without_a_folder_is_in_this_one(void **state)
{
    (void)state;
    char *before = getcwd(NULL, 0);
    dlpark__replace replace;

    assert_int_equal(chdir(folder), 0);
    assert_ok(dlpark__replace_begin(&replace, "file", 1, e));
    assert_ok(dlpark__replace_commit(&replace, true, e));
    assert_int_equal(chdir(before), 0);
    free(before);
    assert_int_equal(files_in_folder(), 1);
}

static void without_memory_nothing_is_left(void **state)
{
    (void)state;
    put_old();
    for (long nth = 1;; nth++) {
        failing_alloc_arm(nth);
        dlpark_status status = replace_by("new", false, NULL);
        failing_alloc_arm(0);
        if (status == DLPARK_OK)
            break;
        assert_int_equal(status, DLPARK_E_MEMORY);
        assert_content("old");
        assert_int_equal(files_in_folder(), 1);
        assert_true(nth < 10);
    }
    assert_content("new");
    failing_alloc_arm(3);
    assert_int_equal(replace_by("newer", true, NULL),
                     DLPARK_E_MEMORY); /* for the folder's name; the file has its own */
    failing_alloc_arm(0);
    assert_content("newer");
}

#define in_a_folder(test) cmocka_unit_test_setup_teardown(test, folder_make, folder_drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_a_folder(a_file_is_made_or_replaced),
        in_a_folder(what_is_abandoned_leaves_nothing),
        in_a_folder(holes_are_zeros),
        in_a_folder(what_was_written_is_read_and_cut),
        in_a_folder(the_mode_is_kept),
        in_a_folder(a_link_is_replaced),
        in_a_folder(another_name_keeps_the_file),
        in_a_folder(a_link_to_a_device_is_not),
        in_a_folder(names_that_are_taken_are_passed_over),
        in_a_folder(what_is_no_file_is_not_replaced),
        in_a_folder(a_failing_call_leaves_the_old_file),
        in_a_folder(what_is_no_failure_is_none),
        in_a_folder(a_folder_that_cannot_be_synced_is_told),
        in_a_folder(a_path_without_a_folder_is_in_this_one),
        in_a_folder(without_memory_nothing_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
