/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Engine hand-over between two pipelines: a conversation with a hand-over at any point gives the same alerts, verdicts
 * and events as without. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>

#include "handover_talk.h"
#include "tls_builder.h"
#include "tls_samples.h"
#include "sluice/stream_event.h"
#include "sluice/transfer.h"

static const struct conversation talks[] = {
    { .name = "a word over the border",
      .rules = ALERT(1, "content:\"needle\"") ALERT(2, "content:\"abc\"; content:\"xyz\"; distance:0")
          ALERT(3, "pcre:\"/q[0-9]{6}q/\""),
      .steps = { CLIENT("nee"), CLIENT("dle"), CLIENT("..ab"), CLIENT("c.."), CLIENT("..xy"), CLIENT("z.q123"),
                 CLIENT("456q"), SERVER("need"), SERVER("le"), FINISH(RIG_CLIENT), FINISH(RIG_SERVER) } },
    { .name = "out of order, first-seen data wins",
      .rules = ALERT(1, "content:\"ABCDEF\"") ALERT(2, "content:\"XX\""),
      .steps = { CLIENT_AT(2, "CD"), CLIENT_AT(4, "EF"), CLIENT_AT(2, "XX"), CLIENT_AT(8, "IJ"), CLIENT_AT(0, "AB"),
                 CLIENT_AT(8, "XX"), CLIENT_AT(6, "GHIJ"), CLIENT_AT(2, "XX"), CLIENT("more"), FINISH(RIG_CLIENT) } },
    { .name = "bits, integers and texts of flows",
      .rules = "alert tcp any any -> any any (content:\"user\"; flowbits:set,logged.in; flowbits:noalert; sid:1;)\n"
               "alert tcp any any -> any any (content:\"get\"; flowbits:isset,logged.in; sid:2;)\n"
               "alert tcp any any -> any any (content:\"get\"; flowint:gets,notset; flowint:gets,=,1; sid:3;)\n"
               "alert tcp any any -> any any (content:\"get\"; flowint:gets,isset; flowint:gets,+,1; sid:4;)\n"
               "alert tcp any any -> any any (content:\"get\"; flowint:gets,>,3; sid:5;)\n",
      .steps = { CLIENT("user"), CLIENT("get "), CLIENT("get "), CLIENT("get "), CLIENT("get "), CLIENT("get ") } },
    { .name = "a dropped flow stays so",
      .rules = "drop tcp any any -> any any (content:\"evil\"; sid:7;)\nalert tcp any any -> any any (content:\"x\"; "
               "sid:8;)\n",
      .steps = { CLIENT("good"), CLIENT("evil"), CLIENT("x"), SERVER("x"), CLIENT("x") } },
    { .name = "a passed flow stays so",
      .rules = "pass tcp any any -> any any (content:\"good\"; sid:7;)\nalert tcp any any -> any any (content:\"x\"; "
               "sid:8;)\n",
      .steps = { CLIENT("x"), CLIENT("good"), CLIENT("x"), SERVER("x"), CLIENT("x") } },
    { .name = "thresholds go on counting",
      .rules =
          "alert tcp any any -> any any (content:\"t\"; threshold:type threshold,track by_src,count 3,seconds 600; "
          "sid:1;)\n"
          "alert tcp any any -> any any (content:\"t\"; threshold:type limit,track by_src,count 1,seconds 600; "
          "sid:2;)\n"
          "alert tcp any any -> any any (content:\"t\"; detection_filter:track by_src,count 2,seconds 600; sid:3;)\n",
      .steps = { CLIENT("t "), CLIENT("t "), CLIENT("t "), CLIENT("t "), CLIENT("t "), CLIENT("t ") } },
    { .name = "bits of hosts",
      .rules = "alert tcp any any -> any any (content:\"mark\"; xbits:set,seen,track ip_pair,expire 600; sid:1;)\n"
               "alert tcp any any -> any any (content:\"ask\"; xbits:isset,seen,track ip_pair; sid:2;)\n"
               "alert tcp any any -> any any (content:\"mark\"; hostbits:set,bad,src; sid:3;)\n"
               "alert tcp any any -> any any (content:\"ask\"; hostbits:isset,bad,src; sid:4;)\n",
      .steps = { CLIENT("ask "), CLIENT("mark "), CLIENT("ask "), SERVER("ask "), CLIENT("ask ") } },
    { .name = "a rule without a literal matches once",
      .rules = ALERT(1, "pcre:\"/[a-c]{3}[0-9]/\"") ALERT(2, "dsize:5"),
      .steps = { CLIENT("..ab"), CLIENT("c1.."), CLIENT("....."), CLIENT("....."), CLIENT("abc2") } },
    { .name = "datagrams",
      .rules = "alert udp any any -> any any (content:\"one\"; flowbits:set,a; sid:1;)\n"
               "alert udp any any -> any any (content:\"two\"; flowbits:isset,a; flow:to_client; sid:2;)\n"
               "alert udp any any -> any any (flow:established; content:\"three\"; sid:3;)\n",
      .no_handshake = true,
      .steps = { DATAGRAM(RIG_CLIENT, "one"), DATAGRAM(RIG_SERVER, "two"), DATAGRAM(RIG_CLIENT, "three"),
                 DATAGRAM(RIG_SERVER, "three") } },
    { .name = "passive",
      .passive = true,
      .rules = ALERT(1, "content:\"needle\"") ALERT(2, "content:\"ABCDEF\""),
      .steps = { CLIENT("nee"),
                 CLIENT("dle"),
                 SERVER("ok"),
                 CLIENT("AB"),
                 SERVER("ok"),
                 CLIENT("CDEF"),
                 SERVER("ok"),
                 FINISH(RIG_CLIENT),
                 FINISH(RIG_SERVER),
                 { RIG_CLIENT, TCP_ACK, NEXT, "", 0 } } },
    { .name = "the handshake itself",
      .no_handshake = true,
      .rules = ALERT(1, "content:\"data\"; flow:established"),
      .steps = { { RIG_CLIENT, TCP_SYN, -1, "", 0 },
                 { RIG_SERVER, TCP_SYN | TCP_ACK, -1, "", 0 },
                 { RIG_CLIENT, TCP_ACK, 0, "", 0 },
                 CLIENT("data"),
                 SERVER("data"),
                 FINISH(RIG_SERVER),
                 FINISH(RIG_CLIENT),
                 { RIG_SERVER, TCP_ACK, NEXT, "", 0 } } },
};

#define REQUEST(line) line "\r\nHost: www.example.org\r\nUser-Agent: tester\r\n"
#define EVENTS_HTTP                                                                                                    \
    "alert http any any -> any any (app-layer-event:http.unable_to_match_response_to_request; sid:90;)\n"              \
    "alert http any any -> any any (app-layer-event:http.request_body_unexpected; sid:91;)\n"                          \
    "alert http any any -> any any (app-layer-event:http.response_body_unexpected; sid:92;)\n"                         \
    "alert http any any -> any any (app-layer-event:http.body_data_lost; sid:93;)\n"                                   \
    "alert http any any -> any any (app-layer-event:http.request_line_invalid; sid:94;)\n"
#define RULES_HTTP                                                                                                     \
    EVENTS_HTTP                                                                                                        \
    "alert http any any -> any any (http.uri; content:\"/one\"; sid:1;)\n"                                             \
    "alert http any any -> any any (http.uri; content:\"/two\"; sid:2;)\n"                                             \
    "alert http any any -> any any (http.stat_code; content:\"200\"; sid:3;)\n"                                        \
    "alert http any any -> any any (http.user_agent; content:\"tester\"; sid:4;)\n"                                    \
    "alert http any any -> any any (http.response_line; content:\"Moved\"; sid:5;)\n"                                  \
    "alert http any any -> any any (http.uri; content:\"/two\"; http.request_body; content:\"last\"; sid:6;)\n"        \
    "alert http any any => any any (http.uri; content:\"/one\"; http.stat_code; content:\"200\"; sid:7;)\n"            \
    "alert http any any -> any any (file.data; content:\"tail\"; sid:8;)\n"

static const struct conversation http_talks[] = {
    { .name = "keep-alive",
      .rules = RULES_HTTP,
      .steps = { CLIENT("GET /on"), CLIENT("e HTTP/1.1\r\nHos"), CLIENT("t: www.example.org\r\nUser-Agent: tester\r\n"),
                 CLIENT("\r\n"), SERVER("HTTP/1.1 20"), SERVER("0 OK\r\nContent-Len"), SERVER("gth: 12\r\n\r\n"),
                 SERVER("abcd"), SERVER("GET /two"), CLIENT(REQUEST("GET /two HTTP/1.1") "\r\n"),
                 SERVER("HTTP/1.1 301 Moved\r\nContent-Length: 0\r\n\r\n"), CLIENT(REQUEST("GET /one HTTP/1.1") "\r\n"),
                 SERVER("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntail"), FINISH(RIG_CLIENT), FINISH(RIG_SERVER) } },
    { .name = "pipelining",
      .rules = RULES_HTTP,
      .steps = { CLIENT(REQUEST("GET /one HTTP/1.1") "\r\n" REQUEST("GET /two HTTP/1.1") "\r\n"),
                 CLIENT(REQUEST("GET /three HTTP/1.1")), SERVER("HTTP/1.1 200 OK\r\n"),
                 SERVER("Content-Length: 4\r\n\r\n"), SERVER("tailHTTP/1.1 301 Moved\r\nContent-Length: 3\r\n\r\n"),
                 CLIENT("\r\n"), SERVER("abc"), SERVER("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
                 FINISH(RIG_SERVER), FINISH(RIG_CLIENT) } },
    { .name = "words in bodies across the border",
      .rules = RULES_HTTP
      "alert http any any -> any any (http.request_body; content:\"needle\"; sid:20;)\n"
      "alert http any any -> any any (file.data; content:\"hay\"; content:\"stack\"; sid:21;)\n"
      "alert http any any -> any any (http.response_body; content:\"first\"; content:\"last\"; sid:22;)\n",
      .steps = { CLIENT(REQUEST("POST /two HTTP/1.1") "Content-Length: 12\r\n\r\n...nee"), CLIENT("dle..."),
                 SERVER("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nfirst.h"), SERVER("ay.sta"), SERVER("ck.las"),
                 SERVER("t") } },
    { .name = "chunks and a body of the client",
      .rules = RULES_HTTP,
      .steps = { CLIENT(REQUEST("POST /two HTTP/1.1") "Content-Length: 10\r\n\r\n"), CLIENT("123456"), CLIENT("last"),
                 SERVER("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), SERVER("6\r\n"), SERVER("abc"),
                 SERVER("def\r"), SERVER("\n5"), SERVER("\r\n.tail\r\n"), SERVER("0\r\n"), SERVER("\r\n"),
                 CLIENT(REQUEST("GET /one HTTP/1.1") "\r\n"),
                 SERVER("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") } },
    { .name = "100 Continue, and a body until the end",
      .rules = RULES_HTTP,
      .steps = { CLIENT(REQUEST("POST /two HTTP/1.1") "Expect: 100-continue\r\nContent-Length: 4\r\n\r\n"),
                 SERVER("HTTP/1.1 100 Continue\r\n\r\n"), CLIENT("last"), SERVER("HTTP/1.0 200 OK\r\n\r\n"),
                 SERVER("some "), SERVER("tail"), FINISH(RIG_SERVER), FINISH(RIG_CLIENT) } },
};

START_TEST(cut_anywhere_is_the_same)
{
    talk_check_all_cuts(&talks[_i]);
}
END_TEST

START_TEST(http_goes_on)
{
    talk_check_all_cuts(&http_talks[_i]);
}
END_TEST

/* --- TLS ------------------------------------------------------------------------------------------ */

static const char tls_rules[] =
    "alert tls any any -> any any (tls.sni; content:\"www.example.com\"; sid:1;)\n"
    "alert tls any any -> any any (tls.cert_subject; content:\"CN=\"; sid:2;)\n"
    "alert tls any any -> any any (app-layer-event:tls.invalid_record_type; sid:90;)\n"
    "alert tls any any -> any any (app-layer-event:tls.invalid_handshake_message; sid:91;)\n"
    "alert tcp any any -> any any (content:\"secret\"; sid:4;)\n";

static void put_handshake(struct bytes *client, struct bytes *server)
{
    static const struct certificate_bytes chain[] = { { tls_leaf, sizeof(tls_leaf) },
                                                      { tls_root, sizeof(tls_root) },
                                                      { NULL, 0 } };
    static struct bytes extensions, message;

    client->length = server->length = extensions.length = message.length = 0;
    put_sni(&extensions, "www.example.com");
    put_client_hello(&message, 0x0303, "c02f,1301", &extensions);
    put_records(client, 22, 0x0303, &message, 16384);
    message.length = extensions.length = 0;
    put_server_hello(&message, 0x0303, "", 0xc02f, &extensions);
    put_certificates(&message, chain);
    put_message(&message, 14, "", 0);
    put_records(server, 22, 0x0303, &message, 700);
}

/* Plays a TLS handshake in pieces of 100 bytes, then encrypted records, with a hand-over before piece `cut`. */
static void converse_tls(int cut, char *out)
{
    static const char encrypted[] = "\x17\x03\x03\x00\x0dsecretsecrets";
    static struct bytes bytes[3];
    struct teller teller = { out, 0 };
    int piece = 0;

    rig_setup_applications();
    rig_open(tls_rules);
    rig_handshake();
    put_handshake(&bytes[0], &bytes[1]);
    bytes[2].length = 0;
    for (unsigned i = 0; i < 4; i++)
        put_bytes(&bytes[2], encrypted, sizeof(encrypted) - 1);
    for (unsigned side = 0; side < 3; side++) {
        for (size_t at = 0; at < bytes[side].length; at += 100, piece++) {
            size_t length = bytes[side].length - at < 100 ? bytes[side].length - at : 100;

            if (piece == cut)
                talk_hand_over(&(struct conversation){ .name = "tls", .rules = tls_rules }, cut);
            const char *hits = rig_send_bytes(side == 1 ? RIG_SERVER : RIG_CLIENT, bytes[side].at + at, length);

            teller.at += talk_tell_packet(out + teller.at, TOLD - teller.at, hits, 0);
        }
    }
    flow_table_each(rig.pipeline.flows, talk_tell_flow, &teller);
    rig_close_applications();
}

START_TEST(tls_goes_on)
{
    static char whole[TOLD], cut[TOLD];

    converse_tls(-1, whole);
    ck_assert_ptr_nonnull(strstr(whole, "[1"));
    ck_assert_ptr_nonnull(strstr(whole, "2"));
    for (int i = 0; i < 40; i++) {
        converse_tls(i, cut);
        ck_assert_msg(strcmp(whole, cut) == 0, "before piece %d\n--- without\n%s--- with\n%s", i, whole, cut);
    }
}
END_TEST

/* --- Other rules, other memory, other queues ------------------------------------------------------ */

START_TEST(names_have_other_numbers)
{
    rig_setup_applications();
    rig_open("alert tcp any any -> any any (content:\"set\"; flowbits:set,two; xbits:set,ix,track ip_pair; sid:1;)\n"
             "alert tcp any any -> any any (content:\"set\"; pcre:\"/(?P<flow_word>se.)/\"; sid:2;)\n");
    rig_handshake();
    rig_send(RIG_CLIENT, "set ");
    rig_hand_over("alert tcp any any -> any any (content:\"ask\"; flowbits:isset,one; sid:11;)\n"
                  "alert tcp any any -> any any (content:\"ask\"; flowbits:isset,two; sid:12;)\n"
                  "alert tcp any any -> any any (content:\"ask\"; xbits:isset,iy,track ip_pair; sid:13;)\n"
                  "alert tcp any any -> any any (content:\"ask\"; xbits:isset,ix,track ip_pair; sid:14;)\n");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "ask "), "12 14");
    rig_close_applications();
}
END_TEST

START_TEST(bits_of_transactions_have_other_numbers)
{
    rig_setup_applications();
    rig_open(
        "alert http1:request_line any any -> any any (http.uri; content:\"/a\"; xbits:set,one,track tx; "
        "xbits:set,two,track tx; sid:1;)\n"
        "alert http1:request_line any any -> any any (http.uri; content:\"/b\"; xbits:set,three,track tx; sid:2;)\n");
    rig_handshake();
    ck_assert_str_eq(rig_send(RIG_CLIENT, "GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n"), "1 2");
    rig_hand_over("alert http1:response_line any any -> any any (xbits:isset,three,track tx; sid:13;)\n"
                  "alert http1:response_line any any -> any any (xbits:isset,two,track tx; sid:12;)\n"
                  "alert http1:response_line any any -> any any (xbits:isset,four,track tx; sid:14;)\n");
    ck_assert_str_eq(rig_send(RIG_SERVER, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), "12");
    ck_assert_str_eq(rig_send(RIG_SERVER, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), "13");
    rig_close_applications();
}
END_TEST

/* Pending candidates are restored for rules that are unchanged; other rules begin with new data. */
START_TEST(rules_have_other_places)
{
    rig_setup_applications();
    rig_open(ALERT(1, "content:\"abc\"; content:\"xyz\"; distance:0") ALERT(2, "content:\"abc\"; content:\"uvw\""));
    rig_handshake();
    rig_send(RIG_CLIENT, "..abc..");
    rig_hand_over(ALERT(7, "content:\"abc\"; content:\"xyz\"; distance:0") ALERT(2, "content:\"bc\"; content:\"uvw\"")
                      ALERT(1, "content:\"abc\"; content:\"xyz\"; distance:0"));
    ck_assert_str_eq(rig_send(RIG_CLIENT, "..xyz..uvw"), "2 1");
    rig_close_applications();
}
END_TEST

static void open_flows(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        rig.client_port = (uint16_t)(20000 + i);
        rig_handshake();
        rig_send(RIG_CLIENT, "GET / HTTP/1.1\r\nHost: a\r\n");
        rig_send_at(RIG_CLIENT, 100, "out of order");
    }
}

START_TEST(what_finds_no_room_is_left)
{
    struct handover_counts counts;

    rig_setup_applications();
    rig.options.flow.memcap = 4 << 20;
    rig_open(ALERT(1, "content:\"order\""));
    open_flows(3000);
    rig.options.flow.memcap = 1 << 20;
    rig.options.stream.memcap = 1 << 20;
    rig.options.stream.reassembly_memcap = 1 << 20;
    rig.options.app.memcap = 1 << 20;
    counts = rig_hand_over(ALERT(1, "content:\"order\""));
    ck_assert_uint_gt(counts.left, 0);
    ck_assert_uint_gt(counts.sessions, 0);
    ck_assert_uint_lt(counts.sessions, counts.flows);
    ck_assert_uint_eq(counts.flows, flow_table_count(rig.pipeline.flows));
    open_flows(3000);
    rig_close_applications();
}
END_TEST

static int read_state(int fd, struct handover_place place, struct handover_counts *counts)
{
    return handover_read(&rig.pipeline, rig.ruleset, place, fd, counts);
}

/* From two queues to four and to one: flows of the second queue move to the third or fourth, or to the only one. */
START_TEST(queues_have_another_number)
{
    static const struct {
        struct handover_place place;
        unsigned flows;
        bool visits;
    } rows[] = { { { 0, 4 }, 0, false }, { { 1, 4 }, 0, false }, { { 2, 4 }, 1, false }, { { 3, 4 }, 1, true },
                 { { 0, 1 }, 1, false }, { { 1, 2 }, 1, false }, { { 0, 2 }, 0, false }, { { 1, 3 }, 1, false },
                 { { 2, 3 }, 1, true },  { { 0, 3 }, 0, false } };
    struct handover_counts written = { 0 };
    const struct flow *flow;
    size_t cursor = 0;
    int fd = rig_memory_file();

    rig_setup_applications();
    rig_open(ALERT(1, "content:\"data\""));
    rig_handshake();
    ck_assert_int_eq(handover_write(&rig.pipeline, rig.ruleset, (struct handover_place){ 1, 2 }, fd, &written), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct handover_counts counts = { 0 };

        rig_discard_pipeline();
        rig_new_pipeline(ALERT(1, "content:\"data\""), "");
        ck_assert_int_eq(read_state(fd, rows[i].place, &counts), 0);
        ck_assert_uint_eq(counts.flows, rows[i].flows);
        cursor = 0;
        if (flow_table_list(rig.pipeline.flows, &cursor, SIZE_MAX, &flow, 1) == 1)
            ck_assert_int_eq(flow_is_duplicate(flow), rows[i].visits);
    }
    close(fd);
    rig_close_applications();
}
END_TEST

/* --- Refused input -------------------------------------------------------------------------------- */

static uint8_t file_bytes[1 << 16];

static size_t write_file(void)
{
    struct handover_counts counts = { 0 };
    int fd = rig_memory_file();
    ssize_t length;

    ck_assert_int_eq(handover_write(&rig.pipeline, rig.ruleset, rig_place, fd, &counts), 0);
    length = pread(fd, file_bytes, sizeof(file_bytes), 0);
    ck_assert_int_eq(length, (ssize_t)counts.bytes);
    close(fd);
    return (size_t)length;
}

static int read_bytes(size_t length, bool sealed)
{
    struct handover_counts counts = { 0 };
    int fd = rig_memory_file(), err;

    ck_assert_int_eq(write(fd, file_bytes, length), (ssize_t)length);
    if (sealed)
        ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_WRITE), 0);
    err = read_state(fd, rig_place, &counts);
    close(fd);
    ck_assert_uint_eq(counts.flows, flow_table_count(rig.pipeline.flows));
    return err;
}

static void begin_refusals(void)
{
    rig_setup_applications();
    rig_open(ALERT(1, "content:\"data\""));
    rig_handshake();
    rig_send(RIG_CLIENT, "GET /");
}

START_TEST(a_damaged_file_is_refused)
{
    size_t length;

    begin_refusals();
    length = write_file();
    rig_discard_pipeline();
    rig_new_pipeline(ALERT(1, "content:\"data\""), "");
    for (size_t i = 0; i < length; i += 3) {
        file_bytes[i] ^= 1;
        ck_assert_int_lt(read_bytes(length, true), 0);
        file_bytes[i] ^= 1;
    }
    for (size_t cut = 0; cut < length; cut += 7)
        ck_assert_int_eq(read_bytes(cut, true), -EBADMSG);
    ck_assert_int_eq(read_bytes(length, false), -EPERM);
    file_bytes[8]++;
    ck_assert_int_eq(read_bytes(length, true), -EPROTO);
    file_bytes[8]--;
    ck_assert_int_eq(read_bytes(length, true), 0);
    ck_assert_uint_eq(flow_table_count(rig.pipeline.flows), 1);
    rig_close_applications();
}
END_TEST

START_TEST(files_are_not_mixed_up)
{
    struct handover_counts counts = { 0 };
    int fd = rig_memory_file(), shared = rig_memory_file();

    begin_refusals();
    rig_write_state(fd, shared);
    rig_discard_pipeline();
    rig_new_pipeline(ALERT(1, "content:\"data\""), "");
    ck_assert_int_eq(read_state(shared, rig_place, &counts), -EBADMSG);
    ck_assert_int_eq(handover_read_shared(&rig.shared, rig.ruleset, fd), -EBADMSG);
    rig_discard_pipeline();
    rig_passive();
    rig_new_pipeline(ALERT(1, "content:\"data\""), "");
    ck_assert_int_eq(read_state(fd, rig_place, &counts), -ENOTSUP);
    ck_assert_uint_eq(flow_table_count(rig.pipeline.flows), 0);
    close(fd);
    close(shared);
    rig_close_applications();
}
END_TEST

/* Reads a file of the corpus, after adding header and digest. */
static int read_stored(const char *path)
{
    struct handover_counts counts = { 0 };
    bool shared = strstr(path, "-shared");
    struct transfer_file file;
    int in = open(path, O_RDONLY | O_CLOEXEC), fd = rig_memory_file(), err;
    ssize_t length;
    uint64_t size;

    ck_assert_int_ge(in, 0);
    length = read(in, file_bytes, sizeof(file_bytes));
    ck_assert_int_gt(length, 0);
    ck_assert_int_eq(transfer_file_start(&file, fd, shared ? 2 : 1), 0);
    transfer_bytes(&file.out, file_bytes, (size_t)length);
    ck_assert_int_eq(transfer_file_finish(&file, &size), 0);
    err = shared ? handover_read_shared(&rig.shared, rig.ruleset, fd) : read_state(fd, rig_place, &counts);
    ck_assert(shared || err || counts.flows > 0 || strstr(path, "fra"));
    close(fd);
    close(in);
    return err;
}

/* Files of earlier versions must be readable. If you change the format, increment TRANSFER_VERSION and make the files
 * again: HANDOVER_CORPUS=tests/fuzz/corpus/handover CK_FORK=no test_handover */
START_TEST(what_was_written_before_is_read)
{
    const char *source = getenv("SLUICE_SOURCE");
    char path[4096];
    glob_t files;

    snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/handover/*", source ? source : ".");
    ck_assert_int_eq(glob(path, 0, NULL, &files), 0);
    ck_assert_uint_gt(files.gl_pathc, 40);
    begin_refusals();
    for (size_t i = 0; i < files.gl_pathc; i++) {
        rig_discard_pipeline();
        rig_new_pipeline(ALERT(1, "content:\"data\""), "");
        int wanted = strstr(files.gl_pathv[i], "/bad-") ? -EBADMSG : 0; /* found by fuzzing */
        int err = read_stored(files.gl_pathv[i]);

        ck_assert_msg(err == wanted || (err == -ENOTSUP && strstr(files.gl_pathv[i], "/pas")), "%s: %d",
                      files.gl_pathv[i], err);
    }
    globfree(&files);
    rig_close_applications();
}
END_TEST

/* --- Fragments, and what the kernel counts -------------------------------------------------------- */

static enum verdict send_fragment(unsigned id, unsigned offset, bool more, const char *text)
{
    size_t length = 20 + strlen(text);

    rig_put_ip(RIG_CLIENT, 200, length);
    rig_put16(rig.bytes + 4, id);
    rig_put16(rig.bytes + 6, offset / 8 | (more ? 0x2000 : 0));
    memcpy(rig.bytes + 20, text, strlen(text));
    rig_judge(length);
    return rig.packet.verdict;
}

static const char fragment_rules[] = "drop ip any any -> any any (content:\"evilword\"; sid:1;)\n";

START_TEST(fragments_go_on)
{
    rig_setup_applications();
    rig_open(fragment_rules);
    ck_assert_int_eq(send_fragment(1, 0, true, "....evil"), VERDICT_ACCEPT);
    send_fragment(2, 0, true, "12345678");
    send_fragment(2, 8, false, "last");
    send_fragment(3, 0, true, "....evil");
    ck_assert_int_eq(send_fragment(3, 8, false, "word"), VERDICT_DROP);
    talk_hand_over(&(struct conversation){ .name = "fragments", .rules = fragment_rules }, 2);
    ck_assert_int_eq(send_fragment(1, 8, false, "word"), VERDICT_DROP);
    ck_assert_int_eq(send_fragment(2, 8, false, "last"), VERDICT_ACCEPT);  /* a copy of an accepted fragment */
    ck_assert_int_eq(send_fragment(2, 8, false, "LAST"), VERDICT_DROP);    /* other bytes at the same offset */
    ck_assert_int_eq(send_fragment(3, 0, true, "12345678"), VERDICT_DROP); /* a fragment of a dropped datagram */
    rig_close_applications();
}
END_TEST

/* No fragment of a datagram that was displaced in a flood passes, because the receiver may still have the other
 * fragments. */
START_TEST(datagrams_that_gave_way_go_on)
{
    rig_setup_applications();
    rig_open(fragment_rules);
    ck_assert_int_eq(send_fragment(1, 0, true, "....evil"), VERDICT_ACCEPT);
    for (unsigned id = 100; id < 20100; id++)
        send_fragment(id, 0, true, "12345678");
    rig_hand_over(fragment_rules);
    ck_assert_int_eq(send_fragment(1, 8, false, "word"), VERDICT_DROP);
    ck_assert_int_eq(send_fragment(99, 0, true, "12345678"), VERDICT_ACCEPT);
    rig_close_applications();
}
END_TEST

START_TEST(the_kernels_counts_go_on)
{
    struct flow_report report = { .client_port = 40000,
                                  .server_port = 80,
                                  .ip_version = 4,
                                  .protocol = IPPROTO_TCP,
                                  .has_counts = true,
                                  .packets = { 10, 20 },
                                  .bytes = { 1000, 2000 } };
    const struct flow *flow;
    size_t cursor = 0;

    memcpy(report.client.bytes, "\x0a\0\0\1", 4);
    memcpy(report.server.bytes, "\x0a\0\0\2", 4);
    rig_setup_applications();
    rig_open(ALERT(1, "content:\"data\""));
    rig_handshake();
    rig.packet.flow->offload = OFFLOAD_ACCEPT;
    rig.packet.flow->exceptions[EXCEPTION_APP_ERROR] = EXCEPTION_PASS_FLOW + 1;
    ck_assert(flow_table_update_offloaded(rig.pipeline.flows, &report, rig.time_ns));
    rig_hand_over(ALERT(1, "content:\"data\""));
    ck_assert_uint_eq(flow_table_list(rig.pipeline.flows, &cursor, SIZE_MAX, &flow, 1), 1);
    ck_assert_uint_eq(flow->offload, OFFLOAD_ACCEPT);
    ck_assert_uint_eq(flow->exceptions[EXCEPTION_APP_ERROR], EXCEPTION_PASS_FLOW + 1);
    ck_assert_ptr_nonnull(flow->kernel);
    ck_assert_uint_eq(flow->kernel->bytes[FLOW_TO_CLIENT], 2000);
    report.ended = true;
    ck_assert(flow_table_update_offloaded(rig.pipeline.flows, &report, rig.time_ns));
    ck_assert_uint_eq(flow_table_count(rig.pipeline.flows), 0);
    rig_close_applications();
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("handover");

    tcase_add_loop_test(tcase, cut_anywhere_is_the_same, 0, sizeof(talks) / sizeof(talks[0]));
    tcase_add_loop_test(tcase, http_goes_on, 0, sizeof(http_talks) / sizeof(http_talks[0]));
    tcase_add_test(tcase, tls_goes_on);
    tcase_add_test(tcase, names_have_other_numbers);
    tcase_add_test(tcase, bits_of_transactions_have_other_numbers);
    tcase_add_test(tcase, rules_have_other_places);
    tcase_add_test(tcase, what_finds_no_room_is_left);
    tcase_add_test(tcase, queues_have_another_number);
    tcase_add_test(tcase, a_damaged_file_is_refused);
    tcase_add_test(tcase, files_are_not_mixed_up);
    tcase_add_test(tcase, what_was_written_before_is_read);
    tcase_add_test(tcase, fragments_go_on);
    tcase_add_test(tcase, datagrams_that_gave_way_go_on);
    tcase_add_test(tcase, the_kernels_counts_go_on);
    return rig_run(tcase, "handover");
}
