/*
 * Every set of kernels that this processor has against the plain one, on memory that ends where the kernel's does, so
 * that a byte too far is found by the sanitizer and by valgrind.
 */
#define _POSIX_C_SOURCE 200112L
#include "test.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "kernels/kernels.h"

/* Exact memory with noise; `at` bytes are left out at its beginning, a cache line's, so that alignments differ. */
static unsigned char *noise(int64_t nbytes, int64_t at)
{
    void *aligned = NULL;

    assert_int_equal(posix_memalign(&aligned, 64, (size_t)(nbytes + at)), 0);
    unsigned char *memory = aligned;
    for (int64_t i = 0; i < nbytes + at; i++)
        memory[i] = (unsigned char)(i * 31 + i / 253);
    return memory + at;
}

static void drop(unsigned char *memory, int64_t at)
{
    free(memory - at);
}

static const int64_t counts[] = {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 48, 63, 64, 65, 127, 129, 200, 259};
enum { COUNTS = sizeof counts / sizeof counts[0] };

/* A kernel that is given a count and two memories, and how large these are for it. */
typedef struct kernel_case {
    size_t element;
    int channels, planes;
    bool stream;
    int64_t count, step;
    int64_t to_nbytes, from_nbytes, from_at; /* from_at: where the first element lies */
    dlpark__copy_block block;
    void (*run)(const dlpark__kernels *set, const struct kernel_case *c, unsigned char *to, const unsigned char *from);
} kernel_case;

static void check_case(const kernel_case *c)
{
    static const int64_t odd[][2] = {{0, 0}, {3, 0}, {5, 1}, {0, 16}, {2, 32}};
    static int i;

    i = (i + 1) % 5; /* one way for a case: there are many of each kind */
    for (size_t at = 1; dlpark__kernels_list(at) != NULL; at++) {
        unsigned char *from = noise(c->from_nbytes, odd[i][0]);
        unsigned char *to = noise(c->to_nbytes, odd[i][1]), *expected = noise(c->to_nbytes, odd[i][1]);
        c->run(dlpark__kernels_list(0), c, expected, from + c->from_at);
        c->run(dlpark__kernels_list(at), c, to, from + c->from_at);
        if (c->to_nbytes > 0)
            assert_memory_equal(to, expected, (size_t)c->to_nbytes);
        drop(from, odd[i][0]);
        drop(to, odd[i][1]);
        drop(expected, odd[i][1]);
    }
}

/* How far apart rows or planes of a line lie: a streamed one begins with a cache line, as that is what streams. */
static int64_t apart(const kernel_case *c, int64_t line)
{
    return c->stream ? (line + 63) / 64 * 64 : line + 1;
}

static void run_transpose(const dlpark__kernels *set, const kernel_case *c, unsigned char *to,
                          const unsigned char *from)
{
    set->transpose(to, apart(c, c->count * (int64_t)c->element), from, c->step * (int64_t)c->element + 3, c->element,
                   c->count, c->step, c->stream);
}

static void transpose(void **state)
{
    (void)state;
    for (size_t element = 1; element <= 16; element *= 2)
        for (int i = 1; i < COUNTS; i++)
            for (int j = 1; j < COUNTS; j++)
                for (int stream = 0; stream < 2; stream++) {
                    int64_t nx = counts[i], ny = counts[j], size = (int64_t)element;
                    kernel_case c = {.element = element, .count = nx, .step = ny, .stream = stream != 0};
                    c.run = run_transpose;
                    c.to_nbytes = (ny - 1) * apart(&c, nx * size) + nx * size;
                    c.from_nbytes = (nx - 1) * (ny * size + 3) + ny * size;
                    check_case(&c);
                }
}

static void run_split(const dlpark__kernels *set, const kernel_case *c, unsigned char *to, const unsigned char *from)
{
    set->split(to, apart(c, c->count * (int64_t)c->element), from, c->element, c->channels, c->planes, c->count,
               c->stream);
}

static void run_join(const dlpark__kernels *set, const kernel_case *c, unsigned char *to, const unsigned char *from)
{
    set->join(to, from, c->count * (int64_t)c->element + 1, c->element, c->channels, c->count, c->stream);
}

static void split_and_join(void **state)
{
    (void)state;
    for (size_t element = 1; element <= 8; element *= 2)
        for (int channels = 2; channels <= 4; channels++)
            for (int i = 1; i < 2 * COUNTS; i++) {
                int64_t count = counts[i % COUNTS], size = (int64_t)element, line = count * size;
                kernel_case c = {.element = element, .channels = channels, .count = count, .stream = i < COUNTS};
                c.run = run_split;
                for (c.planes = 1; c.planes <= channels; c.planes++) {
                    c.to_nbytes = (c.planes - 1) * apart(&c, line) + line;
                    c.from_nbytes = count == 0 ? 0 : line * channels - (channels - c.planes) * size;
                    check_case(&c);
                }
                c.run = run_join;
                c.from_nbytes = (channels - 1) * (line + 1) + line;
                c.to_nbytes = line * channels;
                check_case(&c);
            }
}

static void run_reverse(const dlpark__kernels *set, const kernel_case *c, unsigned char *to, const unsigned char *from)
{
    set->reverse(to, from, c->element, c->count, c->stream);
}

static void reverse(void **state)
{
    (void)state;
    for (size_t element = 1; element <= 16; element *= 2)
        for (int i = 1; i < COUNTS; i++) {
            int64_t line = counts[i] * (int64_t)element;
            kernel_case c = {.element = element, .count = counts[i], .to_nbytes = line, .from_nbytes = line};
            c.from_at = line - (int64_t)element;
            c.run = run_reverse;
            check_case(&c);
            c.stream = true;
            check_case(&c);
        }
}

static void run_blocks(const dlpark__kernels *set, const kernel_case *c, unsigned char *to, const unsigned char *from)
{
    set->blocks(to, from, c->step, &c->block, c->count, c->stream);
}

static void blocks(void **state)
{
    (void)state;
    for (int nbytes = 1; nbytes <= 16; nbytes++)
        for (int span = 1; span <= 16; span++)
            for (int64_t step = -34; step <= 34; step++) {
                kernel_case c = {.step = step, .run = run_blocks};
                c.block.nbytes = (uint8_t)nbytes;
                c.block.span = (uint8_t)span;
                for (int i = 0; i < nbytes; i++)
                    c.block.map[i] = (uint8_t)((i * 5 + 3) % span);
                c.count = counts[(nbytes * 7 + span * 3 + step + 34) % COUNTS];
                c.to_nbytes = c.count * nbytes;
                c.from_at = step < 0 && c.count > 0 ? -step * (c.count - 1) : 0;
                c.from_nbytes = (step < 0 ? -step : step) * (c.count > 0 ? c.count - 1 : 0) + span;
                check_case(&c);
                c.stream = true;
                check_case(&c);
            }
}

static void run_stream(const dlpark__kernels *set, const kernel_case *c, unsigned char *to, const unsigned char *from)
{
    set->stream(to, from, (size_t)c->count);
    set->fence();
}

static void stream(void **state)
{
    (void)state;
    for (int64_t count = 0; count < 700; count++) {
        kernel_case c = {.count = count, .to_nbytes = count, .from_nbytes = count, .run = run_stream};
        check_case(&c);
    }
}

static void run_rows(const dlpark__kernels *set, const kernel_case *c, unsigned char *to, const unsigned char *from)
{
    set->rows(to, c->count + 3, from, c->count + 7, (size_t)c->count, 3);
}

static void rows(void **state)
{
    (void)state;
    for (int64_t count = 1; count < 300; count++) {
        kernel_case c = {.count = count, .run = run_rows};
        c.to_nbytes = 2 * (count + 3) + count;
        c.from_nbytes = 2 * (count + 7) + count;
        check_case(&c);
    }
}

static void run_strided(const dlpark__kernels *set, const kernel_case *c, unsigned char *to, const unsigned char *from)
{
    const dlpark__copy_dim outer = {3, c->count * (int64_t)c->element, c->step},
                           inner = {c->count, (int64_t)c->element, c->step};

    set->strided(to, from, c->element, &outer, &inner);
}

static void strided(void **state)
{
    (void)state;
    for (size_t element = 1; element <= 33; element++)
        for (int64_t step = 0; step < 40; step += 13) {
            kernel_case c = {.element = element, .step = step, .count = 5, .run = run_strided};
            c.to_nbytes = 15 * (int64_t)element;
            c.from_nbytes = 6 * step + (int64_t)element;
            check_case(&c);
            /* The plain set against what it has to do. */
            unsigned char *to = noise(c.to_nbytes, 0), *from = noise(c.from_nbytes, 0);
            run_strided(dlpark__kernels_list(0), &c, to, from);
            for (int64_t i = 0; i < 15; i++)
                assert_memory_equal(to + i * (int64_t)element, from + (i / 5 + i % 5) * step, element);
            drop(to, 0);
            drop(from, 0);
        }
}

static void *get_set(void *unused)
{
    (void)unused;
    return (void *)(uintptr_t)dlpark__kernels_get();
}

static void the_best_set_is_chosen_once(void **state)
{
    const dlpark__kernels *best = NULL;
    pthread_t threads[4];

    (void)state;
    for (size_t i = 0; dlpark__kernels_list(i) != NULL; i++)
        best = dlpark__kernels_list(i);
    dlpark__kernels_use(NULL);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, get_set, NULL), 0);
    for (int i = 0; i < 4; i++) {
        void *set = NULL;
        assert_int_equal(pthread_join(threads[i], &set), 0);
        assert_ptr_equal(set, best);
    }
    dlpark__kernels_use(dlpark__kernels_list(0));
    assert_string_equal(dlpark__kernels_get()->name, "generic");
    dlpark__kernels_use(NULL);
    assert_ptr_equal(dlpark__kernels_get(), best);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transpose), cmocka_unit_test(split_and_join),
        cmocka_unit_test(reverse),   cmocka_unit_test(blocks),
        cmocka_unit_test(stream),    cmocka_unit_test(strided),
        cmocka_unit_test(rows),      cmocka_unit_test(the_best_set_is_chosen_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
