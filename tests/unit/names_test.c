#include "test.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "failing_alloc.h"
#include "names.h"

/* ---- The keys, of which the system gives none, or those that the test wants ---- */

int __real_getentropy(void *to, size_t nbytes);
int __wrap_getentropy(void *to, size_t nbytes);

static enum { ENTROPY_REAL, ENTROPY_NONE, ENTROPY_ZEROS, ENTROPY_SEED } entropy;
static uint64_t entropy_seed;

int __wrap_getentropy(void *to, size_t nbytes)
{
    if (entropy == ENTROPY_REAL)
        return __real_getentropy(to, nbytes);
    if (entropy == ENTROPY_NONE) {
        errno = ENOSYS;
        return -1;
    }
    memset(to, 0, nbytes);
    for (size_t i = 0; entropy == ENTROPY_SEED && i < nbytes; i++) {
        entropy_seed = entropy_seed * 6364136223846793005u + 1442695040888963407u;
        ((unsigned char *)to)[i] = (unsigned char)(entropy_seed >> 56);
    }
    return 0;
}

/* ---- Many texts, in one ---- */

typedef struct many {
    char *text;
    dlpark__span_text *spans;
    size_t count, used;
} many;

static many many_new(size_t count, size_t nbytes)
{
    many made = {malloc(nbytes), malloc(count * sizeof *made.spans), 0, 0};

    assert_non_null(made.text);
    assert_non_null(made.spans);
    return made;
}

static void many_add(many *all, const char *text, size_t nbytes)
{
    memcpy(all->text + all->used, text, nbytes);
    all->spans[all->count++] = (dlpark__span_text){(uint32_t)all->used, (uint32_t)nbytes};
    all->used += nbytes;
}

static void many_end(many *all)
{
    free(all->text);
    free(all->spans);
}

/* A table of all of them, each of which must be new to it, and is found by a copy of its text. */
static dlpark__names table_of(const many *all)
{
    dlpark__names names;

    assert_true(dlpark__names_begin(&names, all->text, all->spans, sizeof *all->spans, all->count));
    for (size_t i = 0; i < all->count; i++)
        if (dlpark__names_add(&names, i) != -1)
            fail_msg("number %zu is taken for another", i);
    for (size_t i = 0; i < all->count; i++) {
        char *copy = malloc(all->spans[i].nbytes + 1u);
        assert_non_null(copy);
        memcpy(copy, all->text + all->spans[i].at, all->spans[i].nbytes);
        assert_int_equal(dlpark__names_find(&names, copy, all->spans[i].nbytes), i);
        free(copy);
    }
    return names;
}

/* Slots that stand side by side and are taken: as long as the longest search. */
static size_t longest_run(const dlpark__names *names)
{
    size_t longest = 0, run = 0;

    for (size_t i = 0; i < names->nslots; i++) {
        run = names->slots[i] != 0 ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

static void fifty_thousand_names_are_found(void **state)
{
    enum { COUNT = 50000 };
    many all = many_new(COUNT, COUNT * 60);

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        char name[60];
        int length = snprintf(name, sizeof name, "model.layers.%d.mlp.experts.%d.weight", i / 100, i % 100);
        many_add(&all, name, (size_t)length);
    }
    entropy = ENTROPY_SEED;
    for (entropy_seed = 1; entropy_seed < 6; entropy_seed++) {
        uint64_t seed = entropy_seed;
        dlpark__names names = table_of(&all);
        assert_true(longest_run(&names) < 200); /* half full, of chance: below 100 */
        assert_int_equal(dlpark__names_find(&names, "model.layers.500.mlp.experts.0.weight", 37), -1);
        assert_int_equal(dlpark__names_find(&names, "model.layers.0.mlp.experts.0.weigh", 34), -1);
        assert_int_equal(dlpark__names_find(&names, "", 0), -1);
        dlpark__names_end(&names);
        entropy_seed = seed;
    }
    entropy = ENTROPY_REAL;
    dlpark__names names = table_of(&all);
    dlpark__names_end(&names);
    many_end(&all);
}

/* With these keys all texts of up to sixteen bytes that begin with the secret of their lane have one hash: what remains is
 * comparing. */
static void names_of_one_hash_are_told_apart(void **state)
{
    enum { COUNT = 2000 };
    const uint64_t secret = UINT64_C(0xA0761D6478BD642F);
    many all = many_new(COUNT + 9, COUNT * 16);
    char name[16];

    (void)state;
    memcpy(name, &secret, sizeof secret);
    for (int i = 99; i < COUNT; i++) {
        int length = snprintf(name + sizeof secret, sizeof name - sizeof secret, "%d", i);
        many_add(&all, name, sizeof secret + (size_t)length);
    }
    entropy = ENTROPY_ZEROS;
    dlpark__names names = table_of(&all);
    assert_true(longest_run(&names) >= 1000);
    memcpy(name + sizeof secret, "2000", 4);
    assert_int_equal(dlpark__names_find(&names, name, sizeof secret + 4), -1);
    memcpy(name + sizeof secret, "10", 2);
    assert_int_equal(dlpark__names_find(&names, name, sizeof secret + 2), -1); /* which others begin with */
    dlpark__names_end(&names);
    entropy = ENTROPY_REAL;
    many_end(&all);
}

static void names_of_every_length_and_of_zeros(void **state)
{
    static const char zeros[100];
    many all = many_new(500, 100000);

    (void)state;
    for (size_t length = 0; length < 100; length++) {
        char name[100];
        many_add(&all, zeros, length);
        memset(name, 'x', sizeof name);
        if (length > 0)
            many_add(&all, name, length);
        if (length > 1) { /* which differ in the first byte, or in the last, alone */
            name[0] = 'y';
            many_add(&all, name, length);
            name[0] = 'x';
            name[length - 1] = 'y';
            many_add(&all, name, length);
        }
    }
    dlpark__names names = table_of(&all);
    assert_int_equal(dlpark__names_find(&names, zeros, 100), -1);
    dlpark__names_end(&names);
    many_end(&all);
}

/* A slot tells of short texts where they are, up to 128 MiB. */
static void names_far_from_the_first_are_found(void **state)
{
    enum { FAR = 1 << 27 };
    const dlpark__span_text spans[] = {{FAR - 1, 2}, {FAR, 2}, {FAR + 1, 62}, {FAR + 1, 63}, {3, 2}};
    dlpark__names names;

    (void)state;
    char *text = calloc(FAR + 64, 1);
    assert_non_null(text);
    text[FAR - 1] = 'a';
    text[FAR] = 'b';
    memset(text + FAR + 1, 'c', 62);
    text[FAR + 63] = 'd';
    assert_true(dlpark__names_begin(&names, text, spans, sizeof *spans, 5));
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(dlpark__names_add(&names, i), -1);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(dlpark__names_find(&names, text + spans[i].at, spans[i].nbytes), i);
    assert_int_equal(dlpark__names_find(&names, text + FAR + 1, 61), -1);
    assert_int_equal(dlpark__names_find(&names, text + FAR + 2, 62), -1);
    dlpark__names_end(&names);
    free(text);
}

/* A file of a million tensors may take half as much again as its header. */
static void room_is_saved_where_there_are_very_many(void **state)
{
    const dlpark__span_text spans[] = {{0, 1}};
    dlpark__names names;

    (void)state;
    assert_true(dlpark__names_begin(&names, "a", spans, sizeof *spans, 1000000));
    assert_in_range(names.nslots, 1000001, 1150000);
    assert_int_equal(dlpark__names_add(&names, 0), -1);
    assert_int_equal(dlpark__names_find(&names, "a", 1), 0);
    dlpark__names_end(&names);
}

static void second_of_a_name_is_not_added(void **state)
{
    many all = many_new(5, 100);

    (void)state;
    many_add(&all, "a", 1);
    many_add(&all, "b", 1);
    many_add(&all, "a", 1);
    many_add(&all, "", 0);
    many_add(&all, "", 0);
    dlpark__names names;
    assert_true(dlpark__names_begin(&names, all.text, all.spans, sizeof *all.spans, all.count));
    assert_int_equal(dlpark__names_add(&names, 0), -1);
    assert_int_equal(dlpark__names_add(&names, 1), -1);
    assert_int_equal(dlpark__names_add(&names, 2), 0);
    assert_int_equal(dlpark__names_add(&names, 3), -1);
    assert_int_equal(dlpark__names_add(&names, 4), 3);
    assert_int_equal(dlpark__names_find(&names, "a", 1), 0);
    assert_int_equal(dlpark__names_find(&names, "", 0), 3);
    dlpark__names_end(&names);
    many_end(&all);
}

/* Filled at once by hashes that were made before, as it is one by one; a twin stops, and what follows goes on behind it. */
static void table_is_filled_by_hashes(void **state)
{
    enum { COUNT = 1000, TWINS = 3 };
    static const int64_t twins[TWINS] = {1, 500, COUNT - 1};
    many all = many_new(COUNT, COUNT * 8);
    uint32_t hashes[COUNT];
    dlpark__names names;

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        char name[16];
        bool is_twin = i == twins[0] || i == twins[1] || i == twins[2];
        int length = snprintf(name, sizeof name, "%d", is_twin ? 0 : i);
        many_add(&all, name, (size_t)length);
    }
    dlpark__names_choose_keys(&names, &all);
    for (int i = 0; i < COUNT; i++)
        hashes[i] = dlpark__names_hash(&names, all.text + all.spans[i].at, all.spans[i].nbytes);
    assert_true(dlpark__names_begin_keyed(&names, all.text, all.spans, sizeof *all.spans, COUNT));
    size_t item = 0;
    for (int i = 0; i < TWINS; i++, item++) {
        item = (size_t)dlpark__names_fill(&names, hashes, item, COUNT);
        assert_int_equal(item, twins[i]);
    }
    assert_int_equal(dlpark__names_fill(&names, hashes, item, COUNT), -1);
    assert_int_equal(dlpark__names_add(&names, (size_t)twins[1]), 0); /* by the same hashes */
    for (int i = 0; i < COUNT; i++) {
        char name[16];
        int length = snprintf(name, sizeof name, "%d", i);
        bool is_twin = i == twins[0] || i == twins[1] || i == twins[2];
        assert_int_equal(dlpark__names_find(&names, name, (size_t)length), is_twin ? -1 : i);
    }
    dlpark__names_end(&names);
    many_end(&all);
}

static void empty_table_has_nothing(void **state)
{
    (void)state;
    dlpark__names names;
    assert_true(dlpark__names_begin(&names, NULL, NULL, sizeof(dlpark__span_text), 0));
    assert_int_equal(dlpark__names_find(&names, "a", 1), -1);
    assert_int_equal(dlpark__names_find(&names, "", 0), -1);
    dlpark__names_end(&names);
}

static void no_entropy_is_no_failure(void **state)
{
    many all = many_new(3, 100);
    dlpark__names one, two;

    (void)state;
    many_add(&all, "first", 5);
    many_add(&all, "second", 6);
    many_add(&all, "a name of more than sixteen bytes", 33);
    entropy = ENTROPY_NONE;
    one = table_of(&all);
    two = table_of(&all);
    assert_true(one.keys[0] != two.keys[0] && one.keys[1] != two.keys[1]);
    dlpark__names_end(&one);
    dlpark__names_end(&two);
    entropy = ENTROPY_REAL;
    one = table_of(&all);
    two = table_of(&all);
    assert_true(one.keys[0] != two.keys[0] && one.keys[1] != two.keys[1]);
    dlpark__names_end(&one);
    dlpark__names_end(&two);
    many_end(&all);
}

static void no_memory_is_told(void **state)
{
    dlpark__names names;
    long live = failing_alloc_live();

    (void)state;
    failing_alloc_arm(1);
    assert_false(dlpark__names_begin(&names, NULL, NULL, sizeof(dlpark__span_text), 100));
    failing_alloc_arm(0);
    dlpark__names_end(&names);
    assert_int_equal(failing_alloc_live(), live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fifty_thousand_names_are_found),     cmocka_unit_test(names_of_one_hash_are_told_apart),
        cmocka_unit_test(names_of_every_length_and_of_zeros), cmocka_unit_test(room_is_saved_where_there_are_very_many),
        cmocka_unit_test(second_of_a_name_is_not_added),      cmocka_unit_test(names_far_from_the_first_are_found),
        cmocka_unit_test(table_is_filled_by_hashes),          cmocka_unit_test(empty_table_has_nothing),
        cmocka_unit_test(no_entropy_is_no_failure),           cmocka_unit_test(no_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
