/*
 * PNG files by libpng's row interface. The simplified interface would apply gamma; here samples stay the file's own.
 *
 * What can fail is a step, as png_fault.h says; what a step needs or leaves is in the heap block below.
 *
 * Whatever libpng warns of is an error here, unless damage is tolerated. That costs no good photograph: the chunks
 * whose content does not touch pixels, and of which libpng has the most to say, are passed over unparsed.
 */
#include <stdio.h>
#include <string.h>

#include "parts.h"
#include "png_fault.h"

#define READPNG_SIDE_MAX  0x7fffffff
#define READPNG_SIGNATURE 8 /* bytes before the first chunk */
#define READPNG_NOWHERE   SIZE_MAX

typedef struct readpng {
    pngfault fault;
    png_structp png;
    png_infop info;

    const unsigned char *bytes;
    size_t nbytes;
    size_t position;
    size_t shortened_at; /* an IDAT head whose length is replaced, or NOWHERE */
    uint32_t shortened_to;
    bool cut_short;

    image_sample sample; /* what libpng is asked to deliver */
    int32_t channels;
    unsigned char colours[256][4]; /* the palette, RGBA; black where it has no entry */
    int ncolours;
    int passes;
    int pass; /* under way */
    int32_t y;

    unsigned char *rows; /* where libpng writes row 0 */
    ptrdiff_t stride;
    int32_t height;
    int32_t block;    /* rows that are collected there before they are put into the sink; 0: none, they lie there */
    int32_t gathered; /* of them */
    const image_sink *sink;
} readpng;

/* A chunk as far as the file has it. */
typedef struct readpng_chunk {
    size_t at; /* of its head */
    const unsigned char *type;
    const unsigned char *data;
    size_t said; /* bytes by its head */
    size_t there;
} readpng_chunk;

/* ---- libpng's callbacks ---- */

static void readpng_on_read(png_structp png, png_bytep to, size_t nbytes)
{
    readpng *r = png_get_io_ptr(png);
    if (nbytes > r->nbytes - r->position) {
        r->cut_short = true;
        png_error(png, "cut short");
    }
    memcpy(to, r->bytes + r->position, nbytes);
    if (r->position == r->shortened_at && nbytes >= 4)
        png_save_uint_32(to, r->shortened_to);
    r->position += nbytes;
}

/* ---- walking the chunks, without libpng ---- */

/* The chunk whose head is at `at`; false when there is no whole head or an impossible length. */
static bool readpng_chunk_at(const readpng *r, size_t at, readpng_chunk *chunk)
{
    if (at > r->nbytes || r->nbytes - at < 8)
        return false;
    uint32_t said = parts_load_be32(r->bytes + at);
    if (said > READPNG_SIDE_MAX)
        return false;
    *chunk = (readpng_chunk){at, r->bytes + at + 4, r->bytes + at + 8, said, said};
    if (chunk->there > r->nbytes - at - 8)
        chunk->there = r->nbytes - at - 8;
    return true;
}

/* The place after a chunk and its checksum; beyond the file's end when the chunk is not all there. */
static size_t readpng_after(const readpng *r, const readpng_chunk *chunk)
{
    size_t left = r->nbytes - chunk->at - 8;
    return chunk->said > left || left - chunk->said < 4 ? READPNG_NOWHERE : chunk->at + 8 + chunk->said + 4;
}

static bool readpng_is(const readpng_chunk *chunk, const char *type)
{
    return memcmp(chunk->type, type, 4) == 0;
}

static dlpark_status readpng_count_ancillary(const image_reader *reader, const readpng_chunk *chunk, int32_t *count,
                                             dlpark_error *err)
{
    bool ancillary = (chunk->type[0] & 0x20) != 0;
    if (ancillary && (*count)++ >= reader->max_chunks)
        return dlpark_error_set(err, DLPARK_E_LIMIT, "%s: more than max_chunks = %d ancillary chunks", reader->name,
                                (int)reader->max_chunks);
    return DLPARK_OK;
}

/* When damage is tolerated, an IDAT that is cut short gets the length that is there: libpng reads pieces of 4 KiB and
 * would otherwise drop the last one although it is usable. */
static void readpng_shorten(readpng *r, const readpng_chunk *chunk)
{
    if (r->fault.tolerant && chunk->there < chunk->said) {
        r->shortened_at = chunk->at;
        r->shortened_to = (uint32_t)chunk->there;
    }
}

static dlpark_status readpng_refuse_animation(const image_reader *reader, const readpng_chunk *chunk, dlpark_error *err)
{
    if (!readpng_is(chunk, "acTL"))
        return DLPARK_OK;
    return dlpark_error_set(err, DLPARK_E_UNSUPPORTED, "%s: animated PNG (acTL, %u frames)", reader->name,
                            chunk->there >= 4 ? (unsigned)parts_load_be32(chunk->data) : 0);
}

/* What libpng does not tell: how many chunks there are; animation and orientation, which count only before the
 * picture. All of the file, so that what is refused is refused before memory is taken for a picture. */
static dlpark_status readpng_walk(image_reader *reader, readpng *r, dlpark_error *err)
{
    int32_t count = 0;
    bool before_picture = true;
    readpng_chunk chunk;
    for (size_t at = READPNG_SIGNATURE; readpng_chunk_at(r, at, &chunk); at = readpng_after(r, &chunk)) {
        if (readpng_is(&chunk, "IEND"))
            break;
        if (readpng_is(&chunk, "IDAT")) {
            before_picture = false;
            readpng_shorten(r, &chunk);
        }
        DLPARK_TRY(readpng_count_ancillary(reader, &chunk, &count, err));
        if (before_picture)
            DLPARK_TRY(readpng_refuse_animation(reader, &chunk, err));
        if (before_picture && readpng_is(&chunk, "eXIf"))
            reader->head.orientation = dlpark__exif_orientation(chunk.data, chunk.there);
    }
    return DLPARK_OK;
}

/* ---- open ---- */

static bool readpng_matches(const unsigned char *bytes, size_t nbytes)
{
    /* Not all eight bytes: of a file that went through a text-mode transfer libpng can then say so. */
    return nbytes >= 4 && memcmp(bytes, "\x89PNG", 4) == 0;
}

static dlpark_status readpng_fail(const image_reader *reader, const readpng *r, dlpark_error *err)
{
    if (r->fault.out_of_memory)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "%s: out of memory for a PNG of %d x %d pixels", reader->name,
                                (int)reader->head.width, (int)reader->head.height);
    if (r->info == NULL)
        return dlpark_error_set(err, DLPARK_E_FOREIGN, "%s: libpng does not start: %s%s", reader->name, r->fault.reason,
                                r->fault.warning);
    char where[64] = "";
    if (r->pass < r->passes && r->passes == 1)
        snprintf(where, sizeof where, ", in row %d of %d", (int)r->y + 1, (int)r->height);
    else if (r->pass < r->passes)
        snprintf(where, sizeof where, ", in row %d of %d, pass %d of 7", (int)r->y + 1, (int)r->height, r->pass + 1);
    const char *advice = r->rows != NULL ? IMAGE_TOLERABLE : ""; /* as readpng_rows() has it */
    if (r->cut_short)
        return dlpark_error_set(err, DLPARK_E_FORMAT, "%s: the PNG is cut short after %zu bytes%s%s", reader->name,
                                r->nbytes, where, advice);
    bool explained = r->fault.warning[0] != '\0';
    return dlpark_error_set(err, DLPARK_E_FORMAT, "%s: damaged PNG: %s%s%s%s%s%s", reader->name, r->fault.reason,
                            explained ? " (" : "", r->fault.warning, explained ? ")" : "", where, advice);
}

static void readpng_step_create(void *context)
{
    readpng *r = context;
    r->png = dlpark__png_fault_reader(&r->fault);
    r->info = r->png != NULL ? png_create_info_struct(r->png) : NULL;
}

static void readpng_step_head(void *context)
{
    readpng *r = context;
    png_structp png = r->png;
    png_set_read_fn(png, r, readpng_on_read);
    png_set_user_limits(png, READPNG_SIDE_MAX, READPNG_SIDE_MAX);
    /* libpng would complain of large chunks that it passes over; of those that it reads it allocates none. */
    png_set_chunk_malloc_max(png, PNG_UINT_31_MAX);
    png_set_benign_errors(png, r->fault.tolerant);
    if (r->fault.tolerant)
        png_set_crc_action(png, PNG_CRC_WARN_USE, PNG_CRC_WARN_DISCARD);
    else
        png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
    /* Every chunk but IHDR, PLTE, tRNS, IDAT, IEND: only its checksum is looked at, nothing is kept or inflated. */
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_read_info(png, r->info);
}

static void readpng_fill_head(const readpng *r, dlpark_image_info *head)
{
    const int type = png_get_color_type(r->png, r->info);
    const bool colour = (type & PNG_COLOR_MASK_COLOR) != 0;
    const bool alpha = (type & PNG_COLOR_MASK_ALPHA) != 0 || png_get_valid(r->png, r->info, PNG_INFO_tRNS) != 0;
    head->format = DLPARK_IMAGE_PNG;
    head->width = (int32_t)png_get_image_width(r->png, r->info);
    head->height = (int32_t)png_get_image_height(r->png, r->info);
    head->channels = (colour ? 3 : 1) + (alpha ? 1 : 0);
    head->bits = png_get_bit_depth(r->png, r->info) == 16 ? 16 : 8;
    head->progressive = png_get_interlace_type(r->png, r->info) != PNG_INTERLACE_NONE;
    head->lossless = true;
}

static dlpark_status readpng_start(image_reader *reader, readpng *r, dlpark_error *err)
{
    reader->head.orientation = 1;
    DLPARK_TRY(readpng_walk(reader, r, err));
    if (!dlpark__png_guard(&r->fault, readpng_step_create, r) || r->info == NULL)
        return readpng_fail(reader, r, err);
    if (!dlpark__png_guard(&r->fault, readpng_step_head, r))
        return readpng_fail(reader, r, err);
    readpng_fill_head(r, &reader->head);
    return DLPARK_OK;
}

static void readpng_close(image_reader *reader)
{
    readpng *r = reader->state;
    reader->state = NULL;
    if (r == NULL)
        return;
    if (r->png != NULL)
        png_destroy_read_struct(&r->png, &r->info, NULL);
    free(r);
}

static dlpark_status readpng_open(image_reader *reader, dlpark_error *err)
{
    readpng *r = calloc(1, sizeof *r);
    reader->state = r;
    if (r == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "%s: out of memory for a PNG reader", reader->name);
    r->bytes = reader->bytes;
    r->nbytes = reader->nbytes;
    r->fault.tolerant = reader->tolerant;
    r->shortened_at = READPNG_NOWHERE;
    dlpark_status status = readpng_start(reader, r, err);
    if (status != DLPARK_OK)
        readpng_close(reader);
    return status;
}

/* ---- decode ---- */

/* What libpng shall deliver: the sink's own samples and channels, which it converts exactly, except for what it cannot
 * do exactly or at all: grey from colour, floats, and 16 bits from a palette, whose colours are put in here. */
static void readpng_choose(readpng *r, const dlpark_image_info *head, const image_sink *sink)
{
    r->sample = sink->sample;
    r->channels = sink->channels;
    if (sink->sample == IMAGE_F32 || (head->channels >= 3 && sink->channels <= 2)) {
        r->sample = head->bits == 16 ? IMAGE_U16 : IMAGE_U8;
        r->channels = head->channels;
    }
    if (png_get_color_type(r->png, r->info) == PNG_COLOR_TYPE_PALETTE)
        r->sample = IMAGE_U8;
}

/* Called by libpng on each row of indices, one a byte, which become pixels in place: from the last one on, so that none
 * is written over before it is read. libpng's own way gives black for an index that the palette lacks, in silence. */
static void readpng_on_indices(png_structp png, png_row_infop row, png_bytep data)
{
    const readpng *r = png_get_user_transform_ptr(png);
    const size_t channels = (size_t)r->channels;
    for (size_t x = row->width; x-- > 0;) {
        const int index = data[x];
        if (index >= r->ncolours && !r->fault.tolerant) {
            char text[64];
            snprintf(text, sizeof text, "index %d into a palette of %d colours", index, r->ncolours);
            png_error(png, text);
        }
        memcpy(data + x * channels, r->colours[index], 3);
        if (channels == 4)
            data[4 * x + 3] = r->colours[index][3];
    }
}

static void readpng_palette(readpng *r)
{
    png_colorp colours = NULL;
    png_bytep alphas = NULL;
    int nalphas = 0;
    (void)png_get_PLTE(r->png, r->info, &colours, &r->ncolours);
    (void)png_get_tRNS(r->png, r->info, &alphas, &nalphas, NULL);
    for (int i = 0; i < 256; i++) {
        r->colours[i][3] = 0xff;
        if (i < r->ncolours) {
            r->colours[i][0] = colours[i].red;
            r->colours[i][1] = colours[i].green;
            r->colours[i][2] = colours[i].blue;
        }
        if (i < nalphas)
            r->colours[i][3] = alphas[i];
    }
    png_set_packing(r->png);
    png_set_read_user_transform_fn(r->png, readpng_on_indices);
    png_set_user_transform_info(r->png, r, 8, r->channels);
}

/* Samples that are colours themselves. */
static void readpng_samples(readpng *r)
{
    png_structp png = r->png;
    dlpark_image_info head = {0};
    readpng_fill_head(r, &head);
    png_set_expand(png);
    if (head.channels % 2 == 0 && r->channels % 2 == 1)
        png_set_strip_alpha(png);
    if (head.bits == 16 && r->sample == IMAGE_U8)
        png_set_scale_16(png);
    if (head.bits == 8 && r->sample == IMAGE_U16)
        png_set_expand_16(png);
    if (head.channels <= 2 && r->channels >= 3)
        png_set_gray_to_rgb(png);
    if (head.channels % 2 == 1 && r->channels % 2 == 0)
        png_set_add_alpha(png, 0xffff, PNG_FILLER_AFTER);
    if (r->sample == IMAGE_U16 && parts_host_is_little_endian())
        png_set_swap(png);
}

static void readpng_step_transforms(void *context)
{
    readpng *r = context;
    if (png_get_color_type(r->png, r->info) == PNG_COLOR_TYPE_PALETTE)
        readpng_palette(r);
    else
        readpng_samples(r);
    r->passes = png_set_interlace_handling(r->png);
    r->pass = r->passes;
    png_read_update_info(r->png, r->info);
}

/* Puts the collected rows, the last of which is before row `end`. */
static void readpng_flush(readpng *r, int32_t end)
{
    dlpark__image_sink_put_rows(r->sink, end - r->gathered, r->gathered, r->rows, (size_t)r->stride, r->sample,
                                r->channels);
    r->gathered = 0;
}

/* libpng passes over pixel data that lies in chunks of its own behind the end of the compressed stream. */
static void readpng_refuse_more_data(readpng *r)
{
    readpng_chunk chunk;
    for (size_t at = r->position; readpng_chunk_at(r, at, &chunk); at = readpng_after(r, &chunk))
        if (readpng_is(&chunk, "IDAT") && chunk.said > 0)
            png_error(r->png, "IDAT: more data behind the end of the picture's");
}

static void readpng_step_rows(void *context)
{
    readpng *r = context;
    for (r->pass = 0; r->pass < r->passes; r->pass++)
        for (r->y = 0; r->y < r->height; r->y++) {
            png_read_row(r->png, r->rows + (r->block == 0 ? r->y : r->gathered) * r->stride, NULL);
            if (r->block != 0 && (++r->gathered == r->block || r->y + 1 == r->height))
                readpng_flush(r, r->y + 1);
        }
    if (!r->fault.tolerant)
        readpng_refuse_more_data(r);
    png_read_end(r->png, NULL);
}

/* Runs the rows. A file that is damaged there is none to somebody who tolerates it; memory that is out always is. */
static dlpark_status readpng_rows(const image_reader *reader, readpng *r, dlpark_error *err)
{
    if (dlpark__png_guard(&r->fault, readpng_step_rows, r) || (r->fault.tolerant && !r->fault.out_of_memory))
        return DLPARK_OK;
    return readpng_fail(reader, r, err);
}

static dlpark_status readpng_no_memory(const image_reader *reader, readpng *r, dlpark_error *err)
{
    r->fault.out_of_memory = true;
    return readpng_fail(reader, r, err);
}

static dlpark_status readpng_direct(const image_reader *reader, readpng *r, dlpark_error *err)
{
    r->rows = r->sink->data;
    r->stride = r->sink->y_stride;
    /* Seven passes leave holes everywhere when they end early, one leaves the rows that did not come. */
    if (r->passes > 1 && r->fault.tolerant && !parts_zero_rows_from(r->sink, 0))
        return readpng_no_memory(reader, r, err);
    DLPARK_TRY(readpng_rows(reader, r, err));
    if (r->passes == 1 && r->pass == 0 && !parts_zero_rows_from(r->sink, r->y))
        return readpng_no_memory(reader, r, err);
    return DLPARK_OK;
}

static dlpark_status readpng_block_by_block(const image_reader *reader, readpng *r, size_t row_nbytes,
                                            dlpark_error *err)
{
    r->block = dlpark__image_sink_block(r->sink);
    unsigned char *rows = parts_alloc_rows((size_t)r->block, row_nbytes);
    if (rows == NULL)
        return readpng_no_memory(reader, r, err);
    r->rows = rows;
    r->stride = (ptrdiff_t)row_nbytes;
    dlpark_status status = readpng_rows(reader, r, err);
    if (status == DLPARK_OK)
        readpng_flush(r, r->y);
    free(rows);
    if (status == DLPARK_OK && r->pass == 0 && !parts_zero_rows_from(r->sink, r->y))
        return readpng_no_memory(reader, r, err);
    return status;
}

/* Every pass touches rows all over, so they are gathered before the first can be put. */
static dlpark_status readpng_interlaced(const image_reader *reader, readpng *r, size_t row_nbytes, dlpark_error *err)
{
    unsigned char *picture = parts_alloc_rows((size_t)r->height, row_nbytes);
    if (picture == NULL)
        return readpng_no_memory(reader, r, err);
    r->rows = picture;
    r->stride = (ptrdiff_t)row_nbytes;
    dlpark_status status = readpng_rows(reader, r, err);
    if (status == DLPARK_OK)
        parts_put_picture(r->sink, picture, row_nbytes, r->sample, r->channels);
    free(picture);
    return status;
}

static dlpark_status readpng_decode(image_reader *reader, const image_sink *sink, dlpark_error *err)
{
    readpng *r = reader->state;
    r->sink = sink;
    r->height = sink->height;
    readpng_choose(r, &reader->head, sink);
    if (!dlpark__png_guard(&r->fault, readpng_step_transforms, r))
        return readpng_fail(reader, r, err);
    size_t sample_nbytes = r->sample == IMAGE_U16 ? 2 : 1;
    size_t row_nbytes = png_get_rowbytes(r->png, r->info);
    if (row_nbytes != (size_t)sink->width * (size_t)r->channels * sample_nbytes)
        return dlpark_error_set(err, DLPARK_E_FOREIGN,
                                "%s: libpng delivers rows of %zu bytes for %d pixels of %d x %zu", reader->name,
                                row_nbytes, (int)sink->width, (int)r->channels, sample_nbytes);
    if (dlpark__image_sink_is_direct(sink, r->sample, r->channels))
        return readpng_direct(reader, r, err);
    if (r->passes == 1)
        return readpng_block_by_block(reader, r, row_nbytes, err);
    return readpng_interlaced(reader, r, row_nbytes, err);
}

const image_codec dlpark__image_png = {
    .format = DLPARK_IMAGE_PNG,
    .name = "PNG",
    .matches = readpng_matches,
    .open = readpng_open,
    .decode = readpng_decode,
    .close = readpng_close,
    .encode = dlpark__png_encode,
};
