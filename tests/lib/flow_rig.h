/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flow table for tests, with packets between 10.0.0.1 (client) and 10.0.0.2 (server). Ended flows are recorded.
 */
#ifndef FLOW_RIG_H
#define FLOW_RIG_H

#include <check.h>
#include <stdint.h>

#include "sluice/flow.h"

static const uint64_t SECOND = 1000000000, START = UINT64_C(1700000000) * 1000000000;

enum { MAX_ENDS = 64 };

/* A table, and the flows that have ended. */
struct flow_rig {
    struct flow_table *table;
    struct flow_options options;
    size_t ended;
    struct {
        enum flow_end reason;
        enum flow_state state;
        uint16_t client_port, server_port;
        uint64_t number;
    } ends[MAX_ENDS];
};

extern struct flow_rig flow_rig;

void flow_rig_setup(void);
void flow_rig_reopen(void);

/* Opens the table with room for a few hundred flows. */
void flow_rig_open_small(void);

void flow_rig_teardown(void);
uint64_t flow_rig_counter(const char *name);

struct packet flow_rig_packet(uint8_t protocol, uint32_t source, uint16_t source_port, uint32_t destination,
                              uint16_t destination_port);

static const uint32_t CLIENT = 0x0a000001, SERVER = 0x0a000002;

struct packet flow_rig_request(uint8_t protocol);
struct packet flow_rig_answer(uint8_t protocol);
struct packet flow_rig_icmp(uint8_t type, uint8_t code, uint32_t from, uint32_t to);
struct flow *flow_rig_get(struct packet *pkt);

/* Gets the flow of a packet, and counts the packet. */
struct flow *flow_rig_see(struct packet *pkt);

struct flow *flow_rig_see_at(struct packet pkt, uint64_t time_ns);
bool flow_rig_to_client(const struct packet *pkt);
uint32_t flow_rig_spread(const struct packet *pkt);
void flow_rig_add_tests(Suite *suite, const char *name, const TTest *const *tests, size_t count);
void flow_rig_add_loop(Suite *suite, const TTest *test, int count);

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

int flow_rig_run(Suite *suite);

#endif
