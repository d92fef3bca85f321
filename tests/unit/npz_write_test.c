#include "tensor_file.h"

#include <errno.h>
#include <pthread.h>

#include "failing_alloc.h"
#include "format.h"
#include "npy_made.h"
#include "npz/zip.h"
#include "replace.h"

/* ---- Views ---- */

enum { LARGE = 70000 };

static unsigned char bytes[LARGE];
static const int64_t two_by_three[] = {2, 3}, three[] = {3}, many[] = {LARGE}, none[] = {0, 5};

static int fill(void **state)
{
    (void)state;
    for (size_t i = 0; i < LARGE; i++)
        bytes[i] = npy_made_byte(i);
    return 0;
}

static dlpark_view view_of(DLDataType dtype, int32_t ndim, const int64_t *shape)
{
    int64_t extents[DLPARK_MAX_NDIM];
    DLTensor tensor = {bytes, {kDLCPU, 0}, ndim, dtype, extents, NULL, 0};
    dlpark_view view;

    for (int32_t i = 0; i < ndim; i++)
        extents[i] = shape[i];
    assert_ok(dlpark_check(&tensor, 0, &view, e));
    return view;
}

/* A name for a file that is not there. */
static tensor_file_path new_path(void)
{
    tensor_file_path path = tensor_file_save_bytes("", 0);

    tensor_file_drop(&path);
    return path;
}

static const dlpark_file_write_options npz = {.format = DLPARK_FILE_NPZ};

/* ---- Round trips ---- */

static void check_part(const dlpark_file *file, const dlpark_file_part *part, size_t alignment)
{
    dlpark_file_entry entry;
    dlpark_tensor loaded = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    assert_ok(dlpark_file_entry_get(file, dlpark_file_find(file, part->name, strlen(part->name)), &entry, e));
    assert_int_equal(entry.offset % alignment, 0);
    assert_true(dlpark_dtype_equal(entry.dtype, part->view->dtype));
    assert_int_equal(entry.ndim, part->view->ndim);
    assert_memory_equal(entry.shape, part->view->shape, (size_t)entry.ndim * sizeof *entry.shape);
    assert_ok(dlpark_file_load(file, entry.index, &loaded, e));
    dlpark_tensor_view(&loaded, &view);
    if (entry.nbytes > 0)
        assert_memory_equal(view.data, bytes, entry.nbytes);
    dlpark_tensor_release(&loaded);
}

static void what_is_written_is_read(void **state)
{
    static const size_t alignments[] = {0, 1, 2, 4, 8, 64, 4096};
    const dlpark_view views[] = {view_of(DLPARK_F32, 2, two_by_three), view_of(DLPARK_U8, 1, many),
                                 view_of(DLPARK_BOOL, 0, NULL), view_of(DLPARK_F64, 2, none)};
    const dlpark_file_part parts[] = {{.name = "weights/w", .view = &views[0]},
                                      {.name = "\xC3\xA9", .view = &views[1]},
                                      {.name = "", .view = &views[2]},
                                      {.name = "a.npy", .view = &views[3]}};

    (void)state;
    for (size_t i = 0; i < 7; i++)
        for (size_t count = 0; count <= 4; count++) {
            const dlpark_file_write_options options = {.format = DLPARK_FILE_NPZ, .alignment_bytes = alignments[i]};
            tensor_file_path path = new_path();
            dlpark_file *file = NULL;
            assert_ok(dlpark_file_save(path.text, parts, count, &options, e));
            assert_ok(dlpark_file_open(&file, path.text, NULL, e));
            assert_int_equal(dlpark_file_format_of(file), DLPARK_FILE_NPZ);
            assert_int_equal(dlpark_file_count(file), count);
            for (size_t p = 0; p < count; p++)
                check_part(file, &parts[p], alignments[i] != 0 ? alignments[i] : 64);
            dlpark_file_release(&file);
            tensor_file_drop(&path);
        }
}

/* The sums of all members, as whoever unpacks them finds them. */
static void check_sums(const char *path, size_t count)
{
    dlpark__source *source = NULL;
    dlpark__zip zip = {NULL, NULL, 0};

    assert_ok(dlpark__source_open(&source, path, false, e));
    dlpark__file_faults faults = {.file = &source->name};
    assert_ok(dlpark__zip_read(&zip, source, 0, &faults, e));
    assert_int_equal(faults.count, 0);
    assert_int_equal(zip.count, count);
    for (size_t i = 0; i < count; i++) {
        unsigned char *member = malloc((size_t)zip.members[i].nbytes);
        assert_non_null(member);
        assert_ok(dlpark__source_read(source, zip.members[i].begin, member, (size_t)zip.members[i].nbytes, e));
        uint32_t sum = dlpark__crc32_add(DLPARK__CRC32_BEGIN, member, (size_t)zip.members[i].nbytes);
        assert_int_equal(sum ^ DLPARK__CRC32_BEGIN, zip.members[i].crc32);
        free(member);
    }
    dlpark__zip_end(&zip);
    dlpark__source_release(source);
}

/* ---- In pieces ---- */

typedef struct worker {
    dlpark_file_writer *writer;
    size_t first;
} worker;

/* Every fourth piece of the large one. */
static void *put_pieces(void *context)
{
    const worker *own = context;

    for (size_t at = own->first * 1000; at < LARGE; at += 4000)
        assert_ok(dlpark_file_writer_put_bytes(own->writer, 1, at, bytes + at, 1000, e));
    return NULL;
}

static void pieces_in_any_order_from_any_thread(void **state)
{
    const dlpark_view turned = view_of(DLPARK_U16, 2, two_by_three);
    dlpark_view strided = turned;
    const dlpark_file_part parts[] = {{.name = "t", .dtype = DLPARK_U16, .ndim = 2, .shape = (const int64_t[]){3, 2}},
                                      {.name = "large", .dtype = DLPARK_U8, .ndim = 1, .shape = many},
                                      {.name = "none", .dtype = DLPARK_U8, .ndim = 2, .shape = none}};
    tensor_file_path path = new_path();
    dlpark_file_writer *writer = NULL;
    pthread_t threads[4];
    worker workers[4];

    (void)state;
    assert_ok(dlpark_view_permute(&strided, 2, (const int[]){1, 0}, e));
    assert_ok(dlpark_file_writer_open(&writer, path.text, parts, 3, &npz, e));
    for (size_t i = 0; i < 4; i++) {
        workers[i] = (worker){writer, 3 - i};
        assert_int_equal(pthread_create(&threads[i], NULL, put_pieces, &workers[i]), 0);
    }
    assert_ok(dlpark_file_writer_put(writer, 0, &strided, e));
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_ok(dlpark_file_writer_finish(&writer, e));
    check_sums(path.text, 3);
    tensor_file_drop(&path);
}

static void the_same_tensors_make_the_same_file(void **state)
{
    const dlpark_view view = view_of(DLPARK_F32, 2, two_by_three);
    const dlpark_file_part part = {.name = "w", .view = &view};
    unsigned char files[2][1024];
    size_t nbytes[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        tensor_file_path path = new_path();
        assert_ok(dlpark_file_save(path.text, &part, 1, &npz, e));
        FILE *stream = fopen(path.text, "rb");
        assert_non_null(stream);
        nbytes[i] = fread(files[i], 1, sizeof files[i], stream);
        assert_int_equal(fclose(stream), 0);
        tensor_file_drop(&path);
    }
    assert_int_equal(nbytes[0], nbytes[1]);
    assert_true(nbytes[0] > 200 && nbytes[0] < sizeof files[0]);
    assert_memory_equal(files[0], files[1], nbytes[0]);
}

/* ---- 64 bits ---- */

/* Sizes and places that 32 bits do not hold: holes in the file, which are zeros, whose sum is 0. */
static void large_members(void **state)
{
    static const int64_t four[] = {(INT64_C(1) << 32) - 1}, less[] = {(INT64_C(1) << 32) - 600}, one[] = {1};
    const dlpark_file_part parts[] = {{.name = "less", .dtype = DLPARK_U8, .ndim = 1, .shape = less},
                                      {.name = "near", .dtype = DLPARK_U8, .ndim = 1, .shape = one},
                                      {.name = "four", .dtype = DLPARK_U8, .ndim = 1, .shape = four},
                                      {.name = "far", .dtype = DLPARK_U8, .ndim = 1, .shape = one}};

    (void)state;
    for (size_t count = 1; count <= 4; count++) {
        tensor_file_path path = new_path();
        dlpark__write_plan plan;
        dlpark__replace file;
        dlpark_file *opened = NULL;
        dlpark_file_entry entry;
        static _Atomic(uint32_t) sums[4];
        assert_ok(dlpark__npz_plan(&plan, parts, count, &npz, e));
        assert_ok(dlpark__replace_begin(&file, path.text, plan.nbytes, e));
        assert_ok(plan.finish(plan.state, sums, &file, e));
        assert_ok(dlpark__replace_commit(&file, false, e));
        assert_ok(dlpark_file_open(&opened, path.text, NULL, e));
        assert_int_equal(dlpark_file_count(opened), count);
        assert_ok(dlpark_file_entry_get(opened, (int64_t)count - 1, &entry, e));
        assert_int_equal(entry.nbytes, parts[count - 1].shape[0]);
        assert_int_equal(entry.offset, plan.places[count - 1].offset);
        dlpark_file_release(&opened);
        dlpark__write_plan_end(&plan);
        tensor_file_drop(&path);
    }
}

/* As many as 16 bits count, and one more, as the last number stands for those that do not fit. */
static void many_members(void **state)
{
    (void)state;
    for (size_t count = 65534; count <= 65535; count++) {
        char(*names)[8] = calloc(count, sizeof *names);
        dlpark_file_part *parts = calloc(count, sizeof *parts);
        tensor_file_path path = new_path();
        const dlpark_view view = view_of(DLPARK_U8, 0, NULL);
        dlpark_file *file = NULL;
        assert_true(names != NULL && parts != NULL);
        for (size_t i = 0; i < count; i++) {
            snprintf(names[i], sizeof names[i], "%zu", i);
            parts[i] = (dlpark_file_part){.name = names[i], .view = &view};
        }
        assert_ok(dlpark_file_save(path.text, parts, count, &npz, e));
        assert_ok(dlpark_file_open(&file, path.text, NULL, e));
        assert_int_equal(dlpark_file_count(file), count);
        assert_int_equal(dlpark_file_find(file, "65533", 5), 65533);
        dlpark_file_release(&file);
        tensor_file_drop(&path);
        free(names);
        free(parts);
    }
}

/* ---- What is refused ---- */

static void assert_part_refused(const char *name, size_t name_nbytes, dlpark_status status, const char *text)
{
    const dlpark_file_part part = {
        .name = name, .name_nbytes = name_nbytes, .dtype = DLPARK_U8, .ndim = 1, .shape = three};
    tensor_file_path path = new_path();
    dlpark_file_writer *writer = NULL;

    assert_fails(status, text, dlpark_file_writer_open(&writer, path.text, &part, 1, &npz, e));
    assert_null(writer);
    assert_int_equal(access(path.text, F_OK), -1);
}

static void names_that_are_refused(void **state)
{
    static char name[65532];

    (void)state;
    assert_part_refused("/etc/passwd", 0, DLPARK_E_ARGUMENT, "tensor '/etc/passwd': its name begins with '/'");
    assert_part_refused("../a", 0, DLPARK_E_ARGUMENT, "its name has a part '.' or '..'");
    assert_part_refused("a\\b", 0, DLPARK_E_ARGUMENT, "or has a backslash or a zero");
    assert_part_refused("a\0b", 3, DLPARK_E_ARGUMENT, "or has a backslash or a zero");
    assert_part_refused("\xFF", 0, DLPARK_E_ARGUMENT, "its name is no UTF-8");
    memset(name, 'x', sizeof name);
    assert_part_refused(name, 65532, DLPARK_E_LIMIT, "its name has 65532 bytes, more than 65531");
}

static void parts_that_are_refused(void **state)
{
    static const int64_t huge[] = {INT64_C(1) << 62}, negative[] = {-1};
    const dlpark_file_part twins[] = {{.name = "a", .dtype = DLPARK_U8, .ndim = 1, .shape = three},
                                      {.name = "b", .dtype = DLPARK_U8, .ndim = 1, .shape = three},
                                      {.name = "a", .dtype = DLPARK_U8, .ndim = 1, .shape = three},
                                      {.name = "c", .dtype = DLPARK_U8, .ndim = 1, .shape = three}};
    const dlpark_file_part heavy[] = {{.name = "a", .dtype = DLPARK_U8, .ndim = 1, .shape = huge},
                                      {.name = "b", .dtype = DLPARK_U8, .ndim = 1, .shape = huge}};
    const dlpark_file_part strange = {.name = "a", .dtype = DLPARK_BF16, .ndim = 1, .shape = three};
    const dlpark_file_part broken = {.name = "a", .dtype = DLPARK_U8, .ndim = 1, .shape = negative};
    const dlpark_file_pair pair = {{"k", 1}, {"v", 1}};
    const dlpark_file_write_options texts = {.format = DLPARK_FILE_NPZ, .metadata = &pair, .nmetadata = 1};
    dlpark__write_plan plan;

    (void)state;
    assert_fails(DLPARK_E_ARGUMENT, "two of the tensors are called 'a'", dlpark__npz_plan(&plan, twins, 4, &npz, e));
    const dlpark_file_part shadowed[] = {{.name = "b.npy", .dtype = DLPARK_U8, .ndim = 1, .shape = three},
                                         {.name = "a.npy", .dtype = DLPARK_U8, .ndim = 1, .shape = three},
                                         {.name = "a", .dtype = DLPARK_U8, .ndim = 1, .shape = three}};
    assert_fails(DLPARK_E_ARGUMENT, "tensor 'a.npy': NumPy takes its name",
                 dlpark__npz_plan(&plan, shadowed, 3, &npz, e));
    assert_ok(dlpark__npz_plan(&plan, shadowed, 2, &npz, e));
    dlpark__write_plan_end(&plan);
    assert_fails(DLPARK_E_LIMIT, "more than 2^63-1 bytes together", dlpark__npz_plan(&plan, heavy, 2, &npz, e));
    assert_fails(DLPARK_E_UNSUPPORTED, "tensor 'a'", dlpark__npz_plan(&plan, &strange, 1, &npz, e));
    assert_fails(DLPARK_E_SHAPE, "shape[0] is -1", dlpark__npz_plan(&plan, &broken, 1, &npz, e));
    assert_fails(DLPARK_E_UNSUPPORTED, "no place for metadata, and 1 were given",
                 dlpark__npz_plan(&plan, twins, 1, &texts, e));
    assert_fails(DLPARK_E_LIMIT, "1000001 tensors, more than 1000000",
                 dlpark__npz_plan(&plan, twins, 1000001, &npz, e));
    assert_true(plan.head == NULL && plan.places == NULL && plan.state == NULL);
}

static void names_have_a_limit_together(void **state)
{
    enum { COUNT = 1526, NAME = 65531 };
    char *text = malloc(NAME);
    dlpark_file_part *parts = calloc(COUNT, sizeof *parts);
    dlpark__write_plan plan;

    (void)state;
    assert_true(text != NULL && parts != NULL);
    memset(text, 'x', NAME);
    for (size_t i = 0; i < COUNT; i++)
        parts[i] = (dlpark_file_part){.name = text, .name_nbytes = NAME, .dtype = DLPARK_U8, .ndim = 1, .shape = three};
    dlpark_error err;
    assert_int_equal(dlpark__npz_plan(&plan, parts, COUNT, &npz, &err), DLPARK_E_LIMIT);
    assert_non_null(strstr(err.message, "the names have more than 100000000 bytes"));
    free(text);
    free(parts);
}

/* ---- What fails ---- */

ssize_t __real_pwrite(int descriptor, const void *from, size_t nbytes, off_t offset);
ssize_t __wrap_pwrite(int descriptor, const void *from, size_t nbytes, off_t offset);

static int writes_until_failure; /* 0: none fails */

ssize_t __wrap_pwrite(int descriptor, const void *from, size_t nbytes, off_t offset)
{
    if (writes_until_failure > 0 && --writes_until_failure == 0) {
        errno = ENOSPC;
        return -1;
    }
    return __real_pwrite(descriptor, from, nbytes, offset);
}

static void every_allocation_and_every_write_fails(void **state)
{
    const dlpark_view view = view_of(DLPARK_F32, 2, two_by_three);
    static const char longer[] = "so long that the directory with its end is more than there is room for at first";
    const dlpark_file_part parts[] = {{.name = "a", .view = &view}, {.name = longer, .view = &view}};
    const long live = failing_alloc_live();

    (void)state;
    for (int is_write = 0; is_write < 2; is_write++) {
        bool is_done = false;
        int n = 0;
        while (!is_done) {
            tensor_file_path path = new_path();
            dlpark_error err;
            n++;
            writes_until_failure = is_write ? n : 0;
            failing_alloc_arm(is_write ? 0 : n);
            dlpark_status status = dlpark_file_save(path.text, parts, 2, &npz, &err);
            is_done = is_write ? writes_until_failure > 0 : failing_alloc_count() < n;
            failing_alloc_arm(0);
            writes_until_failure = 0;
            assert_int_equal(failing_alloc_live(), live);
            assert_int_equal(access(path.text, F_OK), is_done ? 0 : -1);
            assert_int_equal(status, is_done ? DLPARK_OK : is_write ? DLPARK_E_IO : DLPARK_E_MEMORY);
            if (is_done)
                tensor_file_drop(&path);
        }
        assert_int_equal(n, is_write ? 6 : n); /* two tensors, two headers, the directory, and then none */
        assert_true(n > 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(pieces_in_any_order_from_any_thread),
        cmocka_unit_test(the_same_tensors_make_the_same_file),
        cmocka_unit_test(large_members),
        cmocka_unit_test(many_members),
        cmocka_unit_test(names_that_are_refused),
        cmocka_unit_test(parts_that_are_refused),
        cmocka_unit_test(names_have_a_limit_together),
        cmocka_unit_test(every_allocation_and_every_write_fails),
    };

    return cmocka_run_group_tests(tests, fill, NULL);
}
