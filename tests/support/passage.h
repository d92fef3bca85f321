/*
 * What passes between dlpark and a library without a copy: a test reports each crossing that it has just seen succeed or be
 * refused, and tools/adapters_page.py makes the table of docs/adapters.md of all reports.
 */
#ifndef PASSAGE_H
#define PASSAGE_H

#include <stdio.h>
#include <stdlib.h>

#include <dlpark/dlpark.h>

/* Into dlpark is PASSAGE_IN: a view, share or import of the library's object; PASSAGE_OUT is an export, or a view of ours. */
#define PASSAGE_IN  "in"
#define PASSAGE_OUT "out"

/*
 * Reports one crossing, to the file $DLPARK_PASSAGES/ADAPTER where that is set. `layout` is a word or two, the same in all
 * rows of an adapter ("compact", "padded rows", "transposed"); `status` is what the crossing ended with.
 */
static inline void passage_report(const char *adapter, const char *way, DLDataType dtype, const char *layout,
                                  dlpark_status status)
{
    const char *folder = getenv("DLPARK_PASSAGES");
    char path[4096];

    if (folder == NULL)
        return;
    snprintf(path, sizeof path, "%s/%s", folder, adapter);
    FILE *file = fopen(path, "a");
    if (file == NULL)
        abort();
    fprintf(file, "%s\t%s\t%s\t%s\n", way, dlpark_dtype_name(dtype).text, layout,
            status == DLPARK_OK ? "passes" : dlpark_status_name(status));
    if (fclose(file) != 0)
        abort();
}

#endif
