#include "tensor_file.h"

#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>

#include "failing_alloc.h"
#include "format.h"
#include "npz/npz_pack.h"
#include "runs_deflate.h"

/* ---- Calls that fail ---- */

enum { PWRITE, PREAD, FTRUNCATE, CALLS };

static int until_failure[CALLS]; /* 0: none fails */
static int failure;
static bool is_short;  /* what is read ends */
static bool no_thread; /* the system gives none */
static long processors = 2;

ssize_t __real_pwrite(int descriptor, const void *from, size_t nbytes, off_t offset);
ssize_t __real_pread(int descriptor, void *to, size_t nbytes, off_t offset);
int __real_ftruncate(int descriptor, off_t nbytes);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *kind, void *(*run)(void *), void *argument);
ssize_t __wrap_pwrite(int descriptor, const void *from, size_t nbytes, off_t offset);
ssize_t __wrap_pread(int descriptor, void *to, size_t nbytes, off_t offset);
int __wrap_ftruncate(int descriptor, off_t nbytes);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *kind, void *(*run)(void *), void *argument);

long __wrap_sysconf(int name);

/* Nothing else is asked for in these objects. */
long __wrap_sysconf(int name)
{
    (void)name;
    return processors;
}

static bool fails_now(int call)
{
    errno = failure;
    return until_failure[call] > 0 && --until_failure[call] == 0;
}

ssize_t __wrap_pwrite(int descriptor, const void *from, size_t nbytes, off_t offset)
{
    return fails_now(PWRITE) ? -1 : __real_pwrite(descriptor, from, nbytes, offset);
}

ssize_t __wrap_pread(int descriptor, void *to, size_t nbytes, off_t offset)
{
    if (fails_now(PREAD))
        return is_short ? 0 : -1;
    return __real_pread(descriptor, to, nbytes, offset);
}

int __wrap_ftruncate(int descriptor, off_t nbytes)
{
    return fails_now(FTRUNCATE) ? -1 : __real_ftruncate(descriptor, nbytes);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *kind, void *(*run)(void *), void *argument)
{
    return no_thread ? EAGAIN : __real_pthread_create(thread, kind, run, argument);
}

/* ---- Tensors ---- */

enum { NUMBERS = 3 << 19, SAME = 9 << 20, SMALL = 3 };

static uint64_t *numbers;   /* each one more than that before it */
static unsigned char *same; /* one byte all over */

static int fill(void **state)
{
    (void)state;
    numbers = malloc(NUMBERS * sizeof *numbers);
    same = malloc(SAME);
    assert_true(numbers != NULL && same != NULL);
    for (size_t i = 0; i < NUMBERS; i++)
        numbers[i] = i;
    memset(same, 7, SAME);
    return 0;
}

static int empty(void **state)
{
    (void)state;
    free(numbers);
    free(same);
    assert_int_equal(atomic_load(&runs_live), 0);
    return 0;
}

static dlpark_view view_of(void *data, DLDataType dtype, int64_t count)
{
    int64_t extent = count;
    DLTensor tensor = {data, {kDLCPU, 0}, 1, dtype, &extent, NULL, 0};
    dlpark_view view;

    assert_ok(dlpark_check(&tensor, 0, &view, e));
    return view;
}

static tensor_file_path new_path(void)
{
    tensor_file_path path = tensor_file_save_bytes("", 0);

    tensor_file_drop(&path);
    return path;
}

static const dlpark_file_write_options *packed(void)
{
    static dlpark_file_write_options options = {.format = DLPARK_FILE_NPZ};

    options.deflate = runs_deflate();
    return &options;
}

static size_t nbytes_of(const tensor_file_path *path)
{
    struct stat status;

    assert_int_equal(stat(path->text, &status), 0);
    return (size_t)status.st_size;
}

static void assert_tensors(const char *path, const dlpark_file_part *parts, size_t count)
{
    const dlpark_file_options options = {.inflate = runs_inflate()};
    dlpark_file *file = NULL;

    assert_ok(dlpark_file_open(&file, path, &options, e));
    assert_int_equal(dlpark_file_count(file), count);
    for (size_t i = 0; i < count; i++) {
        int64_t found = dlpark_file_find(file, parts[i].name, strlen(parts[i].name));
        dlpark_file_entry entry;
        dlpark_tensor loaded = DLPARK_TENSOR_EMPTY;
        dlpark_view view;
        assert_int_equal(found, i); /* the order of the parts */
        assert_ok(dlpark_file_entry_get(file, found, &entry, e));
        assert_int_equal(entry.flags, DLPARK_FILE_COMPRESSED);
        assert_ok(dlpark_file_load(file, found, &loaded, e));
        dlpark_tensor_view(&loaded, &view);
        assert_int_equal(dlpark_view_nbytes(&view), dlpark_view_nbytes(parts[i].view));
        if (entry.nbytes > 0)
            assert_memory_equal(view.data, parts[i].view->data, entry.nbytes);
        dlpark_tensor_release(&loaded);
    }
    dlpark_file_release(&file);
}

/* ---- What is packed ---- */

static void what_is_packed_is_read(void **state)
{
    dlpark_view views[] = {view_of(numbers, DLPARK_U64, SMALL), view_of(numbers, DLPARK_U64, NUMBERS),
                           view_of(numbers, DLPARK_U64, 0),     view_of(same, DLPARK_U8, SAME),
                           view_of(same, DLPARK_U8, SMALL),     view_of(numbers, DLPARK_U64, 20000)};
    const dlpark_file_part parts[] = {{.name = "small", .view = &views[0]},    {.name = "numbers", .view = &views[1]},
                                      {.name = "none", .view = &views[2]},     {.name = "same", .view = &views[3]},
                                      {.name = "\xC3\xA9", .view = &views[4]}, {.name = "blocks", .view = &views[5]}};

    (void)state;
    for (size_t count = 0; count <= 6; count++) {
        tensor_file_path path = new_path();
        runs_check_windows = count == 2;
        assert_ok(dlpark_file_save(path.text, parts, count, packed(), e));
        runs_check_windows = false;
        assert_tensors(path.text, parts, count);
        if (count == 4) /* the run is a thousandth, but for the piece that begins with the array's header */
            assert_in_range(nbytes_of(&path), NUMBERS * 8 + (512 << 10), NUMBERS * 8 + (512 << 10) + 30000);
        tensor_file_drop(&path);
    }
}

/* Nobody brings a last byte of theirs. */
static void tensors_without_bytes(void **state)
{
    dlpark_view view = view_of(numbers, DLPARK_U64, 0);
    const dlpark_file_part parts[] = {{.name = "a", .view = &view}, {.name = "b", .view = &view}};
    tensor_file_path path = new_path();

    (void)state;
    assert_ok(dlpark_file_save(path.text, parts, 2, packed(), e));
    assert_tensors(path.text, parts, 2);
    tensor_file_drop(&path);
}

/* In whatever order, by whatever thread, with however many of them: the file is one. */
typedef struct worker {
    dlpark_file_writer *writer;
    size_t first;
} worker;

static void *put_pieces(void *context)
{
    const worker *own = context;
    const size_t step = 999936;

    for (size_t at = own->first * step; at < NUMBERS * 8; at += 4 * step) {
        size_t some = NUMBERS * 8 - at < step ? NUMBERS * 8 - at : step;
        assert_ok(dlpark_file_writer_put_bytes(own->writer, 2, at, (const unsigned char *)numbers + at, some, e));
    }
    return NULL;
}

static void write_in_pieces(const char *path, const dlpark_file_part *parts, bool turns)
{
    dlpark_file_writer *writer = NULL;
    pthread_t threads[4];
    worker workers[4];

    assert_ok(dlpark_file_writer_open(&writer, path, parts, 4, packed(), e));
    if (turns)
        assert_ok(dlpark_file_writer_put(writer, 3, parts[3].view, e));
    for (size_t i = 0; i < 4; i++) {
        workers[i] = (worker){writer, 3 - i};
        if (no_thread)
            (void)put_pieces(&workers[i]);
        else
            assert_int_equal(__real_pthread_create(&threads[i], NULL, put_pieces, &workers[i]), 0);
    }
    assert_ok(dlpark_file_writer_put(writer, 1, parts[1].view, e));
    for (size_t i = 0; i < 4 && !no_thread; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_ok(dlpark_file_writer_put(writer, 0, parts[0].view, e));
    if (!turns)
        assert_ok(dlpark_file_writer_put(writer, 3, parts[3].view, e));
    assert_ok(dlpark_file_writer_finish(&writer, e));
}

static void assert_same_files(const tensor_file_path *one, const tensor_file_path *other)
{
    size_t nbytes = nbytes_of(one);
    const tensor_file_path *paths[] = {one, other};
    unsigned char *bytes[2];

    assert_int_equal(nbytes, nbytes_of(other));
    for (int i = 0; i < 2; i++) {
        FILE *stream = fopen(paths[i]->text, "rb");
        bytes[i] = malloc(nbytes);
        assert_true(stream != NULL && bytes[i] != NULL);
        assert_int_equal(fread(bytes[i], 1, nbytes, stream), nbytes);
        assert_int_equal(fclose(stream), 0);
    }
    assert_memory_equal(bytes[0], bytes[1], nbytes);
    free(bytes[0]);
    free(bytes[1]);
}

static void any_order_and_any_threads_make_one_file(void **state)
{
    dlpark_view views[] = {view_of(numbers, DLPARK_U64, SMALL), view_of(same, DLPARK_U8, SAME),
                           view_of(numbers, DLPARK_U64, NUMBERS), view_of(same, DLPARK_U8, SMALL)};
    const dlpark_file_part parts[] = {{.name = "small", .view = &views[0]},
                                      {.name = "same", .view = &views[1]},
                                      {.name = "numbers", .view = &views[2]},
                                      {.name = "last", .view = &views[3]}};
    tensor_file_path saved = new_path(), pieces = new_path();

    (void)state;
    assert_ok(dlpark_file_save(saved.text, parts, 4, packed(), e));
    assert_tensors(saved.text, parts, 4);
    for (int i = 0; i < 4; i++) {
        processors = i == 0 ? -1 : i == 1 ? 100 : 2;
        no_thread = i >= 2;
        write_in_pieces(pieces.text, parts, i % 2 == 0);
        no_thread = false;
        assert_same_files(&saved, &pieces);
    }
    tensor_file_drop(&saved);
    tensor_file_drop(&pieces);
}

/* As soon as there are enough of them, not when all are there: a member is packed by whoever brings its last byte. */
static void tensors_are_packed_on_the_way(void **state)
{
    dlpark_view view = view_of(same, DLPARK_U8, SAME);
    const dlpark_file_part parts[] = {{.name = "a", .view = &view}, {.name = "b", .view = &view}};
    tensor_file_path path = new_path();
    dlpark_file_writer *writer = NULL;

    (void)state;
    atomic_store(&runs_pieces, 0);
    assert_ok(dlpark_file_writer_open(&writer, path.text, parts, 2, packed(), e));
    assert_ok(dlpark_file_writer_put(writer, 1, &view, e));
    assert_int_equal(atomic_load(&runs_pieces), 0); /* that before it is missing */
    assert_ok(dlpark_file_writer_put(writer, 0, &view, e));
    assert_true(atomic_load(&runs_pieces) >= 32);
    assert_ok(dlpark_file_writer_finish(&writer, e));
    assert_int_equal(atomic_load(&runs_pieces), 38); /* 9 MiB and a header in pieces of half a MiB */
    assert_tensors(path.text, parts, 2);
    tensor_file_drop(&path);
}

/* And of a large one what came in its order, before the rest is there. */
static void the_beginning_of_a_tensor_is_packed(void **state)
{
    dlpark_view view = view_of(same, DLPARK_U8, SAME);
    const dlpark_file_part part = {.name = "a", .view = &view};
    tensor_file_path path = new_path();
    dlpark_file_writer *writer = NULL;
    const size_t step = 1 << 20;

    (void)state;
    atomic_store(&runs_pieces, 0);
    assert_ok(dlpark_file_writer_open(&writer, path.text, &part, 1, packed(), e));
    assert_ok(dlpark_file_writer_put_bytes(writer, 0, 8 * step, same, SAME - 8 * step, e));
    for (size_t i = 0; i < 7; i++)
        assert_ok(dlpark_file_writer_put_bytes(writer, 0, i * step, same, step, e));
    assert_int_equal(atomic_load(&runs_pieces), 0);
    assert_ok(dlpark_file_writer_put_bytes(writer, 0, 7 * step, same, step / 2, e));
    assert_int_equal(atomic_load(&runs_pieces), 0); /* less than a round */
    assert_ok(dlpark_file_writer_put_bytes(writer, 0, 7 * step + step / 2, same, step / 2, e));
    assert_int_equal(atomic_load(&runs_pieces), 16);
    assert_ok(dlpark_file_writer_finish(&writer, e));
    assert_int_equal(atomic_load(&runs_pieces), 19);
    assert_tensors(path.text, &part, 1);
    tensor_file_drop(&path);
}

/* A round that would have room for a piece of which the end is missing. */
static void what_is_begun_is_not_packed_to_its_end(void **state)
{
    dlpark_view views[] = {view_of(same, DLPARK_U8, 1000), view_of(same, DLPARK_U8, SAME)};
    const dlpark_file_part parts[] = {{.name = "a", .view = &views[0]}, {.name = "b", .view = &views[1]}};
    tensor_file_path path = new_path();
    dlpark_file_writer *writer = NULL;
    const size_t first = (8 << 20) - 500;

    (void)state;
    atomic_store(&runs_pieces, 0);
    assert_ok(dlpark_file_writer_open(&writer, path.text, parts, 2, packed(), e));
    assert_ok(dlpark_file_writer_put(writer, 0, &views[0], e));
    assert_ok(dlpark_file_writer_put_bytes(writer, 1, 0, same, first, e));
    assert_int_equal(atomic_load(&runs_pieces), 16);
    assert_ok(dlpark_file_writer_put_bytes(writer, 1, first, same, SAME - first, e));
    assert_ok(dlpark_file_writer_finish(&writer, e));
    assert_tensors(path.text, parts, 2);
    tensor_file_drop(&path);
}

/* A writer that is put to while it packs, as by another thread. */
static dlpark_file_writer *busy;

static size_t busy_piece(void *own, const unsigned char *from, size_t from_nbytes, size_t window_nbytes, bool is_last,
                         unsigned char *to, size_t to_nbytes)
{
    if (busy != NULL)
        assert_ok(dlpark_file_writer_put_bytes(busy, 1, 0, same, SMALL, e));
    busy = NULL;
    return runs_piece(own, from, from_nbytes, window_nbytes, is_last, to, to_nbytes);
}

static void who_puts_does_not_wait_for_who_packs(void **state)
{
    const dlpark_deflate deflate = {runs_begin, busy_piece, runs_end, NULL};
    const dlpark_file_write_options options = {.format = DLPARK_FILE_NPZ, .deflate = &deflate};
    dlpark_view views[] = {view_of(same, DLPARK_U8, SAME), view_of(same, DLPARK_U8, SMALL)};
    const dlpark_file_part parts[] = {{.name = "a", .view = &views[0]}, {.name = "b", .view = &views[1]}};
    tensor_file_path path = new_path();
    dlpark_file_writer *writer = NULL;

    (void)state;
    processors = 1;
    assert_ok(dlpark_file_writer_open(&writer, path.text, parts, 2, &options, e));
    busy = writer;
    assert_ok(dlpark_file_writer_put(writer, 0, &views[0], e));
    assert_null(busy);
    assert_ok(dlpark_file_writer_finish(&writer, e));
    assert_tensors(path.text, parts, 2);
    tensor_file_drop(&path);
    processors = 2;
}

/* More pieces than a round has. */
static void many_small_members(void **state)
{
    enum { COUNT = 2500 };
    dlpark_view view = view_of(numbers, DLPARK_U64, SMALL);
    dlpark_file_part *parts = calloc(COUNT, sizeof *parts);
    char(*names)[8] = calloc(COUNT, sizeof *names);
    tensor_file_path path = new_path();

    (void)state;
    assert_true(parts != NULL && names != NULL);
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof names[i], "%zu", i);
        parts[i] = (dlpark_file_part){.name = names[i], .view = &view};
    }
    assert_ok(dlpark_file_save(path.text, parts, COUNT, packed(), e));
    assert_tensors(path.text, parts, COUNT);
    tensor_file_drop(&path);
    free(parts);
    free(names);
}

/* ---- What is refused, and what fails ---- */

static void what_is_refused(void **state)
{
    dlpark_view view = view_of(numbers, DLPARK_U64, SMALL);
    const dlpark_file_part part = {.name = "a", .view = &view};
    tensor_file_path path = new_path();
    dlpark_file_write_options options = *packed();

    (void)state;
    options.alignment_bytes = 64;
    assert_fails(DLPARK_E_ARGUMENT, "alignment_bytes is 64, and what is deflated has none",
                 dlpark_file_save(path.text, &part, 1, &options, e));
    options.alignment_bytes = 0;
    options.format = DLPARK_FILE_SAFETENSORS;
    assert_fails(DLPARK_E_UNSUPPORTED, "safetensors files are not deflated, npz files are",
                 dlpark_file_save(path.text, &part, 1, &options, e));
    assert_int_equal(access(path.text, F_OK), -1);
}

static dlpark_status save_two(const char *path, const dlpark_file_part *parts, dlpark_error *err)
{
    return dlpark_file_save(path, parts, 2, packed(), err);
}

/* One way to fail after the other, until nothing is left to fail: there is no file, and nothing is held. */
static void assert_all_fail(int call, const dlpark_file_part *parts, dlpark_status expected, int least)
{
    const long live = failing_alloc_live();
    bool is_done = false;
    int n = 0;

    while (!is_done) {
        tensor_file_path path = new_path();
        dlpark_error err;
        n++;
        if (call < CALLS)
            until_failure[call] = n;
        failing_alloc_arm(call < CALLS ? 0 : n);
        dlpark_status status = save_two(path.text, parts, &err);
        is_done = call < CALLS ? until_failure[call] > 0 : failing_alloc_count() < n;
        failing_alloc_arm(0);
        if (call < CALLS)
            until_failure[call] = 0;
        assert_int_equal(failing_alloc_live(), live);
        assert_int_equal(atomic_load(&runs_live), 0);
        assert_int_equal(access(path.text, F_OK), is_done ? 0 : -1);
        assert_int_equal(status, is_done ? DLPARK_OK : expected);
        if (is_done)
            tensor_file_drop(&path);
    }
    assert_true(n > least);
}

static void everything_fails_in_turn(void **state)
{
    dlpark_view views[] = {view_of(numbers, DLPARK_U64, SMALL), view_of(same, DLPARK_U8, SAME)};
    const dlpark_file_part parts[] = {{.name = "a", .view = &views[0]}, {.name = "b", .view = &views[1]}};
    const dlpark_file_part small[] = {{.name = "a", .view = &views[0]}, {.name = "b", .view = &views[0]}};

    (void)state;
    failure = ENOSPC;
    assert_all_fail(CALLS, small, DLPARK_E_MEMORY, 10);
    no_thread = true; /* whose memory is the system's own */
    assert_all_fail(CALLS, parts, DLPARK_E_MEMORY, 10);
    no_thread = false;
    assert_all_fail(PWRITE, parts, DLPARK_E_IO, 24); /* two tensors, 20 pieces, two headers, the directory */
    assert_all_fail(FTRUNCATE, parts, DLPARK_E_IO, 2);
    failure = EIO;
    assert_all_fail(PREAD, parts, DLPARK_E_IO, 19);
    is_short = true;
    assert_all_fail(PREAD, parts, DLPARK_E_IO, 19);
    is_short = false;
}

/* What failed on the way stays so. */
static void a_writer_that_failed_makes_no_file(void **state)
{
    dlpark_view view = view_of(same, DLPARK_U8, SAME);
    const dlpark_file_part parts[] = {{.name = "a", .view = &view}, {.name = "b", .view = &view}};
    tensor_file_path path = new_path();
    dlpark_file_writer *writer = NULL;
    dlpark_error err;

    (void)state;
    failure = EIO;
    assert_ok(dlpark_file_writer_open(&writer, path.text, parts, 2, packed(), e));
    until_failure[PREAD] = 3;
    assert_int_equal(dlpark_file_writer_put(writer, 0, &view, &err), DLPARK_E_IO);
    assert_non_null(strstr(err.message, "Input/output"));
    assert_int_equal(dlpark_file_writer_put(writer, 1, &view, &err), DLPARK_E_IO);
    assert_non_null(strstr(err.message, "could not be deflated before"));
    until_failure[PREAD] = 0;
    dlpark_file_writer_release(&writer);
    assert_ok(dlpark_file_writer_open(&writer, path.text, parts, 2, packed(), e));
    until_failure[PREAD] = 3;
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(dlpark_file_writer_put(writer, i, &view, NULL), DLPARK_E_IO);
    assert_int_equal(dlpark_file_writer_finish(&writer, &err), DLPARK_E_IO);
    assert_non_null(strstr(err.message, "could not be deflated before"));
    assert_int_equal(access(path.text, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_packed_is_read),
        cmocka_unit_test(tensors_without_bytes),
        cmocka_unit_test(any_order_and_any_threads_make_one_file),
        cmocka_unit_test(tensors_are_packed_on_the_way),
        cmocka_unit_test(the_beginning_of_a_tensor_is_packed),
        cmocka_unit_test(what_is_begun_is_not_packed_to_its_end),
        cmocka_unit_test(who_puts_does_not_wait_for_who_packs),
        cmocka_unit_test(many_small_members),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(everything_fails_in_turn),
        cmocka_unit_test(a_writer_that_failed_makes_no_file),
    };

    return cmocka_run_group_tests(tests, fill, empty);
}
