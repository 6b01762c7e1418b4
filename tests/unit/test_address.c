/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/address.h"

static const struct {
    const char *text, *compressed, *full;
    int version;
} addresses[] = {
    { "10.1.2.3", "10.1.2.3", "10.1.2.3", 4 },
    { "0.0.0.0", "0.0.0.0", "0.0.0.0", 4 },
    { "255.255.255.255", "255.255.255.255", "255.255.255.255", 4 },
    { "::", "::", "0000:0000:0000:0000:0000:0000:0000:0000", 6 },
    { "::1", "::1", "0000:0000:0000:0000:0000:0000:0000:0001", 6 },
    { "2001:0DB8::1", "2001:db8::1", "2001:0db8:0000:0000:0000:0000:0000:0001", 6 },
    { "2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1", "2001:0db8:0000:0001:0001:0001:0001:0001", 6 },
    { "2001:0:0:1:0:0:0:1", "2001:0:0:1::1", "2001:0000:0000:0001:0000:0000:0000:0001", 6 },
    { "::ffff:1.2.3.4", "::ffff:1.2.3.4", "0000:0000:0000:0000:0000:ffff:0102:0304", 6 },
    { "fe80:aaaa:bbbb:cccc:dddd:eeee:ffff:1234", "fe80:aaaa:bbbb:cccc:dddd:eeee:ffff:1234",
      "fe80:aaaa:bbbb:cccc:dddd:eeee:ffff:1234", 6 },
};

START_TEST(reads_and_writes)
{
    char out[ADDRESS_TEXT_SIZE];
    struct address address;

    memset(&address, 0xff, sizeof(address));
    ck_assert_int_eq(address_parse(addresses[_i].text, strlen(addresses[_i].text), &address), addresses[_i].version);
    address_format(&address, addresses[_i].version, false, out);
    ck_assert_str_eq(out, addresses[_i].compressed);
    address_format(&address, addresses[_i].version, true, out);
    ck_assert_str_eq(out, addresses[_i].full);
}
END_TEST

START_TEST(leaves_the_rest_of_ipv4_zero)
{
    struct address address, expected = { { 10, 1, 2, 3 } };

    memset(&address, 0xff, sizeof(address));
    ck_assert_int_eq(address_parse("10.1.2.3xyz", 8, &address), 4);
    ck_assert(address_equal(&address, &expected));
}
END_TEST

static const struct {
    const char *text;
    size_t length;
} bad[] = {
    { "", 0 },
    { "1.2.3", 5 },
    { "1.2.3.256", 9 },
    { "1.2.3.4 ", 8 },
    { "1.2.3.4\0", 8 },
    { "1.2.3.4/24", 10 },
    { ":::", 3 },
    { "2001:db8::1::", 13 },
    { "12345::", 7 },
    { "example.org", 11 },
    { "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000", 54 },
};

START_TEST(refuses_what_is_no_address)
{
    struct address address = { { 1, 2, 3 } }, before = address;

    ck_assert_int_eq(address_parse(bad[_i].text, bad[_i].length, &address), -EINVAL);
    ck_assert(address_equal(&address, &before));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("address");
    TCase *tcase = tcase_create("address");

    tcase_add_loop_test(tcase, reads_and_writes, 0, sizeof(addresses) / sizeof(addresses[0]));
    tcase_add_test(tcase, leaves_the_rest_of_ipv4_zero);
    tcase_add_loop_test(tcase, refuses_what_is_no_address, 0, sizeof(bad) / sizeof(bad[0]));
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
