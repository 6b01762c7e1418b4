/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rules of the sluice table that accept acknowledgments without queueing them. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "default_options.h"
#include "firewall/firewall_priv.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
    enum plan_rule rule;
    enum attach_mode mode;
    const char *text;
} rules[] = {
    { RULE_ACKNOWLEDGE4, ATTACH_AFTER,
      "ct mark & 0x08000000 == 0x08000000 ct status assured ip hdrlength 5 ip frag-off & 0xbfff == 0 ip protocol tcp "
      "ip length . @th,96,16 @acknowledgments_ipv4 counter name \"offload_acknowledgments\" accept" },
    { RULE_ACKNOWLEDGE6, ATTACH_CHAIN,
      "ct mark & 0x08000000 == 0x08000000 ct status assured ip6 nexthdr tcp ip6 length . @th,96,16 "
      "@acknowledgments_ipv6 counter name \"offload_acknowledgments\" accept" },
    { RULE_ACKNOWLEDGE6, ATTACH_ROUTE,
      "ct mark & 0x08000000 == 0x08000000 ct status assured ip6 nexthdr tcp ip6 length . @th,96,16 "
      "@acknowledgments_ipv6 counter name \"offload_acknowledgments\" queue flags bypass to 9" },
};

START_TEST(rule_is_printed)
{
    struct firewall_options options;
    struct plan plan;
    struct text nft, iptables;

    firewall_options_default(&options);
    options.mode = rules[_i].mode;
    options.offload.acknowledge = true;
    options.offload.has_next = options.offload.next_bypass = options.mode == ATTACH_ROUTE;
    options.offload.next_queue = 9;
    nft_plan_make(&plan, &options, NULL);
    text_init(&nft);
    text_init(&iptables);
    nft_rule_print(&nft, rules[_i].rule, &plan);
    ck_assert_str_eq(nft.bytes, rules[_i].text);
    ck_assert(!nft_rule_print_iptables(&iptables, rules[_i].rule, &plan));
    text_clear(&nft);
    text_clear(&iptables);
}
END_TEST

/* The rules precede the queue rule, and only the setting adds them. */
START_TEST(chain_has_the_rules)
{
    struct firewall_options options;
    struct plan plan;
    unsigned found = 0;

    firewall_options_default(&options);
    options.offload.acknowledge = _i == 1;
    nft_plan_make(&plan, &options, NULL);
    for (unsigned i = 0; i < plan.chains[0].rule_count; i++)
        found += plan.chains[0].rules[i] == RULE_ACKNOWLEDGE4 || plan.chains[0].rules[i] == RULE_ACKNOWLEDGE6;
    ck_assert_uint_eq(found, _i == 1 ? 2 : 0);
    ck_assert_int_eq(plan.chains[0].rules[plan.chains[0].rule_count - 1], RULE_QUEUE);
}
END_TEST

/* The elements of the sets are all segments without payload and with no flag but ACK, for each length of the TCP
 * header, and no others. */
START_TEST(lengths_are_exact)
{
    enum { ACK = 0x010, FLAGS = 0x1000, WORDS = 16, PAYLOADS = 61 };
    const bool of4 = _i == 0;

    for (unsigned words = 5; words < WORDS; words++) {
        for (unsigned flags = 0; flags < FLAGS; flags++) {
            for (unsigned payload = 0; payload < PAYLOADS; payload++) {
                const unsigned length = (of4 ? 20 : 0) + 4 * words + payload, head = words << 12 | flags;
                bool found = false;

                for (unsigned i = 0; i < ACKNOWLEDGMENT_LENGTHS; i++) {
                    struct acknowledgment_length element = nft_acknowledgment_length(of4, i);

                    found |= element.length == length && element.head == head;
                }
                if (found != (flags == ACK && payload == 0))
                    ck_abort_msg("header of %u words, flags 0x%03x, %u bytes of payload", words, flags, payload);
            }
        }
    }
}
END_TEST

static const struct {
    enum attach_mode mode;
    struct firewall_offload offload;
    const char *message; /* NULL: the options are valid */
} combinations[] = {
    { ATTACH_AFTER, { .acknowledge = true, .acknowledge_mark = 1, .acknowledge_mask = 3 }, NULL },
    { ATTACH_AFTER,
      { .drop = true,
        .acknowledge = true,
        .drop_mark = 1,
        .drop_mask = 3,
        .acknowledge_mark = 2,
        .acknowledge_mask = 2 },
      "nft.offload.acknowledgment-mark shares bits" },
    { ATTACH_AFTER, { .acknowledge = true, .acknowledge_mask = 2 }, "nft.offload.acknowledgment-mark" },
    { ATTACH_ROUTE, { .acknowledge = true, .acknowledge_mark = 1, .acknowledge_mask = 1 }, "queue.route-to" },
};

START_TEST(combinations_are_checked)
{
    const struct firewall_options options = {
        .mode = combinations[_i].mode, .hooks = 1, .table = "x", .offload = combinations[_i].offload
    };
    char error[FIREWALL_ERROR_SIZE] = "";

    if (!combinations[_i].message) {
        ck_assert_int_eq(nft_check_options(&options, error), 0);
        return;
    }
    ck_assert_int_eq(nft_check_options(&options, error), -EINVAL);
    ck_assert_msg(strstr(error, combinations[_i].message), "%s", error);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("firewall_acknowledgment");
    TCase *tc = tcase_create("acknowledgments");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(tc, rule_is_printed, 0, COUNT(rules));
    tcase_add_loop_test(tc, chain_has_the_rules, 0, 2);
    tcase_add_loop_test(tc, lengths_are_exact, 0, 2);
    tcase_add_loop_test(tc, combinations_are_checked, 0, COUNT(combinations));
    suite_add_tcase(suite, tc);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
