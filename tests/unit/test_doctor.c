/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The doctor on constructed rulesets: paths through chains, and features that the running kernel may lack (nft's queue
 * expression, flowtables). tests/netns/doctor*.sh and tests/vm/case_doctor.sh test real rulesets.
 */
#include <check.h>
#include <linux/netfilter.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/default_options.h"
#include "doctor/rule_texts.h"
#include "sluice/arena.h"
#include "sluice/doctor.h"
#include "sluice/nftables.h"
#include "sluice/text.h"

static struct netrules *ruleset;
static struct doctor_host *host;
static struct doctor_input input;
static struct doctor_report *report;

static void setup(void)
{
    ruleset = netrules_new();
    host = doctor_host_new();
    input = (struct doctor_input){ .repeats = false };
    firewall_options_default(&input.options);
    report = NULL;
}

static void teardown(void)
{
    doctor_report_free(report);
    doctor_host_free(host);
    netrules_free(ruleset);
}

static void judge(void)
{
    doctor_report_free(report);
    ck_assert_int_eq(doctor_examine(&report, ruleset, host, &input), 0);
}

static const struct doctor_finding *find(const char *id)
{
    for (const struct doctor_finding *finding = report->findings; finding; finding = finding->next)
        if (strcmp(finding->id, id) == 0)
            return finding;
    return NULL;
}

/* --- Constructed rulesets ------------------------------------------------------------------------- */

static struct netrules_table *add_table(uint32_t family, const char *name)
{
    struct netrules_table *table = arena_alloc(ruleset->arena, sizeof(*table)), **link = &ruleset->tables;

    *table = (struct netrules_table){ .family = family, .name = name };
    while (*link)
        link = &(*link)->next;
    return *link = table;
}

static struct netrules_chain *add_chain(struct netrules_table *table, const char *name, bool base)
{
    struct netrules_chain *chain = arena_alloc(ruleset->arena, sizeof(*chain)), **link = &table->chains;

    *chain = (struct netrules_chain){ .table = table,
                                      .name = name,
                                      .number = ruleset->chain_count++,
                                      .base = base,
                                      .hook = NF_INET_FORWARD,
                                      .type = "filter",
                                      .policy = NETRULES_ACCEPT };
    while (*link)
        link = &(*link)->next;
    return *link = chain;
}

static struct netrules_rule *add_rule(struct netrules_chain *chain, struct netrules_rule like)
{
    struct netrules_rule *rule = arena_copy(ruleset->arena, &like, sizeof(like)), **link = &chain->rules;

    rule->chain = chain;
    rule->families = NETRULES_IPV4 | NETRULES_IPV6;
    rule->handle = ++chain->rule_count;
    rule->text = rule->text ? rule->text : "rule";
    while (*link)
        link = &(*link)->next;
    return *link = rule;
}

static const struct netrules_rule queue_rule = { .verdict = NETRULES_QUEUE,
                                                 .text = "queue flags bypass to 0",
                                                 .queue = { .bypass = true } };

static void listen(uint16_t queue, uint32_t delivered)
{
    struct doctor_listener *listener = arena_alloc(host->arena, sizeof(*listener));

    *listener = (struct doctor_listener){
        .next = host->listeners, .queue = queue, .process = 7, .name = "sluice", .delivered = delivered
    };
    host->listeners = listener;
}

/* --- The way to the queue ------------------------------------------------------------------------- */

/* Rulesets: rules of the base chain, rules of the chain `sub`, and the position of the queue rule. */
static const struct {
    const char *name;
    struct netrules_rule base[4], sub[3];
    bool queue_in_sub;
    const char *finding; /* expected finding about the order of rules, or NULL */
} ways[] = {
    { "drops and jumps ahead",
      { { .verdict = NETRULES_DROP, .conditional = true }, { .verdict = NETRULES_JUMP, .target = "sub" } },
      { { .verdict = NETRULES_DROP, .conditional = true }, { .verdict = NETRULES_RETURN } },
      false,
      NULL },
    { "an accept ahead", { { .verdict = NETRULES_ACCEPT, .conditional = true } }, { { 0 } }, false, "order.accept" },
    { "an accept of lo ahead",
      { { .verdict = NETRULES_ACCEPT, .conditional = true, .only_loopback = true } },
      { { 0 } },
      false,
      NULL },
    { "an accept in a chain that is jumped to",
      { { .verdict = NETRULES_JUMP, .target = "sub", .conditional = true } },
      { { .verdict = NETRULES_ACCEPT } },
      false,
      "order.accept" },
    { "of lo by the one that jumps",
      { { .verdict = NETRULES_JUMP, .target = "sub", .conditional = true, .only_loopback = true } },
      { { .verdict = NETRULES_ACCEPT } },
      false,
      NULL },
    { "of established ones by the one that jumps",
      { { .verdict = NETRULES_JUMP, .target = "sub", .conditional = true, .established = true } },
      { { .verdict = NETRULES_ACCEPT } },
      false,
      "order.accept-established" },
    { "of everything by a chain that is always jumped to",
      { { .verdict = NETRULES_JUMP, .target = "sub" } },
      { { .verdict = NETRULES_ACCEPT } },
      false,
      "order.unreachable" },
    { "a drop of everything", { { .verdict = NETRULES_DROP } }, { { 0 } }, false, "order.unreachable" },
    { "a goto of everything",
      { { .verdict = NETRULES_GOTO, .target = "sub" } },
      { { .verdict = NETRULES_DROP, .conditional = true } },
      false,
      "order.unreachable" },
    { "a return in the base chain", { { .verdict = NETRULES_RETURN } }, { { 0 } }, false, "order.unreachable" },
    { "a queue of somebody else for everything",
      { { .verdict = NETRULES_QUEUE, .queue = { 9, 9, true, false, NETRULES_SPREAD_NONE } } },
      { { 0 } },
      false,
      "order.unreachable" },
    { "in a chain that is jumped to",
      { { .verdict = NETRULES_JUMP, .target = "sub", .conditional = true } },
      { { .verdict = NETRULES_DROP, .conditional = true } },
      true,
      NULL },
    { "in a chain that is jumped to, behind an accept",
      { { .verdict = NETRULES_ACCEPT, .conditional = true }, { .verdict = NETRULES_GOTO, .target = "sub" } },
      { { 0 } },
      true,
      "order.accept" },
    { "in a chain that nothing jumps to",
      { { .verdict = NETRULES_DROP, .conditional = true } },
      { { 0 } },
      true,
      "order.unused" },
    { "in a chain that is jumped to, ahead of an accept of established ones",
      { { .verdict = NETRULES_JUMP, .target = "sub", .conditional = true },
        { .verdict = NETRULES_ACCEPT, .conditional = true, .established = true } },
      { { 0 } },
      true,
      "order.accept-replies" },
    { "the same, which come there, too",
      { { .verdict = NETRULES_JUMP, .target = "sub", .conditional = true },
        { .verdict = NETRULES_JUMP, .target = "sub", .conditional = true, .established = true },
        { .verdict = NETRULES_ACCEPT, .conditional = true, .established = true } },
      { { 0 } },
      true,
      NULL },
    { "the same, which all come there",
      { { .verdict = NETRULES_JUMP, .target = "sub" },
        { .verdict = NETRULES_ACCEPT, .conditional = true, .established = true } },
      { { 0 } },
      true,
      NULL },
    { "behind an accept of everything in that chain",
      { { .verdict = NETRULES_JUMP, .target = "sub", .conditional = true } },
      { { .verdict = NETRULES_ACCEPT } },
      true,
      "order.unused" },
    { "behind a return of that chain",
      { { .verdict = NETRULES_JUMP, .target = "sub" } },
      { { .verdict = NETRULES_RETURN } },
      true,
      "order.unused" },
};

static void add_rules(struct netrules_chain *chain, const struct netrules_rule *rules, size_t max)
{
    for (size_t i = 0; i < max && rules[i].verdict != NETRULES_CONTINUE; i++)
        add_rule(chain, rules[i]);
}

START_TEST(way_to_the_queue)
{
    static const char *const ids[] = { "order.accept", "order.accept-established", "order.accept-replies",
                                       "order.unreachable", "order.unused" };
    struct netrules_table *table = add_table(NFPROTO_INET, "firewall");
    struct netrules_chain *base = add_chain(table, "base", true), *sub = add_chain(table, "sub", false);

    add_rules(base, ways[_i].base, 4);
    add_rules(sub, ways[_i].sub, 3);
    add_rule(ways[_i].queue_in_sub ? sub : base, queue_rule);
    judge();
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
        ck_assert_msg(!find(ids[i]) == !(ways[_i].finding && strcmp(ways[_i].finding, ids[i]) == 0), "%s: %s",
                      ways[_i].name, ids[i]);
}
END_TEST

/* A verdict map of which one branch accepts established connections. */
START_TEST(branches_are_ways)
{
    struct netrules_table *table = add_table(NFPROTO_INET, "firewall");
    struct netrules_chain *base = add_chain(table, "base", true);
    struct netrules_branch drop = { .verdict = NETRULES_DROP },
                           accept = { .verdict = NETRULES_ACCEPT, .established = true };
    struct netrules_rule *rule = add_rule(base, (struct netrules_rule){ .conditional = true });

    drop.next = &accept;
    rule->branches = &drop;
    add_rule(base, queue_rule);
    judge();
    ck_assert_ptr_nonnull(find("order.accept-established"));
    ck_assert_ptr_eq(find("order.accept-established")->rule, rule);
    accept.established = false;
    judge();
    ck_assert_ptr_nonnull(find("order.accept"));
}
END_TEST

/* An accept affects its own base chain only. */
START_TEST(accept_in_another_base_chain_takes_nothing)
{
    struct netrules_table *table = add_table(NFPROTO_INET, "firewall");
    struct netrules_chain *early = add_chain(table, "early", true), *late = add_chain(table, "late", true);

    early->priority = -10;
    add_rule(early, (struct netrules_rule){ .verdict = NETRULES_ACCEPT });
    add_rule(late, queue_rule);
    listen(0, 0);
    judge();
    ck_assert_int_eq(doctor_worst(report), DOCTOR_NOTE);
}
END_TEST

/* Chains that jump to each other. No kernel accepts that, but the search must end. */
START_TEST(rings_end)
{
    struct netrules_table *table = add_table(NFPROTO_INET, "firewall");
    struct netrules_chain *base = add_chain(table, "base", true), *sub = add_chain(table, "sub", false);

    add_rule(base, (struct netrules_rule){ .verdict = NETRULES_JUMP, .target = "sub" });
    add_rule(sub, (struct netrules_rule){ .verdict = NETRULES_JUMP, .target = "base" });
    add_rule(sub, (struct netrules_rule){ .verdict = NETRULES_JUMP, .target = "nowhere" });
    add_rule(base, queue_rule);
    judge();
    ck_assert_ptr_null(find("order.unreachable"));
}
END_TEST

/* --- Queues --------------------------------------------------------------------------------------- */

static const struct {
    struct netrules_queue queue;
    const char *finding;
    enum doctor_severity severity;
} spreads[] = {
    { { 0, 3, true, false, NETRULES_SPREAD_CPU }, "queue.fanout", DOCTOR_WARNING },
    { { 0, 3, true, false, NETRULES_SPREAD_OTHER }, "queue.not-by-flow", DOCTOR_WARNING },
    { { 0, 3, true, false, NETRULES_SPREAD_ADDRESSES }, "queue.by-addresses", DOCTOR_NOTE },
    { { 0, 3, true, false, NETRULES_SPREAD_FLOW }, NULL, DOCTOR_NOTE },
    { { 0, 3, false, false, NETRULES_SPREAD_FLOW }, "queue.no-bypass", DOCTOR_NOTE },
    { { 0, 5, true, false, NETRULES_SPREAD_FLOW }, "queue.no-listener", DOCTOR_WARNING },
    { { 0, 5, false, false, NETRULES_SPREAD_FLOW }, "queue.no-listener", DOCTOR_BROKEN },
};

START_TEST(spread_is_judged)
{
    struct netrules_chain *base = add_chain(add_table(NFPROTO_INET, "mine"), "base", true);

    input.options.queue_last = 3;
    input.queues_given = true;
    add_rule(base, queue_rule)->queue = spreads[_i].queue;
    for (uint16_t i = 0; i <= 3; i++)
        listen(i, 0);
    judge();
    if (spreads[_i].finding) {
        ck_assert_ptr_nonnull(find(spreads[_i].finding));
        ck_assert_int_eq(find(spreads[_i].finding)->severity, spreads[_i].severity);
    } else {
        ck_assert_ptr_null(report->findings);
    }
    if (spreads[_i].queue.last == 5)
        ck_assert_str_eq(find("queue.no-listener")->what, "queues 4-5: no listener");
}
END_TEST

START_TEST(one_queue_has_it_all)
{
    struct netrules_chain *base = add_chain(add_table(NFPROTO_INET, "mine"), "base", true);

    input.options.queue_last = 1;
    add_rule(base, queue_rule)->queue = (struct netrules_queue){ 0, 1, true, false, NETRULES_SPREAD_FLOW };
    listen(0, 960);
    listen(1, 39);
    judge();
    ck_assert_ptr_null(find("queue.one-loaded")); /* too few packets for a finding */
    listen(1, 0);
    host->listeners->delivered = 100000; /* the last listener added is the first of the list */
    judge();
    ck_assert_ptr_nonnull(find("queue.one-loaded"));
    host->listeners->delivered = 1000;
    judge();
    ck_assert_ptr_null(find("queue.one-loaded"));
}
END_TEST

/* --- Offload -------------------------------------------------------------------------------------- */

START_TEST(offload_is_found_wherever_it_stands)
{
    struct netrules_chain *ours = add_chain(add_table(NFPROTO_INET, "mine"), "base", true);
    struct netrules_table *table = add_table(NFPROTO_INET, "firewall");
    struct netrules_chain *base = add_chain(table, "base", true);
    struct netrules_flowtable flowtable = { .table = table, .name = "ft", .devices = "eth0,eth1" };
    struct netrules_rule *offload;

    table->flowtables = &flowtable;
    base->priority = 100; /* behind the sluice table */
    add_rule(ours, queue_rule);
    judge();
    ck_assert_ptr_nonnull(find("offload.unused"));
    offload = add_rule(base, (struct netrules_rule){ .flowtable = "ft", .text = "flow add @ft" });
    judge();
    ck_assert_ptr_null(find("offload.unused"));
    ck_assert_ptr_nonnull(find("offload.flowtable"));
    ck_assert_int_eq(find("offload.flowtable")->severity, DOCTOR_BROKEN);
    ck_assert_ptr_eq(find("offload.flowtable")->rule, offload);
    offload->matches_connection_mark = true; /* may match connections that Sluice has accepted */
    judge();
    ck_assert_int_eq(find("offload.flowtable")->severity, DOCTOR_NOTE);
    ours->hook = NF_INET_LOCAL_IN; /* packets to the host itself are never offloaded */
    judge();
    ck_assert_ptr_null(find("offload.flowtable"));
}
END_TEST

/* --- The sluice table ----------------------------------------------------------------------------- */

static int add_message(void *user, const void *bytes, size_t length)
{
    return nftables_add_message(user, bytes, length);
}

static const enum attach_mode modes[] = { ATTACH_AFTER, ATTACH_BEFORE, ATTACH_REPEAT, ATTACH_CHAIN, ATTACH_ROUTE };
enum { MODES = sizeof(modes) / sizeof(modes[0]) };

/* A table as the firewall module makes it, in any mode, gives no finding. */
START_TEST(own_table_as_made_is_clean)
{
    struct firewall_options options = input.options;
    const struct netrules_chain *chain;

    options.mode = modes[_i / 2 % MODES];
    options.expression = _i % 2 ? QUEUE_EXPRESSION_NATIVE : QUEUE_EXPRESSION_XT;
    options.hooks = FIREWALL_FORWARD | FIREWALL_INPUT | FIREWALL_OUTPUT;
    options.queue_first = 4;
    options.queue_last = 7;
    options.mark = options.mark_mask = 0x10;
    options.offload.accept = options.offload.drop = _i >= 2 * MODES;
    options.offload.saves = _i >= 4 * MODES;
    options.offload.has_next = options.mode == ATTACH_ROUTE;
    options.offload.next_queue = 77;
    ck_assert_int_eq(firewall_expect(&options, false, add_message, ruleset), 0);
    for (uint16_t i = 4; i <= 7; i++)
        listen(i, 0);
    judge();
    ck_assert(report->installed);
    ck_assert_uint_eq(report->queue_first, 4);
    ck_assert_uint_eq(report->queue_last, 7);
    ck_assert_uint_eq(report->counts[DOCTOR_WARNING], 0);
    ck_assert_uint_eq(report->counts[DOCTOR_BROKEN], options.mode == ATTACH_CHAIN); /* no rule jumps to the chain */
    input.queues_given = true; /* queues other than the configured ones */
    judge();
    ck_assert_ptr_nonnull(find("own.altered"));
    input.queues_given = false;
    chain = netrules_find_chain(ruleset->tables, options.mode == ATTACH_CHAIN ? "sluice_ips" : "forward");
    ((struct netrules_rule *)chain->rules)->next = NULL; /* removes the queue rule */
    judge();
    ck_assert_ptr_nonnull(find("own.not-feeding"));
}
END_TEST

/* --- State of the host ---------------------------------------------------------------------------- */

/* Adds a recorded dump from the fuzz corpus. */
static void add_recorded(const char *name)
{
    char path[4096];
    uint8_t bytes[8192];
    _Alignas(struct nlmsghdr) uint8_t message[sizeof(bytes)];
    FILE *file;
    size_t size;

    ck_assert_ptr_nonnull(getenv("SLUICE_SOURCE"));
    snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/netrules/%s", getenv("SLUICE_SOURCE"), name);
    file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    size = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    for (size_t at = 1; at < size;) {
        struct nlmsghdr header;

        memcpy(&header, bytes + at, sizeof(header));
        ck_assert_uint_le(at + header.nlmsg_len, size);
        memcpy(message, bytes + at, header.nlmsg_len);
        ck_assert_int_eq(doctor_host_add_message(host, message, header.nlmsg_len), 0);
        at += NLMSG_ALIGN(header.nlmsg_len);
    }
}

START_TEST(routes_are_read)
{
    add_recorded("route");
    ck_assert(host->routes && host->routes->next && !host->routes->next->next);
    ck_assert(!host->routes->ipv6 && host->routes->next->ipv6);
    ck_assert_ptr_nonnull(strstr(host->routes->text, "not fwmark"));
    ck_assert_uint_eq(host->routes->mark, 51820);
    ck_assert_uint_eq(host->routes->mask, 0xffffffff);
    ck_assert_str_eq(host->routes->next->text, "ip -6 rule 32765: fwmark 0xca6c/0xffffffff lookup 3");
}
END_TEST

START_TEST(links_are_read)
{
    add_recorded("links");
    ck_assert_ptr_nonnull(host->links);
    for (const struct doctor_link *link = host->links; link; link = link->next)
        ck_assert_str_ne(link->name, "lo");
}
END_TEST

START_TEST(listeners_are_read)
{
    ck_assert_int_eq(doctor_host_add_listener(host, "    5  30228     2 2 65531     3     4       99  1\n"), 0);
    ck_assert_int_eq(doctor_host_add_listener(host, "nonsense\n"), 0);
    ck_assert_int_eq(doctor_host_add_listener(host, "70000 1 2 3 4 5 6 7 1\n"), 0);
    ck_assert(host->listeners && !host->listeners->next);
    ck_assert_uint_eq(host->listeners->queue, 5);
    ck_assert_uint_eq(host->listeners->port, 30228);
    ck_assert_uint_eq(host->listeners->waiting, 2);
    ck_assert_uint_eq(host->listeners->dropped, 7);
    ck_assert_uint_eq(host->listeners->delivered, 99);
}
END_TEST

/* --- Kernels -------------------------------------------------------------------------------------- */

static const struct {
    struct doctor_kernel kernel;
    const char *finding; /* expected finding, or NULL */
} kernels[] = {
    { { 0, 0, 0 }, NULL },
    { { 6, 1, 140 }, NULL },
    { { 6, 12, 74 }, NULL },
    { { 6, 12, 75 }, "kernel.queue-crash" },
    { { 6, 12, 82 }, "kernel.queue-crash" },
    { { 6, 12, 83 }, "kernel.queue-resize" },
    { { 6, 17, 99 }, NULL },
    { { 6, 18, 13 }, NULL },
    { { 6, 18, 23 }, "kernel.queue-crash" },
    { { 6, 18, 24 }, "kernel.queue-resize" },
    { { 6, 19, 13 }, "kernel.queue-crash" },
    { { 6, 19, 14 }, "kernel.queue-resize" },
    { { 7, 0, 0 }, "kernel.queue-resize" },
    { { 8, 1, 0 }, "kernel.queue-resize" },
};

START_TEST(kernels_with_defects)
{
    static const char *const ids[] = { "kernel.queue-crash", "kernel.queue-resize" };

    host->kernel = kernels[_i].kernel;
    judge();
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
        ck_assert_msg(!find(ids[i]) == !(kernels[_i].finding && strcmp(kernels[_i].finding, ids[i]) == 0),
                      "%u.%u.%u: %s", kernels[_i].kernel.major, kernels[_i].kernel.minor, kernels[_i].kernel.patch,
                      ids[i]);
}
END_TEST

/* Kernels that drop super-packets of new flows, if a network interface makes them. */
START_TEST(kernels_that_drop_udp)
{
    static const struct {
        struct doctor_kernel kernel;
        bool drops;
    } cases[] = { { { 6, 10, 14 }, false }, { { 6, 11, 0 }, true },  { { 6, 12, 74 }, true },  { { 6, 12, 75 }, false },
                  { { 6, 17, 9 }, true },   { { 6, 18, 13 }, true }, { { 6, 18, 14 }, false }, { { 6, 19, 3 }, true },
                  { { 6, 19, 4 }, false },  { { 7, 0, 0 }, false },  { { 0, 0, 0 }, false } };
    struct doctor_link plain = { .name = "eth0" }, merging = { .next = &plain, .name = "eth1", .merges_udp = true };

    host->kernel = cases[_i].kernel;
    host->links = &plain;
    judge();
    ck_assert_ptr_null(find("kernel.udp-drops"));
    ck_assert_ptr_null(find("link.udp-gro"));
    host->links = &merging;
    judge();
    ck_assert_ptr_nonnull(find("link.udp-gro"));
    ck_assert_msg(!find("kernel.udp-drops") == !cases[_i].drops, "%u.%u.%u", cases[_i].kernel.major,
                  cases[_i].kernel.minor, cases[_i].kernel.patch);
}
END_TEST

/* --- The report ----------------------------------------------------------------------------------- */

START_TEST(report_is_written)
{
    struct netrules_chain *base = add_chain(add_table(NFPROTO_INET, "mine"), "base", true);
    struct text text, json;

    add_rule(base,
             (struct netrules_rule){ .verdict = NETRULES_ACCEPT, .conditional = true, .text = "tcp dport 1 accept" });
    add_rule(base, queue_rule);
    judge();
    text_init(&text);
    text_init(&json);
    doctor_print(&text, report);
    doctor_print_json(&json, report);
    ck_assert_ptr_nonnull(strstr(text.bytes, "warning order.accept: 1 rule accepts packets ahead of the queue"));
    ck_assert_ptr_nonnull(strstr(text.bytes, "\n    in: table inet mine, chain base (forward, priority 0)\n"
                                             "    handle 1: tcp dport 1 accept\n    why: "));
    ck_assert_ptr_nonnull(strstr(text.bytes, "\nqueue 0: 0 broken, 2 warnings, 0 notes"));
    ck_assert_ptr_nonnull(
        strstr(json.bytes, "\"verdict\":\"warnings\",\"installed\":false,\"queues\":{\"first\":0,\"last\":0}"));
    ck_assert_ptr_nonnull(
        strstr(json.bytes, "\"hook\":\"forward\",\"priority\":0,\"handle\":1,\"text\":\"tcp dport 1 accept\""));
    text_clear(&text);
    text_clear(&json);
}
END_TEST

/* The text of a rule is taken from the output of libnftables: the line in its table with its handle. */
START_TEST(texts_are_taken_from_the_listing)
{
    static const char listing[] = "table ip mine { # handle 1\n"
                                  "\tchain base { # handle 1\n"
                                  "\t\tudp dport 1 accept # handle 1\n"
                                  "\t}\n"
                                  "}\n"
                                  "table inet mine { # handle 2\n"
                                  "\tset s { # handle 1\n"
                                  "\t\ttype ipv4_addr\n"
                                  "\t}\n"
                                  "\n"
                                  "\tchain base { # handle 3\n"
                                  "\t\ttype filter hook forward priority filter; policy accept;\n"
                                  "\t\ttcp dport 2 accept # handle 11\n"
                                  "\t\ttcp dport 1 accept comment \"# handle 1\" # handle 1\n"
                                  "\t}\n"
                                  "}\n";
    struct netrules_chain *base = add_chain(add_table(NFPROTO_INET, "mine"), "base", true);

    add_rule(base, (struct netrules_rule){ .verdict = NETRULES_ACCEPT, .conditional = true, .text = "[ cmp ]" });
    add_rule(base, queue_rule);
    judge();
    ck_assert_str_eq(find("order.accept")->text, "[ cmp ]");
    doctor_set_rule_texts(report, listing);
    ck_assert_str_eq(find("order.accept")->text, "tcp dport 1 accept comment \"# handle 1\"");
    ck_assert_str_eq(find("queue.no-listener")->text, queue_rule.text); /* the listing does not have this rule */
    doctor_set_rule_texts(report, "");
}
END_TEST

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

int main(void)
{
    Suite *suite = suite_create("doctor");
    TCase *judging = tcase_create("judging");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(judging, setup, teardown);
    tcase_add_loop_test(judging, way_to_the_queue, 0, COUNT(ways));
    tcase_add_test(judging, branches_are_ways);
    tcase_add_test(judging, accept_in_another_base_chain_takes_nothing);
    tcase_add_test(judging, rings_end);
    tcase_add_loop_test(judging, spread_is_judged, 0, COUNT(spreads));
    tcase_add_test(judging, one_queue_has_it_all);
    tcase_add_test(judging, offload_is_found_wherever_it_stands);
    tcase_add_loop_test(judging, own_table_as_made_is_clean, 0, 6 * MODES);
    tcase_add_test(judging, routes_are_read);
    tcase_add_test(judging, links_are_read);
    tcase_add_test(judging, listeners_are_read);
    tcase_add_loop_test(judging, kernels_with_defects, 0, COUNT(kernels));
    tcase_add_loop_test(judging, kernels_that_drop_udp, 0, 11);
    tcase_add_test(judging, report_is_written);
    tcase_add_test(judging, texts_are_taken_from_the_listing);
    suite_add_tcase(suite, judging);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
