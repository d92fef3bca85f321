/**
 * Writes tensor files: whole in one call, or tensor by tensor, in any order and from any threads.
 *
 *     dlpark_file_part parts[] = {{.name = "weight", .view = &weight}, {.name = "bias", .view = &bias}};
 *     DLPARK_TRY(dlpark_file_save("out.safetensors", parts, 2, NULL, err));
 *
 * A file is written under another name beside its own, and gets its own when it is whole: whoever reads meanwhile, and
 * whoever mapped the old one, sees the old one, and a process that ends early leaves it as it was. A link in the place
 * of the file is replaced, never followed; the mode of a file that is replaced is kept. A relative path is looked up again
 * when the file is whole: the working directory stays what it is until then.
 *
 * The layout is the reference implementation's, byte for byte, unless an alignment is asked for. An npy file has exactly one
 * tensor, whose name is not kept, and no metadata; an npz file is a ZIP archive whose members are stored and aligned, or
 * deflated, and has none either. Pointers must not be NULL unless a parameter says optional.
 */
#ifndef DLPARK_FILE_WRITE_H
#define DLPARK_FILE_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "deflate.h"
#include "file.h"

DLPARK_BEGIN_C

/** One tensor of a file to be written: its name, and a view; or dtype and shape. Borrowed until the call returns. */
typedef struct dlpark_file_part {
    const char *name;   /**< UTF-8; unique in the file, and not "__metadata__"; in a GGUF file of at most 63 bytes */
    size_t name_nbytes; /**< its length; 0: it is terminated */
    const dlpark_view
        *view; /**< what is written; NULL for dlpark_file_writer_open() where the rest says what it will be */
    DLDataType dtype;
    int32_t ndim;         /**< 0 to DLPARK_MAX_NDIM */
    const int64_t *shape; /**< `ndim` extents */
} dlpark_file_part;

/** A text that the file carries. Borrowed until the call returns. */
typedef struct dlpark_file_pair {
    dlpark_file_text key; /**< UTF-8; unique in the file */
    dlpark_file_text value;
} dlpark_file_pair;

/** How a file is written. Zero the rest: a field that is not named has its plain meaning. Grows only at its end. */
typedef struct dlpark_file_write_options {
    dlpark_file_format format;        /**< DLPARK_FILE_ANY: as the end of the path says,
                                           ".safetensors" for one; safetensors where it says nothing */
    const dlpark_file_pair *metadata; /**< written in the order given; into a GGUF file as strings, but for
                                           "general.alignment", which is honoured where `alignment_bytes` is 0 */
    size_t nmetadata;                 /**< how many `metadata` has */
    size_t alignment_bytes; /**< 0: the reference's layout. Else a power of two, at most 4096: tensors are ordered so
                                 that as many as can be begin at a multiple of it; every reader takes such a file. In a GGUF
                                 file, where 0 is 32 and less than 8 is 8, and in an npz file, where 0 is 64, all of them
                                 do, in the order given */
    bool sync;              /**< return only when the file is on the disk (fsync) */
    const dlpark_file_value *values; /**< metadata with types, behind `metadata`; for a GGUF file only, and not
                                          "general.alignment" */
    size_t nvalues;                  /**< how many `values` has */
    const dlpark_deflate *deflate;   /**< of an npz file, and without `alignment_bytes`: its members are packed by these
                                        functions, several at the same time. Until the file is whole there is room on the
                                        disk for its tensors as they are. NULL: they are stored */
} dlpark_file_write_options;

/**
 * Writes a file.
 *
 * @param path     in, borrowed.
 * @param parts    in, borrowed. Host accessible views of any strides; none is copied as a whole.
 * @param count    in. 0 makes a file without tensors.
 * @param options  in, optional.
 * @param err      out, optional. Names the tensor, and what is wrong with it.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (names, options, how many tensors); DLPARK_E_UNSUPPORTED (a dtype or metadata that
 *         the format has no place for, elements that do not fill whole bytes); DLPARK_E_DEVICE; DLPARK_E_LIMIT (the header would be too long); DLPARK_E_IO,
 *         DLPARK_E_NOT_FOUND, DLPARK_E_PERMISSION; DLPARK_E_MEMORY. On failure `path` is as it was.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_file_save(const char *path, const dlpark_file_part *parts,
                                                           size_t count, const dlpark_file_write_options *options,
                                                           dlpark_error *err);

/** A file that is being written. Owns its temporary file. */
typedef struct dlpark_file_writer dlpark_file_writer;

/**
 * Begins a file whose tensors follow: their names, dtypes and shapes are declared, and their places thereby known.
 *
 * @param writer  out. NULL before; NULL on failure.
 * @param parts   in, borrowed. The data of views is not looked at.
 * @return as dlpark_file_save(); DLPARK_E_NOT_EMPTY; DLPARK_E_RANK, DLPARK_E_SHAPE, DLPARK_E_OVERFLOW.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_file_writer_open(dlpark_file_writer **writer, const char *path,
                                                                  const dlpark_file_part *parts, size_t count,
                                                                  const dlpark_file_write_options *options,
                                                                  dlpark_error *err);

/**
 * Writes one of the tensors that were declared.
 *
 * @param index  in. Its number among the parts.
 * @param view   in, borrowed. Of the dtype and shape that were declared, host accessible.
 * @return DLPARK_OK; DLPARK_E_INDEX; DLPARK_E_DTYPE, DLPARK_E_SHAPE, DLPARK_E_DEVICE; DLPARK_E_IO; DLPARK_E_MEMORY.
 * Threads: any number at the same time, for different tensors.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_file_writer_put(dlpark_file_writer *writer, size_t index,
                                                                 const dlpark_view *view, dlpark_error *err);

/**
 * Writes some elements of one of the tensors, in row-major order: for what is larger than the memory.
 *
 * @param first  in. The number of the first element. It must begin at a byte, and no element may come twice.
 * @param view   in, borrowed. Of the dtype that was declared and of any shape and strides, host accessible.
 * @return as dlpark_file_writer_put(); DLPARK_E_INDEX when there are not so many elements; DLPARK_E_LAYOUT.
 * Threads: any number at the same time, for different elements.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_file_writer_put_range(dlpark_file_writer *writer, size_t index,
                                                                       int64_t first, const dlpark_view *view,
                                                                       dlpark_error *err);

/**
 * Writes bytes of one of the tensors, as they lie in the file: compact, row-major, little-endian.
 *
 * @param offset  in. Of the tensor, where they begin. No byte may come twice.
 * @return DLPARK_OK; DLPARK_E_INDEX; DLPARK_E_ARGUMENT (they end behind the tensor); DLPARK_E_IO.
 * Threads: any number at the same time, for different bytes.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_file_writer_put_bytes(dlpark_file_writer *writer, size_t index,
                                                                       uint64_t offset, const void *bytes,
                                                                       size_t nbytes, dlpark_error *err);

/**
 * Writes tensors of an open file as they are there, without a way through this process where the system has one
 * (copy_file_range): those that lie side by side in both files are one piece. A tensor that is compressed, column-major or
 * big-endian in its file goes through memory, a piece at a time.
 *
 * @param index    in. The number of the first among the parts.
 * @param count    in. How many.
 * @param file     in, borrowed.
 * @param tensors  in, borrowed. Their numbers in that file: tensors[i] becomes part index + i, whose dtype and shape it has.
 * @return as dlpark_file_writer_put(), and as dlpark_file_load(). On failure some of them may be written: the writer can
 *         only be released.
 * Threads: as dlpark_file_writer_put().
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_file_writer_put_from(dlpark_file_writer *writer, size_t index,
                                                                      size_t count, const dlpark_file *file,
                                                                      const int64_t *tensors, dlpark_error *err);

/**
 * Gives the file its name, when every byte was written. Ends the writer, on failure too: then the path is as it was.
 *
 * @param writer  in, taken. NULL after.
 *                With `sync` a failure to bring the folder's list of names to the disk comes after the file has its name.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (names the first tensor that lacks bytes); as dlpark_file_save().
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_file_writer_finish(dlpark_file_writer **writer, dlpark_error *err);

/** Ends a writer without a file and empties the variable. Accepts NULL, and a NULL in it. */
DLPARK_API void dlpark_file_writer_release(dlpark_file_writer **writer);

/**
 * Writes the index file of a sharded checkpoint, byte for byte as transformers does: sorted by the names of tensors,
 * everything beyond ASCII escaped. Its shards are written before: who sees the index sees them.
 *
 * @param path          in, borrowed. "model.safetensors.index.json" in the folder of the shards.
 * @param tensors       in, borrowed. Of each the name, and as its value the shard that it is in: the name of a file, without
 *                      a folder.
 * @param count         in. How many.
 * @param total_nbytes  in. Of all tensors together: `total_size` of its metadata.
 * @param sync          in. Return only when the file is on the disk.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (a name that is no UTF-8, or comes twice; a shard that is no name of a file); as
 *         dlpark_file_save().
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_file_save_index(const char *path, const dlpark_file_pair *tensors,
                                                                 size_t count, uint64_t total_nbytes, bool sync,
                                                                 dlpark_error *err);

DLPARK_END_C

#endif
