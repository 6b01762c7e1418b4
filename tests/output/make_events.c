/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes every kind of event with every set of options to the file named, for schema.py. */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "default_options.h"
#include "event_samples.h"
#include "sluice/counter.h"
#include "sluice/output.h"
#include "stream_double.h"

typedef void (*sample_function)(struct sample *sample);

static const sample_function packets[] = {
    sample_tcp, sample_icmp, sample_udp6, sample_arp, sample_tunnel, sample_queue
};
/* A packet that alert-only lets pass, and that mode drop drops. */
static void sample_would_drop(struct sample *sample)
{
    sample_alert(sample);
    sample->alerts[0].would_drop = true;
    sample->packet.would_drop = DROP_REASON_RULES;
    sample->decision.would_drop_rule = &sample->rule;
    sample->flow.would_drop = FLOW_WOULD_DROP_BY_MODE;
}

static const sample_function decisions[] = { sample_alert, sample_drop, sample_reject, sample_would_drop };

static void all_options(struct eve_options *eve)
{
    eve->ethernet = eve->community_id = eve->pcap_file = true;
    eve->pcap_file_name = "x.pcap";
    eve->alert.payload = eve->alert.payload_printable = eve->alert.payload_length = eve->alert.packet = true;
    eve->alert.verdict = eve->alert.reference = eve->alert.rule_raw = true;
    eve->drop.verdict = true;
    eve->anomaly.packet_header = eve->anomaly.stream = true;
    eve->enabled[OUTPUT_NETFLOW] = true;
}

/* Data that all samples share: names, the table that owns flow variables, and a TCP session with every field set. */
struct tools {
    struct rule_names *names;
    struct flow_table *flows;
    struct sample_session session;
    struct flow_kernel_counts kernel;
};

static void forget_flow(struct flow *flow, enum flow_end reason, void *user)
{
    (void)flow;
    (void)reason;
    (void)user;
}

static int make_tools(struct tools *tools)
{
    struct flow_options options;

    flow_options_default(&options);
    options.memcap = 1 << 22;
    tools->names = rule_names_new();
    tools->kernel = (struct flow_kernel_counts){ .packets = { 1000, 2000 }, .bytes = { 100000, 200000 } };
    tools->session = (struct sample_session){
        .summary = { .state = TCP_STATE_LAST_ACK,
                     .flags = { 0xff, TCP_SYN },
                     .has_gap = { true, true },
                     .max_regions = { 1, 2 },
                     .urgent_oob = { 1, 2 } },
        .bytes = { "to the server", "to the client" },
        .gaps = { { 3, 10 } },
        .gap_count = 1,
    };
    return tools->names ? flow_table_new(&tools->flows, &options, forget_flow, NULL) : -1;
}

static void set_variables(struct tools *tools, struct flow *flow)
{
    static const char *const bits[] = { "a.bit", "traffic/id/x", "traffic/label/y" };

    for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
        flow_bit_set(tools->flows, flow, rule_names_number(tools->names, RULE_NAME_FLOWBIT, span_of(bits[i])));
    flow_integer_set(tools->flows, flow, rule_names_number(tools->names, RULE_NAME_FLOWINT, span_of("count")), 5);
}

/* Adds a flow to a sample. States, flags and exceptions vary with the number of the sample. */
static void add_flow(struct tools *tools, struct sample *sample, int number)
{
    struct flow *flow = &sample->flow;

    if (number % 2 == 0)
        sample_flow(sample);
    else
        sample_answered_flow(sample);
    flow->state = (uint8_t)(number % FLOW_STATE_COUNT);
    flow->flags = (uint16_t)(number % (FLOW_ACCEPTED_BY_EXCEPTION << 1));
    flow->emergency = number % 3 == 0;
    if (flow->state == FLOW_BYPASSED) {
        flow->kernel = &tools->kernel;
        flow->offload = OFFLOAD_ACCEPT;
    }
    for (int cause = 1; cause < EXCEPTION_COUNT; cause++)
        flow->exceptions[cause] = (uint8_t)((number + cause) % (EXCEPTION_POLICY_COUNT + 1));
    if (number % 3 > 0)
        set_variables(tools, flow);
    if (flow->protocol == IPPROTO_TCP && number % 3 < 2)
        flow->tcp = (struct tcp_session *)&tools->session;
    sample->alerts[0].in_stream = flow->protocol == IPPROTO_TCP;
    sample->decision.stream = (const struct stream *)tools; /* not NULL; the functions of stream_double.c ignore it */
    sample->decision.tagged = true;
    packet_add_event(&sample->packet, STREAM_EVENT_FIRST);
}

/* Writes every counter that the program has. A pattern stands for a counter of queue or output 0; those that end with
 * any text are left out. */
static void write_stats(struct output *output)
{
    enum { COUNTERS_MAX = 1024, NAME_SIZE = 128 };
    static struct output_stat stats[COUNTERS_MAX];
    static char names[COUNTERS_MAX][NAME_SIZE];
    size_t count = 0;

    for (const struct counter *row = counter_table; row->name && count < COUNTERS_MAX; row++) {
        size_t length = strlen(row->name);

        if (length >= NAME_SIZE || row->name[length - 1] == '*' || strcmp(row->name, "uptime") == 0)
            continue;
        if (strncmp(row->name, "detect.engines.", 15) == 0) { /* an array with one element */
            snprintf(names[count], NAME_SIZE, "detect.engines[0].%s", row->name + 15);
        } else {
            for (size_t i = 0; i <= length; i++)
                names[count][i] = row->name[i] == '*' ? '0' : row->name[i];
        }
        stats[count] = (struct output_stat){ names[count], count };
        count++;
    }
    output_stats(output, stats, count, 10, SAMPLE_TIME_NS);
}

/* Writes each event that is not about packets. */
static void write_reports(struct output *output)
{
    for (int action = 0; action < OUTPUT_ENGINE_ACTIONS; action++) {
        const struct output_engine event = {
            .time_ns = SAMPLE_TIME_NS,
            .number = action < OUTPUT_ENGINE_RULES_LEFT_OUT ? (uint64_t)action + 1 : 0,
            .action = (enum output_engine_action)action,
            .signal = 11,
            .length = 66,
            .path = "/etc/\"sluice\"/a.rules",
            .line = 7,
            .gid = 1,
            .sid = 1007,
            .kind = "mistake",
            .reason = "'sid' needs a number, got \"abc\"\n",
            .mode = "alert-only",
            .cause = "command",
            .until_ns = SAMPLE_TIME_NS,
        };

        output_engine(output, &event);
    }
    for (int action = 0; action < OUTPUT_FIREWALL_ACTIONS; action++) {
        const struct output_firewall event = {
            .time_ns = SAMPLE_TIME_NS,
            .action = (enum output_firewall_action)action,
            .table = "sluice",
            .damage = 3,
            .has_duration = true,
            .lost = true,
            .process = "nft",
            .pid = 5,
            .intruder = { .found = true, .family = "inet", .table = "x", .chain = "y", .hook = "forward" },
            .host = { { 10, 1, 0, 2 } },
            .host_version = 4,
            .host_seconds = 60,
            .gid = 1,
            .sid = 7,
            .error = "no memory",
            .generation = 3,
        };

        output_firewall(output, &event);
    }
    for (int action = 0; action < OUTPUT_OVERLOAD_ACTIONS; action++) {
        const struct output_overload event = {
            .time_ns = SAMPLE_TIME_NS,
            .action = (enum output_overload_action)action,
            .has_queue = true,
            .class_count = 1,
            .classes = { { .name = "encrypted", .shed = true, .flows = 2 } },
            .rule_count = 1,
            .rules = { { .gid = 1, .sid = 7, .seconds = 5 } },
            .setting = "flow.memcap",
        };

        output_overload(output, &event);
    }
}

enum {
    PACKETS = sizeof(packets) / sizeof(packets[0]),
    DECISIONS = sizeof(decisions) / sizeof(decisions[0]),
    TARGETS = TARGET_DESTINATION + 1,
    SAMPLES = 2 * PACKETS * DECISIONS * TARGETS, /* without and with a flow */
};

/* The output uses the rule until it has formatted the event in its own thread, so each event has its own sample. */
static void write_packets(struct output *output, struct tools *tools, struct sample *samples)
{
    struct output_port *port = output_port(output, 0);

    for (int i = 0; i < SAMPLES; i++) {
        struct sample *sample = &samples[i];

        packets[i / (DECISIONS * TARGETS) % PACKETS](sample);
        decisions[i / TARGETS % DECISIONS](sample);
        sample->rule.target = (enum target)(i % TARGETS);
        if (i >= SAMPLES / 2 && sample->packet.ip_version != 0)
            add_flow(tools, sample, i);
        output_packet(port, &sample->packet, &sample->decision, 1);
        if (sample->packet.flow)
            output_flow(port, &sample->flow, (enum flow_end)(i % (FLOW_END_REUSED + 1)), 1);
    }
}

int main(int argc, char **argv)
{
    struct sample *samples = calloc(SAMPLES, sizeof(*samples));
    struct tools tools = { 0 };
    char error[256];

    if (argc != 2 || !samples || make_tools(&tools))
        return EXIT_FAILURE;
    for (int run = 0; run < 4; run++) {
        struct output_options options;
        struct output *output;

        output_options_default(&options);
        options.eve_path = argv[1];
        options.eve_truncate = run == 0;
        options.queue_fields = run & 1;
        options.names = tools.names;
        options.eve.anomaly.decode = true;
        if (run & 2)
            all_options(&options.eve);
        if (output_open(&output, &options, 1, error)) {
            fprintf(stderr, "%s\n", error);
            return EXIT_FAILURE;
        }
        write_packets(output, &tools, samples);
        write_stats(output);
        write_reports(output);
        output_stop(output);
        output_close(output);
    }
    flow_table_free(tools.flows);
    rule_names_free(tools.names);
    free(samples);
    return EXIT_SUCCESS;
}
