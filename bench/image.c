/*
 * Pictures: dlpark beside the libraries by hand, which are the floor. What is decoded is one photograph of the demo,
 * scaled to a square here; an enlarged photograph is smoother than a real one of its size, and decodes faster.
 */
#include <stdlib.h>
#include <string.h>

#include "image_job.h"
#include "image_peak.h"

enum { FORMATS = 3 };

static const job_format formats[FORMATS] = {
    {"JPEG", DLPARK_IMAGE_JPEG, floor_jpeg_decode, floor_jpeg_encode},
    {"PNG", DLPARK_IMAGE_PNG, floor_png_decode, floor_png_encode},
    {"WebP", DLPARK_IMAGE_WEBP, floor_webp_decode, floor_webp_encode},
};

static int measure_side(const floor_picture *photo, int side, const harness_options *options, int *missed)
{
    floor_picture picture = floor_scale(photo, side);
    int wrong = 0;

    for (int i = 0; i < FORMATS; i++) {
        job work = {.format = &formats[i], .picture = &picture};
        work.file = work.format->encode(&picture);
        work.decoded = floor_memory(job_nbytes(&work));
        work.memory = floor_memory(4 * job_nbytes(&work));
        work.format->decode(work.decoded, &work.file);
        wrong += measure_decode(&work, options, missed);
        if (work.format->format == DLPARK_IMAGE_JPEG)
            wrong += measure_planes(&work, options, missed);
        wrong += measure_encode(&work, options, missed);
        free(work.file.data);
        free(work.decoded);
        free(work.memory);
    }
    free(picture.data);
    return wrong;
}

int main(int argc, char **argv)
{
    static const int sides[] = {512, 2048};
    harness_options options;
    floor_picture photo;
    int wrong = 0, missed = 0;

    if (argc > 1 && strcmp(argv[1], PEAK_OPTION) == 0)
        return peak_child(argc, argv);
    options = harness_parse(argc, argv);
    if (options.count)
        return 0; /* times of milliseconds need no instruction counts, which would take hours */
    harness_print_machine(&options);
    floor_print_libraries();
    photo = floor_photo(BENCH_PHOTO);
    for (int i = 0; i < (options.quick ? 1 : 2); i++)
        wrong += measure_side(&photo, sides[i], &options, &missed);
    wrong += peak_report(&photo, &options, &missed);
    free(photo.data);
    return harness_finish(&options, wrong, missed);
}
