/* The C side of peers/dlpark-rs/src/lib.rs, where each function is described. */
#ifndef BENCH_PEERS_DLPARK_RS_H
#define BENCH_PEERS_DLPARK_RS_H

#include <dlpark/dlpack.h>

/* What every operation starts from; the same struct as `Input` there. */
typedef struct tensor_input {
    void *data;
    const int64_t *shape;
    const int64_t *strides;
    size_t ndim;
} tensor_input;

enum { PEER_RS_FIXED = 0, PEER_RS_DYNAMIC = 1, PEER_RS_COMPACT = 2 };

DLManagedTensorVersioned *peer_rs_make(int32_t kind, const tensor_input *input);
void peer_rs_run(int32_t kind, const tensor_input *input, int64_t count);
int64_t peer_rs_validate(const DLTensor *tensor);
void peer_rs_run_validate(const DLTensor *tensor, int64_t count);
const float *peer_rs_slice(const DLTensor *tensor);
void peer_rs_run_slice(const DLTensor *tensor, int64_t count);

/* ---- src/files.rs ---- */

typedef struct peer_rs_files peer_rs_files;

int64_t peer_rs_files_open(const char *path, int64_t count);
int64_t peer_rs_files_open_dlpark(const char *path, int64_t count);
const peer_rs_files *peer_rs_files_hold(const char *path, const char *const *names, size_t count);
int64_t peer_rs_files_find(const peer_rs_files *opened, int64_t count);
int64_t peer_rs_files_export(const peer_rs_files *opened, int64_t count);

/* ---- src/half_slices.rs ---- */

void peer_rs_run_half(int32_t pair, void *to, const void *from, size_t n, int64_t count);

#endif
