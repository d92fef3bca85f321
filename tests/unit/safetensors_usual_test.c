#include "tensor_file.h"

#include <stdbool.h>

#include "failing_alloc.h"
#include "index.h"
#include "safetensors/safetensors_parts.h"

/* ---- Alone ---- */

/* What is read of a header, of which single quotation marks stand for double ones. */
typedef struct usual {
    dlpark__index index;
    dlpark__safetensors_reader reader;
    size_t nbytes;
} usual;

static void usual_begin(usual *made, const char *header, uint64_t data_nbytes)
{
    *made = (usual){.nbytes = strlen(header)};
    made->index.text = calloc(1, made->nbytes + DLPARK__SAFETENSORS_PADDING);
    assert_non_null(made->index.text);
    for (size_t i = 0; i < made->nbytes; i++)
        made->index.text[i] = header[i] == '\'' ? '"' : header[i];
    made->reader.index = &made->index;
    made->reader.data_begin = 1000;
    made->reader.data_nbytes = data_nbytes;
    made->reader.is_seamless = true;
    dlpark__json_begin(&made->reader.json, made->index.text, made->nbytes);
}

/* Reads, and says how far; so many tensors and texts of metadata are then there. */
static void check_read(const char *header, uint64_t data_nbytes, size_t at, size_t tensors, size_t pairs)
{
    usual made;

    usual_begin(&made, header, data_nbytes);
    assert_true(dlpark__safetensors_read_usual(&made.reader));
    if (made.reader.json.at != at || made.index.count != tensors || made.index.pairs_count != pairs)
        fail_msg("%s: %zu tensors and %zu texts to %zu, not %zu and %zu to %zu", header, made.index.count,
                 made.index.pairs_count, made.reader.json.at, tensors, pairs, at);
    assert_false(made.reader.is_starved);
    dlpark__index_end(&made.index);
}

#define TENSOR "{'dtype':'U8','shape':[2],'data_offsets':[0,2]}"

static void all_to_what_is_not_usual(void **state)
{
    (void)state;
    check_read("", 2, 0, 0, 0);
    check_read("{", 2, 0, 0, 0);
    check_read("{}", 2, 0, 0, 0);
    check_read(" {'a':" TENSOR "}", 2, 0, 0, 0);
    check_read("{ 'a':" TENSOR "}", 2, 0, 0, 0);
    check_read("{'a':" TENSOR "}", 2, 5 + sizeof TENSOR - 1, 1, 0);
    check_read("{'a':" TENSOR, 2, 5 + sizeof TENSOR - 1, 1, 0);
    check_read("{'a':" TENSOR ",'b':" TENSOR "}", 2, 2 * (5 + sizeof TENSOR - 1), 2, 0);
    check_read("{'a':" TENSOR ", 'b':" TENSOR "}", 2, 5 + sizeof TENSOR - 1, 1, 0);
    check_read("{'a':" TENSOR ",}", 2, 5 + sizeof TENSOR - 1, 1, 0);
    check_read("{'a':" TENSOR ",'__metadata__':{},'b':" TENSOR "}", 2, 5 + sizeof TENSOR - 1, 1, 0);
    check_read("{'a':" TENSOR ",'__metadata_0':" TENSOR "}", 2, 2 * (5 + sizeof TENSOR - 1) + 11, 2, 0);
    check_read("{'a':" TENSOR ",'b\\n':" TENSOR "}", 2, 5 + sizeof TENSOR - 1, 1, 0);
    check_read("{'a':" TENSOR ",'b\n':" TENSOR "}", 2, 5 + sizeof TENSOR - 1, 1, 0);
    check_read("{'a name that takes more than one step':" TENSOR "}", 2, 40 + sizeof TENSOR - 1, 1, 0);
}

static void metadata_before_all(void **state)
{
    (void)state;
    check_read("{'__metadata__':{'format':'pt'}}", 0, 31, 0, 1);
    check_read("{'__metadata__':{'a':'1','':'2'},'a':" TENSOR "}", 2, 32 + 5 + sizeof TENSOR - 1, 1, 2);
    check_read("{'__metadata__':{'a':'1','':''", 0, 0, 0, 0);
    check_read("{'__metadata__':{'a':'1','", 0, 0, 0, 0);
    check_read("{'__metadata__':{'a':'1',", 0, 0, 0, 0);
    check_read("{'__metadata__':{'a':'1','b", 0, 0, 0, 0);
    check_read("{'__metadata__':{'a':'1','b':", 0, 0, 0, 0);
    check_read("{'__metadata__':{'a':'1','b':'", 0, 0, 0, 0);
    check_read("{'__metadata__':{'a':'1' }}", 0, 0, 0, 0);
    check_read("{'__metadata__':{'a':1}}", 0, 0, 0, 0);
    check_read("{'__metadata__':{'a':'1','b':'\\n'}}", 0, 0, 0, 0);
    check_read("{'__metadata__':{}}", 0, 0, 0, 0);
    check_read("{'__metadata__':null}", 0, 0, 0, 0);
}

/* ---- Fields ---- */

/* Whether a tensor of these fields is taken. It is either way the same as one that has spaces in it. */
static void check_fields(const char *fields, uint64_t data_nbytes, bool is_usual)
{
    char header[1024];

    snprintf(header, sizeof header, "{'t':%s}", fields);
    check_read(header, data_nbytes, is_usual ? strlen(header) - 1 : 0, is_usual, 0);
}

static void dtypes_in_front_of_what_follows(void **state)
{
    (void)state;
    for (int i = 0; i < DLPARK__SAFETENSORS_TYPES; i++) {
        char fields[200];
        const dlpark__index_type *type = &dlpark__safetensors_types[i];
        snprintf(fields, sizeof fields, "{'dtype':'%s','shape':[8],'data_offsets':[0,%d]}", type->name,
                 type->dtype.bits);
        check_fields(fields, type->dtype.bits, strlen(type->name) < 8); /* the longest two are not known */
    }
    check_fields("{'dtype':'U','shape':[2],'data_offsets':[0,2]}", 2, false);
    check_fields("{'dtype':'','shape':[2],'data_offsets':[0,2]}", 2, false);
    check_fields("{'dtype':'F8_E4M3F','shape':[2],'data_offsets':[0,2]}", 2, false);
    check_fields("{'dtype':'F8_E4M3' ,'shape':[2],'data_offsets':[0,2]}", 2, false);
    check_fields("{'dtype':'BOOL','sizes':[2],'data_offsets':[0,2]}", 2, false);
    check_fields("{'DTYPE':'U8','shape':[2],'data_offsets':[0,2]}", 2, false);
}

static void shapes_and_their_bytes(void **state)
{
    char fields[512];

    (void)state;
    check_fields("{'dtype':'F32','shape':[],'data_offsets':[0,4]}", 4, true);
    check_fields("{'dtype':'F32','shape':[],'data_offsets':[0,3]}", 4, false);
    check_fields("{'dtype':'F32','shape':[0],'data_offsets':[0,0]}", 4, false); /* right, and left to the other way */
    check_fields("{'dtype':'U8','shape':[4294967295],'data_offsets':[0,4294967295]}", UINT64_MAX / 2, true);
    check_fields("{'dtype':'U8','shape':[4294967296],'data_offsets':[0,4294967296]}", UINT64_MAX / 2, false);
    check_fields("{'dtype':'F4','shape':[3],'data_offsets':[0,1]}", 4, false);
    check_fields("{'dtype':'F4','shape':[2],'data_offsets':[0,1]}", 4, true);
    check_fields("{'dtype':'U8','shape':[2;3],'data_offsets':[0,6]}", 6, false);
    check_fields("{'dtype':'U8','shape':[2,],'data_offsets':[0,2]}", 6, false);
    check_fields("{'dtype':'U8','shape':[02],'data_offsets':[0,2]}", 6, false);
    /* 2^64 elements, and 2^62 of 64 bits: nothing is left of the product */
    check_fields("{'dtype':'U8','shape':[2147483648,2147483648,4],'data_offsets':[0,0]}", 6, false);
    check_fields("{'dtype':'U64','shape':[2147483648,2147483648],'data_offsets':[0,0]}", 6, false);
    for (int rank = 63; rank <= 66; rank++) {
        int used = snprintf(fields, sizeof fields, "{'dtype':'U8','shape':[1");
        for (int i = 1; i < rank; i++)
            used += snprintf(fields + used, sizeof fields - (size_t)used, ",1");
        snprintf(fields + used, sizeof fields - (size_t)used, "],'data_offsets':[0,1]}");
        check_fields(fields, 1, rank <= 64);
    }
}

static void offsets_within_the_data(void **state)
{
    (void)state;
    check_fields("{'dtype':'U8','shape':[2],'data_offsets':[7,9]}", 9, true);
    check_fields("{'dtype':'U8','shape':[2],'data_offsets':[7,9]}", 8, false);
    check_fields("{'dtype':'U8','shape':[2],'data_offsets':[9,7]}", 9, false);
    check_fields("{'dtype':'U8','shape':[2],'data_offsets':[,2]}", 9, false);
    check_fields("{'dtype':'U8','shape':[2],'data_offsets':[0]}", 9, false);
    check_fields("{'dtype':'U8','shape':[2],'data_offsets':[0,]}", 9, false);
    check_fields("{'dtype':'U8','shape':[2],'data_offsets':[0,2],'x':1}", 9, false);
    check_fields("{'dtype':'U8','shape':[2],'offsets':[0,2]}", 9, false);
    /* eight digits at once, and of nineteen each is within 64 bits */
    check_fields("{'dtype':'U8','shape':[2],'data_offsets':[12345678,12345680]}", 12345680, true);
    check_fields("{'dtype':'U8','shape':[2],'data_offsets':[1234567890123,1234567890125]}", UINT64_MAX / 2, true);
    check_fields("{'dtype':'U8','shape':[2],'data_offsets':[9999999999999999997,9999999999999999999]}", UINT64_MAX - 9,
                 true);
    check_fields("{'dtype':'U8','shape':[2],'data_offsets':[10000000000000000000,10000000000000000002]}",
                 UINT64_MAX - 9, false);
    check_fields("{'dtype':'U8','shape':[2],'data_offsets':[18446744073709551616,18446744073709551618]}", 9, false);
    check_fields("{'dtype':'U8','shape':[2],'data_offsets':[00000000,2]}", 9, false);
}

static void entries_are_filled_in(void **state)
{
    usual made;
    int64_t shape[DLPARK_MAX_NDIM];

    (void)state;
    usual_begin(&made,
                "{'a':{'dtype':'F32','shape':[],'data_offsets':[0,4]},'bc':{'dtype':'BF16','shape':[3,4294967295],"
                "'data_offsets':[4,25769803774]},'d':{'dtype':'BF16','shape':[1],'data_offsets':[0,2]}}",
                UINT64_MAX / 2);
    assert_true(dlpark__safetensors_read_usual(&made.reader));
    assert_int_equal(made.index.count, 3);
    const dlpark__index_entry *entry = &made.index.entries[1];
    assert_memory_equal(made.index.text + entry->name.at, "bc", entry->name.nbytes);
    assert_string_equal(dlpark__safetensors_types[entry->type].name, "BF16");
    assert_int_equal(entry->begin, 1004);
    assert_int_equal(entry->nbytes, 25769803770);
    assert_int_equal(entry->ndim, 2);
    dlpark__index_shape(&made.index, entry, shape);
    assert_int_equal(shape[0], 3);
    assert_int_equal(shape[1], 4294967295);
    assert_int_equal(made.index.entries[0].ndim, 0);
    assert_int_equal(made.index.entries[2].begin, 1000);
    assert_int_equal(made.reader.reached, 2);
    assert_false(made.reader.is_seamless); /* the third is where the first is */
    dlpark__index_end(&made.index);
}

/* A dtype that is none comes first: what follows is judged without it. */
static void tensor_behind_one_of_an_unknown_dtype(void **state)
{
    tensor_file made = tensor_file_text("{'x':{'dtype':'X','shape':[1],'data_offsets':[0,1]},"
                                        "'y':{'dtype':'U8','shape':[1],'data_offsets':[1,2]},"
                                        "'z':{'dtype':'U8','shape':[1],'data_offsets':[2,4]}}",
                                        4);
    tensor_file_path path = tensor_file_save(&made);
    dlpark_file_fault faults[4];
    size_t count = 0;

    (void)state;
    assert_ok(dlpark_file_check(path.text, NULL, faults, 4, &count, e));
    assert_int_equal(count, 2);
    assert_string_equal(faults[0].rule, "dtype");
    assert_string_equal(faults[1].rule, "size");
    tensor_file_drop(&path);
    tensor_file_end(&made);
}

static void no_memory_is_no_fault(void **state)
{
    long live = failing_alloc_live();

    (void)state;
    for (long nth = 1; nth <= 4; nth++) {
        usual made;
        usual_begin(&made, "{'__metadata__':{'format':'pt'},'a':" TENSOR "}", 2);
        failing_alloc_arm(nth);
        bool is_read = dlpark__safetensors_read_usual(&made.reader);
        failing_alloc_arm(0);
        assert_int_equal(is_read, nth == 4); /* the metadata, the entry, its extents */
        assert_int_equal(made.reader.is_starved, nth != 4);
        assert_string_equal(made.reader.json.fault, "");
        dlpark__index_end(&made.index);
        assert_int_equal(failing_alloc_live(), live);
    }
}

/* ---- In pieces ---- */

enum { PIECE = 256 << 10 };

/* Tensors of one byte, the first of which has a name that moves all others by so much. */
static tensor_file many_of(size_t moved, size_t count, const char *metadata)
{
    char *header = malloc(count * 80 + moved + strlen(metadata) + 100);
    size_t used;

    assert_non_null(header);
    used = (size_t)sprintf(header, "{%s\"", metadata);
    memset(header + used, '_', moved);
    used += moved;
    for (size_t i = 0; i < count; i++)
        used += (size_t)sprintf(header + used,
                                "%s%zu\xC3\xA9\":{\"dtype\":\"U8\",\"shape\":[1,1],\"data_offsets\":[%zu,%zu]}",
                                i > 0 ? ",\"" : "", i, i, i + 1);
    header[used++] = '}';
    tensor_file made = tensor_file_of(header, used, count);
    free(header);
    return made;
}

static void check_many(const tensor_file *made, size_t count, size_t pairs)
{
    dlpark_file *file = NULL;

    assert_ok(dlpark_file_open_memory(&file, made->bytes, made->nbytes, NULL, NULL, NULL, e));
    assert_int_equal(dlpark_file_count(file), count);
    assert_int_equal(dlpark_file_metadata_count(file), pairs);
    for (size_t i = 1; i < count; i += 97) {
        char name[32];
        int length = snprintf(name, sizeof name, "%zu\xC3\xA9", i);
        assert_int_equal(dlpark_file_find(file, name, (size_t)length), i);
    }
    dlpark_file_release(&file);
}

/* Each byte of a member is once where a piece ends: of letters of two bytes, of numbers, of words. */
static void pieces_end_anywhere(void **state)
{
    enum { COUNT = PIECE / 50 };

    (void)state;
    for (size_t moved = 0; moved < 80; moved++) {
        tensor_file made = many_of(moved, COUNT, "\"__metadata__\":{\"format\":\"pt\"},");
        assert_true(made.data > PIECE + 8);
        check_many(&made, COUNT, 1);
        tensor_file_end(&made);
    }
}

/* Names and metadata of more than a piece, and of more than two. */
static void members_of_more_than_a_piece(void **state)
{
    enum { COUNT = PIECE / 20 };
    char *metadata = malloc(3 * PIECE + 100);

    (void)state;
    assert_non_null(metadata);
    for (size_t i = 1; i <= 5; i++) {
        tensor_file made = many_of(i * (PIECE / 2), COUNT, "");
        check_many(&made, COUNT, 0);
        tensor_file_end(&made);
        size_t used = (size_t)sprintf(metadata, "\"__metadata__\":{\"a\":\"");
        memset(metadata + used, 'm', i * (PIECE / 2));
        strcpy(metadata + used + i * (PIECE / 2), "\",\"b\":\"\"},");
        made = many_of(0, COUNT, metadata);
        check_many(&made, COUNT, 2);
        tensor_file_end(&made);
    }
    free(metadata);
}

/* A byte of a header of two pieces is none: before the piece ends, behind it, and of a letter that it cuts. */
static void bytes_that_are_no_utf8_around_a_piece(void **state)
{
    enum { COUNT = PIECE / 40 };
    tensor_file made = many_of(0, COUNT, "");
    dlpark_file *file = NULL;

    (void)state;
    for (size_t at = PIECE - 70; at < PIECE + 70; at++)
        for (int byte = 0; byte < 2; byte++) {
            char why[64];
            dlpark_error err = {.message = ""};
            unsigned char before = made.bytes[8 + at], next = made.bytes[9 + at];
            if (before >= 0x80 || next >= 0x80)
                continue;
            made.bytes[8 + at] = byte == 0 ? 0xFF : 0xF0; /* none, and one that three more would make a letter */
            assert_int_equal(dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, NULL, &err),
                             DLPARK_E_FORMAT);
            snprintf(why, sizeof why, "byte 0x%02X of the header is no UTF-8", made.bytes[8 + at]);
            if (strstr(err.message, why) == NULL)
                fail_msg("byte %zu: \"%s\"", at, err.message);
            made.bytes[8 + at] = before;
        }
    tensor_file_end(&made);
}

/* Where the usual is read as it comes, and where something else is before it. */
static void no_memory_for_many(void **state)
{
    enum { COUNT = PIECE / 30 };
    static const char *const metadata[] = {"", "\"__metadata__\":{\"a\":\"\\n\"},"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        tensor_file made = many_of(0, COUNT, metadata[i]);
        long live = failing_alloc_live(), failures = 0;
        bool is_reached = true;
        for (long nth = 1; is_reached; nth++) {
            dlpark_file *file = NULL;
            dlpark_error err = {.message = ""};
            failing_alloc_arm(nth);
            dlpark_status status = dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, NULL, &err);
            is_reached = failing_alloc_count() >= nth;
            failing_alloc_arm(0);
            assert_true(status == DLPARK_OK || (status == DLPARK_E_MEMORY && err.message[0] != '\0'));
            failures += status != DLPARK_OK;
            dlpark_file_release(&file);
            assert_int_equal(failing_alloc_live(), live);
        }
        assert_in_range(failures, 10, 100);
        tensor_file_end(&made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_to_what_is_not_usual),
        cmocka_unit_test(metadata_before_all),
        cmocka_unit_test(dtypes_in_front_of_what_follows),
        cmocka_unit_test(shapes_and_their_bytes),
        cmocka_unit_test(offsets_within_the_data),
        cmocka_unit_test(entries_are_filled_in),
        cmocka_unit_test(tensor_behind_one_of_an_unknown_dtype),
        cmocka_unit_test(no_memory_is_no_fault),
        cmocka_unit_test(pieces_end_anywhere),
        cmocka_unit_test(members_of_more_than_a_piece),
        cmocka_unit_test(bytes_that_are_no_utf8_around_a_piece),
        cmocka_unit_test(no_memory_for_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
