/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets and rules for the tests of output. A sample is what decode and policy would hand to the output. It must not
 * be moved, because its packet points into it.
 */
#ifndef EVENT_SAMPLES_H
#define EVENT_SAMPLES_H

#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

#include "sluice/decision.h"
#include "sluice/decode_event.h"
#include "sluice/flow.h"
#include "sluice/packet.h"
#include "sluice/stream_event.h"

#define SAMPLE_TIME_NS UINT64_C(1577836801000123999) /* 2020-01-01 00:00:01.000123999 */

enum { SAMPLE_HEADERS = 14 + 40 + 20, SAMPLE_PAYLOAD = 4096 };

struct sample {
    struct packet packet, outer;
    struct flow flow;
    struct flow_macs macs;
    struct rule rule, second_rule;
    struct metadata metadata[2];
    struct reference references[2];
    struct alert alerts[2];
    struct decision decision;
    uint8_t bytes[SAMPLE_HEADERS + SAMPLE_PAYLOAD];
};

void sample_rules(struct sample *sample);
void sample_payload(struct sample *sample, const char *payload);
void sample_ipv4(struct sample *sample, uint8_t protocol);
void sample_tcp(struct sample *sample);
void sample_icmp(struct sample *sample);
void sample_udp6(struct sample *sample);

/* Makes a packet that is not IP: an ARP packet that is too short. */
void sample_arp(struct sample *sample);

/* Makes a packet like sample_tcp(), in a VXLAN tunnel. */
void sample_tunnel(struct sample *sample);

/* Adds a flow without TCP session; the packet is from its client. */
void sample_flow(struct sample *sample);

/* Adds a flow; the packet is from its server. */
void sample_answered_flow(struct sample *sample);

/* Makes a packet like sample_tcp(), with metadata of NFQUEUE. */
void sample_queue(struct sample *sample);

void sample_alert(struct sample *sample);
void sample_drop(struct sample *sample);
void sample_reject(struct sample *sample);

/* Adds two alerts; the rule of the second one dropped the packet. */
void sample_second_drops(struct sample *sample);

#endif
