/*
 * What the sources of tensor share among themselves. Grouped by the file that defines it.
 */
#ifndef DLPARK_TENSOR_PARTS_H
#define DLPARK_TENSOR_PARTS_H

#include "../internal.h"

/* ---- tensor_desc.c ---- */

/* A description of a caller's header that is older or newer than this library, in this library's size. */
dlpark_status dlpark__desc_read_sized(const dlpark_tensor_desc *desc, size_t nbytes, dlpark_tensor_desc *out,
                                      dlpark_error *err);

typedef dlpark_status dlpark__tensor_maker(dlpark_tensor *tensor, const dlpark_tensor_desc *desc, dlpark_view *view,
                                           dlpark_error *err);

/* Makes a tensor of a description of whatever size. */
static inline dlpark_status dlpark__desc_make(dlpark__tensor_maker *make, dlpark_tensor *tensor,
                                              const dlpark_tensor_desc *desc, size_t desc_nbytes, dlpark_view *view,
                                              dlpark_error *err)
{
    dlpark_tensor_desc sized;

    if (DLPARK_LIKELY(desc_nbytes == sizeof *desc))
        return make(tensor, desc, view, err);
    DLPARK_TRY(dlpark__desc_read_sized(desc, desc_nbytes, &sized, err));
    return make(tensor, &sized, view, err);
}

/* Contradictions in a description, before anything is computed from it. */
dlpark_status dlpark__desc_check(const dlpark_tensor *tensor, const dlpark_tensor_desc *desc, dlpark_error *err);

/* Rank, dtype, device and presence of a shape, by the same rules as a foreign tensor's. */
dlpark_status dlpark__desc_read_head(const dlpark_tensor_desc *desc, DLTensor *out, dlpark_error *err);

/* Copies a list of any integer type to 64 bits. `field` is for the message. */
dlpark_status dlpark__desc_read_dims(const dlpark_dims *dims, int32_t ndim, int64_t *out, const char *field,
                                     dlpark_error *err);

/* Fills shape and strides, into `room` where they are copied or computed, and measures them. */
dlpark_status dlpark__desc_read_dimensions(const dlpark_tensor_desc *desc, DLTensor *out, int64_t *room,
                                           dlpark__span *extent, dlpark_error *err);

/* Whether a tensor as it is given out, without an offset that can be added, has the alignment that a description asks for. */
dlpark_status dlpark__desc_check_alignment(const dlpark_tensor_desc *desc, const DLTensor *made, dlpark_error *err);

/* The flags of the struct that a description asks for. */
uint64_t dlpark__desc_flags(const dlpark_tensor_desc *desc);

/* ---- tensor.c ---- */

/* The block behind every tensor that this library makes; the dimensions and the extra bytes lie behind it. */
typedef struct dlpark__block {
    DLManagedTensorVersioned managed; /* manager_ctx is the owner */
    void (*release)(void *owner);
    uint32_t extra_at; /* bytes from the block to the extra bytes; 0: none */
    uint32_t write;    /* DLPARK_VIEW_UNKNOWN_WRITE for what came by the legacy ABI; its flags say READ_ONLY then */
    uint32_t owners;   /* atomic; means something once the block is shared, as does `spare` */
    uint32_t reserved;
    struct dlpark__block *spare; /* a part that is used again and again, or NULL */
    int64_t dimensions[];
} dlpark__block;

/* The deleters: of a block on the heap, and of one in the caller's storage; of the same with more than one owner. */
void dlpark__block_end_heap(DLManagedTensorVersioned *managed);
void dlpark__block_end_storage(DLManagedTensorVersioned *managed);
void dlpark__block_end_shared_heap(DLManagedTensorVersioned *managed);
void dlpark__block_end_shared_storage(DLManagedTensorVersioned *managed);

void dlpark__block_end_spare(DLManagedTensorVersioned *managed);

/* Added to `owners` while the spare part is one of them. */
#define DLPARK__BLOCK_SPARE_OUT (UINT32_C(1) << 31)

/* A spare part that nobody has must not be touched, no more than what has been freed: the address sanitizer is told. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DLPARK__IS_ASAN
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define DLPARK__IS_ASAN
#endif
#if defined(DLPARK__IS_ASAN)
void __asan_poison_memory_region(const volatile void *memory, size_t nbytes);
void __asan_unpoison_memory_region(const volatile void *memory, size_t nbytes);
#define DLPARK__SPARE_HIDE(block) __asan_poison_memory_region(block, sizeof *(block))
#define DLPARK__SPARE_SHOW(block) __asan_unpoison_memory_region(block, sizeof *(block))
#else
#define DLPARK__SPARE_HIDE(block) ((void)(block))
#define DLPARK__SPARE_SHOW(block) ((void)(block))
#endif

/* Makes a block one that counts its owners, of which there are two. */
void dlpark__block_share_first(dlpark__block *block);

/* Adds an owner. The first time the deleter becomes one that counts, so that a tensor which nobody shares pays nothing;
 * the caller is then the only owner. */
static inline void dlpark__block_share(dlpark__block *block)
{
    void (*end)(DLManagedTensorVersioned *) = block->managed.deleter;

    /* Relaxed: whoever adds an owner is one, and hands the block on by other means. */
    if (DLPARK_LIKELY(end == dlpark__block_end_shared_heap || end == dlpark__block_end_shared_storage))
        (void)__atomic_fetch_add(&block->owners, 1, __ATOMIC_RELAXED);
    else
        dlpark__block_share_first(block);
}

/* The block of a tensor that this copy of the library made; NULL for any other. */
static inline dlpark__block *dlpark__block_of(DLManagedTensorVersioned *managed)
{
    void (*end)(DLManagedTensorVersioned *) = managed != NULL ? managed->deleter : NULL;
    bool ours = end == dlpark__block_end_shared_heap || end == dlpark__block_end_heap ||
                end == dlpark__block_end_spare || end == dlpark__block_end_storage ||
                end == dlpark__block_end_shared_storage;

    return ours ? (dlpark__block *)managed : NULL;
}

/* What all blocks have alike. Owner, flags and the tensor itself are the caller's. */
static inline void dlpark__block_init(dlpark__block *block, bool heap, void (*release)(void *))
{
    block->managed.version = (DLPackVersion){DLPARK_ABI_MAJOR, DLPARK_ABI_MINOR};
    block->managed.deleter = heap ? dlpark__block_end_heap : dlpark__block_end_storage;
    block->release = release;
    block->extra_at = 0;
    block->write = 0;
}

/* A block for `ndim` dimensions whose version, deleter, owner and release are set; the rest is the caller's. */
dlpark__block *dlpark__block_new(int32_t ndim, void *owner, void (*release)(void *owner));

/* DLPARK_E_NOT_EMPTY for an output that holds a tensor. */
static inline dlpark_status dlpark__tensor_check_output(const dlpark_tensor *tensor, dlpark_error *err)
{
    if (DLPARK_UNLIKELY(tensor->managed != NULL))
        return dlpark_error_set(err, DLPARK_E_NOT_EMPTY,
                                "the output tensor already holds one: release or export it "
                                "first, and begin with DLPARK_TENSOR_EMPTY");
    return DLPARK_OK;
}

/* What a tensor of ours that came by the legacy ABI does not know, DLPARK_VIEW_UNKNOWN_WRITE; 0 for any other. */
uint32_t dlpark__tensor_write(DLManagedTensorVersioned *managed);

/* The flags of a tensor without those that stand for what it does not know. */
uint64_t dlpark__tensor_flags(DLManagedTensorVersioned *managed);

/* ---- tensor_alloc.c ---- */

/* Whether a description has only what a maker of memory can be told; the device is not looked at. */
dlpark_status dlpark__alloc_check_fields(const dlpark_tensor_desc *desc, dlpark_error *err);

/* ---- tensor_import.c ---- */

/* A block around a conformant foreign tensor, which it ends. NULL when there is no memory. */
dlpark__block *dlpark__block_wrap(DLManagedTensorVersioned *theirs);

/* Ends a versioned tensor, by its deleter where it has one. */
void dlpark__versioned_end(void *theirs);

/* ---- tensor_export.c ---- */

/* The versioned tensor in a legacy struct that this copy of the library gave out and nobody has changed, or NULL. */
DLManagedTensorVersioned *dlpark__legacy_inner(const DLManagedTensor *legacy);

/* Frees a legacy struct of ours whose tensor has been taken out of it; one in a part ends with the part. */
void dlpark__legacy_free(DLManagedTensor *legacy);

/* ---- tensor_share.c ---- */

/* Ends what a part keeps alive; a function of its own, so that a part is told from any other block. */
void dlpark__part_end(void *root);

/* Words before the lists of a part, for the legacy struct: there nobody who changes its rank can move it. */
#define DLPARK__PART_LEGACY_WORDS ((int32_t)((sizeof(DLManagedTensor) + sizeof(int64_t) - 1) / sizeof(int64_t)))

/* The room for a legacy struct in a part; NULL where a tensor has none. */
static inline DLManagedTensor *dlpark__part_legacy(dlpark__block *block)
{
    return block != NULL && block->release == dlpark__part_end ? (DLManagedTensor *)(void *)block->dimensions : NULL;
}

/* ---- tensor_hook.c ---- */

/* Stands before memory that a caller's allocator gave, and remembers how it ends. Its size keeps the alignment. */
typedef struct dlpark__hook {
    _Alignas(max_align_t) const dlpark_allocator *allocator;
    size_t nbytes; /* of the whole piece */
    size_t alignment_bytes;
    void *owner; /* the caller's, with its release, called before the memory goes back */
    void (*release)(void *owner);
} dlpark__hook;

/* A hook with `nbytes` behind it; `alignment_bytes` holds for the hook itself. Nothing is kept of an allocator that does
 * not align. */
dlpark_status dlpark__hook_new(const dlpark_allocator *allocator, size_t nbytes, size_t alignment_bytes,
                               dlpark__hook **out, dlpark_error *err);

/* Calls the caller's release, then gives the memory back. */
void dlpark__hook_end(void *hook);

#endif
