/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The decoder on public captures, if SLUICE_SHARED has them: packets found are within the captured bytes, and most
 * packets are valid. libpcap only reads the files.
 */
#include <ftw.h>
#include <pcap/pcap.h>
#include <stdio.h>

#include "packet_text.h"

enum { MAX_OPEN_FOLDERS = 16, MAX_PACKETS_PER_FILE = 20000 };

/* A global variable, because nftw() passes no user pointer to its callback. */
static struct decoding decoding;
static unsigned long file_count, packet_count, invalid_count, tunnel_count;

static enum link_type link_of(int datalink)
{
    static const struct {
        int datalink;
        enum link_type link;
    } links[] = {
        { DLT_EN10MB, LINK_ETHERNET },
        { DLT_RAW, LINK_RAW },
        { DLT_LINUX_SLL, LINK_LINUX_SLL },
        { DLT_LINUX_SLL2, LINK_LINUX_SLL2 },
        { DLT_NULL, LINK_NULL },
        { DLT_LOOP, LINK_LOOP },
        { DLT_PPP, LINK_PPP },
        { DLT_IPV4, LINK_IPV4 },
        { DLT_IPV6, LINK_IPV6 },
        { DLT_PPP_SERIAL, LINK_PPP },
        { DLT_C_HDLC, LINK_CHDLC },
    };

    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        if (links[i].datalink == datalink)
            return links[i].link;
    }
    return LINK_UNSUPPORTED;
}

static void check_packet(const struct packet *pkt)
{
    const uint8_t *end = pkt->data + pkt->length;

    ck_assert((pkt->ip == NULL) == (pkt->ip_version == 0));
    if (pkt->ip)
        ck_assert(pkt->ip >= pkt->data && pkt->ip + pkt->ip_total_length <= end);
    if (pkt->transport)
        ck_assert(pkt->transport >= pkt->data && pkt->transport + pkt->transport_header_length <= end);
    if (pkt->payload)
        ck_assert(pkt->payload >= pkt->data && pkt->payload + pkt->payload_length <= end);
    if (pkt->outer)
        ck_assert(pkt->data >= pkt->outer->data && end <= pkt->outer->data + pkt->outer->length);
}

static int decode_file(const char *path, const struct stat *status, int type, struct FTW *at)
{
    char error[PCAP_ERRBUF_SIZE];
    struct pcap_pkthdr *header;
    const u_char *bytes;
    pcap_t *pcap = type == FTW_F && status->st_size > 0 ? pcap_open_offline(path, error) : NULL;

    (void)at;
    if (!pcap)
        return 0;
    enum link_type link = link_of(pcap_datalink(pcap));

    file_count++;
    for (int i = 0; i < MAX_PACKETS_PER_FILE && pcap_next_ex(pcap, &header, &bytes) == 1; i++) {
        decoding_bytes(&decoding, link, bytes, header->caplen);
        packet_count++;
        invalid_count += !!(decoding.packet.flags & PACKET_MALFORMED) && header->caplen == header->len;
        tunnel_count += decoding.count > 1;
        for (size_t k = 0; k < decoding.count; k++) {
            check_packet(decoding.found[k]);
            decode_check_checksums(decoding.found[k]);
        }
    }
    pcap_close(pcap);
    return 0;
}

START_TEST(decodes_captures)
{
    const char *shared = getenv("SLUICE_SHARED");
    char folder[4096];

    snprintf(folder, sizeof(folder), "%s/pcaps", shared ? shared : ".");
    decoding_open(&decoding, NULL);
    if (nftw(folder, decode_file, MAX_OPEN_FOLDERS, FTW_PHYS) != 0 || file_count == 0)
        printf("no captures in %s\n", folder);
    else
        ck_assert_msg(invalid_count * 10 < packet_count, "%lu of %lu packets are invalid", invalid_count, packet_count);
    printf("%lu files, %lu packets, %lu invalid, %lu with tunnels\n", file_count, packet_count, invalid_count,
           tunnel_count);
    decoding_close(&decoding);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decode captures");
    TCase *tcase = tcase_create("captures");
    SRunner *runner;

    tcase_set_timeout(tcase, 100);
    tcase_add_test(tcase, decodes_captures);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
