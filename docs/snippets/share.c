/* A channel of a picture that outlives the picture, on whatever thread. */
#include <dlpark/dlpark.h>
#include <stdio.h>
#include <stdlib.h>

static void end(void *pixels)
{
    puts("nobody needs the pixels any more");
    free(pixels);
}

/* `part` is channel `channel` of `picture`, with an owner of its own. */
static dlpark_status take_channel(dlpark_tensor *part, dlpark_tensor *picture, int channel, dlpark_error *err)
{
    dlpark_view view;

    dlpark_tensor_view(picture, &view);
    DLPARK_TRY(dlpark_view_index(&view, 2, channel, err));
    return dlpark_tensor_share(part, picture, &view, err);       /* keeps the whole alive */
}

int main(void)
{
    dlpark_tensor picture = DLPARK_TENSOR_EMPTY, green = DLPARK_TENSOR_EMPTY;
    dlpark_error err;
    dlpark_view view;
    char line[80];

    unsigned char *pixels = calloc(4 * 6 * 3, 1);
    if (dlpark_tensor_new(&picture, &(dlpark_tensor_desc){
            .data = pixels, .dtype = DLPARK_U8, .ndim = 3, .shape = DLPARK_DIMS((int[]){4, 6, 3}),
            .owner = pixels, .release = end}, NULL, &err)) {
        fprintf(stderr, "%s\n", err.message);
        free(pixels);
        return 1;
    }
    if (take_channel(&green, &picture, 1, &err))
        fprintf(stderr, "%s\n", err.message);
    dlpark_tensor_release(&picture);

    dlpark_tensor_view(&green, &view);
    dlpark_view_describe(&view, line, sizeof line);
    puts(line);
    dlpark_tensor_release(&green);
}
