/*
 * Arrow arrays as a producer makes them, in memory of the test's: one for all levels, with a count of releases.
 */
#ifndef ARROW_MADE_H
#define ARROW_MADE_H

#include "test.h"

#include <dlpark/arrow.h>

/* One array of up to three levels, whose release counts. The levels share a block of the test's, which outlives them. */
typedef struct made {
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct ArrowSchema child_schema[2];
    struct ArrowArray child_array[2];
    struct ArrowSchema *schema_children[2];
    struct ArrowArray *array_children[2];
    const void *buffers[3][2];
    int released;
} made;

static inline void made_release_array(struct ArrowArray *array)
{
    made *producer = array->private_data;

    producer->released++;
    array->release = NULL;
}

static inline void made_release_schema(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

/* The numbers at the innermost level; `formats` from the outside in, `lengths` of each level. */
static inline void make(made *producer, int levels, const char *const *formats, const int64_t *lengths,
                        const void *data)
{
    memset(producer, 0, sizeof *producer);
    for (int i = 0; i < levels; i++) {
        struct ArrowSchema *schema = i ? &producer->child_schema[i - 1] : &producer->schema;
        struct ArrowArray *array = i ? &producer->child_array[i - 1] : &producer->array;
        bool leaf = i == levels - 1;
        schema->format = formats[i];
        schema->release = made_release_schema;
        schema->n_children = !leaf;
        schema->children = &producer->schema_children[i];
        array->length = lengths[i];
        array->n_buffers = leaf ? 2 : 1;
        array->buffers = producer->buffers[i];
        producer->buffers[i][1] = leaf ? data : NULL;
        array->n_children = !leaf;
        array->children = &producer->array_children[i];
        array->release = made_release_array;
        array->private_data = producer;
        if (!leaf) {
            producer->schema_children[i] = &producer->child_schema[i];
            producer->array_children[i] = &producer->child_array[i];
        }
    }
}

static inline void make_flat(made *producer, const char *format, int64_t length, const void *data)
{
    make(producer, 1, &format, &length, data);
}

static inline void make_lists(made *producer, const char *list, int64_t length, const char *format, int64_t inner,
                              const void *data)
{
    make(producer, 2, (const char *const[]){list, format}, (const int64_t[]){length, inner}, data);
}

/* Metadata as Arrow has them: pairs of counted strings. */
static inline void make_metadata(char *out, int pairs, const char *const *texts)
{
    int32_t count = pairs;

    memcpy(out, &count, 4);
    out += 4;
    for (int i = 0; i < 2 * pairs; i++) {
        count = (int32_t)strlen(texts[i]);
        memcpy(out, &count, 4);
        memcpy(out + 4, texts[i], (size_t)count);
        out += 4 + count;
    }
}

static inline void make_tensors(made *producer, char *metadata, const char *says, const char *list, int64_t length,
                                int64_t inner, const void *data)
{
    make_lists(producer, list, length, "f", inner, data);
    make_metadata(metadata, 3,
                  (const char *const[]){"k", "v", "ARROW:extension:name", "arrow.fixed_shape_tensor",
                                        "ARROW:extension:metadata", says});
    producer->schema.metadata = metadata;
}

static const float numbers[24] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23};

static const struct {
    const char *format;
    DLDataType dtype;
} plain[] = {
    {"c", {kDLInt, 8, 1}},    {"s", {kDLInt, 16, 1}},   {"i", {kDLInt, 32, 1}},   {"l", {kDLInt, 64, 1}},
    {"C", {kDLUInt, 8, 1}},   {"S", {kDLUInt, 16, 1}},  {"I", {kDLUInt, 32, 1}},  {"L", {kDLUInt, 64, 1}},
    {"e", {kDLFloat, 16, 1}}, {"f", {kDLFloat, 32, 1}}, {"g", {kDLFloat, 64, 1}},
};

#define PLAIN_COUNT (sizeof plain / sizeof plain[0])

static inline void assert_shape(const dlpark_view *view, int32_t ndim, const int64_t *shape, const int64_t *strides)
{
    assert_int_equal(view->ndim, ndim);
    for (int32_t i = 0; i < ndim; i++) {
        assert_int_equal(view->shape[i], shape[i]);
        assert_int_equal(view->strides[i], strides[i]);
    }
}

#endif
