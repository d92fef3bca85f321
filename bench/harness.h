/*
 * Measures operations of a few nanoseconds beside each other: the cases of a group take turns, round by round, in one
 * process, and another one begins each round. What a machine does meanwhile then hits all of them, and the ratio of
 * two cases within a round is steadier than either time.
 */
#ifndef BENCH_HARNESS_H
#define BENCH_HARNESS_H

#include <stdbool.h>
#include <stdio.h>

enum { HARNESS_MAX_CASES = 16, HARNESS_MAX_ROUNDS = 201, HARNESS_MAX_TARGETS = 2 };

/* An expectation: this case's time is at most `at_most` times that of the case named `against`, in the same round. */
typedef struct harness_target {
    const char *against; /* NULL: none */
    double at_most;
} harness_target;

typedef struct harness_case {
    const char *name;
    void (*run)(const void *input, long count); /* the operation, `count` times */
    bool (*verify)(const void *input);          /* once before any timing: is its result right? */
    const void *input;
    harness_target targets[HARNESS_MAX_TARGETS];
} harness_case;

/* Cases that are compared. The first is the floor: every ratio that is printed is against it. */
typedef struct harness_group {
    const char *bench; /* "tensor" */
    const char *name;  /* "new and release" */
    int rank;          /* negative: not about a rank */
    int ncases;
    harness_case cases[HARNESS_MAX_CASES];
} harness_group;

typedef struct harness_options {
    bool quick;         /* verify, run a few operations, judge no time */
    bool count;         /* run for an instruction counter (valgrind --tool=callgrind), not for time */
    int rounds;         /* 31 unless told */
    FILE *json;         /* rows are written here as well; NULL: nowhere */
    const char *counts; /* the file of instruction counts, as bench/run.sh writes it; NULL: none */
    /* The case of what surrounds the operation of another: its time in the same round, and its instructions, are taken
     * off before anything is compared or printed. It has none itself; NULL: nothing. Not set by harness_parse(). */
    const char *(*less)(const char *name);
} harness_options;

/* Reads --quick, --count, --rounds N, --json FILE, --instructions FILE. Ends the program on anything else. */
harness_options harness_parse(int argc, char **argv);

/* One line about the machine and the build, on stdout and as the first row of the JSON file. */
void harness_print_machine(const harness_options *options);

/* Verifies, measures and prints a group. Returns how many results were wrong, and adds missed targets to *missed. */
int harness_run(const harness_group *group, const harness_options *options, int *missed);

/* Closes the JSON file and prints the verdict. Returns the exit status: wrong results fail, missed targets do not. */
int harness_finish(const harness_options *options, int wrong, int missed);

/* Makes the compiler believe that `pointer` is read and written here, so that nothing before it is left out. */
static inline void harness_use(const void *pointer)
{
    __asm__ volatile("" : : "g"(pointer) : "memory");
}

#endif
