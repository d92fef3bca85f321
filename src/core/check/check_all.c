/*
 * The list of everything: notes faults in the caller's memory, in the words of the table.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "check_parts.h"

_Static_assert(sizeof(dlpark_fault) == 512, "the layout of dlpark_fault is frozen");

static const DLPackVersion all_assumed = {DLPARK_ABI_MAJOR, DLPARK_ABI_MINOR};

/* "shape[2]" of "shape[i]"; the field as it is for a whole one. */
static void all_name_field(dlpark_fault *fault)
{
    const char *field = dlpark_rule_field(fault->rule);
    int stem = (int)strcspn(field, "[");

    if (fault->dimension >= 0)
        snprintf(fault->field, sizeof fault->field, "%.*s[%d]", stem, field, (int)fault->dimension);
    else
        snprintf(fault->field, sizeof fault->field, "%s", field);
}

void dlpark__faults_add(dlpark__faults *faults, dlpark_rule rule, int32_t dimension, int64_t value, int64_t limit,
                        const char *what, ...)
{
    va_list arguments;

    if (faults->count++ >= faults->capacity)
        return;

    dlpark_fault *fault = &faults->list[faults->count - 1];
    fault->rule = rule;
    fault->severity = dlpark_rule_severity(rule);
    fault->dimension = dimension;
    fault->value = value;
    fault->limit = limit;
    all_name_field(fault);
    va_start(arguments, what);
    vsnprintf(fault->message, sizeof fault->message, what, arguments);
    va_end(arguments);

    /* A message that says by itself what is expected is more exact than the table. */
    if (strstr(fault->message, ", expected ") != NULL)
        return;
    size_t at = strlen(fault->message);
    bool broken = fault->severity == DLPARK_SEVERITY_BROKEN;
    snprintf(fault->message + at, sizeof fault->message - at, broken ? ", expected %s" : ". %s",
             broken ? dlpark_rule_limit(rule) : dlpark_rule_text(rule));
}

dlpark_status dlpark__check_explain(const DLTensor *tensor, uint64_t flags, bool lists, dlpark_error *err)
{
    dlpark_fault first;
    dlpark__faults faults = {&first, 1, 0};
    dlpark__judged judged = {.tensor = tensor, .flags = flags, .version = all_assumed};

    dlpark__judge_broken(&judged, lists, &faults);
    if (faults.count == 0)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the tensor was changed while it was checked");
    return dlpark_error_set(err, dlpark_rule_status(first.rule), "%s", first.message);
}

size_t dlpark_check_all(const DLTensor *tensor, uint64_t flags, dlpark_fault *faults, size_t capacity)
{
    return dlpark_check_all_version(tensor, flags, all_assumed, faults, capacity);
}

static size_t all_judge(dlpark__judged *judged, dlpark_fault *faults, size_t capacity)
{
    dlpark__faults found = {faults, capacity, 0};

    dlpark__judge_broken(judged, true, &found);
    dlpark__judge_hazards(judged, &found);
    return found.count;
}

size_t dlpark_check_all_version(const DLTensor *tensor, uint64_t flags, DLPackVersion version, dlpark_fault *faults,
                                size_t capacity)
{
    dlpark__judged judged = {.tensor = tensor, .flags = flags, .version = version};

    return all_judge(&judged, faults, capacity);
}

size_t dlpark_check_all_managed(const DLManagedTensorVersioned *managed, dlpark_fault *faults, size_t capacity)
{
    dlpark__judged judged = {.tensor = NULL, .version = all_assumed};

    if (managed != NULL) {
        judged = (dlpark__judged){.tensor = &managed->dl_tensor, .version = managed->version};
        judged.foreign = managed->version.major != DLPARK_ABI_MAJOR;
        if (!judged.foreign)
            judged.flags = managed->flags;
    }
    return all_judge(&judged, faults, capacity);
}
