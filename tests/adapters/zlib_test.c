#include "test.h"

#include <stdbool.h>
#include <stdlib.h>

#include <zlib.h>

#include <dlpark/zlib.h>

#include "failing_alloc.h"

enum { PLAIN = 100000 };

static unsigned char plain[PLAIN], packed[PLAIN * 2], out[PLAIN];
static size_t packed_nbytes;

/* Half of it noise, which does not shrink, half of it not. */
static int pack(void **state)
{
    z_stream stream = {0};
    uint32_t seed = 1;

    (void)state;
    for (size_t i = 0; i < PLAIN; i++) {
        seed = seed * 1664525 + 1013904223;
        plain[i] = (unsigned char)(i % 20000 < 10000 ? seed >> 24 : i / 1000);
    }
    assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = plain;
    stream.avail_in = PLAIN;
    stream.next_out = packed;
    stream.avail_out = sizeof packed;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    packed_nbytes = stream.total_out;
    assert_int_equal(deflateEnd(&stream), Z_OK);
    return 0;
}

/* All of it, in steps of so many bytes in and out. Returns the last result, and how much came. */
static dlpark_inflate_result unpack(size_t in, size_t room, size_t given, size_t *got, size_t *left)
{
    const dlpark_inflate *inflate = dlpark_zlib_inflate();
    void *stream = inflate->begin(inflate->context);
    dlpark_inflate_result result = stream != NULL ? DLPARK_INFLATE_MORE : DLPARK_INFLATE_MEMORY;
    size_t at = 0;

    *got = 0;
    while (result == DLPARK_INFLATE_MORE) {
        size_t from = given - at < in ? given - at : in, to = PLAIN - *got < room ? PLAIN - *got : room;
        size_t from_left = from, to_left = to;
        result = inflate->step(stream, packed + at, &from_left, out + *got, &to_left);
        at += from - from_left;
        *got += to - to_left;
        if (result == DLPARK_INFLATE_MORE && from_left == from && to_left == to)
            break;
    }
    *left = given - at;
    if (stream != NULL)
        inflate->end(stream);
    return result;
}

static void every_step_gives_the_same(void **state)
{
    static const size_t steps[] = {1, 2, 7, 1000, PLAIN * 2};
    size_t got, left;

    (void)state;
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 5; j++) {
            memset(out, 0, sizeof out);
            assert_int_equal(unpack(steps[i], steps[j], packed_nbytes + 3, &got, &left), DLPARK_INFLATE_END);
            assert_int_equal(got, PLAIN);
            assert_int_equal(left, 3); /* what is behind is not touched */
            assert_memory_equal(out, plain, PLAIN);
        }
}

static void bytes_that_are_missing_or_broken(void **state)
{
    size_t got, left;

    (void)state;
    for (size_t given = 0; given < packed_nbytes; given += 1 + given / 3) {
        assert_int_equal(unpack(PLAIN, PLAIN, given, &got, &left), DLPARK_INFLATE_MORE);
        assert_true(got < PLAIN);
        assert_int_equal(left, 0);
    }
    packed[0] |= 6; /* a kind of block that there is not */
    assert_int_equal(unpack(PLAIN, PLAIN, packed_nbytes, &got, &left), DLPARK_INFLATE_BROKEN);
    pack(NULL);
}

static void no_memory_leaves_nothing(void **state)
{
    dlpark_inflate_result result = DLPARK_INFLATE_MEMORY;
    size_t got, left;
    long nth = 0;

    (void)state;
    long live = failing_alloc_live();
    while (result == DLPARK_INFLATE_MEMORY) {
        failing_alloc_arm(++nth);
        result = unpack(100, 100, packed_nbytes, &got, &left);
        failing_alloc_arm(0);
        assert_int_equal(failing_alloc_live(), live);
    }
    assert_int_equal(result, DLPARK_INFLATE_END);
    assert_true(nth >= 4); /* the stream, zlib's state, its window, and then none */
}

/* ---- Deflate ---- */

/* In pieces of so many bytes, each behind its window, by states that are used again and in turns; unpacked by zlib. */
static void check_pieces(int level, size_t piece)
{
    const dlpark_deflate *deflate = dlpark_zlib_deflate(level);
    void *states[] = {deflate->begin(deflate->context), deflate->begin(deflate->context)};
    size_t left, got;

    packed_nbytes = 0;
    for (size_t at = 0, i = 0; at < PLAIN; at += piece, i++) {
        size_t some = PLAIN - at < piece ? PLAIN - at : piece;
        size_t window = at < DLPARK_DEFLATE_WINDOW ? at : DLPARK_DEFLATE_WINDOW;
        size_t put = deflate->piece(states[i % 2], plain + at, some, window, at + some == PLAIN, packed + packed_nbytes,
                                    sizeof packed - packed_nbytes);
        assert_true(put > 0);
        packed_nbytes += put;
    }
    memset(out, 0, sizeof out);
    assert_int_equal(unpack(PLAIN, PLAIN, packed_nbytes, &got, &left), DLPARK_INFLATE_END);
    assert_true(got == PLAIN && left == 0);
    assert_memory_equal(out, plain, PLAIN);
    deflate->end(states[0]);
    deflate->end(states[1]);
}

static void pieces_are_one_stream(void **state)
{
    size_t nbytes[10];

    (void)state;
    for (int level = 0; level <= 9; level++) {
        check_pieces(level, 1000);
        check_pieces(level, PLAIN);
        nbytes[level] = packed_nbytes;
    }
    assert_true(nbytes[9] <= nbytes[1] && nbytes[0] == nbytes[6]);
    assert_ptr_equal(dlpark_zlib_deflate(10), dlpark_zlib_deflate(0));
    assert_ptr_equal(dlpark_zlib_deflate(-1), dlpark_zlib_deflate(0));
    assert_ptr_not_equal(dlpark_zlib_deflate(1), dlpark_zlib_deflate(9));
    pack(NULL);
}

/* With every room but enough, last or not: nothing, and never a byte behind it. */
static void what_does_not_fit_is_told(void **state)
{
    enum { SOME = 3000 };
    const dlpark_deflate *deflate = dlpark_zlib_deflate(0);
    const unsigned char *from = plain + 20000 - SOME / 2;
    void *stream = deflate->begin(deflate->context);

    (void)state;
    assert_non_null(stream);
    for (int is_last = 0; is_last < 2; is_last++) {
        size_t most = deflate->piece(stream, from, SOME, 0, is_last, out, PLAIN);
        assert_true(most > 1);
        for (size_t room = 1; room < most; room++) {
            out[room] = 0x5A;
            assert_int_equal(deflate->piece(stream, from, SOME, 0, is_last, out, room), 0);
            assert_int_equal(out[room], 0x5A);
        }
        assert_int_equal(deflate->piece(stream, from, SOME, 0, is_last, out, most + 1), most);
    }
    deflate->end(stream);
}

static void no_memory_packs_nothing(void **state)
{
    const dlpark_deflate *deflate = dlpark_zlib_deflate(0);
    long nth = 0, live = failing_alloc_live();
    void *stream = NULL;

    (void)state;
    while (stream == NULL) {
        failing_alloc_arm(++nth);
        stream = deflate->begin(deflate->context);
        failing_alloc_arm(0);
        assert_true(stream != NULL || failing_alloc_live() == live);
    }
    assert_true(nth >= 4);
    deflate->end(stream);
    assert_int_equal(failing_alloc_live(), live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_step_gives_the_same), cmocka_unit_test(bytes_that_are_missing_or_broken),
        cmocka_unit_test(no_memory_leaves_nothing),  cmocka_unit_test(pieces_are_one_stream),
        cmocka_unit_test(what_does_not_fit_is_told), cmocka_unit_test(no_memory_packs_nothing),
    };

    return cmocka_run_group_tests(tests, pack, NULL);
}
