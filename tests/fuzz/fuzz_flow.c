/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The flow table. The input is a sequence of operations of four bytes on a table with room for few flows: packets
 * between few hosts and ports, time that goes forward and back, states, variables, expiry. The same operations run on a
 * simple list. The contract: a packet finds the flow that the list has, unless that has expired at the packet's time;
 * an established flow is evicted only if it is idle; the table stays within its memcap; its counters are correct; every
 * flow ends once. The input runs a second time with room for a handful of flows.
 *
 * An input that begins with 0xff is a packet, which is decoded and looked up, to test packets quoted in ICMP errors.
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "default_options.h"
#include "sluice/decode.h"
#include "sluice/flow.h"

#define MUST(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            abort();                                                                                                   \
    } while (0)

enum {
    MEMCAP = 60 * 1024,
    MEMCAP_TINY = 6 * 1024,
    MAX_ENTRIES = 256,
    STEP = 4,
    HOSTS = 4,
    PORTS = 16,
    BITS = 4,
    MAX_STEPS = 4000
};

static const uint64_t second = 1000000000;

struct entry {
    const struct flow *flow;
    uint32_t hosts[2];
    uint16_t ports[2];
    uint8_t protocol;
    uint64_t last_ns, number, packets;
    unsigned seen, bits;
    bool alive;
};

struct run {
    struct flow_table *table;
    struct entry entries[MAX_ENTRIES];
    uint64_t now, numbers, began, ended;
    size_t memcap;
    bool any_end; /* the table is shut down, so any flow may end */
};

static struct entry *entry_of(struct run *run, const struct flow *flow)
{
    for (size_t i = 0; i < MAX_ENTRIES; i++) {
        if (run->entries[i].alive && run->entries[i].flow == flow)
            return &run->entries[i];
    }
    return NULL;
}

/* Returns how long an established flow must be idle before it may be evicted: 10 s for TCP. */
static uint64_t idle_ns(const struct flow *flow)
{
    return flow->class == FLOW_CLASS_TCP && flow->state != FLOW_CLOSED ? UINT64_C(10000000000) : 0;
}

static void on_end(struct flow *flow, enum flow_end reason, void *user)
{
    struct run *run = user;
    struct entry *entry = entry_of(run, flow);

    MUST(entry && entry->number == flow->first_number);
    MUST(reason != FLOW_END_TIMEOUT || run->now > entry->last_ns);
    MUST(reason != FLOW_END_FORCED || flow->state == FLOW_NEW || run->now > entry->last_ns + idle_ns(flow));
    MUST(reason != FLOW_END_SHUTDOWN || run->any_end);
    MUST(flow->side[0].packets + flow->side[1].packets == entry->packets);
    entry->alive = false;
    run->ended++;
}

static struct entry *find(struct run *run, const uint32_t hosts[2], const uint16_t ports[2], uint8_t protocol,
                          bool *back)
{
    for (size_t i = 0; i < MAX_ENTRIES; i++) {
        struct entry *entry = &run->entries[i];

        if (!entry->alive || entry->protocol != protocol)
            continue;
        *back = false;
        if (entry->hosts[0] == hosts[0] && entry->hosts[1] == hosts[1] && entry->ports[0] == ports[0] &&
            entry->ports[1] == ports[1])
            return entry;
        *back = true;
        if (entry->hosts[0] == hosts[1] && entry->hosts[1] == hosts[0] && entry->ports[0] == ports[1] &&
            entry->ports[1] == ports[0])
            return entry;
    }
    return NULL;
}

static struct entry *new_entry(struct run *run)
{
    for (size_t i = 0; i < MAX_ENTRIES; i++) {
        if (!run->entries[i].alive)
            return &run->entries[i];
    }
    abort();
}

static uint64_t counter(const struct run *run, const char *name)
{
    for (size_t i = 0; i < flow_counter_count(); i++) {
        if (strcmp(flow_counter_name(i), name) == 0)
            return flow_counter_value(run->table, i);
    }
    abort();
}

static bool in_emergency(const struct run *run)
{
    return counter(run, "flow.emerg_mode_entered") > counter(run, "flow.emerg_mode_over");
}

static uint64_t timeout_of(const struct flow *flow)
{
    struct flow_options options;

    flow_options_default(&options);
    return options.timeouts[flow->class].seconds[flow->state] * second;
}

static void begin(struct run *run, struct flow *flow, const uint32_t hosts[2], const uint16_t ports[2])
{
    struct entry *entry = new_entry(run);

    MUST(flow->first_number == run->numbers && flow->state == FLOW_NEW && flow->start_ns == run->now);
    *entry = (struct entry){ .flow = flow,
                             .hosts = { hosts[0], hosts[1] },
                             .ports = { ports[0], ports[1] },
                             .protocol = flow->protocol,
                             .number = run->numbers,
                             .last_ns = run->now,
                             .alive = true };
    run->began++;
}

static void count(struct run *run, struct entry *entry, struct flow *flow, struct packet *pkt, bool back)
{
    MUST(((pkt->flags & PACKET_TO_CLIENT) != 0) == back);
    flow_update(run->table, flow, pkt);
    entry->packets++;
    entry->seen |= back ? 2 : 1;
    entry->last_ns = run->now > entry->last_ns ? run->now : entry->last_ns;
    MUST(flow->last_ns == entry->last_ns);
    if (flow->protocol == IPPROTO_UDP && entry->seen == 3)
        MUST(flow->state != FLOW_NEW && (flow->state == FLOW_BYPASSED || (pkt->flags & PACKET_ESTABLISHED)));
}

static struct flow *send_packet(struct run *run, const uint8_t *operation)
{
    static const uint8_t header[20];
    const uint32_t hosts[2] = { operation[1] % HOSTS, operation[1] / HOSTS % HOSTS };
    const uint16_t ports[2] = { operation[2] % PORTS, operation[2] / PORTS };
    uint8_t protocol = operation[1] & 0x80 ? IPPROTO_TCP : IPPROTO_UDP;
    struct packet pkt = {
        .length = 60, .time_ns = run->now, .number = ++run->numbers, .ip_version = 4, .protocol = protocol
    };
    enum exception_cause exception = EXCEPTION_COUNT;
    bool back = false;

    pkt.transport = header;
    pkt.transport_header_length = sizeof(header);
    pkt.source_port = ports[0];
    pkt.destination_port = ports[1];
    memcpy(pkt.source_address.bytes, &hosts[0], 4);
    memcpy(pkt.destination_address.bytes, &hosts[1], 4);
    struct entry *entry = find(run, hosts, ports, protocol, &back);
    uint64_t idle = entry && run->now > entry->last_ns ? run->now - entry->last_ns : 0;
    bool must_stay = entry && !in_emergency(run) && idle <= timeout_of(entry->flow);
    bool must_go = entry && idle > timeout_of(entry->flow);
    uint64_t number = entry ? entry->number : 0;
    flow_table_prefetch(run->table, &pkt);
    struct flow *flow = flow_table_get(run->table, &pkt, &exception);

    MUST(exception == (flow ? EXCEPTION_NONE : EXCEPTION_FLOW_MEMCAP));
    MUST(!must_stay || (flow && flow->first_number == number));
    if (!flow)
        return NULL;
    MUST(!must_go || flow->first_number == run->numbers);
    if (flow->first_number == run->numbers) {
        begin(run, flow, hosts, ports);
        back = false;
    }
    entry = entry_of(run, flow);
    MUST(entry);
    count(run, entry, flow, &pkt, back);
    return flow;
}

static void use_bits(struct run *run, struct flow *flow, uint8_t choice)
{
    struct entry *entry = entry_of(run, flow);
    unsigned bit = choice % BITS, mask = 1u << bit;

    if (choice & 0x40) {
        flow_bit_clear(run->table, flow, bit);
        entry->bits &= ~mask;
    } else if (flow_bit_set(run->table, flow, bit)) {
        entry->bits |= mask;
    }
    for (unsigned i = 0; i < BITS; i++)
        MUST(flow_bit_is_set(flow, i) == ((entry->bits >> i & 1) != 0));
}

static void act(struct run *run, const uint8_t *operation)
{
    struct flow *flow;

    switch (operation[0] % 8) {
    case 4:
        run->now += operation[3] * second;
        MUST(flow_table_expire(run->table, run->now, operation[1]) <= operation[1]);
        break;
    case 5:
        run->now -= operation[3] * second / 8;
        break;
    case 6:
        flow = send_packet(run, operation);
        if (flow)
            flow_set_state(run->table, flow, (enum flow_state)(operation[3] % FLOW_STATE_COUNT));
        break;
    case 7:
        flow = send_packet(run, operation);
        if (flow)
            use_bits(run, flow, operation[3]);
        break;
    default:
        run->now += operation[3] * second / 256;
        send_packet(run, operation);
        break;
    }
}

/* Decodes a packet and gets its flow twice, which must be the same. */
static void look_up_packet(struct run *run, const uint8_t *data, size_t size)
{
    struct decode_options options;
    struct decoder *decoder;
    struct packet *found[DECODE_MAX_PACKETS];
    struct packet pkt = { .data = data, .length = (uint32_t)size, .wire_length = (uint32_t)size, .link = LINK_RAW };
    enum exception_cause exception;

    decode_options_default(&options);
    MUST(decoder_new(&decoder, &options) == 0);
    size_t packets = decode_packet(decoder, &pkt, found);

    for (size_t i = 0; i < packets; i++) {
        found[i]->time_ns = run->now;
        found[i]->number = ++run->numbers;
        struct flow *flow = flow_table_get(run->table, found[i], &exception);

        (void)flow_packet_hash(found[i], 1, true);
        if (!flow)
            continue;
        MUST(found[i]->transport);
        flow_update(run->table, flow, found[i]);
        MUST(flow_table_get(run->table, found[i], &exception) == flow);
    }
    decoder_free(decoder);
}

static void check(const struct run *run)
{
    uint64_t alive = 0;

    for (size_t i = 0; i < MAX_ENTRIES; i++)
        alive += run->entries[i].alive;
    MUST(counter(run, "flow.active") == alive && counter(run, "flow.total") == run->began);
    MUST(counter(run, "flow.memuse") <= run->memcap);
}

static struct flow_table *open_table(flow_end_function *end, struct run *run)
{
    struct flow_options options;
    struct flow_table *table;

    flow_options_default(&options);
    options.memcap = run->memcap;
    MUST(flow_table_new(&table, &options, end, run) == 0);
    return table;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run_with(size_t memcap, const uint8_t *data, size_t size)
{
    struct run run = { .now = UINT64_C(1700000000) * 1000000000, .memcap = memcap };

    if (data[0] == 0xff) {
        run.table = open_table(NULL, &run);
        look_up_packet(&run, data + 1, size - 1 > UINT16_MAX ? UINT16_MAX : size - 1);
        flow_table_free(run.table);
        return;
    }
    run.table = open_table(on_end, &run);
    for (size_t i = 0; i + STEP <= size && i < (size_t)STEP * MAX_STEPS; i += STEP)
        act(&run, data + i);
    check(&run);
    run.any_end = true;
    flow_table_end_all(run.table, FLOW_END_SHUTDOWN);
    MUST(run.ended == run.began && counter(&run, "flow.active") == 0);
    check(&run);
    flow_table_free(run.table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    run_with(MEMCAP, data, size);
    run_with(MEMCAP_TINY, data, size);
    return 0;
}
