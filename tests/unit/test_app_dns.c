/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DNS, mDNS and LLMNR: messages, malformed names, limits, events, buffers, EVE, and identification of the protocol. */
#include <check.h>

#include "../lib/app_rig.h"

/* Types of records. */
enum {
    DNS_A = 1,
    DNS_NS = 2,
    DNS_CNAME = 5,
    DNS_SOA = 6,
    DNS_NULL = 10,
    DNS_PTR = 12,
    DNS_MX = 15,
    DNS_TXT = 16,
    DNS_AAAA = 28,
    DNS_SRV = 33,
    DNS_OPT = 41,
    DNS_SSHFP = 44,
};

/* The limits of dns.md: bytes of a name, and of a message with its names. */
enum { NAME_MAX_LENGTH = 1025, TEXT_MAX_LENGTH = 256 << 10 };

/* A message that tests build. */
struct message {
    uint8_t bytes[65536];
    size_t length;
};

static void put(struct message *m, const void *bytes, size_t length)
{
    ck_assert_uint_le(m->length + length, sizeof(m->bytes));
    memcpy(m->bytes + m->length, bytes, length);
    m->length += length;
}

static void put16(struct message *m, unsigned value)
{
    const uint8_t bytes[] = { (uint8_t)(value >> 8), (uint8_t)value };

    put(m, bytes, 2);
}

static void put_name(struct message *m, const char *name)
{
    while (*name) {
        size_t length = strcspn(name, ".");
        uint8_t octet = (uint8_t)length;

        put(m, &octet, 1);
        put(m, name, length);
        name += length + (name[length] == '.');
    }
    put(m, "", 1);
}

static void start(struct message *m, unsigned flags, unsigned queries, unsigned answers, unsigned authorities,
                  unsigned additionals)
{
    m->length = 0;
    put16(m, 0x1234);
    put16(m, flags);
    put16(m, queries);
    put16(m, answers);
    put16(m, authorities);
    put16(m, additionals);
}

static void put_query(struct message *m, const char *name, unsigned type)
{
    put_name(m, name);
    put16(m, type);
    put16(m, 1);
}

/* Appends a record whose name is a pointer to offset 12. */
static void put_record(struct message *m, unsigned type, const void *data, size_t length)
{
    put16(m, 0xc00c);
    put16(m, type);
    put16(m, 1);
    put16(m, 0);
    put16(m, 300);
    put16(m, (unsigned)length);
    put(m, data, length);
}

static struct app_rig *udp_rig(const char *proto, uint16_t port, const char *yaml)
{
    struct app_rig *rig = app_rig_new(proto, yaml);

    rig->transport = APP_UDP;
    app_rig_start_flow(rig);
    rig->flow.server_port = port;
    return rig;
}

static void send_message(struct app_rig *rig, enum flow_direction direction, const struct message *m)
{
    if (rig->transport == APP_TCP) {
        const uint8_t length[] = { (uint8_t)(m->length >> 8), (uint8_t)m->length };

        app_rig_send(rig, direction, length, 2);
    }
    app_rig_send(rig, direction, m->bytes, m->length);
}

static void assert_buffer(const struct app_rig *rig, uint64_t id, const char *keyword, enum flow_direction direction,
                          unsigned index, const char *want)
{
    struct app_bytes bytes = { 0 };
    bool there = app_rig_buffer(rig, id, keyword, direction, index, &bytes);

    ck_assert_msg(there == (want != NULL), "%s %u", keyword, index);
    if (!want)
        return;
    ck_assert_msg(bytes.length == strlen(want) && memcmp(bytes.bytes, want, bytes.length) == 0, "%s %u: %.*s", keyword,
                  index, (int)bytes.length, (const char *)bytes.bytes);
}

/* --- Records and EVE ------------------------------------------------------------------------------ */

static const struct {
    unsigned type;
    const char *data;
    size_t length;
    const char *detail, *grouped, *target;
} records[] = {
#define DATA(text) text, sizeof(text) - 1
    { DNS_A, DATA("\x01\x02\x03\x04"), "\"rrtype\":\"A\",\"ttl\":300,\"rdata\":\"1.2.3.4\"", "\"A\":[\"1.2.3.4\"]",
      NULL },
    { DNS_A, DATA("\x01\x02\x03"), "\"rrtype\":\"A\",\"ttl\":300,\"rdata\":\"\"", "\"A\":[\"\"]", NULL },
    { DNS_AAAA, DATA("\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01"),
      "\"rrtype\":\"AAAA\",\"ttl\":300,\"rdata\":\"2001:0db8:0000:0000:0000:0000:0000:0001\"",
      "\"AAAA\":[\"2001:0db8:0000:0000:0000:0000:0000:0001\"]", NULL },
    { DNS_CNAME, DATA("\x03www\xc0\x0c"), "\"rrtype\":\"CNAME\",\"ttl\":300,\"rdata\":\"www.a.test\"",
      "\"CNAME\":[\"www.a.test\"]", "www.a.test" },
    { DNS_NS, DATA("\xc0\x0c"), "\"rrtype\":\"NS\",\"ttl\":300,\"rdata\":\"a.test\"", "\"NS\":[\"a.test\"]", "a.test" },
    { DNS_PTR, DATA("\x01h\0"), "\"rrtype\":\"PTR\",\"ttl\":300,\"rdata\":\"h\"", "\"PTR\":[\"h\"]", "h" },
    { DNS_MX, DATA("\0\x0a\x01m\xc0\x0c"), "\"rrtype\":\"MX\",\"ttl\":300,\"rdata\":\"m.a.test\"",
      "\"MX\":[\"m.a.test\"]", "m.a.test" },
    { DNS_TXT, DATA("\x02hi\x01x"),
      "\"rrtype\":\"TXT\",\"ttl\":300,\"rdata\":\"hi\"},{\"rrname\":\"a.test\",\"rrtype\":\"TXT\",\"ttl\":300,"
      "\"rdata\":\"x\"",
      "\"TXT\":[\"hi\",\"x\"]", NULL },
    { DNS_SOA, DATA("\x01m\0\x01r\0\0\0\0\x01\0\0\0\x02\0\0\0\x03\0\0\0\x04\0\0\0\x05"),
      "\"rrtype\":\"SOA\",\"ttl\":300,\"soa\":{\"mname\":\"m\",\"rname\":\"r\",\"serial\":1,\"refresh\":2,\"retry\":3,"
      "\"expire\":4,"
      "\"minimum\":5}",
      "\"SOA\":[{\"mname\":\"m\",\"rname\":\"r\",\"serial\":1,\"refresh\":2,\"retry\":3,\"expire\":4,\"minimum\":5}]",
      "m" },
    { DNS_SRV, DATA("\0\x01\0\x02\0\x50\x01s\0"),
      "\"rrtype\":\"SRV\",\"ttl\":300,\"srv\":{\"priority\":1,\"weight\":2,\"port\":80,\"name\":\"s\"}",
      "\"SRV\":[{\"priority\":1,\"weight\":2,\"port\":80,\"name\":\"s\"}]", NULL },
    { DNS_SSHFP, DATA("\x04\x02\xab\xcd"),
      "\"rrtype\":\"SSHFP\",\"ttl\":300,\"sshfp\":{\"fingerprint\":\"ab:cd\",\"algo\":4,\"type\":2}",
      "\"SSHFP\":[{\"fingerprint\":\"ab:cd\",\"algo\":4,\"type\":2}]", NULL },
    { DNS_NULL, DATA("xyz"), "\"rrtype\":\"NULL\",\"ttl\":300,\"rdata\":\"xyz\"", "\"NULL\":[\"xyz\"]", NULL },
    { 65, DATA("\0\x01\0"), "\"rrtype\":\"HTTPS\",\"ttl\":300", "", NULL },
    { 257, DATA("\0\x05issue"), "\"rrtype\":\"257\",\"ttl\":300", "", NULL },
    { DNS_OPT, DATA("\0\x0a\0\x02\x01\x02"), "\"rrtype\":\"OPT\",\"ttl\":300", "",
      NULL }, /* has data in additionals only */
    { DNS_CNAME, DATA(""), "\"rrtype\":\"CNAME\",\"ttl\":300,\"rdata\":\"\"", "\"CNAME\":[\"\"]", NULL },
};

START_TEST(record_is_logged)
{
    struct app_rig *rig = udp_rig("dns", 53, NULL);
    struct message m;
    char want[2048];

    start(&m, 0x8180, 1, 1, 0, 0);
    put_query(&m, "a.test", records[_i].type);
    put_record(&m, records[_i].type, records[_i].data, records[_i].length);
    send_message(rig, FLOW_TO_CLIENT, &m);
    const char *json = app_rig_json(rig, 0);

    ck_assert_ptr_nonnull(json);
    snprintf(want, sizeof(want), "\"answers\":[{\"rrname\":\"a.test\",%s}],\"grouped\":{%s}}", records[_i].detail,
             records[_i].grouped);
    ck_assert_msg(strstr(json, want), "%s\nnot in\n%s", want, json);
    assert_buffer(rig, 0, "dns.response.rrname", FLOW_TO_CLIENT, 0, "a.test");
    assert_buffer(rig, 0, "dns.response.rrname", FLOW_TO_CLIENT, 1, "a.test");
    assert_buffer(rig, 0, "dns.response.rrname", FLOW_TO_CLIENT, 2, records[_i].target);
    app_rig_free(rig);
}
END_TEST

static const int cuts[] = { 0, 1, 7, -1 };

/* Two messages in one stream, cut at any place: each is a transaction of its direction. */
START_TEST(stream_has_messages)
{
    struct app_rig *rig = app_rig_new("dns", NULL);
    struct message m;

    rig->cut = cuts[_i];
    rig->flow.server_port = 53;
    start(&m, 0x0100, 1, 0, 0, 1);
    put_query(&m, "one.test", DNS_A);
    put(&m, "\0\0\x29\x10\0\0\0\0\0\0\0", 11); /* EDNS */
    send_message(rig, FLOW_TO_SERVER, &m);
    app_rig_send(rig, FLOW_TO_SERVER, "\0\0", 2); /* an empty message */
    start(&m, 0x0100, 2, 0, 0, 0);
    put_query(&m, "two.test", DNS_A);
    put_query(&m, "three.test", DNS_TXT);
    send_message(rig, FLOW_TO_SERVER, &m);
    start(&m, 0x8183, 1, 0, 1, 0);
    put_query(&m, "one.test", DNS_A);
    put_record(&m, DNS_NS, "\x02ns\xc0\x0c", 5);
    send_message(rig, FLOW_TO_CLIENT, &m);
    app_rig_close(rig);
    ck_assert(!rig->failed);
    ck_assert_str_eq(app_rig_protocol(rig), "dns");
    ck_assert_str_eq(app_rig_json(rig, 0),
                     "{\"version\":3,\"type\":\"request\",\"tx_id\":0,\"id\":4660,\"flags\":\"100\",\"rd\":true,"
                     "\"opcode\":0,\"rcode\":\"NOERROR\",\"queries\":[{\"rrname\":\"one.test\",\"rrtype\":\"A\"}]}");
    assert_buffer(rig, 1, "dns.query", FLOW_TO_SERVER, 0, "two.test");
    assert_buffer(rig, 1, "dns.query", FLOW_TO_SERVER, 1, "three.test");
    assert_buffer(rig, 1, "dns.query", FLOW_TO_SERVER, 2, NULL);
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 2), "\"rcode\":\"NXDOMAIN\""));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 2),
                                 "\"authorities\":[{\"rrname\":\"one.test\",\"rrtype\":\"NS\",\"ttl\":300,"
                                 "\"rdata\":\"ns.one.test\"}]"));
    ck_assert_uint_eq(app_rig_tx(rig, 0)->directions, APP_TO_SERVER);
    ck_assert_uint_eq(app_rig_tx(rig, 2)->directions, APP_TO_CLIENT);
    assert_buffer(rig, 2, "dns.query.name", FLOW_TO_CLIENT, 0, "one.test");
    assert_buffer(rig, 2, "dns.authorities.rrname", FLOW_TO_CLIENT, 0, "one.test");
    assert_buffer(rig, 2, "dns.answers.rrname", FLOW_TO_CLIENT, 0, NULL);
    ck_assert_ptr_null(app_rig_tx(rig, 3));
    app_rig_free(rig);
}
END_TEST

START_TEST(root_does_not_hide_others)
{
    struct app_rig *rig = udp_rig("dns", 53, NULL);
    struct message m;

    start(&m, 0x0100, 3, 0, 0, 0);
    put_query(&m, "a.test", DNS_A);
    put_query(&m, "", DNS_NS);
    put_query(&m, "b.test", DNS_A);
    send_message(rig, FLOW_TO_SERVER, &m);
    assert_buffer(rig, 0, "dns.query", FLOW_TO_SERVER, 0, "a.test");
    assert_buffer(rig, 0, "dns.query", FLOW_TO_SERVER, 1, "b.test");
    assert_buffer(rig, 0, "dns.query", FLOW_TO_SERVER, 2, NULL);
    app_rig_free(rig);
}
END_TEST

/* --- Errors --------------------------------------------------------------------------------------- */

/* A response with a query, and an answer whose data is a name with these bytes (at offset 35). */
static const struct {
    const char *name;
    size_t length;
    const char *event, *rdata, *also;
} names[] = {
    { DATA("\xc0\x23"), "malformed_data", NULL, "infinite_loop" },       /* a pointer to itself */
    { DATA("\x01x\xc0\x23"), "too_many_labels", NULL, "name_too_long" }, /* a loop of a label and a pointer */
    { DATA("\xc0\x25\xc0\x25"), "infinite_loop", "", NULL },             /* to a pointer to itself */
    { DATA("\xc1\xff"), "malformed_data", NULL, NULL },                  /* outside of the message */
    { DATA("\x80\x01"), "malformed_data", NULL, NULL },                  /* neither label nor pointer */
    { DATA("\x09short"), "malformed_data", NULL, NULL },                 /* a label longer than the data */
    { DATA("\x01x"), NULL, "x", NULL }, /* without root label: the end of the data ends the name */
};

START_TEST(name_goes_wrong)
{
    struct app_rig *rig = udp_rig("dns", 53, NULL);
    struct message m;
    char want[64];

    start(&m, 0x0100, 1, 0, 0, 0);
    put_query(&m, "a.test", DNS_A);
    send_message(rig, FLOW_TO_SERVER, &m);
    start(&m, 0x8180, 1, 1, 0, 0);
    put_query(&m, "a.test", DNS_CNAME);
    ck_assert_uint_eq(m.length + 12, 36);
    put(&m, "", 1); /* root as name of the answer, so that its data is at offset 35 */
    put16(&m, DNS_CNAME);
    put16(&m, 1);
    put16(&m, 0);
    put16(&m, 300);
    put16(&m, (unsigned)names[_i].length);
    ck_assert_uint_eq(m.length, 35);
    put(&m, names[_i].name, names[_i].length);
    send_message(rig, FLOW_TO_CLIENT, &m);
    ck_assert(!rig->failed);
    const struct app_proto *proto = app_rig_tx(rig, 1)->proto;

    for (size_t i = 0; i < proto->event_count; i++) {
        const char *event = proto->events[i].name;
        bool expected = (names[_i].event && strcmp(names[_i].event, event) == 0) ||
                        (names[_i].also && strcmp(names[_i].also, event) == 0);

        ck_assert_msg(app_rig_has_event(rig, 1, event) == expected, "%s", event);
    }
    if (names[_i].rdata) {
        snprintf(want, sizeof(want), "\"rdata\":\"%s\"", names[_i].rdata);
        ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 1), want));
    }
    app_rig_free(rig);
}
END_TEST

static const struct {
    enum flow_direction direction;
    unsigned flags;
    const char *event;
    bool logged;
} headers[] = {
    { FLOW_TO_SERVER, 0x0100, NULL, true },           { FLOW_TO_CLIENT, 0x8180, NULL, true },
    { FLOW_TO_SERVER, 0x8180, "not_request", false }, { FLOW_TO_CLIENT, 0x0100, "not_response", true },
    { FLOW_TO_SERVER, 0x0140, "z_flag_set", true },   { FLOW_TO_SERVER, 0x3800, "invalid_opcode", true },
};

START_TEST(header_has_event)
{
    struct app_rig *rig = udp_rig("dns", 53, NULL);
    struct message m;

    start(&m, 0x0100, 1, 0, 0, 0);
    put_query(&m, "a.test", DNS_A);
    send_message(rig, FLOW_TO_SERVER, &m);
    start(&m, headers[_i].flags, 1, 0, 0, 0);
    put_query(&m, "a.test", DNS_A);
    send_message(rig, headers[_i].direction, &m);
    const struct app_proto *proto = app_rig_tx(rig, 1)->proto;

    for (size_t i = 0; i < proto->event_count; i++)
        ck_assert_int_eq(app_rig_has_event(rig, 1, proto->events[i].name),
                         headers[_i].event && strcmp(headers[_i].event, proto->events[i].name) == 0);
    ck_assert(app_tx_needs_log(rig->app, app_rig_tx(rig, 1), false));
    ck_assert_int_eq(app_rig_tx(rig, 1)->only_events, !headers[_i].logged);
    app_rig_free(rig);
}
END_TEST

/* Malformed authority and additional sections do not discard the earlier ones. */
START_TEST(last_sections_may_be_broken)
{
    struct app_rig *rig = udp_rig("dns", 53, NULL);
    struct message m;

    start(&m, 0x8180, 1, 1, 2 * (_i == 0), 2 * (_i == 1));
    put_query(&m, "a.test", DNS_A);
    put_record(&m, DNS_A, "\x01\x02\x03\x04", 4);
    put_record(&m, DNS_NS, "\x01n\0", 3);
    put(&m, "\xc0", 1);
    send_message(rig, FLOW_TO_CLIENT, &m);
    ck_assert(app_rig_has_event(rig, 0, _i == 0 ? "invalid_authorities" : "invalid_additionals"));
    ck_assert(!app_rig_has_event(rig, 0, "malformed_data"));
    assert_buffer(rig, 0, "dns.answers.rrname", FLOW_TO_CLIENT, 0, "a.test");
    app_rig_free(rig);
}
END_TEST

START_TEST(long_name_is_cut)
{
    struct app_rig *rig = udp_rig("dns", 53, NULL);
    struct app_bytes bytes;
    struct message m;
    char name[1500];

    for (size_t i = 0; i < sizeof(name); i++)
        name[i] = i % 40 == 39 ? '.' : 'x';
    name[1400] = 0;
    start(&m, 0x0100, 1, 0, 0, 0);
    put_query(&m, name, DNS_A);
    send_message(rig, FLOW_TO_SERVER, &m);
    ck_assert(app_rig_has_event(rig, 0, "name_too_long"));
    ck_assert(app_rig_buffer(rig, 0, "dns.query", FLOW_TO_SERVER, 0, &bytes));
    ck_assert_uint_eq(bytes.length, NAME_MAX_LENGTH);
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 0), "\"rrname_truncated\":true"));
    app_rig_free(rig);
}
END_TEST

/* Thousands of records with pointers to long names stay within the limits of memory and work. */
START_TEST(names_are_limited_in_all)
{
    struct app_rig *rig = udp_rig("dns", 53, NULL);
    struct message m;
    struct app_bytes name;
    size_t names_length = 0;
    unsigned count = 3000;

    start(&m, 0x8180, 1, count, 0, 0);
    for (unsigned i = 0; i < 250; i++)
        put(&m, "\x03xyz", 4);
    put(&m, "", 1);
    put16(&m, DNS_A);
    put16(&m, 1);
    for (unsigned i = 0; i < count; i++) {
        put16(&m, 0xc000 | (12 + 4 * (i % 200))); /* differs from the previous one */
        put(&m, "\0\x01\0\x01\0\0\0\0\0\x04\x01\x02\x03\x04", 14);
    }
    send_message(rig, FLOW_TO_CLIENT, &m);
    ck_assert(app_rig_matches(rig, 0, FLOW_TO_CLIENT, "dns.rrtype:a,nb3000;"));
    ck_assert(!app_rig_matches(rig, 0, FLOW_TO_CLIENT, "dns.rrtype:a,nb>3000;"));
    for (unsigned i = 0; app_rig_buffer(rig, 0, "dns.answers.rrname", FLOW_TO_CLIENT, i, &name); i++)
        names_length += name.length;
    ck_assert_uint_gt(names_length, TEXT_MAX_LENGTH / 2);
    ck_assert_uint_le(m.length + names_length, TEXT_MAX_LENGTH);
    ck_assert(app_rig_has_event(rig, 0, "name_too_long"));
    app_rig_free(rig);
}
END_TEST

START_TEST(gap_is_survived)
{
    struct app_rig *rig = app_rig_new("dns", NULL);
    struct message m;

    rig->flow.server_port = 53;
    start(&m, 0x0100, 1, 0, 0, 0);
    put_query(&m, "one.test", DNS_A);
    send_message(rig, FLOW_TO_SERVER, &m);
    app_rig_lose(rig, FLOW_TO_SERVER, 100);
    app_rig_send(rig, FLOW_TO_SERVER, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 16);
    rig->cut = 0;
    uint8_t whole[512] = { 0, (uint8_t)m.length };

    memcpy(whole + 2, m.bytes, m.length);
    app_rig_send(rig, FLOW_TO_SERVER, whole, m.length + 2);
    ck_assert(!rig->failed);
    assert_buffer(rig, 1, "dns.query", FLOW_TO_SERVER, 0, "one.test");
    app_rig_free(rig);
}
END_TEST

START_TEST(broken_message_is_passed_over)
{
    struct app_rig *rig = app_rig_new("dns", NULL);
    struct message m;

    rig->cut = cuts[_i];
    rig->flow.server_port = 53;
    start(&m, 0x0100, 1, 0, 0, 0);
    put_query(&m, "one.test", DNS_A);
    send_message(rig, FLOW_TO_SERVER, &m);
    m.length -= 3;
    send_message(rig, FLOW_TO_SERVER, &m);
    m.length += 3;
    send_message(rig, FLOW_TO_SERVER, &m);
    ck_assert(!rig->failed);
    ck_assert(app_rig_has_event(rig, 1, "malformed_data"));
    assert_buffer(rig, 2, "dns.query", FLOW_TO_SERVER, 0, "one.test");
    app_rig_free(rig);
}
END_TEST

/* dnsmasq answers a valid question whatever counts the header has and whatever follows. Rules must match such a
 * question; of the message only the event is logged. */
static const struct {
    unsigned answers, authorities, additionals;
    const char *behind;
} broken_behind[] = {
    { 0, 0, 65535, "" },          { 255, 0, 0, "" },
    { 0, 65535, 1, "" },          { 1, 0, 0, "\x3f\x61\x62" },
    { 1, 0, 0, "\x41x\x01\x01" }, { 1, 0, 0, "\xc0\x0c\x01\x10\x01\x01" },
};
enum { BROKEN_COUNT = sizeof(broken_behind) / sizeof(broken_behind[0]) };

START_TEST(readable_question_is_inspected)
{
    unsigned i = (unsigned)_i / 4;
    bool over_tcp = _i & 1, after_response = _i & 2;
    struct app_rig *rig = over_tcp ? app_rig_new("dns", NULL) : udp_rig("dns", 53, NULL);
    struct message m;
    size_t number = after_response;
    enum flow_direction direction = FLOW_TO_SERVER;

    rig->flow.server_port = 53;
    if (after_response) { /* a forged response in the direction of the server */
        start(&m, 0x8180, 1, 0, 0, 0);
        put_query(&m, "good.test", DNS_A);
        send_message(rig, FLOW_TO_SERVER, &m);
        direction = rig->verdict.reversed ? FLOW_TO_CLIENT : FLOW_TO_SERVER;
    }
    start(&m, 0x0100 | 4 << 11, 1, broken_behind[i].answers, broken_behind[i].authorities,
          broken_behind[i].additionals);
    put_query(&m, "evil.test", DNS_A);
    for (const char *byte = broken_behind[i].behind; *byte; byte++)
        m.bytes[m.length++] = (uint8_t)*byte;
    send_message(rig, direction, &m);
    assert_buffer(rig, number, "dns.query", FLOW_TO_SERVER, 0, "evil.test");
    ck_assert(app_rig_tx(rig, number)->only_events);
    ck_assert(app_rig_tx(rig, number)->directions & APP_TO_SERVER);
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

/* Resolvers skip a record by its length, so invalid data of an MX record must not hide later records. */
START_TEST(broken_data_hides_nothing)
{
    struct app_rig *rig = udp_rig("dns", 53, NULL);
    struct message m;
    bool additional = _i;

    start(&m, 0x8180, 1, additional ? 0 : 2, 0, additional ? 2 : 0);
    put_query(&m, "a.test", DNS_A);
    put_record(&m, DNS_MX, "\0", 1);
    put_name(&m, "evil.test");
    put16(&m, DNS_A);
    put16(&m, 1);
    put16(&m, 0);
    put16(&m, 60);
    put16(&m, 4);
    put16(&m, 0x0102);
    put16(&m, 0x0304);
    send_message(rig, FLOW_TO_CLIENT, &m);
    assert_buffer(rig, 0, additional ? "dns.additionals.rrname" : "dns.answer.name", FLOW_TO_CLIENT, 1, "evil.test");
    ck_assert(app_rig_has_event(rig, 0, additional ? "invalid_additionals" : "malformed_data"));
    ck_assert_int_eq(app_rig_tx(rig, 0)->only_events, !additional);
    app_rig_free(rig);
}
END_TEST

/* Numbers of a record are not read if its data ends before them, here at the end of the message. */
START_TEST(short_data_has_no_numbers)
{
    static const struct {
        unsigned type;
        const char *data;
        size_t length;
        const char *number;
    } shorts[] = {
        { DNS_SOA, "\x01m\0\x01r\0\0\0\0\x01", 10, "serial" },
        { DNS_SRV, "\0\x01\0", 3, "priority" },
        { DNS_SRV, "\0\x01\0\x02\0\x03\x09short", 12, "priority" },
    };
    struct app_rig *rig = udp_rig("mdns", 5353, NULL);
    struct message m;

    start(&m, 0x8400, 0, 0, 0, 1);
    put_name(&m, "a.test");
    put16(&m, shorts[_i].type);
    put16(&m, 1);
    put16(&m, 0);
    put16(&m, 300);
    put16(&m, (unsigned)shorts[_i].length);
    put(&m, shorts[_i].data, shorts[_i].length);
    send_message(rig, FLOW_TO_CLIENT, &m);
    ck_assert_msg(!strstr(app_rig_json(rig, 0), shorts[_i].number), "%s", app_rig_json(rig, 0));
    app_rig_free(rig);
}
END_TEST

/* --- Settings ------------------------------------------------------------------------------------- */

static const struct {
    const char *yaml;
    bool request, response;
    const char *has, *has_not; /* texts that the log of the response has, and has not */
} settings[] = {
    { "eve:\n  types:\n    dns:\n      requests: no\n", false, true, "answers", NULL },
    { "eve:\n  types:\n    dns:\n      responses: no\n", true, false, "answers", NULL },
    { "eve:\n  types:\n    dns:\n      types: [mx, TXT]\n", false, false, "answers", NULL },
    { "eve:\n  types:\n    dns:\n      types: [A]\n", true, true, "answers", NULL },
    { "eve:\n  types:\n    dns:\n      formats: [grouped]\n", true, true, "grouped", "answers" },
    { "eve:\n  types:\n    dns:\n      formats: [detailed]\n", true, true, "answers", "grouped" },
    { "eve:\n  types:\n    dns:\n      version: 2\n", true, true,
      "{\"version\":2,\"type\":\"answer\",\"id\":4660,\"flags\":\"8180\",\"qr\":true,\"rd\":true,\"ra\":true,"
      "\"opcode\":0,"
      "\"rrname\":\"a.test\",\"rrtype\":\"A\",\"rcode\":\"NOERROR\",\"answers\":[",
      "queries" },
};

START_TEST(settings_are_kept)
{
    struct app_rig *rig = udp_rig("dns", 53, settings[_i].yaml);
    struct message m;

    start(&m, 0x0100, 1, 0, 0, 0);
    put_query(&m, "a.test", DNS_A);
    send_message(rig, FLOW_TO_SERVER, &m);
    start(&m, 0x8180, 1, 1, 0, 0);
    put_query(&m, "a.test", DNS_A);
    put_record(&m, DNS_A, "\x01\x02\x03\x04", 4);
    send_message(rig, FLOW_TO_CLIENT, &m);
    ck_assert_int_eq(app_tx_needs_log(rig->app, app_rig_tx(rig, 0), false), settings[_i].request);
    ck_assert_int_eq(app_tx_needs_log(rig->app, app_rig_tx(rig, 1), false), settings[_i].response);
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 1), settings[_i].has));
    if (settings[_i].has_not)
        ck_assert_ptr_null(strstr(app_rig_json(rig, 1), settings[_i].has_not));
    app_rig_free(rig);
}
END_TEST

/* --- Protocol detection ----------------------------------------------------------------------------------- */

static const struct {
    uint16_t client, server;
    unsigned flags;
    const char *name;
    unsigned class;
    const char *proto;
    bool reversed;
} finds[] = {
    { 40000, 53, 0x0100, "a.test", 1, "dns", false },
    { 40000, 53, 0x8180, "a.test", 1, "dns", true },
    { 53, 40000, 0x8180, "a.test", 1, "dns", true },
    { 40000, 9999, 0x0100, "a.test", 1, "dns", false },
    { 40000, 9999, 0x8180, "a.test", 1, "dns", true },
    { 40000, 9999, 0x0100, "a.test", 77, "dns", false },
    { 40000, 9999, 0x0140, "a.test", 1, "dns", false },
    { 40000, 9999, 0x3800, "a.test", 1, "dns", false },
    { 40000, 9999, 0x0100, "a b.test", 1, "dns", false },
    /* two oddities */
    { 40000, 9999, 0x0140, "a.test", 77, NULL, false },
    { 40000, 9999, 0x3800, "a b.test", 1, NULL, false },
    { 40000, 9999, 0x0100, "a b.test", 77, NULL, false },
    { 40000, 53, 0x3800, "a b.test", 77, "dns", false },
    { 137, 137, 0x0110, "a.test", 1, NULL, false },
    { 5353, 5353, 0x0000, "a.local", 1, "mdns", false },
    { 5353, 5353, 0x8400, "a.local", 1, "mdns", false },
    { 40000, 5355, 0x0000, "host", 1, "llmnr", false },
    { 5355, 40000, 0x8000, "host", 1, "llmnr", true },
};

START_TEST(protocol_is_found)
{
    struct app_rig *rig = udp_rig("dns", finds[_i].server, NULL);
    struct message m;
    const char *found;

    rig->flow.client_port = finds[_i].client;
    start(&m, finds[_i].flags, 1, 0, 0, 0);
    put_name(&m, finds[_i].name);
    put16(&m, DNS_A);
    put16(&m, finds[_i].class);
    send_message(rig, FLOW_TO_SERVER, &m);
    found = app_rig_protocol(rig);
    if (finds[_i].proto)
        ck_assert_msg(found && strcmp(found, finds[_i].proto) == 0, "%s", found ? found : "none");
    else
        ck_assert_msg(!found || strcmp(found, "failed") == 0, "%s", found);
    ck_assert_int_eq(rig->verdict.reversed, finds[_i].reversed);
    app_rig_free(rig);
}
END_TEST

/* On other TCP ports a complete message is needed for identification. */
START_TEST(stream_is_found)
{
    struct app_rig *rig = app_rig_new("dns", NULL);
    struct message m;

    rig->cut = cuts[_i];
    rig->flow.server_port = 9999;
    start(&m, 0x0100, 1, 0, 0, 0);
    put_query(&m, "a.test", DNS_A);
    send_message(rig, FLOW_TO_SERVER, &m);
    ck_assert_str_eq(app_rig_protocol(rig), "dns");
    assert_buffer(rig, 0, "dns.query", FLOW_TO_SERVER, 0, "a.test");
    app_rig_free(rig);
}
END_TEST

/* For each message: whether it is identified over UDP to port 5353 and to port 53, and over TCP. */
static const struct {
    const char *yaml;
    bool at_5353, at_53, tcp;
} choices[] = {
    { "enabled: no\n", false, false, false },
    { "udp:\n        enabled: no\n", false, false, true },
    { "enabled: no\n      udp:\n        enabled: yes\n", false, true, false },
    { "tcp:\n        enabled: no\n", false, true, false },
    { "detection-ports:\n        dp: 5353\n", true, true, true },
    { "udp:\n        detection-ports:\n          dp: [5353, 5300]\n", true, true, true },
    { "tcp:\n        detection-ports:\n          dp: 5353\n", false, true, true },
    { "detection-ports:\n        dp: any\n", true, true, true },
};

static bool finds_dns(const char *yaml, uint16_t port, unsigned transport)
{
    char text[256];
    struct message m;

    snprintf(text, sizeof(text), "app-layer:\n  protocols:\n    mdns:\n      enabled: no\n    dns:\n      %s", yaml);
    struct app_rig *rig = udp_rig("dns", port, text);

    rig->transport = transport;
    app_rig_start_flow(rig);
    rig->flow.server_port = port;
    start(&m, 0x0100, 1, 0, 0, 0);
    put_query(&m, "a.test", DNS_A);
    send_message(rig, FLOW_TO_SERVER, &m);
    bool found = app_rig_protocol(rig) && strcmp(app_rig_protocol(rig), "dns") == 0;

    app_rig_free(rig);
    return found;
}

START_TEST(ports_and_transports_are_chosen)
{
    ck_assert_int_eq(finds_dns(choices[_i].yaml, 5353, APP_UDP), choices[_i].at_5353);
    ck_assert_int_eq(finds_dns(choices[_i].yaml, 53, APP_UDP), choices[_i].at_53);
    ck_assert_int_eq(finds_dns(choices[_i].yaml, 53, APP_TCP), choices[_i].tcp);
}
END_TEST

/* --- The others ----------------------------------------------------------------------------------- */

START_TEST(mdns_is_logged)
{
    struct app_rig *rig = udp_rig("mdns", 5353, NULL);
    struct message m;

    start(&m, 0x8400, 0, 2, 0, 0);
    put_name(&m, "_http._tcp.local");
    put(&m, "\0\x0c\0\x01\0\0\0\x0a\0\x06\x01p\xc0\x0c\0\0", 16);
    m.bytes[m.length - 7] = 4; /* RDLENGTH: the label "p" and a pointer */
    m.length -= 2;
    put_record(&m, DNS_TXT,
               "\x03"
               "k=v",
               4);
    send_message(rig, FLOW_TO_SERVER, &m);
    ck_assert_str_eq(
        app_rig_json(rig, 0),
        "{\"type\":\"response\",\"id\":4660,\"flags\":[\"aa\"],\"opcode\":0,\"rcode\":0,\"answers\":[{\"rrname\":"
        "\"_http._tcp.local\",\"ptr\":\"p._http._tcp.local\"},{\"rrname\":\"_http._tcp.local\",\"txt\":[\"k=v\"]}]}");
    assert_buffer(rig, 0, "mdns.answers.rrname", FLOW_TO_SERVER, 0, "_http._tcp.local");
    assert_buffer(rig, 0, "mdns.response.rrname", FLOW_TO_SERVER, 2, "p._http._tcp.local");
    assert_buffer(rig, 0, "mdns.queries.rrname", FLOW_TO_SERVER, 0, NULL);
    app_rig_free(rig);
}
END_TEST

START_TEST(llmnr_is_logged)
{
    struct app_rig *rig = udp_rig("llmnr", 5355, NULL);
    struct message m;

    start(&m, 0x8500, 1, 1, 0, 0);
    put_query(&m, "host", DNS_A);
    put_record(&m, DNS_A, "\x01\x02\x03\x04", 4);
    send_message(rig, FLOW_TO_CLIENT, &m);
    ck_assert_str_eq(
        app_rig_json(rig, 0),
        "{\"type\":\"response\",\"id\":4660,\"flags\":[\"c\",\"t\"],\"opcode\":0,\"queries\":[{\"rrname\":\"host\","
        "\"rrtype\":\"a\"}],\"answers\":[{\"rrname\":\"host\",\"a\":\"1.2.3.4\"}]}");
    assert_buffer(rig, 0, "llmnr.answers.rrname", FLOW_TO_CLIENT, 0, "host");
    app_rig_free(rig);
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof(table[0]))

int main(void)
{
    Suite *suite = suite_create("app_dns");
    TCase *tests = tcase_create("dns");

    tcase_add_loop_test(tests, record_is_logged, 0, ROWS(records));
    tcase_add_loop_test(tests, stream_has_messages, 0, ROWS(cuts));
    tcase_add_test(tests, root_does_not_hide_others);
    tcase_add_loop_test(tests, name_goes_wrong, 0, ROWS(names));
    tcase_add_loop_test(tests, header_has_event, 0, ROWS(headers));
    tcase_add_loop_test(tests, last_sections_may_be_broken, 0, 2);
    tcase_add_test(tests, long_name_is_cut);
    tcase_add_test(tests, names_are_limited_in_all);
    tcase_add_test(tests, gap_is_survived);
    tcase_add_loop_test(tests, broken_message_is_passed_over, 0, ROWS(cuts));
    tcase_add_loop_test(tests, settings_are_kept, 0, ROWS(settings));
    tcase_add_loop_test(tests, broken_data_hides_nothing, 0, 2);
    tcase_add_loop_test(tests, short_data_has_no_numbers, 0, 3);
    tcase_add_loop_test(tests, readable_question_is_inspected, 0, 4 * BROKEN_COUNT);
    tcase_add_loop_test(tests, protocol_is_found, 0, ROWS(finds));
    tcase_add_loop_test(tests, ports_and_transports_are_chosen, 0, ROWS(choices));
    tcase_add_loop_test(tests, stream_is_found, 0, ROWS(cuts));
    tcase_add_test(tests, mdns_is_logged);
    tcase_add_test(tests, llmnr_is_logged);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
