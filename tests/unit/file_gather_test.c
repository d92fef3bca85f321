#include "npy_file.h"

#include <errno.h>
#include <stdbool.h>

#include "failing_alloc.h"
#include "format.h"
#include "swap.h"

/* ---- Reads that fail, and what is read ---- */

ssize_t __real_pread(int descriptor, void *to, size_t nbytes, off_t offset);
ssize_t __wrap_pread(int descriptor, void *to, size_t nbytes, off_t offset);

static long reads, reads_until_failure; /* 0: none fails */
static size_t longest;

ssize_t __wrap_pread(int descriptor, void *to, size_t nbytes, off_t offset)
{
    reads++;
    longest = nbytes > longest ? nbytes : longest;
    if (reads_until_failure > 0 && --reads_until_failure == 0) {
        errno = EIO;
        return -1;
    }
    return __real_pread(descriptor, to, nbytes, offset);
}

/* ---- Arrays whose elements say where they belong ---- */

/* Element i of the file's order is i, in the file's byte order. */
static tensor_file array_of(bool is_big, const char *shape, int64_t numel)
{
    tensor_file made = npy_file_array(is_big ? ">u4" : "<u4", true, shape, (size_t)numel * 4);

    for (int64_t i = 0; i < numel; i++)
        for (int b = 0; b < 4; b++)
            made.bytes[made.data + (size_t)i * 4 + (size_t)(is_big ? 3 - b : b)] = (unsigned char)(i >> 8 * b);
    return made;
}

/* Where an element of row-major order is in column-major order. */
static int64_t column_place(const dlpark_file_entry *entry, int64_t at)
{
    int64_t place = 0, numel = 1;

    for (int32_t i = 0; i < entry->ndim; i++)
        numel *= entry->shape[i];
    for (int32_t i = entry->ndim - 1; i >= 0; i--) {
        numel /= entry->shape[i];
        place += at % entry->shape[i] * numel;
        at /= entry->shape[i];
    }
    return place;
}

static void check_range(const dlpark_file *file, int64_t first, int64_t count)
{
    dlpark_file_entry entry;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    assert_ok(dlpark_file_entry_get(file, 0, &entry, e));
    const dlpark_tensor_desc desc = {.dtype = DLPARK_U32, .ndim = 1, .shape = DLPARK_DIMS(&count)};
    assert_ok(dlpark_tensor_alloc(&tensor, &desc, &view, e));
    assert_ok(dlpark_file_read_range(file, 0, first, &view, e));
    const uint32_t *found = view.data;
    for (int64_t i = 0; i < count; i++)
        assert_int_equal(found[i], column_place(&entry, first + i));
    dlpark_tensor_release(&tensor);
}

static void every_range_of_small_arrays(void **state)
{
    static const struct {
        const char *shape;
        int64_t numel;
    } cases[] = {{"(2, 3)", 6}, {"(3, 1, 4)", 12}, {"(2, 3, 2, 2)", 24}, {"(1, 5, 2, 1)", 10}, {"(3, 3, 3)", 27}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int is_big = 0; is_big < 2; is_big++) {
            tensor_file made = array_of(is_big, cases[i].shape, cases[i].numel);
            dlpark_file *file = NULL;
            assert_ok(dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, NULL, e));
            for (int64_t first = 0; first <= cases[i].numel; first++)
                for (int64_t count = 0; count <= cases[i].numel - first; count++)
                    check_range(file, first, count);
            dlpark_file_release(&file);
            tensor_file_end(&made);
        }
}

/* Viewed, shared and loaded it is column-major, read it is not. */
static void all_ways_of_taking_agree(void **state)
{
    (void)state;
    for (int is_big = 0; is_big < 2; is_big++) {
        tensor_file made = array_of(is_big, "(2, 3, 4)", 24);
        dlpark_file *file = NULL;
        dlpark_file_entry entry;
        dlpark_tensor tensors[2] = {DLPARK_TENSOR_EMPTY, DLPARK_TENSOR_EMPTY};
        dlpark_view views[3];
        assert_ok(dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, NULL, e));
        assert_ok(dlpark_file_entry_get(file, 0, &entry, e));
        bool is_swapped = (entry.flags & DLPARK_FILE_SWAPPED) != 0;
        assert_int_equal(is_swapped, (is_big == 1) != DLPARK__IS_BIG_ENDIAN);
        assert_int_equal(entry.flags & DLPARK_FILE_COLUMN_MAJOR, DLPARK_FILE_COLUMN_MAJOR);
        assert_ok(dlpark_file_load(file, 0, &tensors[0], e));
        dlpark_tensor_view(&tensors[0], &views[0]);
        int nviews = 1;
        if (is_swapped) {
            assert_fails(DLPARK_E_UNSUPPORTED, "-endian, and this machine is not",
                         dlpark_file_view(file, 0, &views[1], e));
            assert_fails(DLPARK_E_UNSUPPORTED, "loaded, not mapped", dlpark_file_share(file, 0, &tensors[1], e));
        } else {
            assert_ok(dlpark_file_view(file, 0, &views[1], e));
            assert_ptr_equal(views[1].data, made.bytes + made.data);
            assert_ok(dlpark_file_share(file, 0, &tensors[1], e));
            dlpark_tensor_view(&tensors[1], &views[2]);
            nviews = 3;
        }
        for (int i = 0; i < nviews; i++) {
            assert_memory_equal(views[i].shape, ((int64_t[]){2, 3, 4}), 3 * sizeof(int64_t));
            assert_memory_equal(views[i].strides, ((int64_t[]){1, 2, 6}), 3 * sizeof(int64_t));
            for (uint32_t at = 0; at < 24; at++)
                assert_memory_equal((unsigned char *)views[i].data + at * 4, &at, 4);
        }
        dlpark_tensor_release(&tensors[0]);
        dlpark_tensor_release(&tensors[1]);
        const dlpark_tensor_desc desc = {.dtype = DLPARK_U32, .ndim = 3, .shape = DLPARK_DIMS(entry.shape)};
        assert_ok(dlpark_tensor_alloc(&tensors[0], &desc, &views[0], e));
        assert_ok(dlpark_file_read(file, 0, &views[0], e));
        for (int64_t at = 0; at < 24; at++)
            assert_int_equal(((uint32_t *)views[0].data)[at], column_place(&entry, at));
        dlpark_tensor_release(&tensors[0]);
        dlpark_file_release(&file);
        tensor_file_end(&made);
    }
}

/* ---- Larger than what is read whole ---- */

enum { ROWS = 1100, COLUMNS = 4000 }; /* of 4 bytes: more than 16 MiB */

static dlpark_file *open_large(tensor_file_path *path, const char *shape, int64_t numel)
{
    dlpark_file *file = NULL;
    tensor_file made = array_of(false, shape, numel);

    *path = tensor_file_save(&made);
    tensor_file_end(&made);
    assert_ok(dlpark_file_open(&file, path->text, NULL, e));
    reads = 0;
    longest = 0;
    return file;
}

static void a_large_array_is_read_in_tiles(void **state)
{
    tensor_file_path path;
    dlpark_file *file = open_large(&path, "(1100, 4000)", ROWS * COLUMNS);
    long live = failing_alloc_live();

    (void)state;
    check_range(file, 0, (int64_t)ROWS * COLUMNS); /* by as many columns as go into a tile */
    assert_int_equal(longest, 238 * ROWS * 4);
    assert_int_equal(reads, (COLUMNS + 237) / 238);
    reads = 0;
    check_range(file, COLUMNS + 17, 3 * COLUMNS); /* the ends of two rows, and two rows: with what is between them */
    assert_int_equal(reads, 17 + 17 + 1);
    assert_true(longest <= 1 << 20);
    reads = 0;
    check_range(file, (int64_t)ROWS * COLUMNS - 3, 3);
    check_range(file, 5, 0);
    assert_int_equal(reads, 1);
    assert_int_equal(failing_alloc_live(), live);
    dlpark_file_release(&file);
    tensor_file_drop(&path);
}

/* A first dimension that is itself more than a tile, and one between. */
static void tiles_of_other_shapes(void **state)
{
    tensor_file_path path;
    dlpark_file *file = open_large(&path, "(600000, 2, 4)", 4800000);

    (void)state;
    check_range(file, 0, 4800000);
    assert_int_equal(longest, 1 << 20);
    assert_int_equal(reads, 3 * 8);
    check_range(file, 12345, 54321);
    dlpark_file_release(&file);
    tensor_file_drop(&path);
    file = open_large(&path, "(2200, 2000)", 4400000); /* columns that are not near: of each a piece */
    check_range(file, 2000 + 17, 3 * 2000);
    assert_int_equal(reads, 2000 - 17 + 2000 + 17);
    assert_int_equal(longest, 2 * 4);
    dlpark_file_release(&file);
    tensor_file_drop(&path);
    file = open_large(&path, "(2, 3, 800000)", 4800000); /* many that are short */
    check_range(file, 800000 - 5, 800000 + 10);
    assert_int_equal(reads, 1 + 19 + 1);
    dlpark_file_release(&file);
    tensor_file_drop(&path);
    file = open_large(&path, "(4, 1, 300, 4000)", 4800000);
    check_range(file, 0, 4800000);
    check_range(file, 4799000, 1000);
    check_range(file, 1200000 + 4000, 4000);
    dlpark_file_release(&file);
    tensor_file_drop(&path);
}

/* ---- What goes wrong ---- */

/* All but the first element, which takes more than one read, or box. */
static dlpark_status read_nearly_all(const dlpark_file *file, uint32_t *to, int64_t numel, dlpark_error *err)
{
    int64_t count = numel - 1;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    const dlpark_tensor_desc desc = {.data = to, .dtype = DLPARK_U32, .ndim = 1, .shape = DLPARK_DIMS(&count)};

    assert_ok(dlpark_tensor_new(&tensor, &desc, &view, e));
    dlpark_status status = dlpark_file_read_range(file, 0, 1, &view, err);
    dlpark_tensor_release(&tensor);
    return status;
}

static void reads_that_fail(void **state)
{
    tensor_file_path path;
    uint32_t *to = malloc((size_t)ROWS * COLUMNS * 4);
    long live = failing_alloc_live();

    (void)state;
    assert_non_null(to);
    for (int is_large = 0; is_large < 2; is_large++) {
        int64_t numel = is_large ? ROWS * COLUMNS : 6;
        dlpark_file *file = open_large(&path, is_large ? "(1100, 4000)" : "(2, 3)", numel);
        long opened = failing_alloc_live();
        for (long nth = 1; nth <= (is_large ? 3 : 1); nth++) {
            reads_until_failure = nth;
            assert_int_equal(read_nearly_all(file, to, numel, NULL), DLPARK_E_IO);
            reads_until_failure = 0;
            assert_int_equal(failing_alloc_live(), opened);
        }
        assert_ok(read_nearly_all(file, to, numel, e));
        assert_int_equal(truncate(path.text, 80), 0);
        assert_fails(DLPARK_E_FORMAT, "another process cut it short", read_nearly_all(file, to, numel, e));
        dlpark_file_release(&file);
        tensor_file_drop(&path);
    }
    free(to);
    assert_int_equal(failing_alloc_live(), live - 1);
}

static void no_memory_is_told(void **state)
{
    tensor_file made = array_of(false, "(2, 3)", 6);
    dlpark_file *file = NULL;
    dlpark_error err = {.message = ""};
    uint32_t to[6];

    (void)state;
    assert_ok(dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, NULL, e));
    for (long nth = 1, asked = 1; asked >= nth; nth++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        dlpark_view view;
        const dlpark_tensor_desc desc = {
            .data = to, .dtype = DLPARK_U32, .ndim = 2, .shape = DLPARK_DIMS(((int64_t[]){2, 3}))};
        assert_ok(dlpark_tensor_new(&tensor, &desc, &view, e));
        failing_alloc_arm(nth);
        dlpark_status status = dlpark_file_read(file, 0, &view, &err);
        asked = failing_alloc_count();
        failing_alloc_arm(0);
        assert_int_equal(status, nth <= asked ? DLPARK_E_MEMORY : DLPARK_OK);
        if (status != DLPARK_OK)
            assert_string_equal(err.message, "<memory>: no memory for 24 bytes of tensor 'arr_0'");
        dlpark_tensor_release(&tensor);
    }
    dlpark_file_release(&file);
    tensor_file_end(&made);
}

/* ---- Compressed ---- */

static const unsigned char *unpacked; /* of the format below */

static dlpark_status read_unpacked(const dlpark_file *file, int64_t index, uint64_t begin, unsigned char *to,
                                   uint64_t nbytes, dlpark_error *err)
{
    (void)file;
    (void)err;
    assert_int_equal(index, 0);
    reads++;
    memcpy(to, unpacked + begin, (size_t)nbytes);
    return DLPARK_OK;
}

/* Read whole, whatever its size: nobody jumps about in a stream. */
static void compressed_is_read_once(void **state)
{
    tensor_file made = array_of(false, "(1100, 4000)", ROWS * COLUMNS);
    dlpark__format format = {.read_bytes = read_unpacked};
    dlpark_file *file = NULL;

    (void)state;
    assert_ok(dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, NULL, e));
    const dlpark__format *own = file->format;
    file->format = &format;
    file->index.entries[0].is_compressed = true;
    unpacked = made.bytes + made.data;
    reads = 0;
    check_range(file, 77, 12345);
    assert_int_equal(reads, 1);
    file->format = own;
    dlpark_file_release(&file);
    tensor_file_end(&made);
}

static dlpark_status fail_to_read(const dlpark_file *file, int64_t index, uint64_t begin, unsigned char *to,
                                  uint64_t nbytes, dlpark_error *err)
{
    (void)file;
    (void)index;
    (void)begin;
    (void)to;
    (void)nbytes;
    return dlpark_error_set(err, DLPARK_E_FORMAT, "the stream is broken");
}

/* What the format cannot unpack is its own to tell; and nothing of it is mapped. */
static void compressed_may_be_broken(void **state)
{
    tensor_file made = array_of(false, "(2, 3)", 6);
    dlpark__format format = {.read_bytes = fail_to_read};
    dlpark_file *file = NULL;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, NULL, e));
    file->format = &format;
    file->index.entries[0].is_compressed = true;
    assert_fails(DLPARK_E_FORMAT, "the stream is broken", dlpark_file_load(file, 0, &tensor, e));
    assert_fails(DLPARK_E_UNSUPPORTED, "tensor 'arr_0' is compressed: it can be loaded, not mapped",
                 dlpark_file_view(file, 0, &view, e));
    assert_fails(DLPARK_E_UNSUPPORTED, "can be loaded, not mapped", dlpark_file_share(file, 0, &tensor, e));
    assert_null(tensor.managed);
    dlpark_file_release(&file);
    tensor_file_end(&made);
}

/* ---- Ranges of any tensor ---- */

static dlpark_status read_range(const dlpark_file *file, int64_t index, int64_t first, int64_t count, DLDataType dtype,
                                void *to, dlpark_error *err)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    const dlpark_tensor_desc desc = {.data = to, .dtype = dtype, .ndim = 1, .shape = DLPARK_DIMS(&count)};

    assert_ok(dlpark_tensor_new(&tensor, &desc, &view, e));
    dlpark_status status = dlpark_file_read_range(file, index, first, &view, err);
    dlpark_tensor_release(&tensor);
    return status;
}

static void ranges_are_checked(void **state)
{
    tensor_file made = tensor_file_text("{'a':{'dtype':'U8','shape':[2,3],'data_offsets':[0,6]},"
                                        "'b':{'dtype':'F4','shape':[4],'data_offsets':[6,8]}}",
                                        8);
    const DLDataType four = DLPARK_DTYPE(kDLFloat4_e2m1fn, 4, 1);
    unsigned char to[8];
    dlpark_file *file = NULL;

    (void)state;
    assert_ok(dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, NULL, e));
    for (int64_t first = 0; first <= 6; first++)
        for (int64_t count = 0; count <= 6 - first; count++) {
            assert_ok(read_range(file, 0, first, count, DLPARK_U8, to, e));
            assert_memory_equal(to, made.bytes + made.data + first, (size_t)count);
        }
    assert_ok(read_range(file, 1, 2, 2, four, to, e));
    assert_int_equal(to[0], made.bytes[made.data + 7]);
    assert_fails(DLPARK_E_LAYOUT, "element 1 of tensor 'b' begins inside a byte",
                 read_range(file, 1, 1, 2, four, to, e));
    assert_fails(DLPARK_E_INDEX, "7 elements from 0 on: tensor 'a' has 6", read_range(file, 0, 0, 7, DLPARK_U8, to, e));
    assert_fails(DLPARK_E_INDEX, "1 elements from 6 on", read_range(file, 0, 6, 1, DLPARK_U8, to, e));
    assert_fails(DLPARK_E_INDEX, "0 elements from 7 on", read_range(file, 0, 7, 0, DLPARK_U8, to, e));
    assert_fails(DLPARK_E_INDEX, "1 elements from -1 on", read_range(file, 0, -1, 1, DLPARK_U8, to, e));
    assert_fails(DLPARK_E_DTYPE, "the destination is i8, tensor 'a' is u8",
                 read_range(file, 0, 0, 1, DLPARK_I8, to, e));
    assert_fails(DLPARK_E_INDEX, "has no tensor 2", read_range(file, 2, 0, 1, DLPARK_U8, to, e));
    dlpark_file_release(&file);
    tensor_file_end(&made);
}

/* One byte has no order, whatever a table says; and nothing is swapped of what is empty. */
static void orders_that_do_not_matter(void **state)
{
    static const dlpark__index_type other = {"x", {kDLInt, 8, 1}, !DLPARK__IS_BIG_ENDIAN};
    tensor_file made = npy_file_array("|i1", false, "(2,)", 2);
    dlpark_file *file = NULL;
    dlpark_file_entry entry;
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, NULL, e));
    file->index.entries[0].type = 0;
    file->index.types = &other;
    assert_ok(dlpark_file_entry_get(file, 0, &entry, e));
    assert_int_equal(entry.flags, 0);
    dlpark_file_release(&file);
    tensor_file_end(&made);
    made = npy_file_array(DLPARK__IS_BIG_ENDIAN ? "<i4" : ">i4", true, "(2, 0)", 0);
    assert_ok(dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, NULL, e));
    assert_ok(dlpark_file_entry_get(file, 0, &entry, e));
    assert_int_equal(entry.flags, DLPARK_FILE_SWAPPED);
    assert_ok(dlpark_file_view(file, 0, &view, e));
    dlpark_file_release(&file);
    tensor_file_end(&made);
}

/* Padding is of elements below a byte, and of elements; pairs are of a dimension. */
static void forms_that_do_not_matter(void **state)
{
    static const dlpark__index_type four = {"F4", {kDLFloat4_e2m1fn, 4, 1}, false};
    tensor_file made = npy_file_array("|u1", false, "()", 1);
    const dlpark_file_options pairs = {.float4 = DLPARK_FILE_FLOAT4_PAIRS};
    unsigned char to[1] = {0};
    int64_t none = 0;
    DLTensor tensor = {to, {kDLCPU, 0}, 0, DLPARK_U8, NULL, NULL, 0};
    dlpark_file *file = NULL;
    dlpark_file_entry entry;
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, &pairs, e));
    assert_ok(dlpark_check(&tensor, 0, &view, e));
    assert_ok(dlpark_view_allow_write(&view, e));
    view.flags |= DLPARK_VIEW_PADDED;
    assert_ok(dlpark_file_read(file, 0, &view, e));
    assert_int_equal(to[0], made.bytes[made.data]);
    file->index.entries[0].type = 0;
    file->index.types = &four;
    assert_ok(dlpark_file_entry_get(file, 0, &entry, e));
    assert_true(dlpark_dtype_equal(entry.dtype, four.dtype));
    tensor = (DLTensor){NULL, {kDLCPU, 0}, 1, four.dtype, &none, NULL, 0};
    assert_ok(dlpark_check(&tensor, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, &view, e));
    assert_ok(dlpark_view_allow_write(&view, e));
    assert_ok(dlpark_file_read_range(file, 0, 0, &view, e));
    dlpark_file_release(&file);
    tensor_file_end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_range_of_small_arrays),
        cmocka_unit_test(all_ways_of_taking_agree),
        cmocka_unit_test(a_large_array_is_read_in_tiles),
        cmocka_unit_test(tiles_of_other_shapes),
        cmocka_unit_test(reads_that_fail),
        cmocka_unit_test(no_memory_is_told),
        cmocka_unit_test(compressed_is_read_once),
        cmocka_unit_test(compressed_may_be_broken),
        cmocka_unit_test(ranges_are_checked),
        cmocka_unit_test(orders_that_do_not_matter),
        cmocka_unit_test(forms_that_do_not_matter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
