/* Who ends what, step by step. */
#include <dlpark/dlpark.h>
#include <stdio.h>

static void ended(void *owner)
{
    printf("  the memory of %s is free\n", (const char *)owner);
}

/* A tensor of six floats, which ends by saying so. */
static dlpark_status make(dlpark_tensor *tensor, float *values, int64_t extent, const char *name, dlpark_error *err)
{
    return dlpark_tensor_new(tensor, &(dlpark_tensor_desc){.data = values, .dtype = DLPARK_F32, .ndim = 1,
                                                           .shape = DLPARK_DIMS(&extent),
                                                           .owner = (void *)(uintptr_t)name, .release = ended}, NULL, err);
}

int main(void)
{
    static float values[6];
    dlpark_tensor first = DLPARK_TENSOR_EMPTY, second = DLPARK_TENSOR_EMPTY;
    dlpark_error err;

    puts("take: on failure the memory is still ours");
    if (make(&first, values, -1, "nobody", &err))
        printf("  %s; the variable is %s\n", err.message, first.managed ? "full" : "empty");

    puts("share: the last one ends it");
    if (make(&first, values, 6, "the first", &err) || dlpark_tensor_share(&second, &first, NULL, &err))
        return 1;
    dlpark_tensor_release(&first);
    puts("  one of two is gone");
    dlpark_tensor_release(&second);
    dlpark_tensor_release(&second);                              /* empty already: nothing happens */

    puts("export: the receiver ends it");
    if (make(&first, values, 6, "the second", &err))
        return 1;
    DLManagedTensorVersioned *theirs = dlpark_tensor_export(&first);
    printf("  the variable is %s\n", first.managed ? "full" : "empty");

    puts("import: ours from here on");
    if (dlpark_tensor_import(&first, &theirs, NULL, &err))
        return 1;
    printf("  their pointer is %s\n", theirs ? "still set" : "NULL");

    puts("export_deleter: only the end of life is left");
    void (*release)(void *context);
    void *context;
    dlpark_tensor_export_deleter(&first, &release, &context);
    release(context);
}
