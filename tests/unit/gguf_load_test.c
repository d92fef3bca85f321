#include "gguf_made.h"

#include <errno.h>

#include "failing_alloc.h"

/* ---- Reading that fails ---- */

ssize_t __real_pread(int descriptor, void *to, size_t nbytes, off_t offset);
ssize_t __wrap_pread(int descriptor, void *to, size_t nbytes, off_t offset);

static int reads_until_failure; /* 0: none fails */

ssize_t __wrap_pread(int descriptor, void *to, size_t nbytes, off_t offset)
{
    if (reads_until_failure > 0 && --reads_until_failure == 0) {
        errno = EIO;
        return -1;
    }
    return __real_pread(descriptor, to, nbytes, offset);
}

/* ---- Every type ---- */

static const struct {
    int kind;
    DLDataType dtype;
} kinds[] = {
    {MADE_U8, {kDLUInt, 8, 1}},    {MADE_I8, {kDLInt, 8, 1}},    {MADE_U16, {kDLUInt, 16, 1}},
    {MADE_I16, {kDLInt, 16, 1}},   {MADE_U32, {kDLUInt, 32, 1}}, {MADE_I32, {kDLInt, 32, 1}},
    {MADE_F32, {kDLFloat, 32, 1}}, {MADE_U64, {kDLUInt, 64, 1}}, {MADE_I64, {kDLInt, 64, 1}},
    {MADE_F64, {kDLFloat, 64, 1}}, {MADE_BOOL, {kDLBool, 8, 1}},
};

enum { KINDS = sizeof kinds / sizeof *kinds, LONG = 10000 };

static uint64_t number_of(size_t kind, size_t i)
{
    return kinds[kind].kind == MADE_BOOL ? i % 2 : (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
}

static void assert_number(const dlpark_file_value *value, size_t kind, size_t i)
{
    size_t nbytes = kinds[kind].dtype.bits / 8;
    uint64_t wanted = number_of(kind, i), found = 0;

    wanted &= UINT64_MAX >> (64 - 8 * nbytes);
    switch (nbytes) {
    case 1:
        found = ((const uint8_t *)value->data)[i];
        break;
    case 2:
        found = ((const uint16_t *)value->data)[i];
        break;
    case 4:
        found = ((const uint32_t *)value->data)[i];
        break;
    default:
        found = ((const uint64_t *)value->data)[i];
    }
    assert_true(found == wanted);
}

static void numbers_have_their_types(void **state)
{
    (void)state;
    for (size_t count = 0; count <= LONG; count += count < 2 ? 1 : LONG - 2) {
        for (size_t is_array = count == 1 ? 0 : 1; is_array < 2; is_array++) {
            gguf_made made = gguf_made_begin(0, KINDS);
            dlpark_file *file = NULL;
            for (size_t k = 0; k < KINDS; k++) {
                char key[] = {(char)('a' + k), '\0'};
                if (is_array)
                    gguf_made_array(&made, key, (uint64_t)kinds[k].kind, count);
                else
                    gguf_made_key(&made, key, (uint64_t)kinds[k].kind);
                for (size_t i = 0; i < count; i++)
                    gguf_made_number(&made, number_of(k, i), kinds[k].dtype.bits / 8);
            }
            assert_ok(gguf_made_open(&file, &made, e));
            for (size_t k = 0; k < KINDS; k++) {
                dlpark_file_value value = {.count = 0};
                assert_ok(dlpark_file_value_load(file, (int64_t)k, &value, e));
                assert_true(value.key.nbytes == 1 && value.key.text[0] == (char)('a' + k));
                assert_true(dlpark_dtype_equal(value.dtype, kinds[k].dtype));
                assert_true(value.count == count && value.is_array == (is_array == 1) && value.data != NULL);
                for (size_t i = 0; i < count; i++)
                    assert_number(&value, k, i);
                dlpark_file_value_release(&value);
            }
            dlpark_file_release(&file);
            gguf_made_end(&made);
        }
    }
}

/* ---- Texts ---- */

/* A vocabulary, of which the index keeps how many there are; tokens of any bytes, and one longer than the window. */
static gguf_made made_vocabulary(char *longest, size_t nbytes)
{
    gguf_made made = gguf_made_begin(0, 5);

    memset(longest, 'x', nbytes);
    gguf_made_key(&made, "text", MADE_STR);
    gguf_made_string(&made, "\xC3\xA9", 2);
    gguf_made_array(&made, "tokens", MADE_STR, LONG + 1);
    for (size_t i = 0; i < LONG; i++) {
        char token[8];
        gguf_made_string(&made, token, (size_t)snprintf(token, sizeof token, "\xFF%zu", i));
    }
    gguf_made_string(&made, longest, nbytes);
    gguf_made_array(&made, "none", MADE_STR, 0);
    gguf_made_array(&made, "numbers", MADE_F64, LONG);
    for (size_t i = 0; i < LONG; i++)
        gguf_made_number(&made, i, 8);
    gguf_made_array(&made, "flags", MADE_BOOL, 3 * LONG);
    for (size_t i = 0; i < 3 * LONG; i++)
        gguf_made_number(&made, i % 2, 1);
    return made;
}

static void texts_come_whole(void **state)
{
    static char longest[100000];
    gguf_made made = made_vocabulary(longest, sizeof longest);
    dlpark_file *file = NULL;
    dlpark_file_value value = {.count = 0};

    (void)state;
    assert_ok(gguf_made_open(&file, &made, e));
    assert_ok(dlpark_file_value_load(file, 0, &value, e));
    const dlpark_file_text *texts = value.data;
    assert_true(value.count == 1 && !value.is_array && value.dtype.bits == 0);
    assert_true(texts->nbytes == 2 && memcmp(texts->text, "\xC3\xA9", 2) == 0);
    dlpark_file_value_release(&value);
    assert_ok(dlpark_file_value_load(file, 1, &value, e));
    texts = value.data;
    assert_true(value.count == LONG + 1 && value.is_array && value.dtype.bits == 0);
    assert_true(texts[7].nbytes == 2 && memcmp(texts[7].text,
                                               "\xFF"
                                               "7",
                                               2) == 0);
    assert_true(texts[LONG - 1].nbytes == 5 && memcmp(texts[LONG - 1].text,
                                                      "\xFF"
                                                      "9999",
                                                      5) == 0);
    assert_true(texts[LONG].nbytes == sizeof longest && memcmp(texts[LONG].text, longest, sizeof longest) == 0);
    dlpark_file_value_release(&value);
    assert_ok(dlpark_file_value_load(file, 2, &value, e));
    assert_true(value.count == 0 && value.is_array && value.data != NULL);
    dlpark_file_value_release(&value);
    dlpark_file_release(&file);
    gguf_made_end(&made);
}

/* ---- A file that changes, and what fails ---- */

static void assert_changed(gguf_made *made, dlpark_file *file, size_t at, unsigned char byte)
{
    dlpark_file_value value = {.count = 0};
    unsigned char before = made->bytes[at];

    made->bytes[at] = byte;
    assert_fails(DLPARK_E_FORMAT, "is another than when the file was opened",
                 dlpark_file_value_load(file, 0, &value, e));
    made->bytes[at] = before;
    assert_true(value.data == NULL);
}

/* Memory that is the file's is not copied: as with a file that others write, what was checked may be something else. */
static void what_changed_is_refused(void **state)
{
    static const int types[] = {MADE_STR, MADE_BOOL, MADE_F32};

    (void)state;
    for (size_t t = 0; t < 3; t++) {
        gguf_made made = gguf_made_begin(0, 1);
        dlpark_file *file = NULL;
        gguf_made_array(&made, "k", (uint64_t)types[t], 2);
        size_t items = made.nbytes;
        for (int i = 0; i < 2; i++) {
            if (types[t] == MADE_STR)
                gguf_made_string(&made, "ab", 2);
            else
                gguf_made_number(&made, 1, types[t] == MADE_BOOL ? 1 : 4);
        }
        assert_ok(gguf_made_open(&file, &made, e));
        assert_changed(&made, file, items - 16, 13);       /* no array, and no type */
        assert_changed(&made, file, items - 12, 13);       /* an array of no type */
        assert_changed(&made, file, items - 12, MADE_ARR); /* of arrays */
        assert_changed(&made, file, items - 1, 0x7F);      /* of more than there is */
        assert_changed(&made, file, items - 8, types[t] == MADE_STR ? 3 : types[t] == MADE_BOOL ? 9 : 3);
        if (types[t] == MADE_STR)
            assert_changed(&made, file, items + 1, 1); /* longer than the file */
        if (types[t] == MADE_BOOL)
            assert_changed(&made, file, items + 1, 2);
        dlpark_file_release(&file);
        gguf_made_end(&made);
    }
}

/* A number at the end of the file that is an array now, of which not even the beginning is there. */
static void what_became_an_array_is_refused(void **state)
{
    static const int kinds_at_end[] = {MADE_U8, MADE_U32};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        gguf_made made = gguf_made_begin(0, 1);
        dlpark_file *file = NULL;
        gguf_made_key(&made, "k", (uint64_t)kinds_at_end[i]);
        gguf_made_number(&made, 0, i == 0 ? 1 : 4);
        assert_ok(gguf_made_open(&file, &made, e));
        assert_changed(&made, file, made.nbytes - (i == 0 ? 5 : 8), MADE_ARR);
        dlpark_file_release(&file);
        gguf_made_end(&made);
    }
}

static void everything_fails_in_turn(void **state)
{
    static char longest[100000];
    gguf_made made = made_vocabulary(longest, sizeof longest);
    tensor_file_path path = tensor_file_save_bytes(made.bytes, made.nbytes);
    dlpark_file *file = NULL;
    long live;

    (void)state;
    assert_ok(dlpark_file_open(&file, path.text, NULL, e));
    live = failing_alloc_live();
    for (int64_t i = 0; i < 5; i++) {
        for (int is_read = 0; is_read < 2; is_read++) {
            dlpark_status status = DLPARK_E_IO;
            int n = 0;
            while (status != DLPARK_OK) {
                dlpark_file_value value = {.count = 0};
                reads_until_failure = is_read ? ++n : 0;
                failing_alloc_arm(is_read ? 0 : ++n);
                status = dlpark_file_value_load(file, i, &value, NULL);
                failing_alloc_arm(0);
                reads_until_failure = 0;
                assert_true(status == DLPARK_OK ||
                            (status == (is_read ? DLPARK_E_IO : DLPARK_E_MEMORY) && !value.data));
                dlpark_file_value_release(&value);
                assert_int_equal(failing_alloc_live(), live);
            }
            assert_true(n > 1);
        }
    }
    dlpark_file_release(&file);
    tensor_file_drop(&path);
    gguf_made_end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_have_their_types), cmocka_unit_test(texts_come_whole),
        cmocka_unit_test(what_changed_is_refused),  cmocka_unit_test(what_became_an_array_is_refused),
        cmocka_unit_test(everything_fails_in_turn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
