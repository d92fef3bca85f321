/* JPEG files from tensors. libjpeg reads the tensor's rows where they are, unless their pixels lie apart. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "jpeg_fault.h"

#define JPEG_WRITE_ROWS 16

/* Room that is made at least, each time that libjpeg has filled what there was. */
#define JPEG_WRITE_ROOM ((size_t)64 * 1024)

typedef struct jpeg_writer {
    struct jpeg_compress_struct cinfo;
    struct jpeg_destination_mgr destination;
    jpeg_fault fault;
    const image_source *source;
    const dlpark_image_save_desc *desc;
    image_buffer *out;
    unsigned char *row; /* NULL when the source is direct */
} jpeg_writer;

static void jpeg_write_room(jpeg_writer *writer)
{
    if (!dlpark__image_buffer_reserve(writer->out, JPEG_WRITE_ROOM))
        dlpark__jpeg_fault_raise(&writer->fault, DLPARK_E_MEMORY, "out of memory beside %zu encoded bytes",
                                 writer->out->nbytes);
    writer->destination.next_output_byte = writer->out->bytes + writer->out->nbytes;
    writer->destination.free_in_buffer = writer->out->capacity - writer->out->nbytes;
}

static void jpeg_write_begin(j_compress_ptr cinfo)
{
    jpeg_write_room(cinfo->client_data);
}

/* libjpeg calls this when the room is used up, whatever next_output_byte says then. */
static boolean jpeg_write_full(j_compress_ptr cinfo)
{
    jpeg_writer *writer = cinfo->client_data;
    writer->out->nbytes = writer->out->capacity;
    jpeg_write_room(writer);
    return TRUE;
}

static void jpeg_write_end(j_compress_ptr cinfo)
{
    jpeg_writer *writer = cinfo->client_data;
    writer->out->nbytes = writer->out->capacity - writer->destination.free_in_buffer;
}

static void jpeg_write_settings(jpeg_writer *writer)
{
    struct jpeg_compress_struct *cinfo = &writer->cinfo;
    cinfo->image_width = (JDIMENSION)writer->source->width;
    cinfo->image_height = (JDIMENSION)writer->source->height;
    cinfo->input_components = writer->source->channels;
    cinfo->in_color_space = writer->source->channels == 1 ? JCS_GRAYSCALE : JCS_EXT_RGB;
    jpeg_set_defaults(cinfo);
    jpeg_set_quality(cinfo, writer->desc->quality, TRUE);
    if (writer->source->channels == 3) {
        cinfo->comp_info[0].h_samp_factor = writer->desc->subsampling == 444 ? 1 : 2;
        cinfo->comp_info[0].v_samp_factor = writer->desc->subsampling == 420 ? 2 : 1;
    }
    if (writer->desc->progressive)
        jpeg_simple_progression(cinfo);
}

/* libjpeg declares the rows that it reads as writable. */
static JSAMPROW jpeg_write_borrow(const unsigned char *row)
{
    return (JSAMPROW)(uintptr_t)row;
}

static void jpeg_write_rows(jpeg_writer *writer)
{
    struct jpeg_compress_struct *cinfo = &writer->cinfo;
    const image_source *source = writer->source;
    JSAMPROW rows[JPEG_WRITE_ROWS] = {writer->row};
    while (cinfo->next_scanline < cinfo->image_height) {
        unsigned left = cinfo->image_height - cinfo->next_scanline;
        unsigned count = writer->row ? 1 : left < JPEG_WRITE_ROWS ? left : JPEG_WRITE_ROWS;
        if (writer->row)
            dlpark__image_source_get(source, (int32_t)cinfo->next_scanline, writer->row);
        for (unsigned i = 0; i < count && !writer->row; i++)
            rows[i] = jpeg_write_borrow(source->data + (ptrdiff_t)(cinfo->next_scanline + i) * source->y_stride);
        (void)jpeg_write_scanlines(cinfo, rows, count);
    }
}

static void jpeg_write_run(void *context)
{
    jpeg_writer *writer = context;
    jpeg_create_compress(&writer->cinfo);
    writer->cinfo.client_data = writer;
    writer->destination.init_destination = jpeg_write_begin;
    writer->destination.empty_output_buffer = jpeg_write_full;
    writer->destination.term_destination = jpeg_write_end;
    writer->cinfo.dest = &writer->destination;
    jpeg_write_settings(writer);
    jpeg_start_compress(&writer->cinfo, TRUE);
    jpeg_write_rows(writer);
    jpeg_finish_compress(&writer->cinfo);
}

/* `row` belongs to the caller. */
static dlpark_status jpeg_write_with_row(const image_source *source, const dlpark_image_save_desc *desc,
                                         unsigned char *row, image_buffer *out, dlpark_error *err)
{
    jpeg_writer writer = {.source = source, .desc = desc, .out = out, .row = row};
    writer.cinfo.err = dlpark__jpeg_fault_init(&writer.fault, false);
    bool done = dlpark__jpeg_guard(&writer.fault, jpeg_write_run, &writer);
    jpeg_destroy_compress(&writer.cinfo);
    return done ? DLPARK_OK : dlpark__jpeg_fault_report(&writer.fault, source->name, err);
}

dlpark_status dlpark__jpeg_encode(const image_source *source, const dlpark_image_save_desc *desc, image_buffer *out,
                                  dlpark_error *err)
{
    int32_t longer = source->width > source->height ? source->width : source->height;
    if (longer > JPEG_MAX_DIMENSION)
        return dlpark_error_set(err, DLPARK_E_UNSUPPORTED,
                                "%s: JPEG cannot store a side of %" PRId32 " pixels, at most %ld: save as PNG",
                                source->name, longer, (long)JPEG_MAX_DIMENSION);
    if (dlpark__image_source_is_direct(source))
        return jpeg_write_with_row(source, desc, NULL, out, err);
    unsigned char *row = malloc((size_t)source->width * (size_t)source->channels);
    if (!row)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "%s: out of memory for a row", source->name);
    dlpark_status status = jpeg_write_with_row(source, desc, row, out, err);
    free(row);
    return status;
}
