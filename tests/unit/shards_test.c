#include "tensor_folder.h"

#include <errno.h>

#include <dlpark/file_write.h>

#include "failing_alloc.h"

/* ---- System calls that fail when they are told to ---- */

enum { OPEN, OPENAT, FSTAT, PREAD, CALLS };

static struct {
    int nth, number, count; /* the call from now on that fails, for this reason; 0: none */
} plans[CALLS];

static void plan(int call, int nth, int number)
{
    plans[call].nth = nth;
    plans[call].number = number;
    plans[call].count = 0;
}

static bool fails_now(int call)
{
    errno = plans[call].number;
    return ++plans[call].count == plans[call].nth;
}

int __real_open(const char *path, int flags, ...);
int __real_openat(int folder, const char *path, int flags, ...);
int __real_fstat(int descriptor, struct stat *status);
ssize_t __real_pread(int descriptor, void *to, size_t nbytes, off_t offset);
int __wrap_open(const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...);
int __wrap_fstat(int descriptor, struct stat *status);
ssize_t __wrap_pread(int descriptor, void *to, size_t nbytes, off_t offset);

int __wrap_open(const char *path, int flags, ...)
{
    return fails_now(OPEN) ? -1 : __real_open(path, flags, 0666);
}

int __wrap_openat(int folder, const char *path, int flags, ...)
{
    return fails_now(OPENAT) ? -1 : __real_openat(folder, path, flags);
}

int __wrap_fstat(int descriptor, struct stat *status)
{
    return fails_now(FSTAT) ? -1 : __real_fstat(descriptor, status);
}

ssize_t __wrap_pread(int descriptor, void *to, size_t nbytes, off_t offset)
{
    return fails_now(PREAD) ? -1 : __real_pread(descriptor, to, nbytes, offset);
}

/* ---- A checkpoint of two shards ---- */

static const char index_text[] = "{'metadata':{'total_size':10,'by':'hand'},"
                                 "'weight_map':{'c':'m2','a':'m1','b':'m1','d\\n':'m2'}}";
static const char first_text[] = "{'b':{'dtype':'U8','shape':[3],'data_offsets':[2,5]},"
                                 "'a':{'dtype':'U8','shape':[2],'data_offsets':[0,2]}}";
static const char second_text[] = "{'__metadata__':{'x':'y'},'d\\n':{'dtype':'I8','shape':[1],'data_offsets':[0,1]},"
                                  "'c':{'dtype':'U8','shape':[2,2],'data_offsets':[1,5]}}";

typedef struct checkpoint {
    tensor_folder folder;
    tensor_folder_path path; /* of its index */
} checkpoint;

static checkpoint make(const char *index)
{
    checkpoint made = {.folder = tensor_folder_make()};

    made.path = tensor_folder_path_of(&made.folder, "index.json");
    tensor_folder_put_text(&made.folder, "index.json", index);
    tensor_folder_put_tensors(&made.folder, "m1", first_text, 5);
    tensor_folder_put_tensors(&made.folder, "m2", second_text, 5);
    return made;
}

static void drop(const checkpoint *made)
{
    tensor_folder_drop(&made->folder);
}

static void assert_opens(const checkpoint *made, const dlpark_file_options *options)
{
    dlpark_file *file = NULL;

    assert_ok(dlpark_file_open(&file, made->path.text, options, e));
    assert_int_equal(dlpark_file_shard_count(file), 2);
    dlpark_file_release(&file);
}

/* That it is not opened, and that the first fault is told first where all are listed; how many those are. */
static size_t assert_faulty(const checkpoint *made, dlpark_status status, const char *rule, const char *why)
{
    dlpark_file *file = NULL;
    dlpark_file_fault faults[16];
    size_t count = 0;

    assert_fails(status, why, dlpark_file_open(&file, made->path.text, NULL, e));
    assert_null(file);
    assert_ok(dlpark_file_check(made->path.text, NULL, faults, 16, &count, e));
    assert_true(count > 0 && count <= 16);
    if (strcmp(faults[0].rule, rule) != 0)
        fail_msg("%s: %s", faults[0].rule, faults[0].message);
    return count;
}

/* What checking alone tells. */
static void assert_told(const checkpoint *made, const char *rule, const char *why)
{
    dlpark_file_fault fault = {.rule = ""};
    size_t count = 0;

    assert_opens(made, NULL);
    assert_ok(dlpark_file_check(made->path.text, NULL, &fault, 1, &count, e));
    assert_int_equal(count, 1);
    assert_string_equal(fault.rule, rule);
    if (strstr(fault.message, why) == NULL)
        fail_msg("%s", fault.message);
}

static void assert_clean(const checkpoint *made)
{
    size_t count = 9;

    assert_opens(made, NULL);
    assert_ok(dlpark_file_check(made->path.text, NULL, NULL, 0, &count, e));
    assert_int_equal(count, 0);
}

/* ---- Reading ---- */

static void shards_are_one_file(void **state)
{
    static const char *const names[] = {"a", "b", "d\n", "c"}, *const shards[] = {"m1", "m1", "m2", "m2"};
    static const unsigned char bytes[][4] = {{1, 2}, {3, 4, 5}, {1}, {2, 3, 4, 5}};
    checkpoint made = make(index_text);
    dlpark_tensor kept[4] = {DLPARK_TENSOR_EMPTY, DLPARK_TENSOR_EMPTY, DLPARK_TENSOR_EMPTY, DLPARK_TENSOR_EMPTY};
    dlpark_file *file = NULL;
    dlpark_file_text key, value;
    uint64_t nbytes = 0;

    (void)state;
    assert_ok(dlpark_file_open(&file, made.path.text, NULL, e));
    assert_int_equal(dlpark_file_format_of(file), DLPARK_FILE_SHARDS);
    assert_string_equal(dlpark_file_format_name(DLPARK_FILE_SHARDS), "safetensors-index");
    assert_int_equal(dlpark_file_count(file), 4);
    assert_int_equal(dlpark_file_shard_count(file), 2);
    for (int64_t i = 0; i < 4; i++) {
        dlpark_file_entry entry;
        dlpark_view view;
        unsigned char read[4] = "";
        size_t length = strlen(names[i]);
        assert_int_equal(dlpark_file_find(file, names[i], length), i);
        assert_ok(dlpark_file_entry_get(file, i, &entry, e));
        assert_int_equal(entry.name_nbytes, length);
        assert_memory_equal(entry.name, names[i], length);
        assert_string_equal(dlpark_file_shard_name(file, i), shards[i]);
        assert_ok(dlpark_file_view(file, i, &view, e));
        assert_memory_equal(view.data, bytes[i], (size_t)entry.nbytes);
        assert_int_equal((uintptr_t)view.data % entry.alignment_bytes, 0);
        const DLTensor to = {read, {kDLCPU, 0}, entry.ndim, entry.dtype, entry.shape, NULL, 0};
        assert_ok(dlpark_check(&to, 0, &view, e));
        assert_ok(dlpark_view_allow_write(&view, e));
        assert_ok(dlpark_file_read(file, i, &view, e));
        assert_memory_equal(read, bytes[i], 4);
        assert_ok(dlpark_file_share(file, i, &kept[i], e));
        nbytes += entry.nbytes;
    }
    assert_int_equal(nbytes, 10);
    assert_int_equal(dlpark_file_nbytes(file),
                     strlen(index_text) + 8 + strlen(first_text) + 5 + 8 + strlen(second_text) + 5);
    assert_null(dlpark_file_shard_name(file, -1));
    assert_null(dlpark_file_shard_name(file, 4));
    assert_int_equal(dlpark_file_metadata_count(file), 2);
    assert_ok(dlpark_file_metadata_get(file, 1, &key, &value, e));
    assert_memory_equal(key.text, "by", 2);
    assert_memory_equal(value.text, "hand", 4);
    dlpark_file_release(&file);
    for (int i = 0; i < 4; i++) { /* each keeps its own shard */
        dlpark_view view;
        dlpark_tensor_view(&kept[i], &view);
        assert_memory_equal(view.data, bytes[i], (size_t)dlpark_view_nbytes(&view));
        dlpark_tensor_release(&kept[i]);
    }
    assert_clean(&made);
    drop(&made);
}

/* The bytes of a shard are those behind its header, one after the other. */
static void assert_bytes(dlpark_file *file, const char *name, size_t begin, size_t nbytes)
{
    dlpark_tensor tensors[2] = {DLPARK_TENSOR_EMPTY, DLPARK_TENSOR_EMPTY};
    int64_t index = dlpark_file_find(file, name, strlen(name));
    dlpark_view view;

    assert_ok(dlpark_file_share(file, index, &tensors[0], e));
    assert_ok(dlpark_file_load(file, index, &tensors[1], e));
    for (int way = 0; way < 2; way++) {
        dlpark_tensor_view(&tensors[way], &view);
        assert_int_equal(dlpark_view_nbytes(&view), nbytes);
        for (size_t i = 0; i < nbytes; i++)
            assert_int_equal(((const unsigned char *)view.data)[i], tensor_file_byte(begin + i));
        dlpark_tensor_release(&tensors[way]);
    }
}

/* However the bytes come into memory. What was read whole needs the shards no more; else they are told to be gone. */
static void every_access_gives_the_bytes_of_shards(void **state)
{
    (void)state;
    for (int access = DLPARK_FILE_ACCESS_AUTO; access <= DLPARK_FILE_ACCESS_READ; access++) {
        const dlpark_file_options options = {.access = (dlpark_file_access)access};
        const int64_t all[] = {0, 1, 2, 3};
        checkpoint made = make(index_text);
        dlpark_file *file = NULL;
        assert_ok(dlpark_file_open(&file, made.path.text, &options, e));
        assert_ok(dlpark_file_prefetch(file, NULL, 0, e));
        assert_ok(dlpark_file_prefetch(file, all, 4, e));
        assert_bytes(file, "a", 0, 2);
        assert_bytes(file, "b", 2, 3);
        assert_bytes(file, "d\n", 0, 1);
        tensor_folder_path second = tensor_folder_path_of(&made.folder, "m2");
        assert_int_equal(truncate(second.text, 20), 0);
        if (access == DLPARK_FILE_ACCESS_READ) {
            assert_bytes(file, "c", 1, 4);
            assert_ok(dlpark_file_prefetch(file, NULL, 0, e));
        } else {
            assert_fails(DLPARK_E_FORMAT, "cut it short", dlpark_file_prefetch(file, NULL, 0, e));
            assert_fails(DLPARK_E_FORMAT, "cut it short", dlpark_file_prefetch(file, all, 4, e));
        }
        dlpark_file_release(&file);
        drop(&made);
    }
}

/* Each read of the shards fails in turn: nothing is left. */
static void reading_shards_on_opening_fails_whole(void **state)
{
    const dlpark_file_options options = {.access = DLPARK_FILE_ACCESS_READ};
    checkpoint made = make(index_text);
    long live = failing_alloc_live();
    dlpark_status status = DLPARK_E_IO;
    int failures = 0;

    (void)state;
    for (int nth = 1; status != DLPARK_OK; nth++) {
        dlpark_file *file = NULL;
        plan(PREAD, nth, EIO);
        status = dlpark_file_open(&file, made.path.text, &options, NULL);
        plan(PREAD, 0, 0);
        failures += status != DLPARK_OK;
        assert_true(status == DLPARK_OK || (status == DLPARK_E_IO && file == NULL));
        dlpark_file_release(&file);
        assert_int_equal(failing_alloc_live(), live);
    }
    assert_in_range(failures, 6, 40);
    drop(&made);
}

static void other_files_have_no_shards(void **state)
{
    tensor_file made = tensor_file_text(first_text, 5);
    dlpark_file *file = NULL;

    (void)state;
    assert_ok(dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, NULL, e));
    assert_int_equal(dlpark_file_shard_count(file), 0);
    assert_null(dlpark_file_shard_name(file, 0));
    dlpark_file_release(&file);
    tensor_file_end(&made);
}

/* Many shards, some with one tensor and some with several: each tensor is of the shard that the index says. */
static void tensors_are_found_in_many_shards(void **state)
{
    enum { SHARDS = 37 };
    checkpoint made = {.folder = tensor_folder_make()};
    char index[8192] = "{'weight_map':{";
    dlpark_file *file = NULL;
    int64_t expected = 0;

    (void)state;
    made.path = tensor_folder_path_of(&made.folder, "index.json");
    for (int shard = 0; shard < SHARDS; shard++) {
        char name[16], header[1024] = "{";
        int tensors = 1 + shard * 7 % 5;
        for (int i = 0; i < tensors; i++, expected++) {
            size_t used = strlen(header), said = strlen(index);
            snprintf(header + used, sizeof header - used, "%s't%d.%d':{'dtype':'U8','shape':[],'data_offsets':[%d,%d]}",
                     i > 0 ? "," : "", shard, i, i, i + 1);
            snprintf(index + said, sizeof index - said, "%s't%d.%d':'m%02d'", expected > 0 ? "," : "", shard, i, shard);
        }
        strcat(header, "}");
        snprintf(name, sizeof name, "m%02d", shard);
        tensor_folder_put_tensors(&made.folder, name, header, (size_t)tensors);
    }
    strcat(index, "}}");
    tensor_folder_put_text(&made.folder, "index.json", index);
    assert_ok(dlpark_file_open(&file, made.path.text, NULL, e));
    assert_int_equal(dlpark_file_count(file), expected);
    for (int64_t i = 0; i < expected; i++) {
        dlpark_file_entry entry;
        int shard = 0;
        assert_ok(dlpark_file_entry_get(file, i, &entry, e));
        for (size_t at = 1; entry.name[at] != '.'; at++)
            shard = shard * 10 + entry.name[at] - '0';
        char name[16];
        snprintf(name, sizeof name, "m%02d", shard);
        assert_string_equal(dlpark_file_shard_name(file, i), name);
    }
    dlpark_file_release(&file);
    drop(&made);
}

static void an_index_may_be_empty(void **state)
{
    checkpoint made = make("{'weight_map':{}}");
    dlpark_file *file = NULL;

    (void)state;
    assert_ok(dlpark_file_open(&file, made.path.text, NULL, e));
    assert_int_equal(dlpark_file_count(file), 0);
    assert_int_equal(dlpark_file_shard_count(file), 0);
    assert_int_equal(dlpark_file_find(file, "a", 1), -1);
    dlpark_file_release(&file);
    drop(&made);
}

/* Names are looked up in the folder of the index, whatever the working directory is. */
static void paths_may_be_relative(void **state)
{
    checkpoint made = make(index_text);
    char before[1024];
    dlpark_file *file = NULL;

    (void)state;
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(made.folder.path), 0);
    assert_ok(dlpark_file_open(&file, "index.json", NULL, e));
    dlpark_file_release(&file);
    assert_ok(dlpark_file_open(&file, "./index.json", NULL, e));
    assert_int_equal(chdir(before), 0);
    dlpark_file_release(&file);
    drop(&made);
}

static void an_index_needs_a_folder(void **state)
{
    checkpoint made = make(index_text);
    dlpark_file *file = NULL;
    int descriptor = open(made.path.text, O_RDONLY);

    (void)state;
    assert_true(descriptor >= 0);
    assert_fails(DLPARK_E_UNSUPPORTED, "index.json: is the index of 2 shards, which lie beside it: it is opened by",
                 dlpark_file_open_descriptor(&file, descriptor, "index.json", NULL, e));
    assert_fails(DLPARK_E_UNSUPPORTED, "<memory>: is the index of 0 shards",
                 dlpark_file_open_memory(&file, "{\"weight_map\":{}}", 17, NULL, NULL, NULL, e));
    assert_fails(DLPARK_E_FORMAT, "there is no \"weight_map\"",
                 dlpark_file_open_memory(&file, "{}", 2, NULL, NULL, NULL, e));
    close(descriptor);
    drop(&made);
}

static void the_format_may_be_asked_for(void **state)
{
    checkpoint made = make(index_text);
    tensor_folder_path shard = tensor_folder_path_of(&made.folder, "m1");
    dlpark_file_options options = {.format = DLPARK_FILE_SHARDS};
    dlpark_file *file = NULL;

    (void)state;
    assert_opens(&made, &options);
    assert_fails(DLPARK_E_FORMAT, "the '{' of the index is expected here, not",
                 dlpark_file_open(&file, shard.text, &options, e));
    options.format = DLPARK_FILE_SAFETENSORS;
    assert_fails(DLPARK_E_FORMAT, "is safetensors-index, and was to be safetensors",
                 dlpark_file_open(&file, made.path.text, &options, e));
    drop(&made);
}

static void an_index_is_not_written_as_tensors(void **state)
{
    const int64_t shape = 1;
    const dlpark_file_part part = {.name = "x", .dtype = DLPARK_U8, .ndim = 1, .shape = &shape};
    dlpark_file_writer *writer = NULL;

    (void)state;
    assert_fails(DLPARK_E_UNSUPPORTED, "an index file holds no tensors, and 1 were given",
                 dlpark_file_writer_open(&writer, "/tmp/x.safetensors.index.json", &part, 1, NULL, e));
    assert_null(writer);
}

/* ---- Stale indexes ---- */

static void stale_indexes_are_told_apart(void **state)
{
    checkpoint made = make("{'weight_map':{'a':'m1','z':'m2','b':'m1','c':'m2','d\\n':'m2'}}");

    (void)state;
    assert_int_equal(assert_faulty(&made, DLPARK_E_FORMAT, "tensor-missing",
                                   "index.json: tensor 'z': is not in the shard 'm2', where the index says, nor in "
                                   "another (byte 24)"),
                     1);
    drop(&made);
    made = make("{'weight_map':{'a':'m1','b':'m2','c':'m2','d\\n':'m1'}}");
    assert_int_equal(assert_faulty(&made, DLPARK_E_FORMAT, "tensor-elsewhere",
                                   "tensor 'b': is in the shard 'm1', and the index says in 'm2': it is stale"),
                     2);
    drop(&made);
    made = make("{'weight_map':{'a':'m1','b':'m3','c':'m2','d\\n':'m2'}}");
    assert_int_equal(assert_faulty(&made, DLPARK_E_NOT_FOUND, "shard-missing",
                                   "index.json: there is no shard 'm3' beside the index (byte 28)"),
                     2); /* and where the tensor is */
    drop(&made);
    made = make(index_text);
    tensor_folder_put_tensors(&made.folder, "m2",
                              "{'b':{'dtype':'U8','shape':[1],'data_offsets':[0,1]},"
                              "'c':{'dtype':'U8','shape':[],'data_offsets':[1,2]},"
                              "'d\\n':{'dtype':'U8','shape':[],'data_offsets':[2,3]}}",
                              3);
    assert_int_equal(
        assert_faulty(&made, DLPARK_E_FORMAT, "tensor-twice", "tensor 'b': is in the shard 'm1', and in 'm2' too"), 1);
    drop(&made);
}

/* A tensor that may be in a shard that could not be read is not said to be missing. */
static void what_cannot_be_known_is_not_told(void **state)
{
    checkpoint made = make("{'weight_map':{'a':'m1','b':'m1','c':'m3','d\\n':'m4'}}");

    (void)state;
    assert_int_equal(assert_faulty(&made, DLPARK_E_NOT_FOUND, "shard-missing", "there is no shard 'm3'"), 2);
    drop(&made);
    made = make("{'weight_map':{'a':'m1','c':'m2','y':'m2','x':'m1','b':'m1','d\\n':'m2'}}");
    tensor_folder_put_text(&made.folder, "m2", "garbage");
    assert_int_equal(assert_faulty(&made, DLPARK_E_FORMAT, "short", "index.json: in m2: has 7 bytes"), 2);
    drop(&made);
}

static void checking_tells_more(void **state)
{
    checkpoint made = make("{'metadata':{'x':'y','total_siza':7,'total_size':11},"
                           "'weight_map':{'a':'m1','b':'m1','c':'m2','d\\n':'m2'}}");

    (void)state;
    assert_told(&made, "total-size", "metadata has a total_size of 11, and the tensors have 10 bytes");
    drop(&made);
    made = make("{'weight_map':{'a':'m1','c':'m2','d\\n':'m2'},'metadata':{'total_size':10}}");
    assert_told(&made, "tensor-unlisted", "is in the shard 'm1', and the index does not name it");
    drop(&made);
    /* What is no integer says nothing. */
    made = make("{'metadata':{'total_size':11.0},'weight_map':{'a':'m1','b':'m1','c':'m2','d\\n':'m2'}}");
    assert_clean(&made);
    drop(&made);
}

static void faults_of_shards_are_listed(void **state)
{
    checkpoint made = make("{'weight_map':{'a':'m1','c':'m2','e':'m3'}}");
    dlpark_file_fault faults[4];
    size_t count = 0;

    (void)state;
    tensor_folder_put_text(&made.folder, "m1", "short");
    tensor_folder_put_tensors(&made.folder, "m2",
                              "{'a':{'dtype':'U8','shape':[1],'data_offsets':[0,1]},"
                              "'b':{'dtype':'X','shape':[2],'data_offsets':[1,3]}}",
                              5);
    tensor_folder_put(&made.folder, "m3", "", 0);
    assert_ok(dlpark_file_check(made.path.text, NULL, faults, 4, &count, e));
    assert_int_equal(count, 4);
    assert_string_equal(faults[0].message, "in m1: has 5 bytes; a safetensors file has at least 8, the length of its "
                                           "header");
    assert_string_equal(faults[1].rule, "dtype");
    assert_string_equal(faults[1].tensor, "b");
    assert_string_equal(faults[2].rule, "trailing");
    assert_string_equal(faults[3].message, "in m3: has 0 bytes; a safetensors file has at least 8, the length of its "
                                           "header");
    for (size_t capacity = 0; capacity < 4; capacity++) {
        memset(faults, 0x5A, sizeof faults);
        assert_ok(dlpark_file_check(made.path.text, NULL, faults, capacity, &count, e));
        assert_int_equal(count, 4);
        assert_int_equal(((const unsigned char *)&faults[capacity])[0], 0x5A);
    }
    drop(&made);
}

/* ---- What is no shard ---- */

static void links_are_followed_when_asked_for(void **state)
{
    const dlpark_file_options follow = {.follow_links = true};
    checkpoint made = make(index_text);
    tensor_folder_path shard = tensor_folder_path_of(&made.folder, "m1"),
                       blob = tensor_folder_path_of(&made.folder, "blob");
    dlpark_file *file = NULL;

    (void)state;
    assert_int_equal(rename(shard.text, blob.text), 0);
    assert_int_equal(symlink("blob", shard.text), 0);
    assert_int_equal(assert_faulty(&made, DLPARK_E_PERMISSION, "shard-link", "the shard 'm1' is a link; such are"), 1);
    assert_opens(&made, &follow);
    assert_int_equal(unlink(shard.text), 0);
    assert_int_equal(symlink("m1", shard.text), 0);
    assert_int_equal(dlpark_file_open(&file, made.path.text, &follow, NULL), DLPARK_E_IO);
    drop(&made);
}

static void what_is_no_file_is_no_shard(void **state)
{
    checkpoint made = make(index_text);
    tensor_folder_path shard = tensor_folder_path_of(&made.folder, "m1");

    (void)state;
    assert_int_equal(unlink(shard.text), 0);
    assert_int_equal(mkdir(shard.text, 0777), 0);
    assert_faulty(&made, DLPARK_E_FORMAT, "shard-kind", "the shard 'm1' is not a regular file");
    assert_int_equal(rmdir(shard.text), 0);
    assert_int_equal(mkfifo(shard.text, 0666), 0); /* which has no writer, and is not waited for */
    assert_faulty(&made, DLPARK_E_FORMAT, "shard-kind", "the shard 'm1' is not a regular file");
    drop(&made);
}

/* ---- The cases ---- */

/* A folder with what the cases name: two shards, one whose tensor another has too, and what is no shard. */
static checkpoint make_for_cases(void)
{
    checkpoint made = make(index_text);
    tensor_folder_path folder = tensor_folder_path_of(&made.folder, "folder"),
                       link = tensor_folder_path_of(&made.folder, "link");

    tensor_folder_put_tensors(&made.folder, "m3",
                              "{'a':{'dtype':'U8','shape':[],'data_offsets':[0,1]},"
                              "'e':{'dtype':'U8','shape':[],'data_offsets':[1,2]}}",
                              2);
    tensor_folder_put_text(&made.folder, "garbage", "garbage");
    assert_int_equal(mkdir(folder.text, 0777), 0);
    assert_int_equal(symlink("m1", link.text), 0);
    return made;
}

/* One line of the table: the file, what opening says, and a part of its message. */
static void check_case(const checkpoint *made, const char *name, const char *status, const char *why)
{
    char path[2048], bytes[4096];
    dlpark_file *file = NULL;
    dlpark_error err = {.message = ""};

    snprintf(path, sizeof path, "%s/shards/%s", DLPARK_CASES, name);
    FILE *from = fopen(path, "rb");
    assert_non_null(from);
    size_t nbytes = fread(bytes, 1, sizeof bytes, from);
    fclose(from);
    tensor_folder_put(&made->folder, "index.json", bytes, nbytes);
    const char *found = dlpark_status_name(dlpark_file_open(&file, made->path.text, NULL, &err));
    if (strcmp(found, status) != 0 || strstr(err.message, why) == NULL)
        fail_msg("%s: %s: %s", name, found, err.message);
    dlpark_file_release(&file);
}

static void cases_have_their_verdicts(void **state)
{
    checkpoint made = make_for_cases();
    FILE *table = fopen(DLPARK_CASES "/shards/expected.tsv", "r");
    char line[512];
    int cases = -1; /* the first line is the head */

    (void)state;
    assert_non_null(table);
    for (; fgets(line, sizeof line, table) != NULL; cases++) {
        char *status = strchr(line, '\t'), *why = status != NULL ? strchr(status + 1, '\t') : NULL;
        assert_non_null(why);
        *status++ = *why++ = '\0';
        why[strcspn(why, "\n")] = '\0';
        if (cases >= 0)
            check_case(&made, line, status, why);
    }
    fclose(table);
    assert_true(cases > 50);
    drop(&made);
}

/* ---- What fails ---- */

static void assert_open_fails(const checkpoint *made, dlpark_status status, const char *why)
{
    dlpark_file *file = NULL;
    dlpark_error err = {.message = ""};

    assert_int_equal(dlpark_file_open(&file, made->path.text, NULL, &err), status);
    if (strstr(err.message, why) == NULL)
        fail_msg("%s", err.message);
    assert_null(file);
    for (int call = 0; call < CALLS; call++)
        plan(call, 0, 0);
}

static void system_calls_fail(void **state)
{
    checkpoint made = make(index_text);

    (void)state;
    plan(OPEN, 2, EACCES); /* the folder */
    assert_open_fails(&made, DLPARK_E_PERMISSION, "Permission denied");
    plan(OPEN, 2, EINTR);
    assert_opens(&made, NULL);
    plan(OPENAT, 1, EACCES);
    assert_open_fails(&made, DLPARK_E_PERMISSION, "/m1: Permission denied; it is shard 1 of 2");
    plan(OPENAT, 2, EMFILE);
    assert_open_fails(&made, DLPARK_E_IO,
                      "Too many open files; it is shard 2 of 2, and each is an open file (ulimit -n)");
    plan(OPENAT, 1, EINTR);
    assert_opens(&made, NULL);
    for (int nth = 2; nth <= 5; nth++) { /* each shard: what it is, and its size */
        plan(FSTAT, nth, EIO);
        assert_open_fails(&made, DLPARK_E_IO, nth < 4 ? "/m1: " : "/m2: ");
    }
    plan(FSTAT, 6, EIO);
    assert_opens(&made, NULL);
    for (int nth = 1; nth <= 6; nth++) { /* the head, and all of the index, or of the header */
        plan(PREAD, nth, EIO);
        assert_open_fails(&made, DLPARK_E_IO, nth < 3 ? "/index.json: " : nth < 5 ? "/m1: " : "/m2: ");
    }
    plan(PREAD, 7, EIO);
    assert_opens(&made, NULL);
    plan(PREAD, 0, 0);
    drop(&made);
}

static void no_memory_is_told(void **state)
{
    checkpoint made = make(index_text);
    long live = failing_alloc_live(), nth = 0;
    bool failed = true;

    (void)state;
    while (failed) {
        dlpark_error err = {.status = DLPARK_OK};
        dlpark_file *file = NULL;
        failing_alloc_arm(++nth);
        dlpark_status status = dlpark_file_open(&file, made.path.text, NULL, &err);
        failed = failing_alloc_count() >= nth;
        failing_alloc_arm(0);
        assert_true(status == DLPARK_OK || (status == DLPARK_E_MEMORY && err.status == status && err.message[0] != 0));
        assert_true(failed || status == DLPARK_OK); /* what is only trimmed may fail */
        assert_int_equal(status == DLPARK_OK, file != NULL);
        dlpark_file_release(&file);
        assert_int_equal(failing_alloc_live(), live);
    }
    assert_true(nth > 20);
    drop(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shards_are_one_file),
        cmocka_unit_test(every_access_gives_the_bytes_of_shards),
        cmocka_unit_test(reading_shards_on_opening_fails_whole),
        cmocka_unit_test(other_files_have_no_shards),
        cmocka_unit_test(tensors_are_found_in_many_shards),
        cmocka_unit_test(an_index_may_be_empty),
        cmocka_unit_test(paths_may_be_relative),
        cmocka_unit_test(an_index_needs_a_folder),
        cmocka_unit_test(the_format_may_be_asked_for),
        cmocka_unit_test(an_index_is_not_written_as_tensors),
        cmocka_unit_test(stale_indexes_are_told_apart),
        cmocka_unit_test(what_cannot_be_known_is_not_told),
        cmocka_unit_test(checking_tells_more),
        cmocka_unit_test(faults_of_shards_are_listed),
        cmocka_unit_test(links_are_followed_when_asked_for),
        cmocka_unit_test(what_is_no_file_is_no_shard),
        cmocka_unit_test(cases_have_their_verdicts),
        cmocka_unit_test(system_calls_fail),
        cmocka_unit_test(no_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
