/*
 * Where buffers of Metal come from: Metal itself (origin_metal.c), or a stand-in where there is none (origin_stand_in.c).
 */
#ifndef ORIGIN_H
#define ORIGIN_H

#include <stddef.h>

#include <dlpark/metal.h>

/* Finds what dlpark asks buffers by. */
dlpark_status origin_open(dlpark_metal *metal, dlpark_error *err);

/* A buffer in shared memory, with one reference that is the caller's; NULL: there is no memory, or no device. */
void *origin_make(size_t nbytes);

/* The device's name; NULL: there is none, and buffers are a stand-in. */
const char *origin_device(void);

/* How many references a buffer of the stand-in has; -1: not known. */
int origin_references(const void *buffer);

/* How many buffers of the stand-in have ended; -1: not known. */
int origin_count_ended(void);

#endif
