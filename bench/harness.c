#define _DEFAULT_SOURCE

#include "harness.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif
#if defined(__has_include)
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#define HARNESS_CALLGRIND 1
#endif
#endif

#if defined(__clang__)
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

/* One turn of a case lasts about this long: thousands of operations, yet short enough to fall between two interrupts
 * most of the time. */
#define TURN_NS 1000000.0

enum { COUNTED_OPERATIONS = 1000, QUICK_OPERATIONS = 3 };

/* ---- Options and surroundings ---- */

static const char *option_value(int argc, char **argv, int *at)
{
    if (*at + 1 >= argc) {
        fprintf(stderr, "%s needs a value\n", argv[*at]);
        exit(2);
    }
    return argv[++*at];
}

static FILE *option_open(const char *path)
{
    FILE *file = fopen(path, "w");

    if (!file) {
        perror(path);
        exit(2);
    }
    return file;
}

harness_options harness_parse(int argc, char **argv)
{
    harness_options options = {.rounds = 31};

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            options.quick = true;
        else if (strcmp(argv[i], "--count") == 0)
            options.count = true;
        else if (strcmp(argv[i], "--rounds") == 0)
            options.rounds = atoi(option_value(argc, argv, &i));
        else if (strcmp(argv[i], "--json") == 0)
            options.json = option_open(option_value(argc, argv, &i));
        else if (strcmp(argv[i], "--instructions") == 0)
            options.counts = option_value(argc, argv, &i);
        else {
            fprintf(stderr, "unknown option %s\n", argv[i]);
            exit(2);
        }
    }
    if (options.rounds < 1 || options.rounds > HARNESS_MAX_ROUNDS) {
        fprintf(stderr, "--rounds takes 1 to %d\n", HARNESS_MAX_ROUNDS);
        exit(2);
    }
    return options;
}

static void machine_cpu(char *out, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];

    snprintf(out, size, "unknown processor");
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon) {
            colon[strcspn(colon, "\n")] = '\0';
            snprintf(out, size, "%s", colon + 2);
            break;
        }
    }
    if (file)
        fclose(file);
}

void harness_print_machine(const harness_options *options)
{
    char cpu[128], text[512];
    struct utsname system = {0};
    const char *libc = "";

    machine_cpu(cpu, sizeof cpu);
    uname(&system);
    system.release[strcspn(system.release, "-")] = '\0'; /* a distribution's suffix says nothing about speed */
#if defined(__GLIBC__)
    libc = gnu_get_libc_version();
#endif
    snprintf(text, sizeof text, "%s, %ld cores, %s %s %s, libc %s, %s, %d rounds", cpu, sysconf(_SC_NPROCESSORS_ONLN),
             system.sysname, system.release, system.machine, libc, COMPILER, options->rounds);
    printf("machine: %s\n", text);
    if (options->json)
        fprintf(options->json, "[\n{\"machine\": \"%s\"}", text);
}

/* ---- Measuring ---- */

static double thread_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double run_ns(const harness_case *item, long count)
{
    double before = thread_ns();

    item->run(item->input, count);
    return (thread_ns() - before) / (double)count;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(const double *values, int count)
{
    double sorted[HARNESS_MAX_ROUNDS];

    memcpy(sorted, values, (size_t)count * sizeof *values);
    qsort(sorted, (size_t)count, sizeof *sorted, by_value);
    return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

static double minimum(const double *values, int count)
{
    double least = values[0];

    for (int i = 1; i < count; i++)
        if (values[i] < least)
            least = values[i];
    return least;
}

/* The median over the rounds of one case's time as a multiple of another's in the same round. */
static double ratio(const double *times, const double *others, int rounds)
{
    double ratios[HARNESS_MAX_ROUNDS];

    for (int i = 0; i < rounds; i++)
        ratios[i] = times[i] / others[i];
    return median(ratios, rounds);
}

static int case_index(const harness_group *group, const char *name)
{
    for (int i = 0; name && i < group->ncases; i++)
        if (strcmp(group->cases[i].name, name) == 0)
            return i;
    return -1;
}

/* How many operations make a turn. The first ones also warm caches and the allocator. */
static long turn_count(const harness_case *item)
{
    long count = 1;
    double ns = run_ns(item, count);

    while (ns * (double)count < TURN_NS / 10 && count < 1000000) {
        count *= 10;
        ns = run_ns(item, count);
    }
    return (long)(TURN_NS / (ns + 1)) + 1;
}

static void measure(const harness_group *group, int rounds, double times[][HARNESS_MAX_ROUNDS])
{
    long count[HARNESS_MAX_CASES];

    for (int i = 0; i < group->ncases; i++)
        count[i] = turn_count(&group->cases[i]);
    for (int round = 0; round < rounds; round++)
        for (int turn = 0; turn < group->ncases; turn++) {
            int i = (round + turn) % group->ncases;
            times[i][round] = run_ns(&group->cases[i], count[i]);
        }
}

/* The case that is taken off another, or -1. */
static int case_surrounding(const harness_group *group, const harness_case *item, const harness_options *options)
{
    return options->less ? case_index(group, options->less(item->name)) : -1;
}

/* Leaves of each time what the operation itself took. */
static void take_off(const harness_group *group, const harness_options *options, double times[][HARNESS_MAX_ROUNDS])
{
    for (int i = 0; i < group->ncases; i++) {
        int other = case_surrounding(group, &group->cases[i], options);
        for (int round = 0; other >= 0 && round < options->rounds; round++)
            times[i][round] -= times[other][round];
    }
}

/* ---- Instruction counts ---- */

static void case_label(const harness_group *group, const harness_case *item, char *out, size_t size)
{
    snprintf(out, size, "%s/%s/%d/%s", group->bench, group->name, group->rank, item->name);
}

static void count_instructions(const harness_group *group)
{
#if defined(HARNESS_CALLGRIND)
    for (int i = 0; i < group->ncases; i++) {
        const harness_case *item = &group->cases[i];
        char label[160];

        case_label(group, item, label, sizeof label);
        item->run(item->input, 10); /* lazy binding is not the operation's */
        CALLGRIND_ZERO_STATS;
        item->run(item->input, COUNTED_OPERATIONS);
        CALLGRIND_DUMP_STATS_AT(label);
    }
#else
    (void)group;
    fprintf(stderr, "built without valgrind/callgrind.h: no instructions are counted\n");
    exit(2);
#endif
}

/* The count of a label from the file "LABEL<tab>INSTRUCTIONS of COUNTED_OPERATIONS", or -1. */
static double count_of(const harness_options *options, const char *label)
{
    FILE *file = options->counts ? fopen(options->counts, "r") : NULL;
    char line[256];
    double found = -1;
    size_t length = strlen(label);

    while (file && found < 0 && fgets(line, sizeof line, file))
        if (strncmp(line, label, length) == 0 && line[length] == '\t')
            found = atof(line + length + 1) / COUNTED_OPERATIONS;
    if (file)
        fclose(file);
    return found;
}

/* The count of a case, without what surrounds it; or -1. */
static double instructions_of(const harness_group *group, const harness_case *item, const harness_options *options)
{
    int other = case_surrounding(group, item, options);
    char label[160];
    double found, surrounding = 0;

    case_label(group, item, label, sizeof label);
    found = count_of(options, label);
    if (found >= 0 && other >= 0) {
        case_label(group, &group->cases[other], label, sizeof label);
        surrounding = count_of(options, label);
    }
    return found >= 0 && surrounding >= 0 ? found - surrounding : -1;
}

/* ---- Reporting ---- */

/* Prints the verdict on one target, and writes it. A peer that is not built has no row, and then no verdict either. */
static int report_target(const harness_group *group, int i, int nth, int rounds, double times[][HARNESS_MAX_ROUNDS],
                         FILE *json)
{
    const harness_target *target = &group->cases[i].targets[nth];
    int other = case_index(group, target->against);
    double got;

    if (json)
        fprintf(json, nth == 0 ? "" : ", ");
    if (other < 0) {
        if (json)
            fprintf(json, "null");
        return 0;
    }
    got = ratio(times[i], times[other], rounds);
    printf("  %s %.2f of %s (at most %.2f)", got <= target->at_most ? "ok:" : "MISSED:", got, target->against,
           target->at_most);
    if (json)
        fprintf(json, "{\"against\": \"%s\", \"at_most\": %.2f, \"ratio\": %.3f, \"ok\": %s}", target->against,
                target->at_most, got, got <= target->at_most ? "true" : "false");
    return got > target->at_most;
}

static int report_case(const harness_group *group, int i, const harness_options *options,
                       double times[][HARNESS_MAX_ROUNDS])
{
    const harness_case *item = &group->cases[i];
    double least = minimum(times[i], options->rounds), middle = median(times[i], options->rounds);
    double to_floor = ratio(times[i], times[0], options->rounds);
    double counted = instructions_of(group, item, options);
    char instructions[32] = "-";
    int missed = 0;

    if (counted >= 0)
        snprintf(instructions, sizeof instructions, "%.0f", counted);
    printf("%-32s %11.1f %11.1f %7.2f %7s", item->name, least, middle, to_floor, instructions);
    if (options->json)
        fprintf(options->json,
                ",\n{\"bench\": \"%s\", \"group\": \"%s\", \"rank\": %d, \"case\": \"%s\", \"min_ns\": %.2f, "
                "\"median_ns\": %.2f, \"ratio\": %.3f, \"instructions\": %.0f, \"targets\": [",
                group->bench, group->name, group->rank, item->name, least, middle, to_floor, counted);
    for (int t = 0; t < HARNESS_MAX_TARGETS; t++)
        missed += report_target(group, i, t, options->rounds, times, options->json);
    if (options->json)
        fprintf(options->json, "]}");
    printf("\n");
    return missed;
}

static void print_title(const harness_group *group)
{
    if (group->rank >= 0)
        printf("\n%s, rank %d\n", group->name, group->rank);
    else
        printf("\n%s\n", group->name);
}

static int verify(const harness_group *group)
{
    int wrong = 0;

    for (int i = 0; i < group->ncases; i++)
        if (!group->cases[i].verify(group->cases[i].input)) {
            print_title(group);
            printf("WRONG RESULT: %s\n", group->cases[i].name);
            wrong++;
        }
    return wrong;
}

int harness_run(const harness_group *group, const harness_options *options, int *missed)
{
    static double times[HARNESS_MAX_CASES][HARNESS_MAX_ROUNDS];
    int wrong = verify(group);

    if (wrong)
        return wrong;
    if (options->count) {
        count_instructions(group);
        return 0;
    }
    if (options->quick) {
        for (int i = 0; i < group->ncases; i++)
            group->cases[i].run(group->cases[i].input, QUICK_OPERATIONS);
        print_title(group);
        printf("%d cases verified\n", group->ncases);
        return 0;
    }
    measure(group, options->rounds, times);
    take_off(group, options, times);
    print_title(group);
    printf("%-32s %11s %11s %7s %7s  target\n", "", "min ns", "median ns", "ratio", "instr.");
    for (int i = 0; i < group->ncases; i++)
        *missed += report_case(group, i, options, times);
    fflush(stdout);
    return 0;
}

int harness_finish(const harness_options *options, int wrong, int missed)
{
    if (options->json) {
        fprintf(options->json, "\n]\n");
        fclose(options->json);
    }
    if (options->quick)
        printf("%d wrong results\n", wrong);
    else if (!options->count)
        printf("\n%d wrong results, %d targets missed\n", wrong, missed);
    return wrong ? 1 : 0;
}
