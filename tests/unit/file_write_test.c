#include "tensor_file.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

#include <dlpark/file_write.h>

#include "failing_alloc.h"

/* ---- A write that fails when it is told to ---- */

static long fail_from; /* this write and all behind it, counted from 1; 0: none */
static long writes;

ssize_t __real_pwrite(int descriptor, const void *from, size_t nbytes, off_t offset);
ssize_t __wrap_pwrite(int descriptor, const void *from, size_t nbytes, off_t offset);

ssize_t __wrap_pwrite(int descriptor, const void *from, size_t nbytes, off_t offset)
{
    long now = __atomic_add_fetch(&writes, 1, __ATOMIC_RELAXED);

    if (fail_from != 0 && now >= fail_from) {
        errno = ENOSPC;
        return -1;
    }
    return __real_pwrite(descriptor, from, nbytes, offset);
}

static void fail_writes_from(long nth)
{
    fail_from = nth;
    writes = 0;
}

static bool little_endian(void)
{
    const uint16_t one = 1;

    return *(const unsigned char *)&one == 1;
}

/* ---- Tensors to write ---- */

typedef struct written {
    dlpark_tensor tensor;
    dlpark_view view;
} written;

/* Elements that can be told apart by their bytes. */
static written make(DLDataType dtype, int32_t ndim, const int64_t *shape)
{
    written made = {DLPARK_TENSOR_EMPTY, {0}};
    int64_t nbytes;

    assert_ok(dlpark_tensor_alloc(
        &made.tensor, &(dlpark_tensor_desc){.dtype = dtype, .ndim = ndim, .shape = DLPARK_DIMS(shape)}, &made.view, e));
    unsigned char *bytes = dlpark_view_bytes_mut(&made.view, &nbytes, NULL);
    for (int64_t i = 0; i < nbytes; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 251);
    return made;
}

static tensor_file_path somewhere(void)
{
    return tensor_file_save_bytes("old", 3);
}

/* Whether the file's only tensor is what the view is. Loaded, as big-endian machines cannot map it. */
static void assert_written(const char *path, const dlpark_view *view)
{
    dlpark_file *file = NULL;
    dlpark_tensor loaded = DLPARK_TENSOR_EMPTY;
    dlpark_view read;
    bool is_equal = false;

    assert_ok(dlpark_file_open(&file, path, NULL, e));
    assert_int_equal(dlpark_file_count(file), 1);
    assert_ok(dlpark_file_load(file, 0, &loaded, e));
    dlpark_tensor_view(&loaded, &read);
    assert_ok(dlpark_equal(&read, view, &is_equal, NULL, e));
    assert_true(is_equal);
    dlpark_tensor_release(&loaded);
    dlpark_file_release(&file);
}

static void assert_saves(const dlpark_view *view)
{
    tensor_file_path path = somewhere();
    const dlpark_file_part part = {.name = "x", .view = view};

    assert_ok(dlpark_file_save(path.text, &part, 1, NULL, e));
    assert_written(path.text, view);
    tensor_file_drop(&path);
}

static void assert_old(const tensor_file_path *path)
{
    char content[8] = "";
    FILE *file = fopen(path->text, "rb");

    assert_non_null(file);
    content[fread(content, 1, 7, file)] = '\0';
    fclose(file);
    assert_string_equal(content, "old");
}

/* ---- Tests ---- */

/* Small and large against the tile, which is a mebibyte: rows that fit, rows that do not, many short ones. */
static void views_of_any_strides_are_written(void **state)
{
    (void)state;
    static const struct {
        DLDataType dtype;
        int64_t shape[3];
    } cases[] = {
        {{kDLFloat, 32, 1}, {2, 3, 4}},        {{kDLUInt, 8, 1}, {3, 2097153, 1}},
        {{kDLInt, 64, 1}, {1, 2, 150001}},     {{kDLInt, 16, 1}, {200003, 3, 1}},
        {{kDLComplex, 64, 1}, {5, 1, 7}},      {{kDLFloat4_e2m1fn, 4, 1}, {4, 6, 2}},
        {{kDLFloat6_e2m3fn, 6, 1}, {4, 4, 4}}, {{kDLBool, 8, 1}, {0, 4, 4}},
        {{kDLInt, 16, 1}, {3, 524288, 1}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        written made = make(cases[i].dtype, 3, cases[i].shape);
        dlpark_view view;
        assert_saves(&made.view);
        dlpark_view_copy(&view, &made.view);
        assert_ok(dlpark_view_permute(&view, 3, (int[]){2, 0, 1}, e));
        assert_saves(&view);
        dlpark_view_copy(&view, &made.view);
        assert_ok(dlpark_view_flip(&view, 0, e));
        if (cases[i].dtype.bits >= 8)
            assert_ok(dlpark_view_flip(&view, 1, e));
        assert_saves(&view);
        dlpark_view_copy(&view, &made.view);
        assert_ok(dlpark_view_slice(&view, 0, DLPARK_NONE, DLPARK_NONE, 2, e));
        assert_saves(&view);
        dlpark_tensor_release(&made.tensor);
    }
}

/* Rows of half a byte more than whole ones: packed all at once. */
static void packed_rows_that_end_within_a_byte(void **state)
{
    (void)state;
    written made = make((DLDataType){kDLFloat4_e2m1fn, 4, 1}, 2, (int64_t[]){6, 4});

    assert_ok(dlpark_view_slice(&made.view, 1, 0, 3, 1, e));
    assert_saves(&made.view);
    dlpark_tensor_release(&made.tensor);
}

static void padded_elements_are_packed(void **state)
{
    (void)state;
    unsigned char bytes[] = {1, 2, 3, 4};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    assert_ok(dlpark_tensor_new(&tensor,
                                &(dlpark_tensor_desc){.data = bytes,
                                                      .dtype = {kDLFloat4_e2m1fn, 4, 1},
                                                      .ndim = 1,
                                                      .shape = DLPARK_DIMS((int64_t[]){4}),
                                                      .flags = DLPARK_TENSOR_PADDED},
                                &view, e));
    assert_saves(&view);
    dlpark_tensor_release(&tensor);
}

static const int64_t seven[] = {7}, two_by_three[] = {2, 3}, three_by_two[] = {3, 2};

static dlpark_file_writer *begin(const char *path, dlpark_error *err)
{
    const dlpark_file_part parts[] = {{.name = "a", .dtype = DLPARK_I16, .ndim = 2, .shape = two_by_three},
                                      {.name = "b", .dtype = DLPARK_U8, .ndim = 1, .shape = seven}};
    dlpark_file_writer *writer = NULL;

    if (dlpark_file_writer_open(&writer, path, parts, 2, NULL, err) != DLPARK_OK)
        assert_null(writer);
    return writer;
}

static void tensors_come_in_any_order_and_pieces(void **state)
{
    (void)state;
    tensor_file_path path = somewhere();
    dlpark_file_writer *writer = begin(path.text, NULL);
    written a = make(DLPARK_I16, 2, two_by_three);
    dlpark_file *file = NULL;
    dlpark_view view;

    assert_ok(dlpark_file_writer_put_bytes(writer, 1, 4, "efg", 3, e));
    assert_ok(dlpark_file_writer_put_bytes(writer, 1, 0, "abcd", 4, e));
    assert_ok(dlpark_file_writer_put_bytes(writer, 1, 7, "", 0, e));
    assert_old(&path);
    assert_ok(dlpark_file_writer_put(writer, 0, &a.view, e));
    assert_ok(dlpark_file_writer_finish(&writer, e));
    assert_null(writer);
    assert_ok(dlpark_file_open(&file, path.text, NULL, e));
    assert_ok(dlpark_file_view(file, dlpark_file_find(file, "b", 1), &view, e));
    assert_memory_equal(view.data, "abcdefg", 7);
    dlpark_file_release(&file);
    dlpark_tensor_release(&a.tensor);
    tensor_file_drop(&path);
}

/* Whole elements, of any strides; sub-byte ones from one byte to another. */
static void ranges_of_elements_are_written(void **state)
{
    (void)state;
    const DLDataType f4 = {kDLFloat4_e2m1fn, 4, 1};
    const int64_t shape[] = {2, 6};
    tensor_file_path path = somewhere();
    written whole = make(f4, 2, shape), wide = make(DLPARK_I16, 1, (int64_t[]){12});
    const dlpark_file_part part = {.name = "x", .dtype = f4, .ndim = 2, .shape = shape};
    dlpark_file_writer *writer = NULL;
    dlpark_view piece;

    assert_ok(dlpark_file_writer_open(&writer, path.text, &part, 1, NULL, e));
    dlpark_view_copy(&piece, &whole.view);
    assert_ok(dlpark_view_index(&piece, 0, 1, e));
    assert_ok(dlpark_file_writer_put_range(writer, 0, 6, &piece, e));
    dlpark_view_copy(&piece, &whole.view);
    assert_ok(dlpark_view_index(&piece, 0, 0, e));
    assert_fails(DLPARK_E_INDEX, "6 elements from 8 on: tensor 'x' has 12",
                 dlpark_file_writer_put_range(writer, 0, 8, &piece, e));
    assert_fails(DLPARK_E_INDEX, "6 elements from 13 on", dlpark_file_writer_put_range(writer, 0, 13, &piece, e));
    assert_fails(DLPARK_E_INDEX, "from -1 on", dlpark_file_writer_put_range(writer, 0, -1, &piece, e));
    assert_fails(DLPARK_E_INDEX, "there is no tensor 1", dlpark_file_writer_put_range(writer, 1, 0, &piece, e));
    assert_fails(DLPARK_E_DTYPE, "declared as", dlpark_file_writer_put_range(writer, 0, 0, &wide.view, e));
    assert_fails(DLPARK_E_LAYOUT, "elements 1 to 7 of tensor 'x' are not whole bytes",
                 dlpark_file_writer_put_range(writer, 0, 1, &piece, e));
    assert_ok(dlpark_view_slice(&piece, 0, 0, 5, 1, e));
    assert_fails(DLPARK_E_LAYOUT, "elements 0 to 5 of tensor 'x' are not whole bytes",
                 dlpark_file_writer_put_range(writer, 0, 0, &piece, e));
    assert_ok(dlpark_view_slice(&piece, 0, 0, 4, 1, e));
    assert_ok(dlpark_file_writer_put_range(writer, 0, 0, &piece, e));
    dlpark_view_copy(&piece, &whole.view);
    assert_ok(dlpark_view_index(&piece, 0, 0, e));
    assert_ok(dlpark_view_slice(&piece, 0, 4, 6, 1, e));
    assert_ok(dlpark_file_writer_put_range(writer, 0, 4, &piece, e));
    assert_ok(dlpark_file_writer_finish(&writer, e));
    assert_written(path.text, &whole.view);
    dlpark_tensor_release(&whole.tensor);
    dlpark_tensor_release(&wide.tensor);
    tensor_file_drop(&path);
}

static void what_lacks_bytes_is_no_file(void **state)
{
    (void)state;
    tensor_file_path path = somewhere();
    dlpark_file_writer *writer = begin(path.text, NULL);
    dlpark_error err;

    assert_ok(dlpark_file_writer_put_bytes(writer, 0, 0, "123456789012", 12, e));
    assert_ok(dlpark_file_writer_put_bytes(writer, 1, 0, "abc", 3, e));
    assert_int_equal(dlpark_file_writer_finish(&writer, &err), DLPARK_E_ARGUMENT);
    assert_string_equal(err.message, "tensor 'b' was given 3 of its 7 bytes");
    assert_null(writer);
    assert_old(&path);
    writer = begin(path.text, NULL);
    dlpark_file_writer_release(&writer);
    dlpark_file_writer_release(&writer);
    dlpark_file_writer_release(NULL);
    assert_old(&path);
    tensor_file_drop(&path);
}

static void what_was_not_declared_is_refused(void **state)
{
    (void)state;
    tensor_file_path path = somewhere();
    dlpark_file_writer *writer = begin(path.text, NULL), *full = writer;
    written a = make(DLPARK_I16, 1, seven), b = make(DLPARK_I8, 1, seven), turned = make(DLPARK_I16, 2, three_by_two);
    const dlpark_file_part part = {.name = "x", .view = &a.view}, blind = {.name = "x", .dtype = DLPARK_U8};
    dlpark_view elsewhere;

    dlpark_view_copy(&elsewhere, &b.view);
    elsewhere.dtype = DLPARK_U8;
    elsewhere.device = (DLDevice){kDLCUDA, 1};
    assert_fails(DLPARK_E_INDEX, "there is no tensor 2, 2 were declared",
                 dlpark_file_writer_put(writer, 2, &a.view, e));
    assert_fails(DLPARK_E_SHAPE, "tensor 'a' was declared as [2, 3], and is [7]",
                 dlpark_file_writer_put(writer, 0, &a.view, e));
    assert_fails(DLPARK_E_SHAPE, "tensor 'a' was declared as [2, 3], and is [3, 2]",
                 dlpark_file_writer_put(writer, 0, &turned.view, e));
    assert_fails(DLPARK_E_DTYPE, "tensor 'b' was declared as uint8, and is int8",
                 dlpark_file_writer_put(writer, 1, &b.view, e));
    assert_fails(DLPARK_E_DEVICE, "tensor 'b' is on cuda:1", dlpark_file_writer_put(writer, 1, &elsewhere, e));
    assert_fails(DLPARK_E_INDEX, "there is no tensor 9", dlpark_file_writer_put_bytes(writer, 9, 0, "", 0, e));
    assert_fails(DLPARK_E_ARGUMENT, "bytes 5 to 8 of tensor 'b': it has 7",
                 dlpark_file_writer_put_bytes(writer, 1, 5, "abc", 3, e));
    assert_fails(DLPARK_E_ARGUMENT, "it has 7", dlpark_file_writer_put_bytes(writer, 1, UINT64_MAX, "abc", 3, e));
    assert_fails(DLPARK_E_NOT_EMPTY, "holds one already", dlpark_file_writer_open(&full, path.text, &part, 1, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "tensor 'x' has no view", dlpark_file_save(path.text, &blind, 1, NULL, e));
    dlpark_file_writer_release(&writer);
    dlpark_tensor_release(&a.tensor);
    dlpark_tensor_release(&b.tensor);
    dlpark_tensor_release(&turned.tensor);
    assert_old(&path);
    tensor_file_drop(&path);
}

static void options_are_checked(void **state)
{
    (void)state;
    static const size_t alignments[] = {3, 8192, SIZE_MAX};
    tensor_file_path path = somewhere();

    for (size_t i = 0; i < 3; i++)
        assert_fails(
            DLPARK_E_ARGUMENT, "expected 0 or a power of two up to 4096",
            dlpark_file_save(path.text, NULL, 0, &(dlpark_file_write_options){.alignment_bytes = alignments[i]}, e));
    assert_fails(
        DLPARK_E_ARGUMENT, "files of format 77 cannot be written",
        dlpark_file_save(path.text, NULL, 0, &(dlpark_file_write_options){.format = (dlpark_file_format)77}, e));
    assert_old(&path);
    assert_ok(
        dlpark_file_save(path.text, NULL, 0, &(dlpark_file_write_options){.alignment_bytes = 64, .sync = true}, e));
    tensor_file_drop(&path);
}

/* Every write from the n-th on fails: for each n there is. */
static void a_full_disk_leaves_the_old_file(void **state)
{
    (void)state;
    tensor_file_path path = somewhere();
    written made = make(DLPARK_F32, 2, (int64_t[]){600, 1000});
    dlpark_view view;
    long nth = 1;

    dlpark_view_copy(&view, &made.view);
    assert_ok(dlpark_view_flip(&view, 1, e));
    const dlpark_file_part parts[] = {{.name = "x", .view = &view}, {.name = "y", .view = &made.view}};
    for (;; nth++) {
        dlpark_error err;
        fail_writes_from(nth);
        dlpark_status status = dlpark_file_save(path.text, parts, 2, NULL, &err);
        fail_writes_from(0);
        if (status == DLPARK_OK)
            break;
        assert_int_equal(status, DLPARK_E_IO);
        assert_non_null(strstr(err.message, "No space left on device"));
        assert_old(&path);
    }
    /* The header, three tiles, the compact one, in tiles too where its bytes are turned around; and then none. */
    assert_int_equal(nth, 1 + 3 + (little_endian() ? 1 : 3) + 1);
    dlpark_tensor_release(&made.tensor);
    tensor_file_drop(&path);
}

static void without_memory_nothing_is_held(void **state)
{
    (void)state;
    tensor_file_path path = somewhere();
    written made = make(DLPARK_F32, 2, two_by_three);
    const dlpark_file_part part = {.name = "x", .view = &made.view};
    long live = failing_alloc_live();

    assert_ok(dlpark_view_flip(&made.view, 1, e));
    for (long nth = 1;; nth++) {
        failing_alloc_arm(nth);
        dlpark_status status = dlpark_file_save(path.text, &part, 1, NULL, NULL);
        failing_alloc_arm(0);
        assert_int_equal(failing_alloc_live(), live);
        if (status == DLPARK_OK)
            break;
        assert_int_equal(status, DLPARK_E_MEMORY);
        assert_old(&path);
        assert_true(nth < 40);
    }
    assert_written(path.text, &made.view);
    dlpark_tensor_release(&made.tensor);
    tensor_file_drop(&path);
}

/* ---- Threads ---- */

enum { THREADS = 4, ROWS = 64 };

static dlpark_file_writer *shared;

static void *fill(void *argument)
{
    uintptr_t number = (uintptr_t)argument;

    for (uint64_t row = number; row < ROWS; row += THREADS) {
        unsigned char bytes[16];
        memset(bytes, (int)row, sizeof bytes);
        if (dlpark_file_writer_put_bytes(shared, 0, row * sizeof bytes, bytes, sizeof bytes, NULL) != DLPARK_OK)
            return &shared;
    }
    return NULL;
}

static void threads_fill_one_file(void **state)
{
    (void)state;
    const int64_t shape[] = {ROWS, 16};
    const dlpark_file_part part = {.name = "x", .dtype = DLPARK_U8, .ndim = 2, .shape = shape};
    tensor_file_path path = somewhere();
    pthread_t threads[THREADS];
    dlpark_file *file = NULL;
    dlpark_view view;

    shared = NULL;
    assert_ok(dlpark_file_writer_open(&shared, path.text, &part, 1, NULL, e));
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, fill, (void *)i), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed = &threads;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    assert_ok(dlpark_file_writer_finish(&shared, e));
    assert_ok(dlpark_file_open(&file, path.text, NULL, e));
    assert_ok(dlpark_file_view(file, 0, &view, e));
    for (int i = 0; i < ROWS * 16; i++)
        assert_int_equal(((unsigned char *)view.data)[i], i / 16);
    dlpark_file_release(&file);
    tensor_file_drop(&path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_of_any_strides_are_written),
        cmocka_unit_test(packed_rows_that_end_within_a_byte),
        cmocka_unit_test(padded_elements_are_packed),
        cmocka_unit_test(tensors_come_in_any_order_and_pieces),
        cmocka_unit_test(ranges_of_elements_are_written),
        cmocka_unit_test(what_lacks_bytes_is_no_file),
        cmocka_unit_test(what_was_not_declared_is_refused),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(a_full_disk_leaves_the_old_file),
        cmocka_unit_test(without_memory_nothing_is_held),
        cmocka_unit_test(threads_fill_one_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
