/*
 * What a view of a view costs, beside a check of the same tensor, which reads every dimension once: a step that only
 * changes a description should be no dearer. Each step starts from the same view of rank 4, which is put back by hand
 * each time, and counts.
 */
#include <dlpark/dlpark.h>
#include <stdlib.h>

#include "harness.h"

static float elements[2 * 4 * 6 * 8];
static int64_t shape[] = {2, 4, 6, 8}, strides[] = {192, 48, 8, 1};
static const DLTensor tensor = {elements, {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, shape, strides, 0};

static dlpark_view make(void)
{
    dlpark_view view;

    if (dlpark_check(&tensor, 0, &view, NULL))
        abort();
    return view;
}

/* The strides of dimension 0 and 1 no longer join: a reshape has to look at all of them. */
static dlpark_view make_cut(void)
{
    dlpark_view view = make();

    if (dlpark_view_slice(&view, 1, 1, DLPARK_NONE, 1, NULL))
        abort();
    return view;
}

/* ---- The measure ---- */

static void run_check(const void *input, long count)
{
    for (long i = 0; i < count; i++) {
        harness_use(input);
        harness_use((const void *)(uintptr_t)dlpark_check(input, 0, NULL, NULL));
    }
}

static void run_view(const void *input, long count)
{
    dlpark_view view;

    for (long i = 0; i < count; i++) {
        harness_use(input);
        harness_use((const void *)(uintptr_t)dlpark_check(input, 0, &view, NULL));
        harness_use(&view);
    }
}

static bool verify_check(const void *input)
{
    return dlpark_check(input, 0, NULL, NULL) == DLPARK_OK;
}

/* ---- Steps ---- */

/* One by one: what is stored as a vector and read in parts right after makes some processors wait. */
static inline void put_back(dlpark_view *view, const dlpark_view *first)
{
    view->data = first->data;
    view->dtype = first->dtype;
    view->ndim = 4;
    for (int i = 0; i < 4; i++) {
        __asm__("" : "+r"(i));
        view->shape[i] = first->shape[i];
        view->strides[i] = first->strides[i];
    }
}

/* `start` makes the view, `step` is the operation, `right` judges what it made. */
#define STEP(name, start, step, right)                                                                                 \
    static void run_##name(const void *input, long count)                                                              \
    {                                                                                                                  \
        dlpark_view first = start(), view = first;                                                                     \
        (void)input;                                                                                                   \
        for (long i = 0; i < count; i++) {                                                                             \
            put_back(&view, &first);                                                                                   \
            harness_use(&view);                                                                                        \
            if (step)                                                                                                  \
                abort();                                                                                               \
            harness_use(&view);                                                                                        \
        }                                                                                                              \
    }                                                                                                                  \
    static bool verify_##name(const void *input)                                                                       \
    {                                                                                                                  \
        dlpark_view view = start();                                                                                    \
        (void)input;                                                                                                   \
        return (step) == DLPARK_OK && (right);                                                                         \
    }

STEP(nothing, make, DLPARK_OK, view.data == elements)
STEP(index, make, dlpark_view_index(&view, 0, 1, NULL),
     view.ndim == 3 && view.data == elements + 192 && view.strides[0] == 48)
STEP(slice, make, dlpark_view_slice(&view, 1, 1, -1, 2, NULL),
     view.data == elements + 48 && view.shape[1] == 1 && view.strides[1] == 96)
STEP(flip, make, dlpark_view_flip(&view, -1, NULL), view.data == elements + 7 && view.strides[3] == -1)
STEP(permute, make, dlpark_view_permute(&view, 4, (int[]){0, 3, 1, 2}, NULL),
     view.shape[1] == 8 && view.strides[2] == 48)
STEP(reshape, make, dlpark_view_reshape(&view, 4, (int64_t[]){8, 1, 6, -1}, NULL),
     view.shape[0] == 8 && view.strides[0] == 48 && view.shape[3] == 8)
STEP(reshape_cut, make_cut, dlpark_view_reshape(&view, 3, (int64_t[]){2, 3, -1}, NULL),
     view.shape[2] == 48 && view.strides[0] == 192 && view.strides[2] == 1)
STEP(broadcast, make, dlpark_view_broadcast(&view, 5, (int64_t[]){3, 2, 4, 6, 8}, NULL),
     view.ndim == 5 && view.strides[0] == 0 && view.strides[1] == 192)
STEP(window, make, dlpark_view_window(&view, 2, 3, 1, NULL),
     view.ndim == 5 && view.shape[2] == 4 && view.shape[4] == 3 && view.strides[4] == 8)
STEP(reinterpret, make, dlpark_view_reinterpret(&view, DLPARK_U8, NULL), view.shape[3] == 32 && view.strides[0] == 768)

#define AS_CHECK                                                                                                       \
    {                                                                                                                  \
        {"dlpark_check", 1.0},                                                                                         \
        {                                                                                                              \
            NULL, 0                                                                                                    \
        }                                                                                                              \
    }
#define NO_TARGETS                                                                                                     \
    {                                                                                                                  \
        {NULL, 0},                                                                                                     \
        {                                                                                                              \
            NULL, 0                                                                                                    \
        }                                                                                                              \
    }

int main(int argc, char **argv)
{
    harness_options options = harness_parse(argc, argv);
    int missed = 0;
    harness_group group = {"transform",
                           "views of a view",
                           4,
                           0,
                           {
                               {"dlpark_check", run_check, verify_check, &tensor, NO_TARGETS},
                               {"dlpark_check to a view", run_view, verify_check, &tensor, NO_TARGETS},
                               {"the view put back", run_nothing, verify_nothing, NULL, NO_TARGETS},
                               {"index", run_index, verify_index, NULL, AS_CHECK},
                               {"slice", run_slice, verify_slice, NULL, AS_CHECK},
                               {"flip", run_flip, verify_flip, NULL, AS_CHECK},
                               {"permute", run_permute, verify_permute, NULL, AS_CHECK},
                               {"reshape", run_reshape, verify_reshape, NULL, AS_CHECK},
                               {"reshape, cut rows", run_reshape_cut, verify_reshape_cut, NULL, AS_CHECK},
                               {"broadcast", run_broadcast, verify_broadcast, NULL, AS_CHECK},
                               {"window", run_window, verify_window, NULL, AS_CHECK},
                               {"reinterpret f32 as u8", run_reinterpret, verify_reinterpret, NULL, AS_CHECK},
                           }};

    harness_print_machine(&options);
    while (group.cases[group.ncases].name)
        group.ncases++;
    int wrong = harness_run(&group, &options, &missed);
    return harness_finish(&options, wrong, missed);
}
