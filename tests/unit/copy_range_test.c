#include "tensor_folder.h"

#include <errno.h>

#include "copy_range.h"
#include "failing_alloc.h"

/* ---- The kernel's copy, and writes, as they are told to be ---- */

static int copies, fail_from, fail_number; /* the copy from which on all fail; 0: none */
static int fail_writes;                    /* the write that fails; 0: none */
static size_t most_at_once;                /* of a copy; 0: all */
static bool says_end;                      /* what fails gives 0 instead */

ssize_t __real_copy_file_range(int from, off_t *from_at, int to, off_t *to_at, size_t nbytes, unsigned flags);
ssize_t __wrap_copy_file_range(int from, off_t *from_at, int to, off_t *to_at, size_t nbytes, unsigned flags);
ssize_t __real_pwrite(int descriptor, const void *from, size_t nbytes, off_t offset);
ssize_t __wrap_pwrite(int descriptor, const void *from, size_t nbytes, off_t offset);

ssize_t __wrap_copy_file_range(int from, off_t *from_at, int to, off_t *to_at, size_t nbytes, unsigned flags)
{
    copies++;
    if (fail_from != 0 && copies >= fail_from) {
        errno = fail_number;
        return says_end ? 0 : -1;
    }
    if (copies == 1 && fail_number == EINTR) {
        errno = EINTR;
        return -1;
    }
    return __real_copy_file_range(from, from_at, to, to_at,
                                  most_at_once != 0 && nbytes > most_at_once ? most_at_once : nbytes, flags);
}

ssize_t __wrap_pwrite(int descriptor, const void *from, size_t nbytes, off_t offset)
{
    if (fail_writes > 0 && --fail_writes == 0) {
        errno = ENOSPC;
        return -1;
    }
    return __real_pwrite(descriptor, from, nbytes, offset);
}

static void plan(int from, int number, size_t most)
{
    copies = 0;
    fail_from = from;
    fail_number = number;
    most_at_once = most;
}

/* ---- Two files ---- */

enum { NBYTES = 2500000, FROM = 5, TO = 17, LESS = 11 };

typedef struct pair {
    tensor_folder folder;
    unsigned char *bytes;
    dlpark__source *source;
    dlpark__replace replace;
} pair;

static pair begin(bool is_memory)
{
    pair made = {.folder = tensor_folder_make(), .bytes = malloc(NBYTES)};
    tensor_folder_path from = tensor_folder_path_of(&made.folder, "from"),
                       to = tensor_folder_path_of(&made.folder, "to");

    assert_non_null(made.bytes);
    for (size_t i = 0; i < NBYTES; i++)
        made.bytes[i] = (unsigned char)(i * 31 + i / 7919);
    tensor_folder_put(&made.folder, "from", made.bytes, NBYTES);
    if (is_memory)
        assert_ok(dlpark__source_open_memory(&made.source, made.bytes, NBYTES, NULL, NULL, e));
    else
        assert_ok(dlpark__source_open(&made.source, from.text, false, e));
    assert_ok(dlpark__replace_begin(&made.replace, to.text, NBYTES + TO, e));
    return made;
}

static dlpark_status copy(const pair *made, dlpark_error *err)
{
    return dlpark__copy_range(made->source, FROM, &made->replace, TO, NBYTES - FROM - LESS, err);
}

/* Only what was to be copied is. */
static void assert_copied(const pair *made)
{
    unsigned char *read = malloc(NBYTES + TO);

    assert_non_null(read);
    int descriptor = open(made->replace.temporary, O_RDONLY);
    assert_int_equal(pread(descriptor, read, NBYTES + TO, 0), NBYTES + TO);
    close(descriptor);
    assert_memory_equal(read + TO, made->bytes + FROM, NBYTES - FROM - LESS);
    for (size_t i = 0; i < TO; i++)
        assert_int_equal(read[i], 0);
    for (size_t i = NBYTES + TO - FROM - LESS; i < NBYTES + TO; i++)
        assert_int_equal(read[i], 0);
    free(read);
}

static void end(pair *made)
{
    dlpark__replace_abandon(&made->replace);
    dlpark__source_release(made->source);
    free(made->bytes);
    tensor_folder_drop(&made->folder);
    plan(0, 0, 0);
}

static void bytes_are_copied(void **state)
{
    (void)state;
    for (int is_memory = 0; is_memory < 2; is_memory++) {
        pair made = begin(is_memory == 1);
        assert_ok(copy(&made, e));
        assert_copied(&made);
        assert_ok(dlpark__copy_range(made.source, 0, &made.replace, 0, 0, e));
        end(&made);
    }
}

/* Wherever the kernel stops, and why, the rest goes another way. */
static void the_kernel_stops(void **state)
{
    static const int numbers[] = {EXDEV, EINVAL, ENOSYS, EOPNOTSUPP, EPERM, EIO};

    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        pair made = begin(false);
        plan(1 + (int)i, numbers[i], i % 2 == 0 ? 300000 : 0);
        assert_ok(copy(&made, e));
        assert_copied(&made);
        end(&made);
    }
    pair made = begin(false);
    says_end = true;
    plan(2, 0, 1000);
    assert_ok(copy(&made, e));
    assert_copied(&made);
    end(&made);
    says_end = false;
    made = begin(false);
    plan(0, EINTR, 777777);
    assert_ok(copy(&made, e));
    assert_copied(&made);
    end(&made);
}

static void what_fails_is_told(void **state)
{
    pair made = begin(false);
    tensor_folder_path from = tensor_folder_path_of(&made.folder, "from");
    dlpark_error err;

    (void)state;
    for (int nth = 1; nth <= 3; nth++) {
        plan(1, EXDEV, 0);
        fail_writes = nth;
        assert_int_equal(copy(&made, &err), DLPARK_E_IO);
        assert_non_null(strstr(err.message, "No space left"));
    }
    plan(1, EXDEV, 0);
    failing_alloc_arm(1);
    assert_int_equal(copy(&made, NULL), DLPARK_E_MEMORY);
    failing_alloc_arm(0);
    plan(0, 0, 0);
    assert_int_equal(truncate(from.text, NBYTES / 2), 0);
    assert_fails(DLPARK_E_FORMAT, "another process cut it short", copy(&made, e));
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_copied),
        cmocka_unit_test(the_kernel_stops),
        cmocka_unit_test(what_fails_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
