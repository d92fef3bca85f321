/*
 * How much memory one load takes at most, each in a process of its own, beside the library by hand.
 */
#ifndef BENCH_IMAGE_PEAK_H
#define BENCH_IMAGE_PEAK_H

#include "harness.h"
#include "image_floor.h"

/* What the processes are started with: argv[1]. */
#define PEAK_OPTION "--peak"

/* Such a process: its number goes to stdout. Returns the exit status. */
int peak_child(int argc, char **argv);

/* Prints the table. Returns how many could not be measured, and adds those over their limit to *missed. */
int peak_report(const floor_picture *photo, const harness_options *options, int *missed);

#endif
