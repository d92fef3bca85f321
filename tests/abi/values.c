/*
 * Every number that a program may have stored, and what goes with it, compared with a checked-in table: statuses with
 * their Python exceptions, rules with severity and status.
 *
 *     values               prints the table of this build
 *     values values.txt    compares; exit status 1 with each line that differs
 */
#include <dlpark/dlpark.h>
#include <stdio.h>
#include <string.h>

static const char *const lines[] = {
#define STATUS_LINE(name, value, exception, text) "status " #name " " #value " " #exception,
    DLPARK_STATUS_TABLE(STATUS_LINE)
#define RULE_LINE(name, value, severity, status, field, limit, text) "rule " #name " " #value " " #severity " " #status,
        DLPARK_RULE_TABLE(RULE_LINE)
#define FRAMEWORK_LINE(name, value, text) "framework " #name " " #value " " text,
            DLPARK_SPEC_FRAMEWORK_TABLE(FRAMEWORK_LINE)};
enum { LINES = sizeof lines / sizeof lines[0] };

static int compare(FILE *table)
{
    char wanted[160];
    int at = 0, differences = 0;

    while (fgets(wanted, sizeof wanted, table)) {
        wanted[strcspn(wanted, "\r\n")] = '\0';
        const char *have = at < LINES ? lines[at] : "(nothing)";
        if (strcmp(wanted, have) != 0 && ++differences)
            printf("the table has \"%s\", this build has \"%s\"\n", wanted, have);
        at++;
    }
    for (; at < LINES; at++, differences++)
        printf("the table lacks \"%s\"\n", lines[at]);
    return differences;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        for (int i = 0; i < LINES; i++)
            puts(lines[i]);
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
