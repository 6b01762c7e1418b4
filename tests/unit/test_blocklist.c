/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocked hosts, without the kernel: which rules block which host; block exemptions; the block port of workers; chains
 * and sets; events. tests/netns/blocklist.sh and monitor.sh test with the kernel.
 */
#include "../lib/default_options.h"
#include "output_rig.h"

#include <check.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/block_exemptions.h"
#include "sluice/config.h"
#include "sluice/daemon.h"
#include "sluice/firewall.h"
#include "sluice/output.h"
#include "sluice/packet.h"
#include "sluice/text.h"
#include "firewall/plan.h"
#include "sluice/keyword.h"
#include "sluice/policy.h"

/* --- Rules ---------------------------------------------------------------------------------------- */

enum { DEFAULT_SECONDS = 77 };

/* Parses a rule with these options. Returns NULL if it is refused. The caller frees the list. */
static const struct rule *parse(const char *text, uint8_t priority, const char *const *classtypes,
                                struct rule_list **list, struct diag *diag)
{
    struct keyword_table *keywords = keyword_table_new(keyword_list, keyword_list_count);
    struct rule_variables *variables = rule_variables_new();
    const struct rule_list_options options = {
        .keywords = keywords,
        .variables = variables,
        .block_priority = priority,
        .block_classtypes = classtypes,
        .block_seconds = DEFAULT_SECONDS,
    };

    ck_assert_int_eq(rule_list_new(list, &options, diag), 0);
    ck_assert_int_eq(rule_list_parse(*list, "test.rules", text, strlen(text), diag), 0);
    ck_assert_int_eq(rule_list_finish(*list, diag), 0);
    rule_variables_free(variables);
    keyword_table_free(keywords);
    return rule_list_count(*list) == 1 ? rule_list_get(*list, 0) : NULL;
}

static const struct {
    const char *option;
    enum rule_block who;
    uint32_t seconds;
} asks[] = {
    { "fwsam:src, 5 minutes;", RULE_BLOCK_SOURCE, 300 },
    { "fwsam:source,30;", RULE_BLOCK_SOURCE, 30 },
    { "fwsam:SRC[both] , 1 Hour;", RULE_BLOCK_SOURCE, 3600 },
    { "fwsam:dst[in],2days;", RULE_BLOCK_DESTINATION, 172800 },
    { "fwsam:destination, 1 week;", RULE_BLOCK_DESTINATION, 604800 },
    { "fwsam:both, permanent;", RULE_BLOCK_BOTH, 0 },
    { "fwsam:either, PERM;", RULE_BLOCK_BOTH, 0 },
    { "fwsam:src, 0;", RULE_BLOCK_SOURCE, 0 },
    { "fwsam:src, 365 days;", RULE_BLOCK_SOURCE, 31536000 },
    { "fwsam:src;", RULE_BLOCK_SOURCE, DEFAULT_SECONDS },
    { "", RULE_BLOCK_NONE, 0 },
};

START_TEST(rules_ask_for_blocks)
{
    struct diag *diag = diag_new();
    struct rule_list *list;
    char text[200];

    snprintf(text, sizeof(text), "drop ip any any -> any any (%s sid:1;)", asks[_i].option);

    const struct rule *rule = parse(text, 0, NULL, &list, diag);

    ck_assert_ptr_nonnull(rule);
    ck_assert_uint_eq(diag_errors(diag), 0);
    ck_assert_int_eq(rule->block, asks[_i].who);
    ck_assert_uint_eq(rule->block_seconds, asks[_i].seconds);
    rule_list_free(list);
    diag_free(diag);
}
END_TEST

static const char *const mistakes[] = {
    "fwsam:me, 5;",
    "fwsam:src, 5 fortnights;",
    "fwsam:src, 366 days;",
    "fwsam:src, minutes;",
    "fwsam:src, 5, 6;",
    "fwsam:src, -1;",
    "fwsam:src, 99999999999999999999;",
    "fwsam:[src], 5;",
};

START_TEST(mistakes_are_told)
{
    struct diag *diag = diag_new();
    struct rule_list *list;
    char text[200];

    snprintf(text, sizeof(text), "drop ip any any -> any any (%s sid:1;)", mistakes[_i]);
    ck_assert_ptr_null(parse(text, 0, NULL, &list, diag));
    ck_assert_uint_eq(diag_errors(diag), 1);
    ck_assert(strstr(diag_get(diag, 0)->message, "fwsam"));
    rule_list_free(list);
    diag_free(diag);
}
END_TEST

/* Rules without a keyword that blocks: blocking by priority, and the host that is blocked. */
static const struct {
    const char *rule;
    uint8_t priority;
    enum rule_block who;
} settings[] = {
    { "drop ip any any -> any any (priority:1; sid:1;)", 1, RULE_BLOCK_SOURCE },
    { "drop ip any any -> any any (priority:2; sid:1;)", 1, RULE_BLOCK_NONE },
    { "reject ip any any -> any any (priority:2; sid:1;)", 3, RULE_BLOCK_SOURCE },
    { "drop ip any any -> any any (priority:1; target:src_ip; sid:1;)", 1, RULE_BLOCK_DESTINATION },
    { "drop ip any any -> any any (priority:1; target:dest_ip; sid:1;)", 1, RULE_BLOCK_SOURCE },
    { "alert ip any any -> any any (priority:1; sid:1;)", 1, RULE_BLOCK_NONE },
    { "pass ip any any -> any any (priority:1; sid:1;)", 1, RULE_BLOCK_NONE },
    { "drop ip any any -> any any (priority:1; fwsam:dst, 5; sid:1;)", 1, RULE_BLOCK_DESTINATION },
};

START_TEST(settings_ask_for_blocks)
{
    struct diag *diag = diag_new();
    struct rule_list *list;
    const struct rule *rule = parse(settings[_i].rule, settings[_i].priority, NULL, &list, diag);

    ck_assert_ptr_nonnull(rule);
    ck_assert_int_eq(rule->block, settings[_i].who);
    if (rule->block != RULE_BLOCK_NONE && !strstr(rule->text, "fwsam"))
        ck_assert_uint_eq(rule->block_seconds, DEFAULT_SECONDS);
    rule_list_free(list);
    diag_free(diag);
}
END_TEST

/* --- Policy --------------------------------------------------------------------------------------- */

/* The first rule that drops and blocks decides; no host is blocked if drops have no effect. */
START_TEST(a_drop_asks)
{
    const struct rule rules[] = {
        { .action = ACTION_ALERT, .sid = 1, .block = RULE_BLOCK_SOURCE },
        { .action = ACTION_DROP, .sid = 2 },
        { .action = ACTION_DROP, .sid = 3, .block = RULE_BLOCK_BOTH },
        { .action = ACTION_DROP, .sid = 4, .block = RULE_BLOCK_SOURCE },
    };
    struct rule_list_options none = { .keywords = NULL };
    struct policy_options options;
    struct rule_list *list;
    struct diag *diag = diag_new();

    policy_options_default(&options);
    ck_assert_int_eq(rule_list_new(&list, &none, diag), 0);
    ck_assert_int_eq(rule_list_finish(list, diag), 0);
    for (int inline_mode = 0; inline_mode < 2; inline_mode++) {
        struct packet pkt = { .ip_version = 4 };
        struct hit hits[4] = { 0 };
        struct decision decision;
        struct policy_shared *shared;
        struct policy *policy;

        options.inline_mode = inline_mode;
        ck_assert_int_eq(policy_shared_new(&shared, &options), 0);
        ck_assert_int_eq(policy_new(&policy, &options, shared), 0);
        for (unsigned i = 0; i < 4; i++)
            hits[i].rule = &rules[i];
        pkt.root = &pkt;
        policy_apply(policy, list, &pkt, hits, 4, NULL, &decision);
        ck_assert_ptr_eq(decision.block_rule, inline_mode ? &rules[2] : NULL);
        ck_assert_ptr_eq(decision.drop_rule, inline_mode ? &rules[1] : NULL);
        policy_free(policy);
        policy_shared_free(shared);
    }
    rule_list_free(list);
    diag_free(diag);
}
END_TEST

/* --- Block exemptions ----------------------------------------------------------------------------- */

static struct config *config_of(const char *yaml)
{
    struct diag *diag = diag_new();
    struct config *config = NULL;

    ck_assert_int_eq(daemon_new_config(&config), 0);
    ck_assert_int_eq(config_parse(config, "test.yaml", yaml, strlen(yaml), CONFIG_STRICT, diag), 0);
    ck_assert_uint_eq(diag_errors(diag), 0);
    diag_free(diag);
    return config;
}

static const struct {
    const char *yaml, *address;
    bool never;
} spared[] = {
    { "", "192.168.7.7", true }, /* in HOME_NET, which is exempt by default */
    { "", "203.0.113.7", false },
    { "vars: {address-groups: {HOME_NET: '[203.0.113.0/24,2001:db8::/32]'}}", "203.0.113.7", true },
    { "vars: {address-groups: {HOME_NET: '[203.0.113.0/24,2001:db8::/32]'}}", "2001:db8::7", true },
    { "vars: {address-groups: {HOME_NET: '[203.0.113.0/24,2001:db8::/32]'}}", "192.168.7.7", false },
    { "nft: {blocklist: {never: ['$HOME_NET', '203.0.113.7']}}", "203.0.113.7", true },
    { "nft: {blocklist: {never: '[203.0.113.0/24,!203.0.113.7]'}}", "203.0.113.7", false },
    { "nft: {blocklist: {never: none}}", "192.168.7.7", false },
    { "nft: {blocklist: {never: none}}", "127.0.0.5", true },
    { "nft: {blocklist: {never: none}}", "0.0.0.0", true },
    { "nft: {blocklist: {never: none}}", "224.0.0.1", true },
    { "nft: {blocklist: {never: none}}", "255.255.255.255", true },
    { "nft: {blocklist: {never: none}}", "::1", true },
    { "nft: {blocklist: {never: none}}", "::", true },
    { "nft: {blocklist: {never: none}}", "ff02::1", true },
    { "nft: {blocklist: {never: none}}", "fe80::1", true },
    { "nft: {blocklist: {never: none}}", "2001:db8::1", false },
    { "nft: {blocklist: {never: any}}", "2001:db8::1", true },
};

START_TEST(some_are_never_blocked)
{
    struct config *config = config_of(spared[_i].yaml);
    struct diag *diag = diag_new();
    struct block_exemptions *never;
    struct address address;
    int version = address_parse(spared[_i].address, strlen(spared[_i].address), &address);

    ck_assert_int_eq(block_exemptions_new(&never, config, diag), 0);
    ck_assert_int_eq(block_exemptions_contain(never, version, &address), spared[_i].never);
    ck_assert_int_eq(block_exemptions_are_all(never), strstr(spared[_i].yaml, "any") != NULL);
    block_exemptions_free(never);
    diag_free(diag);
    config_free(config);
}
END_TEST

START_TEST(a_mistake_in_never_is_told)
{
    struct config *config = config_of("nft: {blocklist: {never: '$NOWHERE'}}");
    struct diag *diag = diag_new();
    struct block_exemptions *never = NULL;

    ck_assert_int_eq(block_exemptions_new(&never, config, diag), -EINVAL);
    ck_assert_ptr_null(never);
    ck_assert_uint_eq(diag_errors(diag), 1);
    diag_free(diag);
    config_free(config);
}
END_TEST

/* --- Chains --------------------------------------------------------------------------------------- */

static const struct {
    enum firewall_family family;
    bool v4, v6;
} families[] = {
    { FIREWALL_INET, true, true },
    { FIREWALL_IPV4, true, false },
    { FIREWALL_IPV6, false, true },
    { FIREWALL_BRIDGE, true, true },
};

START_TEST(tables_have_the_sets_of_their_family)
{
    struct firewall_options options;
    char error[FIREWALL_ERROR_SIZE];
    struct text out;

    firewall_options_default(&options);
    options.family = families[_i].family;
    options.blocklist = true;
    options.has_priority = true;
    text_init(&out);
    ck_assert_int_eq(firewall_print(&options, &out, error), 0);
    ck_assert_int_eq(strstr(out.bytes, "set blocked_ipv4 {") != NULL, families[_i].v4);
    ck_assert_int_eq(strstr(out.bytes, "ip saddr @blocked_ipv4 counter drop") != NULL, families[_i].v4);
    ck_assert_int_eq(strstr(out.bytes, "set blocked_ipv6 {") != NULL, families[_i].v6);
    ck_assert_int_eq(strstr(out.bytes, "ip6 daddr @blocked_ipv6 counter drop") != NULL, families[_i].v6);
    ck_assert_ptr_nonnull(strstr(out.bytes, "size 16384"));
    text_clear(&out);
}
END_TEST

START_TEST(without_blocklist_nothing_of_it)
{
    struct firewall_options options;
    char error[FIREWALL_ERROR_SIZE];
    struct text out;

    firewall_options_default(&options);
    options.has_priority = true;
    text_init(&out);
    ck_assert_int_eq(firewall_print(&options, &out, error), 0);
    ck_assert_ptr_null(strstr(out.bytes, "blocked"));
    text_clear(&out);
}
END_TEST

START_TEST(print_names_the_settings)
{
    struct firewall_options options;
    char error[FIREWALL_ERROR_SIZE];
    struct text out;

    firewall_options_default(&options);
    options.mode = ATTACH_ROUTE;
    options.has_priority = true;
    options.blocklist = true;
    options.blocklist_size = 1000;
    options.offload.accept = options.offload.has_next = options.offload.next_bypass = true;
    options.offload.accept_mark = options.offload.accept_mask = 4;
    options.offload.next_queue = 7;
    text_init(&out);
    ck_assert_int_eq(firewall_print(&options, &out, error), 0);
    ck_assert_ptr_nonnull(strstr(out.bytes, " --set nft.blocklist.enabled=yes --set nft.blocklist.size=1000 --set "
                                            "queue.route-to=7 --set queue.route-bypass=yes --set "
                                            "nft.offload.flows=accepted\n"));
    text_clear(&out);
}
END_TEST

/* Base chains of other tables that are misplaced relative to Sluice's chain, which has priority 60 or -140. */
static const struct {
    enum attach_mode mode;
    uint32_t family;
    int32_t theirs, ours;
    bool in_the_way;
} ways[] = {
    { ATTACH_AFTER, NFPROTO_INET, 0, 60, false },         { ATTACH_AFTER, NFPROTO_INET, 60, 60, true },
    { ATTACH_AFTER, NFPROTO_IPV4, 100, 60, true },        { ATTACH_AFTER, NFPROTO_BRIDGE, 100, 60, false },
    { ATTACH_AFTER, NFPROTO_INET, INT32_MAX, 60, false }, { ATTACH_BEFORE, NFPROTO_INET, 0, -10, false },
    { ATTACH_BEFORE, NFPROTO_IPV6, -20, -10, true },      { ATTACH_BEFORE, NFPROTO_INET, -300, -10, false },
};

START_TEST(places_are_judged)
{
    struct firewall_options options;

    firewall_options_default(&options);
    options.mode = ways[_i].mode;
    ck_assert_int_eq(nft_is_misplaced(&options, ways[_i].family, 2 /* forward */, ways[_i].theirs, ways[_i].ours),
                     ways[_i].in_the_way);
}
END_TEST

/* --- Events --------------------------------------------------------------------------------------- */

static const struct {
    struct output_firewall event;
    const char *json, *line;
} told[] = {
    { { .action = OUTPUT_FIREWALL_REASSERTED,
        .damage = FIREWALL_DAMAGE_TABLE | FIREWALL_DAMAGE_RULES,
        .uninspected = true,
        .has_duration = true,
        .duration_ns = 1500000,
        .at_most_ns = 2500000,
        .generation = 7,
        .pid = 42,
        .process = "nft" },
      "\"action\":\"reasserted\",\"table\":\"sluice\",\"damage\":[\"table\",\"rules\"],\"uninspected\":true,"
      "\"dropped\":"
      "false,\"duration_us\":1500,\"at_most_us\":2500,\"generation\":7,\"process\":{\"pid\":42,\"name\":\"nft\"}}",
      "table sluice reasserted after 1.500 ms (by nft, process 42)" },
    { { .action = OUTPUT_FIREWALL_FLUSHED, .packets = 3, .lost = true },
      "\"action\":\"flushed\",\"table\":\"sluice\",\"notifications_lost\":true,\"packets\":3}",
      "table sluice flushed: 3 packets" },
    { { .action = OUTPUT_FIREWALL_BLOCKED,
        .host = { .bytes = { 203, 0, 113, 7 } },
        .host_version = 4,
        .host_seconds = 60,
        .gid = 1,
        .sid = 9 },
      "\"host\":\"203.0.113.7\",\"timeout\":60,\"gid\":1,\"signature_id\":9}",
      "table sluice blocked: 203.0.113.7 for 60 s by 1:9" },
    { { .action = OUTPUT_FIREWALL_MISPLACED,
        .intruder = { .found = true,
                      .family = "inet",
                      .hook = "forward",
                      .priority = 500,
                      .table = "other",
                      .chain = "late" } },
      "\"chain\":{\"family\":\"inet\",\"table\":\"other\",\"name\":\"late\",\"hook\":\"forward\",\"priority\":500}",
      "table sluice misplaced: inet other late at priority 500" },
    { { .action = OUTPUT_FIREWALL_MOVED,
        .intruder = { .found = true, .family = "ip", .hook = "forward", .priority = 7, .table = "t", .chain = "c" } },
      "\"action\":\"moved\",\"table\":\"sluice\",\"chain\":{\"family\":\"ip\",\"table\":\"t\",\"name\":\"c\",",
      "table sluice moved: ip t c at priority 7" },
    { { .action = OUTPUT_FIREWALL_FAILED, .damage = FIREWALL_DAMAGE_SETS, .error = "no \x1b" },
      "\"damage\":[\"sets\"],\"uninspected\":false,\"dropped\":false,\"error\":\"no \\u001b\"}",
      "table sluice failed: no \\x1b" },
};

START_TEST(events_tell_it)
{
    struct output_firewall event = told[_i].event;
    char *line = NULL;
    size_t size = 0;

    strcpy(event.table, "sluice");
    event.time_ns = 1700000000000000000;
    output_rig->options.console = open_memstream(&line, &size);
    output_rig_open(1);
    output_firewall(output_rig->output, &event);
    output_rig_finish(output_rig->path);
    fclose(output_rig->options.console);
    ck_assert_uint_eq(output_rig->count, 1);
    output_rig_expect(output_rig->events[0], true, "\"event_type\":\"firewall\",\"sluice\":{\"firewall\":{");
    output_rig_expect(output_rig->events[0], true, told[_i].json);
    output_rig_expect(line, true, told[_i].line);
    ck_assert_uint_eq(output_rig_counters().written[OUTPUT_FIREWALL], 1);
    free(line);
}
END_TEST

START_TEST(events_can_be_left_out)
{
    struct output_firewall event = told[0].event;

    output_rig->options.eve.enabled[OUTPUT_FIREWALL] = false;
    output_rig_open(1);
    output_firewall(output_rig->output, &event);
    output_rig_finish(output_rig->path);
    ck_assert_uint_eq(output_rig->count, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("blocklist");
    TCase *tcase = tcase_create("blocklist");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, output_rig_setup, output_rig_teardown);
    tcase_add_loop_test(tcase, rules_ask_for_blocks, 0, ROWS(asks));
    tcase_add_loop_test(tcase, mistakes_are_told, 0, ROWS(mistakes));
    tcase_add_loop_test(tcase, settings_ask_for_blocks, 0, ROWS(settings));
    tcase_add_test(tcase, a_drop_asks);
    tcase_add_loop_test(tcase, some_are_never_blocked, 0, ROWS(spared));
    tcase_add_test(tcase, a_mistake_in_never_is_told);
    tcase_add_loop_test(tcase, tables_have_the_sets_of_their_family, 0, ROWS(families));
    tcase_add_test(tcase, without_blocklist_nothing_of_it);
    tcase_add_test(tcase, print_names_the_settings);
    tcase_add_loop_test(tcase, places_are_judged, 0, ROWS(ways));
    tcase_add_loop_test(tcase, events_tell_it, 0, ROWS(told));
    tcase_add_test(tcase, events_can_be_left_out);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
