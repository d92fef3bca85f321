#include "tensor_file.h"

#include "failing_alloc.h"

static const char header[] = "{'__metadata__':{'k':'a text','empty':''}}";

static dlpark_file *open_texts(tensor_file *made)
{
    dlpark_file *file = NULL;

    *made = tensor_file_text(header, 0);
    assert_ok(dlpark_file_open_memory(&file, made->bytes, made->nbytes, NULL, NULL, NULL, e));
    return file;
}

static void texts_are_values(void **state)
{
    static const char *const keys[] = {"k", "empty"}, *const texts[] = {"a text", ""};
    tensor_file made;
    dlpark_file *file = open_texts(&made);

    (void)state;
    for (int64_t i = 0; i < 2; i++) {
        dlpark_file_value value = {.count = 0};
        assert_ok(dlpark_file_value_load(file, i, &value, e));
        assert_int_equal(value.key.nbytes, strlen(keys[i]));
        assert_memory_equal(value.key.text, keys[i], value.key.nbytes);
        assert_true(value.dtype.code == 0 && value.dtype.bits == 0 && value.dtype.lanes == 0);
        assert_true(value.count == 1 && !value.is_array);
        const dlpark_file_text *text = value.data;
        assert_int_equal(text->nbytes, strlen(texts[i]));
        assert_true(text->nbytes == 0 || memcmp(text->text, texts[i], text->nbytes) == 0);
        dlpark_file_value_release(&value);
        assert_true(value.data == NULL && value.count == 0);
        dlpark_file_value_release(&value);
    }
    dlpark_file_value_release(NULL);
    dlpark_file_release(&file);
    tensor_file_end(&made);
}

static void what_is_not_there_is_refused(void **state)
{
    tensor_file made;
    dlpark_file *file = open_texts(&made);
    dlpark_file_value value = {.count = 7};

    (void)state;
    assert_fails(DLPARK_E_INDEX, "has no metadata 2, it has 2", dlpark_file_value_load(file, 2, &value, e));
    assert_fails(DLPARK_E_INDEX, "has no metadata -1", dlpark_file_value_load(file, -1, &value, e));
    failing_alloc_arm(1);
    assert_int_equal(dlpark_file_value_load(file, 0, &value, NULL), DLPARK_E_MEMORY);
    failing_alloc_arm(0);
    assert_int_equal(value.count, 7);
    dlpark_file_release(&file);
    tensor_file_end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_values),
        cmocka_unit_test(what_is_not_there_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
