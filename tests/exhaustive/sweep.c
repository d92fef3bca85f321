#include "sweep.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

sweep_layout sweep_first(int shard)
{
    sweep_layout layout = {0};

    for (int shapes = 1; shard >= shapes; shapes *= 4) {
        shard -= shapes;
        layout.ndim++;
    }
    for (int i = 0; i < layout.ndim; i++) {
        layout.shape[i] = shard % 4;
        layout.strides[i] = -4;
        shard /= 4;
    }
    return layout;
}

bool sweep_next(sweep_layout *layout)
{
    for (int i = 0; i < layout->ndim; i++) {
        if (++layout->strides[i] <= 4)
            return true;
        layout->strides[i] = -4;
    }
    return false;
}

int64_t sweep_count(const sweep_layout *layout)
{
    int64_t count = 1;

    for (int i = 0; i < layout->ndim; i++)
        count *= layout->shape[i];
    return count;
}

int64_t sweep_offset(const sweep_layout *layout, int64_t number)
{
    int64_t at = 0;

    for (int i = layout->ndim - 1; i >= 0; i--) {
        at += number % layout->shape[i] * layout->strides[i];
        number /= layout->shape[i];
    }
    return at;
}

bool sweep_is_injective(const sweep_layout *layout)
{
    bool seen[128] = {false};

    for (int64_t n = 0; n < sweep_count(layout); n++) {
        int64_t at = sweep_offset(layout, n) + 64;
        if (seen[at])
            return false;
        seen[at] = true;
    }
    return true;
}

int64_t sweep_reach(const sweep_layout *layout)
{
    int64_t reach = 0;

    for (int i = 0; i < layout->ndim; i++)
        reach += layout->shape[i] > 1 ? (layout->shape[i] - 1) * llabs(layout->strides[i]) : 0;
    return reach;
}

int sweep_orders(int ndim)
{
    return (const int[]){1, 2, 2 * 4, 6 * 8, 24 * 16}[ndim];
}

sweep_layout sweep_ordered(const sweep_layout *like, int code, int64_t gap)
{
    sweep_layout layout = *like;
    bool used[SWEEP_NDIM] = {false};
    int64_t stride = gap;
    int signs = code % (1 << like->ndim), order = code / (1 << like->ndim);

    for (int left = like->ndim; left > 0; left--) {
        int nth = order % left, i = 0;
        order /= left;
        while (used[i] || nth-- > 0)
            i++;
        used[i] = true;
        layout.strides[i] = signs >> i & 1 ? -stride : stride;
        stride *= layout.shape[i] > 0 ? layout.shape[i] : 1;
    }
    return layout;
}

static void sweep_print(const char *name, int ndim, const int64_t *values)
{
    fprintf(stderr, "%s [", name);
    for (int i = 0; i < ndim; i++)
        fprintf(stderr, "%s%lld", i == 0 ? "" : ", ", (long long)values[i]);
    fprintf(stderr, "] ");
}

void sweep_fail(const sweep_layout *layout, const char *format, ...)
{
    va_list arguments;

    sweep_print("shape", layout->ndim, layout->shape);
    sweep_print("strides", layout->ndim, layout->strides);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

static const struct {
    const char *name;
    sweep_run *run;
    int shards;
} sweeps[] = {
    {"check", sweep_check, SWEEP_SHARDS},     {"layout", sweep_layouts, SWEEP_SHARDS},
    {"overlap", sweep_overlap, SWEEP_SHARDS}, {"copy", sweep_copy, SWEEP_SHARDS},
    {"reshape", sweep_reshape, SWEEP_SHARDS}, {"move", sweep_move, SWEEP_SHARDS},
    {"cast", sweep_cast, SWEEP_CAST_SHARDS},
};

int main(int count, char **words)
{
    if (count == 2 && strcmp(words[1], "--list") == 0) {
        for (size_t i = 0; i < sizeof sweeps / sizeof sweeps[0]; i++)
            printf("%s %d\n", sweeps[i].name, sweeps[i].shards);
        return 0;
    }
    for (size_t i = 0; i < sizeof sweeps / sizeof sweeps[0] && count > 1; i++) {
        int first = count > 2 ? atoi(words[2]) : 0, past = count > 3 ? atoi(words[3]) : sweeps[i].shards;
        if (strcmp(words[1], sweeps[i].name) != 0 || first < 0 || past > sweeps[i].shards || first >= past)
            continue;
        uint64_t cases = 0;
        for (int shard = first; shard < past; shard++)
            cases += sweeps[i].run(shard);
        printf("%llu cases\n", (unsigned long long)cases);
        return 0;
    }
    fprintf(stderr, "usage: exhaustive --list | SWEEP [FIRST_SHARD [PAST_SHARD]]\n");
    return 2;
}
