/* What a function wants of its arguments, checked against what it gets. */
#include <dlpark/dlpark.h>
#include <stdio.h>

static dlpark_spec_names names; /* parsed once */
static dlpark_spec a_spec, b_spec, out_spec;

static dlpark_status prepare(dlpark_error *err)
{
    DLPARK_TRY(dlpark_spec_init(&a_spec, &names, "a", "f32[n,k] c cpu", err));
    DLPARK_TRY(dlpark_spec_init(&b_spec, &names, "b", "f32[k,m] c cpu", err));
    return dlpark_spec_init_result(&out_spec, &names, "f32[n,m]", err);
}

static dlpark_status multiply(const dlpark_view *a, const dlpark_view *b, dlpark_error *err)
{
    dlpark_spec_bound bound;
    int64_t k, shape[2];

    dlpark_spec_bound_init(&bound);
    DLPARK_TRY(dlpark_spec_match(&a_spec, a, &bound, err));
    DLPARK_TRY(dlpark_spec_match(&b_spec, b, &bound, err));
    DLPARK_TRY(dlpark_spec_dim(&names, &bound, "k", &k, err));
    DLPARK_TRY(dlpark_spec_shape(&out_spec, &bound, shape, err));
    printf("sums of %lld products, result %lld x %lld\n", (long long)k, (long long)shape[0], (long long)shape[1]);
    return DLPARK_OK;
}

static dlpark_status view_of(double *data, DLDataType dtype, int64_t rows, int64_t columns, dlpark_view *view)
{
    DLTensor tensor = {data, DLPARK_DEVICE_CPU, 2, dtype, (int64_t[]){rows, columns}, NULL, 0};

    return dlpark_check(&tensor, 0, view, NULL);
}

int main(void)
{
    double memory[16] = {0};
    dlpark_view a, b, wrong;
    dlpark_spec spec;
    dlpark_error err;

    if (prepare(&err) || view_of(memory, DLPARK_F32, 3, 4, &a) || view_of(memory, DLPARK_F32, 4, 2, &b) ||
        view_of(memory, DLPARK_F64, 5, 3, &wrong) || multiply(&a, &b, &err))
        return 1;
    if (multiply(&a, &wrong, &err))
        printf("%s\n", err.message);
    if (dlpark_spec_init(&spec, &names, "x", "u8[n,3] conitg", &err))
        printf("%s\n", err.message);
}
