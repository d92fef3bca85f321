#include "test.h"

#include <stdbool.h>

#include "npz/crc32.h"
#include "failing_alloc.h"
#include "plain_inflate.h"
#include "npz/unpack.h"

enum { PLAIN = 140000, BLOCK = 1000, BEGIN = 17 };

static unsigned char plain[PLAIN], file[BEGIN + PLAIN * 2], out[PLAIN];
static size_t packed_nbytes;
static uint32_t plain_sum;

static int pack(void **state)
{
    (void)state;
    for (size_t i = 0; i < PLAIN; i++)
        plain[i] = (unsigned char)(i * 31 % 253);
    plain_deflate(file + BEGIN, plain, PLAIN, BLOCK);
    packed_nbytes = plain_deflate_nbytes(PLAIN, BLOCK);
    plain_sum = ~dlpark__crc32_add(DLPARK__CRC32_BEGIN, plain, PLAIN);
    return 0;
}

static dlpark__source *source_of(size_t nbytes)
{
    dlpark__source *source = NULL;

    assert_ok(dlpark__source_open_memory(&source, file, nbytes, NULL, NULL, e));
    return source;
}

/* In pieces of so many bytes, each second one to nowhere. */
static void unpack_in_pieces(size_t piece)
{
    dlpark__source *source = source_of(BEGIN + packed_nbytes);
    dlpark__unpack *unpack = NULL;

    memset(out, 0, sizeof out);
    assert_ok(dlpark__unpack_begin(&unpack, source, plain_inflate(), BEGIN, packed_nbytes, e));
    for (size_t at = 0, n = 0; at < PLAIN; at += piece, n++) {
        size_t some = PLAIN - at < piece ? PLAIN - at : piece;
        bool is_kept = n % 2 == 0;
        assert_ok(dlpark__unpack_read(unpack, is_kept ? out + at : NULL, some, e));
        assert_null(unpack->fault);
        assert_int_equal(unpack->done, at + some);
        if (is_kept)
            assert_memory_equal(out + at, plain + at, some);
    }
    assert_ok(dlpark__unpack_finish(unpack, plain_sum, e));
    assert_null(unpack->fault);
    dlpark__unpack_end(unpack);
    dlpark__source_release(source);
}

static void pieces_of_any_length(void **state)
{
    static const size_t pieces[] = {1, 3, 999, 1000, 16384, 16385, 40000, PLAIN, PLAIN + 1};

    (void)state;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        unpack_in_pieces(pieces[i]);
    dlpark__unpack_end(NULL);
}

/* What the packed bytes lack or have too much of: read whole, then finished. */
static const char *fault_of(const dlpark_inflate *inflate, size_t packed, size_t wanted, uint32_t sum)
{
    dlpark__source *source = source_of(sizeof file);
    dlpark__unpack *unpack = NULL;

    assert_ok(dlpark__unpack_begin(&unpack, source, inflate, BEGIN, packed, e));
    assert_ok(dlpark__unpack_read(unpack, out, wanted, e));
    if (unpack->fault == NULL)
        assert_ok(dlpark__unpack_finish(unpack, sum, e));
    const char *fault = unpack->fault;
    if (fault != NULL) { /* and it stays */
        assert_ok(dlpark__unpack_read(unpack, out, 1, e));
        assert_ok(dlpark__unpack_finish(unpack, sum, e));
        assert_ptr_equal(unpack->fault, fault);
    }
    dlpark__unpack_end(unpack);
    dlpark__source_release(source);
    return fault;
}

static void faults(void **state)
{
    const dlpark_inflate *inflate = plain_inflate();

    (void)state;
    assert_null(fault_of(inflate, packed_nbytes, PLAIN, plain_sum));
    assert_string_equal(fault_of(inflate, packed_nbytes, PLAIN, plain_sum ^ 1),
                        "its bytes have another CRC-32 than the directory says");
    assert_string_equal(fault_of(inflate, packed_nbytes - 1, PLAIN, plain_sum), "its deflated bytes end too early");
    assert_string_equal(fault_of(inflate, 100, PLAIN, plain_sum), "its deflated bytes end too early");
    assert_string_equal(fault_of(inflate, 0, 1, 0), "its deflated bytes end too early");
    assert_string_equal(fault_of(inflate, packed_nbytes, PLAIN - 1, plain_sum),
                        "its deflated bytes unpack to more than the directory says");
    assert_string_equal(fault_of(inflate, packed_nbytes + 1, PLAIN, plain_sum), "bytes stand behind its deflated ones");
    assert_string_equal(fault_of(inflate, sizeof file - BEGIN, PLAIN, plain_sum),
                        "bytes stand behind its deflated ones");
    memset(out, 0xEE, sizeof out);
    dlpark__source *source = source_of(sizeof file);
    dlpark__unpack *unpack = NULL;
    assert_ok(dlpark__unpack_begin(&unpack, source, inflate, BEGIN, packed_nbytes, e));
    assert_ok(dlpark__unpack_read(unpack, NULL, PLAIN, e));
    assert_ok(dlpark__unpack_read(unpack, out, 1, e));
    assert_string_equal(unpack->fault, "its deflated bytes unpack to fewer than the directory says");
    dlpark__unpack_end(unpack);
    dlpark__source_release(source);
    file[BEGIN + BLOCK + PLAIN_INFLATE_HEADER] = 7;
    assert_string_equal(fault_of(inflate, packed_nbytes, PLAIN, plain_sum), "its deflated bytes are broken");
    file[BEGIN + BLOCK + PLAIN_INFLATE_HEADER] = 0;
}

/* A stream that ends where a read does. */
static void bytes_behind_in_the_next_read(void **state)
{
    enum { LESS = 130417 };
    uint32_t sum = ~dlpark__crc32_add(DLPARK__CRC32_BEGIN, plain, LESS);

    assert_int_equal(plain_deflate_nbytes(LESS, BLOCK), DLPARK__UNPACK_NBYTES);
    plain_deflate(file + BEGIN, plain, LESS, BLOCK);
    assert_null(fault_of(plain_inflate(), DLPARK__UNPACK_NBYTES, LESS, sum));
    assert_string_equal(fault_of(plain_inflate(), DLPARK__UNPACK_NBYTES + 1, LESS, sum),
                        "bytes stand behind its deflated ones");
    pack(state);
}

/* ---- Functions that do as they are told ---- */

static dlpark_inflate_result told;

static dlpark_inflate_result step_as_told(void *state, const unsigned char *from, size_t *from_nbytes,
                                          unsigned char *to, size_t *to_nbytes)
{
    (void)state;
    (void)from;
    (void)from_nbytes;
    (void)to;
    (void)to_nbytes;
    return told;
}

/* Takes a byte and gives none. */
static dlpark_inflate_result step_to_nowhere(void *state, const unsigned char *from, size_t *from_nbytes,
                                             unsigned char *to, size_t *to_nbytes)
{
    (void)state;
    (void)from;
    (void)to;
    (void)to_nbytes;
    *from_nbytes -= *from_nbytes != 0;
    return DLPARK_INFLATE_MORE;
}

static void functions_that_do_nothing(void **state)
{
    const dlpark_inflate idle = {plain_inflate_begin, step_as_told, free, NULL};
    const dlpark_inflate hungry = {plain_inflate_begin, step_to_nowhere, free, NULL};
    dlpark__source *source = source_of(sizeof file);
    dlpark__unpack *unpack = NULL;

    (void)state;
    assert_string_equal(fault_of(&hungry, packed_nbytes, 1, 0), "its deflated bytes end too early");
    told = DLPARK_INFLATE_MORE;
    assert_string_equal(fault_of(&idle, packed_nbytes, 1, 0), "its deflated bytes end too early");
    told = DLPARK_INFLATE_END;
    assert_string_equal(fault_of(&idle, packed_nbytes, 1, 0),
                        "its deflated bytes unpack to fewer than the directory says");
    told = DLPARK_INFLATE_MEMORY;
    assert_ok(dlpark__unpack_begin(&unpack, source, &idle, BEGIN, packed_nbytes, e));
    assert_fails(DLPARK_E_MEMORY, "<memory>: no memory to unpack it", dlpark__unpack_read(unpack, out, 1, e));
    assert_fails(DLPARK_E_MEMORY, "<memory>: no memory to unpack it", dlpark__unpack_finish(unpack, 0, e));
    dlpark__unpack_end(unpack);
    dlpark__source_release(source);
}

static void no_memory_leaves_nothing(void **state)
{
    dlpark__source *source = source_of(sizeof file);
    dlpark__unpack *unpack = NULL;
    long live = failing_alloc_live();
    dlpark_error err;

    (void)state;
    for (int n = 1; n < 3; n++) {
        failing_alloc_arm(n);
        assert_int_equal(dlpark__unpack_begin(&unpack, source, plain_inflate(), BEGIN, packed_nbytes, &err),
                         DLPARK_E_MEMORY);
        failing_alloc_arm(0);
        assert_null(unpack);
        assert_int_equal(failing_alloc_live(), live);
    }
    dlpark__source_release(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_of_any_length),          cmocka_unit_test(faults),
        cmocka_unit_test(bytes_behind_in_the_next_read), cmocka_unit_test(functions_that_do_nothing),
        cmocka_unit_test(no_memory_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, pack, NULL);
}
