/*
 * What a view of a view costs, beside a check of the same tensor, which reads every dimension once: a step that only
 * changes a description should be no dearer. Each step starts from the same view of rank 4, which is put back by hand
 * each time. Of both that and the check's loop have rows of their own, and are taken off.
 */
#include <dlpark/dlpark.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

static float elements[2 * 4 * 6 * 8];
static int64_t shape[] = {2, 4, 6, 8}, strides[] = {192, 48, 8, 1};
static const DLTensor tensor = {elements, {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, shape, strides, 0};

static const int moved[] = {0, 3, 1, 2};
static const int64_t joined[] = {8, 1, 6, -1}, cut[] = {2, 3, -1}, repeated[] = {3, 2, 4, 6, 8};

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

static void run_loop(const void *input, long count)
{
    for (long i = 0; i < count; i++) {
        harness_use(input);
        harness_use((const void *)(uintptr_t)i);
    }
}

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
STEP(permute, make, dlpark_view_permute(&view, 4, moved, NULL), view.shape[1] == 8 && view.strides[2] == 48)
STEP(reshape, make, dlpark_view_reshape(&view, 4, joined, NULL),
     view.shape[0] == 8 && view.strides[0] == 48 && view.shape[3] == 8)
STEP(reshape_cut, make_cut, dlpark_view_reshape(&view, 3, cut, NULL),
     view.shape[2] == 48 && view.strides[0] == 192 && view.strides[2] == 1)
STEP(broadcast, make, dlpark_view_broadcast(&view, 5, repeated, NULL),
     view.ndim == 5 && view.strides[0] == 0 && view.strides[1] == 192)
STEP(window, make, dlpark_view_window(&view, 2, 3, 1, NULL),
     view.ndim == 5 && view.shape[2] == 4 && view.shape[4] == 3 && view.strides[4] == 8)
STEP(reinterpret, make, dlpark_view_reinterpret(&view, DLPARK_U8, NULL), view.shape[3] == 32 && view.strides[0] == 768)

#define NOTHING                                                                                                        \
    {                                                                                                                  \
        {NULL, 0},                                                                                                     \
        {                                                                                                              \
            NULL, 0                                                                                                    \
        }                                                                                                              \
    }
#define CHECK(NAME, FUNCTION)                                                                                          \
    {                                                                                                                  \
        NAME, FUNCTION, verify_check, &tensor, NOTHING                                                                 \
    }
#define ROW(NAME, FUNCTION)                                                                                            \
    {                                                                                                                  \
        NAME, run_##FUNCTION, verify_##FUNCTION, NULL,                                                                 \
        {                                                                                                              \
            {"dlpark_check", 1.0},                                                                                     \
            {                                                                                                          \
                NULL, 0                                                                                                \
            }                                                                                                          \
        }                                                                                                              \
    }

static const char *less(const char *name)
{
    if (strncmp(name, "the ", 4) == 0)
        return NULL;
    return strncmp(name, "dlpark_check", 12) == 0 ? "the loop" : "the view put back";
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
                               CHECK("dlpark_check", run_check),
                               CHECK("dlpark_check to a view", run_view),
                               {"the loop", run_loop, verify_check, &tensor, NOTHING},
                               {"the view put back", run_nothing, verify_nothing, NULL, NOTHING},
                               ROW("index", index),
                               ROW("slice", slice),
                               ROW("flip", flip),
                               ROW("permute", permute),
                               ROW("reshape", reshape),
                               ROW("reshape, cut rows", reshape_cut),
                               ROW("broadcast", broadcast),
                               ROW("window", window),
                               ROW("reinterpret f32 as u8", reinterpret),
                           }};

    options.less = less;
    harness_print_machine(&options);
    while (group.cases[group.ncases].name)
        group.ncases++;
    int wrong = harness_run(&group, &options, &missed);
    return harness_finish(&options, wrong, missed);
}
