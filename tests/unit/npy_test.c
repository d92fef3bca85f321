#include "npy_file.h"

#include <stdbool.h>

#include <dlpark/file_write.h>

#include "failing_alloc.h"
#include "failing_read.h"
#include "format.h"

/* ---- What must be true of every file that opens ---- */

static dlpark_status open_bytes(dlpark_file **file, const unsigned char *bytes, size_t nbytes, dlpark_error *err)
{
    return dlpark_file_open_memory(file, bytes, nbytes, NULL, NULL, NULL, err);
}

/* One tensor, whose bytes are within the file, and which can be loaded. */
static void check_invariants(const dlpark_file *file, size_t nbytes)
{
    dlpark_file_entry entry;
    dlpark_tensor loaded = DLPARK_TENSOR_EMPTY;

    assert_int_equal(dlpark_file_format_of(file), DLPARK_FILE_NPY);
    assert_int_equal(dlpark_file_count(file), 1);
    assert_int_equal(dlpark_file_metadata_count(file), 0);
    assert_int_equal(dlpark_file_find(file, "arr_0", 5), 0);
    assert_int_equal(dlpark_file_find(file, "arr_1", 5), -1);
    assert_ok(dlpark_file_entry_get(file, 0, &entry, e));
    assert_true(entry.offset >= 10 && entry.offset <= nbytes && entry.nbytes <= nbytes - entry.offset);
    uint64_t product = entry.dtype.bits / 8;
    for (int32_t i = 0; i < entry.ndim; i++)
        product *= (uint64_t)entry.shape[i];
    assert_int_equal(product, entry.nbytes);
    assert_ok(dlpark_file_load(file, 0, &loaded, e));
    dlpark_tensor_release(&loaded);
}

/* ---- The cases that NumPy was asked about ---- */

/* "<f4 [2, 3] F", with F for column-major. */
static void describe(const dlpark_file *file, char *text, size_t nbytes)
{
    dlpark_file_entry entry;

    assert_ok(dlpark_file_entry_get(file, 0, &entry, e));
    size_t used = (size_t)snprintf(text, nbytes, "%s [", entry.type);
    for (int32_t i = 0; i < entry.ndim; i++)
        used += (size_t)snprintf(text + used, nbytes - used, "%s%lld", i > 0 ? ", " : "", (long long)entry.shape[i]);
    snprintf(text + used, nbytes - used, "]%s", (entry.flags & DLPARK_FILE_COLUMN_MAJOR) != 0 ? " F" : "");
}

static void check_case(const char *name, const char *verdict, const char *content)
{
    char path[512], found[1024];
    size_t faults = 0;
    dlpark_file *file = NULL;
    dlpark_error err = {.message = ""};

    snprintf(path, sizeof path, "%s/npy/%.60s", DLPARK_CASES, name);
    const dlpark_file_options options = {.format = DLPARK_FILE_NPY};
    dlpark_status status = dlpark_file_open(&file, path, &options, &err);
    if ((strcmp(verdict, "ok") == 0) != (status == DLPARK_OK))
        fail_msg("%s: %s, but: %s %s", name, verdict, dlpark_status_name(status), err.message);
    if (status == DLPARK_OK) {
        describe(file, found, sizeof found);
        assert_string_equal(found, content);
        check_invariants(file, (size_t)dlpark_file_nbytes(file));
    } else if (strstr(err.message, content) == NULL) {
        fail_msg("%s: \"%s\" does not contain \"%s\"", name, err.message, content);
    }
    assert_ok(dlpark_file_check(path, &options, NULL, 0, &faults, e));
    assert_int_equal(faults == 0, status == DLPARK_OK);
    dlpark_file_release(&file);
}

static void cases_have_their_verdicts(void **state)
{
    FILE *table = fopen(DLPARK_CASES "/npy/expected.tsv", "r");
    static char line[4096];
    int count = 0;

    (void)state;
    assert_non_null(table);
    assert_non_null(fgets(line, sizeof line, table));
    for (; fgets(line, sizeof line, table) != NULL; count++) {
        char *cells[4] = {line, NULL, NULL, NULL};
        for (int i = 1; i < 4; i++) {
            cells[i] = strchr(cells[i - 1], '\t');
            assert_non_null(cells[i]);
            *cells[i]++ = '\0';
        }
        cells[3][strcspn(cells[3], "\n")] = '\0';
        check_case(cells[0], cells[1], cells[3]);
    }
    assert_int_equal(fclose(table), 0);
    assert_true(count >= 60);
}

/* ---- Reading ---- */

static void arrays_are_told_by_their_content(void **state)
{
    tensor_file made = npy_file_array("<i2", false, "(2, 3)", 12);
    tensor_file_path path = tensor_file_save(&made);
    dlpark_file *file = NULL;
    dlpark_file_entry entry;
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_file_open(&file, path.text, NULL, e));
    check_invariants(file, made.nbytes);
    assert_ok(dlpark_file_entry_get(file, 0, &entry, e));
    assert_int_equal(entry.name_nbytes, 5);
    assert_memory_equal(entry.name, "arr_0", 5);
    assert_string_equal(entry.type, "<i2");
    assert_int_equal(entry.offset, made.data);
    assert_int_equal(entry.flags & ~DLPARK_FILE_SWAPPED, 0);
    if (entry.flags == 0) {
        assert_ok(dlpark_file_view(file, 0, &view, e));
        assert_memory_equal(view.data, made.bytes + made.data, 12);
    }
    dlpark_file_release(&file);
    assert_fails(DLPARK_E_FORMAT, "is npy, and was to be safetensors",
                 dlpark_file_open(&file, path.text, &(dlpark_file_options){.format = DLPARK_FILE_SAFETENSORS}, e));
    assert_string_equal(dlpark_file_format_name(DLPARK_FILE_NPY), "npy");
    tensor_file_drop(&path);
    tensor_file_end(&made);
}

/* Of a file to be written; one that is only a dot and a word is called so. */
static void names_say_their_format_by_their_end(void **state)
{
    static const char *const others[] = {"", "x", ".npy", "npy", "x.npyx", "x.np0", "x.npy/y", "x.safetensors"};

    (void)state;
    assert_ptr_equal(dlpark__format_of_name("x.npy"), &dlpark__format_npy);
    assert_ptr_equal(dlpark__format_of_name("y/x.safetensors.npy"), &dlpark__format_npy);
    assert_ptr_equal(dlpark__format_of_name("X.NPY"), &dlpark__format_npy);
    assert_ptr_equal(dlpark__format_of_name("x.GguF"), &dlpark__format_gguf);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_ptr_equal(dlpark__format_of_name(others[i]), &dlpark__format_safetensors);
}

static void another_file_is_no_array(void **state)
{
    const dlpark_file_options options = {.format = DLPARK_FILE_NPY};
    dlpark_file *file = NULL;
    tensor_file made = tensor_file_text("{}", 0);

    (void)state;
    assert_fails(DLPARK_E_FORMAT,
                 "<memory>: does not begin as an array of NumPy's, with \\x93NUMPY and a version; it has 10",
                 dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, &options, e));
    assert_fails(DLPARK_E_FORMAT, "it has 0 bytes (byte 0)",
                 dlpark_file_open_memory(&file, "", 0, NULL, NULL, &options, e));
    tensor_file_end(&made);
}

/* NumPy leaves what is behind the data; so it does here. */
static void what_is_behind_the_data_is_left(void **state)
{
    tensor_file made = npy_file_array("|u1", false, "(2,)", 10);
    dlpark_file *file = NULL;
    dlpark_file_entry entry;

    (void)state;
    assert_ok(open_bytes(&file, made.bytes, made.nbytes, e));
    assert_ok(dlpark_file_entry_get(file, 0, &entry, e));
    assert_int_equal(entry.nbytes, 2);
    dlpark_file_release(&file);
    tensor_file_end(&made);
}

static void headers_end_where_the_options_say(void **state)
{
    tensor_file made = npy_file_array("|u1", false, "(2,)", 2);
    uint64_t header = made.data - 10;
    dlpark_file *file = NULL;

    (void)state;
    for (uint64_t most = header - 1; most <= header + 1; most++) {
        const dlpark_file_options options = {.max_header_nbytes = most};
        dlpark_status status = dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, &options, NULL);
        assert_int_equal(status, most < header ? DLPARK_E_LIMIT : DLPARK_OK);
        dlpark_file_release(&file);
    }
    tensor_file_end(&made);
}

static void objects_are_unsupported(void **state)
{
    tensor_file made = npy_file_array("|O", false, "(2,)", 100);
    dlpark_file *file = NULL;

    (void)state;
    assert_fails(DLPARK_E_UNSUPPORTED, "a pickle, which runs code when it is read",
                 open_bytes(&file, made.bytes, made.nbytes, e));
    assert_null(file);
    tensor_file_end(&made);
}

/* ---- Damage ---- */

static void files_that_are_cut(void **state)
{
    tensor_file whole = npy_file_array("<f4", true, "(2, 3)", 24);
    const dlpark_file_options options = {.format = DLPARK_FILE_NPY};
    dlpark_file *file = NULL;

    (void)state;
    for (size_t nbytes = 0; nbytes < whole.nbytes; nbytes++) {
        unsigned char *cut = malloc(nbytes > 0 ? nbytes : 1);
        assert_non_null(cut);
        memcpy(cut, whole.bytes, nbytes);
        assert_int_equal(dlpark_file_open_memory(&file, cut, nbytes, NULL, NULL, &options, NULL), DLPARK_E_FORMAT);
        free(cut);
    }
    assert_ok(open_bytes(&file, whole.bytes, whole.nbytes, e));
    dlpark_file_release(&file);
    tensor_file_end(&whole);
}

/* Whatever a byte is changed to: an error, or a file of which everything is true. */
static void every_byte_of_a_file_changed(void **state)
{
    tensor_file whole = npy_file_array("<f2", true, "(3, 2)", 12);
    int opened = 0;

    (void)state;
    for (size_t at = 0; at < whole.nbytes; at++) {
        unsigned char before = whole.bytes[at];
        for (unsigned byte = 0; byte < 256; byte++) {
            dlpark_file *file = NULL;
            whole.bytes[at] = (unsigned char)byte;
            dlpark_status status = open_bytes(&file, whole.bytes, whole.nbytes, NULL);
            assert_true(status == DLPARK_OK || status == DLPARK_E_FORMAT || status == DLPARK_E_LIMIT ||
                        status == DLPARK_E_UNSUPPORTED);
            assert_int_equal(file != NULL, status == DLPARK_OK);
            if (file != NULL)
                check_invariants(file, whole.nbytes);
            opened += file != NULL;
            assert_true(file != NULL || (byte != before && at < whole.data));
            dlpark_file_release(&file);
        }
        whole.bytes[at] = before;
    }
    assert_true(opened > 256 * 12);
    tensor_file_end(&whole);
}

static void reads_that_fail(void **state)
{
    tensor_file made = npy_file_array("<f4", false, "(2, 3)", 24);
    tensor_file_path path = tensor_file_save(&made);
    dlpark_file *file = NULL;
    size_t count;

    (void)state;
    for (int nth = 1; nth <= 2; nth++) {
        reads_until_failure = nth;
        assert_int_equal(dlpark_file_open(&file, path.text, NULL, NULL), DLPARK_E_IO);
        reads_until_failure = nth;
        assert_int_equal(dlpark_file_check(path.text, NULL, NULL, 0, &count, NULL), DLPARK_E_IO);
        assert_null(file);
    }
    reads_until_failure = 3;
    assert_ok(dlpark_file_open(&file, path.text, NULL, e));
    dlpark_file_release(&file);
    reads_until_failure = 0;
    tensor_file_drop(&path);
    tensor_file_end(&made);
}

static void no_memory_is_told(void **state)
{
    tensor_file made = npy_file_array("<f4", false, "(2, 3)", 24);
    dlpark_file *file = NULL;
    long live = failing_alloc_live();
    dlpark_status status = DLPARK_E_MEMORY;

    (void)state;
    for (long nth = 1; status != DLPARK_OK; nth++) {
        dlpark_error err = {.status = DLPARK_OK};
        failing_alloc_arm(nth);
        status = open_bytes(&file, made.bytes, made.nbytes, &err);
        assert_int_equal(status, failing_alloc_count() >= nth ? DLPARK_E_MEMORY : DLPARK_OK);
        assert_true(nth <= 20);
        failing_alloc_arm(0);
        assert_true(status == DLPARK_OK || (err.status == status && err.message[0] != 0));
        dlpark_file_release(&file);
        assert_int_equal(failing_alloc_live(), live);
    }
    tensor_file_end(&made);
}

/* ---- Writing ---- */

static const int64_t extents[DLPARK_MAX_NDIM] = {2, 3, 1, 1, 2, 1, 1, 1, 1};

/* Writes one array of a dtype and rank by a path that says its format, and reads the whole file. */
static tensor_file save_array(DLDataType dtype, int32_t ndim, const int64_t *shape, size_t alignment)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    tensor_file made = {malloc(1 << 16), 0, 0};
    tensor_file_path path = tensor_file_save_bytes("", 0);
    char named[80];
    const dlpark_tensor_desc desc = {.dtype = dtype, .ndim = ndim, .shape = DLPARK_DIMS(shape)};

    assert_non_null(made.bytes);
    assert_ok(dlpark_tensor_alloc(&tensor, &desc, &view, e));
    for (int64_t i = 0; i < dlpark_view_nbytes(&view); i++)
        ((unsigned char *)view.data)[i] = tensor_file_byte((size_t)i);
    snprintf(named, sizeof named, "%s.npy", path.text);
    const dlpark_file_part part = {.name = "whatever", .view = &view};
    assert_ok(dlpark_file_save(named, &part, 1, &(dlpark_file_write_options){.alignment_bytes = alignment}, e));
    FILE *stream = fopen(named, "rb");
    assert_non_null(stream);
    made.nbytes = fread(made.bytes, 1, 1 << 16, stream);
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(unlink(named), 0);
    tensor_file_drop(&path);
    dlpark_tensor_release(&tensor);
    return made;
}

static void assert_head(const tensor_file *made, const char *text, size_t head_nbytes)
{
    size_t length = strlen(text);

    assert_memory_equal(made->bytes, "\x93NUMPY\1", 8);
    assert_int_equal(made->bytes[8] | made->bytes[9] << 8, head_nbytes - 10);
    assert_memory_equal(made->bytes + 10, text, length);
    for (size_t i = 10 + length; i < head_nbytes - 1; i++)
        assert_int_equal(made->bytes[i], ' ');
    assert_int_equal(made->bytes[head_nbytes - 1], '\n');
}

/* By hand, as NumPy has it: 21 digits for the first extent, and up to 64 bytes of padding, never none. */
static void the_bytes_are_numpys(void **state)
{
    static const struct {
        int32_t ndim;
        const char *shape;
    } cases[] = {{0, "()"}, {1, "(2,)"}, {2, "(2, 3)"}, {5, "(2, 3, 1, 1, 2)"}, {9, "(2, 3, 1, 1, 2, 1, 1, 1, 1)"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tensor_file made = save_array(DLPARK_F64, cases[i].ndim, extents, 0);
        char head[200];
        snprintf(head, sizeof head, "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }", cases[i].shape);
        size_t used = 10 + strlen(head) + (cases[i].ndim > 0 ? 20 : 0) + 1;
        assert_head(&made, head, used + 64 - used % 64);
        tensor_file_end(&made);
    }
    /* Where nothing is missing to a multiple of 64, all of 64 are added. */
    static const int64_t full[] = {1, 10, 10, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    static const char text[] =
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 10, 10, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
        "1, 1), }";
    assert_int_equal(10 + strlen(text) + 20 + 1, 128);
    tensor_file made = save_array(DLPARK_F64, 14, full, 0);
    assert_head(&made, text, 192);
    tensor_file_end(&made);
}

static void every_dtype_comes_back(void **state)
{
    static const DLDataType dtypes[] = {{kDLBool, 8, 1},     {kDLInt, 8, 1},      {kDLUInt, 8, 1},   {kDLInt, 16, 1},
                                        {kDLInt, 32, 1},     {kDLInt, 64, 1},     {kDLUInt, 16, 1},  {kDLUInt, 32, 1},
                                        {kDLUInt, 64, 1},    {kDLFloat, 16, 1},   {kDLFloat, 32, 1}, {kDLFloat, 64, 1},
                                        {kDLComplex, 64, 1}, {kDLComplex, 128, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        tensor_file made = save_array(dtypes[i], 2, extents, 0);
        dlpark_file *file = NULL;
        dlpark_file_entry entry;
        dlpark_tensor loaded = DLPARK_TENSOR_EMPTY;
        assert_ok(open_bytes(&file, made.bytes, made.nbytes, e));
        assert_ok(dlpark_file_entry_get(file, 0, &entry, e));
        assert_true(dlpark_dtype_equal(entry.dtype, dtypes[i]));
        assert_true(entry.type[0] == (dtypes[i].bits == 8 ? '|' : '<'));
        assert_int_equal(entry.offset % 64, 0);
        assert_int_equal(entry.offset + entry.nbytes, made.nbytes);
        assert_ok(dlpark_file_load(file, 0, &loaded, e));
        for (size_t j = 0; j < entry.nbytes; j++)
            assert_int_equal(((unsigned char *)loaded.managed->dl_tensor.data)[j], tensor_file_byte(j));
        dlpark_tensor_release(&loaded);
        dlpark_file_release(&file);
        tensor_file_end(&made);
    }
}

static void data_begins_where_it_is_asked_for(void **state)
{
    (void)state;
    for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        tensor_file made = save_array(DLPARK_F32, 1, extents, alignment);
        dlpark_file *file = NULL;
        dlpark_file_entry entry;
        assert_ok(open_bytes(&file, made.bytes, made.nbytes, e));
        assert_ok(dlpark_file_entry_get(file, 0, &entry, e));
        assert_int_equal(entry.offset, alignment <= 128 ? 128 : alignment);
        dlpark_file_release(&file);
        tensor_file_end(&made);
    }
}

static void what_cannot_be_written_is_refused(void **state)
{
    static const int64_t negative[] = {2, -3}, vast[] = {INT64_MAX, 0, 3}, large[] = {1152921504606846975};
    const dlpark_file_write_options npy = {.format = DLPARK_FILE_NPY};
    const dlpark_file_pair pair = {{"k", 1}, {"v", 1}};
    const dlpark_file_write_options texts = {.format = DLPARK_FILE_NPY, .metadata = &pair, .nmetadata = 1};
    dlpark_file_part part = {.name = "x\x1B", .dtype = DLPARK_F32, .ndim = 1, .shape = extents};
    const dlpark_file_part two[] = {part, part};
    dlpark_file_writer *writer = NULL;
    tensor_file_path path = tensor_file_save_bytes("before", 6);

    (void)state;
    assert_fails(DLPARK_E_ARGUMENT, "an npy file has one tensor, and 0 were given",
                 dlpark_file_writer_open(&writer, path.text, NULL, 0, &npy, e));
    assert_fails(DLPARK_E_ARGUMENT, "an npy file has one tensor, and 2 were given",
                 dlpark_file_writer_open(&writer, path.text, two, 2, &npy, e));
    assert_fails(DLPARK_E_UNSUPPORTED, "an npy file has no place for metadata, and 1 were given",
                 dlpark_file_writer_open(&writer, path.text, &part, 1, &texts, e));
    static const DLDataType dtypes[] = {{kDLBfloat, 16, 1}, {kDLFloat8_e5m2, 8, 1}, {kDLFloat4_e2m1fn, 4, 1},
                                        {kDLFloat, 32, 2},  {kDLFloat, 128, 1},     {kDLInt, 4, 1}};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        part.dtype = dtypes[i];
        assert_fails(DLPARK_E_UNSUPPORTED, "tensor 'x\\x1B': npy has no dtype for ",
                     dlpark_file_writer_open(&writer, path.text, &part, 1, &npy, e));
        assert_fails(DLPARK_E_UNSUPPORTED, dlpark_dtype_long_name(dtypes[i]).text,
                     dlpark_file_writer_open(&writer, path.text, &part, 1, &npy, e));
    }
    part.dtype = DLPARK_F64;
    part.ndim = -1;
    assert_fails(DLPARK_E_RANK, "has -1 dimensions, expected 0 to 64",
                 dlpark_file_writer_open(&writer, path.text, &part, 1, &npy, e));
    part.ndim = 65;
    assert_fails(DLPARK_E_RANK, "has 65 dimensions", dlpark_file_writer_open(&writer, path.text, &part, 1, &npy, e));
    part.ndim = 2;
    part.shape = negative;
    assert_fails(DLPARK_E_SHAPE, "shape[1] is -3", dlpark_file_writer_open(&writer, path.text, &part, 1, &npy, e));
    part.ndim = 3;
    part.shape = vast;
    assert_fails(DLPARK_E_OVERFLOW, "shape [9223372036854775807, 0, 3] has more bytes than a file",
                 dlpark_file_writer_open(&writer, path.text, &part, 1, &npy, e));
    part.ndim = 1;
    part.shape = large;
    assert_fails(DLPARK_E_OVERFLOW, "has more bytes than a file",
                 dlpark_file_writer_open(&writer, path.text, &part, 1, &npy, e));
    assert_null(writer);
    tensor_file_drop(&path);
}

/* 64 extents of 19 digits have room. */
static void the_longest_header_is_written(void **state)
{
    int64_t shape[DLPARK_MAX_NDIM];
    dlpark_file_part part = {.name = "x", .dtype = DLPARK_U8, .ndim = DLPARK_MAX_NDIM, .shape = shape};
    const dlpark_file_write_options npy = {.format = DLPARK_FILE_NPY};
    dlpark_file_writer *writer = NULL;
    dlpark_file *file = NULL;
    tensor_file_path path = tensor_file_save_bytes("", 0);
    dlpark_file_entry entry;

    (void)state;
    for (int i = 0; i < DLPARK_MAX_NDIM; i++)
        shape[i] = i == 1 ? 1000000000000000000 : i == 2 ? 0 : 1;
    assert_ok(dlpark_file_writer_open(&writer, path.text, &part, 1, &npy, e));
    assert_ok(dlpark_file_writer_finish(&writer, e));
    assert_ok(dlpark_file_open(&file, path.text, NULL, e));
    assert_ok(dlpark_file_entry_get(file, 0, &entry, e));
    assert_int_equal(entry.ndim, DLPARK_MAX_NDIM);
    assert_memory_equal(entry.shape, shape, sizeof shape);
    dlpark_file_release(&file);
    tensor_file_drop(&path);
}

static void no_memory_writes_nothing(void **state)
{
    const dlpark_file_write_options npy = {.format = DLPARK_FILE_NPY};
    const dlpark_file_part part = {.name = "x", .dtype = DLPARK_F32, .ndim = 2, .shape = extents};
    tensor_file_path path = tensor_file_save_bytes("", 0);
    long live = failing_alloc_live();
    dlpark_status status = DLPARK_E_MEMORY;

    (void)state;
    for (long nth = 1; status != DLPARK_OK; nth++) {
        dlpark_file_writer *writer = NULL;
        failing_alloc_arm(nth);
        status = dlpark_file_writer_open(&writer, path.text, &part, 1, &npy, NULL);
        assert_int_equal(status, failing_alloc_count() >= nth ? DLPARK_E_MEMORY : DLPARK_OK);
        failing_alloc_arm(0);
        assert_int_equal(writer != NULL, status == DLPARK_OK);
        dlpark_file_writer_release(&writer);
        assert_int_equal(failing_alloc_live(), live);
    }
    tensor_file_drop(&path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_have_their_verdicts),
        cmocka_unit_test(arrays_are_told_by_their_content),
        cmocka_unit_test(names_say_their_format_by_their_end),
        cmocka_unit_test(another_file_is_no_array),
        cmocka_unit_test(what_is_behind_the_data_is_left),
        cmocka_unit_test(headers_end_where_the_options_say),
        cmocka_unit_test(objects_are_unsupported),
        cmocka_unit_test(files_that_are_cut),
        cmocka_unit_test(every_byte_of_a_file_changed),
        cmocka_unit_test(reads_that_fail),
        cmocka_unit_test(no_memory_is_told),
        cmocka_unit_test(the_bytes_are_numpys),
        cmocka_unit_test(every_dtype_comes_back),
        cmocka_unit_test(data_begins_where_it_is_asked_for),
        cmocka_unit_test(what_cannot_be_written_is_refused),
        cmocka_unit_test(the_longest_header_is_written),
        cmocka_unit_test(no_memory_writes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
