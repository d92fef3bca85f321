/*
 * What a function pays for what it wants of its arguments: three specs with names bound across them, beside the three
 * checks that come before, and the same comparisons by hand.
 */
#include <dlpark/dlpark.h>
#include <stdlib.h>

#include "harness.h"

enum { NARGUMENTS = 3 };

/* matmul(a: f32[n,k] c cpu, b: f32[k,m] c cpu, out: f32[n,m] c mut cpu) */
typedef struct spec_call {
    DLTensor tensors[NARGUMENTS];
    dlpark_view views[NARGUMENTS];
    dlpark_spec specs[NARGUMENTS];
    dlpark_spec_names names;
} spec_call;

static float elements[16];
static int64_t shapes[NARGUMENTS][2] = {{2, 3}, {3, 4}, {2, 4}};
static int64_t strides[NARGUMENTS][2] = {{3, 1}, {4, 1}, {4, 1}};

static void call_make(spec_call *call)
{
    static const char *const arguments[NARGUMENTS] = {"a", "b", "out"};
    static const char *const texts[NARGUMENTS] = {"f32[n,k] c cpu", "f32[k,m] c cpu", "f32[n,m] c mut cpu"};

    for (int i = 0; i < NARGUMENTS; i++) {
        call->tensors[i] = (DLTensor){elements, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shapes[i], strides[i], 0};
        if (dlpark_check(&call->tensors[i], 0, &call->views[i], NULL) ||
            dlpark_view_allow_write(&call->views[i], NULL) ||
            dlpark_spec_init(&call->specs[i], &call->names, arguments[i], texts[i], NULL))
            abort();
    }
}

/* ---- The checks ---- */

static void run_checks(const void *input, long count)
{
    const spec_call *call = input;

    for (long n = 0; n < count; n++)
        for (int i = 0; i < NARGUMENTS; i++) {
            harness_use(&call->tensors[i]);
            harness_use((const void *)(uintptr_t)dlpark_check(&call->tensors[i], 0, NULL, NULL));
        }
}

static bool verify_checks(const void *input)
{
    const spec_call *call = input;
    DLTensor broken = call->tensors[0];

    broken.shape = NULL;
    return dlpark_check(&call->tensors[0], 0, NULL, NULL) == DLPARK_OK &&
           dlpark_check(&broken, 0, NULL, NULL) == DLPARK_E_SHAPE;
}

static void run_checks_to_views(const void *input, long count)
{
    const spec_call *call = input;
    dlpark_view view;

    for (long n = 0; n < count; n++)
        for (int i = 0; i < NARGUMENTS; i++) {
            harness_use(&call->tensors[i]);
            harness_use((const void *)(uintptr_t)dlpark_check(&call->tensors[i], 0, &view, NULL));
            harness_use(&view);
        }
}

/* ---- The specs ---- */

static dlpark_status match_all(const spec_call *call, dlpark_spec_bound *bound)
{
    dlpark_spec_bound_init(bound);
    for (int i = 0; i < NARGUMENTS; i++)
        DLPARK_TRY(dlpark_spec_match(&call->specs[i], &call->views[i], bound, NULL));
    return DLPARK_OK;
}

static void run_specs(const void *input, long count)
{
    for (long n = 0; n < count; n++) {
        dlpark_spec_bound bound;
        harness_use(input);
        harness_use((const void *)(uintptr_t)match_all(input, &bound));
        harness_use(&bound);
    }
}

static bool verify_specs(const void *input)
{
    const spec_call *call = input;
    dlpark_spec_bound bound;
    int64_t n, k, m;

    return match_all(call, &bound) == DLPARK_OK && !dlpark_spec_dim(&call->names, &bound, "n", &n, NULL) &&
           !dlpark_spec_dim(&call->names, &bound, "k", &k, NULL) &&
           !dlpark_spec_dim(&call->names, &bound, "m", &m, NULL) && n == 2 && k == 3 && m == 4 &&
           dlpark_spec_match(&call->specs[0], &call->views[1], &bound, NULL) == DLPARK_E_SHAPE;
}

/* ---- By hand ---- */

static bool is_f32_matrix(const dlpark_view *view)
{
    return dlpark_dtype_equal(view->dtype, DLPARK_F32) && view->ndim == 2 &&
           dlpark_device_is_host_accessible(view->device) && dlpark_view_is_compact(view);
}

static bool match_by_hand(const spec_call *call)
{
    const dlpark_view *a = &call->views[0], *b = &call->views[1], *out = &call->views[2];

    return is_f32_matrix(a) && is_f32_matrix(b) && is_f32_matrix(out) && a->shape[1] == b->shape[0] &&
           a->shape[0] == out->shape[0] && b->shape[1] == out->shape[1] &&
           (out->flags & (DLPARK_VIEW_READ_ONLY | DLPARK_VIEW_UNKNOWN_WRITE)) == 0;
}

static void run_hand(const void *input, long count)
{
    for (long n = 0; n < count; n++) {
        harness_use(input);
        harness_use((const void *)(uintptr_t)match_by_hand(input));
    }
}

static bool verify_hand(const void *input)
{
    return match_by_hand(input);
}

int main(int argc, char **argv)
{
    static spec_call call;
    harness_options options = harness_parse(argc, argv);
    harness_group group = {
        "spec",
        "three arguments f32[n,k], f32[k,m], f32[n,m]",
        2,
        4,
        {
            {"three dlpark_check", run_checks, verify_checks, &call, {{NULL, 0}, {NULL, 0}}},
            {"three dlpark_check to a view", run_checks_to_views, verify_checks, &call, {{NULL, 0}, {NULL, 0}}},
            {"three dlpark_spec_match", run_specs, verify_specs, &call, {{"three dlpark_check", 1.5}, {NULL, 0}}},
            {"the same by hand", run_hand, verify_hand, &call, {{NULL, 0}, {NULL, 0}}},
        }};
    int wrong, missed = 0;

    call_make(&call);
    harness_print_machine(&options);
    wrong = harness_run(&group, &options, &missed);
    return harness_finish(&options, wrong, missed);
}
