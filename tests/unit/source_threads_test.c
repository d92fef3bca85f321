#include "tensor_file.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "failing_alloc.h"
#include "source.h"

/* ---- System calls, counted; some fail ---- */

static atomic_long reads, threads;
static atomic_long read_that_fails;   /* 0: none */
static atomic_long thread_that_fails; /* the first of those that cannot be had; 0: all can */

ssize_t __real_pread(int descriptor, void *to, size_t nbytes, off_t offset);
ssize_t __wrap_pread(int descriptor, void *to, size_t nbytes, off_t offset);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*work)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*work)(void *), void *argument);

ssize_t __wrap_pread(int descriptor, void *to, size_t nbytes, off_t offset)
{
    if (atomic_fetch_add(&reads, 1) + 1 != atomic_load(&read_that_fails))
        return __real_pread(descriptor, to, nbytes, offset);
    errno = EIO;
    return -1;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*work)(void *), void *argument)
{
    long number = atomic_fetch_add(&threads, 1) + 1, limit = atomic_load(&thread_that_fails);

    return limit != 0 && number >= limit ? EAGAIN : __real_pthread_create(thread, attributes, work, argument);
}

static void count_anew(long failing_read, long failing_thread)
{
    atomic_store(&reads, 0);
    atomic_store(&threads, 0);
    atomic_store(&read_that_fails, failing_read);
    atomic_store(&thread_that_fails, failing_thread);
}

/* ---- A file of four pieces and a bit ---- */

enum { PIECE = 4 << 20, NBYTES = 4 * PIECE + 12345 };

static tensor_file_path path;
static unsigned char *content;
static dlpark__source *source;

static int begin(void **state)
{
    (void)state;
    content = malloc(NBYTES);
    assert_non_null(content);
    for (size_t i = 0; i < NBYTES; i++)
        content[i] = (unsigned char)(i % 251 + i / PIECE);
    path = tensor_file_save_bytes(content, NBYTES);
    count_anew(0, 0);
    assert_ok(dlpark__source_open(&source, path.text, false, e));
    return 0;
}

static int end(void **state)
{
    (void)state;
    dlpark__source_release(source);
    source = NULL;
    tensor_file_drop(&path);
    free(content);
    return 0;
}

/* ---- Reading ---- */

/* From `offset` to the end, with a byte on either side that nobody may touch. */
static void check_read(uint64_t offset, int count)
{
    size_t nbytes = NBYTES - (size_t)offset;
    unsigned char *to = malloc(nbytes + 2);

    assert_non_null(to);
    memset(to, 0xAA, nbytes + 2);
    assert_ok(dlpark__source_read_threads(source, offset, to + 1, nbytes, count, e));
    assert_memory_equal(to + 1, content + offset, nbytes);
    assert_int_equal(to[0], 0xAA);
    assert_int_equal(to[nbytes + 1], 0xAA);
    free(to);
}

static void any_number_of_threads_reads_all(void **state)
{
    static const struct {
        int asked;
        long started;
    } counts[] = {{0, 0}, {1, 0}, {2, 1}, {3, 2}, {5, 4}, {8, 4}, {1000, 4}};

    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        count_anew(0, 0);
        check_read(0, counts[i].asked);
        assert_int_equal(atomic_load(&threads), counts[i].started);
    }
}

static void parts_need_as_many_threads_as_pieces(void **state)
{
    (void)state;
    count_anew(0, 0);
    check_read(NBYTES - PIECE, 8);
    assert_int_equal(atomic_load(&threads), 0);
    check_read(NBYTES - PIECE - 1, 8);
    assert_int_equal(atomic_load(&threads), 1);
    check_read(NBYTES, 8);
    assert_int_equal(atomic_load(&threads), 1);
}

static void threads_that_cannot_be_had_are_done_without(void **state)
{
    (void)state;
    for (long first = 1; first <= 4; first++) {
        count_anew(0, first);
        check_read(7, 8);
        assert_int_equal(atomic_load(&threads), first);
    }
}

static void each_read_fails_in_turn(void **state)
{
    unsigned char *to = malloc(NBYTES);

    (void)state;
    assert_non_null(to);
    for (int count = 1; count <= 8; count *= 8) {
        for (long failing = 1; failing <= 5 && (count > 1 || failing == 1); failing++) {
            dlpark_error err;
            count_anew(failing, 0);
            assert_int_equal(dlpark__source_read_threads(source, 0, to, NBYTES, count, &err), DLPARK_E_IO);
            assert_int_equal(err.status, DLPARK_E_IO);
            assert_non_null(strstr(err.message, "Input/output error"));
            assert_non_null(strstr(err.message, path.text));
            count_anew(failing, 0);
            assert_int_equal(dlpark__source_read_threads(source, 0, to, NBYTES, count, NULL), DLPARK_E_IO);
        }
    }
    free(to);
}

/* What many threads find at once is told once. */
static void a_file_that_was_cut_short_is_told(void **state)
{
    unsigned char *to = malloc(NBYTES);

    (void)state;
    assert_non_null(to);
    assert_int_equal(truncate(path.text, 1000), 0);
    for (int round = 0; round < 20; round++)
        assert_fails(DLPARK_E_FORMAT, "ends at byte 1000, and had 16789561",
                     dlpark__source_read_threads(source, 0, to, NBYTES, 8, e));
    assert_fails(DLPARK_E_FORMAT, "and had 16789561", dlpark__source_read_threads(source, 0, NULL, NBYTES, 8, e));
    free(to);
}

/* ---- Bytes that nobody keeps ---- */

static void bytes_are_read_for_the_system_alone(void **state)
{
    (void)state;
    for (int count = 1; count <= 8; count *= 8) {
        count_anew(0, 0);
        assert_ok(dlpark__source_read_threads(source, 0, NULL, NBYTES, count, e));
        assert_int_equal(atomic_load(&reads), 4 * 16 + 1);
        assert_int_equal(atomic_load(&threads), count == 1 ? 0 : 4);
    }
    count_anew(0, 0);
    assert_ok(dlpark__source_read_threads(source, 100, NULL, 0, 8, e));
    assert_int_equal(atomic_load(&reads), 0);
}

static void no_memory_to_read_into_is_told(void **state)
{
    dlpark_error err;

    (void)state;
    failing_alloc_arm_from(1);
    dlpark_status status = dlpark__source_read_threads(source, 0, NULL, NBYTES, 1, &err);
    failing_alloc_arm(0);
    assert_int_equal(status, DLPARK_E_MEMORY);
    assert_int_equal(err.status, DLPARK_E_MEMORY);
}

/* ---- All into memory ---- */

static void what_was_taken_is_ours(void **state)
{
    unsigned char *map;

    (void)state;
    assert_ok(dlpark__source_take(source, 8, e));
    assert_int_equal(source->descriptor, -1);
    assert_int_equal(truncate(path.text, 0), 0);
    check_read(0, 8);
    check_read(NBYTES - 10, 8);
    assert_ok(dlpark__source_map(source, &map, e));
    assert_memory_equal(map, content, NBYTES);
    assert_ok(dlpark__source_read_threads(source, 0, NULL, NBYTES, 8, e));
    assert_ok(dlpark__source_take(source, 8, e)); /* again */
}

static void taking_fails_whole(void **state)
{
    long live = failing_alloc_live();

    (void)state;
    failing_alloc_arm_from(1);
    dlpark_status status = dlpark__source_take(source, 8, NULL);
    failing_alloc_arm(0);
    assert_int_equal(status, DLPARK_E_MEMORY);
    count_anew(3, 0);
    assert_int_equal(dlpark__source_take(source, 8, NULL), DLPARK_E_IO);
    assert_int_equal(failing_alloc_live(), live);
    count_anew(0, 0);
    source->nbytes = UINT64_MAX;
    assert_fails(DLPARK_E_MEMORY, "no memory for its 18446744073709551615 bytes", dlpark__source_take(source, 8, e));
    source->nbytes = NBYTES;
    check_read(0, 8); /* from the file, as before */
    assert_true(source->descriptor >= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(any_number_of_threads_reads_all, begin, end),
        cmocka_unit_test_setup_teardown(parts_need_as_many_threads_as_pieces, begin, end),
        cmocka_unit_test_setup_teardown(threads_that_cannot_be_had_are_done_without, begin, end),
        cmocka_unit_test_setup_teardown(each_read_fails_in_turn, begin, end),
        cmocka_unit_test_setup_teardown(a_file_that_was_cut_short_is_told, begin, end),
        cmocka_unit_test_setup_teardown(bytes_are_read_for_the_system_alone, begin, end),
        cmocka_unit_test_setup_teardown(no_memory_to_read_into_is_told, begin, end),
        cmocka_unit_test_setup_teardown(what_was_taken_is_ours, begin, end),
        cmocka_unit_test_setup_teardown(taking_fails_whole, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
