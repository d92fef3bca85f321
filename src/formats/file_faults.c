#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../core/internal.h"
#include "file_faults.h"

bool dlpark__file_faults_add(dlpark__file_faults *faults, dlpark_status status, const dlpark__file_fault_place *place,
                             const char *format, ...)
{
    dlpark_file_fault fault = {.rule = place->rule, .offset = place->offset};
    unsigned long long offset = place->offset;
    size_t used = 0;
    va_list arguments;

    if (faults->within != NULL) /* a name of at most 60 bytes */
        used = (size_t)snprintf(fault.message, sizeof fault.message, "in %s: ", faults->within);
    va_start(arguments, format);
    vsnprintf(fault.message + used, sizeof fault.message - used, format, arguments);
    va_end(arguments);
    if (place->name != NULL)
        memcpy(fault.tensor, dlpark_file_name_text(place->name, place->name_nbytes).text, sizeof fault.tensor);
    if (faults->count++ == 0) {
        faults->status = status;
        if (!faults->lists && place->name != NULL)
            (void)dlpark_error_set(faults->err, status, "%s: tensor '%s': %s (byte %llu)", faults->file->text,
                                   fault.tensor, fault.message, offset);
        else if (!faults->lists)
            (void)dlpark_error_set(faults->err, status, "%s: %s (byte %llu)", faults->file->text, fault.message,
                                   offset);
    }
    if (faults->lists && faults->count <= faults->capacity)
        faults->list[faults->count - 1] = fault;
    return faults->lists;
}
