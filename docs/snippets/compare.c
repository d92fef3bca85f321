/* Fill, compare, and say where two tensors differ. */
#include <dlpark/dlpark.h>
#include <stdio.h>

static dlpark_status report(const dlpark_view *got, const dlpark_view *expected, dlpark_error *err)
{
    int64_t where[DLPARK_MAX_NDIM];
    bool same;

    DLPARK_TRY(dlpark_equal(got, expected, &same, NULL, err));
    printf("equal: %s\n", same ? "yes" : "no");
    DLPARK_TRY(dlpark_allclose(got, expected, 1e-5, 1e-8, false, &same, where, err));
    if (!same)
        printf("not close at [%lld, %lld]\n", (long long)where[0], (long long)where[1]);
    return DLPARK_OK;
}

int main(void)
{
    float values[] = {0.5f, 0.5f, 0.5f, 0.5f, 0.75f, 0.5f};
    const float half = 0.5f;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, filled = DLPARK_TENSOR_EMPTY;
    dlpark_view got, expected;
    dlpark_error err;

    if (dlpark_tensor_new(&tensor, &(dlpark_tensor_desc){
            .data = values, .dtype = DLPARK_F32, .ndim = 2, .shape = DLPARK_DIMS((int[]){2, 3})}, &got, &err) ||
        dlpark_tensor_alloc(&filled, &(dlpark_tensor_desc){
            .dtype = DLPARK_F32, .ndim = 2, .shape = DLPARK_DIMS((int[]){2, 3})}, &expected, &err) ||
        dlpark_fill(&expected, &half, &err) || report(&got, &expected, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    dlpark_tensor_release(&filled);
    dlpark_tensor_release(&tensor);
}
