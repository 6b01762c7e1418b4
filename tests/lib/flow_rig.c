/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See flow_rig.h. */
#include "default_options.h"
#include "flow_rig.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

struct flow_rig flow_rig;

static void on_end(struct flow *flow, enum flow_end reason, void *user)
{
    struct flow_rig *rig = user;

    if (rig->ended < MAX_ENDS) {
        rig->ends[rig->ended].reason = reason;
        rig->ends[rig->ended].state = (enum flow_state)flow->state;
        rig->ends[rig->ended].client_port = flow->client_port;
        rig->ends[rig->ended].server_port = flow->server_port;
        rig->ends[rig->ended].number = flow->first_number;
    }
    rig->ended++;
}

static void open_table(void)
{
    ck_assert_int_eq(flow_table_new(&flow_rig.table, &flow_rig.options, on_end, &flow_rig), 0);
}

void flow_rig_setup(void)
{
    memset(&flow_rig, 0, sizeof(flow_rig));
    flow_options_default(&flow_rig.options);
    flow_rig.options.memcap = 4 << 20;
    flow_rig.options.seed = 42;
    open_table();
}

void flow_rig_reopen(void)
{
    flow_table_free(flow_rig.table);
    open_table();
}

void flow_rig_open_small(void)
{
    flow_rig.options.memcap = 100000;
    flow_rig_reopen();
}

void flow_rig_teardown(void)
{
    flow_table_free(flow_rig.table);
}

uint64_t flow_rig_counter(const char *name)
{
    for (size_t i = 0; i < flow_counter_count(); i++) {
        if (strcmp(flow_counter_name(i), name) == 0)
            return flow_counter_value(flow_rig.table, i);
    }
    ck_abort_msg("no counter '%s'", name);
    return 0;
}

static const uint8_t header[64];

struct packet flow_rig_packet(uint8_t protocol, uint32_t source, uint16_t source_port, uint32_t destination,
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

struct packet flow_rig_request(uint8_t protocol)
{
    return flow_rig_packet(protocol, CLIENT, 12345, SERVER, 80);
}

struct packet flow_rig_answer(uint8_t protocol)
{
    return flow_rig_packet(protocol, SERVER, 80, CLIENT, 12345);
}

struct packet flow_rig_icmp(uint8_t type, uint8_t code, uint32_t from, uint32_t to)
{
    struct packet pkt = flow_rig_packet(IPPROTO_ICMP, from, 0, to, 0);

    pkt.icmp.type = type;
    pkt.icmp.code = code;
    return pkt;
}

struct flow *flow_rig_get(struct packet *pkt)
{
    enum exception_cause exception = EXCEPTION_COUNT;
    struct flow *flow = flow_table_get(flow_rig.table, pkt, &exception);

    ck_assert_int_eq(exception, EXCEPTION_NONE);
    return flow;
}

struct flow *flow_rig_see(struct packet *pkt)
{
    struct flow *flow = flow_rig_get(pkt);

    ck_assert_ptr_nonnull(flow);
    flow_update(flow_rig.table, flow, pkt);
    return flow;
}

struct flow *flow_rig_see_at(struct packet pkt, uint64_t time_ns)
{
    pkt.time_ns = time_ns;
    return flow_rig_see(&pkt);
}

bool flow_rig_to_client(const struct packet *pkt)
{
    return pkt->flags & PACKET_TO_CLIENT;
}

uint32_t flow_rig_spread(const struct packet *pkt)
{
    return flow_packet_hash(pkt, 7, false);
}

void flow_rig_add_tests(Suite *suite, const char *name, const TTest *const *tests, size_t count)
{
    TCase *tcase = tcase_create(name);

    tcase_add_checked_fixture(tcase, flow_rig_setup, flow_rig_teardown);
    tcase_set_timeout(tcase, 100);
    for (size_t i = 0; i < count; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
}

void flow_rig_add_loop(Suite *suite, const TTest *test, int count)
{
    TCase *tcase = tcase_create(test->name);

    tcase_add_checked_fixture(tcase, flow_rig_setup, flow_rig_teardown);
    tcase_set_timeout(tcase, 100);
    tcase_add_loop_test(tcase, test, 0, count);
    suite_add_tcase(suite, tcase);
}

int flow_rig_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
