/*
 * Copies of 16 KiB, which lie in the nearest cache: what a call costs is what they cost. Beside memcpy of as many bytes
 * and the loop that one would write for that very case. copy_peers.py has the large ones, and the peers.
 */
#include <dlpark/dlpark.h>
#include <stdlib.h>
#include <string.h>

#include "copy_plain.h"
#include "harness.h"

enum { COPY_ROOM = 65536 };

typedef struct copy_case {
    plain_job job;
    int element;
    int64_t a, b; /* of the plain loop */
    int32_t ndim;
    int64_t shape[2], from[2]; /* the source's strides in elements; the destination is compact */
    int64_t first;             /* element of the source that comes first */
} copy_case;

static unsigned char source[COPY_ROOM], target[COPY_ROOM], expected[COPY_ROOM];

static void make_views(const copy_case *c, dlpark_view *to, dlpark_view *from)
{
    DLTensor tensor = {.data = target, .device = {kDLCPU, 0}, .ndim = c->ndim};

    tensor.dtype = DLPARK_DTYPE(kDLUInt, 8, (uint16_t)c->element);
    tensor.shape = (int64_t *)(uintptr_t)c->shape;
    if (dlpark_check(&tensor, 0, to, NULL) || dlpark_view_allow_write(to, NULL))
        abort();
    tensor.data = source + c->first * c->element;
    tensor.strides = (int64_t *)(uintptr_t)c->from;
    if (dlpark_check(&tensor, 0, from, NULL))
        abort();
}

static void run_memcpy(const void *input, long count)
{
    const copy_case *c = input;
    size_t nbytes = (size_t)(c->shape[0] * (c->ndim > 1 ? c->shape[1] : 1) * c->element);

    for (long i = 0; i < count; i++) {
        memcpy(target, source, nbytes);
        harness_use(target);
    }
}

static void run_plain(const void *input, long count)
{
    const copy_case *c = input;

    for (long i = 0; i < count; i++) {
        plain_copy(c->job, c->element, target, source, c->a, c->b);
        harness_use(target);
    }
}

static void run_dlpark(const void *input, long count)
{
    dlpark_view to, from;

    make_views(input, &to, &from);
    for (long i = 0; i < count; i++) {
        if (dlpark_copy(&to, &from, NULL))
            abort();
        harness_use(target);
    }
}

static void fill(void)
{
    for (size_t i = 0; i < COPY_ROOM; i++)
        source[i] = (unsigned char)(i * 37 + i / 255);
    memset(target, 0, sizeof target);
    memset(expected, 0, sizeof expected);
}

static bool verify_memcpy(const void *input)
{
    fill();
    run_memcpy(input, 1);
    return target[0] == source[0];
}

/* The loop and dlpark against each other. */
static bool verify_copy(const void *input)
{
    fill();
    run_plain(input, 1);
    memcpy(expected, target, sizeof expected);
    memset(target, 0, sizeof target);
    run_dlpark(input, 1);
    return memcmp(target, expected, sizeof expected) == 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        copy_case c;
    } cases[] = {
        {"transpose f32 64 x 64", {PLAIN_TRANSPOSE, 4, 64, 64, 2, {64, 64}, {1, 64}, 0}},
        {"transpose u8 128 x 128", {PLAIN_TRANSPOSE, 1, 128, 128, 2, {128, 128}, {1, 128}, 0}},
        {"transpose 16 bytes 32 x 32", {PLAIN_TRANSPOSE, 16, 32, 32, 2, {32, 32}, {1, 32}, 0}},
        {"HWC to CHW u8", {PLAIN_SPLIT, 1, 1, 5440, 2, {3, 5440}, {1, 3}, 0}},
        {"CHW to HWC u8", {PLAIN_JOIN, 1, 1, 5440, 2, {5440, 3}, {1, 5440}, 0}},
        {"RGBA to RGB u8", {PLAIN_DROP, 1, 4096, 0, 2, {4096, 3}, {4, 1}, 0}},
        {"reversed u8", {PLAIN_REVERSE, 1, 16384, 0, 1, {16384, 0}, {-1, 0}, 16383}},
        {"every second f32", {PLAIN_SECOND, 4, 4096, 0, 1, {4096, 0}, {2, 0}, 0}},
        {"contiguous f32", {PLAIN_CONTIGUOUS, 4, 4096, 0, 1, {4096, 0}, {1, 0}, 0}},
        {"middle columns f32", {PLAIN_MIDDLE, 4, 64, 64, 2, {64, 64}, {128, 1}, 32}},
    };
    harness_options options = harness_parse(argc, argv);
    int wrong = 0, missed = 0;

    harness_print_machine(&options);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        harness_group group = {"copy",
                               cases[i].name,
                               -1,
                               3,
                               {{"memcpy", run_memcpy, verify_memcpy, &cases[i].c, {{NULL, 0}, {NULL, 0}}},
                                {"plain loop", run_plain, verify_copy, &cases[i].c, {{NULL, 0}, {NULL, 0}}},
                                {"dlpark_copy", run_dlpark, verify_copy, &cases[i].c, {{NULL, 0}, {NULL, 0}}}}};
        wrong += harness_run(&group, &options, &missed);
    }
    return harness_finish(&options, wrong, missed);
}
