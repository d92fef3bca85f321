/* What is right in a file, and what some readers get wrong all the same. */
#include <string.h>

#include "../core/internal.h"
#include "format.h"

static dlpark__file_fault_place hazards_place(const char *rule, const dlpark_file_entry *entry)
{
    return (dlpark__file_fault_place){rule, entry->offset, entry->name, entry->name_nbytes};
}

/* Bytes of a number of the dtype, which its address should be a multiple of; 1 where there is no such. */
static uint64_t hazards_number(DLDataType dtype)
{
    uint64_t nbytes = dtype.code == kDLComplex ? dtype.bits / 16 : dtype.bits / 8;

    return nbytes > 1 ? nbytes : 1;
}

static void hazards_add_misaligned(dlpark__file_faults *hazards, const dlpark_file_entry *entry)
{
    uint64_t number = hazards_number(entry->dtype);
    dlpark__file_fault_place place = hazards_place("misaligned", entry);

    if (entry->offset % number == 0 || entry->nbytes == 0 || (entry->flags & DLPARK_FILE_COMPRESSED) != 0)
        return;
    (void)dlpark__file_faults_add(
        hazards, DLPARK_OK, &place,
        "begins at no multiple of %llu, the bytes of a number: readers that map it copy or refuse it",
        (unsigned long long)number);
}

/* Whether a part of a name between slashes is "..", or it begins with one, as only paths do. */
static bool hazards_is_path(const char *name, size_t nbytes)
{
    bool is_dots = true;
    size_t length = 0; /* of this part */

    if (nbytes > 0 && (name[0] == '/' || name[0] == '\\'))
        return true;
    for (size_t i = 0; i <= nbytes; i++) {
        if (i < nbytes && name[i] != '/' && name[i] != '\\') {
            is_dots = is_dots && name[i] == '.';
            length++;
            continue;
        }
        if (is_dots && length == 2)
            return true;
        is_dots = true;
        length = 0;
    }
    return false;
}

static void hazards_add_name(dlpark__file_faults *hazards, const dlpark_file_entry *entry)
{
    dlpark__file_fault_place place = hazards_place("name", entry);

    if (entry->name_nbytes == 0)
        (void)dlpark__file_faults_add(hazards, DLPARK_OK, &place, "has no name: not every reader can ask for it");
    else if (memchr(entry->name, '\0', entry->name_nbytes) != NULL)
        (void)dlpark__file_faults_add(hazards, DLPARK_OK, &place,
                                      "has a zero in its name, where readers in C take it to end");
    else if (dlpark_file_name_format(entry->name, entry->name_nbytes, NULL, 0) != entry->name_nbytes)
        (void)dlpark__file_faults_add(hazards, DLPARK_OK, &place, "has characters in its name that a terminal obeys");
    if (!hazards_is_path(entry->name, entry->name_nbytes))
        return;
    place.rule = "path";
    (void)dlpark__file_faults_add(hazards, DLPARK_OK, &place,
                                  "has a name that leads elsewhere when it is taken for a path");
}

static void hazards_add_rank(dlpark__file_faults *hazards, const dlpark_file_entry *entry)
{
    dlpark__file_fault_place place = hazards_place("rank", entry);

    if (entry->ndim > DLPARK_MAX_NDIM)
        (void)dlpark__file_faults_add(hazards, DLPARK_OK, &place,
                                      "has %d dimensions, more than the %d that a tensor has here and in NumPy",
                                      (int)entry->ndim, DLPARK_MAX_NDIM);
}

size_t dlpark_file_hazards(const dlpark_file *file, dlpark_file_fault *list, size_t capacity)
{
    dlpark__file_faults hazards = {
        .file = &file->source->name, .lists = true, .list = list, .capacity = capacity, .status = DLPARK_OK};

    dlpark_file_entry entry;
    for (int64_t i = 0; dlpark_file_entry_get(file, i, &entry, NULL) == DLPARK_OK; i++) {
        hazards_add_misaligned(&hazards, &entry);
        hazards_add_name(&hazards, &entry);
        hazards_add_rank(&hazards, &entry);
    }
    return hazards.count;
}
