/*
 * What the headers promise about threads: a tensor ends on whatever thread has it, what is only read may be read by
 * all at once, and nothing is kept between calls that another thread could see. Workers count what is wrong and leave
 * asserting to the main thread, which cmocka requires. The thread sanitizer runs this as well.
 */
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "failing_alloc.h"

#define WORKERS 4
#define ROUNDS  200

static atomic_int ended;
static dlpark_view shared;

static void end_values(void *values)
{
    atomic_fetch_add(&ended, 1);
    free(values);
}

/* Runs one function on all workers at once; the sum of what they found wrong. */
static int on_all_workers(void *(*work)(void *), void *arguments, size_t argument_nbytes)
{
    pthread_t threads[WORKERS];
    int faults = 0;

    for (size_t i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, (char *)arguments + i * argument_nbytes), 0);
    for (size_t i = 0; i < WORKERS; i++) {
        void *found = NULL;
        assert_int_equal(pthread_join(threads[i], &found), 0);
        faults += (int)(intptr_t)found;
    }
    return faults;
}

static void *result(int faults)
{
    return (void *)(intptr_t)faults;
}

/* ---- A tensor ends on another thread ---- */

static void *release_all(void *tensors)
{
    int faults = 0;

    for (int i = 0; i < ROUNDS; i++) {
        dlpark_tensor *tensor = (dlpark_tensor *)tensors + i;
        dlpark_view view;
        dlpark_tensor_view(tensor, &view);
        faults += ((const int32_t *)view.data)[1] != i;
        /* Every other one by the way of a foreign receiver, who knows the deleter alone. */
        DLManagedTensorVersioned *handed = i % 2 ? dlpark_tensor_export(tensor) : NULL;
        if (handed)
            handed->deleter(handed);
        dlpark_tensor_release(tensor);
        faults += tensor->managed != NULL;
    }
    return result(faults);
}

static void tensors_end_on_the_thread_that_has_them(void **state)
{
    static dlpark_tensor tensors[WORKERS][ROUNDS];
    long live = failing_alloc_live();

    (void)state;
    atomic_store(&ended, 0);
    for (int w = 0; w < WORKERS; w++)
        for (int i = 0; i < ROUNDS; i++) {
            int32_t *values = malloc(2 * sizeof *values);
            assert_non_null(values);
            values[0] = w;
            values[1] = i;
            const dlpark_tensor_desc desc = {.data = values,
                                             .dtype = DLPARK_I32,
                                             .ndim = 1,
                                             .shape = DLPARK_DIMS((int[]){2}),
                                             .owner = values,
                                             .release = end_values};
            assert_ok(dlpark_tensor_new(&tensors[w][i], &desc, NULL, e));
        }
    assert_int_equal(on_all_workers(release_all, tensors, sizeof tensors[0]), 0);
    assert_int_equal(atomic_load(&ended), WORKERS * ROUNDS);
    assert_int_equal(failing_alloc_live(), live);
}

/* ---- One view, many readers ---- */

static void *copy_shared(void *unused)
{
    int faults = 0;

    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        dlpark_tensor copy = DLPARK_TENSOR_EMPTY;
        dlpark_view mine;
        const dlpark_tensor_desc desc = {
            .dtype = shared.dtype, .ndim = shared.ndim, .shape = DLPARK_DIMS(shared.shape)};
        if (dlpark_tensor_alloc(&copy, &desc, &mine, NULL) || dlpark_copy(&mine, &shared, NULL))
            faults++;
        else
            faults += memcmp(mine.data, shared.data, (size_t)dlpark_view_nbytes(&shared)) != 0;
        dlpark_tensor_release(&copy);
    }
    return result(faults);
}

static void one_view_is_read_by_all(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    long live = failing_alloc_live();
    int arguments[WORKERS] = {0};

    (void)state;
    assert_ok(dlpark_tensor_alloc(
        &tensor, &(dlpark_tensor_desc){.dtype = DLPARK_I32, .ndim = 2, .shape = DLPARK_DIMS((int[]){8, 16})}, &shared,
        e));
    for (int32_t i = 0; i < 8 * 16; i++)
        ((int32_t *)shared.data)[i] = i * i;
    assert_int_equal(on_all_workers(copy_shared, arguments, sizeof arguments[0]), 0);
    dlpark_tensor_release(&tensor);
    assert_int_equal(failing_alloc_live(), live);
}

/* ---- Errors are the caller's own ---- */

static void *fail_with_own_number(void *argument)
{
    int number = *(const int *)argument;
    char expected[16];
    int faults = 0;

    snprintf(expected, sizeof expected, "-%d", number);
    for (int i = 0; i < ROUNDS; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        dlpark_error err = test_fresh_error();
        const dlpark_tensor_desc desc = {.dtype = DLPARK_F32, .ndim = 1, .shape = DLPARK_DIMS((int[]){-number})};
        dlpark_status status = dlpark_tensor_alloc(&tensor, &desc, NULL, &err);
        faults += status == DLPARK_OK || err.status != status || strstr(err.message, expected) == NULL;
        faults += strcmp(dlpark_dtype_name(DLPARK_F32).text, "f32") != 0;
    }
    return result(faults);
}

static void every_thread_gets_its_own_reason(void **state)
{
    int numbers[WORKERS] = {111111, 222222, 333333, 444444};

    (void)state;
    assert_int_equal(on_all_workers(fail_with_own_number, numbers, sizeof numbers[0]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_end_on_the_thread_that_has_them),
        cmocka_unit_test(one_view_is_read_by_all),
        cmocka_unit_test(every_thread_gets_its_own_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
