#include "tensor_file.h"

#include <errno.h>
#include <sys/vfs.h>

#include "access.h"
#include "failing_alloc.h"

/* ---- What the system says that a file is on ---- */

static long kind_of_system; /* 0: it cannot be asked */

int __wrap_fstatfs(int descriptor, struct statfs *status);

int __wrap_fstatfs(int descriptor, struct statfs *status)
{
    assert_true(descriptor >= 0);
    if (kind_of_system == 0) {
        errno = EIO;
        return -1;
    }
    memset(status, 0, sizeof *status);
    memcpy(&status->f_type, &kind_of_system, sizeof status->f_type);
    return 0;
}

static void auto_is_by_the_file_system(void **state)
{
    static const struct {
        long kind;
        dlpark_file_access expected;
    } systems[] = {
        {0, DLPARK_FILE_ACCESS_MAP},
        {0xEF53, DLPARK_FILE_ACCESS_MAP},          /* ext4 */
        {0x01021994, DLPARK_FILE_ACCESS_MAP},      /* tmpfs */
        {0x6969, DLPARK_FILE_ACCESS_PREFETCH},     /* NFS */
        {0x65735546, DLPARK_FILE_ACCESS_PREFETCH}, /* FUSE */
        {0x73757245, DLPARK_FILE_ACCESS_PREFETCH}, /* Coda, the last */
    };
    tensor_file_path path = tensor_file_save_bytes("x", 1);
    dlpark__source *source = NULL;

    (void)state;
    assert_ok(dlpark__source_open(&source, path.text, false, e));
    for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++) {
        kind_of_system = systems[i].kind;
        assert_int_equal(dlpark__access_choose(source, DLPARK_FILE_ACCESS_AUTO), systems[i].expected);
        assert_int_equal(dlpark__access_choose(source, DLPARK_FILE_ACCESS_READ), DLPARK_FILE_ACCESS_READ);
        assert_int_equal(dlpark__access_choose(source, DLPARK_FILE_ACCESS_MAP), DLPARK_FILE_ACCESS_MAP);
    }
    dlpark__source_release(source);
    tensor_file_drop(&path);
}

static void memory_is_on_none(void **state)
{
    dlpark__source *source = NULL;

    (void)state;
    kind_of_system = 0x6969;
    assert_ok(dlpark__source_open_memory(&source, "x", 1, NULL, NULL, e));
    assert_int_equal(dlpark__access_choose(source, DLPARK_FILE_ACCESS_AUTO), DLPARK_FILE_ACCESS_MAP);
    dlpark__source_release(source);
}

/* ---- Ways into memory ---- */

enum { LARGE = 9 << 20, SMALL = 100 };

/* A large tensor and a small one behind it. */
static tensor_file_path save_large(tensor_file *made)
{
    *made = tensor_file_text("{'large':{'dtype':'U8','shape':[9437184],'data_offsets':[0,9437184]},"
                             "'small':{'dtype':'U8','shape':[100],'data_offsets':[9437184,9437284]}}",
                             LARGE + SMALL);
    return tensor_file_save(made);
}

/* Each way gives the same bytes. */
static void every_access_gives_the_bytes(void **state)
{
    tensor_file made;
    tensor_file_path path = save_large(&made);

    (void)state;
    for (int access = DLPARK_FILE_ACCESS_AUTO; access <= DLPARK_FILE_ACCESS_READ; access++) {
        for (int threads = 0; threads <= 3; threads++) {
            dlpark_file_options options = {.access = (dlpark_file_access)access, .threads = threads};
            dlpark_file *file = NULL;
            dlpark_tensor loaded = DLPARK_TENSOR_EMPTY;
            dlpark_view view, copy;
            assert_ok(dlpark_file_open(&file, path.text, &options, e));
            assert_ok(dlpark_file_view(file, dlpark_file_find(file, "large", 5), &view, e));
            assert_memory_equal(view.data, made.bytes + made.data, LARGE);
            assert_ok(dlpark_file_load(file, dlpark_file_find(file, "large", 5), &loaded, e));
            dlpark_tensor_view(&loaded, &copy);
            assert_memory_equal(copy.data, made.bytes + made.data, LARGE);
            assert_ptr_not_equal(copy.data, view.data);
            dlpark_tensor_release(&loaded);
            assert_ok(dlpark_file_view(file, dlpark_file_find(file, "small", 5), &view, e));
            assert_memory_equal(view.data, made.bytes + made.data + LARGE, SMALL);
            dlpark_file_release(&file);
        }
    }
    tensor_file_drop(&path);
    tensor_file_end(&made);
}

/* A file that shrinks: an error before the tensor is handed out, or no matter at all. */
static void access_is_what_a_shrunken_file_meets(void **state)
{
    static const int64_t both[] = {0, 1}, wrong[] = {0, 2};
    tensor_file made;
    tensor_file_path path = save_large(&made);
    dlpark_file *prefetched = NULL, *read = NULL;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    (void)state;
    assert_ok(
        dlpark_file_open(&prefetched, path.text, &(dlpark_file_options){.access = DLPARK_FILE_ACCESS_PREFETCH}, e));
    assert_ok(dlpark_file_open(&read, path.text, &(dlpark_file_options){.access = DLPARK_FILE_ACCESS_READ}, e));
    assert_ok(dlpark_file_prefetch(prefetched, NULL, 0, e));
    assert_ok(dlpark_file_prefetch(prefetched, both, 2, e));
    assert_ok(dlpark_file_prefetch(read, both, 2, e));
    assert_fails(DLPARK_E_INDEX, "has no tensor 2, it has 2", dlpark_file_prefetch(prefetched, wrong, 2, e));
    assert_int_equal(truncate(path.text, 5 << 20), 0);
    assert_fails(DLPARK_E_FORMAT, "cut it short", dlpark_file_prefetch(prefetched, NULL, 0, e));
    assert_fails(DLPARK_E_FORMAT, "cut it short", dlpark_file_prefetch(prefetched, both, 2, e));
    assert_fails(DLPARK_E_FORMAT, "cut it short", dlpark_file_share(prefetched, 0, &tensor, e));
    assert_null(tensor.managed);
    assert_fails(DLPARK_E_FORMAT, "cut it short", dlpark_file_view(prefetched, 0, &view, e));
    assert_ok(dlpark_file_share(read, 0, &tensor, e));
    dlpark_file_release(&read);
    dlpark_file_release(&prefetched);
    dlpark_tensor_view(&tensor, &view);
    assert_memory_equal(view.data, made.bytes + made.data, LARGE);
    dlpark_tensor_release(&tensor);
    tensor_file_drop(&path);
    tensor_file_end(&made);
}

/* Opening by reading fails whole, for want of memory too. */
static void reading_on_opening_fails_whole(void **state)
{
    tensor_file made;
    tensor_file_path path = save_large(&made);
    dlpark_file_options options = {.access = DLPARK_FILE_ACCESS_READ};
    long live = failing_alloc_live();
    int failures = 0;

    (void)state;
    for (long nth = 1; nth < 100; nth++) {
        dlpark_file *file = NULL;
        failing_alloc_arm(nth);
        dlpark_status status = dlpark_file_open(&file, path.text, &options, NULL);
        failing_alloc_arm(0);
        if (status == DLPARK_OK) {
            dlpark_file_release(&file);
            break;
        }
        assert_int_equal(status, DLPARK_E_MEMORY);
        assert_null(file);
        assert_int_equal(failing_alloc_live(), live);
        failures++;
    }
    assert_in_range(failures, 5, 90);
    assert_int_equal(failing_alloc_live(), live);
    tensor_file_drop(&path);
    tensor_file_end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_is_by_the_file_system),     cmocka_unit_test(memory_is_on_none),
        cmocka_unit_test(every_access_gives_the_bytes),   cmocka_unit_test(access_is_what_a_shrunken_file_meets),
        cmocka_unit_test(reading_on_opening_fails_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
