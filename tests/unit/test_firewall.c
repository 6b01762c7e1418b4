/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The firewall module: options, priorities, rules as text and netlink messages, the printed examples. With the kernel,
 * only functions that no command reaches are tested; tests/netns/nft_*.sh test the others. */
#include <check.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <libnftnl/chain.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <libnftnl/table.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/xt_NFQUEUE.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "default_options.h"
#include "firewall/build.h"
#include "firewall/explain.h"
#include "firewall/plan.h"
#include "firewall/rule.h"
#include "sluice/daemon.h"
#include "sluice/setup.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct firewall_options options;
static char error[FIREWALL_ERROR_SIZE];

static void setup(void)
{
    firewall_options_default(&options);
    error[0] = '\0';
}

/* --- Options -------------------------------------------------------------------------------------- */

START_TEST(names_go_both_ways)
{
    static const enum attach_mode modes[] = { ATTACH_NONE,   ATTACH_AFTER, ATTACH_BEFORE,
                                              ATTACH_REPEAT, ATTACH_CHAIN, ATTACH_ROUTE };
    bool found;

    for (size_t i = 0; i < COUNT(modes); i++) {
        ck_assert_int_eq(firewall_mode_find(firewall_mode_name(modes[i]), &found), modes[i]);
        ck_assert(found);
    }
    ck_assert_int_eq(firewall_mode_find("afte", &found), ATTACH_NONE);
    ck_assert(!found);
    ck_assert_str_eq(firewall_hook_name(FIREWALL_OUTPUT), "output");
}
END_TEST

START_TEST(comment_is_known_again)
{
    enum attach_mode mode = ATTACH_NONE;

    ck_assert(firewall_is_sluice_table("made by sluice: route", &mode));
    ck_assert_int_eq(mode, ATTACH_ROUTE);
    mode = ATTACH_AFTER;
    ck_assert(!firewall_is_sluice_table("made by sluice: sideways", &mode));
    ck_assert(!firewall_is_sluice_table("made by sluice", &mode));
    ck_assert(!firewall_is_sluice_table("", &mode) && !firewall_is_sluice_table(NULL, &mode));
    ck_assert_int_eq(mode, ATTACH_AFTER);
}
END_TEST

static const struct {
    const char *settings[6];
    int err;
    const char *message; /* part of the expected message */
} configurations[] = {
    { { "nft.attach=before", "queue.numbers=4-7", "nft.family=ip6", "nft.bypass=no", "nft.priority=-77" }, 0, "" },
    { { "nft.attach=after", "queue.numbers=1,3" }, -EINVAL, "one range" },
    { { "nft.attach=after", "queue.numbers=5,4" }, -EINVAL, "one range" },
};

START_TEST(queues_may_have_gaps_without_a_table)
{
    struct diag *diag = diag_new();
    struct config *config;

    ck_assert_int_eq(daemon_new_config(&config), 0);
    ck_assert_int_eq(config_set(config, "queue.numbers=1,3", diag), 0);
    ck_assert_int_eq(setup_firewall_options(config, &options, error), 0);
    ck_assert_int_eq(options.mode, ATTACH_NONE);
    config_free(config);
    diag_free(diag);
}
END_TEST

START_TEST(settings_are_read)
{
    struct diag *diag = diag_new();
    struct config *config;

    ck_assert_int_eq(daemon_new_config(&config), 0);
    for (const char *const *set = configurations[_i].settings; *set; set++)
        ck_assert_int_eq(config_set(config, *set, diag), 0);
    ck_assert_int_eq(setup_firewall_options(config, &options, error), configurations[_i].err);
    ck_assert_ptr_nonnull(strstr(error, configurations[_i].message));
    if (configurations[_i].err) {
        ck_assert_int_eq(options.mode, ATTACH_AFTER); /* untouched */
    } else {
        ck_assert_int_eq(options.mode, ATTACH_BEFORE);
        ck_assert_int_eq(options.family, FIREWALL_IPV6);
        ck_assert_uint_eq(options.queue_first, 4);
        ck_assert_uint_eq(options.queue_last, 7);
        ck_assert(!options.bypass && options.has_priority);
        ck_assert_int_eq(options.priority, -77);
        ck_assert_uint_eq(options.hooks, FIREWALL_FORWARD);
        ck_assert_uint_eq(options.reject_mask, 0x40000000);
        ck_assert_str_eq(options.table, "sluice");
    }
    config_free(config);
    diag_free(diag);
}
END_TEST

START_TEST(hooks_and_marks_are_read)
{
    static const char *const settings[] = { "nft.hooks=input,output", "queue.mark=0x10/0xf0",
                                            "nft.reject-mark=0x100/0x100", "nft.expression=xt", "nft.attach=repeat" };
    struct diag *diag = diag_new();
    struct config *config;

    ck_assert_int_eq(daemon_new_config(&config), 0);
    for (size_t i = 0; i < COUNT(settings); i++)
        ck_assert_int_eq(config_set(config, settings[i], diag), 0);
    ck_assert_int_eq(setup_firewall_options(config, &options, error), 0);
    ck_assert_uint_eq(options.hooks, FIREWALL_INPUT | FIREWALL_OUTPUT);
    ck_assert_uint_eq(options.mark, 0x10);
    ck_assert_uint_eq(options.mark_mask, 0xf0);
    ck_assert_uint_eq(options.reject_mark, 0x100);
    ck_assert_uint_eq(options.reject_mask, 0x100);
    ck_assert_int_eq(options.expression, QUEUE_EXPRESSION_XT);
    config_free(config);
    diag_free(diag);
}
END_TEST

static const struct {
    struct firewall_options options;
    const char *message; /* expected message; NULL: valid options */
} combinations[] = {
    { { .mode = ATTACH_AFTER, .hooks = FIREWALL_FORWARD, .table = "sluice" }, NULL },
    { { .mode = ATTACH_CHAIN, .table = "sluice" }, NULL },
    { { .mode = ATTACH_REPEAT, .hooks = 1, .table = "x", .mark = 2, .mark_mask = 3, .reject_mask = 4 }, NULL },
    { { .mode = ATTACH_NONE, .hooks = 1, .table = "sluice" }, "--mode" },
    { { .mode = ATTACH_AFTER, .hooks = 0, .table = "sluice" }, "--hook" },
    { { .mode = ATTACH_AFTER, .hooks = 1, .table = "" }, "name" },
    { { .mode = ATTACH_AFTER, .hooks = 1, .table = NULL }, "name" },
    { { .mode = ATTACH_AFTER, .hooks = 1, .table = "-x" }, "name" },
    { { .mode = ATTACH_AFTER, .hooks = 1, .table = "a\" {" }, "name" },
    { { .mode = ATTACH_AFTER, .hooks = 1, .table = "abcdefghijklmnopqrstuvwxyzabcdefg" }, "name" },
    { { .mode = ATTACH_AFTER, .hooks = 1, .table = "x", .queue_first = 3, .queue_last = 2 }, "empty" },
    { { .mode = ATTACH_AFTER, .hooks = 1, .table = "x", .reject_mark = 3, .reject_mask = 1 }, "outside" },
    { { .mode = ATTACH_REPEAT, .hooks = 1, .table = "x" }, "--mark" },
    { { .mode = ATTACH_REPEAT, .hooks = 1, .table = "x", .mark_mask = 1 }, "in a loop" },
    { { .mode = ATTACH_REPEAT, .hooks = 1, .table = "x", .mark = 3, .mark_mask = 1 }, "outside" },
    { { .mode = ATTACH_REPEAT, .hooks = 1, .table = "x", .mark = 1, .mark_mask = 1, .reject_mask = 1 }, "shares" },
    { { .mode = ATTACH_AFTER, .hooks = 1, .table = "x", .offload = { .accept = true, .accept_mask = 1 } }, "is 0" },
    { { .mode = ATTACH_AFTER, .hooks = 1, .table = "x", .offload = { .drop = true, .drop_mark = 3, .drop_mask = 1 } },
      "outside" },
    { { .mode = ATTACH_AFTER,
        .hooks = 1,
        .table = "x",
        .offload = { .accept = true,
                     .drop = true,
                     .accept_mark = 1,
                     .accept_mask = 3,
                     .drop_mark = 2,
                     .drop_mask = 2 } },
      "share bits" },
    { { .mode = ATTACH_AFTER,
        .hooks = 1,
        .table = "x",
        .reject_mark = 1,
        .reject_mask = 1,
        .offload = { .accept = true, .saves = true, .accept_mark = 1, .accept_mask = 1 } },
      "nft.reject-mark" },
    { { .mode = ATTACH_REPEAT,
        .hooks = 1,
        .table = "x",
        .mark = 1,
        .mark_mask = 1,
        .offload = { .drop = true, .saves = true, .drop_mark = 1, .drop_mask = 1 } },
      "queue.mark" },
    { { .mode = ATTACH_AFTER, /* for conntrack marks only, the same bits are not in conflict */
        .hooks = 1,
        .table = "x",
        .reject_mark = 1,
        .reject_mask = 1,
        .offload = { .accept = true, .accept_mark = 1, .accept_mask = 1 } },
      NULL },
    { { .mode = ATTACH_ROUTE,
        .hooks = 1,
        .table = "x",
        .offload = { .accept = true, .accept_mark = 1, .accept_mask = 1 } },
      "queue.route-to" },
};

START_TEST(combinations_are_checked)
{
    const char *message = combinations[_i].message;
    struct text out;

    text_init(&out);
    ck_assert_int_eq(firewall_print(&combinations[_i].options, &out, error), message ? -EINVAL : 0);
    ck_assert(!message || (strstr(error, message) && out.length == 0));
    text_clear(&out);
}
END_TEST

/* --- Priorities ----------------------------------------------------------------------------------- */

enum { IP = NFPROTO_IPV4, IP6 = NFPROTO_IPV6, INET = NFPROTO_INET, BRIDGE = NFPROTO_BRIDGE, FORWARD = NF_INET_FORWARD };

struct other {
    uint32_t family, hook;
    int32_t priority;
    bool is_not_filter;
    const char *table; /* NULL: "foreign" */
};

static const struct {
    enum attach_mode mode;
    enum firewall_family family;
    struct other others[4];
    int32_t wanted;
} priorities[] = {
    { ATTACH_AFTER, FIREWALL_INET, { { 0 } }, 60 },
    { ATTACH_ROUTE, FIREWALL_INET, { { 0 } }, 60 },
    { ATTACH_BEFORE, FIREWALL_INET, { { 0 } }, -10 },
    { ATTACH_REPEAT, FIREWALL_INET, { { 0 } }, -10 },
    /* The filter chain with the highest priority counts, of all families that see the packets. */
    { ATTACH_AFTER, FIREWALL_INET, { { IP, FORWARD, 100, false, NULL }, { IP6, FORWARD, 200, false, NULL } }, 210 },
    { ATTACH_AFTER, FIREWALL_IPV4, { { IP, FORWARD, 100, false, NULL }, { IP6, FORWARD, 200, false, NULL } }, 110 },
    { ATTACH_AFTER, FIREWALL_IPV6, { { INET, FORWARD, 70, false, NULL } }, 80 },
    { ATTACH_AFTER, FIREWALL_INET, { { BRIDGE, FORWARD, 500, false, NULL } }, 60 },
    { ATTACH_AFTER, FIREWALL_INET, { { INET, NF_INET_LOCAL_IN, 500, false, NULL } }, 60 },
    { ATTACH_AFTER, FIREWALL_INET, { { INET, FORWARD, 55, false, NULL } }, 65 },
    { ATTACH_AFTER, FIREWALL_INET, { { INET, FORWARD, 10, false, NULL } }, 60 },
    /* Chains of other types count only if they have the same priority. */
    { ATTACH_AFTER, FIREWALL_INET, { { INET, FORWARD, 90, true, NULL } }, 60 },
    { ATTACH_AFTER, FIREWALL_INET, { { INET, FORWARD, 60, true, NULL } }, 61 },
    { ATTACH_AFTER,
      FIREWALL_INET,
      { { INET, FORWARD, 290, false, NULL } },
      301 }, /* 300 is the priority of conntrack helpers */
    { ATTACH_AFTER, FIREWALL_INET, { { INET, FORWARD, INT32_MAX, false, NULL } }, 60 },
    { ATTACH_AFTER,
      FIREWALL_INET,
      { { INET, FORWARD, INT32_MAX - 1, false, NULL }, { IP, FORWARD, 70, false, NULL } },
      80 },
    /* The table that is replaced does not count; other tables of Sluice do. */
    { ATTACH_AFTER, FIREWALL_INET, { { INET, FORWARD, 60, false, "sluice" } }, 60 },
    { ATTACH_AFTER, FIREWALL_INET, { { INET, FORWARD, 60, false, "second" } }, 61 },
    { ATTACH_BEFORE, FIREWALL_INET, { { INET, FORWARD, -10, false, "second" } }, -11 },
    /* Before the first filter chain, after mangle. */
    { ATTACH_BEFORE, FIREWALL_INET, { { INET, FORWARD, -50, false, NULL }, { IP, FORWARD, 0, false, NULL } }, -60 },
    { ATTACH_BEFORE, FIREWALL_INET, { { IP, FORWARD, -150, false, NULL }, { IP, FORWARD, -300, false, NULL } }, -10 },
    { ATTACH_BEFORE, FIREWALL_INET, { { INET, FORWARD, -145, false, NULL } }, -149 },
    { ATTACH_BEFORE, FIREWALL_INET, { { INET, FORWARD, -149, false, NULL } }, -151 },
    { ATTACH_BEFORE, FIREWALL_INET, { { INET, FORWARD, -10, true, NULL } }, -11 },
    { ATTACH_BEFORE, FIREWALL_INET, { { INET, FORWARD, -90, false, NULL } }, -101 }, /* -100 is the priority of DNAT */
    /* The family bridge has different priorities. */
    { ATTACH_AFTER, FIREWALL_BRIDGE, { { 0 } }, 10 },
    { ATTACH_AFTER, FIREWALL_BRIDGE, { { BRIDGE, FORWARD, 40, false, NULL }, { INET, FORWARD, 70, false, NULL } }, 50 },
    { ATTACH_BEFORE, FIREWALL_BRIDGE, { { BRIDGE, FORWARD, -200, false, NULL } }, -210 },
};

static void make_survey(struct survey *survey, const struct other *others)
{
    static struct survey_table tables[] = {
        { .family = INET, .name = "sluice", .ours = true, .mode = ATTACH_AFTER },
        { .family = INET, .name = "second", .ours = true, .mode = ATTACH_AFTER },
    };
    static struct survey_chain chains[4];

    *survey = (struct survey){ .tables = tables, .table_count = COUNT(tables), .chains = chains };
    for (; survey->chain_count < 4 && others[survey->chain_count].family; survey->chain_count++) {
        const struct other *other = &others[survey->chain_count];
        struct survey_chain *chain = &chains[survey->chain_count];

        *chain = (struct survey_chain){ .family = other->family, .base = true, .filter = !other->is_not_filter };
        chain->hook = other->hook;
        chain->priority = other->priority;
        snprintf(chain->table, sizeof(chain->table), "%s", other->table ? other->table : "foreign");
    }
}

START_TEST(priority_is_found)
{
    struct survey survey;

    options.mode = priorities[_i].mode;
    options.family = priorities[_i].family;
    make_survey(&survey, priorities[_i].others);
    ck_assert_int_eq(nft_choose_priority(&options, FORWARD, &survey), priorities[_i].wanted);
    if (survey.chain_count == 0)
        ck_assert_int_eq(nft_choose_priority(&options, FORWARD, NULL), priorities[_i].wanted);
    options.has_priority = true;
    options.priority = 7;
    ck_assert_int_eq(nft_choose_priority(&options, FORWARD, &survey), 7);
}
END_TEST

/* A table with the configured name but without Sluice's comment belongs to another firewall. */
START_TEST(foreign_table_of_our_name_counts)
{
    struct survey_chain chain = { .family = IP, .table = "sluice", .base = true, .filter = true, .hook = FORWARD };
    struct survey_table table = { .family = IP, .name = "sluice" };
    struct survey survey = { .tables = &table, .table_count = 1, .chains = &chain, .chain_count = 1 };

    chain.priority = 80;
    ck_assert_int_eq(nft_choose_priority(&options, FORWARD, &survey), 90);
}
END_TEST

/* --- Rules as text -------------------------------------------------------------------------------- */

static const struct {
    enum plan_rule rule;
    enum attach_mode mode;
    uint16_t first, last;
    bool bypass;
    const char *nft, *iptables;
} rules[] = {
    { RULE_QUEUE, ATTACH_AFTER, 0, 3, true, "counter queue flags bypass to symhash mod 4",
      "-j NFQUEUE --queue-balance 0:3 --queue-bypass" },
    { RULE_QUEUE, ATTACH_AFTER, 10, 11, false, "counter queue to symhash mod 2 offset 10",
      "-j NFQUEUE --queue-balance 10:11" },
    { RULE_QUEUE, ATTACH_BEFORE, 65535, 65535, true, "counter queue flags bypass to 65535",
      "-j NFQUEUE --queue-num 65535 --queue-bypass" },
    { RULE_QUEUE, ATTACH_AFTER, 0, 65535, false, "counter queue to symhash mod 65536",
      "-j NFQUEUE --queue-balance 0:65535" },
    { RULE_QUEUE, ATTACH_REPEAT, 0, 0, true, "meta mark & 0x000000f0 != 0x00000010 counter queue flags bypass to 0",
      "-m mark ! --mark 0x10/0xf0 -j NFQUEUE --queue-num 0" },
    { RULE_REJECT_MARK, ATTACH_AFTER, 0, 0, true, "meta mark & 0x40000000 == 0x40000000 accept",
      "-m mark --mark 0x40000000/0x40000000 -j RETURN" },
    { RULE_REJECT_MARK, ATTACH_CHAIN, 0, 0, true, "meta mark & 0x40000000 == 0x40000000 accept",
      "-m mark --mark 0x40000000/0x40000000 -j ACCEPT" },
    { RULE_LOOPBACK_IN, ATTACH_AFTER, 0, 0, true, "iif \"lo\" accept", "-i lo -j RETURN" },
    { RULE_LOOPBACK_OUT, ATTACH_AFTER, 0, 0, true, "oif \"lo\" accept", "-o lo -j RETURN" },
    { RULE_EXCEPTIONS, ATTACH_CHAIN, 0, 0, true, "jump sluice_exceptions", "-j sluice_exceptions" },
    { RULE_BLOCK4_FROM, ATTACH_AFTER, 0, 0, true, "ip saddr @blocked_ipv4 counter drop", NULL },
    { RULE_BLOCK6_TO, ATTACH_AFTER, 0, 0, true, "ip6 daddr @blocked_ipv6 counter drop", NULL },
    { RULE_OFFLOAD_DROP, ATTACH_AFTER, 0, 0, true,
      "ct mark & 0x20000000 == 0x20000000 counter name \"offload_dropped\" drop",
      "-m connmark --mark 0x20000000/0x20000000 -j DROP" },
    { RULE_OFFLOAD_ACCEPT, ATTACH_BEFORE, 0, 0, true,
      "ct mark & 0x10000000 == 0x10000000 counter name \"offload_accepted\" accept",
      "-m connmark --mark 0x10000000/0x10000000 -j RETURN" },
    { RULE_OFFLOAD_ACCEPT, ATTACH_CHAIN, 0, 0, true,
      "ct mark & 0x10000000 == 0x10000000 counter name \"offload_accepted\" accept",
      "-m connmark --mark 0x10000000/0x10000000 -j ACCEPT" },
    { RULE_OFFLOAD_ACCEPT, ATTACH_ROUTE, 0, 0, true,
      "ct mark & 0x10000000 == 0x10000000 counter name \"offload_accepted\" queue flags bypass to 9",
      "-m connmark --mark 0x10000000/0x10000000 -j NFQUEUE --queue-num 9 --queue-bypass" },
    { RULE_OFFLOAD_FLOW, ATTACH_AFTER, 0, 0, true, "ct mark & 0x10000000 == 0x10000000 flow add @offload", NULL },
    { RULE_SAVE_DROP, ATTACH_AFTER, 0, 0, true,
      "meta mark & 0x20000000 == 0x20000000 ct mark set ct mark & 0xdfffffff | 0x20000000",
      "-m mark --mark 0x20000000/0x20000000 -j CONNMARK --set-xmark 0x20000000/0x20000000" },
    { RULE_SAVED_DROP, ATTACH_AFTER, 0, 0, true, "meta mark & 0x20000000 == 0x20000000 drop",
      "-m mark --mark 0x20000000/0x20000000 -j DROP" },
    { RULE_SAVE_ACCEPT, ATTACH_AFTER, 0, 0, true,
      "meta mark & 0x10000000 == 0x10000000 ct mark set ct mark & 0xefffffff | 0x10000000",
      "-m mark --mark 0x10000000/0x10000000 -j CONNMARK --set-xmark 0x10000000/0x10000000" },
    { RULE_SAVED_ACCEPT, ATTACH_AFTER, 0, 0, true,
      "meta mark & 0x10000000 == 0x10000000 meta mark set meta mark & 0xefffffff",
      "-m mark --mark 0x10000000/0x10000000 -j MARK --set-xmark 0x0/0x10000000" },
};

START_TEST(rule_is_printed)
{
    struct plan plan;
    struct text nft, iptables;

    options.mode = rules[_i].mode;
    options.queue_first = rules[_i].first;
    options.queue_last = rules[_i].last;
    options.bypass = rules[_i].bypass;
    options.mark = 0x10;
    options.mark_mask = 0xf0;
    options.offload.has_next = options.offload.next_bypass = options.mode == ATTACH_ROUTE;
    options.offload.next_queue = 9;
    nft_plan_make(&plan, &options, NULL);
    text_init(&nft);
    text_init(&iptables);
    nft_rule_print(&nft, rules[_i].rule, &plan);
    ck_assert_int_eq(nft_rule_print_iptables(&iptables, rules[_i].rule, &plan), rules[_i].iptables != NULL);
    ck_assert_str_eq(nft.bytes, rules[_i].nft);
    if (rules[_i].iptables)
        ck_assert_str_eq(iptables.bytes, rules[_i].iptables);
    text_clear(&nft);
    text_clear(&iptables);
}
END_TEST

/* --- Rules as netlink ----------------------------------------------------------------------------- */

static struct nftnl_expr *nth(struct nftnl_rule *rule, unsigned n)
{
    struct nftnl_expr_iter *iterator = nftnl_expr_iter_create(rule);
    struct nftnl_expr *expression = nftnl_expr_iter_next(iterator);

    while (expression && n-- > 0)
        expression = nftnl_expr_iter_next(iterator);
    nftnl_expr_iter_destroy(iterator);
    return expression;
}

static const char *name_of(const struct nftnl_expr *expression)
{
    return expression ? nftnl_expr_get_str(expression, NFTNL_EXPR_NAME) : "none";
}

static struct nftnl_rule *build(enum plan_rule kind, enum queue_expression expression)
{
    struct nftnl_rule *rule = nftnl_rule_alloc();
    struct plan plan;

    options.expression = expression;
    nft_plan_make(&plan, &options, NULL);
    ck_assert_int_eq(nft_rule_build(rule, kind, &plan), 0);
    return rule;
}

START_TEST(native_queue_is_spread_by_symhash)
{
    options.queue_first = 8;
    options.queue_last = 11;

    struct nftnl_rule *rule = build(RULE_QUEUE, QUEUE_EXPRESSION_NATIVE);
    struct nftnl_expr *hash = nth(rule, 1), *queue = nth(rule, 2);

    ck_assert_str_eq(name_of(nth(rule, 0)), "counter");
    ck_assert_str_eq(name_of(hash), "hash");
    ck_assert_uint_eq(nftnl_expr_get_u32(hash, NFTNL_EXPR_HASH_TYPE), NFT_HASH_SYM);
    ck_assert_uint_eq(nftnl_expr_get_u32(hash, NFTNL_EXPR_HASH_MODULUS), 4);
    ck_assert_uint_eq(nftnl_expr_get_u32(hash, NFTNL_EXPR_HASH_OFFSET), 8);
    ck_assert_str_eq(name_of(queue), "queue");
    ck_assert_uint_eq(nftnl_expr_get_u32(queue, NFTNL_EXPR_QUEUE_SREG_QNUM),
                      nftnl_expr_get_u32(hash, NFTNL_EXPR_HASH_DREG));
    ck_assert_uint_eq(nftnl_expr_get_u16(queue, NFTNL_EXPR_QUEUE_FLAGS), NFT_QUEUE_FLAG_BYPASS);
    ck_assert(!nftnl_expr_is_set(queue, NFTNL_EXPR_QUEUE_NUM));
    ck_assert_ptr_null(nth(rule, 3));
    nftnl_rule_free(rule);
}
END_TEST

START_TEST(native_single_queue_has_a_number)
{
    options.queue_first = options.queue_last = 9;
    options.bypass = false;

    struct nftnl_rule *rule = build(RULE_QUEUE, QUEUE_EXPRESSION_NATIVE);
    struct nftnl_expr *queue = nth(rule, 1);

    ck_assert_str_eq(name_of(queue), "queue");
    ck_assert_uint_eq(nftnl_expr_get_u16(queue, NFTNL_EXPR_QUEUE_NUM), 9);
    ck_assert_uint_eq(nftnl_expr_get_u16(queue, NFTNL_EXPR_QUEUE_TOTAL), 1);
    ck_assert_uint_eq(nftnl_expr_get_u16(queue, NFTNL_EXPR_QUEUE_FLAGS), 0);
    nftnl_rule_free(rule);
}
END_TEST

START_TEST(xt_queue_carries_the_range)
{
    struct xt_NFQ_info_v3 info;
    uint32_t length;

    options.queue_first = 3;
    options.queue_last = 5;

    struct nftnl_rule *rule = build(RULE_QUEUE, QUEUE_EXPRESSION_XT);
    struct nftnl_expr *target = nth(rule, 1);

    ck_assert_str_eq(name_of(target), "target");
    ck_assert_str_eq(nftnl_expr_get_str(target, NFTNL_EXPR_TG_NAME), "NFQUEUE");
    ck_assert_uint_eq(nftnl_expr_get_u32(target, NFTNL_EXPR_TG_REV), 3);

    const void *data = nftnl_expr_get(target, NFTNL_EXPR_TG_INFO, &length);

    ck_assert_uint_eq(length, 8);
    memcpy(&info, data, sizeof(info));
    ck_assert_uint_eq(info.queuenum, 3);
    ck_assert_uint_eq(info.queues_total, 3);
    ck_assert_uint_eq(info.flags, NFQ_FLAG_BYPASS);
    nftnl_rule_free(rule);
}
END_TEST

START_TEST(repeat_asks_for_the_mark_first)
{
    options.mode = ATTACH_REPEAT;
    options.mark = 0x10;
    options.mark_mask = 0xf0;

    struct nftnl_rule *rule = build(RULE_QUEUE, QUEUE_EXPRESSION_NATIVE);
    uint32_t length, mask;

    ck_assert_str_eq(name_of(nth(rule, 0)), "meta");
    ck_assert_uint_eq(nftnl_expr_get_u32(nth(rule, 0), NFTNL_EXPR_META_KEY), NFT_META_MARK);
    memcpy(&mask, nftnl_expr_get(nth(rule, 1), NFTNL_EXPR_BITWISE_MASK, &length), sizeof(mask));
    ck_assert_uint_eq(mask, 0xf0);
    ck_assert_uint_eq(nftnl_expr_get_u32(nth(rule, 2), NFTNL_EXPR_CMP_OP), NFT_CMP_NEQ);
    ck_assert_uint_eq(nftnl_expr_get_u32(nth(rule, 2), NFTNL_EXPR_CMP_DATA), 0x10);
    ck_assert_str_eq(name_of(nth(rule, 3)), "counter");
    ck_assert_str_eq(name_of(nth(rule, 4)), "queue");
    nftnl_rule_free(rule);
}
END_TEST

/* --- Plans and transactions ----------------------------------------------------------------------- */

static const struct {
    enum attach_mode mode;
    enum firewall_family family;
    unsigned hooks;
    uint32_t reject_mask;
    unsigned chains, rules; /* expected numbers of chains and rules */
} plans[] = {
    { ATTACH_AFTER, FIREWALL_INET, FIREWALL_FORWARD, 1, 1, 2 },
    { ATTACH_AFTER, FIREWALL_INET, FIREWALL_FORWARD, 0, 1, 1 },
    { ATTACH_BEFORE, FIREWALL_INET, FIREWALL_FORWARD | FIREWALL_INPUT | FIREWALL_OUTPUT, 1, 3, 8 },
    { ATTACH_BEFORE, FIREWALL_BRIDGE, FIREWALL_FORWARD | FIREWALL_INPUT | FIREWALL_OUTPUT, 1, 3, 6 },
    { ATTACH_CHAIN, FIREWALL_INET, FIREWALL_FORWARD | FIREWALL_INPUT, 1, 2, 3 },
};

static unsigned list_messages(const struct batch *batch, uint16_t *types, unsigned max)
{
    const struct nlmsghdr *message = (const struct nlmsghdr *)batch->bytes;
    int left = (int)batch->length;
    unsigned count = 0;

    for (; mnl_nlmsg_ok(message, left) && count < max; message = mnl_nlmsg_next(message, &left)) {
        ck_assert_uint_eq(message->nlmsg_seq, batch->first + count);
        types[count++] = (uint16_t)(message->nlmsg_type & 0xff);
    }
    ck_assert_int_eq(left, 0);
    return count;
}

START_TEST(table_is_replaced_whole)
{
    struct session session = { .sequence = 100 };
    struct batch *batch = nft_batch_new(&session, 42);
    uint16_t types[BATCH_MESSAGES];
    unsigned count, chains = 0, rule_count = 0;
    struct plan plan;

    options.mode = plans[_i].mode;
    options.family = plans[_i].family;
    options.hooks = plans[_i].hooks;
    options.reject_mark = options.reject_mask = plans[_i].reject_mask;
    nft_plan_make(&plan, &options, NULL);
    ck_assert_int_eq(nft_build_tables(batch, &plan), 0);
    count = list_messages(batch, types, BATCH_MESSAGES);
    ck_assert_uint_eq(types[0], NFNL_MSG_BATCH_BEGIN & 0xff);
    ck_assert_uint_eq(types[1], NFT_MSG_NEWTABLE);
    ck_assert_uint_eq(types[2], NFT_MSG_DELTABLE);
    ck_assert_uint_eq(types[3], NFT_MSG_NEWTABLE);
    for (unsigned i = 4; i < count; i++) {
        chains += types[i] == NFT_MSG_NEWCHAIN;
        rule_count += types[i] == NFT_MSG_NEWRULE;
    }
    ck_assert_uint_eq(chains, plans[_i].chains);
    ck_assert_uint_eq(rule_count, plans[_i].rules);
    ck_assert_uint_eq(count, 4 + chains + rule_count);
    nft_batch_free(batch);
}
END_TEST

START_TEST(largest_plan_fits)
{
    static int (*const builds[])(struct batch *, const struct plan *) = { nft_build_tables, nft_build_rule_replacement,
                                                                          nft_build_probe };
    struct plan plan;

    options.hooks = FIREWALL_FORWARD | FIREWALL_INPUT | FIREWALL_OUTPUT;
    options.mode = ATTACH_REPEAT;
    options.mark = options.mark_mask = 1;
    options.blocklist = options.offload.accept = options.offload.drop = options.offload.acknowledge = true;
    options.offload.device_count = FIREWALL_MAX_DEVICES;
    for (unsigned i = 0; i < FIREWALL_MAX_DEVICES; i++)
        options.offload.devices[i] = "abcdefghijklmno";
    options.queue_last = 65535;
    options.table = "abcdefghijklmnopqrstuvwxyzabcdef";
    nft_plan_make(&plan, &options, NULL);
    nft_plan_split(&plan);
    for (size_t i = 0; i < COUNT(builds); i++) { /* a transaction has the messages of one of these functions */
        struct session session = { .sequence = 1 };
        struct batch *batch = nft_batch_new(&session, 0);

        ck_assert_int_eq(builds[i](batch, &plan), 0);
        ck_assert_uint_lt(batch->length, BATCH_SIZE / 3);
        ck_assert_uint_lt(batch->count, BATCH_MESSAGES / 3);
        nft_batch_free(batch);
    }
}
END_TEST

START_TEST(exceptions_are_the_users)
{
    struct session session = { .sequence = 1 };
    struct batch *batch = nft_batch_new(&session, 0);
    uint16_t types[BATCH_MESSAGES];
    struct plan plan;

    options.mode = ATTACH_CHAIN;
    nft_plan_make(&plan, &options, NULL);
    ck_assert_int_eq(nft_build_rule_replacement(batch, &plan), 0);
    ck_assert_uint_eq(list_messages(batch, types, BATCH_MESSAGES), 5);
    ck_assert_uint_eq(types[1], NFT_MSG_DELRULE); /* flushes sluice_ips only */
    for (unsigned i = 2; i < 5; i++)
        ck_assert_uint_eq(types[i], NFT_MSG_NEWRULE);
    nft_batch_free(batch);
}
END_TEST

/* --- Errors --------------------------------------------------------------------------------------- */

static const struct {
    int err;
    enum subject subject;
    const char *message;
} errors[] = {
    { -EPERM, SUBJECT_BATCH, "CAP_NET_ADMIN" },
    { -EINVAL, SUBJECT_BATCH, "module nf_tables" },
    { -EAFNOSUPPORT, SUBJECT_TABLE, "nf_tables_bridge" },
    { -EOPNOTSUPP, SUBJECT_CHAIN, "nf_tables_bridge" },
    { -ENOENT, SUBJECT_QUEUE, "nft_queue" },
    { -ENOENT, SUBJECT_RULE, "nft_meta_bridge" },
    { -ERESTART, SUBJECT_BATCH, "try again" },
    { -EBUSY, SUBJECT_TABLE, "busy" },
    { -EEXIST, SUBJECT_CHAIN, "exists" },
    { -ENOMEM, SUBJECT_RULE, "memory" },
};

START_TEST(errors_are_one_line_that_says_what_to_do)
{
    ck_assert_int_eq(nft_explain(error, errors[_i].err, errors[_i].subject, "sluice"), errors[_i].err);
    ck_assert_msg(strstr(error, errors[_i].message) != NULL, "%s", error);
    ck_assert_ptr_nonnull(strstr(error, "nothing was changed"));
    ck_assert_ptr_null(strchr(error, '\n'));
}
END_TEST

/* --- The examples below nft/ ---------------------------------------------------------------------- */

static const struct {
    const char *file;
    struct firewall_options options;
} examples[] = {
    { "nft/after.nft", { .mode = ATTACH_AFTER, .queue_last = 3, .has_priority = true, .priority = 60 } },
    { "nft/before.nft", { .mode = ATTACH_BEFORE, .queue_last = 3, .has_priority = true, .priority = -10 } },
    { "nft/repeat.nft",
      { .mode = ATTACH_REPEAT, .queue_last = 3, .has_priority = true, .priority = -10, .mark = 1, .mark_mask = 1 } },
    { "nft/chain.nft", { .mode = ATTACH_CHAIN, .queue_last = 3 } },
    { "nft/route.nft", { .mode = ATTACH_ROUTE, .has_priority = true, .priority = 60 } },
    { "nft/iptables/after.rules", { .mode = ATTACH_AFTER, .queue_last = 3, .expression = QUEUE_EXPRESSION_XT } },
    { "nft/offload.nft",
      { .mode = ATTACH_AFTER,
        .queue_last = 3,
        .offload = { .accept = true,
                     .drop = true,
                     .accept_mark = 0x10000000,
                     .accept_mask = 0x10000000,
                     .drop_mark = 0x20000000,
                     .drop_mask = 0x20000000,
                     .saves = true } } },
    { "nft/iptables/before.rules", { .mode = ATTACH_BEFORE, .queue_last = 3, .expression = QUEUE_EXPRESSION_XT } },
    { "nft/iptables/repeat.rules",
      { .mode = ATTACH_REPEAT, .queue_last = 3, .mark = 1, .mark_mask = 1, .expression = QUEUE_EXPRESSION_XT } },
    { "nft/iptables/chain.rules", { .mode = ATTACH_CHAIN, .queue_last = 3, .expression = QUEUE_EXPRESSION_XT } },
    { "nft/iptables/route.rules", { .mode = ATTACH_ROUTE, .expression = QUEUE_EXPRESSION_XT } },
};

static char *read_source(const char *name)
{
    const char *source = getenv("SLUICE_SOURCE");
    char path[4096];
    char *content = calloc(1, 65536);

    snprintf(path, sizeof(path), "%s/%s", source ? source : ".", name);

    FILE *file = fopen(path, "r");

    ck_assert_msg(file != NULL, "cannot open %s (SLUICE_SOURCE names the source tree)", path);
    ck_assert_uint_lt(fread(content, 1, 65535, file), 65535);
    fclose(file);
    return content;
}

/* Each example must be the output of `sluice nft print` with the options in its head. */
START_TEST(example_is_what_print_says)
{
    struct firewall_options example = examples[_i].options;
    char *wanted = read_source(examples[_i].file);
    struct text out;

    example.hooks = options.hooks;
    example.table = options.table;
    example.bypass = options.bypass;
    example.reject_mark = options.reject_mark;
    example.reject_mask = options.reject_mask;
    text_init(&out);
    ck_assert_int_eq(firewall_print(&example, &out, error), 0);
    ck_assert_str_eq(out.bytes, wanted);
    text_clear(&out);
    free(wanted);
}
END_TEST

START_TEST(print_names_all_options)
{
    struct text out;

    options = (struct firewall_options){
        .mode = ATTACH_REPEAT,
        .family = FIREWALL_IPV6,
        .hooks = FIREWALL_FORWARD | FIREWALL_OUTPUT,
        .table = "ips",
        .queue_first = 4,
        .queue_last = 6,
        .has_priority = true,
        .priority = -42,
        .mark = 1,
        .mark_mask = 3,
    };
    text_init(&out);
    ck_assert_int_eq(firewall_print(&options, &out, error), 0);
    ck_assert_ptr_nonnull(strstr(out.bytes,
                                 "sluice nft print --mode repeat --queue 4-6 --hook forward,output --family ip6 "
                                 "--mark 0x1/0x3 --priority -42 --table ips --no-bypass\n"));
    ck_assert_ptr_nonnull(strstr(out.bytes, "delete table ip6 ips\n"));
    ck_assert_ptr_nonnull(
        strstr(out.bytes, "type filter hook output priority -42; policy accept;\n\t\toif \"lo\" accept\n"));
    ck_assert_ptr_null(strstr(out.bytes, "were sent by Sluice")); /* without a reject mark */
    text_clear(&out);
    options.family = FIREWALL_BRIDGE;
    options.expression = QUEUE_EXPRESSION_XT;
    text_init(&out);
    ck_assert_int_eq(firewall_print(&options, &out, error), -EINVAL);
    ck_assert_uint_eq(out.length, 0);
}
END_TEST

/* --- With the kernel, in a separate network namespace --------------------------------------------- */

/* Returns false and prints the reason without root, or if nf_tables cannot queue. Each test is a process, so the
 * namespace does not affect others. */
static bool enter_namespace(void)
{
    struct firewall_status status;

    if (unshare(CLONE_NEWNET) || firewall_status("sluice", &status, error)) {
        puts("SKIP: needs root and a kernel with nf_tables");
        return false;
    }
    ck_assert(!status.installed);
    if (firewall_install(&options, error) == -EOPNOTSUPP) {
        printf("SKIP: %s\n", error);
        return false;
    }
    ck_assert_int_eq(firewall_remove("sluice", error), 0);
    return true;
}

static struct firewall_status look(void)
{
    struct firewall_status status;

    ck_assert_msg(firewall_status("sluice", &status, error) == 0, "%s", error);
    return status;
}

START_TEST(quiet_chains_stay)
{
    struct firewall_status status;

    options.hooks = FIREWALL_FORWARD | FIREWALL_INPUT;
    options.queue_first = 4;
    options.queue_last = 6;
    if (!enter_namespace())
        return;
    ck_assert_int_eq(firewall_quiesce("sluice", error), 0); /* the table does not exist */
    ck_assert(!look().installed);
    ck_assert_int_eq(firewall_install(&options, error), 0);
    status = look();
    ck_assert(status.installed && status.feeding && status.bypass);
    ck_assert_uint_eq(status.queue_first, 4);
    ck_assert_uint_eq(status.queue_last, 6);
    ck_assert_int_eq(status.priority, 60);
    ck_assert_int_eq(firewall_quiesce("sluice", error), 0);
    status = look();
    ck_assert(status.installed && !status.feeding);
    ck_assert_uint_eq(status.hooks, options.hooks);
    ck_assert_int_eq(firewall_install(&options, error), 0); /* the rules queue packets again */
    ck_assert(look().feeding);
    ck_assert_int_eq(firewall_remove("sluice", error), 0);
    ck_assert(!look().installed);
}
END_TEST

START_TEST(quiet_chain_accepts)
{
    options.mode = ATTACH_CHAIN;
    if (!enter_namespace())
        return;
    ck_assert_int_eq(firewall_install(&options, error), 0);
    ck_assert_int_eq(look().mode, ATTACH_CHAIN);
    ck_assert_uint_eq(look().hooks, 0);
    ck_assert_int_eq(firewall_quiesce("sluice", error), 0);
    ck_assert(!look().feeding);
    ck_assert_int_eq(system("nft list chain inet sluice sluice_ips | tr -d '\\n\\t ' | grep '{accept}' >/dev/null"), 0);
}
END_TEST

/* A validation only, and a batch for an outdated ruleset generation, change nothing. */
START_TEST(only_commits_change_the_ruleset)
{
    struct session session;
    struct plan plan;
    uint32_t before, after;
    enum subject subject;

    if (!enter_namespace())
        return;
    ck_assert_int_eq(nft_session_open(&session, error), 0);
    ck_assert_int_eq(nft_session_generation(&session, &before), 0);
    nft_plan_make(&plan, &options, NULL);
    ck_assert_int_eq(nft_probe(&session, &plan, error), 0);
    ck_assert_int_ne(plan.expression, QUEUE_EXPRESSION_AUTO);

    struct batch *batch = nft_batch_new(&session, before + 1);

    ck_assert_int_eq(nft_build_tables(batch, &plan), 0);
    ck_assert_int_eq(nft_batch_send(&session, batch, true, &subject), -ERESTART);
    nft_batch_free(batch);
    ck_assert_int_eq(nft_session_generation(&session, &after), 0);
    ck_assert_uint_eq(after, before);
    ck_assert(!look().installed);

    batch = nft_batch_new(&session, before);
    ck_assert_int_eq(nft_build_tables(batch, &plan), 0);
    ck_assert_int_eq(nft_batch_send(&session, batch, true, &subject), 0);
    nft_batch_free(batch);
    ck_assert_int_eq(nft_session_generation(&session, &after), 0);
    ck_assert_uint_eq(after, before + 1);
    ck_assert(look().installed);
    nft_session_close(&session);
}
END_TEST

/* --- Main ----------------------------------------------------------------------------------------- */

int main(void)
{
    Suite *suite = suite_create("firewall");
    TCase *tc = tcase_create("firewall");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, names_go_both_ways);
    tcase_add_test(tc, comment_is_known_again);
    tcase_add_test(tc, queues_may_have_gaps_without_a_table);
    tcase_add_loop_test(tc, settings_are_read, 0, COUNT(configurations));
    tcase_add_test(tc, hooks_and_marks_are_read);
    tcase_add_loop_test(tc, combinations_are_checked, 0, COUNT(combinations));
    tcase_add_loop_test(tc, priority_is_found, 0, COUNT(priorities));
    tcase_add_test(tc, foreign_table_of_our_name_counts);
    tcase_add_loop_test(tc, rule_is_printed, 0, COUNT(rules));
    tcase_add_test(tc, native_queue_is_spread_by_symhash);
    tcase_add_test(tc, native_single_queue_has_a_number);
    tcase_add_test(tc, xt_queue_carries_the_range);
    tcase_add_test(tc, repeat_asks_for_the_mark_first);
    tcase_add_loop_test(tc, table_is_replaced_whole, 0, COUNT(plans));
    tcase_add_test(tc, largest_plan_fits);
    tcase_add_test(tc, exceptions_are_the_users);
    tcase_add_loop_test(tc, errors_are_one_line_that_says_what_to_do, 0, COUNT(errors));
    tcase_add_loop_test(tc, example_is_what_print_says, 0, COUNT(examples));
    tcase_add_test(tc, print_names_all_options);
    tcase_add_test(tc, quiet_chains_stay);
    tcase_add_test(tc, quiet_chain_accepts);
    tcase_add_test(tc, only_commits_change_the_ruleset);
    tcase_set_timeout(tc, 30);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
