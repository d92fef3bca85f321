#define _GNU_SOURCE /* memfd_create */
#include "fake.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FAKE_ASAN
#endif
#endif
#if defined(FAKE_ASAN) || defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, nbytes)   ((void)(address), (void)(nbytes))
#define ASAN_UNPOISON_MEMORY_REGION(address, nbytes) ((void)(address), (void)(nbytes))
#endif
#if defined(__has_include)
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#endif
#endif
#ifndef VALGRIND_MAKE_MEM_NOACCESS
#define VALGRIND_MAKE_MEM_NOACCESS(address, nbytes)  ((void)(address), (void)(nbytes))
#define VALGRIND_MAKE_MEM_UNDEFINED(address, nbytes) ((void)(address), (void)(nbytes))
#define VALGRIND_MAKE_MEM_DEFINED(address, nbytes)   ((void)(address), (void)(nbytes))
#endif

/*
 * One arena for each device, whose addresses nobody may touch, one for managed and one for page-locked memory. Places are
 * given out in a ring, so that a freed one stays what it was as long as can be. An arena is a file in memory that is
 * mapped twice where the address is not the host's.
 */
enum { GRANULE = 256, MANAGED_ARENA = FAKE_DEVICES, HOST_ARENA, ARENAS };

#define ARENA_NBYTES (sizeof(void *) > 4 ? (size_t)256 << 20 : (size_t)32 << 20)

typedef struct arena {
    unsigned char *addresses, *host;
    fake_block *blocks; /* one for each granule, of which the first of an allocation has it */
    uint32_t *first;    /* where the allocation begins that a granule is or was of */
    size_t next;        /* the granule to try first */
    size_t used_nbytes;
} arena;

static arena arenas[ARENAS];
static long live[FAKE_KINDS];
static unsigned long last_id;

/* ---- Arenas ---- */

static void *map_anonymous(size_t nbytes)
{
    void *block = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return block != MAP_FAILED ? block : NULL;
}

static bool map_arena(arena *self, bool of_the_host)
{
    size_t granules = ARENA_NBYTES / GRANULE;
    int file = memfd_create("fakecuda", MFD_CLOEXEC);
    void *host = MAP_FAILED, *addresses = MAP_FAILED;

    if (file < 0)
        return false;
    if (ftruncate(file, (off_t)ARENA_NBYTES) == 0)
        host = mmap(NULL, ARENA_NBYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (host != MAP_FAILED)
        addresses = of_the_host ? host : mmap(NULL, ARENA_NBYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    fake_block *blocks = map_anonymous(granules * sizeof *blocks);
    uint32_t *first = map_anonymous(granules * sizeof *first);
    if (addresses == MAP_FAILED || blocks == NULL || first == NULL)
        return false; /* what there is of it stays mapped: the test ends here */
    *self = (arena){.addresses = addresses, .host = host, .blocks = blocks, .first = first};
    return true;
}

static arena *arena_for(fake_kind kind, int device)
{
    int index = kind == FAKE_MANAGED_MEMORY ? MANAGED_ARENA : kind == FAKE_HOST_MEMORY ? HOST_ARENA : device;
    arena *self = &arenas[index];

    return self->blocks != NULL || map_arena(self, index >= MANAGED_ARENA) ? self : NULL;
}

static arena *arena_at(CUdeviceptr address)
{
    for (int i = 0; i < ARENAS; i++)
        if (arenas[i].blocks != NULL && address - (uintptr_t)arenas[i].addresses < ARENA_NBYTES &&
            address >= (uintptr_t)arenas[i].addresses)
            return &arenas[i];
    return NULL;
}

void *fake_alias(CUdeviceptr address)
{
    arena *self = arena_at(address);

    return self->host + (address - (uintptr_t)self->addresses);
}

/* ---- Allocations ---- */

/* Granules that an allocation takes, with one behind it that is nobody's. */
static size_t granules_of(size_t nbytes)
{
    return (nbytes + GRANULE - 1) / GRANULE + 1;
}

static fake_block *block_of(arena *self, size_t granule)
{
    fake_block *block = &self->blocks[self->first[granule]];
    size_t offset = granule - self->first[granule];

    return block->used && offset < granules_of(block->nbytes) ? block : NULL;
}

fake_block *fake_block_at(CUdeviceptr address)
{
    arena *self = arena_at(address);
    fake_block *block;

    if (self == NULL)
        return NULL;
    block = block_of(self, (size_t)(address - (uintptr_t)self->addresses) / GRANULE);
    return block != NULL && address - block->address < block->nbytes ? block : NULL;
}

fake_block *fake_block_usable(CUdeviceptr address, size_t nbytes)
{
    fake_block *block = fake_block_at(address);

    if (block == NULL || block->freed || block->doomed || nbytes > block->nbytes - (size_t)(address - block->address))
        return NULL;
    return block;
}

/* The first granule of so many in a row that are not in use, from `from` on; the end of the arena if there are none. */
static size_t find_room(arena *self, size_t from, size_t wanted)
{
    size_t granules = ARENA_NBYTES / GRANULE, start = from;

    for (size_t i = from; i < granules && i - start < wanted; i++) {
        fake_block *block = block_of(self, i);
        if (block != NULL && !block->freed) {
            i = self->first[i] + granules_of(block->nbytes) - 1;
            start = i + 1;
        }
    }
    return wanted <= granules - start ? start : granules;
}

CUresult fake_allocate(fake_kind kind, CUcontext context, size_t nbytes, fake_block **out)
{
    size_t granules = ARENA_NBYTES / GRANULE, start;
    arena *self = arena_for(kind, context->device);

    if (nbytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (self == NULL || nbytes > ARENA_NBYTES - 2 * GRANULE)
        return CUDA_ERROR_OUT_OF_MEMORY;
    start = find_room(self, self->next, granules_of(nbytes));
    if (start == granules)
        start = find_room(self, 0, granules_of(nbytes));
    if (start == granules)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < granules_of(nbytes); i++) {
        self->blocks[start + i] = (fake_block){0};
        self->first[start + i] = (uint32_t)start;
    }
    self->next = (start + granules_of(nbytes)) % granules;
    self->used_nbytes += nbytes;
    live[kind]++;
    unsigned char *host = self->host + start * GRANULE;
    ASAN_UNPOISON_MEMORY_REGION(host, granules_of(nbytes) * GRANULE);
    VALGRIND_MAKE_MEM_UNDEFINED(host, granules_of(nbytes) * GRANULE);
    memset(host, FAKE_UNWRITTEN, nbytes);
    VALGRIND_MAKE_MEM_UNDEFINED(host, nbytes); /* whoever decides by it is told */
    ASAN_POISON_MEMORY_REGION(host + nbytes, granules_of(nbytes) * GRANULE - nbytes);
    VALGRIND_MAKE_MEM_NOACCESS(host + nbytes, granules_of(nbytes) * GRANULE - nbytes);
    *out = &self->blocks[start];
    **out = (fake_block){.kind = kind,
                         .context = context,
                         .nbytes = nbytes,
                         .id = ++last_id,
                         .used = true,
                         .reached = true,
                         .address = (CUdeviceptr)(uintptr_t)(self->addresses + start * GRANULE)};
    return CUDA_SUCCESS;
}

void fake_free_block(fake_block *block)
{
    unsigned char *host = fake_alias(block->address);

    memset(host, FAKE_FREED, block->nbytes);
    ASAN_POISON_MEMORY_REGION(host, block->nbytes);
    VALGRIND_MAKE_MEM_NOACCESS(host, block->nbytes);
    block->freed = true;
    live[block->kind]--;
    arena_at(block->address)->used_nbytes -= block->nbytes;
}

void fake_free_all(CUcontext context)
{
    for (int i = 0; i < ARENAS; i++)
        for (size_t granule = 0; arenas[i].blocks != NULL && granule < ARENA_NBYTES / GRANULE; granule++) {
            fake_block *block = &arenas[i].blocks[granule];
            if (block->used && !block->freed && block->context == context)
                fake_free_block(block);
        }
}

long fake_block_count(fake_kind kind)
{
    return live[kind];
}

size_t fake_memory_info(int device, size_t *free_nbytes)
{
    *free_nbytes = ARENA_NBYTES - arenas[device].used_nbytes;
    return ARENA_NBYTES;
}

/* ---- What kernels and tests see ---- */

static bool in_use(const fake_block *block)
{
    return block != NULL && block->reached && !block->freed;
}

void *fake_memory(uint64_t address)
{
    void *host = NULL;

    fake_lock();
    if (address <= UINTPTR_MAX && in_use(fake_block_at((CUdeviceptr)address)))
        host = fake_alias((CUdeviceptr)address);
    fake_unlock();
    return host;
}

void *fake_touch(uint64_t address, size_t nbytes)
{
    void *host = NULL;
    fake_block *block;

    fake_lock();
    block = address <= UINTPTR_MAX ? fake_block_at((CUdeviceptr)address) : NULL;
    if (in_use(block) && nbytes <= block->nbytes - (size_t)(address - block->address))
        host = fake_alias((CUdeviceptr)address);
    else
        fake_note("a kernel uses %zu bytes at 0x%llx, %s", nbytes, (unsigned long long)address,
                  block == NULL     ? "where no memory is"
                  : block->freed    ? "which are freed"
                  : !block->reached ? "which its stream has not yet allocated"
                                    : "and the allocation ends before");
    fake_unlock();
    return host;
}
