/*
 * Every code of every float of 4, 6 and 8 bits with its value, from tests/cases/golden_floats.csv.
 */
#ifndef GOLDEN_FLOATS_H
#define GOLDEN_FLOATS_H

#include "test.h"

#include <stdlib.h>

typedef struct golden_format {
    DLDataType dtype;
    unsigned count;
    double value[256]; /* by code */
} golden_format;

#define GOLDEN_FORMATS 11

/* Fills all formats, in the order of the table. */
static inline void golden_read(golden_format formats[GOLDEN_FORMATS])
{
    FILE *file = fopen(DLPARK_CASES "/golden_floats.csv", "r");
    char line[96], name[32], value[48], before[32] = "";
    unsigned code;
    int at = -1;

    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file)); /* the titles */
    while (fgets(line, sizeof line, file) != NULL) {
        assert_int_equal(sscanf(line, "%31[^,],%x,%47s", name, &code, value), 3);
        if (strncmp(name, "float", 5) != 0)
            continue;
        if (strcmp(name, before) != 0) {
            assert_true(++at < GOLDEN_FORMATS);
            formats[at].count = 0;
            assert_ok(dlpark_dtype_parse(name, &formats[at].dtype, e));
            strcpy(before, name);
        }
        assert_int_equal(code, formats[at].count);
        formats[at].value[formats[at].count++] = strtod(value, NULL);
    }
    fclose(file);
    assert_int_equal(at, GOLDEN_FORMATS - 1);
}

#endif
