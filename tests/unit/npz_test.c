#include "tensor_file.h"

#include <pthread.h>

#include <dlpark/file_write.h>

#include "failing_alloc.h"
#include "failing_read.h"
#include "npy_made.h"

/* ---- Archives ---- */

static const dlpark_file_options *with_inflate(void)
{
    static dlpark_file_options options;

    options.inflate = plain_inflate();
    return &options;
}

static dlpark_status open_archive(dlpark_file **file, const zip_made *made, dlpark_error *err)
{
    return dlpark_file_open_memory(file, made->bytes, made->nbytes, NULL, NULL, with_inflate(), err);
}

/* One array, by that method. */
static zip_made archive_of(const npy_made *array, const char *name, unsigned method)
{
    const zip_item item = npy_made_item(array, name, method);

    return zip_made_of(&item, 1, false, "");
}

enum { LARGE = 294000 };

/* A stored array, one that is deflated and large, one whose header is longer than what is read at first, and it packed. */
static zip_made archive_of_all(void)
{
    npy_made small = npy_made_of("{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }", 0, 12);
    npy_made large = npy_made_u1(LARGE);
    npy_made wordy = npy_made_of("{'descr': '|b1', 'fortran_order': False, 'shape': (), }", 3000, 1);
    const zip_item items[] = {npy_made_item(&small, "small.npy", 0), npy_made_item(&large, "large.npy", 8),
                              npy_made_item(&wordy, "wordy", 0), npy_made_item(&wordy, "packed/wordy.npy", 8)};
    zip_made made = zip_made_of(items, 4, false, "");

    npy_made_end(&small);
    npy_made_end(&large);
    npy_made_end(&wordy);
    return made;
}

static void check_entry(const dlpark_file *file, const char *name, const char *type, uint64_t nbytes, uint32_t flags)
{
    dlpark_file_entry entry;
    int64_t index = dlpark_file_find(file, name, strlen(name));

    assert_ok(dlpark_file_entry_get(file, index, &entry, e));
    assert_int_equal(entry.name_nbytes, strlen(name));
    assert_string_equal(entry.type, type);
    assert_int_equal(entry.nbytes, nbytes);
    assert_int_equal(entry.flags & ~DLPARK_FILE_SWAPPED, flags);
}

static void entries_of_all_kinds(void **state)
{
    zip_made made = archive_of_all();
    dlpark_file *file = NULL;
    dlpark_file_entry entry;

    (void)state;
    assert_ok(open_archive(&file, &made, e));
    assert_int_equal(dlpark_file_format_of(file), DLPARK_FILE_NPZ);
    assert_string_equal(dlpark_file_format_name(DLPARK_FILE_NPZ), "npz");
    assert_int_equal(dlpark_file_count(file), 4);
    check_entry(file, "small", "<i2", 12, 0);
    check_entry(file, "large", "|u1", LARGE, DLPARK_FILE_COMPRESSED);
    check_entry(file, "wordy", "|b1", 1, 0);
    check_entry(file, "packed/wordy", "|b1", 1, DLPARK_FILE_COMPRESSED);
    for (int64_t i = 0; i < 4; i++) {
        assert_ok(dlpark_file_entry_get(file, i, &entry, e));
        assert_true(entry.offset >= made.data[i] && entry.offset < made.after[i]);
    }
    assert_int_equal(dlpark_file_find(file, "small.npy", 9), -1);
    assert_int_equal(dlpark_file_metadata_count(file), 0);
    dlpark_file_release(&file);
    zip_made_end(&made);
}

static void assert_bytes(const dlpark_tensor *tensor, size_t nbytes)
{
    dlpark_view view;

    dlpark_tensor_view(tensor, &view);
    assert_int_equal(dlpark_view_nbytes(&view), nbytes);
    for (size_t i = 0; i < nbytes; i++)
        assert_int_equal(((const unsigned char *)view.data)[i], npy_made_byte(i));
}

static void tensors_are_mapped_or_loaded(void **state)
{
    static const char *const names[] = {"large", "wordy", "packed/wordy"};
    zip_made made = archive_of_all();
    tensor_file_path path = tensor_file_save_bytes(made.bytes, made.nbytes);
    dlpark_file *file = NULL;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    (void)state;
    assert_ok(dlpark_file_open(&file, path.text, with_inflate(), e));
    for (int i = 0; i < 3; i++) {
        assert_ok(dlpark_file_load(file, dlpark_file_find(file, names[i], strlen(names[i])), &tensor, e));
        assert_bytes(&tensor, i == 0 ? LARGE : 1);
        dlpark_tensor_release(&tensor);
    }
    assert_ok(dlpark_file_share(file, dlpark_file_find(file, "wordy", 5), &tensor, e));
    assert_fails(DLPARK_E_UNSUPPORTED, "tensor 'large' is compressed: it can be loaded, not mapped",
                 dlpark_file_share(file, 1, &(dlpark_tensor){NULL}, e));
    dlpark_file_release(&file);
    assert_bytes(&tensor, 1);
    dlpark_tensor_release(&tensor);
    tensor_file_drop(&path);
    zip_made_end(&made);
}

/* ---- Ranges ---- */

static void read_range(const dlpark_file *file, int64_t index, size_t first, size_t count)
{
    unsigned char *bytes = malloc(count + 1);
    int64_t shape[] = {(int64_t)count};
    DLTensor tensor = {bytes, {kDLCPU, 0}, 1, DLPARK_U8, shape, NULL, 0};
    dlpark_view view;

    assert_non_null(bytes);
    assert_ok(dlpark_check(&tensor, 0, &view, e));
    assert_ok(dlpark_view_allow_write(&view, e));
    assert_ok(dlpark_file_read_range(file, index, (int64_t)first, &view, e));
    for (size_t i = 0; i < count; i++)
        assert_int_equal(bytes[i], npy_made_byte(first + i));
    free(bytes);
}

static void *count_begin(void *context)
{
    ++*(int *)context;
    return plain_inflate_begin(NULL);
}

/* Who goes on where it stopped does not begin anew; who goes back does, and who asks for another tensor. */
static void ranges_go_on(void **state)
{
    npy_made array = npy_made_u1(LARGE);
    const zip_item items[] = {npy_made_item(&array, "a.npy", 8), npy_made_item(&array, "b.npy", 8)};
    zip_made made = zip_made_of(items, 2, false, "");
    int begun = 0;
    const dlpark_inflate counted = {count_begin, plain_inflate_step, free, &begun};
    const dlpark_file_options options = {.inflate = &counted};
    dlpark_file *file = NULL;

    (void)state;
    assert_ok(dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, &options, e));
    assert_int_equal(begun, 2);
    for (size_t at = 0; at < LARGE; at += 1000)
        read_range(file, 0, at, 1000);
    assert_int_equal(begun, 3);
    read_range(file, 0, 60000, 10); /* after its end it is not kept */
    assert_int_equal(begun, 4);
    read_range(file, 0, 60020, 0); /* goes on over a gap, or to nothing */
    read_range(file, 0, 60030, 10);
    assert_int_equal(begun, 4);
    read_range(file, 0, 0, 10);
    assert_int_equal(begun, 5);
    read_range(file, 1, 5, 10);
    read_range(file, 0, 20, 10);
    assert_int_equal(begun, 7);
    dlpark_file_release(&file);
    zip_made_end(&made);
    npy_made_end(&array);
}

static void *read_ranges(void *context)
{
    const dlpark_file *file = context;

    for (size_t at = 0; at < LARGE; at += 7000)
        read_range(file, 1, at, 7000);
    return NULL;
}

static void threads_share_a_file(void **state)
{
    enum { WORKERS = 4 };
    zip_made made = archive_of_all();
    dlpark_file *file = NULL;
    pthread_t workers[WORKERS];

    (void)state;
    assert_ok(open_archive(&file, &made, e));
    for (int i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&workers[i], NULL, read_ranges, file), 0);
    for (int i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_join(workers[i], NULL), 0);
    dlpark_file_release(&file);
    zip_made_end(&made);
}

/* ---- What is refused ---- */

/* The first fault, and the only one of a list, at a byte of the file. */
static void assert_refused(const zip_made *made, const dlpark_file_options *options, dlpark_status status,
                           const char *rule, const char *text)
{
    tensor_file_path path = tensor_file_save_bytes(made->bytes, made->nbytes);
    dlpark_file_fault faults[4];
    dlpark_file *file = NULL;
    size_t count = 0;

    assert_fails(status, text, dlpark_file_open(&file, path.text, options, e));
    assert_null(file);
    assert_ok(dlpark_file_check(path.text, options, faults, 4, &count, e));
    assert_int_equal(count, 1);
    assert_string_equal(faults[0].rule, rule);
    assert_true(faults[0].offset <= made->nbytes);
    tensor_file_drop(&path);
}

static void what_is_no_array(void **state)
{
    static const struct {
        const char *bytes, *rule, *text;
        size_t nbytes;
        dlpark_status status;
    } cases[] = {
        {"hello", "npy", "tensor 'x': is no array: it does not begin as an .npy file does", 5, DLPARK_E_UNSUPPORTED},
        {"", "npy", "tensor 'x': is no array", 0, DLPARK_E_UNSUPPORTED},
        {"\x93NUMPX\1\0", "npy", "is no array", 8, DLPARK_E_UNSUPPORTED},
    };

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        const zip_item item = {
            .name = "x.npy", .bytes = cases[i / 2].bytes, .nbytes = cases[i / 2].nbytes, .method = i % 2 * 8U};
        zip_made made = zip_made_of(&item, 1, false, "");
        assert_refused(&made, with_inflate(), cases[i / 2].status, cases[i / 2].rule, cases[i / 2].text);
        zip_made_end(&made);
    }
}

static void arrays_that_are_wrong(void **state)
{
    static const char row[] = "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }";
    static const char object[] = "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }";

    (void)state;
    for (unsigned method = 0; method <= 8; method += 8) {
        npy_made longer = npy_made_of(row, 0, 4), shorter = npy_made_of(row, 0, 2), pickled = npy_made_of(object, 0, 3);
        npy_made cut = npy_made_of(row, 0, 0);
        zip_made made = archive_of(&longer, "x.npy", method);
        assert_refused(&made, with_inflate(), DLPARK_E_FORMAT, "size",
                       "tensor 'x': its array has 131 bytes with its header, the member 132");
        zip_made_end(&made);
        made = archive_of(&shorter, "x.npy", method);
        assert_refused(&made, with_inflate(), DLPARK_E_FORMAT, "truncated", "tensor 'x': ");
        zip_made_end(&made);
        made = archive_of(&pickled, "x.npy", method);
        assert_refused(&made, with_inflate(), DLPARK_E_UNSUPPORTED, "dtype", "tensor 'x': ");
        zip_made_end(&made);
        cut.nbytes = 20;
        made = archive_of(&cut, "x.npy", method);
        assert_refused(&made, with_inflate(), DLPARK_E_FORMAT, "header-size", "tensor 'x': ");
        zip_made_end(&made);
        npy_made_end(&longer);
        npy_made_end(&shorter);
        npy_made_end(&pickled);
        npy_made_end(&cut);
    }
}

static void nothing_to_unpack_with(void **state)
{
    npy_made array = npy_made_u1(3);
    zip_made made = archive_of(&array, "x.npy", 8);

    (void)state;
    assert_refused(&made, NULL, DLPARK_E_UNSUPPORTED, "deflate", "dlpark_zlib_inflate() of libdlpark-zlib does");
    zip_made_end(&made);
    npy_made_end(&array);
}

/* Tensors "x" and "x.npy": NumPy gives the first under both names. */
static void a_name_that_is_anothers_file(void **state)
{
    npy_made array = npy_made_u1(3);
    const zip_item items[] = {npy_made_item(&array, "x.npy.npy", 0), npy_made_item(&array, "y.npy", 0),
                              npy_made_item(&array, "x.npy", 0), npy_made_item(&array, "y.npy.npy", 0),
                              npy_made_item(&array, "z.npy.npy", 0)};
    zip_made made = zip_made_of(items, 5, false, "");
    dlpark_file_fault faults[4];
    size_t count;

    (void)state;
    assert_fails(DLPARK_E_FORMAT, "tensor 'x.npy': NumPy takes its name for the file of",
                 dlpark_file_open_memory(&(dlpark_file *){NULL}, made.bytes, made.nbytes, NULL, NULL, NULL, e));
    tensor_file_path path = tensor_file_save_bytes(made.bytes, made.nbytes);
    assert_ok(dlpark_file_check(path.text, NULL, faults, 4, &count, e));
    assert_int_equal(count, 2);
    assert_string_equal(faults[1].tensor, "y.npy");
    tensor_file_drop(&path);
    zip_made_end(&made);
    npy_made_end(&array);
}

static void long_headers_have_a_limit_together(void **state)
{
    npy_made array = npy_made_of("{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }", 600, 3);
    const zip_item items[] = {npy_made_item(&array, "a.npy", 0), npy_made_item(&array, "b.npy", 0)};
    zip_made made = zip_made_of(items, 2, false, "");
    const dlpark_file_options few = {.max_header_nbytes = 1199}, enough = {.max_header_nbytes = 1200};
    const dlpark_file_options all = {.max_header_nbytes = UINT64_MAX};
    dlpark_file *file = NULL;

    (void)state;
    assert_ok(dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, &all, e));
    dlpark_file_release(&file);
    assert_refused(&made, &few, DLPARK_E_LIMIT, "header-size",
                   "tensor 'b': the headers of arrays to this one have 1200 bytes, more than 1199");
    assert_ok(dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, &enough, e));
    dlpark_file_release(&file);
    zip_made_end(&made);
    npy_made_end(&array);
}

static void two_of_one_name(void **state)
{
    npy_made array = npy_made_u1(3);
    const zip_item items[] = {npy_made_item(&array, "x.npy", 0), npy_made_item(&array, "y.npy", 0),
                              npy_made_item(&array, "x", 0)};
    const zip_item triple[] = {items[0], items[0], items[2]};
    zip_made made = zip_made_of(items, 3, false, "");
    dlpark_file_fault faults[4];
    size_t count;

    (void)state;
    assert_refused(&made, NULL, DLPARK_E_FORMAT, "duplicate", "tensor 'x': there are two tensors of this name");
    zip_made_end(&made);
    made = zip_made_of(triple, 3, false, "");
    tensor_file_path path = tensor_file_save_bytes(made.bytes, made.nbytes);
    assert_ok(dlpark_file_check(path.text, NULL, faults, 4, &count, e));
    assert_int_equal(count, 2);
    assert_int_equal(faults[1].offset, made.local[2]);
    tensor_file_drop(&path);
    zip_made_end(&made);
    npy_made_end(&array);
}

/* Every member is told of, though some have no entry. */
static void every_fault_is_listed(void **state)
{
    npy_made array = npy_made_u1(3),
             longer = npy_made_of("{'descr': '|u1', 'fortran_order': False, 'shape': (), }", 0, 2);
    const zip_item items[] = {{.name = "text", .bytes = "hello", .nbytes = 5},
                              npy_made_item(&array, "x.npy", 0),
                              npy_made_item(&longer, "y.npy", 0)};
    zip_made made = zip_made_of(items, 3, false, "");
    tensor_file_path path = tensor_file_save_bytes(made.bytes, made.nbytes);
    dlpark_file_fault faults[4];
    size_t count;

    (void)state;
    assert_ok(dlpark_file_check(path.text, NULL, faults, 4, &count, e));
    assert_int_equal(count, 2);
    assert_string_equal(faults[0].tensor, "text");
    assert_int_equal(faults[0].offset, made.data[0]);
    assert_string_equal(faults[1].tensor, "y");
    made.bytes[made.local[1]] = 0; /* and of a broken archive that alone */
    assert_refused(&made, NULL, DLPARK_E_FORMAT, "local", "no whole header");
    tensor_file_drop(&path);
    zip_made_end(&made);
    npy_made_end(&array);
    npy_made_end(&longer);
}

static void told_by_its_beginning(void **state)
{
    const dlpark_file_options npz = {.format = DLPARK_FILE_NPZ}, safetensors = {.format = DLPARK_FILE_SAFETENSORS};
    zip_made made = zip_made_of(NULL, 0, false, "");
    dlpark_file *file = NULL;

    (void)state;
    assert_ok(dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, &npz, e));
    assert_int_equal(dlpark_file_count(file), 0);
    dlpark_file_release(&file);
    assert_fails(DLPARK_E_FORMAT, "is npz, and was to be safetensors",
                 dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, &safetensors, e));
    assert_fails(DLPARK_E_FORMAT, "it may be cut short",
                 dlpark_file_open_memory(&file, "PK\3\4", 4, NULL, NULL, NULL, e));
    assert_fails(DLPARK_E_FORMAT, "a safetensors file has at least 8",
                 dlpark_file_open_memory(&file, "PK\3", 3, NULL, NULL, NULL, e));
    assert_fails(DLPARK_E_FORMAT, "it may be cut short", dlpark_file_open_memory(&file, "x", 1, NULL, NULL, &npz, e));
    zip_made_end(&made);
}

static void headers_have_the_limit_of_the_options(void **state)
{
    npy_made array = npy_made_of("{'descr': '|u1', 'fortran_order': False, 'shape': (), }", 1000, 1);
    zip_made made = archive_of(&array, "x.npy", 0);
    const dlpark_file_options few = {.max_header_nbytes = 900}, enough = {.max_header_nbytes = 1000};
    dlpark_file *file = NULL;

    (void)state;
    assert_fails(DLPARK_E_LIMIT, "tensor 'x'",
                 dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, &few, e));
    assert_ok(dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, &enough, e));
    dlpark_file_release(&file);
    zip_made_end(&made);
    npy_made_end(&array);
}

/* ---- Deflated bytes that are broken ---- */

static void broken_where_the_header_is(void **state)
{
    npy_made array = npy_made_of("{'descr': '|u1', 'fortran_order': False, 'shape': (), }", 1000, 1);
    zip_made made = archive_of(&array, "x.npy", 8);

    (void)state;
    made.bytes[made.data[0]] = 7;
    assert_refused(&made, with_inflate(), DLPARK_E_FORMAT, "deflate", "tensor 'x': its deflated bytes are broken");
    made.bytes[made.data[0]] = 0;
    made.bytes[made.data[0] + 500 - 500 % 105] = 7; /* behind what is read at first */
    assert_refused(&made, with_inflate(), DLPARK_E_FORMAT, "deflate", "tensor 'x': its deflated bytes are broken");
    zip_made_end(&made);
    npy_made_end(&array);
}

static void broken_where_the_data_are(void **state)
{
    zip_made made = archive_of_all();
    unsigned char *last = made.bytes + made.after[1] - PLAIN_INFLATE_HEADER - (LARGE + 128) % ZIP_MADE_BLOCK;
    dlpark_file *file = NULL;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    (void)state;
    assert_int_equal(*last, 1);
    assert_ok(open_archive(&file, &made, e));
    *last = 7;
    assert_fails(DLPARK_E_FORMAT, "<memory>: tensor 'large': its deflated bytes are broken (byte ",
                 dlpark_file_load(file, 1, &tensor, e));
    read_range(file, 1, 0, 69000); /* which does not reach it */
    *last = 1;
    last[10] ^= 1;
    assert_fails(DLPARK_E_FORMAT, "its bytes have another CRC-32", dlpark_file_load(file, 1, &tensor, e));
    last[10] ^= 1;
    made.bytes[made.data[1] + 5 * 105] = 7;
    assert_fails(DLPARK_E_FORMAT, "are broken", dlpark_file_load(file, 1, &tensor, e));
    unsigned char byte;
    int64_t shape[] = {1};
    DLTensor far = {&byte, {kDLCPU, 0}, 1, DLPARK_U8, shape, NULL, 0};
    dlpark_view view;
    assert_ok(dlpark_check(&far, 0, &view, e));
    assert_ok(dlpark_view_allow_write(&view, e));
    assert_fails(DLPARK_E_FORMAT, "are broken", dlpark_file_read_range(file, 1, 60000, &view, e));
    assert_null(tensor.managed);
    dlpark_file_release(&file);
    zip_made_end(&made);
}

static dlpark_inflate_result step_but_the_last(void *state, const unsigned char *from, size_t *from_nbytes,
                                               unsigned char *to, size_t *to_nbytes)
{
    if (*to_nbytes == 1) /* as who looks whether more comes asks */
        return DLPARK_INFLATE_MEMORY;
    (void)plain_inflate_step(state, from, from_nbytes, to, to_nbytes);
    return DLPARK_INFLATE_MORE; /* the end is told later */
}

static void no_memory_at_the_end(void **state)
{
    const dlpark_inflate inflate = {plain_inflate_begin, step_but_the_last, free, NULL};
    const dlpark_file_options options = {.inflate = &inflate};
    npy_made array = npy_made_u1(372);
    zip_made made = archive_of(&array, "x.npy", 8);
    dlpark_file *file = NULL;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    (void)state;
    assert_ok(dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, &options, e));
    assert_fails(DLPARK_E_MEMORY, "no memory to unpack it", dlpark_file_load(file, 0, &tensor, e));
    dlpark_file_release(&file);
    zip_made_end(&made);
    npy_made_end(&array);
}

/* ---- What fails ---- */

static dlpark_status open_and_load_all(const char *path)
{
    dlpark_file *file = NULL;
    dlpark_error err;
    dlpark_status status = dlpark_file_open(&file, path, with_inflate(), &err);

    for (int64_t i = 0; status == DLPARK_OK && i < dlpark_file_count(file); i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        status = dlpark_file_load(file, i, &tensor, &err);
        dlpark_tensor_release(&tensor);
    }
    dlpark_file_release(&file);
    return status;
}

static void every_allocation_and_every_read_fails(void **state)
{
    zip_made made = archive_of_all();
    tensor_file_path path = tensor_file_save_bytes(made.bytes, made.nbytes);
    long live = failing_alloc_live();

    (void)state;
    for (int is_read = 0; is_read < 2; is_read++) {
        bool is_done = false;
        int n = 0;
        while (!is_done) {
            n++;
            reads_until_failure = is_read ? n : 0;
            failing_alloc_arm(is_read ? 0 : n);
            dlpark_status status = open_and_load_all(path.text);
            is_done = is_read ? reads_until_failure > 0 : failing_alloc_count() < n;
            failing_alloc_arm(0);
            reads_until_failure = 0;
            assert_int_equal(failing_alloc_live(), live);
            if (is_read && !is_done)
                assert_int_equal(status, DLPARK_E_IO);
            else /* what is given back need not be */
                assert_true(status == DLPARK_OK || (!is_done && status == DLPARK_E_MEMORY));
        }
        assert_true(n >= 16);
    }
    tensor_file_drop(&path);
    zip_made_end(&made);
}

/* From an archive into another file: an empty tensor before and behind one that goes by its elements, stored or packed, in
 * columns; each part is counted once, and its elements are in rows. */
static void columns_become_rows_in_another_file(void **state)
{
    static const int64_t no[] = {0}, grid[] = {3, 4};
    const dlpark_file_part parts[] = {{.name = "a", .dtype = DLPARK_F32, .ndim = 1, .shape = no},
                                      {.name = "c", .dtype = DLPARK_U8, .ndim = 2, .shape = grid},
                                      {.name = "b", .dtype = DLPARK_F32, .ndim = 1, .shape = no}};

    (void)state;
    for (unsigned method = 0; method <= 8; method += 8) {
        npy_made empty = npy_made_of("{'descr': '<f4', 'fortran_order': False, 'shape': (0,), }", 0, 0);
        npy_made columns = npy_made_of("{'descr': '|u1', 'fortran_order': True, 'shape': (3, 4), }", 0, 12);
        const zip_item items[] = {npy_made_item(&empty, "z.npy", 0), npy_made_item(&columns, "c.npy", method)};
        zip_made made = zip_made_of(items, 2, false, "");
        tensor_file_path path = tensor_file_save_bytes("", 0);
        dlpark_file *file = NULL, *rows = NULL;
        dlpark_file_writer *writer = NULL;
        dlpark_view view;
        assert_ok(open_archive(&file, &made, e));
        int64_t z = dlpark_file_find(file, "z", 1);
        const int64_t order[] = {z, dlpark_file_find(file, "c", 1), z};
        assert_ok(dlpark_file_writer_open(&writer, path.text, parts, 3, NULL, e));
        assert_ok(dlpark_file_writer_put_from(writer, 0, 3, file, order, e));
        assert_ok(dlpark_file_writer_finish(&writer, e));
        assert_ok(dlpark_file_open(&rows, path.text, NULL, e));
        assert_ok(dlpark_file_view(rows, dlpark_file_find(rows, "c", 1), &view, e));
        for (int64_t i = 0; i < 12; i++)
            assert_int_equal(((const unsigned char *)view.data)[i], npy_made_byte((size_t)(i % 4 * 3 + i / 4)));
        dlpark_file_release(&rows);
        dlpark_file_release(&file);
        zip_made_end(&made);
        npy_made_end(&columns);
        npy_made_end(&empty);
        tensor_file_drop(&path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_become_rows_in_another_file),
        cmocka_unit_test(entries_of_all_kinds),
        cmocka_unit_test(tensors_are_mapped_or_loaded),
        cmocka_unit_test(ranges_go_on),
        cmocka_unit_test(threads_share_a_file),
        cmocka_unit_test(what_is_no_array),
        cmocka_unit_test(arrays_that_are_wrong),
        cmocka_unit_test(nothing_to_unpack_with),
        cmocka_unit_test(two_of_one_name),
        cmocka_unit_test(a_name_that_is_anothers_file),
        cmocka_unit_test(long_headers_have_a_limit_together),
        cmocka_unit_test(every_fault_is_listed),
        cmocka_unit_test(told_by_its_beginning),
        cmocka_unit_test(headers_have_the_limit_of_the_options),
        cmocka_unit_test(broken_where_the_header_is),
        cmocka_unit_test(broken_where_the_data_are),
        cmocka_unit_test(no_memory_at_the_end),
        cmocka_unit_test(every_allocation_and_every_read_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
