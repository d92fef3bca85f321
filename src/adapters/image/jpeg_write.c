/* JPEG files from tensors. libjpeg reads the tensor's rows where they are, unless their pixels lie apart. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "jpeg_fault.h"

#define WRITEJPEG_ROWS 16

/* Room that is made at least, each time that libjpeg has filled what there was. */
#define WRITEJPEG_ROOM ((size_t)64 * 1024)

typedef struct writejpeg {
    struct jpeg_compress_struct cinfo;
    struct jpeg_destination_mgr destination;
    jpegfault fault;
    const image_source *source;
    const dlpark_image_save_desc *desc;
    image_buffer *out;
    unsigned char *row; /* NULL when the source is direct */
} writejpeg;

static void writejpeg_room(writejpeg *writer)
{
    if (!dlpark__image_buffer_reserve(writer->out, WRITEJPEG_ROOM))
        dlpark__jpeg_fault_raise(&writer->fault, DLPARK_E_MEMORY, "out of memory beside %zu encoded bytes",
                                 writer->out->nbytes);
    writer->destination.next_output_byte = writer->out->bytes + writer->out->nbytes;
    writer->destination.free_in_buffer = writer->out->capacity - writer->out->nbytes;
}

static void writejpeg_begin(j_compress_ptr cinfo)
{
    writejpeg_room(cinfo->client_data);
}

/* libjpeg calls this when the room is used up, whatever next_output_byte says then. */
static boolean writejpeg_full(j_compress_ptr cinfo)
{
    writejpeg *writer = cinfo->client_data;
    writer->out->nbytes = writer->out->capacity;
    writejpeg_room(writer);
    return TRUE;
}

static void writejpeg_end(j_compress_ptr cinfo)
{
    writejpeg *writer = cinfo->client_data;
    writer->out->nbytes = writer->out->capacity - writer->destination.free_in_buffer;
}

static void writejpeg_settings(writejpeg *writer)
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
static JSAMPROW writejpeg_borrow(const unsigned char *row)
{
    return (JSAMPROW)(uintptr_t)row;
}

static void writejpeg_rows(writejpeg *writer)
{
    struct jpeg_compress_struct *cinfo = &writer->cinfo;
    const image_source *source = writer->source;
    JSAMPROW rows[WRITEJPEG_ROWS] = {writer->row};
    while (cinfo->next_scanline < cinfo->image_height) {
        unsigned left = cinfo->image_height - cinfo->next_scanline;
        unsigned count = writer->row ? 1 : left < WRITEJPEG_ROWS ? left : WRITEJPEG_ROWS;
        if (writer->row)
            dlpark__image_source_get(source, (int32_t)cinfo->next_scanline, writer->row);
        for (unsigned i = 0; i < count && !writer->row; i++)
            rows[i] = writejpeg_borrow(source->data + (ptrdiff_t)(cinfo->next_scanline + i) * source->y_stride);
        (void)jpeg_write_scanlines(cinfo, rows, count);
    }
}

static void writejpeg_run(void *context)
{
    writejpeg *writer = context;
    jpeg_create_compress(&writer->cinfo);
    writer->cinfo.client_data = writer;
    writer->destination.init_destination = writejpeg_begin;
    writer->destination.empty_output_buffer = writejpeg_full;
    writer->destination.term_destination = writejpeg_end;
    writer->cinfo.dest = &writer->destination;
    writejpeg_settings(writer);
    jpeg_start_compress(&writer->cinfo, TRUE);
    writejpeg_rows(writer);
    jpeg_finish_compress(&writer->cinfo);
}

/* `row` belongs to the caller. */
static dlpark_status writejpeg_with_row(const image_source *source, const dlpark_image_save_desc *desc,
                                        unsigned char *row, image_buffer *out, dlpark_error *err)
{
    writejpeg writer = {.source = source, .desc = desc, .out = out, .row = row};
    writer.cinfo.err = dlpark__jpeg_fault_init(&writer.fault, false);
    bool done = dlpark__jpeg_guard(&writer.fault, writejpeg_run, &writer);
    jpeg_destroy_compress(&writer.cinfo);
    return done ? DLPARK_OK : dlpark__jpeg_fault_report(&writer.fault, source->name, "", err);
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
        return writejpeg_with_row(source, desc, NULL, out, err);
    unsigned char *row = malloc((size_t)source->width * (size_t)source->channels);
    if (!row)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "%s: out of memory for a row", source->name);
    dlpark_status status = writejpeg_with_row(source, desc, row, out, err);
    free(row);
    return status;
}
