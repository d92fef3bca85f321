/*
 * What every C test includes: cmocka, and assertions on status and message.
 */
#ifndef TEST_H
#define TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <dlpark/dlpark.h>

/* A stand-in for an error that a failing call must overwrite and a succeeding call must leave alone. */
static inline dlpark_error test_fresh_error(void)
{
    dlpark_error err;

    memset(&err, 0x5A, sizeof err);
    return err;
}

#define assert_ok(call)                                                                                                \
    do {                                                                                                               \
        dlpark_error test_error = test_fresh_error();                                                                  \
        dlpark_error *e = &test_error;                                                                                 \
        dlpark_status test_status = (call);                                                                            \
        if (test_status != DLPARK_OK)                                                                                  \
            fail_msg("%s: %s: %s", #call, dlpark_status_name(test_status), test_error.message);                        \
        assert_int_equal((unsigned char)test_error.message[0], 0x5A);                                                  \
    } while (0)

/* `call` names the error as `e`. The message must contain `text`. */
#define assert_fails(expected, text, call)                                                                             \
    do {                                                                                                               \
        dlpark_error test_error = test_fresh_error();                                                                  \
        dlpark_error *e = &test_error;                                                                                 \
        dlpark_status test_status = (call);                                                                            \
        if (test_status != (expected))                                                                                 \
            fail_msg("%s: got %s, expected %s", #call, dlpark_status_name(test_status), dlpark_status_name(expected)); \
        assert_int_equal(test_error.status, (expected));                                                               \
        if (strstr(test_error.message, (text)) == NULL)                                                                \
            fail_msg("%s: \"%s\" does not contain \"%s\"", #call, test_error.message, (text));                         \
        e = NULL;                                                                                                      \
        assert_int_equal((call), (expected)); /* the text is optional */                                               \
    } while (0)

#endif
