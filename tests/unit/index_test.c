#include "test.h"

#include <stdbool.h>
#include <stdlib.h>

#include "failing_alloc.h"
#include "index.h"

static dlpark__index_entry entry_of(uint64_t begin, uint64_t nbytes, uint32_t at)
{
    return (dlpark__index_entry){.name = {at, 1}, .begin = begin, .nbytes = nbytes};
}

/* The extents that entry `i` of the test has: of every rank, some of them beyond 32 bits. */
static int32_t shape_of(int i, int64_t shape[DLPARK_MAX_NDIM])
{
    int32_t ndim = i % (DLPARK_MAX_NDIM + 1);

    for (int32_t d = 0; d < ndim; d++)
        shape[d] = (int64_t)i * 1000 + d;
    if (i % 3 == 0 && ndim > 0)
        shape[i % ndim] = INT64_MAX - i;
    if (i % 7 == 0 && ndim > 0)
        shape[i * 5 % ndim] = (int64_t)1 << 32;
    if (i % 11 == 0 && ndim > 0)
        shape[0] = UINT32_MAX;
    return ndim;
}

static bool add_number(dlpark__index *index, int i)
{
    int64_t shape[DLPARK_MAX_NDIM];
    dlpark__index_entry entry = entry_of((uint64_t)i, 3, (uint32_t)i);

    entry.ndim = (uint16_t)shape_of(i, shape);
    entry.type = (uint8_t)(i % 200);
    return dlpark__index_add(index, &entry, shape);
}

static void check_number(const dlpark__index *index, int i)
{
    int64_t shape[DLPARK_MAX_NDIM], found[DLPARK_MAX_NDIM + 1];
    const dlpark__index_entry *entry = &index->entries[i];
    int32_t ndim = shape_of(i, shape);

    assert_int_equal(entry->ndim, ndim);
    assert_int_equal(entry->type, i % 200);
    assert_int_equal(entry->begin, i);
    found[ndim] = 42;
    dlpark__index_shape(index, entry, found);
    assert_memory_equal(found, shape, (size_t)ndim * sizeof *shape);
    assert_int_equal(found[ndim], 42);
}

static void shapes_come_back(void **state)
{
    enum { COUNT = 1000 };
    dlpark__index index = {0};
    long live = failing_alloc_live();

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        assert_true(add_number(&index, i));
        assert_true(dlpark__index_add_pair(&index, (dlpark__span_text){(uint32_t)i, 1}, (dlpark__span_text){7, 2}));
    }
    for (int trimmed = 0; trimmed < 2; trimmed++) {
        assert_int_equal(index.count, COUNT);
        assert_int_equal(index.pairs_count, COUNT);
        for (int i = 0; i < COUNT; i++) {
            check_number(&index, i);
            assert_int_equal(index.pairs[i].key.at, i);
            assert_int_equal(index.pairs[i].value.nbytes, 2);
        }
        dlpark__index_trim(&index);
        assert_int_equal(index.room, COUNT);
        assert_int_equal(index.extents_room, index.extents_count);
        assert_int_equal(index.pairs_room, COUNT);
    }
    dlpark__index_trim(&index); /* there is nothing to give back */
    assert_true(add_number(&index, COUNT));
    check_number(&index, COUNT);
    dlpark__index_end(&index);
    assert_int_equal(index.count, 0);
    dlpark__index_end(&index);
    assert_int_equal(failing_alloc_live(), live);
}

/* A million tensors take the room that the header says. */
static void extents_take_a_word_each_unless_one_needs_two(void **state)
{
    dlpark__index index = {0};
    dlpark__index_entry entry = entry_of(0, 0, 0);

    (void)state;
    assert_int_equal(sizeof entry, 32);
    entry.ndim = 2;
    assert_true(dlpark__index_add(&index, &entry, (const int64_t[]){UINT32_MAX, 1}));
    assert_int_equal(index.extents_count, 2);
    assert_true(dlpark__index_add(&index, &entry, (const int64_t[]){1, (int64_t)UINT32_MAX + 1}));
    assert_int_equal(index.extents_count, 6);
    dlpark__index_end(&index);
}

static void only_64_extents_are_kept(void **state)
{
    dlpark__index index = {0};
    int64_t shape[DLPARK_MAX_NDIM], found[DLPARK_MAX_NDIM];

    (void)state;
    for (int i = 0; i < DLPARK_MAX_NDIM; i++)
        shape[i] = i;
    for (int ndim = 63; ndim <= UINT16_MAX; ndim += ndim < 66 ? 1 : 32735) {
        dlpark__index_entry entry = entry_of(0, 0, 0);
        entry.ndim = (uint16_t)ndim;
        assert_true(dlpark__index_add(&index, &entry, shape));
        const dlpark__index_entry *last = &index.entries[index.count - 1];
        assert_int_equal(last->ndim, ndim);
        assert_int_equal(dlpark__index_rank(last), ndim < 64 ? ndim : 64);
        dlpark__index_shape(&index, last, found);
        assert_memory_equal(found, shape, (size_t)dlpark__index_rank(last) * sizeof *shape);
    }
    dlpark__index_end(&index);
}

static void no_memory_leaves_all_as_it_was(void **state)
{
    long live = failing_alloc_live();

    (void)state;
    for (int nth = 1;; nth++) {
        dlpark__index index = {0};
        int failures = 0, added = 0, pairs = 0;
        failing_alloc_arm(nth);
        for (int i = 0; i < 200; i++) {
            if (add_number(&index, added))
                added++;
            else
                failures++;
            if (dlpark__index_add_pair(&index, (dlpark__span_text){(uint32_t)pairs, 1}, (dlpark__span_text){0, 0}))
                pairs++;
            else
                failures++;
        }
        failing_alloc_arm(0);
        assert_int_equal(index.count, added);
        assert_int_equal(index.pairs_count, pairs);
        for (int i = 0; i < added; i++)
            check_number(&index, i);
        dlpark__index_end(&index);
        assert_true(failures <= 1);
        if (failures == 0 && nth > 20)
            break;
    }
    dlpark__index index = {0};
    assert_true(add_number(&index, 0));
    assert_true(dlpark__index_add_pair(&index, (dlpark__span_text){0, 0}, (dlpark__span_text){0, 0}));
    failing_alloc_arm_from(1);
    dlpark__index_trim(&index); /* which cannot fail */
    failing_alloc_arm(0);
    check_number(&index, 0);
    dlpark__index_end(&index);
    assert_int_equal(failing_alloc_live(), live);
}

/* There is no memory for so many, but the numbers are looked at before it is asked for. */
static void limits_are_kept(void **state)
{
    dlpark__index index = {.count = DLPARK__NAMES_MOST, .room = DLPARK__NAMES_MOST};
    dlpark__index_entry entry = entry_of(0, 0, 0);
    const int64_t shape[] = {1, (int64_t)1 << 40};

    (void)state;
    failing_alloc_arm_from(1);
    assert_false(dlpark__index_add(&index, &entry, NULL));
    index = (dlpark__index){.extents_count = UINT32_MAX - 3, .extents_room = UINT32_MAX, .room = 1};
    entry.ndim = 2;
    assert_false(dlpark__index_add(&index, &entry, shape));
    index = (dlpark__index){.pairs_count = DLPARK__NAMES_MOST, .pairs_room = DLPARK__NAMES_MOST};
    assert_false(dlpark__index_add_pair(&index, (dlpark__span_text){0, 0}, (dlpark__span_text){0, 0}));
    assert_int_equal(failing_alloc_count(), 0);
    failing_alloc_arm(0);
}

static void room_ends_where_numbers_do(void **state)
{
    dlpark__index index = {.count = DLPARK__NAMES_MOST - 1, .room = DLPARK__NAMES_MOST - 1};

    (void)state;
    assert_true(dlpark__index_reserve(&index, 3)); /* of what is never touched */
    assert_int_equal(index.room, DLPARK__NAMES_MOST);
    assert_true(index.extents_room >= 3);
    index.count++;
    assert_false(dlpark__index_reserve(&index, 3));
    dlpark__index_end(&index);
}

static void order_is_of_bytes_then_as_written(void **state)
{
    enum { COUNT = 300 };
    uint32_t seed = 1;

    (void)state;
    for (int round = 0; round < 50; round++) {
        dlpark__index index = {0};
        for (int i = 0; i < COUNT; i++) {
            seed = seed * 1664525 + 1013904223;
            dlpark__index_entry entry = entry_of(round == 0 ? (uint64_t)i : seed >> 24, seed >> 16 & 3, (uint32_t)i);
            assert_true(dlpark__index_add(&index, &entry, NULL));
        }
        dlpark__index_sort(&index);
        bool seen[COUNT] = {false};
        for (int i = 0; i < COUNT; i++) {
            const dlpark__index_entry *a = &index.entries[i > 0 ? i - 1 : 0], *b = &index.entries[i];
            assert_false(seen[b->name.at]);
            seen[b->name.at] = true;
            bool is_ordered = a->begin < b->begin ||
                              (a->begin == b->begin &&
                               (a->nbytes < b->nbytes || (a->nbytes == b->nbytes && a->name.at <= b->name.at)));
            assert_true(is_ordered);
            assert_true(round != 0 || b->name.at == (uint32_t)i);
        }
        dlpark__index_end(&index);
    }
    dlpark__index empty = {0};
    dlpark__index_sort(&empty);
    assert_null(empty.entries);
}

/* Two of one place: what no file can have, as each name is written somewhere. */
static void order_of_the_same_twice(void **state)
{
    dlpark__index index = {0};
    const dlpark__index_entry entry = entry_of(5, 5, 5), first = entry_of(4, 5, 5);

    (void)state;
    assert_true(dlpark__index_add(&index, &entry, NULL) && dlpark__index_add(&index, &entry, NULL));
    assert_true(dlpark__index_add(&index, &first, NULL));
    dlpark__index_sort(&index);
    assert_int_equal(index.entries[0].begin, 4);
    assert_int_equal(index.entries[2].begin, 5);
    dlpark__index_end(&index);
}

static void first_twin_is_told(void **state)
{
    static const char text[] = "abcabd";
    long live = failing_alloc_live();
    int64_t twin = 42;

    (void)state;
    for (int count = 0; count <= 5; count++) {
        dlpark__index index = {.text = malloc(sizeof text)};
        assert_non_null(index.text);
        memcpy(index.text, text, sizeof text);
        for (int i = 0; i < count; i++) {
            dlpark__index_entry entry = entry_of((uint64_t)i, 1, (uint32_t)i);
            assert_true(dlpark__index_add(&index, &entry, NULL));
        }
        twin = -1;
        for (int nth = 1; nth <= (count > 0 ? 2 : 1); nth++) { /* the hashes, where there are any, and the table */
            failing_alloc_arm(nth);
            assert_false(dlpark__index_find_names(&index, &twin));
            failing_alloc_arm(0);
        }
        assert_true(dlpark__index_find_names(&index, &twin));
        assert_int_equal(twin, count > 3 ? 3 : -1);
        while (twin >= 0) {
            int64_t before = twin;
            assert_true(dlpark__index_find_names(&index, &twin));
            assert_true(twin < 0 || twin > before);
        }
        assert_int_equal(dlpark__names_find(&index.names, "a", 1), count > 0 ? 0 : -1);
        dlpark__index_end(&index);
    }
    assert_int_equal(failing_alloc_live(), live);
}

/* Some hashed before others come, and before all are sorted: each is found where it is then. */
static void names_hashed_early_are_found(void **state)
{
    enum { COUNT = 100 };

    (void)state;
    for (int backward = 0; backward < 2; backward++) {
        dlpark__index index = {.text = malloc(COUNT)};
        int64_t twin = -1;
        assert_non_null(index.text);
        assert_true(dlpark__index_hash_names(&index)); /* none */
        for (int i = 0; i < COUNT; i++) {
            dlpark__index_entry entry = entry_of((uint64_t)(backward ? COUNT - i : i), 1, (uint32_t)i);
            index.text[i] = (char)i;
            assert_true(dlpark__index_add(&index, &entry, NULL));
            if (i % 7 == 0)
                assert_true(dlpark__index_hash_names(&index));
        }
        assert_int_equal(index.hashes_count, 99);
        dlpark__index_sort(&index);
        assert_true(dlpark__index_find_names(&index, &twin));
        assert_int_equal(twin, -1);
        assert_null(index.hashes);
        for (int i = 0; i < COUNT; i++)
            assert_int_equal(dlpark__names_find(&index.names, (char[]){(char)i}, 1), backward ? COUNT - 1 - i : i);
        dlpark__index_end(&index);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_come_back),
        cmocka_unit_test(extents_take_a_word_each_unless_one_needs_two),
        cmocka_unit_test(only_64_extents_are_kept),
        cmocka_unit_test(no_memory_leaves_all_as_it_was),
        cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(order_is_of_bytes_then_as_written),
        cmocka_unit_test(order_of_the_same_twice),
        cmocka_unit_test(first_twin_is_told),
        cmocka_unit_test(room_ends_where_numbers_do),
        cmocka_unit_test(names_hashed_early_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
