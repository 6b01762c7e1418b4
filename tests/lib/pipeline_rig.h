/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A whole pipeline with rules for tests, which inspects TCP segments between 10.0.0.1 (client, port 40000) and 10.0.0.2
 * (server, port 80). Stream offset 0 is the first byte after the SYN. Functions that send a packet return the sids of
 * the rules that matched, such as "1 7".
 */
#ifndef PIPELINE_RIG_H
#define PIPELINE_RIG_H

#include <check.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/decode.h"
#include "sluice/defrag.h"
#include "sluice/detect.h"
#include "sluice/flow.h"
#include "sluice/output.h"
#include "sluice/packet.h"
#include "sluice/pipeline.h"
#include "sluice/policy.h"
#include "sluice/stream.h"
#include "sluice/keyword.h"

#define RIG_SECOND UINT64_C(1000000000)

enum { RIG_CLIENT, RIG_SERVER, RIG_CLIENT_ISN = 1000, RIG_SERVER_ISN = 0x7ffffff0, RIG_HEADERS = 40 };

struct rig {
    struct pipeline_options options;
    struct pipeline_shared shared;
    struct pipeline pipeline;
    struct output *output;
    const char *eve_path; /* NULL: no events */
    struct keyword_table *keywords;
    struct rule_variables *variables;
    struct rule_names *names;        /* NULL: each ruleset has its own */
    const char *const *applications; /* protocol names that rules may use; NULL: none */
    const char *firewall; /* firewall rules, with the default policies drop:packet and drop:flow; NULL: none */
    struct ruleset *ruleset;
    struct packet packet;              /* the last packet */
    struct packet_conntrack conntrack; /* for later packets */
    uint8_t bytes[70000];
    uint32_t next[2]; /* offset of the next byte of each side */
    uint16_t client_port;
    uint64_t time_ns, number;
};

extern struct rig rig;

void rig_setup(void);
void rig_passive(void);

/* Compiles rules as a replacement of the rules in use, if there are any. */
struct ruleset *rig_make_rules(const char *text);

/* Reloads the rules as a worker does between two batches. */
void rig_reload(const char *text);

void rig_open(const char *rules);

/* Ends all flows; returns the number of alerts at their ends. */
uint64_t rig_finish(void);

void rig_close(void);

/* --- Packets -------------------------------------------------------------------------------------- */

void rig_put16(uint8_t *at, uint32_t value);
void rig_put_ip(int from, uint8_t protocol, size_t length);

/* Inspects a packet. rig_hits() returns the number of hits of its last detect_finish(), and sets *out to them; they are
 * valid until the next packet. The linker lets the pipeline call a detect_finish() that records them (--wrap, in
 * tests/CMakeLists.txt). */
void rig_inspect(struct packet *pkt);
size_t rig_hits(const struct hit **out);

/* Inspects the packet in the first `length` bytes of rig.bytes. */
const char *rig_judge(size_t length);

/* Sends a segment with data at a stream offset; -1 is the SYN. It acknowledges the in-order data of the other side. */
const char *rig_segment(int from, uint8_t flags, int64_t offset, const void *data, size_t length);

void rig_handshake(void);

/* Sends text at a stream offset. */
const char *rig_send_at(int from, int64_t offset, const char *text);

const char *rig_send_bytes(int from, const void *bytes, size_t length);
const char *rig_send(int from, const char *text);

/* Sends an ACK for the in-order data of the other side. */
const char *rig_acknowledge(int from);

const char *rig_send_filler(int from, size_t length);
int rig_run(TCase *tcase, const char *name);

#endif
