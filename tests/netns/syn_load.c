/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sends SYNs from random addresses of 10.128.0.0/9 and random ports at a fixed rate.
 *
 *     syn_load INTERFACE GATEWAY-MAC DESTINATION PORT RATE SECONDS
 *
 * Prints the number of packets sent. Packets that the device has no room for are not sent again.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 32, MSS = 1460, OPTIONS = 20 };

struct syn {
    struct iphdr ip;
    struct tcphdr tcp;
    uint8_t options[OPTIONS];
} __attribute__((packed));

static uint64_t state = 88172645463325252u;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint16_t checksum(const void *bytes, size_t length, uint32_t sum)
{
    const uint8_t *at = bytes;

    for (size_t i = 0; i + 1 < length; i += 2)
        sum += (uint32_t)(at[i] << 8 | at[i + 1]);
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return htons((uint16_t)~sum);
}

static void fill(struct syn *syn, uint32_t destination, uint16_t port)
{
    /* MSS, SACK permitted, timestamp, window scale 7: as Linux sends them. */
    static const uint8_t options[OPTIONS] = { 2, 4, MSS >> 8, MSS & 0xff, 4, 2, 8, 10, 0, 0,
                                              0, 1, 0,        0,          0, 0, 1, 3,  3, 7 };
    uint64_t random = next_random();
    uint32_t source = 0x0a800000u | (random & 0x7fffff);

    memset(syn, 0, sizeof(*syn));
    syn->ip = (struct iphdr){ .version = 4,
                              .ihl = 5,
                              .tot_len = htons(sizeof(*syn)),
                              .ttl = 64,
                              .protocol = IPPROTO_TCP,
                              .frag_off = htons(0x4000),
                              .saddr = htonl(source),
                              .daddr = destination };
    syn->ip.check = checksum(&syn->ip, sizeof(syn->ip), 0);
    syn->tcp.source = htons((uint16_t)(random >> 23) | 1);
    syn->tcp.dest = htons(port);
    syn->tcp.seq = (uint32_t)(random >> 32);
    syn->tcp.doff = (sizeof(syn->tcp) + OPTIONS) / 4;
    syn->tcp.syn = 1;
    syn->tcp.window = htons(64240);
    memcpy(syn->options, options, sizeof(options));

    uint32_t to = ntohl(destination), length = sizeof(syn->tcp) + OPTIONS;
    uint32_t pseudo = (source >> 16) + (source & 0xffff) + (to >> 16) + (to & 0xffff) + IPPROTO_TCP + length;

    syn->tcp.check = checksum(&syn->tcp, length, pseudo);
}

int main(int argc, char **argv)
{
    struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP), .sll_halen = ETH_ALEN };
    unsigned mac[ETH_ALEN];
    struct syn packets[BATCH];
    struct iovec parts[BATCH];
    struct mmsghdr messages[BATCH] = { 0 };
    uint64_t sent = 0, start;

    if (argc != 7 || sscanf(argv[2], "%x:%x:%x:%x:%x:%x", &mac[0], &mac[1], &mac[2], &mac[3], &mac[4], &mac[5]) != 6) {
        fprintf(stderr, "usage: syn_load INTERFACE GATEWAY-MAC DESTINATION PORT RATE SECONDS\n");
        return 2;
    }
    uint32_t destination = inet_addr(argv[3]);
    uint16_t port = (uint16_t)atoi(argv[4]);
    double rate = atof(argv[5]), seconds = atof(argv[6]);
    int sock = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK, 0);

    to.sll_ifindex = (int)if_nametoindex(argv[1]);
    for (unsigned i = 0; i < ETH_ALEN; i++)
        to.sll_addr[i] = (uint8_t)mac[i];
    if (sock < 0 || to.sll_ifindex == 0) {
        perror("syn_load");
        return 1;
    }
    state ^= now_ns() << 1;
    for (unsigned i = 0; i < BATCH; i++) {
        parts[i] = (struct iovec){ &packets[i], sizeof(packets[i]) };
        messages[i].msg_hdr =
            (struct msghdr){ .msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = &parts[i], .msg_iovlen = 1 };
    }
    start = now_ns();
    for (;;) {
        double elapsed = (double)(now_ns() - start) / 1e9;

        if (elapsed >= seconds)
            break;
        if ((double)sent >= elapsed * rate) {
            usleep(300);
            continue;
        }
        for (unsigned i = 0; i < BATCH; i++)
            fill(&packets[i], destination, port);
        int done = sendmmsg(sock, messages, BATCH, 0);

        sent += done > 0 ? (uint64_t)done : BATCH;
    }
    printf("%llu\n", (unsigned long long)sent);
    return 0;
}
