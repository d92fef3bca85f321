/* A tensor of a file and a part of it, as Python would write it: lm_head.weight[0:2, :8]. */
#include <stdlib.h>
#include <string.h>

#include "command.h"

/* One number of a slice, or nothing, which is Python's None. */
static bool select_number(const char **at, int64_t *number)
{
    char *end;
    long long value = strtoll(*at, &end, 10); /* which skips blanks before it */

    *number = end == *at ? DLPARK_NONE : value;
    *at = end + strspn(end, " ");
    return **at == ':' || **at == ',' || **at == ']';
}

static void select_skip_blanks(const char **at)
{
    *at += strspn(*at, " ");
}

/* One item: an index, start:stop:step, or "...", applied to dimension *dim. `left` are the items behind it. */
static dlpark_status select_item(dlpark_view *view, const char **at, int32_t *dim, int left, dlpark_error *err)
{
    int64_t bounds[3] = {DLPARK_NONE, DLPARK_NONE, DLPARK_NONE};
    int given = 0;

    select_skip_blanks(at);
    if (strncmp(*at, "...", 3) == 0) {
        *at += 3;
        *dim = view->ndim - left > *dim ? view->ndim - left : *dim;
        return DLPARK_OK;
    }
    const char *begin = *at;
    bool is_read = select_number(at, &bounds[0]);
    while (is_read && **at == ':' && given < 2) {
        *at += 1;
        is_read = select_number(at, &bounds[++given]);
    }
    if (!is_read || **at == ':' || (given == 0 && bounds[0] == DLPARK_NONE))
        return dlpark_error_set(
            err, DLPARK_E_ARGUMENT,
            "'%.*s' is no index: expected numbers, start:stop:step, or ..., with commas between them",
            (int)strcspn(begin, ",]"), begin);
    if (*dim >= view->ndim)
        return dlpark_error_set(err, DLPARK_E_INDEX, "'%.*s' is one index too many for the tensor's rank",
                                (int)strcspn(begin, ",]"), begin);
    if (given == 0)
        return dlpark_view_index(view, *dim, bounds[0], err);
    DLPARK_TRY(dlpark_view_slice(view, *dim, bounds[0], bounds[1], bounds[2], err));
    *dim += 1;
    return DLPARK_OK;
}

/* What stands between the brackets, and the closing one. */
static dlpark_status select_apply(dlpark_view *view, const char *text, dlpark_error *err)
{
    int32_t dim = 0;
    int left = 0;

    if (strchr(text, ']') == NULL)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "'[%s': the slice has no ']' at its end",
                                dlpark_file_name_text(text, strlen(text)).text);
    for (const char *comma = text; (comma = strchr(comma, ',')) != NULL; comma++)
        left++;
    for (const char *at = text;; at++, left--) {
        DLPARK_TRY(select_item(view, &at, &dim, left, err));
        select_skip_blanks(&at);
        if (at[0] == ']' && at[1] == '\0')
            return DLPARK_OK;
        if (at[0] != ',')
            return dlpark_error_set(err, DLPARK_E_ARGUMENT, "'%s': expected a comma or a bracket at the end", at);
    }
}

/* A name that was given as it is printed, with its escapes. */
static int64_t select_find_shown(const dlpark_file *file, const char *name)
{
    dlpark_file_entry entry;

    for (int64_t i = 0; i < dlpark_file_count(file); i++) {
        if (dlpark_file_entry_get(file, i, &entry, NULL) != DLPARK_OK)
            continue;
        char *shown = cli_show_name(entry.name, entry.name_nbytes);
        bool is_it = shown != NULL && strcmp(shown, name) == 0;
        free(shown);
        if (is_it)
            return i;
    }
    return -1;
}

static int64_t select_find(const dlpark_file *file, const char *name, size_t nbytes)
{
    int64_t index = dlpark_file_find(file, name, nbytes);
    char *copy = index < 0 && memchr(name, '\\', nbytes) != NULL ? malloc(nbytes + 1) : NULL;

    if (copy == NULL)
        return index;
    memcpy(copy, name, nbytes);
    copy[nbytes] = '\0';
    index = select_find_shown(file, copy);
    free(copy);
    return index;
}

dlpark_status cli_view(dlpark_file *file, int64_t index, dlpark_view *view, dlpark_tensor *loaded, dlpark_error *err)
{
    dlpark_file_entry entry;

    DLPARK_TRY(dlpark_file_entry_get(file, index, &entry, err));
    if ((entry.flags & (DLPARK_FILE_SWAPPED | DLPARK_FILE_COMPRESSED)) == 0)
        return dlpark_file_view(file, index, view, err);
    DLPARK_TRY(dlpark_file_load(file, index, loaded, err));
    dlpark_tensor_view(loaded, view);
    return DLPARK_OK;
}

/* ---- A name that is not there ---- */

/* Among so many names the nearest is looked for. */
#define SELECT_NAMES 10000

/* As they are printed; how many. */
static size_t select_show_names(const dlpark_file *file, char **names, size_t most)
{
    size_t count = 0;
    dlpark_file_entry entry;

    for (size_t i = 0; i < most && dlpark_file_entry_get(file, (int64_t)i, &entry, NULL) == DLPARK_OK; i++) {
        names[count] = cli_show_name(entry.name, entry.name_nbytes);
        count += names[count] != NULL;
    }
    return count;
}

static dlpark_status select_refuse(const dlpark_file *file, const char *name, size_t nbytes, dlpark_error *err)
{
    size_t most = dlpark_file_count(file) < SELECT_NAMES ? (size_t)dlpark_file_count(file) : SELECT_NAMES;
    char **names = calloc(most + 1, sizeof(char *)), *given = cli_show_name(name, nbytes);
    size_t count = names != NULL && given != NULL ? select_show_names(file, names, most) : 0;
    const char *nearest = count > 0 ? cli_nearest(given, (const char *const *)names, count) : NULL;

    dlpark_status status = dlpark_error_set(err, DLPARK_E_ARGUMENT, "there is no tensor '%s'%s%s%s",
                                            dlpark_file_name_text(name, nbytes).text, nearest ? "; did you mean '" : "",
                                            nearest ? nearest : "", nearest ? "'?" : "");
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
    free(given);
    return status;
}

dlpark_status cli_select(dlpark_file *file, const char *text, dlpark_view *view, dlpark_tensor *loaded,
                         dlpark_error *err)
{
    const char *bracket = strrchr(text, '[');
    size_t length = strlen(text);
    int64_t index = select_find(file, text, length); /* a name may itself end in brackets */

    if (index >= 0)
        return cli_view(file, index, view, loaded, err);
    if (bracket != NULL) {
        length = (size_t)(bracket - text);
        index = select_find(file, text, length);
        if (index < 0 && length == 0 && dlpark_file_count(file) == 1)
            index = 0;
    }
    if (index < 0 && length == 0 && bracket != NULL)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                                "'%s': a slice needs the name of a tensor before it, as there are %lld",
                                dlpark_file_name_text(text, strlen(text)).text, (long long)dlpark_file_count(file));
    if (index < 0)
        return select_refuse(file, text, length, err);
    DLPARK_TRY(cli_view(file, index, view, loaded, err));
    return select_apply(view, bracket + 1, err);
}
