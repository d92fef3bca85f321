#include "tensor_file.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <errno.h>
#include <sys/mman.h>

#include "failing_alloc.h"
#include "format.h"

void *__real_mmap(void *at, size_t nbytes, int protection, int flags, int descriptor, off_t offset);
void *__wrap_mmap(void *at, size_t nbytes, int protection, int flags, int descriptor, off_t offset);

static atomic_bool has_no_room;

void *__wrap_mmap(void *at, size_t nbytes, int protection, int flags, int descriptor, off_t offset)
{
    if (!atomic_load(&has_no_room))
        return __real_mmap(at, nbytes, protection, flags, descriptor, offset);
    errno = ENOMEM;
    return MAP_FAILED;
}

static bool is_little(void)
{
    const uint16_t one = 1;
    unsigned char first;

    memcpy(&first, &one, 1);
    return first == 1;
}

static atomic_int released;

static void count_release(void *owner)
{
    assert_ptr_equal(owner, &released);
    atomic_fetch_add(&released, 1);
}

static dlpark_file *open_made(const tensor_file *made, const dlpark_file_options *options)
{
    dlpark_file *file = NULL;

    atomic_store(&released, 0);
    assert_ok(dlpark_file_open_memory(&file, made->bytes, made->nbytes, &released, count_release, options, e));
    return file;
}

/* ---- Every dtype, every way ---- */

static const char every_type[] = "{'a':{'dtype':'U8','shape':[3],'data_offsets':[0,3]},"
                                 "'b':{'dtype':'F32','shape':[2,1],'data_offsets':[3,11]},"
                                 "'c':{'dtype':'C64','shape':[2],'data_offsets':[11,27]},"
                                 "'d':{'dtype':'BF16','shape':[1,3],'data_offsets':[27,33]},"
                                 "'e':{'dtype':'I64','shape':[],'data_offsets':[33,41]},"
                                 "'f':{'dtype':'F6_E3M2','shape':[4],'data_offsets':[41,44]},"
                                 "'g':{'dtype':'BOOL','shape':[2,2],'data_offsets':[44,48]},"
                                 "'h':{'dtype':'F64','shape':[2],'data_offsets':[48,64]}}";

/* Bytes of one number, the other way round where the machine has it so. */
static const size_t number_nbytes[] = {1, 4, 4, 2, 8, 1, 1, 8};

static void check_numbers(const unsigned char *found, const dlpark_file_entry *entry, const tensor_file *made,
                          size_t number)
{
    for (size_t i = 0; i < entry->nbytes; i++) {
        size_t from = is_little() ? i : i / number * number + number - 1 - i % number;
        assert_int_equal(found[i], made->bytes[entry->offset + from]);
    }
}

static void check_view(const dlpark_view *view, const dlpark_file_entry *entry)
{
    assert_true(dlpark_dtype_equal(view->dtype, entry->dtype));
    assert_int_equal(view->ndim, entry->ndim);
    assert_memory_equal(view->shape, entry->shape, (size_t)entry->ndim * sizeof *view->shape);
    assert_int_equal(view->device.device_type, kDLCPU);
    assert_int_equal(view->device.device_id, 0);
    assert_int_equal(dlpark_view_nbytes(view), entry->nbytes);
}

/* Into memory of the caller's, with a byte behind it. */
static void check_read(const dlpark_file *file, int64_t index, const dlpark_file_entry *entry, const tensor_file *made,
                       size_t number)
{
    unsigned char *to = malloc((size_t)entry->nbytes + 1);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    assert_non_null(to);
    memset(to, 0xEE, (size_t)entry->nbytes + 1);
    const dlpark_tensor_desc desc = {
        .data = to, .dtype = entry->dtype, .ndim = entry->ndim, .shape = DLPARK_DIMS(entry->shape)};
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    dlpark_tensor_view(&tensor, &view);
    assert_ok(dlpark_file_read(file, index, &view, e));
    check_numbers(to, entry, made, number);
    assert_int_equal(to[entry->nbytes], 0xEE);
    dlpark_tensor_release(&tensor);
    free(to);
}

static void check_tensor(dlpark_file *file, int64_t index, const tensor_file *made)
{
    dlpark_tensor shared = DLPARK_TENSOR_EMPTY, loaded = DLPARK_TENSOR_EMPTY;
    dlpark_file_entry entry;
    dlpark_view view;
    size_t number = number_nbytes[index];

    assert_ok(dlpark_file_entry_get(file, index, &entry, e));
    assert_ok(dlpark_file_load(file, index, &loaded, e));
    dlpark_tensor_view(&loaded, &view);
    check_view(&view, &entry);
    assert_int_equal(view.flags, 0);
    check_numbers(view.data, &entry, made, number);
    dlpark_tensor_release(&loaded);
    check_read(file, index, &entry, made, number);
    if (!is_little() && number > 1) {
        assert_fails(DLPARK_E_UNSUPPORTED, "little-endian", dlpark_file_view(file, index, &view, e));
        assert_fails(DLPARK_E_UNSUPPORTED, "little-endian", dlpark_file_share(file, index, &shared, e));
        assert_null(shared.managed);
        return;
    }
    assert_ok(dlpark_file_view(file, index, &view, e));
    check_view(&view, &entry);
    assert_int_equal(view.flags & DLPARK_VIEW_READ_ONLY, DLPARK_VIEW_READ_ONLY);
    assert_memory_equal(view.data, made->bytes + entry.offset, (size_t)entry.nbytes);
    assert_ok(dlpark_file_share(file, index, &shared, e));
    assert_int_equal(shared.managed->flags, DLPACK_FLAG_BITMASK_READ_ONLY);
    assert_ptr_equal(shared.managed->dl_tensor.data, view.data);
    dlpark_tensor_view(&shared, &view);
    check_view(&view, &entry);
    dlpark_tensor_release(&shared);
}

static void every_type_every_way(void **state)
{
    tensor_file made = tensor_file_text(every_type, 64);
    tensor_file_path path = tensor_file_save(&made);
    dlpark_file *file = NULL;

    (void)state;
    assert_ok(dlpark_file_open(&file, path.text, NULL, e));
    assert_int_equal(dlpark_file_count(file), sizeof number_nbytes / sizeof *number_nbytes);
    for (int64_t i = 0; i < dlpark_file_count(file); i++)
        check_tensor(file, i, &made);
    dlpark_file_release(&file);
    file = open_made(&made, NULL);
    for (int64_t i = 0; i < dlpark_file_count(file); i++)
        check_tensor(file, i, &made);
    dlpark_file_release(&file);
    assert_int_equal(atomic_load(&released), 1);
    tensor_file_drop(&path);
    tensor_file_end(&made);
}

static void tensors_outlive_the_file(void **state)
{
    tensor_file made = tensor_file_text("{'a':{'dtype':'U8','shape':[3],'data_offsets':[0,3]},"
                                        "'b':{'dtype':'I8','shape':[5],'data_offsets':[3,8]}}",
                                        8);
    tensor_file_path path = tensor_file_save(&made);
    long live = failing_alloc_live();

    (void)state;
    for (int way = 0; way < 2; way++) {
        dlpark_tensor tensors[3] = {DLPARK_TENSOR_EMPTY, DLPARK_TENSOR_EMPTY, DLPARK_TENSOR_EMPTY};
        dlpark_file *file = way == 0 ? open_made(&made, NULL) : NULL;
        dlpark_view view;
        if (way == 1)
            assert_ok(dlpark_file_open(&file, path.text, NULL, e));
        for (int i = 0; i < 3; i++)
            assert_ok(dlpark_file_share(file, i % 2, &tensors[i], e));
        dlpark_file_release(&file);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(atomic_load(&released), 0);
            dlpark_tensor_view(&tensors[i], &view);
            assert_memory_equal(view.data, made.bytes + made.data + i % 2 * 3, (size_t)dlpark_view_nbytes(&view));
            dlpark_tensor_release(&tensors[i]);
        }
        assert_int_equal(atomic_load(&released), way == 0);
        assert_int_equal(failing_alloc_live(), live);
        atomic_store(&released, 0);
    }
    tensor_file_drop(&path);
    tensor_file_end(&made);
}

/* ---- Flags ---- */

static void private_tensors_may_be_written(void **state)
{
    tensor_file made = tensor_file_text("{'a':{'dtype':'U8','shape':[3],'data_offsets':[0,3]}}", 3);
    tensor_file_path path = tensor_file_save(&made);
    dlpark_file *file = NULL, *other = NULL;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    int64_t nbytes;

    (void)state;
    assert_ok(dlpark_file_open(&file, path.text, &(dlpark_file_options){.is_private = true}, e));
    assert_ok(dlpark_file_view(file, 0, &view, e));
    assert_int_equal(view.flags, 0);
    dlpark_error err = test_fresh_error();
    unsigned char *bytes = dlpark_view_bytes_mut(&view, &nbytes, &err);
    assert_non_null(bytes);
    assert_int_equal(nbytes, 3);
    bytes[1] = 0;
    assert_ok(dlpark_file_share(file, 0, &tensor, e));
    assert_int_equal(tensor.managed->flags, 0);
    assert_int_equal(((unsigned char *)tensor.managed->dl_tensor.data)[1], 0);
    assert_ok(dlpark_file_open(&other, path.text, NULL, e));
    assert_ok(dlpark_file_view(other, 0, &view, e));
    assert_memory_equal(view.data, made.bytes + made.data, 3);
    assert_null(dlpark_view_bytes_mut(&view, &nbytes, &err));
    assert_int_equal(err.status, DLPARK_E_READ_ONLY);
    dlpark_tensor_release(&tensor);
    assert_ok(dlpark_file_load(file, 0, &tensor, e)); /* which reads, and never maps */
    assert_memory_equal(tensor.managed->dl_tensor.data, made.bytes + made.data, 3);
    dlpark_tensor_release(&tensor);
    dlpark_file_release(&file);
    dlpark_file_release(&other);
    tensor_file_drop(&path);
    tensor_file_end(&made);
}

static void loading_never_maps(void **state)
{
    tensor_file made = tensor_file_text("{'a':{'dtype':'U8','shape':[3],'data_offsets':[0,3]}}", 3);
    tensor_file_path path = tensor_file_save(&made);
    dlpark_file *file = NULL;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_file_open(&file, path.text, NULL, e));
    assert_ok(dlpark_file_load(file, 0, &tensor, e));
    dlpark_tensor_view(&tensor, &view);
    memset(view.data, 0, 3);
    assert_ok(dlpark_file_read(file, 0, &view, e));
    assert_memory_equal(view.data, made.bytes + made.data, 3);
    assert_null(atomic_load(&file->source->map));
    dlpark_file_release(&file);
    dlpark_tensor_release(&tensor); /* which has nothing of the file */
    tensor_file_drop(&path);
    tensor_file_end(&made);
}

/* An address is a multiple of what the entry says, whatever the file lies in. */
static void alignment_is_of_the_address(void **state)
{
    enum { DATA = 3 * 4096 };
    char header[4096];
    size_t used = (size_t)snprintf(header, sizeof header, "{");
    static const unsigned cuts[] = {0, 1, 2, 4, 8, 100, 512, 2048, 4096 - 40, 4096, 8192, 8200, DATA};

    (void)state;
    for (size_t i = 0; i + 1 < sizeof cuts / sizeof *cuts; i++)
        used += (size_t)snprintf(header + used, sizeof header - used,
                                 "%s'%zu':{'dtype':'U8','shape':[%u],'data_offsets':[%u,%u]}", i > 0 ? "," : "", i,
                                 cuts[i + 1] - cuts[i], cuts[i], cuts[i + 1]);
    header[used++] = '}';
    memset(header + used, ' ', 4088 - used);
    header[4088] = '\0';
    tensor_file made = tensor_file_text(header, DATA);
    unsigned char *aligned = aligned_alloc(4096, 8 * 4096);
    assert_non_null(aligned);
    for (size_t shift = 0; shift < 70; shift = shift * 2 + 1) {
        dlpark_file *file = NULL;
        memcpy(aligned + shift, made.bytes, made.nbytes);
        assert_ok(dlpark_file_open_memory(&file, aligned + shift, made.nbytes, NULL, NULL, NULL, e));
        for (int64_t i = 0; i < dlpark_file_count(file); i++) {
            dlpark_file_entry entry;
            dlpark_view view;
            assert_ok(dlpark_file_entry_get(file, i, &entry, e));
            assert_ok(dlpark_file_view(file, i, &view, e));
            assert_true(entry.alignment_bytes >= 1 && entry.alignment_bytes <= 4096);
            assert_int_equal((uintptr_t)view.data % entry.alignment_bytes, 0);
            assert_true(entry.alignment_bytes == 4096 || (uintptr_t)view.data % (entry.alignment_bytes * 2) != 0);
        }
        dlpark_file_release(&file);
    }
    tensor_file_path path = tensor_file_save(&made);
    dlpark_file *file = NULL;
    dlpark_file_entry entry;
    assert_ok(dlpark_file_open(&file, path.text, NULL, e));
    assert_ok(dlpark_file_entry_get(file, 0, &entry, e));
    assert_int_equal(entry.alignment_bytes, 4096);
    assert_ok(dlpark_file_entry_get(file, 3, &entry, e));
    assert_int_equal(entry.alignment_bytes, 4);
    dlpark_file_release(&file);
    tensor_file_drop(&path);
    free(aligned);
    tensor_file_end(&made);
}

/* ---- What no tensor can be made of ---- */

static void more_than_64_dimensions_are_listed_only(void **state)
{
    for (int ndim = 63; ndim < 67; ndim++) {
        char header[600] = "{'t\\u001b':{'dtype':'U8','shape':[";
        for (int i = 0; i < ndim; i++)
            strcat(header, i == 0 ? "2" : ",1");
        strcat(header, "],'data_offsets':[0,2]}}");
        tensor_file made = tensor_file_text(header, 2);
        dlpark_file *file = open_made(&made, NULL);
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        dlpark_file_entry entry;
        dlpark_view view = {.ndim = 0};
        assert_ok(dlpark_file_entry_get(file, 0, &entry, e));
        assert_int_equal(entry.ndim, ndim);
        assert_int_equal(entry.shape[0], 2);
        assert_int_equal(entry.shape[62], 1);
        if (ndim <= 64) {
            assert_ok(dlpark_file_view(file, 0, &view, e));
            assert_int_equal(view.ndim, ndim);
        } else {
            const char *why = "tensor 't\\x1B' has 6";
            assert_fails(DLPARK_E_UNSUPPORTED, why, dlpark_file_view(file, 0, &view, e));
            assert_fails(DLPARK_E_UNSUPPORTED, why, dlpark_file_share(file, 0, &tensor, e));
            assert_fails(DLPARK_E_UNSUPPORTED, why, dlpark_file_load(file, 0, &tensor, e));
            assert_fails(DLPARK_E_UNSUPPORTED, why, dlpark_file_read(file, 0, &view, e));
        }
        dlpark_file_release(&file);
        tensor_file_end(&made);
    }
    (void)state;
}

static void arguments_are_refused(void **state)
{
    tensor_file made = tensor_file_text("{'a':{'dtype':'U8','shape':[3],'data_offsets':[0,3]}}", 3);
    dlpark_file *file = open_made(&made, NULL);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, full = DLPARK_TENSOR_EMPTY;
    dlpark_view view, untouched;
    static const int64_t wrong[] = {-1, 1, INT64_MAX, INT64_MIN};

    (void)state;
    memset(&view, 0x5A, sizeof view);
    memset(&untouched, 0x5A, sizeof untouched);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_fails(DLPARK_E_INDEX, "has no tensor", dlpark_file_view(file, wrong[i], &view, e));
        assert_fails(DLPARK_E_INDEX, "has no tensor", dlpark_file_share(file, wrong[i], &tensor, e));
        assert_fails(DLPARK_E_INDEX, "has no tensor", dlpark_file_load(file, wrong[i], &tensor, e));
        assert_fails(DLPARK_E_INDEX, "has no tensor", dlpark_file_read(file, wrong[i], &view, e));
    }
    assert_memory_equal(&view, &untouched, sizeof view);
    assert_null(tensor.managed);
    assert_ok(dlpark_file_load(file, 0, &full, e));
    const dlpark_tensor before = full;
    assert_fails(DLPARK_E_NOT_EMPTY, "", dlpark_file_share(file, 0, &full, e));
    assert_fails(DLPARK_E_NOT_EMPTY, "", dlpark_file_load(file, 0, &full, e));
    assert_ptr_equal(full.managed, before.managed);
    dlpark_file_release(&file);
    assert_int_equal(atomic_load(&released), 1); /* nothing that failed has a share in it */
    dlpark_tensor_release(&full);
    tensor_file_end(&made);
}

/* ---- float4 ---- */

static void check_float4(const dlpark_file *file, int64_t index, DLDataType dtype, int32_t ndim, const int64_t *shape)
{
    dlpark_file_entry entry;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    assert_ok(dlpark_file_entry_get(file, index, &entry, e));
    assert_true(dlpark_dtype_equal(entry.dtype, dtype));
    assert_int_equal(entry.ndim, ndim);
    assert_memory_equal(entry.shape, shape, (size_t)ndim * sizeof *shape);
    assert_ok(dlpark_file_load(file, index, &tensor, e));
    const DLTensor *made = &tensor.managed->dl_tensor;
    assert_true(dlpark_dtype_equal(made->dtype, dtype));
    assert_memory_equal(made->shape, shape, (size_t)ndim * sizeof *shape);
    if (entry.nbytes > 0)
        assert_int_equal(((const unsigned char *)made->data)[entry.nbytes - 1],
                         tensor_file_byte((size_t)(entry.offset - file->index.entries[0].begin + entry.nbytes - 1)));
    dlpark_tensor_release(&tensor);
}

static void float4_has_three_forms(void **state)
{
    tensor_file made = tensor_file_text("{'even':{'dtype':'F4','shape':[3,4],'data_offsets':[0,6]},"
                                        "'odd':{'dtype':'F4','shape':[4,3],'data_offsets':[6,12]},"
                                        "'none':{'dtype':'F4','shape':[2,0],'data_offsets':[12,12]},"
                                        "'other':{'dtype':'F6_E2M3','shape':[4],'data_offsets':[12,15]},"
                                        "'u8':{'dtype':'U8','shape':[],'data_offsets':[15,16]}}",
                                        16);
    const DLDataType pairs = DLPARK_DTYPE(kDLFloat4_e2m1fn, 4, 2), one = DLPARK_DTYPE(kDLFloat4_e2m1fn, 4, 1);

    (void)state;
    for (int form = DLPARK_FILE_FLOAT4_LOGICAL; form <= DLPARK_FILE_FLOAT4_BYTES; form++) {
        const dlpark_file_options options = {.float4 = (dlpark_file_float4)form};
        dlpark_file *file = open_made(&made, &options);
        DLDataType dtype = form == DLPARK_FILE_FLOAT4_LOGICAL ? one
                           : form == DLPARK_FILE_FLOAT4_PAIRS ? pairs
                                                              : DLPARK_U8;
        check_float4(file, dlpark_file_find(file, "even", 4), dtype, 2,
                     (const int64_t[]){3, form == DLPARK_FILE_FLOAT4_LOGICAL ? 4 : 2});
        check_float4(file, dlpark_file_find(file, "odd", 3), one, 2, (const int64_t[]){4, 3});
        check_float4(file, dlpark_file_find(file, "none", 4), dtype, 2, (const int64_t[]){2, 0});
        check_float4(file, dlpark_file_find(file, "other", 5), DLPARK_DTYPE(kDLFloat6_e2m3fn, 6, 1), 1,
                     (const int64_t[]){4});
        check_float4(file, dlpark_file_find(file, "u8", 2), DLPARK_U8, 0, NULL);
        dlpark_file_release(&file);
    }
    tensor_file_end(&made);
}

static void float4_of_many_dimensions_stays_as_it_is(void **state)
{
    char header[400] = "{'t':{'dtype':'F4','shape':[2";
    dlpark_file_entry entry;

    (void)state;
    for (int i = 0; i < 64; i++)
        strcat(header, ",1");
    strcat(header, ",0],'data_offsets':[0,0]}}");
    tensor_file made = tensor_file_text(header, 0);
    dlpark_file *file = open_made(&made, &(dlpark_file_options){.float4 = DLPARK_FILE_FLOAT4_BYTES});
    assert_ok(dlpark_file_entry_get(file, 0, &entry, e));
    assert_int_equal(entry.dtype.code, kDLFloat4_e2m1fn);
    assert_int_equal(entry.ndim, 66);
    assert_int_equal(entry.shape[63], 1);
    dlpark_file_release(&file);
    tensor_file_end(&made);
}

/* ---- Nothing at all ---- */

static void tensors_without_bytes(void **state)
{
    tensor_file made = tensor_file_text("{'a':{'dtype':'F32','shape':[2,0,3],'data_offsets':[0,0]}}", 0);
    dlpark_file *file = open_made(&made, NULL);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_file_view(file, 0, &view, e));
    assert_int_equal(dlpark_view_numel(&view), 0);
    assert_int_equal(view.shape[2], 3);
    assert_ok(dlpark_file_share(file, 0, &tensor, e));
    assert_null(tensor.managed->dl_tensor.data);
    dlpark_tensor_release(&tensor);
    assert_ok(dlpark_file_load(file, 0, &tensor, e));
    dlpark_tensor_view(&tensor, &view);
    assert_ok(dlpark_file_read(file, 0, &view, e));
    dlpark_tensor_release(&tensor);
    dlpark_file_release(&file);
    tensor_file_end(&made);
}

/* ---- What goes wrong on the way ---- */

static void file_that_was_cut_short_is_told(void **state)
{
    tensor_file made = tensor_file_text("{'a':{'dtype':'U8','shape':[3],'data_offsets':[0,3]},"
                                        "'b':{'dtype':'U8','shape':[5],'data_offsets':[3,8]}}",
                                        8);
    tensor_file_path path = tensor_file_save(&made);
    dlpark_file *file = NULL;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, other = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    long live = failing_alloc_live();

    (void)state;
    assert_ok(dlpark_file_open(&file, path.text, NULL, e));
    assert_ok(dlpark_file_load(file, 1, &other, e));
    dlpark_tensor_view(&other, &view);
    assert_int_equal(truncate(path.text, (off_t)made.data + 4), 0);
    assert_fails(DLPARK_E_FORMAT, "another process cut it short", dlpark_file_load(file, 1, &tensor, e));
    assert_fails(DLPARK_E_FORMAT, "another process cut it short", dlpark_file_read(file, 1, &view, e));
    assert_null(tensor.managed);
    assert_ok(dlpark_file_load(file, 0, &tensor, e)); /* which is all there */
    dlpark_tensor_release(&tensor);
    dlpark_tensor_release(&other);
    dlpark_file_release(&file);
    assert_int_equal(failing_alloc_live(), live);
    tensor_file_drop(&path);
    tensor_file_end(&made);
}

static void no_room_for_the_mapping(void **state)
{
    tensor_file made = tensor_file_text("{'a':{'dtype':'U8','shape':[3],'data_offsets':[0,3]}}", 3);
    tensor_file_path path = tensor_file_save(&made);
    dlpark_file *file = NULL;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view, untouched;

    (void)state;
    memset(&view, 0x5A, sizeof view);
    memset(&untouched, 0x5A, sizeof untouched);
    assert_ok(dlpark_file_open(&file, path.text, NULL, e));
    atomic_store(&has_no_room, true);
    assert_fails(DLPARK_E_MEMORY, path.text, dlpark_file_view(file, 0, &view, e));
    assert_fails(DLPARK_E_MEMORY, path.text, dlpark_file_share(file, 0, &tensor, e));
    assert_ok(dlpark_file_load(file, 0, &tensor, e));
    atomic_store(&has_no_room, false);
    assert_memory_equal(&view, &untouched, sizeof view);
    dlpark_tensor_release(&tensor);
    assert_ok(dlpark_file_share(file, 0, &tensor, e));
    dlpark_tensor_release(&tensor);
    dlpark_file_release(&file);
    tensor_file_drop(&path);
    tensor_file_end(&made);
}

static void destination_must_fit(void **state)
{
    tensor_file made = tensor_file_text("{'a':{'dtype':'U8','shape':[2,3],'data_offsets':[0,6]},"
                                        "'b':{'dtype':'F4','shape':[4],'data_offsets':[6,8]},"
                                        "'c':{'dtype':'F4','shape':[0],'data_offsets':[8,8]}}",
                                        8);
    dlpark_file *file = open_made(&made, NULL);
    unsigned char to[16] = {0}, none[16] = {0};
    int64_t shape[] = {2, 3}, strides[] = {3, 1};
    DLTensor tensor = {to, {kDLCPU, 0}, 2, DLPARK_U8, shape, strides, 0};
    dlpark_view view, wrong;

    (void)state;
    assert_ok(dlpark_check(&tensor, 0, &view, e));
    assert_fails(DLPARK_E_READ_ONLY, "", dlpark_file_read(file, 0, &view, e)); /* nobody said that it may be written */
    assert_ok(dlpark_view_allow_write(&view, e));
    wrong = view;
    wrong.dtype = DLPARK_I8;
    assert_fails(DLPARK_E_DTYPE, "the destination is i8, tensor 'a' is u8", dlpark_file_read(file, 0, &wrong, e));
    wrong = view;
    wrong.shape[1] = 2;
    assert_fails(DLPARK_E_SHAPE, "the destination is [2, 2], tensor 'a' is [2, 3]",
                 dlpark_file_read(file, 0, &wrong, e));
    wrong = view;
    wrong.ndim = 1;
    assert_fails(DLPARK_E_SHAPE, "the destination is [2], tensor 'a' is [2, 3]", dlpark_file_read(file, 0, &wrong, e));
    wrong = view;
    wrong.strides[0] = 4;
    assert_fails(DLPARK_E_LAYOUT, "", dlpark_file_read(file, 0, &wrong, e));
    wrong = view;
    wrong.flags |= DLPARK_VIEW_READ_ONLY;
    assert_fails(DLPARK_E_READ_ONLY, "", dlpark_file_read(file, 0, &wrong, e));
    wrong = view;
    wrong.device.device_type = kDLCUDA;
    assert_fails(DLPARK_E_DEVICE, "", dlpark_file_read(file, 0, &wrong, e));
    assert_memory_equal(to, none, sizeof to);
    assert_ok(dlpark_file_read(file, 0, &view, e));
    assert_memory_equal(to, made.bytes + made.data, 6);
    /* Two elements a byte, or one. */
    tensor = (DLTensor){to, {kDLCPU, 0}, 1, DLPARK_DTYPE(kDLFloat4_e2m1fn, 4, 1), (int64_t[]){4}, (int64_t[]){1}, 0};
    for (int padded = 0; padded < 2; padded++) {
        assert_ok(dlpark_check(&tensor, padded ? DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED : 0, &view, e));
        assert_ok(dlpark_view_allow_write(&view, e));
        if (padded)
            assert_fails(DLPARK_E_LAYOUT, "padded", dlpark_file_read(file, 1, &view, e));
        else
            assert_ok(dlpark_file_read(file, 1, &view, e));
        view.shape[0] = 0;
        if (!padded)
            assert_ok(dlpark_file_read(file, 2, &view, e));
    }
    assert_memory_equal(to, made.bytes + made.data + 6, 2);
    assert_int_equal(to[2], made.bytes[made.data + 2]);
    dlpark_file_release(&file);
    tensor_file_end(&made);
}

static void no_memory_leaves_nothing(void **state)
{
    tensor_file made = tensor_file_text("{'a':{'dtype':'U8','shape':[3],'data_offsets':[0,3]}}", 3);
    long live = failing_alloc_live();

    (void)state;
    for (int way = 0; way < 2; way++) {
        bool is_made = false;
        for (long nth = 1, asked; !is_made; nth++) {
            dlpark_file *file = open_made(&made, NULL);
            dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
            failing_alloc_arm_from(nth); /* what could not be had the usual way is asked for again */
            dlpark_status status =
                way == 0 ? dlpark_file_share(file, 0, &tensor, NULL) : dlpark_file_load(file, 0, &tensor, NULL);
            asked = failing_alloc_count();
            failing_alloc_arm(0);
            is_made = nth > asked;
            assert_int_equal(status, is_made ? DLPARK_OK : DLPARK_E_MEMORY);
            assert_int_equal(tensor.managed == NULL, status != DLPARK_OK);
            dlpark_tensor_release(&tensor);
            dlpark_file_release(&file);
            assert_int_equal(atomic_load(&released), 1);
            assert_int_equal(failing_alloc_live(), live);
        }
    }
    tensor_file_end(&made);
}

/* ---- Threads ---- */

enum { WORKERS = 4, ROUNDS = 50 };

typedef struct worker {
    dlpark_file *file;
    const tensor_file *made;
    dlpark_tensor kept;
} worker;

static void *use_the_file(void *argument)
{
    worker *own = argument;
    intptr_t faults = 0;
    dlpark_view view;

    for (int64_t i = 0; i < 2; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, loaded = DLPARK_TENSOR_EMPTY;
        faults += dlpark_file_view(own->file, i, &view, NULL) != DLPARK_OK ||
                  memcmp(view.data, own->made->bytes + own->made->data + 3 * i, (size_t)view.shape[0]) != 0;
        faults +=
            dlpark_file_share(own->file, i, &tensor, NULL) != DLPARK_OK || tensor.managed->dl_tensor.data != view.data;
        faults += dlpark_file_load(own->file, i, &loaded, NULL) != DLPARK_OK;
        faults += dlpark_file_find(own->file, i == 0 ? "a" : "b", 1) != i;
        dlpark_tensor_release(&loaded);
        if (i == 0)
            dlpark_tensor_release(&tensor);
        else
            own->kept = tensor;
    }
    return (void *)faults;
}

static void *end_what_is_kept(void *argument)
{
    worker *own = argument;

    dlpark_tensor_release(&own->kept);
    return NULL;
}

static void on_all_workers(void *(*work)(void *), worker *workers)
{
    pthread_t threads[WORKERS];

    for (int i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    for (int i = 0; i < WORKERS; i++) {
        void *faults = NULL;
        assert_int_equal(pthread_join(threads[i], &faults), 0);
        assert_null(faults);
    }
}

static void threads_share_a_file(void **state)
{
    tensor_file made = tensor_file_text("{'a':{'dtype':'U8','shape':[3],'data_offsets':[0,3]},"
                                        "'b':{'dtype':'U8','shape':[5],'data_offsets':[3,8]}}",
                                        8);
    tensor_file_path path = tensor_file_save(&made);

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        worker workers[WORKERS];
        dlpark_file *file = round % 2 == 0 ? open_made(&made, NULL) : NULL;
        if (file == NULL)
            assert_ok(dlpark_file_open(&file, path.text, NULL, e));
        for (int i = 0; i < WORKERS; i++)
            workers[i] = (worker){file, &made, DLPARK_TENSOR_EMPTY};
        on_all_workers(use_the_file, workers);
        dlpark_file_release(&file);
        on_all_workers(end_what_is_kept, workers);
        assert_int_equal(atomic_load(&released), round % 2 == 0);
        atomic_store(&released, 0);
    }
    tensor_file_drop(&path);
    tensor_file_end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_every_way),
        cmocka_unit_test(tensors_outlive_the_file),
        cmocka_unit_test(private_tensors_may_be_written),
        cmocka_unit_test(loading_never_maps),
        cmocka_unit_test(alignment_is_of_the_address),
        cmocka_unit_test(more_than_64_dimensions_are_listed_only),
        cmocka_unit_test(arguments_are_refused),
        cmocka_unit_test(float4_has_three_forms),
        cmocka_unit_test(float4_of_many_dimensions_stays_as_it_is),
        cmocka_unit_test(tensors_without_bytes),
        cmocka_unit_test(file_that_was_cut_short_is_told),
        cmocka_unit_test(no_room_for_the_mapping),
        cmocka_unit_test(destination_must_fit),
        cmocka_unit_test(no_memory_leaves_nothing),
        cmocka_unit_test(threads_share_a_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
