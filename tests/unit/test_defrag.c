/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Order, headers, keys, timeouts, memory, and overlaps in passive mode. test_defrag_inline.c tests the drops of inline
 * mode. */
#include <check.h>
#include <netinet/in.h>
#include <string.h>

#include "../lib/default_options.h"
#include "defrag_rig.h"

/* --- Order ---------------------------------------------------------------------------------------- */

static const unsigned orders[][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };

START_TEST(completes_in_any_order)
{
    static const char *const parts[] = { "AAAAAAAABBBBBBBB", "CCCCCCCC", "DDD" };
    static const uint32_t offsets[] = { 0, 16, 24 };

    for (unsigned mode = 0; mode < 4; mode++) {
        int version = versions[mode / 2];

        defrag_rig_open_with(mode % 2, NULL, NULL);
        for (unsigned i = 0; i < 3; i++) {
            unsigned part = orders[_i][i];

            ck_assert_int_eq(defrag_rig_send_text(version, 7, offsets[part], part < 2, parts[part]),
                             i == 2 ? DEFRAG_COMPLETE : DEFRAG_STORED);
            ck_assert_int_eq(defrag_rig.exception, EXCEPTION_NONE);
            ck_assert_uint_eq(defrag_rig.packet.event_count, 0);
        }
        defrag_rig_check_whole(version, "AAAAAAAABBBBBBBBCCCCCCCCDDD");
        ck_assert_uint_eq(
            defragging_counter(&defrag_rig, version == 4 ? "defrag.ipv4.fragments" : "defrag.ipv6.fragments"), 3);
        ck_assert_uint_eq(
            defragging_counter(&defrag_rig, version == 4 ? "defrag.ipv4.reassembled" : "defrag.ipv6.reassembled"), 1);
        defrag_rig_close();
    }
}
END_TEST

/* A datagram of maximum size in fragments of minimum size, neither in order nor in reverse order. */
START_TEST(completes_from_the_smallest)
{
    enum { UNITS = 65504 / 8 };
    char text[9] = "";

    for (unsigned mode = 0; mode < 2; mode++) {
        defrag_rig_open_with(mode, NULL, NULL);
        for (uint32_t i = 0; i < UNITS; i++) {
            uint32_t unit = (uint32_t)((uint64_t)i * 4099 % UNITS);

            memcpy(text,
                   (char[8]){ (char)((unit & 63) | 64), (char)((unit >> 6 & 63) | 64), (char)(unit >> 12 | 64), 'x',
                              'x', 'x', 'x', 'x' },
                   8);
            ck_assert_int_eq(defrag_rig_send_text(versions[_i], 7, unit * 8, unit + 1 < UNITS, text),
                             i + 1 < UNITS ? DEFRAG_STORED : DEFRAG_COMPLETE);
        }
        const uint8_t *bytes = defrag_rig.whole.data + (versions[_i] == 4 ? 20 : 40);

        for (uint32_t unit = 0; unit < UNITS; unit++)
            ck_assert_int_eq(
                (bytes[unit * 8] & 63) | (bytes[unit * 8 + 1] & 63) << 6 | (bytes[unit * 8 + 2] & 63) << 12, unit);
        defrag_rig_close();
    }
}
END_TEST

START_TEST(forgets_what_is_complete_when_passive)
{
    int version = versions[_i];

    defrag_rig_open_passive();
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(defrag_rig_send_text(version, 7, 0, true, "AAAAAAAA"), DEFRAG_STORED);
        ck_assert_int_eq(defrag_rig_send_text(version, 7, 8, false, "B"), DEFRAG_COMPLETE);
        defrag_rig_check_whole(version, "AAAAAAAAB");
    }
    ck_assert_uint_eq(defragging_counter(&defrag_rig, "defrag.memuse"), 0);
    defrag_rig_close();
}
END_TEST

/* --- Headers -------------------------------------------------------------------------------------- */

START_TEST(makes_a_packet_that_decodes)
{
    static const uint8_t udp[] = { 0x10, 0, 0, 53, 0, 16, 0, 0, 'g', 'o', 'o', 'd', 'n', 'e', 's', 's' };
    static const uint8_t options[] = { 1, 1, 1, 0 };
    static const uint8_t chain[] = { 60, 0, 1, 4, 0, 0, 0, 0, 44, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
    int version = versions[_i];
    struct piece first = {
        .version = version,
        .id = 7,
        .more = true,
        .bytes = udp,
        .length = 8,
        .chain = version == 4 ? options : chain,
        .chain_length = version == 4 ? sizeof(options) : sizeof(chain),
    };
    struct piece last = { .version = version, .id = 7, .offset = 8, .bytes = udp + 8, .length = 8 };

    defrag_rig_open_inline();
    ck_assert_int_eq(defragging_send(&defrag_rig, &last), DEFRAG_STORED);
    defrag_rig.vlan = 5;
    ck_assert_int_eq(defragging_send(&defrag_rig, &first), DEFRAG_STORED); /* another VLAN */
    defrag_rig.vlan = 0;
    ck_assert_int_eq(defragging_send(&defrag_rig, &first), DEFRAG_COMPLETE);
    ck_assert_uint_eq(decode_reassembled(defrag_rig.decoder, &defrag_rig.whole, &defrag_rig.packet, defrag_rig.found),
                      1);
    decode_check_checksums(&defrag_rig.whole);
    ck_assert_uint_eq(defrag_rig.whole.flags & (PACKET_BAD_L3_CHECKSUM | PACKET_FRAGMENT | PACKET_MALFORMED), 0);
    ck_assert_uint_eq(defrag_rig.whole.protocol, IPPROTO_UDP);
    ck_assert_uint_eq(defrag_rig.whole.ip_extension_length, version == 6 ? sizeof(chain) : 0);
    ck_assert_uint_eq(defrag_rig.whole.ip_header_length, version == 6 ? 40 : 24);
    ck_assert_uint_eq(defrag_rig.whole.destination_port, 53);
    ck_assert_uint_eq(defrag_rig.whole.payload_length, 8);
    ck_assert_mem_eq(defrag_rig.whole.payload, "goodness", 8);
    defrag_rig_close();
}
END_TEST

/* Extension headers before the fragment header may be longer than the datagram itself. */
START_TEST(keeps_long_chains)
{
    uint8_t chain[1000] = { 44 }; /* padding without end */
    struct piece piece = { .version = 6,
                           .id = 7,
                           .more = true,
                           .bytes = (const uint8_t *)"AAAAAAAABBBBBBBB",
                           .length = 8,
                           .chain = chain,
                           .chain_length = 960 };

    for (unsigned mode = 0; mode < 2; mode++) {
        defrag_rig_open_with(mode, NULL, NULL);
        chain[1] = 960 / 8 - 1;
        piece.chain_length = 960;
        ck_assert_int_eq(defragging_send(&defrag_rig, &piece), DEFRAG_STORED);
        ck_assert_int_eq(defrag_rig_send_text(6, 7, 8, false, "BBBBBBBB"), DEFRAG_COMPLETE);
        ck_assert_uint_eq(defrag_rig.whole.length, 40 + 960 + 16);
        ck_assert_uint_eq(defrag_rig.whole.data[6], 0);
        ck_assert_uint_eq(defrag_rig.whole.data[40], IPPROTO_UDP);
        ck_assert_mem_eq(defrag_rig.whole.data + 40 + 960, "AAAAAAAABBBBBBBB", 16);
        /* An invalid chain: no host sends it, and inline it must not pass uninspected. */
        chain[1] = 1000 / 8 - 1;
        piece.chain_length = 1000;
        piece.id = 8;
        ck_assert_int_eq(defragging_send(&defrag_rig, &piece), mode ? DEFRAG_DROPPED : DEFRAG_IGNORED);
        ck_assert(packet_has_event(&defrag_rig.packet, DECODE_EVENT_IPV6_FRAG_IGNORED));
        piece.id = 7;
        defrag_rig_close();
    }
}
END_TEST

START_TEST(shows_the_link_header)
{
    defrag_rig_open_inline();
    defrag_rig.vlan = 9;
    defrag_rig_send_text(4, 7, 0, true, "AAAAAAAA");
    ck_assert_int_eq(defrag_rig_send_text(4, 7, 8, false, "B"), DEFRAG_COMPLETE);
    decode_reassembled(defrag_rig.decoder, &defrag_rig.whole, &defrag_rig.packet, defrag_rig.found);
    defrag_prepend_link_header(&defrag_rig.whole, &defrag_rig.packet);
    ck_assert_int_eq(defrag_rig.whole.link, LINK_ETHERNET);
    ck_assert_uint_eq(defrag_rig.whole.length, 18 + 20 + 9);
    ck_assert_mem_eq(defrag_rig.whole.data, defrag_rig.bytes, 18);
    ck_assert_ptr_eq(defrag_rig.whole.ip, defrag_rig.whole.data + 18);
    defrag_drop(defrag_rig.defrag, &defrag_rig.whole);
    ck_assert_int_eq(defrag_rig_send_text(4, 7, 8, false, "B"), DEFRAG_DROPPED);
    defrag_rig_close();
}
END_TEST

/* --- Keys ----------------------------------------------------------------------------------------- */

static const struct {
    const char *what;
    struct piece other; /* fields that differ from: version, id 7, UDP, host 2 */
    uint16_t vlan;
    bool joins[2]; /* whether it joins the datagram, over IPv4 and IPv6 */
} keys[] = {
    { "the same", { .id = 7 }, 0, { true, true } },
    { "id", { .id = 8 }, 0, { false, false } },
    { "high bits of the id", { .id = 7 | 1 << 16 }, 0, { true, false } }, /* IPv4 has no such bits */
    { "destination", { .id = 7, .host = 3 }, 0, { false, false } },
    { "protocol", { .id = 7, .protocol = 6 }, 0, { false, true } },
    { "vlan", { .id = 7 }, 4, { false, false } },
};

START_TEST(tells_datagrams_apart)
{
    for (unsigned i = 0; i < 2; i++) {
        struct piece other = keys[_i].other;

        defrag_rig_open_inline();
        ck_assert_int_eq(defrag_rig_send_text(versions[i], 7, 0, true, "AAAAAAAA"), DEFRAG_STORED);
        other.version = versions[i];
        other.offset = 8;
        other.bytes = (const uint8_t *)"BBBB";
        other.length = 4;
        defrag_rig.vlan = keys[_i].vlan;
        ck_assert_msg(defragging_send(&defrag_rig, &other) == (keys[_i].joins[i] ? DEFRAG_COMPLETE : DEFRAG_STORED),
                      "%s, IPv%d", keys[_i].what, versions[i]);
        defrag_rig_close();
    }
}
END_TEST

START_TEST(vlans_may_be_ignored)
{
    struct defrag_options options;

    defrag_options_default(&options);
    options.vlan_tracking = false;
    defragging_open(&defrag_rig, &options);
    defrag_rig.vlan = 4;
    defrag_rig_send_text(4, 7, 0, true, "AAAAAAAA");
    defrag_rig.vlan = 5;
    ck_assert_int_eq(defrag_rig_send_text(4, 7, 8, false, "B"), DEFRAG_COMPLETE);
    defrag_rig_close();
}
END_TEST

/* --- Overlaps, passive: whose bytes count --------------------------------------------------------- */

/* Novak's sequence, in units of eight bytes. Fragments of the second half overlap those of the first in all ways. */
static const struct {
    char letter;
    uint8_t offset, length;
} novak[] = {
    { 'A', 0, 3 },  { 'B', 4, 2 },  { 'C', 6, 3 },  { 'D', 10, 1 }, { 'E', 13, 2 }, { 'F', 15, 3 },
    { 'G', 18, 2 }, { 'H', 20, 2 }, { 'I', 22, 1 }, { 'J', 1, 4 },  { 'K', 6, 3 },  { 'L', 9, 3 },
    { 'M', 12, 3 }, { 'N', 16, 1 }, { 'O', 19, 1 }, { 'P', 20, 1 }, { 'Q', 22, 2 },
};
enum { NOVAK = sizeof(novak) / sizeof(novak[0]), NOVAK_FIRST = 9, NOVAK_UNITS = 24 };

static const struct {
    enum host_os os;
    const char *units;
} winners[] = {
    { HOST_OS_BSD, "AAAJJBCCCLLLMMMFFFGGHHIQ" },       { HOST_OS_HPUX10, "AAAJJBCCCLLLMMMFFFGGHHIQ" },
    { HOST_OS_IRIX, "AAAJJBCCCLLLMMMFFFGGHHIQ" },      { HOST_OS_LINUX, "AAAJJBKKKLLLMMMFFFGGPHQQ" },
    { HOST_OS_OLD_LINUX, "AAAJJBKKKLLLMMMFFFGGPHQQ" }, { HOST_OS_WINDOWS, "AAAJBBCCCLLLMEEFFFGGHHIQ" },
    { HOST_OS_VISTA, "AAAJBBCCCLLLMEEFFFGGHHIQ" },     { HOST_OS_WINDOWS2K3, "AAAJBBCCCLLLMEEFFFGGHHIQ" },
    { HOST_OS_SOLARIS, "AAAJBBCCCLLLMMMFFFGGHHIQ" },   { HOST_OS_OLD_SOLARIS, "AAAJBBCCCLDLMEEFFFGGHHIQ" },
    { HOST_OS_HPUX11, "AAAJBBCCCLDLMEEFFFGGHHIQ" },    { HOST_OS_MACOS, "AAAJBBCCCLDLMEEFFFGGHHIQ" },
    { HOST_OS_BSD_RIGHT, "AJJJBBKKKLDLMEEFNFGOPHQQ" },
};
enum { WINNERS = sizeof(winners) / sizeof(winners[0]) };
_Static_assert(WINNERS == (int)HOST_OS_COUNT, "every policy has its row");

static enum host_os fixed_os(const void *user, int ip_version, const struct address *host)
{
    ck_assert(ip_version == 4 || ip_version == 6);
    ck_assert_uint_eq(host->bytes[ip_version == 4 ? 3 : 15], 2); /* the receiver */
    return *(const enum host_os *)user;
}

START_TEST(settles_overlaps_as_the_host_does)
{
    char expected[NOVAK_UNITS * 8 + 1] = "";

    for (unsigned i = 0; i < NOVAK_UNITS; i++)
        memset(expected + i * 8, winners[_i].units[i], 8);
    for (unsigned v = 0; v < 2; v++) {
        defrag_rig_open_with(false, fixed_os, &winners[_i].os);
        for (unsigned i = 0; i < NOVAK; i++) {
            ck_assert_int_eq(defrag_rig_send_letter(versions[v], 7, novak[i].letter, novak[i].offset * 8u,
                                                    novak[i].length * 8u, i + 1 < NOVAK),
                             i + 1 < NOVAK ? DEFRAG_STORED : DEFRAG_COMPLETE);
            ck_assert_int_eq(defrag_rig_overlapped(versions[v]), i >= NOVAK_FIRST);
        }
        defrag_rig_check_whole(versions[v], expected);
        defrag_rig_close();
    }
}
END_TEST

/* A fragment whose beginning was trimmed counts as one that begins later. */
START_TEST(a_trimmed_fragment_begins_later)
{
    static const enum host_os os = HOST_OS_BSD;

    defrag_rig_open_with(false, fixed_os, &os);
    defrag_rig_send_letter(4, 7, 'A', 0, 16, true);
    defrag_rig_send_letter(4, 7, 'B', 8, 16, true); /* begins at 16 now */
    defrag_rig_send_letter(4, 7, 'C', 8, 16, true); /* is before it */
    ck_assert_int_eq(defrag_rig_send_letter(4, 7, 'D', 24, 1, false), DEFRAG_COMPLETE);
    defrag_rig_check_whole(4, "AAAAAAAAAAAAAAAACCCCCCCCD");
    defrag_rig_close();
}
END_TEST

/* The IP header is that of the fragment whose bytes at offset 0 count. */
START_TEST(takes_the_header_of_the_winner)
{
    static const enum host_os first = HOST_OS_MACOS, second = HOST_OS_LINUX;
    static const uint8_t options[] = { 1, 1, 1, 0 };
    struct piece again = { .version = 4,
                           .id = 7,
                           .more = true,
                           .bytes = (const uint8_t *)"BBBBBBBB",
                           .length = 8,
                           .chain = options,
                           .chain_length = sizeof(options) };

    for (unsigned i = 0; i < 2; i++) {
        defrag_rig_open_with(false, fixed_os, i ? &second : &first);
        defrag_rig_send_text(4, 7, 0, true, "AAAAAAAA");
        defragging_send(&defrag_rig, &again);
        ck_assert_int_eq(defrag_rig_send_text(4, 7, 8, false, "C"), DEFRAG_COMPLETE);
        ck_assert_uint_eq(defrag_rig.whole.length, (i ? 24 : 20) + 9);
        ck_assert_mem_eq(defrag_rig.whole.data + (i ? 24 : 20), i ? "BBBBBBBBC" : "AAAAAAAAC", 9);
        defrag_rig_close();
    }
}
END_TEST

/* Of several ends the lowest counts. */
START_TEST(passive_takes_the_nearest_end)
{
    int version = versions[_i];

    defrag_rig_open_passive();
    ck_assert_int_eq(defrag_rig_send_letter(version, 7, 'C', 24, 8, false), DEFRAG_STORED);
    ck_assert_int_eq(defrag_rig_send_letter(version, 7, 'D', 32, 8, true), DEFRAG_STORED);
    ck_assert_int_eq(defrag_rig_send_letter(version, 7, 'B', 8, 4, false), DEFRAG_STORED);
    ck_assert_int_eq(defrag_rig_send_letter(version, 7, 'A', 0, 8, true), DEFRAG_COMPLETE);
    defrag_rig_check_whole(version, "AAAAAAAABBBB");
    defrag_rig_close();
}
END_TEST

/* --- Time ----------------------------------------------------------------------------------------- */

START_TEST(forgets_in_time)
{
    int version = versions[_i];

    defrag_rig_open_inline();
    defrag_rig_send_text(version, 7, 0, true, "AAAAAAAA");
    defrag_rig.now_ns += 60 * NS_PER_SECOND - 1;
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 16, true, "CCCCCCCC"),
                     DEFRAG_STORED); /* the timeout starts again */
    defrag_rig.now_ns += 60 * NS_PER_SECOND - 1;
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 24, false, "D"), DEFRAG_STORED);
    defrag_rig.now_ns += 60 * NS_PER_SECOND;
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 8, true, "BBBBBBBB"),
                     DEFRAG_STORED); /* the first fragment of a new datagram */
    ck_assert_uint_eq(defragging_counter(&defrag_rig, "defrag.wrk.tracker_timeout"), 1);
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 0, true, "XXXXXXXX"), DEFRAG_STORED);
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 16, false, "Z"), DEFRAG_COMPLETE);
    defrag_rig_check_whole(version, "XXXXXXXXBBBBBBBBZ");
    defrag_rig_close();
}
END_TEST

START_TEST(expires_by_budget)
{
    defrag_rig_open_inline();
    for (uint32_t id = 0; id < 10; id++) {
        defrag_rig_send_text(4, id, 0, true, "AAAAAAAA");
        defrag_rig.now_ns += NS_PER_SECOND;
    }
    ck_assert_uint_eq(defrag_expire(defrag_rig.defrag, defrag_rig.now_ns + 49 * NS_PER_SECOND, 100), 0);
    ck_assert_uint_eq(defrag_expire(defrag_rig.defrag, defrag_rig.now_ns + 55 * NS_PER_SECOND, 2), 2);
    ck_assert_uint_eq(defrag_expire(defrag_rig.defrag, defrag_rig.now_ns + 55 * NS_PER_SECOND, 100), 4);
    ck_assert_uint_eq(defrag_expire(defrag_rig.defrag, defrag_rig.now_ns + 55 * NS_PER_SECOND, 100), 0);
    ck_assert_uint_eq(defrag_expire(defrag_rig.defrag, defrag_rig.now_ns + 60 * NS_PER_SECOND, 100), 4);
    ck_assert_uint_eq(defragging_counter(&defrag_rig, "defrag.mgr.tracker_timeout"), 10);
    ck_assert_uint_eq(defragging_counter(&defrag_rig, "defrag.memuse"), 0);
    /* Accepted and dropped datagrams expire, too. */
    defrag_rig_send_text(4, 1, 0, true, "AAAAAAAA");
    defrag_rig_send_text(4, 1, 8, false, "B");
    defrag_rig_send_text(4, 2, 0, true, "AAAAAAAA");
    defrag_rig_send_text(4, 2, 0, true, "BBBBBBBB");
    ck_assert_uint_eq(defrag_expire(defrag_rig.defrag, defrag_rig.now_ns + 60 * NS_PER_SECOND, 100), 2);
    ck_assert_uint_eq(defragging_counter(&defrag_rig, "defrag.memuse"), 0);
    defrag_rig_close();
}
END_TEST

/* --- Memory --------------------------------------------------------------------------------------- */

static void open_small(bool inline_mode, size_t memcap)
{
    struct defrag_options options;

    defrag_options_default(&options);
    options.memcap = memcap;
    options.inline_mode = inline_mode;
    defragging_open(&defrag_rig, &options);
}

/* A flood of incomplete datagrams must not displace open datagrams. Later fragments of a displaced datagram must not be
 * taken for a new one. */
START_TEST(stays_within_its_memory)
{
    enum { MEMCAP = 256 << 10, FLOOD = 3000 };
    int version = versions[_i % 2];
    uint32_t length = _i < 2 ? 8 : 8000, dropped = 0;

    open_small(true, MEMCAP);
    defrag_rig_send_letter(version, 60000, 'A', 0, length, true);
    defrag_rig_send_letter(version, 60000, 'B', 0, length, true); /* dropped for good */
    for (uint32_t id = 0; id < FLOOD; id++)
        dropped += defrag_rig_send_letter(version, id, 'A', 0, length, true) != DEFRAG_STORED;
    ck_assert_uint_le(dropped, FLOOD / 100); /* falsely taken for displaced datagrams */
    ck_assert_uint_le(defragging_counter(&defrag_rig, "defrag.memuse"), MEMCAP);
    ck_assert_uint_gt(defragging_counter(&defrag_rig, "defrag.evicted"), FLOOD / 2);
    ck_assert_uint_eq(defragging_counter(&defrag_rig, "defrag.max_trackers_reached") +
                          defragging_counter(&defrag_rig, "defrag.max_frags_reached"),
                      0);
    ck_assert_int_eq(defrag_rig_send_letter(version, FLOOD - 1, 'B', length - 8, 8, true), DEFRAG_DROPPED);
    ck_assert_int_eq(defrag_rig_send_letter(version, 0, 'A', length, 8, false), DEFRAG_DROPPED);
    ck_assert_int_eq(defrag_rig_send_letter(version, 60000, 'A', 0, length, true), DEFRAG_DROPPED);
    ck_assert_uint_ge(defragging_counter(&defrag_rig, "defrag.evicted_fragments"), 1);
    /* After this time receivers have discarded the fragments. */
    defrag_rig.now_ns += 121 * NS_PER_SECOND;
    ck_assert_int_eq(defrag_rig_send_letter(version, 0, 'A', 0, length, true), DEFRAG_STORED);
    defrag_rig_close();
}
END_TEST

/* Records of accepted datagrams are displaced; records of dropped ones and open datagrams are not. */
START_TEST(gives_up_what_was_accepted)
{
    open_small(true, 64 << 10);
    defrag_rig_send_text(4, 60000, 0, true, "AAAAAAAA");
    defrag_rig_send_text(4, 60000, 0, true, "BBBBBBBB");
    defrag_rig_send_text(4, 60001, 0, true, "AAAAAAAA");
    for (uint32_t id = 0; id < 5000; id++) {
        ck_assert_int_eq(defrag_rig_send_text(4, id, 0, true, "AAAAAAAA"), DEFRAG_STORED);
        ck_assert_int_eq(defrag_rig_send_text(4, id, 8, false, "B"), DEFRAG_COMPLETE);
    }
    ck_assert_int_eq(defrag_rig_send_text(4, 4999, 0, true, "XXXXXXXX"), DEFRAG_DROPPED);
    ck_assert_int_eq(defrag_rig_send_text(4, 0, 0, true, "XXXXXXXX"), DEFRAG_STORED);
    ck_assert_int_eq(defrag_rig_send_text(4, 60000, 0, true, "AAAAAAAA"), DEFRAG_DROPPED);
    ck_assert_int_eq(defrag_rig_send_text(4, 60001, 8, false, "B"), DEFRAG_COMPLETE);
    defrag_rig_close();
}
END_TEST

/* If only a part of a fragment could be stored, its remaining bytes count as missing. */
START_TEST(half_a_fragment_is_none)
{
    open_small(true, 24 << 10);
    ck_assert_int_eq(defrag_rig_send_letter(4, 1, 'A', 0, 8, true), DEFRAG_STORED);
    ck_assert_int_eq(defrag_rig_send_letter(4, 1, 'A', 8, 20000, true), DEFRAG_IGNORED);
    ck_assert_int_eq(defrag_rig.exception, EXCEPTION_DEFRAG_MEMCAP);
    ck_assert_int_eq(defrag_rig_send_letter(4, 1, 'B', 8, 8, true), DEFRAG_STORED);
    ck_assert_int_eq(defrag_rig_send_letter(4, 1, 'C', 16, 1, false), DEFRAG_COMPLETE);
    defrag_rig_check_whole(4, "AAAAAAAABBBBBBBBC");
    defrag_rig_close();
}
END_TEST

/* --- Unused fields -------------------------------------------------------------------------------- */

START_TEST(ignores_what_is_too_large)
{
    int version = versions[_i];
    uint32_t room = version == 4 ? 65515 : 65535, offset = 65512 - 8;

    for (unsigned mode = 0; mode < 2; mode++) {
        defrag_rig_open_with(mode, NULL, NULL);
        ck_assert_int_eq(defrag_rig_send_letter(version, 7, 'A', offset, room - offset + 1, false), DEFRAG_IGNORED);
        ck_assert(
            defrag_rig_has_event(version, DECODE_EVENT_IPV4_FRAG_PKT_TOO_LARGE, DECODE_EVENT_IPV6_FRAG_PKT_TOO_LARGE));
        ck_assert_int_eq(defrag_rig.exception, EXCEPTION_NONE);
        ck_assert_uint_eq(defragging_counter(&defrag_rig, "defrag.memuse"), 0);
        ck_assert_int_eq(defrag_rig_send_letter(version, 7, 'A', offset, room - offset, false), DEFRAG_STORED);
        ck_assert_uint_eq(defrag_rig.packet.event_count, 0);
        ck_assert_int_eq(defrag_rig_send_letter(version, 7, 'B', 0, offset / 2, true), DEFRAG_STORED);
        ck_assert_int_eq(defrag_rig_send_letter(version, 7, 'B', offset / 2, offset / 2, true), DEFRAG_COMPLETE);
        ck_assert_uint_eq(defrag_rig.whole.length, room + (version == 4 ? 20 : 40));
        defrag_rig_close();
    }
}
END_TEST

/* Only the first fragment has the length of the header. */
START_TEST(ignores_what_is_too_large_with_its_header)
{
    static const uint8_t options[8] = { 1, 1, 1, 1, 1, 1, 1, 0 }, chain[8] = { 44, 0, 1, 4, 0, 0, 0, 0 };
    int version = versions[_i];
    uint32_t room = version == 4 ? 65515 : 65535, half = 32752;
    static uint8_t bytes[40000];
    struct piece first = { .version = version,
                           .id = 7,
                           .more = true,
                           .bytes = bytes,
                           .length = half,
                           .chain = version == 4 ? options : chain,
                           .chain_length = 8 };

    memset(bytes, 'A', sizeof(bytes));
    for (unsigned mode = 0; mode < 2; mode++) {
        defrag_rig_open_with(mode, NULL, NULL);
        ck_assert_int_eq(defrag_rig_send_letter(version, 7, 'A', half, room - half - 8 + (mode ? 1 : 0), false),
                         DEFRAG_STORED);
        ck_assert_int_eq(defragging_send(&defrag_rig, &first), mode ? DEFRAG_DROPPED : DEFRAG_COMPLETE);
        defrag_rig_close();
    }
    defrag_rig_open_passive();
    defrag_rig_send_letter(version, 7, 'A', half, room - half - 7, false);
    ck_assert_int_eq(defragging_send(&defrag_rig, &first), DEFRAG_IGNORED);
    ck_assert(
        defrag_rig_has_event(version, DECODE_EVENT_IPV4_FRAG_PKT_TOO_LARGE, DECODE_EVENT_IPV6_FRAG_PKT_TOO_LARGE));
    ck_assert_uint_eq(defragging_counter(&defrag_rig, "defrag.memuse"), 0);
    defrag_rig_close();
}
END_TEST

START_TEST(ignores_what_has_no_bytes)
{
    int version = versions[_i];

    defrag_rig_open_inline();
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 8, true, ""), DEFRAG_IGNORED);
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 8, false, ""), DEFRAG_IGNORED);
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 0, true, ""), DEFRAG_IGNORED);
    ck_assert_uint_eq(defragging_counter(&defrag_rig, "defrag.memuse"), 0);
    defrag_rig_close();
}
END_TEST

/* Linux truncates an IPv4 fragment to whole units; all stacks discard such an IPv6 fragment. */
START_TEST(broken_lengths)
{
    defrag_rig_open_inline();
    ck_assert_int_eq(defrag_rig_send_text(4, 7, 0, true, "AAAAAAAABBB"), DEFRAG_STORED);
    ck_assert_int_eq(defrag_rig_send_text(4, 7, 16, true, "ABC"), DEFRAG_IGNORED);
    ck_assert_int_eq(defrag_rig_send_text(4, 7, 8, false, "CCC"), DEFRAG_COMPLETE);
    defrag_rig_check_whole(4, "AAAAAAAACCC");
    ck_assert_int_eq(defrag_rig_send_text(6, 7, 0, true, "AAAAAAAABBB"), DEFRAG_IGNORED);
    ck_assert(packet_has_event(&defrag_rig.packet, DECODE_EVENT_IPV6_FRAG_INVALID_LENGTH));
    ck_assert_int_eq(defrag_rig_send_text(6, 7, 8, false, "CCC"), DEFRAG_STORED);
    defrag_rig_close();
}
END_TEST

/* An atomic fragment (RFC 6946) is complete, also if other fragments have the same identification. */
START_TEST(atomic_fragments_are_none)
{
    defrag_rig_open_inline();
    ck_assert_int_eq(defrag_rig_send_text(6, 7, 8, false, "BB"), DEFRAG_STORED);
    defragging_decode(&defrag_rig, &(struct piece){
                                       .version = 6,
                                       .id = 7,
                                       .bytes = (const uint8_t *)"\x10\x00\x00\x35\x00\x08\x00\x00",
                                       .length = 8,
                                   });
    ck_assert(!(defrag_rig.packet.flags & PACKET_FRAGMENT));
    ck_assert_uint_eq(defrag_rig.packet.destination_port, 53);
    ck_assert(packet_has_event(&defrag_rig.packet, DECODE_EVENT_IPV6_EXTHDR_USELESS_FH));
    ck_assert_int_eq(defrag_rig_send_text(6, 7, 0, true, "AAAAAAAA"), DEFRAG_COMPLETE);
    defrag_rig_check_whole(6, "AAAAAAAABB");
    defrag_rig_close();
}
END_TEST

/* --- Fragments in datagrams ----------------------------------------------------------------------- */

/* Writes a fragment header of datagram `id`, as payload of another datagram. The last eight bytes of `id` follow it. */
static void inner_header(uint8_t out[8], uint8_t id)
{
    memcpy(out, (const uint8_t[8]){ 44, 0, 0, 8, 0, 0, 0, id }, 8);
}

START_TEST(nests_to_a_bound)
{
    enum { CHAIN = 8, NESTED_MAX = 4 };
    struct packet wholes[CHAIN];
    const struct packet *fragment = &defrag_rig.packet;
    uint8_t bytes[8];
    unsigned depth = 0;
    enum defrag_result result;

    defrag_rig_open_with(_i, NULL, NULL);
    for (uint8_t id = 2; id < CHAIN; id++) {
        inner_header(bytes, id + 1);
        struct piece piece = { .version = 6, .id = id, .more = true, .bytes = bytes, .length = 8, .protocol = 44 };

        ck_assert_int_eq(defragging_send(&defrag_rig, &piece), DEFRAG_STORED);
    }
    inner_header(bytes, 2);
    ck_assert_int_eq(
        defragging_send(
            &defrag_rig,
            &(struct piece){ .version = 6, .id = 1, .more = true, .bytes = bytes, .length = 8, .protocol = 44 }),
        DEFRAG_STORED);
    result = defragging_send(
        &defrag_rig,
        &(struct piece){
            .version = 6, .id = 1, .offset = 8, .bytes = (const uint8_t *)"ENDENDEN", .length = 8, .protocol = 44 });
    wholes[0] = defrag_rig.whole;
    while (result == DEFRAG_COMPLETE) {
        struct packet *whole = &wholes[depth++];

        ck_assert_uint_eq(decode_reassembled(defrag_rig.decoder, whole, fragment, defrag_rig.found), 1);
        ck_assert(whole->flags & PACKET_FRAGMENT);
        result = defrag_packet(defrag_rig.defrag, defrag_rig.decoder, whole, &wholes[depth], &defrag_rig.exception);
        fragment = whole;
    }
    ck_assert_uint_eq(depth, NESTED_MAX);
    ck_assert_int_eq(result, _i ? DEFRAG_DROPPED : DEFRAG_IGNORED);
    ck_assert(packet_has_event(&wholes[depth - 1], DECODE_EVENT_IPV6_FRAG_IGNORED));
    /* All datagrams are still stored, and each can be dropped separately. */
    for (unsigned i = 0; i < depth; i++)
        ck_assert_mem_eq(wholes[i].data + 48, "ENDENDEN", 8);
    if (_i) {
        defrag_drop(defrag_rig.defrag, &wholes[2]);
        ck_assert_int_eq(defrag_rig_send_text(6, 3, 0, true, "AAAAAAAA"), DEFRAG_DROPPED);
        ck_assert_uint_eq(defrag_rig.packet.event_count, 0); /* not because of an overlap */
        defrag_rig_send_text(6, 2, 0, true, "AAAAAAAA");
        ck_assert(defrag_rig_overlapped(6));
    }
    defrag_rig_close();
}
END_TEST

/* --- Random operations, compared with a model ----------------------------------------------------- */

/* macOS: the first fragment wins for each byte. BSD-right: the fragment with the highest offset wins, of several the
 * latest. */
START_TEST(agrees_with_a_model_when_passive)
{
    static const enum host_os policies[] = { HOST_OS_MACOS, HOST_OS_BSD_RIGHT };
    unsigned complete = 0;

    defrag_rig_random_state = 88172645463325252u + (unsigned)_i;
    defrag_rig_open_with(false, fixed_os, &policies[_i % 2]);
    for (unsigned round = 0; round < 400; round++) {
        unsigned units = 2 + defrag_rig_random(MODEL_UNITS - 2);
        struct defrag_model model = { 0 };
        bool ended = false;

        for (unsigned sent = 0; sent < 200; sent++) {
            unsigned start = defrag_rig_random(units),
                     length = 1 + defrag_rig_random(units - start > 6 ? 6 : units - start);
            bool last = start + length == units && start > 0;
            int letter = 'A' + (int)defrag_rig_random(26);

            if (!last && start + length == units)
                length--;
            if (length == 0)
                continue;
            for (unsigned i = start; i < start + length; i++) {
                if (model.letter[i] && !(_i % 2 && start >= model.start[i]))
                    continue;
                model.letter[i] = letter;
                model.start[i] = start;
            }
            ended |= last;
            bool is_complete = ended && defrag_model_complete(&model, units);

            ck_assert_int_eq(defrag_rig_send_letter(4, round, (char)letter, start * 8, length * 8, !last),
                             is_complete ? DEFRAG_COMPLETE : DEFRAG_STORED);
            if (is_complete) {
                defrag_model_check(&model, 4, units);
                complete++;
                break;
            }
        }
    }
    ck_assert_uint_gt(complete, 350);
    defrag_rig_close();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("defrag");
    TCase *tcase = tcase_create("defrag");
    SRunner *runner;

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, completes_in_any_order, 0, 6);
    tcase_add_loop_test(tcase, completes_from_the_smallest, 0, 2);
    tcase_add_loop_test(tcase, forgets_what_is_complete_when_passive, 0, 2);
    tcase_add_loop_test(tcase, makes_a_packet_that_decodes, 0, 2);
    tcase_add_test(tcase, keeps_long_chains);
    tcase_add_test(tcase, shows_the_link_header);
    tcase_add_loop_test(tcase, tells_datagrams_apart, 0, sizeof(keys) / sizeof(keys[0]));
    tcase_add_test(tcase, vlans_may_be_ignored);
    tcase_add_loop_test(tcase, settles_overlaps_as_the_host_does, 0, WINNERS);
    tcase_add_test(tcase, a_trimmed_fragment_begins_later);
    tcase_add_test(tcase, takes_the_header_of_the_winner);
    tcase_add_loop_test(tcase, passive_takes_the_nearest_end, 0, 2);
    tcase_add_loop_test(tcase, forgets_in_time, 0, 2);
    tcase_add_test(tcase, expires_by_budget);
    tcase_add_loop_test(tcase, stays_within_its_memory, 0, 4);
    tcase_add_test(tcase, gives_up_what_was_accepted);
    tcase_add_test(tcase, half_a_fragment_is_none);
    tcase_add_loop_test(tcase, ignores_what_is_too_large, 0, 2);
    tcase_add_loop_test(tcase, ignores_what_is_too_large_with_its_header, 0, 2);
    tcase_add_loop_test(tcase, ignores_what_has_no_bytes, 0, 2);
    tcase_add_test(tcase, broken_lengths);
    tcase_add_test(tcase, atomic_fragments_are_none);
    tcase_add_loop_test(tcase, nests_to_a_bound, 0, 2);
    tcase_add_loop_test(tcase, agrees_with_a_model_when_passive, 0, 4);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
