#include <dlpark/rule.h>

#include <stddef.h>

_Static_assert(sizeof(dlpark_rule) == 4 && sizeof(dlpark_severity) == 4, "public enums are 32 bits in every build");

typedef struct rule_row {
    dlpark_rule rule;
    dlpark_severity severity;
    dlpark_status status;
    const char *name;
    const char *field;
    const char *limit;
    const char *text;
} rule_row;

static const rule_row rule_rows[] = {
#define RULE_ROW(name, value, severity, status, field, limit, text)                                                    \
    {DLPARK_RULE_##name, DLPARK_SEVERITY_##severity, DLPARK_##status, #name, field, limit, text},
    DLPARK_RULE_TABLE(RULE_ROW)
#undef RULE_ROW
};

static const rule_row *rule_find(dlpark_rule rule)
{
    static const rule_row unknown = {DLPARK_RULE_PIN_32, DLPARK_SEVERITY_BROKEN, DLPARK_E_ARGUMENT, "UNKNOWN", "", "",
                                     "unknown rule"};

    for (size_t i = 0; i < sizeof rule_rows / sizeof rule_rows[0]; i++)
        if (rule_rows[i].rule == rule)
            return &rule_rows[i];
    return &unknown;
}

const char *dlpark_rule_name(dlpark_rule rule)
{
    return rule_find(rule)->name;
}

dlpark_severity dlpark_rule_severity(dlpark_rule rule)
{
    return rule_find(rule)->severity;
}

dlpark_status dlpark_rule_status(dlpark_rule rule)
{
    return rule_find(rule)->status;
}

const char *dlpark_rule_field(dlpark_rule rule)
{
    return rule_find(rule)->field;
}

const char *dlpark_rule_limit(dlpark_rule rule)
{
    return rule_find(rule)->limit;
}

const char *dlpark_rule_text(dlpark_rule rule)
{
    return rule_find(rule)->text;
}

const char *dlpark_severity_name(dlpark_severity severity)
{
    return severity == DLPARK_SEVERITY_BROKEN ? "broken" : severity == DLPARK_SEVERITY_HAZARD ? "hazard" : "unknown";
}
