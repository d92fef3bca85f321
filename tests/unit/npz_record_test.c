#include "test.h"

#include <stdlib.h>

#include "failing_alloc.h"
#include "npz/npz_record.h"

static const uint64_t full = DLPARK__ZIP_FULL_32;

static uint64_t number_at(const dlpark__npz_text *text, size_t at, size_t nbytes)
{
    return dlpark__zip_number((const unsigned char *)text->bytes + at, nbytes);
}

static dlpark__npz_text text_of(size_t room)
{
    dlpark__npz_text text = {NULL, 0, 0};

    assert_true(dlpark__npz_reserve(&text, room));
    return text;
}

/* As the reader finds them: nbytes, packed, and where. */
static void assert_entry(const dlpark__npz_record *record, uint64_t at)
{
    dlpark__npz_text text = text_of(DLPARK__NPZ_ENTRY_MOST + record->name_nbytes);
    size_t name = record->name_nbytes + 4;

    dlpark__npz_put_entry(&text, record, at);
    uint64_t packed = number_at(&text, 20, 4), nbytes = number_at(&text, 24, 4), header = number_at(&text, 42, 4);
    uint64_t *const numbers[] = {&nbytes, &packed, &header};
    size_t extra = (size_t)number_at(&text, 30, 2);
    assert_int_equal(text.nbytes, DLPARK__ZIP_ENTRY_NBYTES + name + extra);
    assert_true(text.nbytes <= DLPARK__NPZ_ENTRY_MOST + record->name_nbytes);
    const unsigned char *field = (const unsigned char *)text.bytes + DLPARK__ZIP_ENTRY_NBYTES + name;
    assert_int_equal(extra, 8 * ((nbytes == full) + (packed == full) + (header == full)) +
                                (nbytes == full || packed == full || header == full ? 4 : 0));
    assert_null(dlpark__zip_widen(field, extra, numbers, 3));
    assert_true(nbytes == record->nbytes && packed == record->packed_nbytes && header == at);
    assert_int_equal(number_at(&text, 6, 2), record->is_wide || extra != 0 ? 45 : 20);
    assert_int_equal(number_at(&text, 10, 2), record->method);
    assert_int_equal(number_at(&text, 16, 4), record->sum);
    dlpark__npz_set_entry(text.bytes, 77);
    assert_int_equal(number_at(&text, 16, 4), 77);
    free(text.bytes);
}

static void entries_are_as_wide_as_their_numbers(void **state)
{
    const uint64_t numbers[] = {1, full - 1, full, full + 1, UINT64_C(1) << 40};

    (void)state;
    for (size_t i = 0; i < 125; i++) {
        const dlpark__npz_record record = {.name = "ab",
                                           .name_nbytes = 2,
                                           .method = 8,
                                           .sum = 0x12345678,
                                           .packed_nbytes = numbers[i % 5],
                                           .nbytes = numbers[i / 5 % 5],
                                           .is_wide = numbers[i / 5 % 5] >= full || i % 2 == 0};
        assert_entry(&record, numbers[i / 25]);
    }
}

/* Written without sizes, which come later and may be small though there is room for large ones. */
static void headers_get_their_sizes_later(void **state)
{
    const uint64_t numbers[] = {0, 1, full - 1, full, UINT64_C(1) << 40};

    (void)state;
    for (size_t i = 0; i < 50; i++) {
        dlpark__npz_record record = {.name = "\xC3\xA9", .name_nbytes = 2, .method = 8, .is_wide = i % 2 == 0};
        dlpark__npz_text text = text_of(200);
        uint64_t wanted_nbytes = numbers[i / 2 % 5], wanted_packed = numbers[i / 10];
        if (!record.is_wide && (wanted_nbytes >= full || wanted_packed >= full)) {
            free(text.bytes);
            continue;
        }
        record.padding = i % 3 == 0 ? 10 : 0;
        dlpark__npz_put_header(&text, &record);
        assert_int_equal(text.nbytes, dlpark__npz_header_nbytes(&record) + record.padding);
        record.sum = 0x89ABCDEF;
        record.nbytes = wanted_nbytes;
        record.packed_nbytes = wanted_packed;
        dlpark__npz_set_header(text.bytes, &record);
        uint64_t packed = number_at(&text, 18, 4), nbytes = number_at(&text, 22, 4);
        uint64_t *const found[] = {&nbytes, &packed};
        assert_null(dlpark__zip_widen((const unsigned char *)text.bytes + DLPARK__ZIP_LOCAL_NBYTES + 6,
                                      (size_t)number_at(&text, 28, 2), found, 2));
        assert_true(nbytes == wanted_nbytes && packed == wanted_packed);
        assert_int_equal(number_at(&text, 14, 4), record.sum);
        assert_int_equal(number_at(&text, 6, 2), DLPARK__ZIP_IS_UTF8);
        free(text.bytes);
    }
}

static void padding_reaches_multiples(void **state)
{
    (void)state;
    for (uint64_t at = 0; at < 200; at++)
        for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
            size_t padding = dlpark__npz_padding(at, alignment);
            assert_int_equal((at + padding) % alignment, 0);
            assert_true(padding == 0 || padding >= 6);
        }
}

static void the_end_is_wide_where_it_must(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        dlpark__npz_text text = text_of(1);
        size_t count = i % 2 == 0 ? 65534 : 65535;
        uint64_t at = i / 2 == 0 ? full - 1 : full;
        assert_true(dlpark__npz_put_end(&text, count, at));
        assert_int_equal(text.nbytes, i == 0 ? 22 : 98);
        assert_int_equal(number_at(&text, text.nbytes - 12, 2), count == 65535 ? 65535 : 65534);
        free(text.bytes);
    }
    dlpark__npz_text text = {NULL, 0, 0};
    failing_alloc_arm(1);
    assert_false(dlpark__npz_put_end(&text, 0, 0));
    failing_alloc_arm(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_as_wide_as_their_numbers),
        cmocka_unit_test(headers_get_their_sizes_later),
        cmocka_unit_test(padding_reaches_multiples),
        cmocka_unit_test(the_end_is_wide_where_it_must),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
