/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keywords on the kernel's metadata of a packet, and nfq_set_mark. */
#include <check.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conntrack_bytes.h"
#include "sluice/keyword.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct keyword_table *keywords;
static struct rule_variables *variables;
static struct diag *diag;
static struct rule_list *list;

/* Returns NULL if the options are refused. */
static const struct rule *try_parse(const char *options)
{
    const struct rule_list_options list_options = { .keywords = keywords, .variables = variables };
    char text[512];
    int length = snprintf(text, sizeof(text), "alert ip any any -> any any (%s; sid:1;)", options);

    rule_list_free(list);
    list = NULL;
    ck_assert_int_eq(rule_list_new(&list, &list_options, diag), 0);
    rule_list_parse(list, "test.rules", text, (size_t)length, diag);
    rule_list_finish(list, diag);
    return rule_list_count(list) ? rule_list_get(list, 0) : NULL;
}

static const struct rule *parse(const char *options)
{
    const struct rule *rule = try_parse(options);

    ck_assert_msg(rule != NULL, "%s: %s", options, diag_count(diag) ? diag_get(diag, 0)->message : "?");
    return rule;
}

static void setup(void)
{
    keywords = keyword_table_new(keyword_list, keyword_list_count);
    variables = rule_variables_new();
    diag = diag_new();
    list = NULL;
    ck_assert(keywords && variables && diag);
}

static void teardown(void)
{
    rule_list_free(list);
    diag_free(diag);
    rule_variables_free(variables);
    keyword_table_free(keywords);
}

static bool holds(const struct rule *rule, const struct packet *pkt)
{
    const struct match_input in = { .packet = pkt };

    for (const struct condition *c = rule->packet_conditions; c; c = c->next)
        if (c->keyword->packet.match(&in, c->data) == c->negated)
            return false;
    return true;
}

static void act(const struct rule *rule, const struct packet *pkt)
{
    const struct match_input in = { .packet = pkt };

    for (const struct match_action *c = rule->actions; c; c = c->next)
        c->act(&in, c->data);
}

/* --- Conditions ----------------------------------------------------------------------------------- */

enum { LOOPBACK = 1, LAN = 70001, PORT = 70002, WAN = 70003 };

/* Marks and interfaces of queued packets. The kernel omits a mark of 0. */
static const struct {
    const char *options;
    struct queue_meta meta;
    bool expected;
} meta_cases[] = {
    { "mark:0", { .id = 1 }, true },
    { "mark:!0", { .id = 1 }, false },
    { "mark:0", { .id = 0 }, false }, /* not from a queue */
    { "mark:!7", { .id = 0 }, false },
    { "mark:0x10", { .id = 1, .mark = 16 }, true },
    { "mark:0x10", { .id = 1, .mark = 17 }, false },
    { "mark:0x10/0xf0", { .id = 1, .mark = 0xffffff1f }, true },
    { "mark:0x10/0xf0", { .id = 1, .mark = 0x21 }, false },
    { "mark:!0x10/0xf0", { .id = 1, .mark = 0x21 }, true },
    { "mark:4294967295", { .id = 1, .mark = 0xffffffff }, true },
    { "mark:0x80000000/0x80000000", { .id = 1, .mark = 0xffffffff }, true },
    { "mark:0/0", { .id = 1, .mark = 5 }, true },
    { "mark:1/1; mark:!2/2", { .id = 1, .mark = 5 }, true },
    { "iif:lo", { .id = 1, .in_ifindex = LOOPBACK }, true },
    { "iif:lo", { .id = 1, .in_ifindex = LAN }, false },
    { "iif:!lo", { .id = 1, .in_ifindex = LAN }, true },
    { "iif:70001,70003", { .id = 1, .in_ifindex = WAN }, true },
    { "iif:70001, 70003", { .id = 1, .in_ifindex = PORT }, false },
    { "iif:!70001,70003", { .id = 1, .in_ifindex = PORT }, true },
    { "iif:!70001,70003", { .id = 1, .in_ifindex = WAN }, false },
    { "iifname:70002", { .id = 1, .in_ifindex = LAN, .in_physical_ifindex = PORT }, true },
    { "iif:!70002", { .id = 1, .in_ifindex = LAN, .in_physical_ifindex = PORT }, false },
    { "iif:!lo", { .id = 1, .out_ifindex = LAN }, false }, /* a hook without input interface */
    { "oif:70001", { .id = 1, .out_ifindex = LAN }, true },
    { "oif:70001", { .id = 1, .in_ifindex = LAN }, false },
    { "oifname:!70002", { .id = 1, .out_ifindex = LAN, .out_physical_ifindex = PORT }, false },
    { "iif:70001; oif:70003", { .id = 1, .in_ifindex = LAN, .out_ifindex = WAN }, true },
    { "iif:no-such-if", { .id = 1, .in_ifindex = LAN }, false },
    { "iif:!no-such-if", { .id = 1, .in_ifindex = LAN }, true },
    { "ctmark:0", { .id = 1 }, false }, /* no conntrack data */
    { "ctmark:!5", { .id = 1 }, false },
    { "ctstate:new,established,related", { .id = 1 }, false },
    { "ctstate:!new", { .id = 1 }, false },
    { "ctstate:invalid,untracked", { .id = 1 }, false }, /* not known to be untracked either */
};

START_TEST(what_came_with_the_packet)
{
    struct packet pkt = { .ip_version = 4, .meta = meta_cases[_i].meta };

    pkt.root = &pkt;
    ck_assert_msg(holds(parse(meta_cases[_i].options), &pkt) == meta_cases[_i].expected, "row %d: %s", _i,
                  meta_cases[_i].options);
}
END_TEST

static const struct {
    const char *options;
    uint32_t info, mark;
    bool expected;
} conntrack_cases[] = {
    { "ctmark:0", IP_CT_NEW, 0, true },
    { "ctmark:0xff", IP_CT_NEW, 0xff, true },
    { "ctmark:0xff", IP_CT_NEW, 0x1ff, false },
    { "ctmark:!0xff", IP_CT_NEW, 0x1ff, true },
    { "ctmark:0x0f/0x0f", IP_CT_NEW, 0xffffffff, true },
    { "ctstate:new", IP_CT_NEW, 0, true },
    { "ctstate:new", IP_CT_ESTABLISHED, 0, false },
    { "ctstate:!new", IP_CT_ESTABLISHED, 0, true },
    { "ctstate:established", IP_CT_ESTABLISHED, 0, true },
    { "ctstate:ESTABLISHED", IP_CT_ESTABLISHED_REPLY, 0, true },
    { "ctstate:related", IP_CT_RELATED, 0, true },
    { "ctstate:established,related", IP_CT_RELATED_REPLY, 0, true },
    { "ctstate:established, related", IP_CT_NEW, 0, false },
    { "ctstate:!established,related", IP_CT_NEW, 0, true },
    { "ctstate:!new", IP_CT_NUMBER, 0, false },
};

static const struct conntrack_text connection = {
    .client = "10.0.0.1",
    .server = "10.0.0.2",
    .client_port = 1234,
    .server_port = 80,
    .protocol = IPPROTO_TCP,
    .status = IPS_CONFIRMED,
};

START_TEST(what_the_kernel_knows_of_its_connection)
{
    struct conntrack_bytes ct;
    struct packet pkt = { .ip_version = 4, .meta.id = 1 };

    ct_build(&ct, &connection);
    ct_u32(&ct, CTA_MARK, conntrack_cases[_i].mark); /* the last attribute counts */
    pkt.conntrack = (struct packet_conntrack){ ct.bytes, (uint32_t)ct.length, conntrack_cases[_i].info };
    pkt.root = &pkt;

    const struct rule *rule = parse(conntrack_cases[_i].options);

    ck_assert(rule->needs_conntrack);
    ck_assert_msg(holds(rule, &pkt) == conntrack_cases[_i].expected, "row %d: %s", _i, conntrack_cases[_i].options);
    pkt.conntrack.length /= 2; /* truncated data must not be read past its end */
    holds(rule, &pkt);
}
END_TEST

static const struct {
    const char *options;
    bool expected;
} unconnected_cases[] = {
    { "ctstate:invalid", true },      { "ctstate:untracked", true },
    { "ctstate:new,INVALID", true },  { "ctstate:new", false },
    { "ctstate:established", false }, { "ctstate:!established", true },
    { "ctstate:!invalid", false },    { "ctmark:0", false },
};

START_TEST(the_kernel_knows_no_connection)
{
    struct packet pkt = { .ip_version = 4, .meta.id = 1, .conntrack.info = PACKET_CONNTRACK_NONE };
    const struct rule *rule = parse(unconnected_cases[_i].options);

    pkt.root = &pkt;
    ck_assert_msg(holds(rule, &pkt) == unconnected_cases[_i].expected, "row %d: %s", _i, unconnected_cases[_i].options);
}
END_TEST

/* The keywords use the metadata of the queued packet, also for its inner packets; they never match pseudo packets. */
START_TEST(packets_inside)
{
    struct packet carrier = { .ip_version = 4, .meta = { .id = 9, .mark = 3, .in_ifindex = LAN } };
    struct packet inner = { .ip_version = 4, .root = &carrier, .flags = PACKET_TUNNELED };

    carrier.root = &carrier;
    ck_assert(holds(parse("mark:3; iif:70001"), &inner));
    ck_assert(!holds(parse("mark:0"), &inner));
    carrier.flags |= PACKET_PSEUDO;
    ck_assert(!holds(parse("mark:3"), &carrier));
    ck_assert(!parse("mark:3; iif:lo; oif:lo")->needs_conntrack);
}
END_TEST

/* --- nfq_set_mark --------------------------------------------------------------------------------- */

START_TEST(marks_what_matched)
{
    struct packet pkt = { .ip_version = 4, .meta = { .id = 1, .mark = 0xff } };

    pkt.root = &pkt;
    act(parse("nfq_set_mark:0x10/0xf0"), &pkt);
    ck_assert(pkt.mark_set);
    ck_assert_uint_eq(pkt.mark_value, 0x10);
    ck_assert_uint_eq(pkt.mark_mask, 0xf0);
    act(parse("nfq_set_mark:0x80000003/0x8000000f"), &pkt); /* a second rule adds bits */
    ck_assert_uint_eq(pkt.mark_value, 0x80000013);
    ck_assert_uint_eq(pkt.mark_mask, 0x800000ff);
    act(parse("nfq_set_mark:0/0x10"), &pkt);
    ck_assert_uint_eq(pkt.mark_value, 0x80000003);
    act(parse("nfq_set_mark:0xfff/0xf00"), &pkt); /* bits outside of the mask are ignored */
    ck_assert_uint_eq(pkt.mark_value, 0x80000f03);
    ck_assert_uint_eq(pkt.mark_mask, 0x80000fff);
}
END_TEST

static const struct {
    unsigned inner, carrier; /* enum packet_flag */
    bool marks;
} tunnel_cases[] = {
    { PACKET_TUNNELED, PACKET_CARRIES_TUNNEL, false },
    { PACKET_REASSEMBLED, PACKET_FRAGMENT, true },
    { PACKET_REASSEMBLED, PACKET_CARRIES_TUNNEL, false },
};

START_TEST(tunnels_mark_nothing)
{
    struct packet carrier = { .ip_version = 4, .meta.id = 1, .flags = tunnel_cases[_i].carrier };
    struct packet inner = { .ip_version = 4, .root = &carrier, .flags = tunnel_cases[_i].inner };

    carrier.root = &carrier;
    act(parse("nfq_set_mark:1/1"), &inner);
    ck_assert(carrier.mark_set == tunnel_cases[_i].marks);
    ck_assert(!inner.mark_set);
    carrier.mark_set = false;
    act(parse("nfq_set_mark:1/1"), &carrier);
    ck_assert(carrier.mark_set == !(tunnel_cases[_i].carrier & PACKET_CARRIES_TUNNEL));
    carrier.mark_set = false;
    act(parse("nfq_set_mark:1/0"), &carrier);
    ck_assert(!carrier.mark_set);
}
END_TEST

/* --- Errors --------------------------------------------------------------------------------------- */

static const struct {
    const char *options, *says;
} mistakes[] = {
    { "mark:", "" },
    { "mark:x", "'x'" },
    { "mark:0x100000000", "0x100000000" },
    { "mark:1/", "mask" },
    { "mark:1/x", "'x'" },
    { "mark:1/2/3", "'2/3'" },
    { "mark:0x11/0x10", "outside" },
    { "mark:-1", "'-1'" },
    { "ctmark:one", "'one'" },
    { "ctmark:3/2", "outside" },
    { "ctstate:old", "'old'" },
    { "ctstate:new,,related", "''" },
    { "ctstate:invalid,unknown", "'unknown'" },
    { "iif:an-interface-of-such-a-length", "interface" },
    { "iif:lo,", "interface" },
    { "oif:1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", "16" },
    { "nfq_set_mark:4", "VALUE/MASK" },
    { "nfq_set_mark:0x1g/0xff", "'0x1g'" },
    { "nfq_set_mark:1/0x1ffffffff", "mask" },
    { "nfq_set_mark:!1/1", "" },
    { "nfq_set_mark", "" },
};

START_TEST(tells_of_mistakes)
{
    ck_assert_msg(!try_parse(mistakes[_i].options), "%s", mistakes[_i].options);
    ck_assert_uint_ge(diag_count(diag), 1);
    ck_assert_msg(strstr(diag_get(diag, 0)->message, mistakes[_i].says) != NULL, "%s: %s", mistakes[_i].options,
                  diag_get(diag, 0)->message);
}
END_TEST

static const char *const warnings[] = { "iif:no-such-if", "nfq_set_mark:1/0", "nfq_set_mark:3/1" };

START_TEST(warns)
{
    parse(warnings[_i]);
    ck_assert_uint_eq(diag_count(diag), 1);
    ck_assert_int_eq(diag_get(diag, 0)->severity, DIAG_WARNING);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("keyword_netfilter");
    TCase *tc = tcase_create("netfilter");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, what_came_with_the_packet, 0, COUNT(meta_cases));
    tcase_add_loop_test(tc, what_the_kernel_knows_of_its_connection, 0, COUNT(conntrack_cases));
    tcase_add_loop_test(tc, the_kernel_knows_no_connection, 0, COUNT(unconnected_cases));
    tcase_add_test(tc, packets_inside);
    tcase_add_test(tc, marks_what_matched);
    tcase_add_loop_test(tc, tunnels_mark_nothing, 0, COUNT(tunnel_cases));
    tcase_add_loop_test(tc, tells_of_mistakes, 0, COUNT(mistakes));
    tcase_add_loop_test(tc, warns, 0, COUNT(warnings));
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    SRunner *runner = srunner_create(suite());

    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
