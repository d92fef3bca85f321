/* One element as a number, whatever its dtype. */
#include <dlpark/dlpark.h>
#include <stdio.h>

static dlpark_status print_last(const dlpark_view *view, dlpark_error *err)
{
    dlpark_scalar scalar;

    DLPARK_TRY(dlpark_element_read(view, (int64_t[]){1, -1}, 0, &scalar, err));
    if (scalar.kind == DLPARK_SCALAR_FLOAT)
        printf("%g\n", scalar.re);
    return DLPARK_OK;
}

static dlpark_status move_last_to_first(const dlpark_view *view, dlpark_error *err)
{
    dlpark_scalar scalar;

    DLPARK_TRY(dlpark_element_read(view, (int64_t[]){1, -1}, 0, &scalar, err));
    DLPARK_TRY(dlpark_element_write(view, (int64_t[]){0, 0}, 0, &scalar, NULL, err));
    return DLPARK_OK;
}

int main(void)
{
    unsigned char nibbles[] = {0x10, 0x32, 0x54}; /* two rows of three 4-bit floats */
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    dlpark_error err;

    if (dlpark_tensor_new(&tensor, &(dlpark_tensor_desc){
            .data = nibbles, .dtype = DLPARK_F4_E2M1FN, .ndim = 2, .shape = DLPARK_DIMS((int[]){2, 3})}, &view, &err) ||
        print_last(&view, &err) || move_last_to_first(&view, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    printf("0x%02X\n", nibbles[0]);
    dlpark_tensor_release(&tensor);
}
