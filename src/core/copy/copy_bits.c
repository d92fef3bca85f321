/*
 * Copies of elements that share bytes: any sub-byte dtype, packed or padded on either side, at any bit offset and with
 * any strides. A padded element is written with the rest of its bytes zero; of packed ones, no other bit changes.
 */
#include "../elements/bits_parts.h"
#include "../elements/walk_parts.h"

typedef struct bits_job {
    unsigned width; /* bits of an element */
    bool to_padded;
    bool from_padded;
    unsigned char *to;
    const unsigned char *from;
} bits_job;

/* Elements of less than a byte, one at a time. */
static void bits_copy_small(const bits_job *job, const dlpark__walk *walk, const dlpark__walk_dim *run)
{
    int64_t to = walk->to, from = walk->from;

    for (int64_t i = 0; i < run->extent; i++, to += run->to, from += run->from) {
        unsigned value = dlpark__bits_get(dlpark__bits_byte(job->from, from), (unsigned)(from & 7), job->width);
        if (job->to_padded)
            *dlpark__bits_byte_mut(job->to, to) = (unsigned char)value;
        else
            dlpark__bits_put(dlpark__bits_byte_mut(job->to, to), (unsigned)(to & 7), job->width, value);
    }
}

/* Vectors of more than a byte, such as three lanes of four bits. */
static void bits_copy_large(const bits_job *job, const dlpark__walk *walk, const dlpark__walk_dim *run)
{
    int64_t to = walk->to, from = walk->from;

    for (int64_t i = 0; i < run->extent; i++, to += run->to, from += run->from) {
        dlpark__bits_move(job->to, to, job->from, from, job->width);
        if (job->to_padded)
            *dlpark__bits_byte_mut(job->to, to + job->width) &= (unsigned char)(0xFFu >> (8 - job->width % 8));
    }
}

static void bits_copy_run(const bits_job *job, const dlpark__walk *walk)
{
    const dlpark__walk_dim *run = &walk->dims[walk->ndim - 1];
    bool small = job->width < 8;

    /* No stride of a padded side is a width that is no multiple of 8. */
    if (run->to == job->width && run->from == job->width)
        dlpark__bits_move(job->to, walk->to, job->from, walk->from, run->extent * job->width);
    else if (small && job->to_padded && run->to == 8 && run->from == job->width)
        dlpark__bits_unpack(dlpark__bits_byte_mut(job->to, walk->to), job->from, walk->from, job->width, run->extent);
    else if (small && job->from_padded && run->from == 8 && run->to == job->width)
        dlpark__bits_pack(job->to, walk->to, dlpark__bits_byte(job->from, walk->from), job->width, run->extent);
    else if (small)
        bits_copy_small(job, walk, run);
    else
        bits_copy_large(job, walk, run);
}

void dlpark__copy_bits(const dlpark_view *to, const dlpark_view *from)
{
    bits_job job = {dlpark_dtype_nbits(to->dtype), !dlpark__view_is_packed(to), !dlpark__view_is_packed(from), to->data,
                    from->data};
    dlpark__walk walk;

    dlpark__walk_init(&walk, to, from);
    dlpark__walk_add_sorted(&walk, to, from);
    dlpark__walk_join(&walk);
    dlpark__walk_begin(&walk);
    do
        bits_copy_run(&job, &walk);
    while (dlpark__walk_next(&walk));
}
