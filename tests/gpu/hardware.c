/*
 * Usage: hardware
 * Tries on this machine's GPU what the tests prove on a fake driver, and prints a report for docs/devices.md. Exits with 77 where
 * dlpark_cuda_open() finds no driver, which may be another one by DLPARK_CUDA_LIBRARY; with 1 where a check fails.
 */
#include "hardware.h"

#include <time.h>

#include <dlpark/version.h>

dlpark_cuda cuda = DLPARK_CUDA_EMPTY;

enum { SKIP = 77 };

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

static int attribute_of(int ordinal, CUdevice_attribute which)
{
    int value = 0;

    return DRIVER(cuDeviceGetAttribute)(&value, which, ordinal) == CUDA_SUCCESS ? value : -1;
}

static dlpark_name device_name(int ordinal)
{
    dlpark_name name;

    return dlpark_cuda_device_name(&cuda, ordinal, &name, NULL) == DLPARK_OK ? name : (dlpark_name){"unknown"};
}

/* The version of the kernel's driver, 580.82.07; "unknown" where the file is not there. */
static void driver_release(char *text, size_t nbytes)
{
    FILE *file = fopen("/sys/module/nvidia/version", "r");

    (void)snprintf(text, nbytes, "unknown");
    if (file != NULL) {
        if (fgets(text, (int)nbytes, file) != NULL)
            text[strcspn(text, "\n")] = '\0';
        (void)fclose(file);
    }
}

static void print_machine(void)
{
    char date[32], release[64];
    time_t now = time(NULL);

    (void)strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    driver_release(release, sizeof release);
    if (driver_is_fake())
        printf("### No hardware: the fake driver of tests/support/fakecuda, %s\n\nNothing below was run on a GPU. It "
               "shows that the checks themselves work.\n\n",
               date);
    else
        printf("### %s, %s\n\n", device_name(0).text, date);
    printf("dlpark %s, %s, CUDA %d.%d of %s, driver %s; compiled by %s.\n\n", dlpark_version(),
           sizeof(void *) == 8 ? "64 bits" : "32 bits", cuda.version / 1000, cuda.version % 1000 / 10,
           driver_is_fake() ? "the tests" : cuda.library, driver_is_fake() ? "the fake" : release, COMPILER);
    for (int i = 0; i < cuda.device_count; i++) {
        printf("* cuda:%d: %s, compute capability %d.%d, memory pools: %s\n", i, device_name(i).text,
               attribute_of(i, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
               attribute_of(i, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
               attribute_of(i, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) == 1 ? "yes" : "no");
    }
    printf("\n| what was tried | | what was seen |\n|---|---|---|\n");
}

/* How many of them failed. */
static int run_checks(const check *checks)
{
    static const char *const words[] = {"passed", "**failed**", "left out"};
    int failed = 0;

    for (; checks->what != NULL; checks++) {
        finding seen = {""};
        verdict said = checks->run(&seen);

        printf("| %s | %s | %s |\n", checks->what, words[said], seen.text);
        (void)fflush(stdout);
        failed += said == FAILED;
    }
    return failed;
}

int main(int argc, char **argv)
{
    dlpark_error err = {.message = ""};
    dlpark_status status = dlpark_cuda_open(&cuda, NULL, &err);

    if (status == DLPARK_E_NOT_FOUND || status == DLPARK_E_DEVICE) {
        fprintf(stderr, "no GPU of CUDA here, nothing was tried: %s\n", err.message);
        return SKIP;
    }
    if (status != DLPARK_OK || !driver_open()) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    if (argc > 1 && strcmp(argv[1], "--ending") == 0)
        return end_with_a_tensor();
    print_machine();
    return run_checks(memory_checks) + run_checks(stream_checks) + run_checks(end_checks) > 0;
}
