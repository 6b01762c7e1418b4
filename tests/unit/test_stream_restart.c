/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Correct connections must survive the death of an engine and an engine hand-over. The next engine has no state, or the
 * state of the previous one; packets that were read without a verdict arrive again, after later ones. A packet that
 * would have passed without the restart must not be dropped. The conversations are random (tests/lib/tcp_talk.h) or
 * captures of SLUICE_SHARED. Environment: RESTART_TALKS is the number of random conversations; SEED selects one, of
 * which every segment is printed; TELL is the number of drops to print; CAPTURES is a capture or a folder of which all
 * captures are used.
 */
#include "stream_rig.h"

#include <check.h>
#include <ftw.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conntrack_bytes.h"
#include "tcp_talk.h"

enum { TALKS = 1500, RESTARTS = 12, RUN_MAX = 16, CAPTURE_PACKETS = 400, CAPTURE_BYTES = 2048, OPEN_FOLDERS = 16 };
enum { CAPTURE_SAMPLE = 12, CAPTURE_RESTARTS = 12, NOT_SEEN = 0, PASSED = 1, DROPPED = 2 };

/* A packet, and its verdict without a restart. */
struct passage {
    const uint8_t *bytes;
    uint32_t length;
    uint64_t time_ns;
    uint8_t whole;
    bool until_reset; /* a RST follows so soon that it may arrive earlier */
    bool follows_reset;
};

static struct {
    struct passage packets[CAPTURE_PACKETS];
    unsigned count;
    enum link_type link;
    uint8_t bytes[CAPTURE_PACKETS][CAPTURE_BYTES];
} play_list;

/* A restart after `cut` packets. The last `run` of them arrive again, after `after` later ones. */
struct restart {
    bool forgets, has_conntrack, is_linux, is_captured;
    unsigned cut, run, after;
};

static struct conntrack_bytes conntrack;
static unsigned long judged, failed, whole_dropped;
static uint32_t told;
static bool tells, is_linux;

static enum host_os linux_or_not(const void *user, int ip_version, const struct address *host)
{
    (void)ip_version;
    (void)host;
    return *(const bool *)user ? HOST_OS_LINUX : HOST_OS_BSD;
}

/* --- Verdicts ------------------------------------------------------------------------------------- */

static bool judge_segment(struct packet *pkt)
{
    enum exception_cause exception;

    stream_rig.flow = flow_table_get(stream_rig.flows, pkt, &exception);
    ck_assert_ptr_nonnull(stream_rig.flow);
    if (stream_is_port_reuse(stream_rig.stream, stream_rig.flow, pkt)) {
        flow_table_end(stream_rig.flows, stream_rig.flow, FLOW_END_REUSED);
        stream_rig.flow = flow_table_get(stream_rig.flows, pkt, &exception);
    }
    flow_update(stream_rig.flows, stream_rig.flow, pkt);
    stream_packet(stream_rig.stream, stream_rig.flows, stream_rig.flow, pkt, &stream_rig.verdict);
    struct stream_chunk view;

    for (unsigned i = 0; i < FLOW_DIRECTIONS; i++) {
        while (stream_next_chunk(stream_rig.stream, stream_rig.flow, (enum flow_direction)i, pkt, false, &view))
            judged++;
    }
    return stream_rig.verdict.drop || stream_rig.verdict.exception != EXCEPTION_NONE;
}

static const char *what_was_said(void)
{
    static char text[512];

    stream_rig.yielded[0][0] = stream_rig.yielded[1][0] = '\0';
    stream_rig.gap = false;
    stream_rig_describe(text, sizeof(text));
    return text;
}

static uint8_t judge(unsigned index, const struct restart *restart)
{
    const struct passage *passage = &play_list.packets[index];
    struct packet *found[DECODE_MAX_PACKETS];
    uint8_t judgement = PASSED;

    stream_rig.packet =
        (struct packet){ .data = passage->bytes, .length = passage->length, .wire_length = passage->length };
    stream_rig.packet.link = play_list.link;
    stream_rig.packet.time_ns = passage->time_ns;
    stream_rig.packet.number = ++stream_rig.number;
    judged++;

    size_t count = decode_packet(stream_rig.decoder, &stream_rig.packet, found);

    for (size_t i = 0; i < count; i++) {
        if (found[i]->protocol != 6 || !found[i]->transport)
            continue;
        if (restart->has_conntrack)
            stream_rig.packet.conntrack =
                (struct packet_conntrack){ conntrack.bytes, (uint32_t)conntrack.length,
                                           found[i]->source_port == 80 ? IP_CT_ESTABLISHED_REPLY : IP_CT_ESTABLISHED };
        if (judge_segment(found[i]))
            judgement = DROPPED;
    }
    return judgement;
}

/* Conversations share addresses and initial sequence numbers: half-open records of one must not match the next. */
static void forget(void)
{
    stream_rig_close();
    stream_rig_open();
}

static void tell_packet(unsigned index)
{
    const struct packet *pkt = &stream_rig.packet;
    bool to_client = pkt->flags & PACKET_TO_CLIENT;

    printf("%4u %c flags %02x seq %u ack %u length %u window %u ts %u: %s\n", index, to_client ? '<' : '>',
           pkt->tcp.flags, pkt->tcp.sequence - talk.host[to_client].isn,
           pkt->tcp.acknowledgment - talk.host[!to_client].isn, pkt->payload_length, pkt->tcp.window,
           pkt->tcp.timestamp_value, what_was_said());
}

static void judge_whole(const struct restart *restart)
{
    forget();
    for (unsigned i = 0; i < play_list.count; i++) {
        play_list.packets[i].whole = judge(i, restart);
        if (tells)
            tell_packet(i);
        if (play_list.packets[i].whole == DROPPED)
            whole_dropped++;
    }
}

static void tell(uint32_t seed, const struct restart *restart, unsigned index, const char *when)
{
    printf("%u: %s cut %u run %u after %u%s%s, %s packet %u: %s%02x %s\n", seed,
           restart->forgets ? "death" : "handover", restart->cut, restart->run, restart->after,
           restart->has_conntrack ? " conntrack" : "", restart->is_linux ? " linux" : "", when, index,
           stream_rig.packet.flags & PACKET_TO_CLIENT ? "<" : ">", stream_rig.packet.tcp.flags, what_was_said());
}

/* Returns whether a drop does no harm, because the receiver has the packet, or the connection is reset. */
static bool is_needless(const struct restart *restart, unsigned index)
{
    bool comes_again = index < restart->cut, is_reset = stream_rig.packet.tcp.flags & TCP_RST;
    bool is_syn_ack = (stream_rig.packet.tcp.flags & (TCP_SYN | TCP_ACK)) == (TCP_SYN | TCP_ACK);

    /* In captures: a SYN after its response, contradicting data, and segments without ACK do not count. */
    if (restart->is_captured && ((comes_again && stream_rig.packet.tcp.flags & TCP_SYN) || stream_rig.verdict.drop ||
                                 !(stream_rig.packet.tcp.flags & TCP_ACK)))
        return true;
    if (play_list.packets[index].follows_reset && !is_reset)
        return true;
    return (comes_again && (is_syn_ack || play_list.packets[index].until_reset)) || (is_reset && !restart->forgets);
}

static void expect(uint32_t seed, const struct restart *restart, unsigned index, const char *when)
{
    if (judge(index, restart) == PASSED || play_list.packets[index].whole == DROPPED || is_needless(restart, index))
        return;
    if (failed++ < told || tells)
        tell(seed, restart, index, when);
}

static void judge_restart(uint32_t seed, const struct restart *restart)
{
    unsigned again = restart->cut - restart->run, behind = restart->cut + restart->after;

    forget();
    for (unsigned i = 0; !restart->forgets && i < again; i++)
        judge(i, restart);
    for (unsigned i = restart->cut; i < behind; i++)
        expect(seed, restart, i, "meanwhile");
    for (unsigned i = again; i < restart->cut; i++)
        expect(seed, restart, i, "again");
    for (unsigned i = behind; i < play_list.count; i++)
        expect(seed, restart, i, "later");
}

/* --- Constructed input ---------------------------------------------------------------------------- */

static void conntrack_of_talk(void)
{
    struct conntrack_text text = { .client = "11.0.0.0",
                                   .server = "10.0.0.2",
                                   .client_port = 1234,
                                   .server_port = 80,
                                   .protocol = 6,
                                   .status = IPS_SEEN_REPLY | IPS_ASSURED | IPS_CONFIRMED,
                                   .tcp_state = TCP_CONNTRACK_ESTABLISHED };

    for (unsigned i = 0; i < 2 && talk.scales; i++) {
        text.scale[i] = talk.host[i].scale;
        text.flags[i] = IP_CT_TCP_FLAG_WINDOW_SCALE;
    }
    ct_build(&conntrack, &text);
}

static void set_checksum(struct talk_segment *segment)
{
    struct packet *found[DECODE_MAX_PACKETS];

    stream_rig.packet = (struct packet){ .data = segment->bytes, .length = (uint32_t)segment->length };
    stream_rig.packet.wire_length = stream_rig.packet.length;
    stream_rig.packet.link = LINK_RAW;
    ck_assert_uint_eq(decode_packet(stream_rig.decoder, &stream_rig.packet, found), 1);
    stream_rig_put_be16(segment->bytes + 20 + 16, decode_transport_checksum(&stream_rig.packet));
}

static bool is_reset_soon(unsigned index)
{
    for (unsigned i = index; i < talk.count && i <= index + 2 * RUN_MAX; i++) {
        if (talk.segments[i].bytes[20 + 13] & TCP_RST)
            return true;
    }
    return false;
}

static void list_talk(void)
{
    bool is_reset = false;

    play_list.count = talk.count;
    play_list.link = LINK_RAW;
    for (unsigned i = 0; i < talk.count; i++) {
        struct talk_segment *segment = &talk.segments[i];

        set_checksum(segment);
        play_list.packets[i] =
            (struct passage){ segment->bytes, (uint32_t)segment->length, segment->time_ns, 0, false, is_reset };
        is_reset |= segment->bytes[20 + 13] & TCP_RST;
        play_list.packets[i].until_reset = is_reset_soon(i);
    }
}

/* Returns whether a segment cannot arrive before the repeated segment `of`, because its sender must have received `of`
 * first. */
static bool waits_for(unsigned index, unsigned of, bool forgets)
{
    const struct talk_segment *segment = &talk.segments[index], *held = &talk.segments[of];
    bool is_syn = held->bytes[20 + 13] & TCP_SYN;

    if (is_syn && forgets && !(segment->bytes[20 + 13] & TCP_SYN))
        return true;
    return (!forgets || is_syn) && (int)of <= segment->seen && segment->from_server != held->from_server;
}

static unsigned causal_after(const struct restart *restart)
{
    unsigned after = 0;

    for (; after < restart->after; after++) {
        for (unsigned i = restart->cut - restart->run; i < restart->cut; i++) {
            if (waits_for(restart->cut + after, i, restart->forgets))
                return after;
        }
    }
    return after;
}

static struct restart choose_restart(unsigned count)
{
    struct restart restart = { .cut = 1 + talk_random(count - 1), .run = talk_random(RUN_MAX + 1) };

    restart.after = talk_random(RUN_MAX + 1);
    if (restart.run > restart.cut)
        restart.run = restart.cut;
    if (restart.after > count - restart.cut)
        restart.after = count - restart.cut;
    return restart;
}

static void restart_talk(uint32_t seed)
{
    talk_make(seed);
    if (talk.count < 2)
        return;
    conntrack_of_talk();
    list_talk();
    is_linux = talk_random(2);
    struct restart restart = { .is_linux = is_linux };

    judge_whole(&restart);
    for (unsigned i = 0; i < RESTARTS; i++) {
        restart = choose_restart(talk.count);
        restart.is_linux = is_linux;
        restart.forgets = talk_random(4);
        restart.has_conntrack = restart.forgets && talk_random(3) == 0;
        restart.after = causal_after(&restart);
        judge_restart(seed, &restart);
    }
}

/* --- Captures ------------------------------------------------------------------------------------- */

static enum link_type link_of(int datalink)
{
    switch (datalink) {
    case DLT_EN10MB:
        return LINK_ETHERNET;
    case DLT_RAW:
        return LINK_RAW;
    case DLT_LINUX_SLL:
        return LINK_LINUX_SLL;
    default:
        return LINK_UNSUPPORTED;
    }
}

/* Reads a capture up to CAPTURE_PACKETS packets, or up to the first packet that is too large. Returns false if it has
 * too few. */
static bool list_capture(const char *path)
{
    char error[PCAP_ERRBUF_SIZE];
    pcap_t *pcap = pcap_open_offline(path, error);
    struct pcap_pkthdr *header;
    const u_char *bytes;

    play_list.count = 0;
    if (!pcap)
        return false;
    play_list.link = link_of(pcap_datalink(pcap));
    while (play_list.link != LINK_UNSUPPORTED && play_list.count < CAPTURE_PACKETS &&
           pcap_next_ex(pcap, &header, &bytes) == 1 && header->caplen <= CAPTURE_BYTES) {
        unsigned index = play_list.count++;

        memcpy(play_list.bytes[index], bytes, header->caplen);
        play_list.packets[index] =
            (struct passage){ play_list.bytes[index],
                              header->caplen,
                              (uint64_t)header->ts.tv_sec * SECOND + (uint64_t)header->ts.tv_usec * 1000,
                              0,
                              false,
                              false };
    }
    pcap_close(pcap);
    return play_list.count > 2;
}

static const char *capture_name;
static unsigned long captures, capture_failed;

/* Captures have gaps, and do not show which segments a host has received, so some drops are allowed. */
static void restart_capture(const char *path)
{
    struct restart restart = { .is_linux = false };

    is_linux = false;
    judge_whole(&restart);
    for (unsigned i = 0; i < CAPTURE_RESTARTS; i++) {
        unsigned long before = failed;

        restart = choose_restart(play_list.count);
        restart.forgets = restart.is_captured = true;
        judge_restart(0, &restart);
        capture_failed += failed > before;
        if (failed > before)
            printf("%s\n", path);
    }
    captures++;
}

static int visit(const char *path, const struct stat *status, int type, struct FTW *at)
{
    static unsigned seen;

    (void)at;
    if (type == FTW_F && status->st_size > 0 && !strstr(path, "fuzz") &&
        (capture_name || ++seen % CAPTURE_SAMPLE == 0) && list_capture(path))
        restart_capture(path);
    return 0;
}

static uint32_t number_of(const char *name, uint32_t otherwise)
{
    const char *text = getenv(name);

    return text ? (uint32_t)strtoul(text, NULL, 10) : otherwise;
}

static void open_restarts(void)
{
    stream_rig.options.conntrack = STREAM_CONNTRACK_YES;
    stream_rig.options.midstream_until_ns = UINT64_MAX;
    stream_rig.options.host_os.of = linux_or_not;
    stream_rig.options.host_os.user = &is_linux;
    stream_rig_open();
}

/* Cases that the random tests have found; the session begins with the first line. */
static const struct found {
    const char *name;
    const char *script[10];
} found[] = {
    { "a SYN sent again, and nothing else of the handshake",
      { "> S 0,0 | syn_sent", "> PA 1,1 'abc' | established c:abc", "< PA 1,4 'def' | established s:def" } },
    { "the same, and the server goes on",
      { "> S 0,0", "< PA 300,4 'def' | established s:def", "> A 4,303 | established" } },
    { "the SYN's bytes keep their places",
      { "> S 0,0", "> PA 4,1 'def' | established", "< SA 5,1 | established est_synack_resend_with_diff_seq =invalid",
        "> PA 1,1 'abc' | established c:abcdef" } },
    { "a FIN again, whose acknowledgment was lost behind us",
      { "> PA 1,1 'abc'", "< A 1,4", "> FA 4,1 | close_wait", "< A 1,5 | close_wait", "> A 5,1 | close_wait",
        "> FA 4,1 | close_wait" } },
    { "a FIN behind the acknowledgment that follows it",
      { "> PA 1,1 'abc'", "< A 6,4", "> FA 4,1 | close_wait", "< A 6,5 | close_wait",
        "< FPA 1,4 'defgh' | close_wait pkt_retransmission s:defgh" } },
    { "what was in flight is acknowledged",
      { "> A 1,1 win=0", "< SA 0,1 | established", "> A 1,1 win=0", "< A 5001,9001 | established",
        "> A 9001,5001 | established" } },
    { "a SYN/ACK from before",
      { "> PA 100,200 'abc'", "< SA 0,1 | established", "< PA 200,103 'x' | established s:x" } },
    { "a SYN/ACK that answers a SYN sent since",
      { "> PA 100,200 'abc'", "> S 0,0 | established est_syn_resend_diff_seq", "< SA 0,1 | syn_recv" } },
    { "a reset that others have overtaken, with an old timestamp",
      { "> PA 100,200 'abc' ts=9000/7", "< A 200,103 ts=8/9000",
        "> RA 90,200 ts=4000/7 | closed pkt_invalid_timestamp" } },
    { "held for as long as an engine may hang",
      { "> PA 100,200 'abc' ts=60000/7", "< A 200,103 ts=8/60000", "> PA 103,200 'd' ts=61000/8 | established c:d",
        "> FA 104,200 ts=20000/7 | close_wait pkt_invalid_timestamp" } },
};

START_TEST(finds)
{
    open_restarts();
    stream_rig_play(found[_i].name, found[_i].script);
}
END_TEST

START_TEST(talks)
{
    uint32_t seed = number_of("SEED", 0), count = number_of("RESTART_TALKS", TALKS);
    unsigned long segments = 0;

    tells = seed > 0;
    told = number_of("TELL", 20);
    open_restarts();
    for (uint32_t i = seed ? seed : 1; i <= (seed ? seed : count); i++) {
        restart_talk(i);
        segments += talk.count;
    }
    printf("%u conversations of %lu segments, of which %lu are never let pass; %lu dropped\n", count, segments,
           whole_dropped, failed);
    ck_assert_uint_eq(failed, 0);
}
END_TEST

START_TEST(captured)
{
    const char *shared = getenv("SLUICE_SHARED");
    char folder[4096];

    capture_name = getenv("CAPTURES");
    told = number_of("TELL", 20);
    talk.state = number_of("SEED", 1);
    failed = 0;
    open_restarts();
    snprintf(folder, sizeof(folder), "%s/pcaps", shared ? shared : ".");
    ck_assert_int_eq(nftw(capture_name ? capture_name : folder, visit, OPEN_FOLDERS, FTW_PHYS), 0);
    printf("%lu captures, of %lu restarts in them %lu drop, %lu packets\n", captures, captures * CAPTURE_RESTARTS,
           capture_failed, failed);
    ck_assert_uint_le(capture_failed * 200,
                      captures * CAPTURE_RESTARTS); /* some orders are impossible, such as a RST before its cause */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stream_restart");
    TCase *tcase = tcase_create("restart");

    tcase_add_checked_fixture(tcase, stream_rig_setup, stream_rig_teardown);
    tcase_set_timeout(tcase, 600);
    tcase_add_loop_test(tcase, finds, 0, sizeof(found) / sizeof(found[0]));
    tcase_add_test(tcase, talks);
    tcase_add_test(tcase, captured);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failures = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failures ? 1 : 0;
}
