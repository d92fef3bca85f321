/*
 * HIP's runtime without a GPU, for tests: build/.../fakehip/libamdhip64.so.6, which hands each call on to the fake CUDA
 * driver. What that counts, refuses and makes fail is therefore also said of it; see fakecuda.h.
 */
#ifndef FAKEHIP_H
#define FAKEHIP_H

#define FAKEHIP_API __attribute__((visibility("default")))

/* What hipDriverGetVersion() says from here on: 60000000 at first; the numbers of kinds of memory go by it. */
FAKEHIP_API void fakehip_version(int version);

#endif
