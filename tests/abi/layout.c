/*
 * Every size and offset that other people's binaries rely on, compared with a checked-in table.
 *
 *     layout            prints the table of this machine
 *     layout lp64.txt   compares; exit status 1 with each line that differs
 *
 * DLPack's structs are the standard's. dlpark's own are frozen from the first release on: what may grow are the
 * descriptions, at their ends. Callers pass their size of one, so it must hold no byte that no field has: a field that
 * was added there would be read from what an older caller never set.
 */
#include <dlpark/dlpark.h>
#include <dlpark/image.h>
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

/* Field by field without a gap, and none behind the last. With pointers of 32 bits the alignment of int64_t differs. */
#if UINTPTR_MAX > 0xffffffffu
#define END(type, field) (offsetof(type, field) + sizeof((type *)0)->field)
#define FOLLOWS(type, field, next)                                                                                     \
    _Static_assert(END(type, field) == offsetof(type, next), #type " has a gap behind " #field)
#define ENDS(type, last) _Static_assert(END(type, last) == sizeof(type), #type " has a gap at its end")

ENDS(dlpark_tensor_desc, alignment_bytes);
ENDS(dlpark_allocator, context);
FOLLOWS(dlpark_image_load_desc, path, bytes);
FOLLOWS(dlpark_image_load_desc, bytes, nbytes);
FOLLOWS(dlpark_image_load_desc, nbytes, channels);
FOLLOWS(dlpark_image_load_desc, channels, layout);
FOLLOWS(dlpark_image_load_desc, layout, dtype);
FOLLOWS(dlpark_image_load_desc, dtype, keep_orientation);
FOLLOWS(dlpark_image_load_desc, keep_orientation, tolerant);
FOLLOWS(dlpark_image_load_desc, tolerant, reserved);
FOLLOWS(dlpark_image_load_desc, reserved, max_pixels);
FOLLOWS(dlpark_image_load_desc, max_pixels, max_scans);
FOLLOWS(dlpark_image_load_desc, max_scans, max_chunks);
ENDS(dlpark_image_load_desc, max_chunks);
FOLLOWS(dlpark_image_info, format, width);
FOLLOWS(dlpark_image_info, width, height);
FOLLOWS(dlpark_image_info, height, channels);
FOLLOWS(dlpark_image_info, channels, bits);
FOLLOWS(dlpark_image_info, bits, orientation);
FOLLOWS(dlpark_image_info, orientation, progressive);
FOLLOWS(dlpark_image_info, progressive, lossless);
FOLLOWS(dlpark_image_info, lossless, reserved);
ENDS(dlpark_image_info, reserved);
FOLLOWS(dlpark_image_save_desc, path, format);
FOLLOWS(dlpark_image_save_desc, format, layout);
FOLLOWS(dlpark_image_save_desc, layout, quality);
FOLLOWS(dlpark_image_save_desc, quality, lossless);
FOLLOWS(dlpark_image_save_desc, lossless, compression);
FOLLOWS(dlpark_image_save_desc, compression, subsampling);
FOLLOWS(dlpark_image_save_desc, subsampling, progressive);
FOLLOWS(dlpark_image_save_desc, progressive, reserved);
ENDS(dlpark_image_save_desc, reserved);
#endif

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
    AT(dlpark_tensor_desc, allocator),
    AT(dlpark_tensor_desc, alignment_bytes),
    SIZE(dlpark_fault),
    AT(dlpark_fault, rule),
    AT(dlpark_fault, severity),
    AT(dlpark_fault, dimension),
    AT(dlpark_fault, field),
    AT(dlpark_fault, value),
    AT(dlpark_fault, limit),
    AT(dlpark_fault, message),
    SIZE(dlpark_spec_names),
    AT(dlpark_spec_names, ndims),
    AT(dlpark_spec_names, narguments),
    AT(dlpark_spec_names, dims),
    AT(dlpark_spec_names, arguments),
    SIZE(dlpark_spec),
    AT(dlpark_spec, names),
    AT(dlpark_spec, flags),
    AT(dlpark_spec, device_types),
    AT(dlpark_spec, argument),
    AT(dlpark_spec, same),
    AT(dlpark_spec, ndtypes),
    AT(dlpark_spec, ndims),
    AT(dlpark_spec, ndims_leading),
    AT(dlpark_spec, ndims_extra),
    AT(dlpark_spec, ndevices),
    AT(dlpark_spec, framework),
    AT(dlpark_spec, alignment_bytes),
    AT(dlpark_spec, dtypes),
    AT(dlpark_spec, devices),
    AT(dlpark_spec, dims),
    SIZE(dlpark_spec_bound),
    AT(dlpark_spec_bound, dims_known),
    AT(dlpark_spec_bound, dtypes_known),
    AT(dlpark_spec_bound, dims),
    AT(dlpark_spec_bound, dtypes),
    SIZE(dlpark_spec_source),
    AT(dlpark_spec_source, text),
    AT(dlpark_spec_source, length),
    AT(dlpark_spec_source, at),
    AT(dlpark_spec_source, argument),
    AT(dlpark_spec_source, argument_length),
    AT(dlpark_spec_source, is_result),
    SIZE(dlpark_rule),
    SIZE(dlpark_severity),
    SIZE(dlpark_spec_framework),
    SIZE(dlpark_limits),
    AT(dlpark_limits, max),
    AT(dlpark_limits, lowest),
    AT(dlpark_limits, smallest_normal),
    AT(dlpark_limits, smallest_subnormal),
    AT(dlpark_limits, eps),
    AT(dlpark_limits, digits),
    AT(dlpark_limits, has_infinity),
    AT(dlpark_limits, has_nan),
    AT(dlpark_limits, has_signed_zero),
    AT(dlpark_limits, has_zero),
    AT(dlpark_limits, has_subnormals),
    AT(dlpark_limits, reserved),
    SIZE(dlpark_scalar_kind),
    SIZE(dlpark_scalar),
    AT(dlpark_scalar, kind),
    AT(dlpark_scalar, is_exact),
    AT(dlpark_scalar, low),
    AT(dlpark_scalar, high),
    AT(dlpark_scalar, re),
    AT(dlpark_scalar, im),
    AT(dlpark_scalar, nbytes),
    AT(dlpark_scalar, raw),
    SIZE(dlpark_text_options),
    AT(dlpark_text_options, threshold),
    AT(dlpark_text_options, edgeitems),
    AT(dlpark_text_options, precision),
    AT(dlpark_text_options, linewidth),
    AT(dlpark_text_options, reserved),
    SIZE(dlpark_allocator),
    AT(dlpark_allocator, allocate),
    AT(dlpark_allocator, deallocate),
    AT(dlpark_allocator, context),
    SIZE(dlpark_image_load_desc),
    AT(dlpark_image_load_desc, path),
    AT(dlpark_image_load_desc, bytes),
    AT(dlpark_image_load_desc, nbytes),
    AT(dlpark_image_load_desc, channels),
    AT(dlpark_image_load_desc, layout),
    AT(dlpark_image_load_desc, dtype),
    AT(dlpark_image_load_desc, keep_orientation),
    AT(dlpark_image_load_desc, tolerant),
    AT(dlpark_image_load_desc, reserved),
    AT(dlpark_image_load_desc, max_pixels),
    AT(dlpark_image_load_desc, max_scans),
    AT(dlpark_image_load_desc, max_chunks),
    SIZE(dlpark_image_info),
    AT(dlpark_image_info, format),
    AT(dlpark_image_info, width),
    AT(dlpark_image_info, height),
    AT(dlpark_image_info, channels),
    AT(dlpark_image_info, bits),
    AT(dlpark_image_info, orientation),
    AT(dlpark_image_info, progressive),
    AT(dlpark_image_info, lossless),
    AT(dlpark_image_info, reserved),
    SIZE(dlpark_image_save_desc),
    AT(dlpark_image_save_desc, path),
    AT(dlpark_image_save_desc, format),
    AT(dlpark_image_save_desc, layout),
    AT(dlpark_image_save_desc, quality),
    AT(dlpark_image_save_desc, lossless),
    AT(dlpark_image_save_desc, compression),
    AT(dlpark_image_save_desc, subsampling),
    AT(dlpark_image_save_desc, progressive),
    AT(dlpark_image_save_desc, reserved),
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
