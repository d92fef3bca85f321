#include "gguf_made.h"

#include <errno.h>
#include <time.h>

#include "failing_alloc.h"

/* ---- Reads that fail ---- */

ssize_t __real_pread(int descriptor, void *to, size_t nbytes, off_t offset);
ssize_t __wrap_pread(int descriptor, void *to, size_t nbytes, off_t offset);

static int reads, reads_until_failure; /* 0: none fails */

ssize_t __wrap_pread(int descriptor, void *to, size_t nbytes, off_t offset)
{
    reads++;
    if (reads_until_failure > 0 && --reads_until_failure == 0) {
        errno = EIO;
        return -1;
    }
    return __real_pread(descriptor, to, nbytes, offset);
}

/* ---- Headers larger than the window ---- */

/* Texts of many lengths, so that the window ends everywhere in them: in lengths, in texts, between them. */
static gguf_made long_header(size_t count, size_t longest)
{
    gguf_made made = gguf_made_begin(1, count);
    char *text = malloc(longest + 1);
    char key[32];

    assert_non_null(text);
    for (size_t i = 0; i < longest; i++)
        text[i] = (char)('a' + i % 26);
    for (size_t i = 0; i < count; i++) {
        snprintf(key, sizeof key, "key.%zu", i);
        gguf_made_key(&made, key, MADE_STR);
        gguf_made_string(&made, text, i * 279919 % longest);
    }
    gguf_made_tensor(&made, "t", 1, (const uint64_t[]){8}, 0, 0);
    gguf_made_data(&made, 32, 32);
    free(text);
    return made;
}

static void check_long_header(const dlpark_file *file, size_t longest)
{
    for (int64_t i = 0; i < dlpark_file_metadata_count(file); i++) {
        dlpark_file_text key, value;
        char name[32];
        snprintf(name, sizeof name, "key.%lld", (long long)i);
        assert_ok(dlpark_file_metadata_get(file, i, &key, &value, e));
        assert_int_equal(key.nbytes, strlen(name));
        assert_memory_equal(key.text, name, key.nbytes);
        assert_int_equal(value.nbytes, (size_t)i * 279919 % longest);
        for (size_t at = 0; at < value.nbytes; at++)
            if (value.text[at] != (char)('a' + at % 26))
                fail_msg("key.%lld has another letter at %zu", (long long)i, at);
    }
}

static void headers_larger_than_the_window(void **state)
{
    static const size_t shapes[][2] = {{3000, 40}, {3000, 1000}, {40, 100000}, {12, 3000000}};

    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        gguf_made made = long_header(shapes[i][0], shapes[i][1]);
        tensor_file_path path = tensor_file_save_bytes(made.bytes, made.nbytes);
        dlpark_file *file = NULL;

        reads = 0;
        assert_ok(dlpark_file_open(&file, path.text, NULL, e));
        /* Its head, windows that grow, what a window cuts; and of what is longer than any window each. */
        assert_true(reads <= 16 + (shapes[i][1] > 1 << 20 ? 2 * (int)shapes[i][0] : 0));
        check_long_header(file, shapes[i][1]);
        gguf_made_check(file);
        dlpark_file_release(&file);
        tensor_file_drop(&path);
        gguf_made_end(&made);
    }
}

/* A million strings are passed over: kept is none of them. */
static void a_vocabulary_takes_no_memory(void **state)
{
    enum { MANY = 1000000 };
    gguf_made made = gguf_made_begin(1, 2);
    dlpark_file *file = NULL;
    dlpark_file_text key, value;
    clock_t begin, end;

    (void)state;
    gguf_made_array(&made, "tokens", MADE_STR, MANY);
    for (size_t i = 0; i < MANY; i++)
        gguf_made_string(&made, "token", i % 6);
    gguf_made_array(&made, "scores", MADE_F32, MANY);
    gguf_made_data(&made, 1, (size_t)4 * MANY);
    gguf_made_tensor(&made, "t", 1, (const uint64_t[]){8}, 0, 0);
    gguf_made_data(&made, 32, 32);
    tensor_file_path path = tensor_file_save_bytes(made.bytes, made.nbytes);
    begin = clock();
    assert_ok(dlpark_file_open(&file, path.text, NULL, e));
    end = clock();
    assert_true((double)(end - begin) / CLOCKS_PER_SEC < 5); /* a quadratic one takes hours */
    assert_ok(dlpark_file_metadata_get(file, 0, &key, &value, e));
    assert_int_equal(value.nbytes, 20);
    assert_memory_equal(value.text, "array of 1000000 str", 20);
    gguf_made_check(file);
    dlpark_file_release(&file);
    tensor_file_drop(&path);
    gguf_made_end(&made);
}

/* ---- Limits ---- */

static void header_has_a_limit(void **state)
{
    gguf_made made = long_header(3, 50);
    size_t header = made.nbytes - 64;
    dlpark_file *file = NULL;

    (void)state;
    while (made.bytes[header - 1] == 0 && header % 32 != 0)
        header--;
    for (uint64_t most = 1; most < made.nbytes; most++) {
        const dlpark_file_options options = {.max_header_nbytes = most};
        dlpark_status status = dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, &options, NULL);
        if (most < header - 32)
            assert_int_equal(status, DLPARK_E_LIMIT);
        else if (most >= header + 32)
            assert_int_equal(status, DLPARK_OK);
        dlpark_file_release(&file);
    }
    const dlpark_file_options options = {.max_header_nbytes = 24};
    assert_fails(DLPARK_E_LIMIT, "a key takes 8 bytes, and the header has no more than 24 (byte 24)",
                 dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, &options, e));
    gguf_made_end(&made);
}

/* A hole in the file is zeros that take no room: what is longer than any header may be is not read. */
static void header_has_the_limit_of_the_format(void **state)
{
    gguf_made made = gguf_made_begin(0, 1);
    dlpark_file *file = NULL;
    const dlpark_file_options options = {.max_header_nbytes = UINT64_MAX};

    (void)state;
    gguf_made_array(&made, "k", MADE_U8, 200000000);
    tensor_file_path path = tensor_file_save_bytes(made.bytes, made.nbytes);
    assert_int_equal(truncate(path.text, 300000000), 0);
    assert_fails(DLPARK_E_LIMIT, "an array takes 200000000 bytes, and the header has no more than 100000000",
                 dlpark_file_open(&file, path.text, NULL, e));
    assert_fails(DLPARK_E_LIMIT, "no more than 100000000", dlpark_file_open(&file, path.text, &options, e));
    tensor_file_drop(&path);
    gguf_made_end(&made);
}

/* ---- Failures ---- */

static void reads_that_fail(void **state)
{
    gguf_made made = long_header(12, 3000000);
    tensor_file_path path = tensor_file_save_bytes(made.bytes, made.nbytes);
    dlpark_file *file = NULL;
    size_t count;

    (void)state;
    reads = 0;
    assert_ok(dlpark_file_open(&file, path.text, NULL, e));
    int all = reads;
    dlpark_file_release(&file);
    assert_true(all > 6);
    for (int nth = 1; nth <= all; nth++) {
        reads_until_failure = nth;
        assert_int_equal(dlpark_file_open(&file, path.text, NULL, NULL), DLPARK_E_IO);
        assert_null(file);
        reads_until_failure = nth;
        assert_int_equal(dlpark_file_check(path.text, NULL, NULL, 0, &count, NULL), DLPARK_E_IO);
    }
    reads_until_failure = 0;
    tensor_file_drop(&path);
    gguf_made_end(&made);
}

static void no_memory_is_told(void **state)
{
    gguf_made made = long_header(300, 1000);
    dlpark_file *file = NULL;
    long live = failing_alloc_live(), failed = 0;
    bool is_last = false;

    (void)state;
    for (long nth = 1; !is_last; nth++) {
        failing_alloc_arm(nth);
        dlpark_status status = gguf_made_open(&file, &made, NULL);
        is_last = failing_alloc_count() < nth;
        failing_alloc_arm(0);
        failed += status != DLPARK_OK;
        assert_true(status == DLPARK_OK || status == DLPARK_E_MEMORY);
        if (status == DLPARK_OK)
            check_long_header(file, 1000);
        dlpark_file_release(&file);
        assert_int_equal(failing_alloc_live(), live);
    }
    assert_true(failed > 12);
    gguf_made_end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_larger_than_the_window),
        cmocka_unit_test(a_vocabulary_takes_no_memory),
        cmocka_unit_test(header_has_a_limit),
        cmocka_unit_test(header_has_the_limit_of_the_format),
        cmocka_unit_test(reads_that_fail),
        cmocka_unit_test(no_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
