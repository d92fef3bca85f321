/*
 * Tensors that own memory of a device. The header is made first and disarmed, so that nothing can fail once the memory is
 * there.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/tensor/tensor_parts.h"
#include "gpu_parts.h"

/* What every allocation of a driver is a multiple of. */
#define GPU_ALIGNMENT ((size_t)256)

/* ---- Descriptions ---- */

static dlpark_status tensor_read_options(const dlpark_gpu_options *options, size_t nbytes, dlpark_gpu_options *out,
                                         dlpark_error *err)
{
    size_t known = nbytes < sizeof *out ? nbytes : sizeof *out;

    memset(out, 0, sizeof *out);
    if (!options)
        return DLPARK_OK;
    for (size_t i = known; i < nbytes; i++)
        if (((const unsigned char *)options)[i] != 0)
            return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                                    "the options use a field at byte %zu, and this library (%s) knows %zu bytes", i,
                                    dlpark_version(), sizeof *out);
    memcpy(out, options, known);
    if (out->reserved != 0)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "options->reserved is %" PRIu32 ", expected 0", out->reserved);
    return DLPARK_OK;
}

/* Both in this library's sizes. */
static dlpark_status tensor_read(const dlpark_tensor *tensor, const dlpark_tensor_desc *desc, size_t desc_nbytes,
                                 dlpark_tensor_desc *out, const dlpark_gpu_options *options, size_t options_nbytes,
                                 dlpark_gpu_options *asked, dlpark_error *err)
{
    DLPARK_TRY(dlpark__desc_read_sized(desc, desc_nbytes, out, err));
    DLPARK_TRY(dlpark__desc_check(tensor, out, err));
    if (out->storage || out->allocator)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s is given, and the header of device memory is on the heap",
                                out->storage ? "storage" : "allocator");
    return tensor_read_options(options, options_nbytes, asked, err);
}

/* The way in which memory is released, and the stream of the options as the driver calls it: the releasing thread may be
 * any, so that must not be the stream of a thread. */
static dlpark_status tensor_read_policy(const dlpark__gpu *gpu, const dlpark_gpu_options *options, void **stream,
                                        dlpark_error *err)
{
    static const dlpark_stream per_thread = {DLPARK_STREAM_PER_THREAD, NULL};
    dlpark_stream_kind kind = options->stream.kind;
    DLDevice device = {gpu->platform->device_type, 0};

    if ((int)options->release < DLPARK_GPU_RELEASE_WAIT || (int)options->release > DLPARK_GPU_RELEASE_CALLBACK)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%d is no way to release memory", (int)options->release);
    DLPARK_TRY(dlpark__gpu_read_stream(gpu, options->stream, stream, err));
    if (options->release != DLPARK_GPU_RELEASE_ON_STREAM)
        return DLPARK_OK;
    if (kind == DLPARK_STREAM_UNSAID)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the memory is to be released on a stream, and none is given");
    if (gpu->platform->has_per_thread && *stream == dlpark_stream_native(device, per_thread))
        return dlpark_error_set(
            err, DLPARK_E_ARGUMENT,
            "the memory is to be released on the per-thread default stream, which is another one on "
            "the thread that does it");
    return DLPARK_OK;
}

/* As DLPack says it: memory that is not the device's has no id of its own. */
static void tensor_set_device(const dlpark__gpu *gpu, dlpark_tensor_desc *desc, dlpark__gpu_kind kind)
{
    if (kind == DLPARK__GPU_DEVICE)
        desc->device.device_type = gpu->platform->device_type;
    else
        desc->device.device_id = 0;
}

/* ---- Blocks ---- */

/* A tensor whose owner is a block that releases nothing yet. `desc` is what the caller gave, with device and data set. */
static dlpark_status tensor_make(dlpark__gpu *gpu, dlpark_tensor *tensor, dlpark_tensor_desc *desc,
                                 dlpark__gpu_block **out, dlpark_error *err)
{
    int32_t ndim = desc->ndim > 0 && desc->ndim <= DLPARK_MAX_NDIM ? desc->ndim : 0; /* it is refused by what follows */
    size_t header_nbytes = DLPARK_TENSOR_STORAGE_NBYTES(ndim) + desc->extra_nbytes;
    dlpark__gpu_block *block = malloc(sizeof *block + header_nbytes);

    if (!block)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "no memory for %zu bytes beside a tensor of %s",
                                sizeof *block + header_nbytes, gpu->platform->name);
    memset(block, 0, sizeof *block);
    block->gpu = gpu;
    block->waiting.block = block;
    desc->owner = block;
    desc->release = dlpark__gpu_block_end;
    desc->storage = block->header;
    desc->storage_nbytes = header_nbytes;
    dlpark_status status = dlpark_tensor_new_sized(tensor, desc, sizeof *desc, NULL, err);
    if (status != DLPARK_OK) {
        free(block);
        return status;
    }
    *out = block;
    return DLPARK_OK;
}

/* ---- alloc ---- */

/* How much to ask for, so that a multiple of the alignment with all bytes behind it is in it. */
static dlpark_status tensor_pad(const dlpark_tensor_desc *desc, int64_t nbytes, size_t *out, dlpark_error *err)
{
    size_t padding = desc->alignment_bytes > GPU_ALIGNMENT ? desc->alignment_bytes - GPU_ALIGNMENT : 0;

    if (__builtin_add_overflow(nbytes, padding, out)) /* GCOVR_EXCL_BR_LINE: only where a size_t has 32 bits */
        return dlpark_error_set(err, DLPARK_E_MEMORY, "no memory for %" PRId64 " bytes aligned to %zu", nbytes,
                                desc->alignment_bytes);
    return DLPARK_OK;
}

static dlpark__gpu_result tensor_get_memory(dlpark__gpu *gpu, dlpark__gpu_block *block, bool is_pooled, size_t nbytes)
{
    dlpark__gpu_scope scope;
    dlpark__gpu_result result = dlpark__gpu_enter(gpu, block->ordinal, &scope);

    if (result.code != DLPARK__GPU_SUCCESS)
        return result;
    if (is_pooled && gpu->devices[block->ordinal].has_pools)
        result = gpu->platform->alloc_async(gpu, nbytes, block->stream, &block->memory);
    else
        result = gpu->platform->alloc(gpu, block->kind, nbytes, &block->memory);
    block->is_armed = result.code == DLPARK__GPU_SUCCESS;
    dlpark__gpu_result left = gpu->platform->leave(gpu, &scope);
    return block->is_armed ? left : result;
}

/* The memory, and then nothing that can fail. */
static dlpark_status tensor_fill(dlpark__gpu *gpu, dlpark_tensor *tensor, dlpark__gpu_block *block,
                                 const dlpark_tensor_desc *desc, bool is_pooled, dlpark_error *err)
{
    uintptr_t alignment = desc->alignment_bytes ? desc->alignment_bytes : 1;
    dlpark_view view DLPARK_UNINITIALIZED;
    size_t nbytes;

    dlpark_tensor_view(tensor, &view);
    if (!view.data)
        return DLPARK_OK;
    DLPARK_TRY(tensor_pad(desc, dlpark_view_nbytes(&view), &nbytes, err)); /* GCOVR_EXCL_BR_LINE: as it says there */
    if (__atomic_load_n(&gpu->waiting_count, __ATOMIC_RELAXED) != 0)
        (void)dlpark__gpu_poll(gpu, false, true);
    dlpark__gpu_result result = tensor_get_memory(gpu, block, is_pooled, nbytes);
    if (result.code == DLPARK__GPU_OUT_OF_MEMORY)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "no memory for %zu bytes on %s: %s", nbytes,
                                dlpark_device_name(desc->device).text, result.function);
    DLPARK_TRY(dlpark__gpu_report(gpu, result, err));
    tensor->managed->dl_tensor.data = (void *)(((uintptr_t)block->memory + (alignment - 1)) & ~(alignment - 1));
    return DLPARK_OK;
}

static dlpark_status tensor_alloc(dlpark__gpu *gpu, dlpark_tensor *tensor, dlpark_tensor_desc *desc,
                                  const dlpark_gpu_options *options, dlpark_error *err)
{
    dlpark__gpu_kind kind;
    dlpark__gpu_block *block;
    int32_t ordinal;
    void *stream;

    DLPARK_TRY(dlpark__alloc_check_fields(desc, err));
    DLPARK_TRY(dlpark__gpu_read_device(gpu, desc->device, &kind, &ordinal, err));
    if (options->release == DLPARK_GPU_RELEASE_CALLBACK)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                                "what alloc makes is released by the driver, not by a callback");
    DLPARK_TRY(tensor_read_policy(gpu, options, &stream, err));
    /* Addresses of the device's are not known yet, but that they are aligned. */
    desc->data = (void *)(uintptr_t)(desc->alignment_bytes > GPU_ALIGNMENT ? desc->alignment_bytes : GPU_ALIGNMENT);
    desc->flags |= DLPARK_TENSOR_CLAIM_COPIED;
    tensor_set_device(gpu, desc, kind);
    DLPARK_TRY(tensor_make(gpu, tensor, desc, &block, err));
    block->ordinal = ordinal;
    block->kind = kind;
    block->policy = options->release;
    block->stream = stream;
    bool is_pooled = kind == DLPARK__GPU_DEVICE && options->stream.kind != DLPARK_STREAM_UNSAID;
    dlpark_status status = tensor_fill(gpu, tensor, block, desc, is_pooled, err);
    if (status != DLPARK_OK)
        dlpark_tensor_release(tensor);
    return status;
}

dlpark_status dlpark__gpu_alloc(dlpark__gpu *gpu, dlpark_tensor *tensor, const dlpark_tensor_desc *desc,
                                size_t desc_nbytes, const dlpark_gpu_options *options, size_t options_nbytes,
                                dlpark_view *view, dlpark_error *err)
{
    dlpark_tensor_desc full;
    dlpark_gpu_options asked;

    DLPARK_TRY(tensor_read(tensor, desc, desc_nbytes, &full, options, options_nbytes, &asked, err));
    DLPARK_TRY(tensor_alloc(gpu, tensor, &full, &asked, err));
    if (view)
        dlpark_tensor_view(tensor, view);
    return DLPARK_OK;
}

/* ---- import ---- */

/* Whether the driver and the caller mean the same memory. The id of what is not the device's may be 0 or the device's. */
static dlpark_status tensor_match_device(const dlpark__gpu *gpu, const dlpark_tensor_desc *desc, const void *data,
                                         const dlpark_gpu_pointer *found, dlpark_error *err)
{
    DLDevice said = desc->device;

    if (found->ordinal < 0)
        return dlpark_error_set(err, DLPARK_E_DEVICE, "the driver of %s does not know of memory at %p",
                                gpu->platform->name, data);
    if ((int)said.device_type == 0 && said.device_id == 0)
        return DLPARK_OK;
    if (said.device_type == found->device.device_type &&
        (said.device_id == found->ordinal || said.device_id == found->device.device_id))
        return DLPARK_OK;
    return dlpark_error_set(err, DLPARK_E_DEVICE, "the memory at %p is said to be on %s, and the driver has it on %s",
                            data, dlpark_device_name(said).text, dlpark_device_name(found->device).text);
}

/* What the memory is: as the driver says, or without an address as the description says. */
static dlpark_status tensor_find_memory(dlpark__gpu *gpu, const dlpark_tensor_desc *desc, dlpark__gpu_kind *kind,
                                        dlpark_gpu_pointer *found, dlpark_error *err)
{
    const void *data = desc->data ? desc->data : desc->data_const;

    if (!data) {
        *found = (dlpark_gpu_pointer){.device = desc->device};
        return dlpark__gpu_read_device(gpu, desc->device, kind, &found->ordinal, err);
    }
    DLPARK_TRY(dlpark__gpu_pointer(gpu, data, found, err));
    DLPARK_TRY(tensor_match_device(gpu, desc, data, found, err));
    int32_t said;
    (void)dlpark__gpu_read_device(gpu, found->device, kind, &said, NULL); /* one of this driver's, as it says itself */
    if (!desc->release && found->base && found->base != data)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                                "the driver is to free the memory at %p, which begins at %p; give its beginning and a "
                                "byte_offset, or a release",
                                data, found->base);
    return DLPARK_OK;
}

static dlpark_status tensor_check_range(const dlpark_tensor *tensor, const dlpark_gpu_pointer *found, dlpark_error *err)
{
    dlpark_view view DLPARK_UNINITIALIZED;
    int64_t lowest, past;

    dlpark_tensor_view(tensor, &view);
    if (!view.data || found->nbytes == 0)
        return DLPARK_OK;
    dlpark__view_byte_range(&view, &lowest, &past);
    /* Known to stay in the address space, as is the allocation; neither side wraps. */
    uint64_t base = (uint64_t)(uintptr_t)found->base, first = (uint64_t)(uintptr_t)view.data + (uint64_t)lowest;
    uint64_t last = (uint64_t)(uintptr_t)view.data + (uint64_t)past;
    if (first >= base && last - base <= found->nbytes)
        return DLPARK_OK;
    return dlpark_error_set(err, DLPARK_E_LAYOUT,
                            "the elements are bytes 0x%" PRIx64 " to 0x%" PRIx64 ", and the allocation 0x%" PRIx64
                            " to 0x%" PRIx64 " (%" PRIu64 " bytes)",
                            first, last, base, base + found->nbytes, found->nbytes);
}

static dlpark_status tensor_import(dlpark__gpu *gpu, dlpark_tensor *tensor, dlpark_tensor_desc *desc,
                                   const dlpark_gpu_options *options, dlpark_error *err)
{
    dlpark_gpu_pointer found;
    dlpark__gpu_kind kind;
    dlpark__gpu_block *block;
    void *stream, *owner = desc->owner;
    void (*release)(void *) = desc->release;

    DLPARK_TRY(tensor_read_policy(gpu, options, &stream, err));
    if (options->release == DLPARK_GPU_RELEASE_CALLBACK && !release)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                                "the memory is to be released by a callback, and release is NULL");
    DLPARK_TRY(tensor_find_memory(gpu, desc, &kind, &found, err));
    void *memory = release ? NULL : (desc->data ? desc->data : dlpark__unconst(desc->data_const));
    desc->device = found.device;
    tensor_set_device(gpu, desc, kind);
    DLPARK_TRY(tensor_make(gpu, tensor, desc, &block, err));
    dlpark_status status = tensor_check_range(tensor, &found, err);
    if (status != DLPARK_OK) {
        dlpark_tensor_release(tensor);
        return status;
    }
    if (release && !owner)
        owner = dlpark_tensor_extra(tensor);
    block->memory = memory;
    block->release = release;
    block->owner = owner;
    block->ordinal = found.ordinal;
    block->kind = kind;
    block->policy = options->release;
    block->stream = stream;
    block->is_armed = memory || release;
    return DLPARK_OK;
}

dlpark_status dlpark__gpu_import(dlpark__gpu *gpu, dlpark_tensor *tensor, const dlpark_tensor_desc *desc,
                                 size_t desc_nbytes, const dlpark_gpu_options *options, size_t options_nbytes,
                                 dlpark_view *view, dlpark_error *err)
{
    dlpark_tensor_desc full;
    dlpark_gpu_options asked;

    DLPARK_TRY(tensor_read(tensor, desc, desc_nbytes, &full, options, options_nbytes, &asked, err));
    DLPARK_TRY(tensor_import(gpu, tensor, &full, &asked, err));
    if (view)
        dlpark_tensor_view(tensor, view);
    return DLPARK_OK;
}
