/* dlpark_file_writer_put_from(): the other half of file_write_test.c. */
#include "tensor_file.h"

#include <errno.h>

#include <dlpark/file_write.h>

#include "failing_alloc.h"
#include "format.h"

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

/* ---- A file to be replaced ---- */

static tensor_file_path somewhere(void)
{
    return tensor_file_save_bytes("old", 3);
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

/* ---- From a file ---- */

static const char from_text[] = "{'a':{'dtype':'U16','shape':[2],'data_offsets':[0,4]},"
                                "'b':{'dtype':'U8','shape':[3],'data_offsets':[4,7]},"
                                "'c':{'dtype':'U8','shape':[0],'data_offsets':[7,7]},"
                                "'d':{'dtype':'U8','shape':[],'data_offsets':[7,8]}}";

/* What of that file each part is, and a fifth with a shape of its own. */
static void declare(const dlpark_file *file, dlpark_file_entry entries[5], dlpark_file_part parts[5])
{
    for (int64_t i = 0; i < 5; i++) {
        dlpark_file_entry *entry = &entries[i];
        assert_ok(dlpark_file_entry_get(file, i % 4, entry, e));
        parts[i] = (dlpark_file_part){.name = i < 4 ? entry->name : "e",
                                      .name_nbytes = 1,
                                      .dtype = entry->dtype,
                                      .ndim = entry->ndim,
                                      .shape = entry->shape};
    }
    entries[4].shape[0] = 3;
}

/* Whether a file's tensors have the bytes of another's, whatever the byte order of this machine. */
static void assert_same_bytes(const char *path, const unsigned char *bytes, const dlpark_file_entry *entries)
{
    dlpark_file *file = NULL;
    FILE *raw = fopen(path, "rb");

    assert_non_null(raw);
    assert_ok(dlpark_file_open(&file, path, NULL, e));
    for (int64_t i = 0; i < 4; i++) {
        unsigned char read[64];
        dlpark_file_entry entry;
        size_t nbytes = (size_t)entries[i].nbytes;
        assert_ok(dlpark_file_entry_get(file, dlpark_file_find(file, entries[i].name, 1), &entry, e));
        assert_int_equal(entry.nbytes, nbytes);
        assert_int_equal(fseek(raw, (long)entry.offset, SEEK_SET), 0);
        assert_int_equal(fread(read, 1, nbytes, raw), nbytes);
        assert_memory_equal(read, bytes + entries[i].offset, nbytes);
    }
    fclose(raw);
    dlpark_file_release(&file);
}

/* All of a file's tensors, some of them at a time, in the order of the declaration or in another. */
static void tensors_come_from_a_file(void **state)
{
    static const int64_t orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 0, 3, 2}};
    tensor_file made = tensor_file_text(from_text, 8);
    tensor_file_path path = somewhere(), from = tensor_file_save(&made);
    dlpark_file *files[2] = {NULL, NULL};
    dlpark_file_entry entries[5];
    dlpark_file_part parts[5], shuffled[4];

    (void)state;
    assert_ok(dlpark_file_open_memory(&files[0], made.bytes, made.nbytes, NULL, NULL, NULL, e));
    assert_ok(dlpark_file_open(&files[1], from.text, NULL, e));
    declare(files[0], entries, parts);
    for (int way = 0; way < 24; way++) {
        const int64_t *order = orders[way % 3];
        size_t first = (size_t)way / 6;
        dlpark_file_writer *writer = NULL;
        for (int i = 0; i < 4; i++)
            shuffled[i] = parts[order[i]];
        assert_ok(dlpark_file_writer_open(&writer, path.text, shuffled, 4, NULL, e));
        assert_ok(dlpark_file_writer_put_from(writer, first, 4 - first, files[way / 3 % 2], order + first, e));
        assert_ok(dlpark_file_writer_put_from(writer, 0, first, files[way / 3 % 2], order, e));
        assert_ok(dlpark_file_writer_finish(&writer, e));
        assert_same_bytes(path.text, made.bytes, entries);
    }
    dlpark_file_release(&files[0]);
    dlpark_file_release(&files[1]);
    tensor_file_drop(&from);
    tensor_file_drop(&path);
    tensor_file_end(&made);
}

static void tensors_of_a_file_are_what_was_declared(void **state)
{
    tensor_file made = tensor_file_text(from_text, 8);
    tensor_file_path path = somewhere();
    dlpark_file *file = NULL;
    dlpark_file_writer *writer = NULL;
    dlpark_file_entry entries[5];
    dlpark_file_part parts[5];
    const int64_t numbers[] = {0, 1, 2, 3, 0};

    (void)state;
    assert_ok(dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, NULL, e));
    declare(file, entries, parts);
    assert_ok(dlpark_file_writer_open(&writer, path.text, parts, 5, NULL, e));
    assert_fails(DLPARK_E_INDEX, "there is no tensor 5, 5 were declared",
                 dlpark_file_writer_put_from(writer, 5, 1, file, numbers, e));
    assert_fails(DLPARK_E_INDEX, "has no tensor 4, it has 4",
                 dlpark_file_writer_put_from(writer, 0, 1, file, (const int64_t[]){4}, e));
    assert_fails(DLPARK_E_DTYPE, "tensor 'a' was declared as u16, and is u8 in its file",
                 dlpark_file_writer_put_from(writer, 0, 1, file, numbers + 1, e));
    assert_fails(DLPARK_E_SHAPE, "tensor 'b' was declared as [3], and is of 0 dimensions, 1 bytes, in its file",
                 dlpark_file_writer_put_from(writer, 1, 1, file, numbers + 3, e));
    assert_fails(DLPARK_E_SHAPE, "tensor 'e' was declared as [3], and is of 1 dimensions, 4 bytes, in its file",
                 dlpark_file_writer_put_from(writer, 4, 1, file, numbers, e));
    assert_ok(dlpark_file_writer_put_from(writer, 0, 0, file, NULL, e));
    assert_ok(dlpark_file_writer_put_from(writer, 0, 4, file, numbers, e));
    assert_int_equal(dlpark_file_writer_finish(&writer, NULL), DLPARK_E_ARGUMENT); /* the fifth has no bytes */
    assert_old(&path);
    dlpark_file_release(&file);
    tensor_file_drop(&path);
    tensor_file_end(&made);
}

static int unpacked; /* calls that gave bytes */

static dlpark_status unpack(const dlpark_file *file, int64_t index, uint64_t begin, unsigned char *to, uint64_t nbytes,
                            dlpark_error *err)
{
    (void)file;
    for (uint64_t i = 0; i < nbytes; i++)
        to[i] = (unsigned char)(100 + (begin + i) % 101);
    unpacked += index == 0;
    return index == 0 ? DLPARK_OK : dlpark_error_set(err, DLPARK_E_FORMAT, "of it no bytes can be made");
}

/* A file whose format has what safetensors has not: tensors that are packed, and the other byte order. */
typedef struct strange {
    tensor_file made;
    dlpark_file *file;
    dlpark__format format;
    dlpark__index_type types[32];
    dlpark_file_entry entries[2];
    dlpark_file_part parts[2];
} strange;

static void strange_begin(strange *own, const char *header, size_t nbytes, bool is_big_endian, int packed)
{
    own->made = tensor_file_text(header, nbytes);
    own->file = NULL;
    assert_ok(dlpark_file_open_memory(&own->file, own->made.bytes, own->made.nbytes, NULL, NULL, NULL, e));
    own->format = *own->file->format;
    own->format.read_bytes = unpack;
    for (int i = 0; i < 22; i++) {
        own->types[i] = own->file->index.types[i];
        own->types[i].is_big_endian = is_big_endian;
    }
    own->file->format = &own->format;
    own->file->index.types = own->types;
    for (int i = 0; i < 2; i++) {
        dlpark_file_entry *entry = &own->entries[i];
        own->file->index.entries[i].is_compressed = packed == i;
        assert_ok(dlpark_file_entry_get(own->file, i, entry, e));
        own->parts[i] = (dlpark_file_part){
            .name = entry->name, .name_nbytes = 1, .dtype = entry->dtype, .ndim = entry->ndim, .shape = entry->shape};
    }
}

static void strange_end(strange *own)
{
    dlpark_file_release(&own->file);
    tensor_file_end(&own->made);
}

static const char strange_text[] = "{'a':{'dtype':'U8','shape':[2,2],'data_offsets':[0,4]},"
                                   "'b':{'dtype':'U16','shape':[2],'data_offsets':[4,8]}}";

/* What does not lie in its file as it is to be written goes through memory. */
static void other_layouts_go_through_memory(void **state)
{
    static const unsigned char expected[][8] = {/* u16 comes first */
                                                {5, 6, 7, 8, 1, 2, 3, 4},
                                                {6, 5, 8, 7, 1, 2, 3, 4},
                                                {5, 6, 7, 8, 100, 101, 102, 103}};
    tensor_file_path path = somewhere();

    (void)state;
    for (int way = 0; way < 3; way++) {
        strange own;
        dlpark_file_writer *writer = NULL;
        unsigned char bytes[8];
        strange_begin(&own, strange_text, 8, way == 1, way == 2 ? 0 : -1);
        assert_ok(dlpark_file_writer_open(&writer, path.text, own.parts, 2, NULL, e));
        assert_ok(dlpark_file_writer_put_from(writer, 0, 2, own.file, (const int64_t[]){0, 1}, e));
        assert_ok(dlpark_file_writer_finish(&writer, e));
        FILE *raw = fopen(path.text, "rb");
        assert_non_null(raw);
        assert_int_equal(fseek(raw, -8, SEEK_END), 0);
        assert_int_equal(fread(bytes, 1, 8, raw), 8);
        fclose(raw);
        assert_memory_equal(bytes, expected[way], 8);
        strange_end(&own);
    }
    tensor_file_drop(&path);
}

static void large_tensors_go_through_memory_in_pieces(void **state)
{
    enum { NUMEL = 2 * 1048576 + 3 };
    tensor_file_path path = somewhere();
    strange own;
    dlpark_file_writer *writer = NULL;
    unsigned char *bytes = malloc(NUMEL);

    (void)state;
    assert_non_null(bytes);
    strange_begin(&own,
                  "{'a':{'dtype':'U8','shape':[2097155],'data_offsets':[0,2097155]},"
                  "'b':{'dtype':'U8','shape':[0],'data_offsets':[2097155,2097155]}}",
                  NUMEL, false, 0);
    assert_ok(dlpark_file_writer_open(&writer, path.text, own.parts, 2, NULL, e));
    unpacked = 0;
    assert_ok(dlpark_file_writer_put_from(writer, 0, 2, own.file, (const int64_t[]){0, 1}, e));
    assert_int_equal(unpacked, 3);
    assert_ok(dlpark_file_writer_finish(&writer, e));
    FILE *raw = fopen(path.text, "rb");
    assert_non_null(raw);
    assert_int_equal(fseek(raw, -NUMEL, SEEK_END), 0);
    assert_int_equal(fread(bytes, 1, NUMEL, raw), NUMEL);
    fclose(raw);
    for (int i = 0; i < NUMEL; i++)
        assert_int_equal(bytes[i], 100 + i % 101);
    free(bytes);
    strange_end(&own);
    tensor_file_drop(&path);
}

static void what_fails_on_the_way_through_memory(void **state)
{
    tensor_file_path path = somewhere();

    (void)state;
    for (int way = 0; way < 3; way++) {
        strange own;
        dlpark_error err = {.message = ""};
        dlpark_file_writer *writer = NULL;
        strange_begin(&own, strange_text, 8, false, way == 0 ? 1 : 0);
        assert_ok(dlpark_file_writer_open(&writer, path.text, own.parts, 2, NULL, e));
        if (way == 1)
            failing_alloc_arm(1);
        if (way == 2)
            fail_writes_from(1);
        dlpark_status status = dlpark_file_writer_put_from(writer, 0, 2, own.file, (const int64_t[]){0, 1}, &err);
        failing_alloc_arm(0);
        fail_writes_from(0);
        assert_int_equal(status, way == 0 ? DLPARK_E_FORMAT : way == 1 ? DLPARK_E_MEMORY : DLPARK_E_IO);
        assert_int_equal(err.status, status);
        dlpark_file_writer_release(&writer);
        assert_old(&path);
        strange_end(&own);
    }
    tensor_file_drop(&path);
}

/* What waits to be copied goes before what takes another way, and is told of when it cannot be written. */
static void what_fails_before_the_way_through_memory(void **state)
{
    tensor_file_path path = somewhere();
    dlpark_error err = {.message = ""};
    dlpark_file_writer *writer = NULL;
    strange own;

    (void)state;
    strange_begin(&own, strange_text, 8, false, 0);
    assert_ok(
        dlpark_file_writer_open(&writer, path.text, (dlpark_file_part[]){own.parts[1], own.parts[0]}, 2, NULL, e));
    unpacked = 0;
    fail_writes_from(1);
    assert_int_equal(dlpark_file_writer_put_from(writer, 0, 2, own.file, (const int64_t[]){1, 0}, &err), DLPARK_E_IO);
    fail_writes_from(0);
    assert_int_equal(unpacked, 0);
    assert_non_null(strstr(err.message, "No space left"));
    dlpark_file_writer_release(&writer);
    assert_old(&path);
    strange_end(&own);
    tensor_file_drop(&path);
}

/* Column-major and packed: unpacked whole, which needs memory. */
static void a_packed_column_needs_memory(void **state)
{
    tensor_file_path path = somewhere();
    dlpark_file_writer *writer = NULL;
    strange own;

    (void)state;
    strange_begin(&own, strange_text, 8, false, 0);
    own.file->index.entries[0].is_column_major = true;
    assert_ok(dlpark_file_writer_open(&writer, path.text, own.parts, 2, NULL, e));
    unpacked = 0;
    failing_alloc_arm(1);
    assert_int_equal(dlpark_file_writer_put_from(writer, 0, 1, own.file, (const int64_t[]){0}, NULL), DLPARK_E_MEMORY);
    failing_alloc_arm(0);
    assert_int_equal(unpacked, 0);
    assert_ok(dlpark_file_writer_put_from(writer, 0, 1, own.file, (const int64_t[]){0}, e));
    assert_int_equal(unpacked, 1);
    dlpark_file_writer_release(&writer);
    strange_end(&own);
    tensor_file_drop(&path);
}

/* An archive has a sum of each member, so its bytes are seen on their way. */
static void tensors_of_a_file_are_summed_up(void **state)
{
    tensor_file made = tensor_file_text(from_text, 8);
    tensor_file_path path = somewhere();
    const dlpark_file_write_options options = {.format = DLPARK_FILE_NPZ};
    dlpark_file *file = NULL;
    dlpark_file_writer *writer = NULL;
    dlpark_file_entry entries[5];
    dlpark_file_part parts[5];
    dlpark_file_fault fault;
    size_t count = 1;

    (void)state;
    assert_ok(dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, NULL, e));
    declare(file, entries, parts);
    assert_ok(dlpark_file_writer_open(&writer, path.text, parts, 4, &options, e));
    assert_ok(dlpark_file_writer_put_from(writer, 0, 4, file, (const int64_t[]){0, 1, 2, 3}, e));
    assert_ok(dlpark_file_writer_finish(&writer, e));
    assert_ok(dlpark_file_check(path.text, NULL, &fault, 1, &count, e)); /* the sums too */
    assert_int_equal(count, 0);
    assert_same_bytes(path.text, made.bytes, entries);
    dlpark_file_release(&file);
    tensor_file_drop(&path);
    tensor_file_end(&made);
}

static void a_full_disk_stops_what_comes_from_a_file(void **state)
{
    tensor_file made = tensor_file_text(from_text, 8);
    tensor_file_path path = somewhere();
    dlpark_file *file = NULL;
    dlpark_file_writer *writer = NULL;
    dlpark_file_entry entries[5];
    dlpark_file_part parts[5];

    (void)state;
    assert_ok(dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, NULL, e));
    declare(file, entries, parts);
    for (long nth = 1; nth <= 2; nth++) { /* between two runs, and at the end */
        assert_ok(dlpark_file_writer_open(&writer, path.text, parts, 4, NULL, e));
        fail_writes_from(nth);
        assert_int_equal(dlpark_file_writer_put_from(writer, 0, 2, file, (const int64_t[]){0, 1}, NULL),
                         nth == 1 ? DLPARK_E_IO : DLPARK_OK);
        fail_writes_from(0);
        dlpark_file_writer_release(&writer);
        assert_old(&path);
    }
    assert_ok(dlpark_file_writer_open(&writer, path.text, (dlpark_file_part[]){parts[3], parts[0]}, 2, NULL, e));
    fail_writes_from(1);
    assert_int_equal(dlpark_file_writer_put_from(writer, 0, 2, file, (const int64_t[]){3, 0}, NULL), DLPARK_E_IO);
    fail_writes_from(0);
    dlpark_file_writer_release(&writer);
    dlpark_file_release(&file);
    tensor_file_drop(&path);
    tensor_file_end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_come_from_a_file),
        cmocka_unit_test(tensors_of_a_file_are_what_was_declared),
        cmocka_unit_test(other_layouts_go_through_memory),
        cmocka_unit_test(large_tensors_go_through_memory_in_pieces),
        cmocka_unit_test(what_fails_on_the_way_through_memory),
        cmocka_unit_test(what_fails_before_the_way_through_memory),
        cmocka_unit_test(a_packed_column_needs_memory),
        cmocka_unit_test(tensors_of_a_file_are_summed_up),
        cmocka_unit_test(a_full_disk_stops_what_comes_from_a_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
