/*
 * What a tensor file costs before a byte of a tensor is touched: opening it, finding names, handing its tensors out. Beside
 * the Rust crates safetensors and dlpark (peers/dlpark-rs, when it was built), and the system calls that no reader can do
 * without. The pages are in memory. Bytes are measured by python/file_peers.py.
 */
#define _DEFAULT_SOURCE

#include <dlpark/dlpark.h>
#include <dlpark/file_write.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"
#include "peers/dlpark_rs.h"

enum { FILES_NAME = 64 };

/* A file, and its names in another order than its own; both languages know how long each is. */
typedef struct files_input {
    char path[64];
    int64_t count;
    const char **names;
    size_t *lengths;
    dlpark_file *file;
    const peer_rs_files *rust;
} files_input;

/* ---- The file ---- */

static void fail(const char *what)
{
    fprintf(stderr, "bench_files: %s\n", what);
    exit(1);
}

/* Names as a model of many experts has them. */
static void make_names(files_input *input)
{
    input->names = calloc((size_t)input->count, sizeof *input->names);
    char *text = malloc((size_t)input->count * FILES_NAME);
    if (input->names == NULL || text == NULL)
        fail("out of memory");
    for (int64_t i = 0; i < input->count; i++) {
        char *name = text + i * FILES_NAME;
        snprintf(name, FILES_NAME, "model.layers.%d.mlp.experts.%d.gate_proj.weight", (int)(i / 256), (int)(i % 256));
        input->names[i] = name;
    }
}

static void save(files_input *input)
{
    static const uint16_t numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const int64_t shape[] = {2, 4};
    DLTensor tensor = {
        .data = (void *)(uintptr_t)numbers, .ndim = 2, .dtype = DLPARK_BF16, .shape = (int64_t *)(uintptr_t)shape};
    /* as the files that people have */
    static const dlpark_file_pair metadata = {{"format", 6}, {"pt", 2}};
    const dlpark_file_write_options written = {.metadata = &metadata, .nmetadata = 1};
    dlpark_view view;
    dlpark_file_part *parts = calloc((size_t)input->count, sizeof *parts);

    tensor.device.device_type = kDLCPU;
    if (parts == NULL || dlpark_check(&tensor, 0, &view, NULL) != DLPARK_OK)
        fail("out of memory");
    for (int64_t i = 0; i < input->count; i++)
        parts[i] = (dlpark_file_part){.name = input->names[i], .view = &view};
    strcpy(input->path, "/tmp/dlpark-bench-XXXXXX");
    int descriptor = mkstemp(input->path);
    if (descriptor < 0 || close(descriptor) != 0 ||
        dlpark_file_save(input->path, parts, (size_t)input->count, &written, NULL) != DLPARK_OK)
        fail("the file cannot be written");
    free(parts);
}

/* The same order in each run. */
static void shuffle(const char **names, int64_t count)
{
    uint64_t random = 42;

    for (int64_t i = count - 1; i > 0; i--) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        int64_t other = (int64_t)((random >> 33) % (uint64_t)(i + 1));
        const char *kept = names[i];
        names[i] = names[other];
        names[other] = kept;
    }
}

/* ---- Open ---- */

/* What opening takes of the system: the file, its size, its first bytes, and the header. */
static void run_system(const void *argument, long count)
{
    const files_input *input = argument;
    static unsigned char first[16], *header;
    uint64_t nbytes;

    for (long i = 0; i < count; i++) {
        struct stat status;
        int descriptor = open(input->path, O_RDONLY | O_CLOEXEC);
        if (descriptor < 0 || fstat(descriptor, &status) != 0 || pread(descriptor, first, sizeof first, 0) != 16)
            fail("the file cannot be read");
        memcpy(&nbytes, first, sizeof nbytes);
        if (header == NULL)
            header = malloc((size_t)16 << 20);
        if (header == NULL || pread(descriptor, header, (size_t)nbytes, 8) != (ssize_t)nbytes)
            fail("the file cannot be read");
        harness_use(header);
        close(descriptor);
    }
}

static bool verify_system(const void *argument)
{
    run_system(argument, 1);
    return true;
}

static void run_open(const void *argument, long count)
{
    const files_input *input = argument;

    for (long i = 0; i < count; i++) {
        dlpark_file *file = NULL;
        if (dlpark_file_open(&file, input->path, NULL, NULL) != DLPARK_OK)
            fail("the file cannot be opened");
        harness_use(file);
        dlpark_file_release(&file);
    }
}

static bool verify_open(const void *argument)
{
    const files_input *input = argument;

    return dlpark_file_count(input->file) == input->count;
}

/* ---- Find ---- */

static int64_t find_all(const files_input *input)
{
    int64_t found = 0;

    for (int64_t i = 0; i < input->count; i++)
        found += dlpark_file_find(input->file, input->names[i], input->lengths[i]) >= 0;
    return found;
}

static void run_find(const void *argument, long count)
{
    for (long i = 0; i < count; i++)
        harness_use((const void *)(uintptr_t)find_all(argument));
}

static bool verify_find(const void *argument)
{
    const files_input *input = argument;

    return find_all(input) == input->count;
}

/* ---- Export ---- */

static int64_t export_all(const files_input *input)
{
    int64_t made = 0;

    for (int64_t i = 0; i < input->count; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        made += dlpark_file_share(input->file, i, &tensor, NULL) == DLPARK_OK;
        harness_use(tensor.managed);
        dlpark_tensor_release(&tensor);
    }
    return made;
}

static void run_export(const void *argument, long count)
{
    for (long i = 0; i < count; i++)
        harness_use((const void *)(uintptr_t)export_all(argument));
}

static bool verify_export(const void *argument)
{
    const files_input *input = argument;

    return export_all(input) == input->count;
}

/* ---- Rust ---- */

#if defined(BENCH_RUST)
#define RUST(name, call)                                                                                               \
    static void run_##name(const void *argument, long count)                                                           \
    {                                                                                                                  \
        const files_input *input = argument;                                                                           \
        harness_use((const void *)(uintptr_t)(call));                                                                  \
    }                                                                                                                  \
    static bool verify_##name(const void *argument)                                                                    \
    {                                                                                                                  \
        const files_input *input = argument;                                                                           \
        long count = 1;                                                                                                \
        return (call) == input->count;                                                                                 \
    }

RUST(rust_open, peer_rs_files_open(input->path, count))
RUST(rust_dlpark, peer_rs_files_open_dlpark(input->path, count))
RUST(rust_find, peer_rs_files_find(input->rust, count))
RUST(rust_export, peer_rs_files_export(input->rust, count))
#endif

/* ---- The groups ---- */

#define TARGET(name, most)                                                                                             \
    {                                                                                                                  \
        {name, most},                                                                                                  \
        {                                                                                                              \
            NULL, 0                                                                                                    \
        }                                                                                                              \
    }
#define NO_TARGET TARGET(NULL, 0)

static int run_groups(const files_input *input, const harness_options *options, int *missed)
{
    /* ten tensors take 3 us at most beside the system calls, which the table shows */
    double most = input->count >= 80000 ? 1.0 / 12 : input->count >= 1000 ? 0.1 : 0;
    const char *peer = most > 0 ? "Rust safetensors" : NULL;
    harness_group groups[] = {
        {"files",
         "open",
         (int)input->count,
         0,
         {
             {"its system calls", run_system, verify_system, input, NO_TARGET},
             {"dlpark", run_open, verify_open, input, TARGET(peer, most)},
#if defined(BENCH_RUST)
             {"Rust safetensors", run_rust_open, verify_rust_open, input, NO_TARGET},
             {"Rust dlpark", run_rust_dlpark, verify_rust_dlpark, input, NO_TARGET},
#endif
         }},
        {"files",
         "find every name",
         (int)input->count,
         0,
         {
             {"dlpark", run_find, verify_find, input, TARGET("Rust safetensors", 0.5)},
#if defined(BENCH_RUST)
             {"Rust safetensors", run_rust_find, verify_rust_find, input, NO_TARGET},
#endif
         }},
        {"files",
         "export every tensor",
         (int)input->count,
         0,
         {
             {"dlpark", run_export, verify_export, input, TARGET("Rust dlpark", 0.6)},
#if defined(BENCH_RUST)
             {"Rust dlpark", run_rust_export, verify_rust_export, input, NO_TARGET},
#endif
         }},
    };
    int wrong = 0;

    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        while (groups[i].cases[groups[i].ncases].name)
            groups[i].ncases++;
        wrong += harness_run(&groups[i], options, missed);
    }
    return wrong;
}

static int run_count(int64_t count, const harness_options *options, int *missed)
{
    files_input input = {.count = count};

    make_names(&input);
    save(&input);
    shuffle(input.names, count);
    input.lengths = calloc((size_t)count, sizeof *input.lengths);
    for (int64_t i = 0; input.lengths != NULL && i < count; i++)
        input.lengths[i] = strlen(input.names[i]);
    if (input.lengths == NULL || dlpark_file_open(&input.file, input.path, NULL, NULL) != DLPARK_OK)
        fail("the file cannot be opened");
#if defined(BENCH_RUST)
    input.rust = peer_rs_files_hold(input.path, input.names, (size_t)count);
    if (input.rust == NULL)
        fail("the file cannot be opened by Rust");
#endif
    int wrong = run_groups(&input, options, missed);
    dlpark_file_release(&input.file);
    unlink(input.path);
    return wrong;
}

int main(int argc, char **argv)
{
    static const int64_t counts[] = {10, 1000, 80000};
    harness_options options = harness_parse(argc, argv);
    int wrong = 0, missed = 0;

    if (options.count) /* system calls have no instructions that tell anything */
        return 0;
    harness_print_machine(&options);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        wrong += run_count(counts[i], &options, &missed);
    return harness_finish(&options, wrong, missed);
}
