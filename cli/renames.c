/* The names of tensors in the file that they go to: --rename. */
#include <stdlib.h>
#include <string.h>

#include "command.h"

/* Each `from` in a text becomes `to`; a new text, NULL: out of memory. */
static char *renames_replace(const char *text, const char *from, size_t from_nbytes, const char *to)
{
    size_t to_nbytes = strlen(to), nbytes = strlen(text) + 1;

    for (const char *at = text; (at = strstr(at, from)) != NULL; at += from_nbytes)
        nbytes += to_nbytes;
    char *out = malloc(nbytes), *end = out;
    if (out == NULL)
        return NULL;
    for (const char *at; (at = strstr(text, from)) != NULL; text = at + from_nbytes) {
        memcpy(end, text, (size_t)(at - text));
        memcpy(end + (at - text), to, to_nbytes);
        end += (size_t)(at - text) + to_nbytes;
    }
    memcpy(end, text, strlen(text) + 1);
    return out;
}

/* A name after every --rename; takes it. NULL: out of memory. */
static char *renames_apply(const cli_call *call, int option, char *name)
{
    for (int i = 0; name != NULL && i < call->ngiven; i++) {
        if (call->given[i].option != option)
            continue;
        const char *value = call->given[i].value;
        size_t old_nbytes = strcspn(value, "=");
        char *old = malloc(old_nbytes + 1), *renamed = NULL;
        if (old != NULL) {
            memcpy(old, value, old_nbytes);
            old[old_nbytes] = '\0';
            renamed = renames_replace(name, old, old_nbytes, value + old_nbytes + 1);
        }
        free(old);
        free(name);
        name = renamed;
    }
    return name;
}

/* One that holds a zero stays: no argument can say it. */
char *cli_rename(const cli_call *call, int option, const dlpark_file_entry *entry, size_t *nbytes)
{
    char *name = malloc(entry->name_nbytes + 1);

    *nbytes = entry->name_nbytes;
    if (name == NULL)
        return NULL;
    memcpy(name, entry->name, entry->name_nbytes);
    name[entry->name_nbytes] = '\0';
    if (strlen(name) != entry->name_nbytes)
        return name;
    name = renames_apply(call, option, name);
    *nbytes = name != NULL ? strlen(name) : 0;
    return name;
}

bool cli_check_renames(const cli_call *call, int option)
{
    for (int i = 0; i < call->ngiven; i++) {
        const char *value = call->given[i].value;
        if (call->given[i].option == option && (strchr(value, '=') == NULL || value[0] == '=')) {
            cli_complain(call->verb, "--rename %s: expected OLD=NEW", value);
            return false;
        }
    }
    return true;
}
