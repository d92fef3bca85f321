#include "tensor_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "failing_alloc.h"
#include "source.h"

/* ---- System calls that fail when they are told to ---- */

enum { OPEN, FSTAT, FCNTL, READ, PREAD, MMAP, CALLS };

static struct {
    int first, past; /* of the calls from now on, counted from 1: those that fail, */
    int number;      /* for this reason */
    int count;
} plans[CALLS];
static size_t most_at_once;      /* what a read gives; 0: all */
static int open_now, mapped_now; /* descriptors and mappings of the library */
static dlpark__source *race_for; /* whose mapping another "thread" makes first */
static size_t mapped_nbytes;

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

static size_t at_once(size_t nbytes)
{
    return most_at_once != 0 && nbytes > most_at_once ? most_at_once : nbytes;
}

int __real_open(const char *path, int flags, ...);
int __real_fstat(int descriptor, struct stat *status);
int __real_fcntl(int descriptor, int command, ...);
int __real_close(int descriptor);
ssize_t __real_read(int descriptor, void *to, size_t nbytes);
ssize_t __real_pread(int descriptor, void *to, size_t nbytes, off_t offset);
void *__real_mmap(void *at, size_t nbytes, int protection, int flags, int descriptor, off_t offset);
int __real_munmap(void *at, size_t nbytes);
int __wrap_open(const char *path, int flags, ...);
int __wrap_fstat(int descriptor, struct stat *status);
int __wrap_fcntl(int descriptor, int command, ...);
int __wrap_close(int descriptor);
ssize_t __wrap_read(int descriptor, void *to, size_t nbytes);
ssize_t __wrap_pread(int descriptor, void *to, size_t nbytes, off_t offset);
void *__wrap_mmap(void *at, size_t nbytes, int protection, int flags, int descriptor, off_t offset);
int __wrap_munmap(void *at, size_t nbytes);

static int counted_descriptor(int descriptor)
{
    open_now += descriptor >= 0;
    return descriptor;
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list rest;
    int mode = 0;

    if ((flags & O_CREAT) != 0) {
        va_start(rest, flags);
        mode = va_arg(rest, int);
        va_end(rest);
    }
    return fails_now(OPEN) ? -1 : counted_descriptor(__real_open(path, flags, mode));
}

int __wrap_fstat(int descriptor, struct stat *status)
{
    return fails_now(FSTAT) ? -1 : __real_fstat(descriptor, status);
}

int __wrap_fcntl(int descriptor, int command, ...)
{
    va_list rest;

    va_start(rest, command);
    long argument = va_arg(rest, long);
    va_end(rest);
    if (command != F_DUPFD_CLOEXEC) /* of whoever else is in the program */
        return __real_fcntl(descriptor, command, argument);
    return fails_now(FCNTL) ? -1 : counted_descriptor(__real_fcntl(descriptor, command, 0));
}

int __wrap_close(int descriptor)
{
    open_now--;
    return __real_close(descriptor);
}

ssize_t __wrap_read(int descriptor, void *to, size_t nbytes)
{
    return fails_now(READ) ? -1 : __real_read(descriptor, to, at_once(nbytes));
}

ssize_t __wrap_pread(int descriptor, void *to, size_t nbytes, off_t offset)
{
    return fails_now(PREAD) ? -1 : __real_pread(descriptor, to, at_once(nbytes), offset);
}

void *__wrap_mmap(void *at, size_t nbytes, int protection, int flags, int descriptor, off_t offset)
{
    if (race_for != NULL) {
        dlpark__source *source = race_for;
        unsigned char *first;
        race_for = NULL;
        assert_int_equal(dlpark__source_map(source, &first, NULL), DLPARK_OK);
    }
    if (fails_now(MMAP))
        return MAP_FAILED;
    mapped_now++;
    mapped_nbytes = nbytes;
    return __real_mmap(at, nbytes, protection, flags, descriptor, offset);
}

int __wrap_munmap(void *at, size_t nbytes)
{
    mapped_now--;
    return __real_munmap(at, nbytes);
}

/* ---- A file of each test ---- */

static tensor_file_path path;
static unsigned char content[10000];

static int begin(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof content; i++)
        content[i] = tensor_file_byte(i * 7);
    path = tensor_file_save_bytes(content, sizeof content);
    memset(plans, 0, sizeof plans);
    most_at_once = 0;
    open_now = mapped_now = 0;
    return 0;
}

/* Whatever was opened is closed, whatever was mapped is unmapped. */
static int end(void **state)
{
    (void)state;
    tensor_file_drop(&path);
    return open_now != 0 || mapped_now != 0;
}

static void check_content(dlpark__source *source)
{
    unsigned char read_to[64];
    unsigned char *map;

    assert_int_equal(source->nbytes, sizeof content);
    for (size_t offset = 0; offset < sizeof content; offset += 997) {
        size_t nbytes = sizeof content - offset < sizeof read_to ? sizeof content - offset : sizeof read_to;
        assert_ok(dlpark__source_read(source, offset, read_to, nbytes, e));
        assert_memory_equal(read_to, content + offset, nbytes);
    }
    assert_ok(dlpark__source_read(source, sizeof content, read_to, 0, e));
    assert_ok(dlpark__source_map(source, &map, e));
    assert_memory_equal(map, content, sizeof content);
}

/* ---- Opening ---- */

static void file_is_read_and_mapped_once(void **state)
{
    dlpark__source *source = NULL;
    unsigned char *map, *again;

    (void)state;
    assert_ok(dlpark__source_open(&source, path.text, false, e));
    assert_int_equal(mapped_now, 0);
    check_content(source);
    assert_int_equal(mapped_now, 1);
    assert_ok(dlpark__source_map(source, &map, e));
    assert_ok(dlpark__source_map(source, &again, e));
    assert_ptr_equal(map, again);
    assert_int_equal(mapped_now, 1);
    assert_ptr_equal(dlpark__source_share(source), source);
    dlpark__source_release(source);
    assert_memory_equal(map, content, sizeof content);
    assert_int_equal(fcntl(source->descriptor, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    dlpark__source_release(source);
    dlpark__source_release(NULL);
}

static void reasons_have_their_status(void **state)
{
    static const struct {
        int number;
        dlpark_status status;
    } rows[] = {{ENOENT, DLPARK_E_NOT_FOUND}, {ENOTDIR, DLPARK_E_NOT_FOUND}, {EACCES, DLPARK_E_PERMISSION},
                {EPERM, DLPARK_E_PERMISSION}, {ENOMEM, DLPARK_E_MEMORY},     {EIO, DLPARK_E_IO},
                {EMFILE, DLPARK_E_IO},        {ELOOP, DLPARK_E_IO},          {EISDIR, DLPARK_E_IO}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dlpark__source *source = NULL;
        plan(OPEN, 1, 9, rows[i].number);
        assert_fails(rows[i].status, strerror(rows[i].number), dlpark__source_open(&source, path.text, false, e));
        assert_fails(rows[i].status, path.text, dlpark__source_open(&source, path.text, false, e));
        plan(OPEN, 0, 0, 0);
        plan(FSTAT, 1, 9, rows[i].number);
        assert_fails(rows[i].status, strerror(rows[i].number), dlpark__source_open(&source, path.text, false, e));
        plan(FSTAT, 0, 0, 0);
        plan(FCNTL, 1, 9, rows[i].number);
        assert_fails(rows[i].status, "<descriptor 77>: ", dlpark__source_open_descriptor(&source, 77, NULL, false, e));
        plan(FCNTL, 0, 0, 0);
        assert_null(source);
    }
    dlpark__source *source = NULL;
    plan(OPEN, 1, 9, 123456);
    assert_fails(DLPARK_E_IO, "123456", dlpark__source_open(&source, path.text, false, e));
    assert_null(source);
}

static void open_is_asked_again_after_a_signal(void **state)
{
    dlpark__source *source = NULL;

    (void)state;
    plan(OPEN, 1, 3, EINTR);
    assert_ok(dlpark__source_open(&source, path.text, false, e));
    assert_int_equal(plans[OPEN].count, 4);
    dlpark__source_release(source);
}

static void places_that_are_no_files(void **state)
{
    dlpark__source *source = NULL;
    char below[80];

    (void)state;
    assert_fails(DLPARK_E_NOT_FOUND, "/nowhere/x: No such file", dlpark__source_open(&source, "/nowhere/x", false, e));
    assert_fails(DLPARK_E_NOT_FOUND, "No such file", dlpark__source_open(&source, "", false, e));
    assert_fails(DLPARK_E_IO, "/tmp: Is a directory", dlpark__source_open(&source, "/tmp", false, e));
    snprintf(below, sizeof below, "%s/below", path.text);
    assert_fails(DLPARK_E_NOT_FOUND, "Not a directory", dlpark__source_open(&source, below, false, e));
    assert_fails(DLPARK_E_IO, "<descriptor -1>: Bad file descriptor",
                 dlpark__source_open_descriptor(&source, -1, NULL, false, e));
    assert_fails(DLPARK_E_IO, "mine: Bad file descriptor",
                 dlpark__source_open_descriptor(&source, 9999, "mine", false, e));
    assert_int_equal(chmod(path.text, 0), 0);
    if (geteuid() == 0)
        print_message("skipped: a file without permission, as this user may read all\n");
    else
        assert_fails(DLPARK_E_PERMISSION, "ermission", dlpark__source_open(&source, path.text, false, e));
    assert_null(source);
}

static void no_memory_for_a_source(void **state)
{
    dlpark__source *source = NULL;
    int descriptor = open(path.text, O_RDONLY);
    long live = failing_alloc_live();

    (void)state;
    for (int again = 0; again < 2; again++) {
        failing_alloc_arm(1);
        assert_int_equal(dlpark__source_open(&source, path.text, false, NULL), DLPARK_E_MEMORY);
        failing_alloc_arm(1);
        assert_int_equal(dlpark__source_open_descriptor(&source, descriptor, NULL, false, NULL), DLPARK_E_MEMORY);
        failing_alloc_arm(1);
        assert_int_equal(dlpark__source_open_memory(&source, content, 5, NULL, NULL, NULL), DLPARK_E_MEMORY);
        failing_alloc_arm(0);
        assert_null(source);
    }
    assert_int_equal(failing_alloc_live(), live);
    assert_int_equal(open_now, 1);
    close(descriptor);
}

static void descriptor_is_duplicated_and_its_position_left_alone(void **state)
{
    dlpark__source *source = NULL;
    int descriptor = open(path.text, O_RDONLY);

    (void)state;
    assert_int_equal(lseek(descriptor, 1234, SEEK_SET), 1234);
    assert_ok(dlpark__source_open_descriptor(&source, descriptor, NULL, false, e));
    check_content(source);
    assert_int_equal(lseek(descriptor, 0, SEEK_CUR), 1234);
    close(descriptor);
    check_content(source);
    dlpark__source_release(source);
}

/* ---- Names in messages ---- */

static void assert_named(const char *given, const char *shown)
{
    dlpark__source *source = NULL;
    int descriptor = open(path.text, O_RDONLY);

    assert_ok(dlpark__source_open_descriptor(&source, descriptor, given, false, e));
    assert_string_equal(source->name.text, shown);
    dlpark__source_release(source);
    close(descriptor);
}

static void names_are_cut_and_made_fit(void **state)
{
    char name[400], shown[400];

    (void)state;
    assert_named("", "");
    assert_named("a\033[31mb\x7F\n\xC3\xA4.st", "a?[31mb??\xC3\xA4.st");
    for (size_t length = 155; length < 170; length++) {
        memset(name, 'n', length);
        name[length] = '\0';
        snprintf(shown, sizeof shown, length > 160 ? "...%.160s" : "%s", name);
        assert_named(name, shown);
    }
    for (size_t length = 150; length < 160; length++) { /* four bytes of a character at every place of the cut */
        char *at = name;
        for (int i = 0; i < 10; i++)
            at += snprintf(at, 5, "\xF0\x9F\x98\x80");
        memset(at, 'n', length);
        at[length] = '\0';
        assert_named(name, (snprintf(shown, sizeof shown, "...%s", at - (160 - length) / 4 * 4), shown));
    }
    memset(name, 0x80, 300);
    name[300] = '\0';
    assert_named(name, "..."); /* what is no text at all */
}

/* ---- What has no size ---- */

typedef struct pipe_job {
    int descriptor;
    size_t nbytes;
} pipe_job;

static void *pipe_write(void *argument)
{
    const pipe_job *job = argument;

    for (size_t at = 0; at < job->nbytes; at++)
        if (write(job->descriptor, content + at % sizeof content, 1) != 1)
            break;
    __real_close(job->descriptor);
    return NULL;
}

static void check_pipe(size_t nbytes)
{
    int ends[2];
    pthread_t writer;
    dlpark__source *source = NULL;
    unsigned char *map, last;

    assert_int_equal(pipe(ends), 0);
    pipe_job job = {ends[1], nbytes};
    assert_int_equal(pthread_create(&writer, NULL, pipe_write, &job), 0);
    assert_ok(dlpark__source_open_descriptor(&source, ends[0], "a pipe", false, e));
    assert_int_equal(pthread_join(writer, NULL), 0);
    __real_close(ends[0]);
    assert_int_equal(source->nbytes, nbytes);
    assert_int_equal(source->descriptor, -1);
    assert_int_equal(open_now, 0);
    assert_ok(dlpark__source_map(source, &map, e));
    for (size_t at = 0; at < nbytes; at++)
        if (map[at] != content[at % sizeof content])
            fail_msg("byte %zu of %zu", at, nbytes);
    if (nbytes > 0) {
        assert_ok(dlpark__source_read(source, nbytes - 1, &last, 1, e));
        assert_int_equal(last, content[(nbytes - 1) % sizeof content]);
    }
    assert_int_equal(mapped_now, 0);
    dlpark__source_release(source);
}

static void pipes_are_read_to_their_end(void **state)
{
    (void)state;
    check_pipe(0);
    check_pipe(1);
    check_pipe(65535);
    check_pipe(65536);
    check_pipe(65537);
    check_pipe(140000);
    most_at_once = 1000;
    plan(READ, 3, 2, EINTR);
    check_pipe(70000);
}

static void pipes_that_break(void **state)
{
    long live = failing_alloc_live();

    (void)state;
    for (int nth = 1; nth <= 4; nth++) {
        dlpark__source *source = NULL;
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], content, 3000), 3000);
        most_at_once = 1000;
        plan(READ, nth, 1, EIO);
        assert_int_equal(dlpark__source_open_descriptor(&source, ends[0], NULL, false, NULL), DLPARK_E_IO);
        assert_null(source);
        plan(READ, 0, 0, 0);
        __real_close(ends[1]);
        __real_close(ends[0]);
    }
    most_at_once = 0;
    for (int nth = 2; nth <= 4; nth++) { /* the first is the source */
        dlpark__source *source = NULL;
        int descriptor = __real_open("/dev/zero", O_RDONLY);
        failing_alloc_arm(nth);
        assert_int_equal(dlpark__source_open_descriptor(&source, descriptor, NULL, false, NULL), DLPARK_E_MEMORY);
        failing_alloc_arm(0);
        assert_null(source);
        __real_close(descriptor);
    }
    assert_int_equal(failing_alloc_live(), live);
}

/* As much memory as there is would not hold it. */
static void a_device_without_an_end_is_refused(void **state)
{
    long live = failing_alloc_live();
    dlpark__source *source = NULL;

    (void)state;
    assert_fails(DLPARK_E_IO, "/dev/zero: File too large", dlpark__source_open(&source, "/dev/zero", false, e));
    assert_null(source);
    assert_ok(dlpark__source_open(&source, "/dev/null", false, e));
    assert_int_equal(source->nbytes, 0);
    dlpark__source_release(source);
    assert_int_equal(failing_alloc_live(), live);
}

/* They are regular, have no size, and are not empty. */
static void files_of_procfs_are_read(void **state)
{
    dlpark__source *source = NULL;
    unsigned char first;
    int descriptor = __real_open("/proc/meminfo", O_RDONLY);

    (void)state;
    if (descriptor < 0) {
        print_message("skipped: there is no procfs\n");
        return;
    }
    assert_ok(dlpark__source_open(&source, "/proc/meminfo", false, e));
    assert_true(source->nbytes > 0);
    dlpark__source_release(source);
    source = NULL;
    uint64_t whole = 0;
    for (off_t position = 0; position < 200; position += 100) { /* which does not matter, and is left alone */
        assert_int_equal(lseek(descriptor, position, SEEK_SET), position);
        assert_ok(dlpark__source_open_descriptor(&source, descriptor, NULL, false, e));
        assert_int_equal(lseek(descriptor, 0, SEEK_CUR), position);
        assert_ok(dlpark__source_read(source, 0, &first, 1, e));
        assert_int_equal(first, 'M'); /* MemTotal */
        assert_true(whole == 0 || source->nbytes > whole / 2);
        whole = source->nbytes;
        dlpark__source_release(source);
        source = NULL;
    }
    plan(PREAD, 1, 1, EIO);
    assert_int_equal(dlpark__source_open_descriptor(&source, descriptor, NULL, false, NULL), DLPARK_E_IO);
    assert_null(source);
    __real_close(descriptor);
}

static void empty_file_has_no_bytes(void **state)
{
    dlpark__source *source = NULL;
    unsigned char *map = content;

    (void)state;
    assert_int_equal(truncate(path.text, 0), 0);
    assert_ok(dlpark__source_open(&source, path.text, false, e));
    assert_int_equal(source->nbytes, 0);
    assert_ok(dlpark__source_read(source, 0, NULL, 0, e));
    assert_ok(dlpark__source_map(source, &map, e));
    assert_int_equal(mapped_now, 0);
    dlpark__source_release(source);
}

/* ---- Reading ---- */

static void reads_may_be_short_and_interrupted(void **state)
{
    dlpark__source *source = NULL;
    static unsigned char all[sizeof content];

    (void)state;
    assert_ok(dlpark__source_open(&source, path.text, false, e));
    for (most_at_once = 1; most_at_once < 5000; most_at_once *= 3) {
        memset(all, 0, sizeof all);
        plan(PREAD, 2, 3, EINTR);
        assert_ok(dlpark__source_read(source, 0, all, sizeof all, e));
        assert_memory_equal(all, content, sizeof all);
    }
    plan(PREAD, 2, 9, EIO);
    most_at_once = 10;
    assert_int_equal(dlpark__source_read(source, 0, all, sizeof all, NULL), DLPARK_E_IO);
    dlpark__source_release(source);
}

static void file_that_was_cut_short_is_told(void **state)
{
    dlpark__source *source = NULL;
    static unsigned char all[sizeof content];

    (void)state;
    assert_ok(dlpark__source_open(&source, path.text, false, e));
    assert_int_equal(truncate(path.text, 5000), 0);
    assert_ok(dlpark__source_read(source, 0, all, 5000, e));
    assert_fails(DLPARK_E_FORMAT, "ends at byte 5000, and had 10000 when it was opened",
                 dlpark__source_read(source, 0, all, 5001, e));
    assert_fails(DLPARK_E_FORMAT, "ends at byte 5000", dlpark__source_read(source, 7000, all, 1, e));
    plan(FSTAT, 1, 2, EIO); /* then it is known to end before this */
    assert_fails(DLPARK_E_FORMAT, "ends at byte 7000", dlpark__source_read(source, 7000, all, 1, e));
    assert_ok(dlpark__source_read(source, 9000, all, 0, e));
    dlpark__source_release(source);
}

/* ---- Mapping ---- */

static void private_writes_stay_in_the_process(void **state)
{
    for (int copied = 0; copied < 2; copied++) {
        dlpark__source *source = NULL;
        unsigned char *map, byte;
        assert_ok(dlpark__source_open(&source, path.text, true, e));
        plan(MMAP, copied, copied, ENODEV);
        assert_ok(dlpark__source_map(source, &map, e));
        map[17] = 0;
        assert_ok(dlpark__source_map(source, &map, e));
        assert_int_equal(map[17], 0);
        assert_ok(dlpark__source_read(source, 17, &byte, 1, e));
        assert_int_equal(byte, content[17]);
        dlpark__source_release(source);
    }
    (void)state;
}

static void what_cannot_be_mapped_is_read(void **state)
{
    static const int numbers[] = {ENODEV, EINVAL};

    (void)state;
    for (int i = 0; i < 2; i++) {
        dlpark__source *source = NULL;
        assert_ok(dlpark__source_open(&source, path.text, false, e));
        plan(MMAP, 1, 1, numbers[i]);
        check_content(source);
        assert_int_equal(plans[MMAP].count, 2);
        assert_int_equal(mapped_now, 1);
        dlpark__source_release(source);
        assert_int_equal(mapped_now, 0);
    }
}

static void mapping_that_fails(void **state)
{
    dlpark__source *source = NULL;
    unsigned char *map = NULL;

    (void)state;
    assert_ok(dlpark__source_open(&source, path.text, false, e));
    plan(MMAP, 1, 9, ENOMEM);
    assert_fails(DLPARK_E_MEMORY, "Cannot allocate", dlpark__source_map(source, &map, e));
    plan(MMAP, 1, 9, EACCES);
    assert_fails(DLPARK_E_PERMISSION, path.text, dlpark__source_map(source, &map, e));
    plan(MMAP, 1, 9, ENODEV); /* and no memory to read it to */
    assert_fails(DLPARK_E_IO, path.text, dlpark__source_map(source, &map, e));
    plan(MMAP, 1, 1, ENODEV);
    plan(PREAD, 1, 9, EIO);
    assert_int_equal(dlpark__source_map(source, &map, NULL), DLPARK_E_IO);
    assert_int_equal(mapped_now, 0);
    plan(MMAP, 0, 0, 0);
    plan(PREAD, 0, 0, 0);
    uint64_t nbytes = source->nbytes;
    source->nbytes = UINT64_MAX;
    assert_fails(DLPARK_E_MEMORY, path.text, dlpark__source_map(source, &map, e));
    source->nbytes = nbytes;
    assert_int_equal(plans[MMAP].count, 0);
    assert_null(map);
    check_content(source);
    dlpark__source_release(source);
}

static void second_to_map_takes_the_map_of_the_first(void **state)
{
    dlpark__source *source = NULL;

    (void)state;
    assert_ok(dlpark__source_open(&source, path.text, false, e));
    race_for = source;
    check_content(source);
    assert_int_equal(plans[MMAP].count, 2);
    assert_int_equal(mapped_now, 1);
    dlpark__source_release(source);
}

/* ---- Memory ---- */

static int released;

static void count_release(void *owner)
{
    released++;
    assert_ptr_equal(owner, content);
}

static void memory_is_released_once(void **state)
{
    dlpark__source *source = NULL;
    unsigned char *map;

    (void)state;
    released = 0;
    assert_ok(dlpark__source_open_memory(&source, content, sizeof content, content, count_release, e));
    check_content(source);
    assert_ok(dlpark__source_map(source, &map, e));
    assert_ptr_equal(map, content);
    assert_string_equal(source->name.text, "<memory>");
    (void)dlpark__source_share(source);
    (void)dlpark__source_share(source);
    dlpark__source_release(source);
    dlpark__source_release(source);
    assert_int_equal(released, 0);
    dlpark__source_release(source);
    assert_int_equal(released, 1);
    source = NULL;
    assert_ok(dlpark__source_open_memory(&source, NULL, 0, NULL, NULL, e));
    assert_ok(dlpark__source_map(source, &map, e));
    assert_null(map);
    dlpark__source_release(source);
    assert_int_equal(mapped_now, 0);
}

#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FILE(file_is_read_and_mapped_once),
        WITH_FILE(reasons_have_their_status),
        WITH_FILE(open_is_asked_again_after_a_signal),
        WITH_FILE(places_that_are_no_files),
        WITH_FILE(no_memory_for_a_source),
        WITH_FILE(descriptor_is_duplicated_and_its_position_left_alone),
        WITH_FILE(names_are_cut_and_made_fit),
        WITH_FILE(pipes_are_read_to_their_end),
        WITH_FILE(pipes_that_break),
        WITH_FILE(files_of_procfs_are_read),
        cmocka_unit_test(a_device_without_an_end_is_refused),
        WITH_FILE(empty_file_has_no_bytes),
        WITH_FILE(reads_may_be_short_and_interrupted),
        WITH_FILE(file_that_was_cut_short_is_told),
        WITH_FILE(private_writes_stay_in_the_process),
        WITH_FILE(what_cannot_be_mapped_is_read),
        WITH_FILE(mapping_that_fails),
        WITH_FILE(second_to_map_takes_the_map_of_the_first),
        WITH_FILE(memory_is_released_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
