/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules on transactions in the whole pipeline: rules for both directions, and texts that pcre captures.
 */
#include "pipeline_app_rig.h"

#define REQUEST "POST /download HTTP/1.1\r\nHost: a.example\r\nConnection: keep-alive\r\n"
#define RESPONSE "HTTP/1.1 200 OK\r\nServer: Apache\r\nConnection: Keep-Alive\r\nContent-Length: 5\r\n\r\nhello"
#define BOTH(options) "alert tcp any any => any any (" options ")\n"

/* Sends the text in segments of one byte, or at once. Returns the rules that matched. */
static const char *send_text(int from, const char *text, bool in_pieces)
{
    static char all[256];

    all[0] = '\0';
    for (size_t length = strlen(text), at = 0, size; at < length; at += size) {
        const char *matched;

        size = in_pieces ? 1 : length;
        matched = rig_send_bytes(from, text + at, size);
        ck_assert_uint_lt(strlen(all) + strlen(matched), sizeof(all));
        strcat(all, matched);
    }
    return all;
}

/* --- => ------------------------------------------------------------------------------------------- */

static const struct {
    const char *options;
    bool matches;
} both[] = {
    { "http.uri; content:\"/download\"; http.stat_code; content:\"200\"; sid:1;", true },
    { "http.uri; content:\"/download\"; http.stat_code; content:\"404\"; sid:1;", false },
    { "http.uri; content:\"/upload\"; http.stat_code; content:\"200\"; sid:1;", false },
    { "http.uri; content:!\"/upload\"; http.stat_code; content:\"200\"; sid:1;", true },
    { "http.uri; content:\"down\"; http.server; content:\"Apache\"; fast_pattern; sid:1;", true },
    { "http.uri; content:\"up\"; http.server; content:\"Apache\"; fast_pattern; sid:1;", false },
    { "http.uri; content:\"down\"; fast_pattern; http.server; content:\"nginx\"; sid:1;", false },
    { "http.connection:to_client; content:\"Keep\"; http.connection:to_server; content:\"keep\"; sid:1;", true },
    { "http.connection:to_server; content:\"Keep\"; http.connection:to_client; content:\"keep\"; sid:1;", false },
    { "http.connection: to_client; content:\"Keep\"; http.uri; pcre:\"/down/\"; sid:1;", true },
    { "urilen:9; http.stat_code; content:\"200\"; sid:1;", true },
    { "urilen:8; http.stat_code; content:\"200\"; sid:1;", false },
    { "http.cookie:to_server; absent; http.stat_code; content:\"200\"; sid:1;", true },
    { "http.user_agent; absent; http.stat_code; content:\"404\"; sid:1;", false },
    { "flow:established; http.uri; content:\"/download\"; http.stat_code; content:\"200\"; sid:1;", true },
    { "flow:not_established; http.uri; content:\"/download\"; http.stat_code; content:\"200\"; sid:1;", false },
    { "http.request_body; content:\"secret\"; http.stat_code; content:\"200\"; sid:1;", true },
    { "http.request_body; content:\"secret\"; http.stat_code; content:\"404\"; sid:1;", false },
    { "http.request_body; content:\"public\"; http.stat_code; content:\"200\"; sid:1;", false },
    { "http.request_body; content:\"secret\"; http.server; content:\"Apache\"; fast_pattern; sid:1;", true },
    { "http.request_body; content:\"secret\"; http.response_body; content:\"hello\"; sid:1;", true },
    { "http.request_body; content:\"public\"; http.response_body; content:\"hello\"; sid:1;", false },
    { "file.data:to_server; content:\"secret\"; http.stat_code; content:\"200\"; sid:1;", true },
    { "file.data:to_client; content:\"hello\"; http.uri; content:\"/download\"; sid:1;", true },
    { "file.data:to_client; content:\"hello\"; http.uri; content:\"/up\"; sid:1;", false },
    { "filesize:to_client, 5; http.uri; content:\"/download\"; sid:1;", true },
    { "filesize:to_client,>5; http.uri; content:\"/download\"; sid:1;", false },
    { "filesize:to_server,<50; http.stat_code; content:\"200\"; sid:1;", true },
    { "filesize:to_server,>50; http.stat_code; content:\"200\"; sid:1;", false },
};

static void exchange(const char *options, bool matches, bool in_pieces)
{
    char rules[512];

    snprintf(rules, sizeof(rules), BOTH("%s"), options);
    rig_open(rules);
    rig_handshake();
    ck_assert_str_eq(send_text(RIG_CLIENT, REQUEST "Content-Length: 11\r\n\r\nsecret word", in_pieces), "");
    ck_assert_str_eq(send_text(RIG_SERVER, RESPONSE, in_pieces), matches ? "1" : "");
    ck_assert_uint_eq(rig_finish(), 0);
}

START_TEST(one_rule_looks_at_both_directions)
{
    exchange(both[_i].options, both[_i].matches, false);
}
END_TEST

START_TEST(however_the_bytes_are_cut)
{
    exchange(both[_i].options, both[_i].matches, true);
}
END_TEST

/* The header of the rule applies to packets to the server, as with ->. */
START_TEST(the_header_names_the_client_first)
{
    rig_open(
        "alert tcp 10.0.0.1 any => any 80 (http.uri; content:\"/download\"; http.stat_code; content:\"200\"; sid:1;)\n"
        "alert tcp 10.0.0.2 any => any any (http.uri; content:\"/download\"; http.stat_code; content:\"200\"; sid:2;)\n"
        "alert tcp any 80 => any any (http.uri; content:\"/download\"; http.stat_code; content:\"200\"; sid:3;)");
    rig_handshake();
    ck_assert_str_eq(rig_send(RIG_CLIENT, REQUEST "\r\n"), "");
    ck_assert_str_eq(rig_send(RIG_SERVER, RESPONSE), "1");
}
END_TEST

/* Conditions on request and response must be fulfilled by the same transaction. */
START_TEST(transactions_are_not_mixed)
{
    rig_open(BOTH("http.uri; content:\"/a\"; http.stat_code; content:\"404\"; sid:1;")
                 BOTH("http.uri; content:\"/b\"; http.stat_code; content:\"404\"; sid:2;"));
    rig_handshake();
    ck_assert_str_eq(rig_send(RIG_CLIENT, "GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n"), "");
    ck_assert_str_eq(rig_send(RIG_SERVER, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), "");
    ck_assert_str_eq(rig_send(RIG_SERVER, "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"), "2");
}
END_TEST

/* Bits belong to one transaction; those that do not fit are not set. */
START_TEST(bits_belong_to_a_transaction)
{
    rig_open("alert http1:request_line any any -> any any (http.uri; content:\"/a\"; xbits:set,bit,track tx; sid:1;)\n"
             "alert http1:request_headers any any -> any any (xbits:isset,bit,track tx; sid:2;)\n"
             "alert http1:response_line any any -> any any (xbits:isset,bit,track tx; sid:3;)\n"
             "alert http1:response_line any any -> any any (xbits:isset,other,track tx; sid:4;)\n");
    rig_handshake();
    ck_assert_str_eq(rig_send(RIG_CLIENT, "GET /b HTTP/1.1\r\n\r\nGET /a HTTP/1.1\r\n\r\n"), "1 2");
    ck_assert_str_eq(rig_send(RIG_SERVER, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), "");
    ck_assert_str_eq(rig_send(RIG_SERVER, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), "3");
}
END_TEST

START_TEST(a_transaction_has_64_bits)
{
    static char rules[20000];
    size_t length = 0;

    for (unsigned i = 1; i <= 65; i++)
        length += (size_t)snprintf(rules + length, sizeof(rules) - length,
                                   "alert http1:request_line any any -> any any (http.uri; content:\"/a\"; noalert; "
                                   "priority:1; xbits:set,bit%u,track tx; sid:%u;)\n",
                                   i, i);
    for (unsigned i = 1; i <= 65; i++)
        length += (size_t)snprintf(rules + length, sizeof(rules) - length,
                                   "alert http1:response_line any any -> any any (xbits:isset,bit%u,track tx; "
                                   "priority:%u; sid:%u;)\n",
                                   i, i < 64 ? 4 : 1, 100 + i);
    rig_open(rules);
    rig_handshake();
    rig_send(RIG_CLIENT, "GET /a HTTP/1.1\r\n\r\n");
    ck_assert_int_eq(strncmp(rig_send(RIG_SERVER, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), "164 101 102 ", 12),
                     0);
}
END_TEST

/* The body is not available any more when the response arrives. */
START_TEST(what_was_found_in_a_body_is_remembered)
{
    rig_open(BOTH("http.request_body; content:\"secret\"; http.stat_code; content:\"200\"; sid:1;")
                 BOTH("http.request_body; content:\"public\"; http.stat_code; content:\"200\"; sid:2;"));
    rig_handshake();
    rig_send(RIG_CLIENT, REQUEST "Content-Length: 409606\r\n\r\n");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "secret"), "");
    for (int i = 0; i < 50; i++) {
        ck_assert_str_eq(rig_send_filler(RIG_CLIENT, 8192), "");
        rig_acknowledge(RIG_SERVER);
    }
    ck_assert_str_eq(rig_send(RIG_SERVER, RESPONSE), "1");
}
END_TEST

static const struct {
    const char *options;
    unsigned evaluations; /* 0: the literal does not occur, or another condition on its buffer fails */
    bool matches;
} of_buffer[] = {
    { "http.user_agent; content:\"Chrome\"; sid:1;", 1, true },
    { "http.user_agent; content:\"Chrome\"; bsize:27; sid:1;", 1, true },
    { "http.user_agent; content:\"Chrome\"; bsize:6; sid:1;", 0, false },
    { "http.user_agent; content:\"Chrome\"; bsize:>27; sid:1;", 0, false },
    { "http.user_agent; bsize:>20; content:\"Chrome\"; pcre:\"/x64/\"; sid:1;", 1, true },
    { "http.user_agent; bsize:>20; content:\"Chrome\"; pcre:\"/x86/\"; sid:1;", 1, false },
    { "http.user_agent; content:\"Mozilla/5.0 (x64) Chrome/99\"; sid:1;", 1, true },
    { "http.user_agent; content:\"Mozilla/5.0 (x64) Chrome/98\"; sid:1;", 0, false },
    { "http.user_agent; content:\"Mozilla/5.0 (x86) Chrome/99\"; sid:1;", 0, false },
    { "http.user_agent; content:\"Netscape4.0 (x64) Chrome/99\"; sid:1;", 0, false },
    { "http.user_agent; content:\"mozilla/5.0 (x64) chrome/99\"; nocase; sid:1;", 1, true },
    { "http.user_agent; content:\"Chrome/99\"; endswith; sid:1;", 1, true },
    { "http.user_agent; content:\"(x64) Chrome\"; endswith; sid:1;", 0, false },
    { "http.user_agent; content:\"Chrome/99\"; offset:18; sid:1;", 1, true },
    { "http.user_agent; content:\"Chrome/99\"; offset:19; sid:1;", 0, false },
    { "http.user_agent; content:\"(x64) Chrome/99\"; depth:27; sid:1;", 1, true },
    { "http.user_agent; content:\"(x64) Chrome/99\"; depth:26; sid:1;", 0, false },
    { "http.user_agent; content:\"Moz\"; content:\"(x64) Chrome/99\"; distance:9; fast_pattern; sid:1;", 1, true },
    { "http.user_agent; content:\"Moz\"; content:\"(x64) Chrome/99\"; distance:10; fast_pattern; sid:1;", 1, false },
    { "http.user_agent; to_lowercase; content:\"(x64) chrome/99\"; bsize:27; sid:1;", 1, true },
    { "http.user_agent; to_lowercase; content:\"(x64) chrome/98\"; bsize:27; sid:1;", 0, false },
    { "http.request_header; content:\"Accept-Language: de-DE\"; bsize:22; sid:1;", 1, true },
    { "http.request_header; content:\"Accept-Language: de-DE\"; bsize:23; sid:1;", 0, false },
    { "http.request_header; content:\"Accept-\"; bsize:21; sid:1;", 1, true },
    { "http.uri; content:\"/download/file\"; bsize:14; sid:1;", 1, true },
    { "http.uri; content:\"/download/file\"; urilen:14; sid:1;", 1, true },
    { "http.uri; content:\"/download/file\"; urilen:>14; sid:1;", 0, false },
    { "urilen:15; http.uri; content:\"/download/file\"; sid:1;", 0, false },
};

/* Conditions on the buffer of the literal are evaluated when the literal is found. */
START_TEST(a_rule_is_not_evaluated_if_the_buffer_of_its_literal_excludes_it)
{
    char rules[256];

    snprintf(rules, sizeof(rules), "alert tcp any any -> any any (%s)", of_buffer[_i].options);
    rig_open(rules);
    rig_handshake();
    ck_assert_str_eq(rig_send(RIG_CLIENT, "GET /download/file HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n"
                                          "User-Agent: Mozilla/5.0 (x64) Chrome/99\r\n"
                                          "Accept-Language: de-DE\r\n\r\n"),
                     of_buffer[_i].matches ? "1" : "");
    ck_assert_uint_eq(detector_counters(rig.pipeline.detector)->evaluations, of_buffer[_i].evaluations);
}
END_TEST

static const struct {
    const char *options;
    const char *last; /* the rule matches in the segment with the last byte of this text; NULL: it never matches */
} waiting[] = {
    { "file.data; content:\"first\"; content:\"second\"; sid:1;", "second" },
    { "file.data; content:\"first\"; fast_pattern; content:\"second\"; content:\"third\"; sid:1;", "third" },
    { "file.data; content:\"first\"; fast_pattern; content:\"third\"; content:\"second\"; sid:1;", "third" },
    { "file.data; content:\"first\"; fast_pattern; content:\"SECOND\"; nocase; sid:1;", "second" },
    { "file.data; content:\"first\"; fast_pattern; content:\"SECOND\"; sid:1;", NULL },
    { "file.data; content:\"first\"; fast_pattern; content:\"never\"; sid:1;", NULL },
    { "file.data; content:\"first\"; content:\"second\"; offset:300; sid:1;", NULL },
    { "file.data; content:\"first\"; content:\"second\"; depth:150; sid:1;", NULL },
    { "file.data; content:\"first\"; content:\"second\"; depth:250; sid:1;", "second" },
    { "file.data; content:\"first\"; content:\"second\"; distance:0; content:\"first\"; distance:0; sid:1;", NULL },
    { "file.data; content:\"first\"; fast_pattern; content:\"third\"; pcre:\"/first.*second/\"; sid:1;", "third" },
    { "http.response_body; content:\"first\"; fast_pattern; content:\"third\"; file.data; content:\"second\"; sid:1;",
      "third" },
    { "http.response_body; content:\"first\"; fast_pattern; content:\"second\"; file.data; content:\"third\"; sid:1;",
      "third" },
};

/* The literal of the rule is at the start of a body, so the rule waits for the rest of it. */
START_TEST(a_rule_waits_for_the_rest_of_a_body)
{
    const char *last = waiting[_i].last;
    char body[400], rules[256];

    memset(body, '.', sizeof(body));
    memcpy(body + 20, "first", strlen("first"));
    memcpy(body + 200, "second", strlen("second"));
    memcpy(body + 330, "third", strlen("third"));
    snprintf(rules, sizeof(rules), "alert tcp any any -> any any (%s)", waiting[_i].options);
    rig_open(rules);
    for (size_t size = 1; size <= sizeof(body); size += size < 110 ? 1 : 37) {
        size_t end = last ? (size_t)((char *)memmem(body, sizeof(body), last, strlen(last)) - body) + strlen(last) : 0;

        rig.client_port++;
        rig_handshake();
        rig_send(RIG_CLIENT, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        rig_send(RIG_SERVER, "HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n");
        for (size_t at = 0; at < sizeof(body); at += size) {
            size_t length = sizeof(body) - at < size ? sizeof(body) - at : size;

            ck_assert_str_eq(rig_send_bytes(RIG_SERVER, body + at, length),
                             last && at < end && end <= at + length ? "1" : "");
        }
    }
}
END_TEST

START_TEST(the_response_is_dropped)
{
    rig_open(
        "drop tcp any any => any any (http.uri; content:\"/download\"; http.response_body; content:\"hello\"; sid:1;)");
    rig_handshake();
    rig_send(RIG_CLIENT, REQUEST "\r\n");
    ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
    ck_assert_str_eq(rig_send(RIG_SERVER, RESPONSE), "1");
    ck_assert_int_eq(rig.packet.verdict, VERDICT_DROP);
}
END_TEST

/* An alert in each of many requests of a packet does not displace a drop in the last one. */
START_TEST(a_drop_is_not_lost_to_alerts)
{
    enum { REQUESTS = 400 };
    static const char get[] = "GET /a HTTP/1.1\r\n\r\n", last[] = "GET /b HTTP/1.1\r\n\r\n";
    static char text[REQUESTS * (sizeof(get) - 1) + sizeof(last)];

    for (unsigned i = 0; i < REQUESTS; i++)
        memcpy(text + i * (sizeof(get) - 1), get, sizeof(get) - 1);
    strcpy(text + REQUESTS * (sizeof(get) - 1), last);
    rig_open("alert http any any -> any any (http.uri; content:\"/\"; sid:1;)\n"
             "drop http any any -> any any (http.uri; content:\"/b\"; sid:2;)\n");
    rig_handshake();
    rig_send_bytes(RIG_CLIENT, text, sizeof(text) - 1);
    ck_assert_int_eq(rig.packet.verdict, VERDICT_DROP);
}
END_TEST

START_TEST(passive_both_directions_are_asked)
{
    rig_passive();
    rig_open(BOTH("http.request_body; content:\"secret\"; http.stat_code; content:\"200\"; sid:1;"));
    rig_handshake();
    rig_send(RIG_CLIENT, REQUEST "Content-Length: 6\r\n\r\nsecret");
    rig_acknowledge(RIG_SERVER);
    rig_send(RIG_SERVER, RESPONSE);
    rig_acknowledge(RIG_CLIENT);
    rig_finish();
    ck_assert_uint_eq(policy_counters(rig.pipeline.policy)->alerts, 1);
}
END_TEST

/* Without memory for the candidate, the rule is found by the part of the request that is still available. */
START_TEST(without_memory_nothing_that_is_there_is_missed)
{
    rig.options.detector.transaction_memcap = 0;
    rig_open(BOTH("http.uri; content:\"/download\"; http.stat_code; content:\"200\"; sid:1;")
                 BOTH("http.request_body; content:\"secret\"; http.stat_code; content:\"200\"; sid:2;"));
    rig_handshake();
    send_text(RIG_CLIENT, REQUEST "Content-Length: 6\r\n\r\nsecret", false);
    ck_assert_str_eq(send_text(RIG_SERVER, RESPONSE, false), "1 2");
}
END_TEST

/* --- The end of flows ----------------------------------------------------------------------------- */

static uint64_t body_at_the_end(bool acknowledged)
{
    rig_passive();
    rig_open("alert tcp any any -> any any (http.response_body; content:\"behind\"; sid:1;)");
    rig_handshake();
    rig_send(RIG_CLIENT, REQUEST "\r\n");
    rig_acknowledge(RIG_SERVER);
    rig_send(RIG_SERVER, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello");
    rig_acknowledge(RIG_CLIENT);
    rig_send_at(RIG_SERVER, rig.next[RIG_SERVER] + 5, "behind");
    rig.next[RIG_SERVER] += acknowledged ? 11 : 0;
    rig_acknowledge(RIG_CLIENT);
    rig_segment(RIG_CLIENT, TCP_RST | TCP_ACK, rig.next[RIG_CLIENT], NULL, 0);
    rig_finish();
    return policy_counters(rig.pipeline.policy)->alerts;
}

/* The receiver acknowledged bytes that Sluice has not seen. */
START_TEST(passive_a_protocol_gets_what_is_behind_a_hole_that_was_acknowledged)
{
    ck_assert_uint_gt(body_at_the_end(true), 0);
}
END_TEST

/* The receiver never acknowledged the bytes before. */
START_TEST(passive_a_protocol_gets_nothing_behind_a_hole_that_was_not)
{
    ck_assert_uint_eq(body_at_the_end(false), 0);
}
END_TEST

/* --- Texts captured by pcre ----------------------------------------------------------------------- */

/* Appends "kind name=value" for texts of the packet, and "flow name=value" for those of the flow. */
static void add_flow_text(uint32_t number, const uint8_t *bytes, uint32_t length, void *user)
{
    const struct rule_names *names = rule_list_names((struct rule_list *)ruleset_rules(rig.ruleset));

    text_printf(user, "flow %s=%.*s;", rule_names_text(names, RULE_NAME_FLOW_TEXT, number), (int)length,
                (const char *)bytes);
}

static const char *texts(void)
{
    static char out[1024];
    const struct rule_names *names = rule_list_names((struct rule_list *)ruleset_rules(rig.ruleset));
    const struct rule_captures *all = detector_captures(rig.pipeline.detector);
    struct text text;

    text_init(&text);
    for (uint32_t i = 0; all && i < all->count; i++)
        text_printf(&text, "%s %s=%.*s;", all->list[i].kind == RULE_NAME_ALERT_TEXT ? "alert" : "pkt",
                    rule_names_text(names, all->list[i].kind, all->list[i].number), all->list[i].length,
                    (const char *)all->list[i].bytes);
    if (rig.packet.flow)
        flow_each_text(rig.packet.flow, add_flow_text, &text);
    snprintf(out, sizeof(out), "%s", text.bytes ? text.bytes : "");
    text_clear(&text);
    return out;
}

#define OF_TCP(options) "alert tcp any any -> any any (" options ")\n"

static const struct {
    const char *rules, *hits, *texts;
} captures[] = {
    { OF_TCP("pcre:\"/user=(\\w+)/,flow:user\"; sid:1;"), "1", "flow user=alice;" },
    { OF_TCP("pcre:\"/user=(\\w+)&pass=(\\w+)/, pkt:user, alert:pass\"; sid:1;"), "1",
      "alert pass=secret;pkt user=alice;" },
    { OF_TCP("pcre:\"/user=(?P<flow_user>\\w+)/\"; sid:1;"), "1", "flow user=alice;" },
    { OF_TCP("pcre:\"/(?P<other>u)ser=(?P<alert_user>\\w+)/i\"; sid:1;"), "1", "alert user=alice;" },
    { OF_TCP("pcre:\"/(x)?user=(\\w+)/,pkt:none,pkt:user\"; sid:1;"), "1", "pkt user=alice;" },
    { OF_TCP("pcre:\"/user=(\\w+)/,flow:user\"; content:\"nowhere\"; sid:1;"), "", "" },
    { OF_TCP("pcre:\"/([a-z])=/,pkt:letter\"; content:\"secret\"; within:6; sid:1;"), "1", "pkt letter=s;" },
    { OF_TCP("pcre:\"/user=(\\w+)/,flow:user\"; noalert; sid:1;")
          OF_TCP("flowvar:user,\"lic\"; content:\"pass\"; sid:2;"),
      "1 2", "flow user=alice;" },
    { OF_TCP("flowvar:user,\"bob\"; content:\"pass\"; sid:2;") OF_TCP("pcre:\"/user=(\\w+)/,flow:user\"; sid:1;"), "1",
      "flow user=alice;" },
    { OF_TCP("pktvar:user,\"|61|l\"; content:\"pass\"; sid:2;") OF_TCP("pcre:\"/user=(\\w+)/,pkt:user\"; sid:1;"),
      "1 2", "pkt user=alice;" },
    { OF_TCP("pktvar:user,\"alice\"; content:\"pass\"; sid:2;"), "", "" },
    { OF_TCP("pcre:\"/user=(\\w+)/,alert:a\"; sid:1;") OF_TCP("pcre:\"/pass=(\\w+)/,alert:a\"; sid:2;"), "1 2",
      "alert a=alice;alert a=secret;" },
};

START_TEST(texts_are_taken_out)
{
    rig_open(captures[_i].rules);
    rig_handshake();
    ck_assert_str_eq(rig_send(RIG_CLIENT, "user=alice&pass=secret"), captures[_i].hits);
    ck_assert_str_eq(texts(), captures[_i].texts);
    rig_send(RIG_CLIENT, "nothing of the kind");
    ck_assert_ptr_null(detector_captures(rig.pipeline.detector)); /* the texts of the previous packet are gone */
}
END_TEST

START_TEST(alerts_know_their_texts)
{
    const struct rule_captures *captured;
    const struct hit *hits;

    rig_open(OF_TCP("pcre:\"/user=(\\w+)/,alert:a\"; sid:1;") OF_TCP("content:\"pass\"; sid:2;")
                 OF_TCP("pcre:\"/(u)(s)/,alert:b,alert:c\"; sid:3;"));
    rig_handshake();
    ck_assert_str_eq(rig_send(RIG_CLIENT, "user=alice&pass=secret"), "1 2 3");
    ck_assert_uint_eq(rig_hits(&hits), 3);
    captured = detector_captures(rig.pipeline.detector);
    ck_assert_uint_eq(hits[0].text_count, 1);
    ck_assert_uint_eq(hits[1].text_count, 0);
    ck_assert_uint_eq(hits[2].text_count, 2);
    ck_assert_int_eq(captured->list[hits[0].first_text].bytes[0], 'a');
    ck_assert_int_eq(captured->list[hits[2].first_text].bytes[0], 'u');
}
END_TEST

/* A rule that waits for the response keeps the texts that it captured from the request. */
START_TEST(texts_of_a_transaction_come_with_its_decision)
{
    rig_open("alert tcp any any => any any (http.uri; pcre:\"/(\\w+)$/,alert:name\"; http.stat_code; content:\"200\"; "
             "sid:1;)\n"
             "alert tcp any any -> any any (flow:to_server; http.uri; pcre:\"/(\\w+)$/,pkt:file\"; "
             "http.request_body; content:\"secret\"; sid:2;)");
    rig_handshake();
    ck_assert_str_eq(rig_send(RIG_CLIENT, REQUEST "Content-Length: 6\r\n\r\n"), "");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "secret"), "2");
    ck_assert_str_eq(texts(), "pkt file=download;");
    ck_assert_str_eq(rig_send(RIG_SERVER, RESPONSE), "1");
    ck_assert_str_eq(texts(), "alert name=download;");
}
END_TEST

START_TEST(long_texts_are_cut)
{
    const struct rule_captures *all;
    uint32_t length = 0;

    rig_open(OF_TCP("pcre:\"/^(\\.+)(\\.)$/,pkt:dots,flow:dot\"; sid:1;")
                 OF_TCP("pcre:\"/^(\\.+)$/,flow:dots\"; sid:2;"));
    rig_handshake();
    ck_assert_str_eq(rig_send_filler(RIG_CLIENT, 300), "1 2");
    all = detector_captures(rig.pipeline.detector);
    ck_assert_ptr_nonnull(all);
    ck_assert_uint_eq(all->list[0].length, FLOW_TEXT_MAX);
    ck_assert_ptr_nonnull(flow_text_get(rig.packet.flow, 1, &length));
    ck_assert_uint_eq(length, 1);
    ck_assert_ptr_nonnull(flow_text_get(rig.packet.flow, 2, &length));
    ck_assert_uint_eq(length, FLOW_TEXT_MAX);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("pipeline_transaction");

    tcase_add_checked_fixture(tcase, rig_setup_applications, rig_close_applications);
    tcase_add_loop_test(tcase, one_rule_looks_at_both_directions, 0, (int)(sizeof(both) / sizeof(both[0])));
    tcase_add_loop_test(tcase, however_the_bytes_are_cut, 0, (int)(sizeof(both) / sizeof(both[0])));
    tcase_add_test(tcase, the_header_names_the_client_first);
    tcase_add_test(tcase, transactions_are_not_mixed);
    tcase_add_test(tcase, bits_belong_to_a_transaction);
    tcase_add_test(tcase, a_transaction_has_64_bits);
    tcase_add_test(tcase, what_was_found_in_a_body_is_remembered);
    tcase_add_loop_test(tcase, a_rule_is_not_evaluated_if_the_buffer_of_its_literal_excludes_it, 0,
                        (int)(sizeof(of_buffer) / sizeof(of_buffer[0])));
    tcase_add_loop_test(tcase, a_rule_waits_for_the_rest_of_a_body, 0, (int)(sizeof(waiting) / sizeof(waiting[0])));
    tcase_add_test(tcase, the_response_is_dropped);
    tcase_add_test(tcase, a_drop_is_not_lost_to_alerts);
    tcase_add_test(tcase, passive_both_directions_are_asked);
    tcase_add_test(tcase, without_memory_nothing_that_is_there_is_missed);
    tcase_add_test(tcase, passive_a_protocol_gets_what_is_behind_a_hole_that_was_acknowledged);
    tcase_add_test(tcase, passive_a_protocol_gets_nothing_behind_a_hole_that_was_not);
    tcase_add_loop_test(tcase, texts_are_taken_out, 0, (int)(sizeof(captures) / sizeof(captures[0])));
    tcase_add_test(tcase, alerts_know_their_texts);
    tcase_add_test(tcase, texts_of_a_transaction_come_with_its_decision);
    tcase_add_test(tcase, long_texts_are_cut);
    return rig_run(tcase, "pipeline_transaction");
}
