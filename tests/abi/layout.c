/*
 * Every size and offset that other people's binaries rely on, compared with a checked-in table.
 *
 *     layout            prints the table of this machine
 *     layout lp64.txt   compares; exit status 1 with each line that differs
 *
 * DLPack's structs are the standard's. dlpark's own are frozen from the first release on: what may grow is
 * dlpark_tensor_desc alone, at its end.
 */
#include <dlpark/dlpark.h>
#include <stdio.h>
#include <string.h>

typedef struct layout_entry {
    const char *name;
    size_t value;
} layout_entry;

#define SIZE(type)                                                                                                     \
    {                                                                                                                  \
#type, sizeof(type)                                                                                            \
    }
#define AT(type, field)                                                                                                \
    {                                                                                                                  \
#type "." #field, offsetof(type, field)                                                                        \
    }

static const layout_entry entries[] = {
    SIZE(DLDeviceType),
    SIZE(DLDevice),
    AT(DLDevice, device_type),
    AT(DLDevice, device_id),
    SIZE(DLDataType),
    AT(DLDataType, code),
    AT(DLDataType, bits),
    AT(DLDataType, lanes),
    SIZE(DLPackVersion),
    AT(DLPackVersion, major),
    AT(DLPackVersion, minor),
    SIZE(DLTensor),
    AT(DLTensor, data),
    AT(DLTensor, device),
    AT(DLTensor, ndim),
    AT(DLTensor, dtype),
    AT(DLTensor, shape),
    AT(DLTensor, strides),
    AT(DLTensor, byte_offset),
    SIZE(DLManagedTensor),
    AT(DLManagedTensor, dl_tensor),
    AT(DLManagedTensor, manager_ctx),
    AT(DLManagedTensor, deleter),
    SIZE(DLManagedTensorVersioned),
    AT(DLManagedTensorVersioned, version),
    AT(DLManagedTensorVersioned, manager_ctx),
    AT(DLManagedTensorVersioned, deleter),
    AT(DLManagedTensorVersioned, flags),
    AT(DLManagedTensorVersioned, dl_tensor),
    SIZE(DLPackExchangeAPIHeader),
    AT(DLPackExchangeAPIHeader, version),
    AT(DLPackExchangeAPIHeader, prev_api),
    SIZE(DLPackExchangeAPI),
    AT(DLPackExchangeAPI, header),
    AT(DLPackExchangeAPI, managed_tensor_allocator),
    AT(DLPackExchangeAPI, managed_tensor_from_py_object_no_sync),
    AT(DLPackExchangeAPI, managed_tensor_to_py_object_no_sync),
    AT(DLPackExchangeAPI, dltensor_from_py_object_no_sync),
    AT(DLPackExchangeAPI, current_work_stream),
    SIZE(dlpark_status),
    SIZE(dlpark_error),
    AT(dlpark_error, status),
    AT(dlpark_error, message),
    SIZE(dlpark_name),
    SIZE(dlpark_view),
    AT(dlpark_view, data),
    AT(dlpark_view, byte_offset),
    AT(dlpark_view, device),
    AT(dlpark_view, dtype),
    AT(dlpark_view, ndim),
    AT(dlpark_view, flags),
    AT(dlpark_view, bit_offset),
    AT(dlpark_view, reserved),
    AT(dlpark_view, shape),
    AT(dlpark_view, strides),
    SIZE(dlpark_tensor),
    AT(dlpark_tensor, managed),
    SIZE(dlpark_dims),
    AT(dlpark_dims, values),
    AT(dlpark_dims, width),
    SIZE(dlpark_tensor_desc),
    AT(dlpark_tensor_desc, data),
    AT(dlpark_tensor_desc, data_const),
    AT(dlpark_tensor_desc, byte_offset),
    AT(dlpark_tensor_desc, dtype),
    AT(dlpark_tensor_desc, device),
    AT(dlpark_tensor_desc, ndim),
    AT(dlpark_tensor_desc, shape),
    AT(dlpark_tensor_desc, strides),
    AT(dlpark_tensor_desc, shape_borrowed),
    AT(dlpark_tensor_desc, strides_borrowed),
    AT(dlpark_tensor_desc, flags),
    AT(dlpark_tensor_desc, owner),
    AT(dlpark_tensor_desc, release),
    AT(dlpark_tensor_desc, extra_nbytes),
    AT(dlpark_tensor_desc, storage),
    AT(dlpark_tensor_desc, storage_nbytes),
};

enum { ENTRIES = sizeof entries / sizeof entries[0] };

static int compare(FILE *table)
{
    int at = 0, differences = 0;
    char wanted[160], line[160];

    while (fgets(wanted, sizeof wanted, table)) {
        wanted[strcspn(wanted, "\r\n")] = '\0';
        if (wanted[0] == '#' || wanted[0] == '\0')
            continue;
        if (at < ENTRIES)
            snprintf(line, sizeof line, "%s %zu", entries[at].name, entries[at].value);
        else
            snprintf(line, sizeof line, "(nothing)");
        if (strcmp(line, wanted) != 0 && ++differences)
            printf("the table has \"%s\", this build has \"%s\"\n", wanted, line);
        at++;
    }
    for (; at < ENTRIES; at++, differences++)
        printf("the table lacks \"%s %zu\"\n", entries[at].name, entries[at].value);
    return differences;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        for (int i = 0; i < ENTRIES; i++)
            printf("%s %zu\n", entries[i].name, entries[i].value);
        return 0;
    }
    FILE *table = fopen(argv[1], "r");
    if (!table) {
        printf("cannot open %s\n", argv[1]);
        return 1;
    }
    int differences = compare(table);
    fclose(table);
    return differences ? 1 : 0;
}
