/*
 * What the sources of the ggml adapter share. Names of ggml's begin with ggml_, so what is static here begins with gg_.
 */
#ifndef DLPARK_GGML_PARTS_H
#define DLPARK_GGML_PARTS_H

#include <ggml-backend.h>
#include <ggml.h>

#include <dlpark/dlpark.h>
#include <dlpark/ggml.h>

/* ---- ggml.c ---- */

/* The buffer that a tensor lies in, or the one that it views lies in; NULL for memory of a context's own. */
static inline struct ggml_backend_buffer *dlpark__ggml_buffer(const struct ggml_tensor *tensor)
{
    return tensor->view_src != NULL ? tensor->view_src->buffer : tensor->buffer;
}

/* What a tensor says of itself, READ_ONLY in `flags` included: a claim that dlpark_check() or dlpark_tensor_new() has yet to
 * judge. Shape and strides lie in `lists`, of which nothing else is written. */
dlpark_status dlpark__ggml_read(const struct ggml_tensor *tensor, uint32_t as, dlpark_view *lists, DLTensor *claim,
                                uint64_t *flags, dlpark_error *err);

/* ggml's type of a dtype, DLPARK_E_DTYPE where it has none. */
dlpark_status dlpark__ggml_type(DLDataType dtype, enum ggml_type *type, dlpark_error *err);

/* The same for the name of a type whose elements share blocks, in either case. */
dlpark_status dlpark__ggml_block_type(const char *name, enum ggml_type *type, dlpark_error *err);

/* ---- ggml_layout.c ---- */

/* What a buffer of the CPU begins at a multiple of; ggml aborts on any other, but only at the beginning. */
#define DLPARK__GGML_ALIGNMENT_NBYTES 32

/* Type, extents and strides of a tensor for ggml, once everything that can be said against the view has been looked for. */
dlpark_status dlpark__ggml_layout(struct ggml_tensor *to, const dlpark_view *view, enum ggml_type type, uint32_t flags,
                                  dlpark_error *err);

#endif
