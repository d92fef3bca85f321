#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../core/internal.h"
#include "npz_pack.h"

/* A member is cut into pieces, each of which a thread packs: where, no machine decides, so that all make the same file. */
#define NPZ_PACK_PIECE ((size_t)512 << 10)

/* So much is packed at a time, in so many pieces at most. */
#define NPZ_PACK_ROOM   ((size_t)8 << 20)
#define NPZ_PACK_PIECES 1024

/* For each thread there is at least so much. */
#define NPZ_PACK_SHARE   ((size_t)128 << 10)
#define NPZ_PACK_THREADS 16

/* What is not packed is stored in blocks, each with so many bytes before it. */
#define NPZ_PACK_BLOCK        ((size_t)65535)
#define NPZ_PACK_BLOCK_HEADER ((size_t)5)
#define NPZ_PACK_OVERHEAD     ((NPZ_PACK_PIECE + NPZ_PACK_BLOCK - 1) / NPZ_PACK_BLOCK * NPZ_PACK_BLOCK_HEADER)

/* A piece of a member on its way. */
typedef struct npz_pack_piece {
    size_t member;
    unsigned char *plain; /* behind what its window has */
    size_t window_nbytes;
    size_t nbytes;
    bool is_last; /* of its member */
    unsigned char *packed;
    size_t packed_nbytes;
} npz_pack_piece;

struct dlpark__npz_pack {
    const dlpark_deflate *deflate;
    pthread_mutex_t lock; /* of all that follows, but for what the threads of a round do */
    bool has_failed;
    unsigned char *memory; /* a window and what is read behind it; and what is packed */
    size_t room;           /* of what is read */
    void *states[NPZ_PACK_THREADS];
    size_t nthreads;
    /* What is read next. */
    size_t whole;          /* the first member that is not all there */
    uint64_t whole_nbytes; /* of those before it */
    uint64_t begun_nbytes; /* of its own, from the first on */
    uint64_t taken_nbytes; /* of all of them, so far */
    size_t member;
    uint64_t at; /* in it, its header with it */
    /* What is written next. */
    uint64_t reached;       /* in the file */
    uint64_t packed_nbytes; /* of a member that is under way */
    /* The round. */
    size_t count;
    size_t used; /* of the room */
    atomic_size_t next;
    npz_pack_piece pieces[NPZ_PACK_PIECES];
};

static uint64_t npz_pack_plain_nbytes(const dlpark__npz_member *member)
{
    return member->array_header_nbytes + member->data_nbytes;
}

uint64_t dlpark__npz_pack_bound(uint64_t nbytes)
{
    return nbytes + (nbytes / NPZ_PACK_PIECE + 1) * NPZ_PACK_OVERHEAD;
}

dlpark__npz_pack *dlpark__npz_pack_new(const dlpark_deflate *deflate)
{
    dlpark__npz_pack *pack = calloc(1, sizeof *pack);

    if (pack == NULL)
        return NULL;
    pack->deflate = deflate;
    (void)pthread_mutex_init(&pack->lock, NULL);
    return pack;
}

void dlpark__npz_pack_end(dlpark__npz_pack *pack)
{
    if (pack == NULL)
        return;
    for (size_t i = 0; i < pack->nthreads; i++)
        pack->deflate->end(pack->states[i]);
    (void)pthread_mutex_destroy(&pack->lock);
    free(pack->memory);
    free(pack);
}

/* ---- Threads ---- */

/* What did not become smaller. */
static size_t npz_pack_store(const npz_pack_piece *piece)
{
    unsigned char *to = piece->packed;

    for (size_t done = 0, some; done < piece->nbytes; done += some) {
        some = piece->nbytes - done < NPZ_PACK_BLOCK ? piece->nbytes - done : NPZ_PACK_BLOCK;
        *to++ = piece->is_last && done + some == piece->nbytes;
        *to++ = (unsigned char)(some & 0xFF);
        *to++ = (unsigned char)(some >> 8);
        *to++ = (unsigned char)(~some & 0xFF);
        *to++ = (unsigned char)(~some >> 8 & 0xFF);
        memcpy(to, piece->plain + done, some);
        to += some;
    }
    return (size_t)(to - piece->packed);
}

static void npz_pack_pieces(dlpark__npz_pack *pack, void *state)
{
    const dlpark_deflate *deflate = pack->deflate;

    for (;;) {
        size_t i = atomic_fetch_add_explicit(&pack->next, 1, memory_order_relaxed);
        if (i >= pack->count)
            return;
        npz_pack_piece *piece = &pack->pieces[i];
        piece->packed_nbytes = deflate->piece(state, piece->plain, piece->nbytes, piece->window_nbytes, piece->is_last,
                                              piece->packed, piece->nbytes);
        if (piece->packed_nbytes == 0)
            piece->packed_nbytes = npz_pack_store(piece);
    }
}

typedef struct npz_pack_worker {
    dlpark__npz_pack *pack;
    void *state;
} npz_pack_worker;

static void *npz_pack_work(void *argument)
{
    const npz_pack_worker *worker = argument;

    npz_pack_pieces(worker->pack, worker->state);
    return NULL;
}

/* Where the system gives no more threads, those that there are do it all. */
static void npz_pack_round(dlpark__npz_pack *pack)
{
    pthread_t started[NPZ_PACK_THREADS];
    npz_pack_worker workers[NPZ_PACK_THREADS];
    size_t wanted = pack->used / NPZ_PACK_SHARE + 1, running = 1;

    wanted = wanted < pack->nthreads ? wanted : pack->nthreads;
    wanted = wanted < pack->count ? wanted : pack->count;
    atomic_store_explicit(&pack->next, 0, memory_order_relaxed);
    for (; running < wanted; running++) {
        workers[running] = (npz_pack_worker){pack, pack->states[running]};
        if (pthread_create(&started[running], NULL, npz_pack_work, &workers[running]) != 0)
            break;
    }
    npz_pack_pieces(pack, pack->states[0]);
    while (--running > 0)
        (void)pthread_join(started[running], NULL);
}

/* Memory for rounds, when the first begins: not more than the members fill. */
static dlpark_status npz_pack_prepare(dlpark__npz_pack *pack, const dlpark__npz_archive *archive, dlpark_error *err)
{
    uint64_t all = 0;

    if (pack->memory != NULL)
        return DLPARK_OK;
    for (size_t i = 0; i < archive->count && all < NPZ_PACK_ROOM; i++)
        all += npz_pack_plain_nbytes(&archive->members[i]);
    pack->room = all < NPZ_PACK_ROOM ? (size_t)all : NPZ_PACK_ROOM;
    pack->memory = malloc(DLPARK_DEFLATE_WINDOW + pack->room * 2 + NPZ_PACK_PIECES * NPZ_PACK_OVERHEAD);
    if (pack->memory == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t threads = processors < 1 ? 1 : processors < NPZ_PACK_THREADS ? (size_t)processors : NPZ_PACK_THREADS;
    threads = pack->room / NPZ_PACK_SHARE + 1 < threads ? pack->room / NPZ_PACK_SHARE + 1 : threads;
    while (pack->nthreads < threads) {
        pack->states[pack->nthreads] = pack->deflate->begin(pack->deflate->context);
        if (pack->states[pack->nthreads] == NULL)
            return dlpark_error_set(err, DLPARK_E_MEMORY, "no memory to deflate the tensors");
        pack->nthreads++;
    }
    return DLPARK_OK;
}

/* ---- Rounds ---- */

/* Bytes of a member, the array's header before its data. */
static dlpark_status npz_pack_read(const dlpark__npz_archive *archive, const dlpark__npz_member *member, uint64_t at,
                                   unsigned char *to, size_t nbytes, const dlpark__replace *file, dlpark_error *err)
{
    size_t header = 0;

    if (at < member->array_header_nbytes) {
        header = member->array_header_nbytes - (size_t)at;
        header = header < nbytes ? header : nbytes;
        memcpy(to, archive->headers.bytes + member->header + member->header_nbytes - member->array_header_nbytes + at,
               header);
    }
    return dlpark__replace_read(file, member->data + (at + header - member->array_header_nbytes), to + header,
                                nbytes - header, err);
}

/* The next piece, if it is there and finds room. */
static dlpark_status npz_pack_take(dlpark__npz_pack *pack, const dlpark__npz_archive *archive,
                                   const dlpark__replace *file, bool *is_taken, dlpark_error *err)
{
    *is_taken = pack->member < archive->count;
    if (!*is_taken)
        return DLPARK_OK;
    const dlpark__npz_member *member = &archive->members[pack->member];
    uint64_t left = npz_pack_plain_nbytes(member) - pack->at;
    size_t nbytes = left < NPZ_PACK_PIECE ? (size_t)left : NPZ_PACK_PIECE;
    unsigned char *plain = pack->memory + DLPARK_DEFLATE_WINDOW + pack->used;
    unsigned char *packed = pack->memory + DLPARK_DEFLATE_WINDOW + pack->room + pack->used;

    bool is_there = pack->member < pack->whole || pack->at + nbytes <= pack->begun_nbytes;
    *is_taken = is_there && pack->count < NPZ_PACK_PIECES && nbytes <= pack->room - pack->used;
    if (!*is_taken)
        return DLPARK_OK;
    DLPARK_TRY(npz_pack_read(archive, member, pack->at, plain, nbytes, file, err));
    pack->pieces[pack->count] = (npz_pack_piece){
        .member = pack->member,
        .plain = plain,
        .window_nbytes = pack->at < DLPARK_DEFLATE_WINDOW ? (size_t)pack->at : DLPARK_DEFLATE_WINDOW,
        .nbytes = nbytes,
        .is_last = nbytes == left,
        .packed = packed + pack->count * NPZ_PACK_OVERHEAD,
    };
    pack->count++;
    pack->used += nbytes;
    pack->at += nbytes;
    pack->taken_nbytes += nbytes;
    if (nbytes == left) {
        pack->member++;
        pack->at = 0;
    }
    return DLPARK_OK;
}

/* The header and the entry of a member whose last piece is written. */
static dlpark_status npz_pack_member(dlpark__npz_pack *pack, dlpark__npz_archive *archive, size_t index,
                                     const _Atomic(uint32_t) *sums, const dlpark__replace *file, dlpark_error *err)
{
    const dlpark__npz_member *member = &archive->members[index];
    char *header = archive->headers.bytes + member->header;
    const dlpark__npz_record record = {
        .name = header + DLPARK__ZIP_LOCAL_NBYTES,
        .name_nbytes = member->name.nbytes,
        .method = DLPARK__ZIP_DEFLATED,
        .sum = dlpark__npz_sum(archive, member, atomic_load_explicit(&sums[index], memory_order_relaxed)),
        .packed_nbytes = pack->packed_nbytes,
        .nbytes = npz_pack_plain_nbytes(member),
        .is_wide = member->is_wide,
    };
    size_t header_nbytes = dlpark__npz_header_nbytes(&record);

    dlpark__npz_set_header(header, &record);
    DLPARK_TRY(dlpark__replace_write(file, pack->reached, header, header_nbytes, err));
    dlpark__npz_put_entry(&archive->directory, &record, pack->reached); /* as long as the plan's, or shorter */
    pack->reached += header_nbytes + pack->packed_nbytes;
    pack->packed_nbytes = 0;
    return DLPARK_OK;
}

/* What was packed, into its place. Nothing that was not read yet is there, see dlpark__npz_pack_bound(). */
static dlpark_status npz_pack_write(dlpark__npz_pack *pack, dlpark__npz_archive *archive, const _Atomic(uint32_t) *sums,
                                    const dlpark__replace *file, dlpark_error *err)
{
    for (size_t i = 0; i < pack->count; i++) {
        const npz_pack_piece *piece = &pack->pieces[i];
        const dlpark__npz_member *member = &archive->members[piece->member];
        uint64_t at = pack->reached + (member->header_nbytes - member->array_header_nbytes) + pack->packed_nbytes;
        DLPARK_TRY(dlpark__replace_write(file, at, piece->packed, piece->packed_nbytes, err));
        pack->packed_nbytes += piece->packed_nbytes;
        if (piece->is_last)
            DLPARK_TRY(npz_pack_member(pack, archive, piece->member, sums, file, err));
    }
    return DLPARK_OK;
}

/* Packs what fills rounds, or all that is there. */
static dlpark_status npz_pack_rounds(dlpark__npz_archive *archive, bool is_all, const _Atomic(uint32_t) *sums,
                                     const dlpark__replace *file, dlpark_error *err)
{
    dlpark__npz_pack *pack = archive->pack;
    uint64_t there = pack->whole_nbytes + pack->begun_nbytes;

    while (there - pack->taken_nbytes >= (is_all ? 1 : NPZ_PACK_ROOM)) {
        bool is_taken = true;
        DLPARK_TRY(npz_pack_prepare(pack, archive, err));
        pack->count = pack->used = 0;
        while (is_taken)
            DLPARK_TRY(npz_pack_take(pack, archive, file, &is_taken, err));
        npz_pack_round(pack);
        DLPARK_TRY(npz_pack_write(pack, archive, sums, file, err));
        /* The window of what comes next: earlier bytes where it is another member's, which has none. */
        memmove(pack->memory, pack->memory + pack->used, DLPARK_DEFLATE_WINDOW);
    }
    return DLPARK_OK;
}

/* How far the parts of the writer are. */
static void npz_pack_look(dlpark__npz_pack *pack, const dlpark__npz_archive *archive, const dlpark_file_writer *writer)
{
    pack->begun_nbytes = 0;
    for (; pack->whole < archive->count; pack->whole++) {
        dlpark__file_writer_part *part = &writer->parts[pack->whole];
        const dlpark__npz_member *member = &archive->members[pack->whole];
        if (atomic_load_explicit(&part->nbytes_put, memory_order_acquire) != part->place.nbytes) {
            pack->begun_nbytes = member->array_header_nbytes + atomic_load_explicit(&part->begun, memory_order_acquire);
            return;
        }
        pack->whole_nbytes += npz_pack_plain_nbytes(member);
    }
}

/* What failed once leaves pieces that nobody has. */
static dlpark_status npz_pack_fail(const dlpark__replace *file, dlpark_error *err)
{
    return dlpark_error_set(err, DLPARK_E_IO, "%s: a tensor could not be deflated before", file->name.text);
}

dlpark_status dlpark__npz_pack_advance(dlpark__npz_archive *archive, const dlpark_file_writer *writer,
                                       dlpark_error *err)
{
    dlpark__npz_pack *pack = archive->pack;

    if (pthread_mutex_trylock(&pack->lock) != 0)
        return DLPARK_OK;
    npz_pack_look(pack, archive, writer);
    dlpark_status status = pack->has_failed ? npz_pack_fail(&writer->file, err)
                                            : npz_pack_rounds(archive, false, writer->sums, &writer->file, err);
    pack->has_failed |= status != DLPARK_OK;
    (void)pthread_mutex_unlock(&pack->lock);
    return status;
}

dlpark_status dlpark__npz_pack_finish(dlpark__npz_archive *archive, const _Atomic(uint32_t) *sums,
                                      const dlpark__replace *file, dlpark_error *err)
{
    dlpark__npz_pack *pack = archive->pack;
    dlpark__npz_text *directory = &archive->directory;

    if (pack->has_failed)
        return npz_pack_fail(file, err);
    pack->begun_nbytes = 0;
    for (; pack->whole < archive->count; pack->whole++)
        pack->whole_nbytes += npz_pack_plain_nbytes(&archive->members[pack->whole]);
    DLPARK_TRY(npz_pack_rounds(archive, true, sums, file, err));
    if (!dlpark__npz_put_end(directory, archive->count, pack->reached)) /* GCOVR_EXCL_BR_LINE: the plan's had room */
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    DLPARK_TRY(dlpark__replace_write(file, pack->reached, directory->bytes, directory->nbytes, err));
    return dlpark__replace_cut(file, pack->reached + directory->nbytes, err);
}
