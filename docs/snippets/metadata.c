/* What travels with a tensor besides its elements. */
#include <dlpark/dlpark.h>
#include <stdio.h>

int main(void)
{
    static const float table[6] = {1, 2, 3, 4, 5, 6};
    static const int64_t columns_first[] = {1, 2};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_error err;
    dlpark_view view;
    char line[96];

    /* The shape in whatever integer type, copied and checked; strides borrowed; memory that must not be written; 16 bytes
     * of ours in the same block. */
    if (dlpark_tensor_new(&tensor, &(dlpark_tensor_desc){
            .data_const = table, .dtype = DLPARK_F32, .ndim = 2, .shape = DLPARK_DIMS((unsigned char[]){2, 3}),
            .strides_borrowed = columns_first, .extra_nbytes = 16}, &view, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    dlpark_view_describe(&view, line, sizeof line);
    puts(line);
    snprintf(dlpark_tensor_extra(&tensor), 16, "%s", "from table 7");

    /* The legacy ABI has no flag for read-only memory, so it is not lost in silence. */
    DLManagedTensor *legacy = NULL;
    if (dlpark_tensor_export_legacy(&tensor, 0, &legacy, &err))
        printf("%s: %s\n", dlpark_status_name(err.status), err.message);

    /* What a struct says of its version is read first. */
    DLManagedTensorVersioned *managed = dlpark_tensor_export(&tensor);
    printf("version %u.%u, flags 0x%llx\n", managed->version.major, managed->version.minor, (unsigned long long)managed->flags);
    managed->version.major = 2;
    if (dlpark_tensor_import(&tensor, &managed, NULL, &err))
        printf("%s: %s\n", dlpark_status_name(err.status), err.message);
    dlpark_managed_release(&managed);                            /* the deleter is all that another major version allows */
}
