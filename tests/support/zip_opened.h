/*
 * An archive of zip_made.h as the reader of src/formats sees it.
 */
#ifndef ZIP_OPENED_H
#define ZIP_OPENED_H

#include "npz/zip.h"
#include "zip_made.h"

typedef struct zip_opened {
    dlpark__source *source;
    dlpark__zip zip;
    dlpark__file_faults faults;
    dlpark_file_fault list[16];
} zip_opened;

/* What reading says where nothing is wrong with the file. All faults are listed, or the first goes to `err`. */
static inline dlpark_status zip_opened_read(zip_opened *opened, const zip_made *made, uint64_t max_nbytes, bool lists,
                                            dlpark_error *err)
{
    unsigned char *bytes = malloc(made->nbytes > 0 ? made->nbytes : 1); /* a sanitizer sees its end */

    assert_non_null(bytes);
    if (made->nbytes > 0)
        memcpy(bytes, made->bytes, made->nbytes);
    memset(opened, 0, sizeof *opened);
    assert_ok(dlpark__source_open_memory(&opened->source, bytes, made->nbytes, bytes, free, e));
    opened->faults = (dlpark__file_faults){.file = &opened->source->name, .err = err};
    opened->faults.lists = lists;
    opened->faults.list = opened->list;
    opened->faults.capacity = sizeof opened->list / sizeof *opened->list;
    dlpark_status status = dlpark__zip_read(&opened->zip, opened->source, max_nbytes, &opened->faults, err);
    if (status == DLPARK_OK && !lists && opened->faults.count != 0)
        status = opened->faults.status;
    return status;
}

static inline void zip_opened_end(zip_opened *opened)
{
    dlpark__zip_end(&opened->zip);
    dlpark__source_release(opened->source);
    opened->source = NULL;
}

/* `rule` NULL: it is read. Else the first fault, its status and text. */
static inline void assert_zip(const zip_made *made, dlpark_status status, const char *rule, const char *text)
{
    zip_opened opened;
    dlpark_error err = {.message = ""};

    if (zip_opened_read(&opened, made, 0, false, &err) != status || strstr(err.message, text) == NULL)
        fail_msg("expected %s \"%s\", got %s \"%s\"", dlpark_status_name(status), text,
                 dlpark_status_name(opened.faults.status), err.message);
    zip_opened_end(&opened);
    assert_int_equal(zip_opened_read(&opened, made, 0, true, &err), DLPARK_OK);
    if (rule == NULL)
        assert_int_equal(opened.faults.count, 0);
    else if (opened.faults.count == 0 || strcmp(opened.list[0].rule, rule) != 0)
        fail_msg("expected the rule %s, got %s for \"%s\"", rule, opened.faults.count ? opened.list[0].rule : "none",
                 text);
    zip_opened_end(&opened);
}

/* A number written over what is at `at`, and what comes of it. */
typedef struct zip_change {
    size_t at;
    size_t nbytes;
    uint64_t number;
    dlpark_status status;
    const char *rule;
    const char *text;
} zip_change;

static inline void assert_zip_change(const zip_made *made, const zip_change *change)
{
    unsigned char kept[8];

    assert_true(change->at + 8 <= made->nbytes + 8 - change->nbytes);
    memcpy(kept, made->bytes + change->at, change->nbytes);
    zip_made_set(made, change->at, change->nbytes, change->number);
    assert_zip(made, change->status, change->rule, change->text);
    memcpy(made->bytes + change->at, kept, change->nbytes);
}

#endif
