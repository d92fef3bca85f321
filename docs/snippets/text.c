/* A view as text for people. */
#include <dlpark/dlpark.h>
#include <stdio.h>
#include <stdlib.h>

/* All of a view's text, whatever its length. */
static int print_elements(const dlpark_view *view)
{
    size_t length = dlpark_view_text(view, NULL, NULL, 0);
    char *text = malloc(length + 1);

    if (text == NULL)
        return 1;
    dlpark_view_text(view, NULL, text, length + 1);
    puts(text);
    free(text);
    return 0;
}

int main(void)
{
    float values[6] = {0.1f, 2.5f, -3, 100, 0, 1.0f / 3};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    dlpark_error err;
    char text[64];

    if (dlpark_tensor_new(&tensor, &(dlpark_tensor_desc){
            .data_const = values, .dtype = DLPARK_F32, .ndim = 2, .shape = DLPARK_DIMS((int64_t[]){2, 3})}, &view, &err))
        return 1;
    dlpark_view_describe(&view, text, sizeof text);
    puts(text);
    if (print_elements(&view))
        return 1;

    dlpark_text_options options = DLPARK_TEXT_DEFAULTS;
    options.threshold = 4;
    options.edgeitems = 1;
    options.precision = 2;
    dlpark_view_text(&view, &options, text, sizeof text);
    puts(text);
    dlpark_tensor_release(&tensor);
}
