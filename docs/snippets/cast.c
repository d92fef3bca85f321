/* Floats as halves, and as bytes with what does not fit counted and refused. */
#include <dlpark/dlpark.h>
#include <stdio.h>

static dlpark_status halve(dlpark_tensor *half, const dlpark_view *view, dlpark_view *out, dlpark_error *err)
{
    DLPARK_TRY(dlpark_tensor_alloc(half, &(dlpark_tensor_desc){
        .dtype = DLPARK_F16, .ndim = view->ndim, .shape = DLPARK_DIMS(view->shape)}, out, err));
    return dlpark_cast(out, view, NULL, err);
}

static dlpark_status to_bytes(const dlpark_view *bytes, const dlpark_view *floats, dlpark_error *err)
{
    dlpark_cast_counts counts;

    DLPARK_TRY(dlpark_cast(bytes, floats, &(dlpark_cast_options){.counts = &counts}, err));
    printf("%d of 6 did not fit\n", (int)counts.overflowed);
    return dlpark_cast(bytes, floats, &(dlpark_cast_options){.overflow = DLPARK_OVERFLOW_REFUSE}, err);
}

int main(void)
{
    float values[6] = {0.1f, 1, 1.5f, -2, 300, 1e6f};
    unsigned char memory[6];
    char text[256];
    dlpark_tensor a = DLPARK_TENSOR_EMPTY, b = DLPARK_TENSOR_EMPTY, half = DLPARK_TENSOR_EMPTY;
    dlpark_view floats, bytes, halves;
    dlpark_error err;

    if (dlpark_tensor_new(&a, &(dlpark_tensor_desc){
            .data = values, .dtype = DLPARK_F32, .ndim = 2, .shape = DLPARK_DIMS((int[]){2, 3})}, &floats, &err) ||
        dlpark_tensor_new(&b, &(dlpark_tensor_desc){
            .data = memory, .dtype = DLPARK_U8, .ndim = 2, .shape = DLPARK_DIMS((int[]){2, 3})}, &bytes, &err) ||
        halve(&half, &floats, &halves, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    dlpark_view_text(&halves, NULL, text, sizeof text);
    puts(text);
    if (to_bytes(&bytes, &floats, &err)) puts(err.message);
    dlpark_tensor_release(&half);
    dlpark_tensor_release(&b);
    dlpark_tensor_release(&a);
}
