#include "tensor/tensor_parts.h"
#include "tensor_good.h"

/* An allocator that counts, remembers what it gave, and can refuse. */
typedef struct counting_pool {
    int given, taken;
    size_t nbytes, alignment_bytes;
    void *memory;
    bool refuse;
    int ended_before; /* releases that had happened when the memory came back */
} counting_pool;

static void *pool_allocate(void *context, size_t nbytes, size_t alignment_bytes)
{
    counting_pool *pool = context;

    pool->given++;
    pool->nbytes = nbytes;
    pool->alignment_bytes = alignment_bytes;
    pool->memory = NULL;
    if (!pool->refuse)
        pool->memory =
            aligned_alloc(alignment_bytes, (nbytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes);
    return pool->memory;
}

static void pool_deallocate(void *context, void *memory, size_t nbytes, size_t alignment_bytes)
{
    counting_pool *pool = context;

    pool->taken++;
    pool->ended_before = ended;
    assert_ptr_equal(memory, pool->memory);
    assert_int_equal(nbytes, pool->nbytes);
    assert_int_equal(alignment_bytes, pool->alignment_bytes);
    free(memory);
}

static bool is_inside(const counting_pool *pool, const void *at, size_t nbytes)
{
    uintptr_t first = (uintptr_t)pool->memory;

    return (uintptr_t)at >= first && (uintptr_t)at + nbytes <= first + pool->nbytes;
}

static void allocator_gives_header_and_data(void **state)
{
    (void)state;
    counting_pool pool = {0};
    const dlpark_allocator allocator = {pool_allocate, pool_deallocate, &pool};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    failing_alloc_arm(0);
    assert_ok(dlpark_tensor_alloc(&tensor,
                                  &(dlpark_tensor_desc){.dtype = DLPARK_F64,
                                                        .ndim = 2,
                                                        .shape = DLPARK_DIMS((int[]){3, 5}),
                                                        .allocator = &allocator,
                                                        .extra_nbytes = 24},
                                  &view, e));
    assert_int_equal(failing_alloc_count(), 1); /* the pool's own: nobody else is asked */
    assert_int_equal(pool.given, 1);
    assert_int_equal(pool.alignment_bytes, 64);
    assert_true(is_inside(&pool, view.data, 15 * sizeof(double)));
    assert_int_equal((uintptr_t)view.data % 64, 0);
    assert_true(is_inside(&pool, tensor.managed, sizeof *tensor.managed));
    assert_true(is_inside(&pool, dlpark_tensor_extra(&tensor), 24));
    memset(view.data, 0xAB, 15 * sizeof(double));
    memset(dlpark_tensor_extra(&tensor), 0xCD, 24);
    assert_int_equal(tensor.managed->flags, DLPACK_FLAG_BITMASK_IS_COPIED);
    dlpark_tensor_release(&tensor);
    assert_int_equal(pool.taken, 1);
}

static void allocator_gives_the_header_of_new(void **state)
{
    (void)state;
    counting_pool pool = {0};
    const dlpark_allocator allocator = {pool_allocate, pool_deallocate, &pool};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, part = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = good();

    desc.allocator = &allocator;
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_true(is_inside(&pool, tensor.managed, sizeof *tensor.managed));
    assert_ptr_equal(tensor.managed->dl_tensor.data, values);
    assert_ok(dlpark_tensor_share(&part, &tensor, NULL, e));
    dlpark_tensor_release(&tensor);
    assert_int_equal(pool.taken, 0);
    dlpark_tensor_release(&part);
    assert_int_equal(ended, 1);
    assert_ptr_equal(ended_owner, values);
    assert_int_equal(pool.taken, 1);
    assert_int_equal(pool.ended_before, 1); /* the owner first, then the memory that knew it */

    desc.owner = NULL;
    desc.extra_nbytes = 8;
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    void *extra = dlpark_tensor_extra(&tensor);
    assert_true(is_inside(&pool, extra, 8));
    dlpark_tensor_release(&tensor);
    assert_ptr_equal(ended_owner, extra);
    assert_int_equal(pool.given, 2);
    assert_int_equal(pool.taken, 2);
}

static void allocator_that_refuses_leaves_nothing(void **state)
{
    (void)state;
    counting_pool pool = {.refuse = true};
    const dlpark_allocator allocator = {pool_allocate, pool_deallocate, &pool};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = good();

    desc.allocator = &allocator;
    assert_fails(DLPARK_E_MEMORY, "the allocator has no", dlpark_tensor_new(&tensor, &desc, NULL, e));
    dlpark_tensor_desc fresh = {
        .dtype = DLPARK_F32, .ndim = 1, .shape = DLPARK_DIMS((int[]){4}), .allocator = &allocator};
    assert_fails(DLPARK_E_MEMORY, "no 208 bytes", dlpark_tensor_alloc(&tensor, &fresh, NULL, e)); /* 16 behind 192 */
    assert_null(tensor.managed);
    assert_int_equal(pool.taken, 0);
    assert_int_equal(ended, 0);
}

/* Gives what malloc would: aligned to 16 bytes and to no more, or not even that. */
static void *pool_misalign(void *context, size_t nbytes, size_t alignment_bytes)
{
    static _Alignas(4096) unsigned char room[8192];
    counting_pool *pool = context;

    (void)alignment_bytes;
    assert_true(nbytes <= sizeof room - 64);
    pool->given++;
    return room + pool->nbytes;
}

static void pool_take_back(void *context, void *memory, size_t nbytes, size_t alignment_bytes)
{
    (void)memory;
    (void)nbytes;
    (void)alignment_bytes;
    ((counting_pool *)context)->taken++;
}

static void allocator_that_does_not_align_is_told_so(void **state)
{
    (void)state;
    counting_pool pool = {.nbytes = 16};
    const dlpark_allocator allocator = {pool_misalign, pool_take_back, &pool};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc fresh = {
        .dtype = DLPARK_F32, .ndim = 1, .shape = DLPARK_DIMS((int[]){4}), .allocator = &allocator};
    dlpark_tensor_desc desc = good();

    assert_fails(DLPARK_E_ALIGNMENT, "aligned to 64", dlpark_tensor_alloc(&tensor, &fresh, NULL, e));
    desc.allocator = &allocator;
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e)); /* a header needs no more than malloc gives */
    dlpark_tensor_release(&tensor);
    pool.nbytes = 4;
    char expected[32];
    snprintf(expected, sizeof expected, "aligned to %zu", _Alignof(max_align_t));
    assert_fails(DLPARK_E_ALIGNMENT, expected, dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_null(tensor.managed);
    assert_int_equal(pool.given, 5);
    assert_int_equal(pool.taken, 5);
    assert_int_equal(ended, 1);
}

static void lists_are_as_long_as_the_rank(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = good();

    const int64_t three[] = {1, 2, 3};
    const int64_t *pointer = three;

    desc.shape = DLPARK_DIMS((int[]){4}); /* one value, where ndim is 2 */
    assert_fails(DLPARK_E_ARGUMENT, "shape has 1 value, and ndim is 2", dlpark_tensor_new(&tensor, &desc, NULL, e));
    desc.shape = DLPARK_DIMS((int64_t[]){4}); /* which the usual way must see as well */
    assert_fails(DLPARK_E_ARGUMENT, "shape has 1 value, and ndim is 2", dlpark_tensor_new(&tensor, &desc, NULL, e));
    desc = good();
    desc.ndim = 4;
    desc.shape = DLPARK_DIMS((int64_t[]){1, 1, 2, 1});
    desc.strides = DLPARK_DIMS(three);
    assert_fails(DLPARK_E_ARGUMENT, "strides has 3 values, and ndim is 4", dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_int_equal(DLPARK_DIMS(three).count, 3);
    assert_int_equal(DLPARK_DIMS(pointer).count, 0); /* nobody knows */
    desc = good();
    desc.ndim = 2; /* more values than dimensions are no fault: a view has 64 */
    desc.shape = DLPARK_DIMS(three);
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    dlpark_tensor_release(&tensor);
    desc.shape = (dlpark_dims){three, 0, 0};
    assert_fails(DLPARK_E_ARGUMENT, "not made by DLPARK_DIMS", dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_null(tensor.managed);
}

static void what_is_wrong_with_the_tensor_gives_the_memory_back(void **state)
{
    (void)state;
    counting_pool pool = {0};
    const dlpark_allocator allocator = {pool_allocate, pool_deallocate, &pool};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = good();

    desc.allocator = &allocator;
    desc.data = NULL;
    assert_fails(DLPARK_E_DATA, "6 elements", dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_int_equal(pool.given, 2); /* with and without an error */
    assert_int_equal(pool.taken, 2);
    assert_int_equal(ended, 0);
    assert_null(tensor.managed);
}

static void allocator_is_complete_and_alone(void **state)
{
    (void)state;
    static _Alignas(16) unsigned char storage[DLPARK_TENSOR_STORAGE_NBYTES(2)];
    const dlpark_allocator no_allocate = {NULL, pool_deallocate, NULL}, no_deallocate = {pool_allocate, NULL, NULL};
    const dlpark_allocator whole = {pool_allocate, pool_deallocate, NULL};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = good();

    desc.allocator = &no_allocate;
    assert_fails(DLPARK_E_ARGUMENT, "no allocate function", dlpark_tensor_new(&tensor, &desc, NULL, e));
    desc.allocator = &no_deallocate;
    assert_fails(DLPARK_E_ARGUMENT, "no deallocate function", dlpark_tensor_new(&tensor, &desc, NULL, e));
    desc.allocator = &whole;
    desc.storage = storage;
    desc.storage_nbytes = sizeof storage;
    assert_fails(DLPARK_E_ARGUMENT, "storage and allocator", dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_null(tensor.managed);
}

static void alloc_aligns_as_asked(void **state)
{
    (void)state;
    counting_pool pool = {0};
    const dlpark_allocator allocator = {pool_allocate, pool_deallocate, &pool};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    for (size_t alignment = 1; alignment <= 65536; alignment *= 2) {
        for (int hooked = 0; hooked < 2; hooked++) {
            dlpark_tensor_desc desc = {.dtype = DLPARK_U8,
                                       .ndim = 1,
                                       .shape = DLPARK_DIMS((int[]){100}),
                                       .allocator = hooked ? &allocator : NULL,
                                       .alignment_bytes = alignment};
            assert_ok(dlpark_tensor_alloc(&tensor, &desc, &view, e));
            assert_int_equal((uintptr_t)view.data % (alignment > 64 ? alignment : 64), 0);
            memset(view.data, 1, 100);
            dlpark_tensor_release(&tensor);
        }
    }
    dlpark_tensor_desc large = {
        .dtype = DLPARK_U8, .ndim = 1, .shape = DLPARK_DIMS((int[]){5 << 20}), .alignment_bytes = (size_t)4 << 20};
    assert_ok(dlpark_tensor_alloc(&tensor, &large, &view, e));
    assert_int_equal((uintptr_t)view.data % ((size_t)4 << 20), 0);
    dlpark_tensor_release(&tensor);
    large.alignment_bytes = SIZE_MAX / 2 + 1;
    assert_fails(DLPARK_E_MEMORY, "no memory for a tensor", dlpark_tensor_alloc(&tensor, &large, NULL, e));
    large.alignment_bytes = 48;
    assert_fails(DLPARK_E_ARGUMENT, "48", dlpark_tensor_alloc(&tensor, &large, NULL, e));
}

static void huge_sizes_do_not_wrap(void **state)
{
    (void)state;
    counting_pool pool = {.refuse = true};
    const dlpark_allocator allocator = {pool_allocate, pool_deallocate, &pool};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    int64_t most[] = {INT64_MAX};
    dlpark_tensor_desc desc = {.dtype = DLPARK_U8,
                               .ndim = 1,
                               .shape = DLPARK_DIMS(most),
                               .allocator = &allocator,
                               .alignment_bytes = SIZE_MAX / 2 + 1};

    dlpark__hook *hook = NULL;

    char expected[64];
    snprintf(expected, sizeof expected, "%llu bytes",
             sizeof(size_t) == 8 ? (unsigned long long)UINT64_MAX
                                 : (unsigned long long)INT64_MAX); /* all that there are, or what is asked */
    assert_fails(DLPARK_E_MEMORY, expected, dlpark_tensor_alloc(&tensor, &desc, NULL, e));
    snprintf(expected, sizeof expected, "%zu bytes", SIZE_MAX - 8);
    assert_fails(DLPARK_E_MEMORY, expected, dlpark__hook_new(&allocator, SIZE_MAX - 8, 64, &hook, e));
    assert_null(hook);
    assert_null(tensor.managed);
}

static void new_refuses_data_that_is_not_aligned(void **state)
{
    (void)state;
    static _Alignas(64) float aligned[32];
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = good();

    desc.data = aligned;
    desc.alignment_bytes = 64;
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    dlpark_tensor_release(&tensor);
    desc.byte_offset = 4;
    char text[80]; /* what the caller gave, not what it adds up to */
    snprintf(text, sizeof text, "data %p with byte_offset 4 is not aligned to 64 bytes", (void *)aligned);
    assert_fails(DLPARK_E_ALIGNMENT, text, dlpark_tensor_new(&tensor, &desc, NULL, e));
    desc.data = NULL;
    desc.data_const = aligned;
    assert_fails(DLPARK_E_ALIGNMENT, text, dlpark_tensor_new(&tensor, &desc, NULL, e));
    desc.data = aligned;
    desc.data_const = NULL;
    desc.alignment_bytes = 4;
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    dlpark_tensor_release(&tensor);
    desc.alignment_bytes = 1;
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    dlpark_tensor_release(&tensor);
    desc.device = DLPARK_DEVICE(kDLMetal, 0); /* of a handle the offset counts */
    desc.data = (unsigned char *)aligned + 1;
    desc.alignment_bytes = 8;
    assert_fails(DLPARK_E_ALIGNMENT, "byte_offset 4", dlpark_tensor_new(&tensor, &desc, NULL, e));
    desc.byte_offset = 16;
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    dlpark_tensor_release(&tensor);
    desc = good();
    desc.data = (unsigned char *)aligned + 1; /* nothing is there that could be misaligned */
    desc.shape = DLPARK_DIMS((int[]){0, 3});
    desc.alignment_bytes = 64;
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    dlpark_tensor_release(&tensor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(allocator_gives_header_and_data),
        TEST(allocator_gives_the_header_of_new),
        TEST(allocator_that_refuses_leaves_nothing),
        TEST(allocator_that_does_not_align_is_told_so),
        TEST(lists_are_as_long_as_the_rank),
        TEST(what_is_wrong_with_the_tensor_gives_the_memory_back),
        TEST(allocator_is_complete_and_alone),
        TEST(alloc_aligns_as_asked),
        TEST(huge_sizes_do_not_wrap),
        TEST(new_refuses_data_that_is_not_aligned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
