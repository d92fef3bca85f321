#define _DEFAULT_SOURCE

#include "image_peak.h"

#include <dlpark/dlpark.h>
#include <dlpark/image.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a load may take beyond the picture and its library. */
#define PEAK_SPARE_KIB 1024

typedef struct peak_case {
    const char *name;
    floor_encode *encode;
    floor_decode *by_hand; /* to u8, [height, width, channels] */
    bool planes;           /* dlpark gives f32, [channels, height, width] */
    bool picture;          /* and may hold one decoded picture beside it */
} peak_case;

static const peak_case peak_cases[] = {
    {"JPEG", floor_jpeg_encode, floor_jpeg_decode, false, false},
    {"JPEG, progressive", floor_jpeg_encode_progressive, floor_jpeg_decode, false, false},
    {"JPEG to f32 CHW", floor_jpeg_encode, floor_jpeg_decode, true, false},
    {"PNG", floor_png_encode, floor_png_decode, false, false},
    {"PNG to f32 CHW", floor_png_encode, floor_png_decode, true, false},
    {"PNG, interlaced", floor_png_encode_interlaced, floor_png_decode, false, false},
    {"PNG, interlaced, to f32 CHW", floor_png_encode_interlaced, floor_png_decode, true, true},
    {"WebP", floor_webp_encode, floor_webp_decode, false, false},
    {"WebP to f32 CHW", floor_webp_encode, floor_webp_decode, true, false},
    {"WebP, lossless", floor_webp_encode_lossless, floor_webp_decode, false, false},
    {"WebP, lossless, to f32 CHW", floor_webp_encode_lossless, floor_webp_decode, true, true},
};

enum { PEAK_CASES = sizeof peak_cases / sizeof *peak_cases };

/* ---- In the process that is measured ---- */

/* A line of /proc/self/status, in KiB. */
static long peak_status(const char *name)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[128];
    long kib = -1;
    size_t length = strlen(name);

    while (file && kib < 0 && fgets(line, sizeof line, file))
        if (strncmp(line, name, length) == 0 && line[length] == ':')
            kib = atol(line + length + 1);
    if (file)
        fclose(file);
    return kib;
}

static void peak_by_dlpark(const peak_case *item, const floor_bytes *file)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_image_load_desc desc = {.bytes = file->data, .nbytes = file->nbytes};
    dlpark_error err;

    if (item->planes) {
        desc.layout = DLPARK_IMAGE_CHW;
        desc.dtype = DLPARK_F32;
    }
    if (dlpark_image_load(&tensor, &desc, NULL, &err) != DLPARK_OK)
        floor_die(err.message);
    dlpark_tensor_release(&tensor);
}

static void peak_by_hand(const peak_case *item, const floor_bytes *file, size_t nbytes)
{
    unsigned char *memory = floor_memory(nbytes);

    item->by_hand(memory, file);
    harness_use(memory);
    free(memory);
}

/* ARGV: --peak CASE SIDE dlpark|hand, and the file on stdin. */
int peak_child(int argc, char **argv)
{
    int which = argc == 5 ? atoi(argv[2]) : -1, side = argc == 5 ? atoi(argv[3]) : 0;
    floor_bytes file;

    if (which < 0 || which >= PEAK_CASES || side < 1)
        floor_die("usage: " PEAK_OPTION " CASE SIDE dlpark|hand <FILE");
    file = floor_read("/dev/stdin");
    /* Huge pages are used up whole: what is asked for is what is to be counted. */
    (void)prctl(PR_SET_THP_DISABLE, 1L, 0L, 0L, 0L);
    long before = peak_status("VmRSS");
    if (strcmp(argv[4], "dlpark") == 0)
        peak_by_dlpark(&peak_cases[which], &file);
    else
        peak_by_hand(&peak_cases[which], &file, (size_t)side * (size_t)side * FLOOR_CHANNELS);
    printf("%ld\n", peak_status("VmHWM") - before);
    return before < 0 ? 1 : 0;
}

/* ---- In the process that reports ---- */

/* Replaces the child by this program once more; only ends when that is impossible. */
static void peak_exec(int which, int side, const char *who, int in, int out)
{
    char number[16], pixels[16];
    const char *argv[] = {"bench_image", PEAK_OPTION, number, pixels, who, NULL};

    snprintf(number, sizeof number, "%d", which);
    snprintf(pixels, sizeof pixels, "%d", side);
    if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0)
        (void)execv("/proc/self/exe", (char **)(uintptr_t)argv);
    _exit(127);
}

/* KiB, or -1. */
static long peak_of(int which, int side, const char *who, FILE *file)
{
    int ends[2], status = 1;
    char text[32] = "";
    pid_t child;
    ssize_t got;

    if (lseek(fileno(file), 0, SEEK_SET) != 0 || pipe(ends) != 0)
        return -1;
    child = fork();
    if (child == 0)
        peak_exec(which, side, who, fileno(file), ends[1]);
    close(ends[1]);
    got = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0 || got <= 0)
        return -1;
    return atol(text);
}

static int peak_row(int which, const floor_picture *picture, const harness_options *options, int *missed)
{
    const peak_case *item = &peak_cases[which];
    const long pixels_kib = (long)picture->width * picture->height * FLOOR_CHANNELS / 1024;
    const long result = item->planes ? 4 * pixels_kib : pixels_kib;
    floor_bytes bytes = item->encode(picture);
    FILE *file = tmpfile();
    long hand, got, library, limit;

    if (!file || fwrite(bytes.data, 1, bytes.nbytes, file) != bytes.nbytes || fflush(file) != 0)
        floor_die("no temporary file");
    free(bytes.data);
    hand = peak_of(which, picture->width, "hand", file);
    got = peak_of(which, picture->width, "dlpark", file);
    fclose(file);
    /* The kernel counts pages in batches, one for each processor: of a small picture many of them may be missing. */
    if (hand < pixels_kib / 2 || got < result / 2) {
        printf("WRONG RESULT: the peak memory of %s, %ld and %ld KiB\n", item->name, hand, got);
        return 1;
    }
    if (options->quick)
        return 0;
    library = hand > pixels_kib ? hand - pixels_kib : 0;
    limit = result + library + (item->picture ? pixels_kib : 0) + PEAK_SPARE_KIB;
    printf("%-32s %11ld %11ld %11ld  %s (at most %ld)\n", item->name, result, library, got,
           got <= limit ? "ok" : "MISSED", limit);
    if (options->json)
        fprintf(options->json,
                ",\n{\"bench\": \"image\", \"group\": \"peak memory\", \"case\": \"%s\", \"result_kib\": %ld, "
                "\"library_kib\": %ld, \"peak_kib\": %ld, \"at_most_kib\": %ld, \"ok\": %s}",
                item->name, result, library, got, limit, got <= limit ? "true" : "false");
    *missed += got > limit;
    return 0;
}

int peak_report(const floor_picture *photo, const harness_options *options, int *missed)
{
    const int side = options->quick ? 512 : 2048;
    floor_picture picture = floor_scale(photo, side);
    int wrong = 0;

    printf("\npeak memory of one load, %d x %d\n", side, side);
    if (!options->quick)
        printf("%-32s %11s %11s %11s  target\n", "", "result KiB", "library KiB", "peak KiB");
    fflush(stdout);
    for (int i = 0; i < PEAK_CASES; i++)
        wrong += peak_row(i, &picture, options, missed);
    if (options->quick)
        printf("%d cases run\n", PEAK_CASES);
    free(picture.data);
    return wrong;
}
