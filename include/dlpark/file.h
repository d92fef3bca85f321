/**
 * Tensor files: many tensors by name, mapped without a copy or read into memory.
 *
 *     dlpark_file *file = NULL;
 *     dlpark_tensor weight = DLPARK_TENSOR_EMPTY;
 *     DLPARK_TRY(dlpark_file_open(&file, "model.safetensors", NULL, err));
 *     status = dlpark_file_share(file, dlpark_file_find(file, "lm_head.weight", 14), &weight, err);    // mapped
 *     dlpark_file_release(&file);                                       // the tensor keeps the mapping alive
 *     dlpark_tensor_release(&weight);
 *
 * The format is told by the content, never by the name. Everything in a file is checked before anything of it is used:
 * what an open file says of its tensors is true of its bytes. Names come from the file: any bytes but broken UTF-8, zeros
 * included, so they have a length. Never make a path of one; dlpark_file_name_text() makes one fit to be printed.
 *
 * A mapped tensor is the file itself. If another process writes into the file, the values change; if it cuts it short,
 * touching what is gone ends the process (SIGBUS). Whoever cannot rule that out takes dlpark_file_load() or
 * dlpark_file_read(), which copy, and report a file that shrank as an error.
 *
 * Threads: any number may use an open file at once; it is released once. Pointers are not NULL unless said to be optional.
 */
#ifndef DLPARK_FILE_H
#define DLPARK_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dtype.h"
#include "inflate.h"
#include "layout.h"
#include "status.h"
#include "tensor.h"
#include "view.h"

DLPARK_BEGIN_C

/** An open tensor file. Owns its index and a share in its bytes. */
typedef struct dlpark_file dlpark_file;

/** How tensors lie in a file. Four bytes in every build. */
typedef enum dlpark_file_format {
    DLPARK_FILE_ANY = 0, /**< as the content says */
    DLPARK_FILE_SAFETENSORS = 1,
    DLPARK_FILE_NPY = 2, /**< an array of NumPy's, which is called "arr_0" */
    DLPARK_FILE_NPZ = 3, /**< an archive of NumPy arrays: numpy.savez() */
    DLPARK_FILE_GGUF = 4,
    DLPARK_FILE_SHARDS =
        5, /**< an index file, model.safetensors.index.json, and the safetensors files beside it that it
                                 names: one file to whoever opens the index. dlpark_file_save_index() writes one */
    DLPARK_FILE_PIN_32 = 0x7fffffff
} dlpark_file_format;

/** What a packed pair of float4 is taken for. DLPack consumers disagree. Four bytes in every build. */
typedef enum dlpark_file_float4 {
    DLPARK_FILE_FLOAT4_LOGICAL = 0, /**< float4_e2m1fn, one lane, the shape that the file says */
    DLPARK_FILE_FLOAT4_PAIRS,       /**< float4_e2m1fn of 2 lanes, the last extent halved: PyTorch's float4_e2m1fn_x2;
                                         a tensor whose last extent is odd stays logical */
    DLPARK_FILE_FLOAT4_BYTES,       /**< uint8, the last extent halved; the same */
    DLPARK_FILE_FLOAT4_PIN_32 = 0x7fffffff
} dlpark_file_float4;

/** How the bytes of tensors come into memory. Four bytes in every build. */
typedef enum dlpark_file_access {
    DLPARK_FILE_ACCESS_AUTO = 0, /**< PREFETCH for files across a network or in user space (NFS, SMB, FUSE, Lustre and
                                      the like), else MAP */
    DLPARK_FILE_ACCESS_MAP,      /**< mapped: a page is read when it is touched */
    DLPARK_FILE_ACCESS_PREFETCH, /**< mapped, and read by several threads before the tensor is handed out: what would be
                                      slow page by page, and an error where a touch would end the process */
    DLPARK_FILE_ACCESS_READ,     /**< the whole file is read by several threads when it is opened, and never mapped:
                                      what others do to it later is no matter */
    DLPARK_FILE_ACCESS_PIN_32 = 0x7fffffff
} dlpark_file_access;

/** What a file is opened with. Zero the rest: a field that is not named has its plain meaning. Grows only at its end. */
typedef struct dlpark_file_options {
    dlpark_file_format format;  /**< refuse any other */
    uint64_t max_header_nbytes; /**< 0: what is allowed, at most 100,000,000 (npy: 1,048,576); of npz for all */
    dlpark_file_float4 float4;
    bool is_private;   /**< mapped tensors may be written; what is written stays in this process */
    bool follow_links; /**< shards may be links, which lead anywhere: a cache of Hugging Face has such */
    dlpark_file_access access;
    int threads; /**< that read a large tensor at the same time; 0: 8; 1: the caller's alone */
    const dlpark_inflate
        *inflate; /**< borrowed as long as the file is open; NULL: one with deflated members is refused */
} dlpark_file_options;

/** What is special of a tensor in a file: bits of `flags`. */
#define DLPARK_FILE_COLUMN_MAJOR UINT32_C(1) /**< the first index runs fastest (Fortran): its tensor has such strides */
#define DLPARK_FILE_COMPRESSED   UINT32_C(2) /**< can be loaded, not mapped */
#define DLPARK_FILE_SWAPPED      UINT32_C(4) /**< its numbers are not in this machine's byte order: the same */

/** What a file says of one tensor. Of a quantised type, "Q4_0", the dtype is uint8 and the last extent the bytes of a row's
 * blocks. The layout is frozen but for `shape`'s end. */
typedef struct dlpark_file_entry {
    const char *name;   /**< UTF-8 without a terminating zero; borrowed from the file */
    size_t name_nbytes; /**< its length */
    const char *type;   /**< the format's own word for the dtype, "F8_E4M3", "Q4_0"; a static string */
    DLDataType dtype;
    uint64_t offset;        /**< of the first byte, from the start of the file, or of its shard */
    uint64_t nbytes;        /**< what it takes in the file, packed where it is */
    size_t alignment_bytes; /**< what a mapped tensor's address is a multiple of: a power of two, at most 4096 */
    int64_t index;          /**< its number in the file */
    uint32_t flags;         /**< DLPARK_FILE_COLUMN_MAJOR and the like */
    int32_t ndim;           /**< above DLPARK_MAX_NDIM for one that no tensor can be made of */
    int64_t shape[DLPARK_MAX_NDIM]; /**< only the first `ndim` are written */
} dlpark_file_entry;

/**
 * Opens a file by its path.
 *
 * @param file     out. NULL before; NULL on failure.
 * @param path     in, borrowed. What is not a regular file, a pipe for example, is read into memory to its end.
 * @param options  in, optional.
 * @param err      out, optional. Names the file, and the byte and the tensor where something is wrong.
 * @return DLPARK_OK; DLPARK_E_NOT_EMPTY; DLPARK_E_ARGUMENT (options); DLPARK_E_NOT_FOUND, DLPARK_E_PERMISSION (a shard
 *         that is a link, too), DLPARK_E_IO; DLPARK_E_FORMAT (broken, stale, or not of the format asked for);
 *         DLPARK_E_LIMIT; DLPARK_E_UNSUPPORTED (a dtype that no tensor can be of); DLPARK_E_MEMORY.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_file_open(dlpark_file **file, const char *path,
                                                           const dlpark_file_options *options, dlpark_error *err);

/**
 * The same for an open descriptor, which is borrowed: the file takes a duplicate. Its position does not matter, and is
 * left alone where it is of a regular file. DLPARK_E_UNSUPPORTED for an index file, here and in memory: its shards lie
 * beside it, and it has no path.
 *
 * @param name  in, optional, borrowed until the call returns. What messages call it; NULL: "<descriptor 3>".
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_file_open_descriptor(dlpark_file **file, int descriptor,
                                                                      const char *name,
                                                                      const dlpark_file_options *options,
                                                                      dlpark_error *err);

/**
 * The same for a file in memory, of which `is_private` cannot be asked.
 *
 * @param bytes    in. Not written; unchanged until `release`.
 * @param owner    in. Handed to `release`.
 * @param release  in, optional. Called once, when the file and all tensors that were shared from it are gone, on any
 *                 thread. Not called when this call fails: the caller still owns the memory.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_file_open_memory(dlpark_file **file, const void *bytes, size_t nbytes,
                                                                  void *owner, void (*release)(void *owner),
                                                                  const dlpark_file_options *options,
                                                                  dlpark_error *err);

/** Drops the file and clears the caller's variable. Shared tensors live on. Accepts NULL, and a NULL in it. */
DLPARK_API void dlpark_file_release(dlpark_file **file);

/** The format; never DLPARK_FILE_ANY. */
DLPARK_API dlpark_file_format dlpark_file_format_of(const dlpark_file *file);

/** "safetensors". A static string; "any" for DLPARK_FILE_ANY, "unknown" for a number that is no format. */
DLPARK_API const char *dlpark_file_format_name(dlpark_file_format format);

/** How many tensors there are. They have the numbers from 0 on in the order of their bytes; those of an index file shard by
 * shard, in the order of the names of shards. */
DLPARK_API int64_t dlpark_file_count(const dlpark_file *file);

/** Bytes of the file; of an index file and all its shards. */
DLPARK_API uint64_t dlpark_file_nbytes(const dlpark_file *file);

/** How many shards an index file has. 0 for any other file. */
DLPARK_API int64_t dlpark_file_shard_count(const dlpark_file *file);

/**
 * The shard that a tensor is in: the name of a file in the folder of the index. Terminated UTF-8, borrowed from the file,
 * and untrusted: dlpark_file_name_text() makes it fit to be printed.
 *
 * @param index  in. As for dlpark_file_entry_get(), whose `offset` is within the shard.
 * @return NULL for a file that is no index, and where there is no such tensor.
 */
DLPARK_API const char *dlpark_file_shard_name(const dlpark_file *file, int64_t index);

/**
 * The number of the tensor of that name; -1 where there is none. In constant time.
 *
 * @param name         in, borrowed. UTF-8, need not be terminated.
 * @param name_nbytes  in. Its length.
 */
DLPARK_API int64_t dlpark_file_find(const dlpark_file *file, const char *name, size_t name_nbytes);

/**
 * What the file says of a tensor.
 *
 * @param index  in. 0 to dlpark_file_count() - 1; -1, as dlpark_file_find() gives, is refused.
 * @param entry  out. Not written on failure. Its texts live as long as the file.
 * @return DLPARK_OK; DLPARK_E_INDEX.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_file_entry_get(const dlpark_file *file, int64_t index,
                                                                dlpark_file_entry *entry, dlpark_error *err);

/**
 * How many texts the file carries beside its tensors: safetensors' `__metadata__`; GGUF's pairs, numbers as texts and arrays
 * of at most 256 items as JSON; of an index file the texts and numbers of its `metadata`, as they are written there.
 */
DLPARK_API int64_t dlpark_file_metadata_count(const dlpark_file *file);

/** A text of the file: `nbytes` borrowed from it, UTF-8, not terminated. */
typedef struct dlpark_file_text {
    const char *text; /**< of `nbytes` bytes */
    size_t nbytes;
} dlpark_file_text;

/** One of those texts, in the order of the file; as dlpark_file_entry_get(). DLPARK_E_INDEX: there is none of that number. */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_file_metadata_get(const dlpark_file *file, int64_t index,
                                                                   dlpark_file_text *key, dlpark_file_text *value,
                                                                   dlpark_error *err);

/** A key of metadata, and a number, a truth value, a text, or an array of one of these. GGUF files have such. */
typedef struct dlpark_file_value {
    dlpark_file_text key; /**< UTF-8; unique in the file */
    DLDataType dtype;     /**< integers of 8 to 64 bits, float32, float64, bool; all zero: texts */
    const void *data;     /**< as many numbers, in this machine's order, or dlpark_file_text, which are UTF-8 where they
                               are in no array */
    size_t count;         /**< 1, unless it is an array */
    bool is_array;        /**< also one of a single item */
} dlpark_file_value;

/**
 * One of the metadata with its type, read anew: of a GGUF file what it is, whole, however long; of another a text.
 *
 * @param index  in. As for dlpark_file_metadata_get().
 * @param value  out. Its key is borrowed from the file, its data are in memory of its own, which
 *               dlpark_file_value_release() ends. Not written on failure.
 * @return DLPARK_OK; DLPARK_E_INDEX; DLPARK_E_MEMORY; DLPARK_E_IO; DLPARK_E_FORMAT (the file was changed meanwhile).
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_file_value_load(const dlpark_file *file, int64_t index,
                                                                 dlpark_file_value *value, dlpark_error *err);

/** Ends the data of a value, and leaves it empty. Accepts NULL, and one that is empty. */
DLPARK_API void dlpark_file_value_release(dlpark_file_value *value);

/**
 * A tensor of the file as a view of the mapping, which is made when first asked for. The view dies with the file.
 *
 * @param index  in. As for dlpark_file_entry_get().
 * @param view   out. READ_ONLY unless the file was opened `is_private`. Not written on failure.
 * @return DLPARK_OK; DLPARK_E_INDEX; DLPARK_E_MEMORY (no room for the mapping); DLPARK_E_IO, DLPARK_E_PERMISSION (it
 *         cannot be mapped); DLPARK_E_UNSUPPORTED (more than 64
 *         dimensions; or the bytes are in another order than this machine's: dlpark_file_load() swaps them).
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_file_view(dlpark_file *file, int64_t index, dlpark_view *view,
                                                           dlpark_error *err);

/**
 * The same as a tensor of its own, which keeps the mapping alive and outlives the file.
 *
 * @param tensor  out. Empty before and, on failure, after.
 * @return as dlpark_file_view(), and DLPARK_E_NOT_EMPTY.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_file_share(dlpark_file *file, int64_t index, dlpark_tensor *tensor,
                                                            dlpark_error *err);

/**
 * Reads the bytes of tensors by several threads, so that the system has them when they are touched. No memory is kept.
 *
 * @param indexes  in, borrowed. Numbers of tensors; NULL: all of the file, and `count` is not looked at.
 * @param count    in. How many there are.
 * @return DLPARK_OK; DLPARK_E_INDEX; DLPARK_E_IO; DLPARK_E_FORMAT (the file was cut short since); DLPARK_E_MEMORY.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_file_prefetch(const dlpark_file *file, const int64_t *indexes,
                                                               size_t count, dlpark_error *err);

/**
 * A tensor of the file read into fresh memory, which the tensor owns: as it lies in the file, a column-major one with such
 * strides, but its numbers in this machine's byte order. Never maps. Large ones are read by several threads.
 *
 * @return as dlpark_file_share() but for the mapping; DLPARK_E_IO, DLPARK_E_FORMAT (the file was cut short since).
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_file_load(const dlpark_file *file, int64_t index,
                                                           dlpark_tensor *tensor, dlpark_error *err);

/**
 * The same into memory of the caller's, in row-major order. The elements of a column-major tensor are moved to their places
 * through memory of at most 16 MiB, or of as much as the tensor has where it is compressed.
 *
 * @param to  in, borrowed. Of the tensor's dtype and shape, host accessible, compact, writable. On DLPARK_E_IO and
 *            DLPARK_E_FORMAT part of it may be written.
 * @return as dlpark_file_load(); DLPARK_E_DTYPE, DLPARK_E_SHAPE, DLPARK_E_LAYOUT, DLPARK_E_DEVICE, DLPARK_E_READ_ONLY.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_file_read(const dlpark_file *file, int64_t index,
                                                           const dlpark_view *to, dlpark_error *err);

/**
 * Some of a tensor's elements, in row-major order: for what is larger than the memory. Of a column-major tensor too, in as
 * much memory as dlpark_file_read() takes; one of more than 16 MiB is slow in small pieces, as elements that lie more
 * than 8 KiB apart in the file are a read each.
 *
 * @param first  in. The number of the first element. It must begin at a byte.
 * @param to     in, borrowed. As many elements as shall be read, of the tensor's dtype and any shape; host accessible,
 *               compact, writable. On DLPARK_E_IO and DLPARK_E_FORMAT part of it may be written.
 * @return as dlpark_file_read(); DLPARK_E_INDEX when there are not so many elements.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_file_read_range(const dlpark_file *file, int64_t index, int64_t first,
                                                                 const dlpark_view *to, dlpark_error *err);

/** One fault of a file. `rule` is a word that stays the same: "overlap". The layout is frozen. */
typedef struct dlpark_file_fault {
    const char *rule; /**< a static string */
    uint64_t offset; /**< of the byte that is wrong, from the start of the file, or of the shard that `message` names */
    char tensor[64]; /**< the tensor's name, fit to be printed, cut with "..."; "" for a fault of the file */
    char message[256]; /**< with the numbers; without the file's name */
} dlpark_file_fault;

/**
 * Lists every fault of a file, not only the first. What is not JSON, or a length that is wrong, hides what stands behind it.
 *
 * @param path      in, borrowed.
 * @param options   in, optional.
 * @param faults    out. The first `capacity` faults, in the order in which they were found.
 * @param capacity  in. May be 0, then `faults` may be NULL.
 * @param count     out. How many faults there are.
 * @param err       out, optional.
 * @return DLPARK_OK when the file could be read, faulty or not; else as dlpark_file_open().
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_file_check(const char *path, const dlpark_file_options *options,
                                                            dlpark_file_fault *faults, size_t capacity, size_t *count,
                                                            dlpark_error *err);

/**
 * Lists what is right in an open file, and what some readers get wrong all the same: numbers that are not aligned
 * ("misaligned"); names that are empty, hold zeros or what a terminal obeys ("name"), or lead elsewhere when they are taken
 * for paths ("path"); more dimensions than a tensor can have ("rank").
 *
 * @param hazards   out. The first `capacity`, in the order of the file; `offset` is where the tensor begins.
 * @param capacity  in. May be 0, then `hazards` may be NULL.
 * @return how many there are.
 */
DLPARK_API size_t dlpark_file_hazards(const dlpark_file *file, dlpark_file_fault *hazards, size_t capacity);

/** A name of the file for people: controls and what turns the direction of text as "\x1B", "\u202E"; cut after 60 bytes. */
typedef struct dlpark_file_name {
    char text[64];
} dlpark_file_name;
/** The name of `name_nbytes` bytes, borrowed for the call. */
DLPARK_API dlpark_file_name dlpark_file_name_text(const char *name, size_t name_nbytes);

/**
 * The same in memory of the caller's, not cut unless there is no room.
 *
 * @param text        out. Terminated, cut between two characters; may be NULL where `text_nbytes` is 0.
 * @param text_nbytes in. A character takes at most 6 bytes.
 * @return the length of all of it, as snprintf().
 */
DLPARK_API size_t dlpark_file_name_format(const char *name, size_t name_nbytes, char *text, size_t text_nbytes);

DLPARK_END_C

#endif
