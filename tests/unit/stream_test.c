#include "test.h"

#include <dlpark/stream.h>
#include <stdbool.h>

/* What the standard's table says of a number, written out for each kind of device: the oracle. */
enum { HOST, CUDA, ROCM, OTHER, NUMBERINGS };
enum { REFUSED = -1 };

static int numbering_of(int type)
{
    switch (type) {
    case 1:  /* cpu */
    case 3:  /* cuda_host */
    case 11: /* rocm_host */
        return HOST;
    case 2:  /* cuda */
    case 13: /* cuda_managed */
        return CUDA;
    case 10: /* rocm */
        return ROCM;
    default:
        return OTHER;
    }
}

static const struct {
    int64_t number;
    int kind[NUMBERINGS]; /* dlpark_stream_kind, or REFUSED */
} table[] = {
    {INT64_MIN, {REFUSED, REFUSED, REFUSED, REFUSED}},
    {INT64_MIN + 1, {REFUSED, REFUSED, REFUSED, REFUSED}},
    {-4294967297, {REFUSED, REFUSED, REFUSED, REFUSED}}, /* -1 in its lower half */
    {-2147483648LL, {REFUSED, REFUSED, REFUSED, REFUSED}},
    {-3, {REFUSED, REFUSED, REFUSED, REFUSED}},
    {-2, {REFUSED, REFUSED, REFUSED, REFUSED}},
    {-1, {DLPARK_STREAM_NO_SYNC, DLPARK_STREAM_NO_SYNC, DLPARK_STREAM_NO_SYNC, DLPARK_STREAM_NO_SYNC}},
    {0, {REFUSED, REFUSED, DLPARK_STREAM_DEFAULT, REFUSED}},
    {1, {REFUSED, DLPARK_STREAM_DEFAULT, REFUSED, DLPARK_STREAM_HANDLE}},
    {2, {REFUSED, DLPARK_STREAM_PER_THREAD, REFUSED, DLPARK_STREAM_HANDLE}},
    {3, {REFUSED, DLPARK_STREAM_HANDLE, DLPARK_STREAM_HANDLE, DLPARK_STREAM_HANDLE}},
    {4, {REFUSED, DLPARK_STREAM_HANDLE, DLPARK_STREAM_HANDLE, DLPARK_STREAM_HANDLE}},
    {0x1000, {REFUSED, DLPARK_STREAM_HANDLE, DLPARK_STREAM_HANDLE, DLPARK_STREAM_HANDLE}},
    {0x7fffffff, {REFUSED, DLPARK_STREAM_HANDLE, DLPARK_STREAM_HANDLE, DLPARK_STREAM_HANDLE}},
    {0x80000000, {REFUSED, DLPARK_STREAM_HANDLE, DLPARK_STREAM_HANDLE, DLPARK_STREAM_HANDLE}},
    {0xffffffff, {REFUSED, DLPARK_STREAM_HANDLE, DLPARK_STREAM_HANDLE, DLPARK_STREAM_HANDLE}},
#if UINTPTR_MAX > 0xffffffff
    {0x100000000, {REFUSED, DLPARK_STREAM_HANDLE, DLPARK_STREAM_HANDLE, DLPARK_STREAM_HANDLE}},
    {0x100000001, {REFUSED, DLPARK_STREAM_HANDLE, DLPARK_STREAM_HANDLE, DLPARK_STREAM_HANDLE}},
    {0x7f0123456780, {REFUSED, DLPARK_STREAM_HANDLE, DLPARK_STREAM_HANDLE, DLPARK_STREAM_HANDLE}},
    {INT64_MAX, {REFUSED, DLPARK_STREAM_HANDLE, DLPARK_STREAM_HANDLE, DLPARK_STREAM_HANDLE}},
#else
    {0x100000000, {REFUSED, REFUSED, REFUSED, REFUSED}}, /* wider than a pointer */
    {0x100000001, {REFUSED, REFUSED, REFUSED, REFUSED}},
    {INT64_MAX, {REFUSED, REFUSED, REFUSED, REFUSED}},
#endif
};

#define TABLE (sizeof table / sizeof table[0])

/* Every code of DLPack 1.3, and codes that it does not have. */
#define FIRST_TYPE (-3)
#define LAST_TYPE  40

static DLDevice device_of(int type)
{
    return DLPARK_DEVICE((DLDeviceType)type, type == 2 ? 1 : 0);
}

static dlpark_stream stream_of(dlpark_stream_kind kind, uintptr_t handle)
{
    return (dlpark_stream){kind, (void *)handle};
}

/* What is in `out` before a call that must not write it. */
static dlpark_stream untouched(void)
{
    return stream_of(DLPARK_STREAM_PIN_32, 0x5A5A);
}

static void check_decoded(int type, int64_t number, int kind)
{
    dlpark_stream stream = untouched();
    char text[128];

    if (kind == REFUSED) {
        snprintf(text, sizeof text, "stream=%lld for a tensor on %s: expected None", (long long)number,
                 dlpark_device_name(device_of(type)).text);
        assert_fails(DLPARK_E_ARGUMENT, text, dlpark_stream_decode(device_of(type), number, &stream, e));
        assert_int_equal(stream.kind, DLPARK_STREAM_PIN_32);
        assert_true((uintptr_t)stream.handle == 0x5A5A);
        return;
    }
    assert_ok(dlpark_stream_decode(device_of(type), number, &stream, e));
    assert_int_equal(stream.kind, kind);
    assert_true((uintptr_t)stream.handle == (kind == DLPARK_STREAM_HANDLE ? (uintptr_t)number : 0));
}

static void numbers_are_read_as_the_table_says(void **state)
{
    (void)state;
    for (int type = FIRST_TYPE; type <= LAST_TYPE; type++)
        for (size_t i = 0; i < TABLE; i++)
            check_decoded(type, table[i].number, table[i].kind[numbering_of(type)]);
}

static void what_was_read_is_written_as_the_same_number(void **state)
{
    (void)state;
    for (int type = FIRST_TYPE; type <= LAST_TYPE; type++) {
        for (size_t i = 0; i < TABLE; i++) {
            dlpark_stream stream;
            int64_t number = 77;
            if (table[i].kind[numbering_of(type)] == REFUSED)
                continue;
            assert_ok(dlpark_stream_decode(device_of(type), table[i].number, &stream, e));
            assert_ok(dlpark_stream_encode(device_of(type), stream, &number, e));
            assert_true(number == table[i].number);
        }
    }
}

static void check_encoded(int type, dlpark_stream stream, bool exists, int64_t expected)
{
    int64_t number = 77;
    dlpark_stream back = untouched();

    if (!exists) {
        assert_fails(DLPARK_E_ARGUMENT, "", dlpark_stream_encode(device_of(type), stream, &number, e));
        assert_int_equal(number, 77);
        return;
    }
    assert_ok(dlpark_stream_encode(device_of(type), stream, &number, e));
    assert_true(number == expected);
    assert_ok(dlpark_stream_decode(device_of(type), number, &back, e)); /* whoever gets the number understands it */
    assert_ptr_equal(dlpark_stream_native(device_of(type), back), dlpark_stream_native(device_of(type), stream));
}

static void every_stream_is_written_or_refused(void **state)
{
    (void)state;
    for (int type = FIRST_TYPE; type <= LAST_TYPE; type++) {
        int numbering = numbering_of(type);
        bool cuda = numbering == CUDA;
        check_encoded(type, stream_of(DLPARK_STREAM_UNSAID, 0), false, 0);
        check_encoded(type, stream_of(DLPARK_STREAM_NO_SYNC, 0), true, -1);
        check_encoded(type, stream_of(DLPARK_STREAM_DEFAULT, 0), cuda || numbering == ROCM, cuda ? 1 : 0);
        check_encoded(type, stream_of(DLPARK_STREAM_PER_THREAD, 0), cuda, 2);
        check_encoded(type, stream_of(DLPARK_STREAM_HANDLE, 0), false, 0);
        check_encoded(type, stream_of(DLPARK_STREAM_HANDLE, 1), cuda || numbering == OTHER, 1);
        check_encoded(type, stream_of(DLPARK_STREAM_HANDLE, 2), cuda || numbering == OTHER, 2);
        check_encoded(type, stream_of(DLPARK_STREAM_HANDLE, 3), numbering != HOST, 3);
        check_encoded(type, stream_of(DLPARK_STREAM_HANDLE, 0xffffffff), numbering != HOST, 0xffffffff);
#if UINTPTR_MAX > INT64_MAX
        check_encoded(type, stream_of(DLPARK_STREAM_HANDLE, INT64_MAX), numbering != HOST, INT64_MAX);
        check_encoded(type, stream_of(DLPARK_STREAM_HANDLE, (uintptr_t)INT64_MAX + 1), false, 0);
        check_encoded(type, stream_of(DLPARK_STREAM_HANDLE, UINTPTR_MAX), false, 0); /* -1, were it wrapped */
#endif
        check_encoded(type, stream_of((dlpark_stream_kind)5, 0), false, 0);
        check_encoded(type, stream_of(DLPARK_STREAM_PIN_32, 0), false, 0);
        check_encoded(type, stream_of((dlpark_stream_kind)-1, 0), false, 0);
    }
}

static uintptr_t native(int type, dlpark_stream_kind kind, uintptr_t handle)
{
    return (uintptr_t)dlpark_stream_native(device_of(type), stream_of(kind, handle));
}

static void the_driver_has_its_own_names(void **state)
{
    (void)state;
    for (int type = FIRST_TYPE; type <= LAST_TYPE; type++) {
        bool cuda = numbering_of(type) == CUDA;
        assert_int_equal(native(type, DLPARK_STREAM_UNSAID, 0), cuda ? 1 : 0);
        assert_int_equal(native(type, DLPARK_STREAM_NO_SYNC, 0), 0);
        assert_int_equal(native(type, DLPARK_STREAM_DEFAULT, 0), cuda ? 1 : 0);
        assert_int_equal(native(type, DLPARK_STREAM_PER_THREAD, 0), cuda ? 2 : 0);
        assert_int_equal(native(type, DLPARK_STREAM_HANDLE, 0x1234), 0x1234);
        assert_int_equal(native(type, (dlpark_stream_kind)5, 0), 0);
    }
}

static void the_host_alone_has_no_streams(void **state)
{
    (void)state;
    for (int type = FIRST_TYPE; type <= LAST_TYPE; type++)
        assert_int_equal(dlpark_device_has_streams(device_of(type)), numbering_of(type) != HOST);
}

static void a_refusal_says_what_is_allowed(void **state)
{
    static const struct {
        int type;
        int64_t number;
        const char *message;
    } refusals[] = {
        {1, 0, "stream=0 for a tensor on cpu: expected None or -1, the host has no streams"},
        {3, 7, "stream=7 for a tensor on cuda_host: expected None or -1, the host has no streams"},
        {2, 0,
         "stream=0 for a tensor on cuda:1: expected None, 1 (legacy default), 2 (per-thread default), a handle above "
         "2, or -1 (no synchronisation); 0 is ambiguous"},
        {10, 2,
         "stream=2 for a tensor on rocm:0: expected None, 0 (default), a handle above 2, or -1 (no synchronisation); 1 "
         "and 2 mean nothing"},
        {14, 0, "stream=0 for a tensor on one_api:0: expected None, a handle above 0, or -1 (no synchronisation)"},
        {8, -2, "stream=-2 for a tensor on metal:0: expected None, a handle above 0, or -1 (no synchronisation)"},
    };
    dlpark_error err;
    dlpark_stream stream;

    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        assert_int_equal(dlpark_stream_decode(device_of(refusals[i].type), refusals[i].number, &stream, &err),
                         DLPARK_E_ARGUMENT);
        assert_string_equal(err.message, refusals[i].message);
    }
}

static void a_stream_that_has_no_number_is_told(void **state)
{
    static const struct {
        int type;
        dlpark_stream stream;
        const char *message;
    } unwritten[] = {
        {1, {DLPARK_STREAM_UNSAID, NULL}, "cpu has no number for a stream that is unsaid: it is None"},
        {2, {DLPARK_STREAM_UNSAID, NULL}, "cuda:1 has no number for a stream that is unsaid: it is None"},
        {14, {DLPARK_STREAM_DEFAULT, NULL}, "one_api:0 has no number for a default stream: it is None"},
        {10, {DLPARK_STREAM_PER_THREAD, NULL}, "rocm:0 has no per-thread default stream"},
        {14,
         {DLPARK_STREAM_HANDLE, NULL},
         "a stream with the handle 0x0 for a tensor on one_api:0: expected None, a handle above 0, or -1 (no "
         "synchronisation)"},
        {1, {(dlpark_stream_kind)5, NULL}, "5 is no kind of stream"},
    };
    dlpark_error err;
    int64_t number;

    (void)state;
    for (size_t i = 0; i < sizeof unwritten / sizeof unwritten[0]; i++) {
        assert_int_equal(dlpark_stream_encode(device_of(unwritten[i].type), unwritten[i].stream, &number, &err),
                         DLPARK_E_ARGUMENT);
        assert_string_equal(err.message, unwritten[i].message);
    }
}

static void the_types_have_their_sizes(void **state)
{
    (void)state;
    assert_int_equal(sizeof(dlpark_stream_kind), 4);
    assert_int_equal(sizeof(dlpark_stream), 2 * sizeof(void *));
    assert_int_equal(DLPARK_STREAM_UNSAID, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_read_as_the_table_says),
        cmocka_unit_test(what_was_read_is_written_as_the_same_number),
        cmocka_unit_test(every_stream_is_written_or_refused),
        cmocka_unit_test(the_driver_has_its_own_names),
        cmocka_unit_test(the_host_alone_has_no_streams),
        cmocka_unit_test(a_refusal_says_what_is_allowed),
        cmocka_unit_test(a_stream_that_has_no_number_is_told),
        cmocka_unit_test(the_types_have_their_sizes),
    };

    return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
