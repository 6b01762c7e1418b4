/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flow table with packets made by hand, for tests: what ended is kept, and packets go from 10.0.0.1 to 10.0.0.2 and
 * back.
 */
#ifndef FLOW_FIXTURE_H
#define FLOW_FIXTURE_H

#include <check.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/flow.h"

static const uint64_t SECOND = 1000000000, START = UINT64_C(1700000000) * 1000000000;

enum { MAX_ENDS = 64 };

/* A table, and what ended in it. */
struct fixture {
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

static inline void on_end(struct flow *flow, enum flow_end reason, void *user)
{
    struct fixture *fixture = user;

    if (fixture->ended < MAX_ENDS) {
        fixture->ends[fixture->ended].reason = reason;
        fixture->ends[fixture->ended].state = (enum flow_state)flow->state;
        fixture->ends[fixture->ended].client_port = flow->client_port;
        fixture->ends[fixture->ended].server_port = flow->server_port;
        fixture->ends[fixture->ended].number = flow->first_number;
    }
    fixture->ended++;
}

static struct fixture fixture;

static inline void open_table(void)
{
    ck_assert_int_eq(flow_table_new(&fixture.table, &fixture.options, on_end, &fixture), 0);
}

static inline void setup(void)
{
    memset(&fixture, 0, sizeof(fixture));
    flow_options_default(&fixture.options);
    fixture.options.memcap = 4 << 20;
    fixture.options.seed = 42;
    open_table();
}

static inline void reopen(void)
{
    flow_table_free(fixture.table);
    open_table();
}

/* Room for a few hundred flows. */
static inline void open_small(void)
{
    fixture.options.memcap = 100000;
    reopen();
}

static inline void teardown(void)
{
    flow_table_free(fixture.table);
}

static inline uint64_t counter(const char *name)
{
    for (size_t i = 0; i < flow_counter_count(); i++) {
        if (strcmp(flow_counter_name(i), name) == 0)
            return flow_counter_value(fixture.table, i);
    }
    ck_abort_msg("no counter '%s'", name);
    return 0;
}

static const uint8_t header[64];

static inline struct packet packet_of(uint8_t protocol, uint32_t source, uint16_t source_port, uint32_t destination,
                                      uint16_t destination_port)
{
    struct packet pkt = {
        .length = 100,
        .time_ns = START,
        .number = 1,
        .ip_version = 4,
        .protocol = protocol,
        .ttl = 64,
        .source_port = source_port,
        .destination_port = destination_port,
        .transport = header,
        .transport_header_length = 8,
    };
    const uint32_t from = htonl(source), to = htonl(destination);

    memcpy(pkt.source_address.bytes, &from, 4);
    memcpy(pkt.destination_address.bytes, &to, 4);
    return pkt;
}

static const uint32_t CLIENT = 0x0a000001, SERVER = 0x0a000002;

static inline struct packet request(uint8_t protocol)
{
    return packet_of(protocol, CLIENT, 12345, SERVER, 80);
}

static inline struct packet answer(uint8_t protocol)
{
    return packet_of(protocol, SERVER, 80, CLIENT, 12345);
}

static inline struct packet icmp(uint8_t type, uint8_t code, uint32_t from, uint32_t to)
{
    struct packet pkt = packet_of(IPPROTO_ICMP, from, 0, to, 0);

    pkt.icmp.type = type;
    pkt.icmp.code = code;
    return pkt;
}

static inline struct flow *get(struct packet *pkt)
{
    enum exception_cause exception = EXCEPTION_COUNT;
    struct flow *flow = flow_table_get(fixture.table, pkt, &exception);

    ck_assert_int_eq(exception, EXCEPTION_NONE);
    return flow;
}

/* Gets and counts. */
static inline struct flow *see(struct packet *pkt)
{
    struct flow *flow = get(pkt);

    ck_assert_ptr_nonnull(flow);
    flow_update(fixture.table, flow, pkt);
    return flow;
}

static inline struct flow *see_at(struct packet pkt, uint64_t time_ns)
{
    pkt.time_ns = time_ns;
    return see(&pkt);
}

static inline bool to_client(const struct packet *pkt)
{
    return pkt->flags & PACKET_TO_CLIENT;
}

static inline uint32_t spread(const struct packet *pkt)
{
    return flow_packet_hash(pkt, 7, false);
}

static inline void add(Suite *suite, const char *name, const TTest *const *tests, size_t count)
{
    TCase *tcase = tcase_create(name);

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 100);
    for (size_t i = 0; i < count; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
}

static inline void add_loop(Suite *suite, const TTest *test, int count)
{
    TCase *tcase = tcase_create(test->name);

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 100);
    tcase_add_loop_test(tcase, test, 0, count);
    suite_add_tcase(suite, tcase);
}

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static inline int run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
