/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Formats records as events. An event is rendered as JSON once, for the event file and all further outputs that select
 * it; alerts and counters are rendered once more for each other format that an output has.
 */
#include <string.h>

#include "fast.h"
#include "state.h"

enum { CONSOLE_MAX_BYTES = 64 << 10 };

/* An event that is being formatted. `type` is the log_type of the protocol for OUTPUT_APP, `severity` the priority of
 * the rule for OUTPUT_ALERT. */
struct event_class {
    enum output_event kind;
    const char *type;
    uint8_t severity;
};

/* Returns the text to which an event is formatted as JSON, once for all outputs: the buffer of the event file if the
 * file gets the event, otherwise the text `line`. NULL: no output gets the event as JSON. */
static struct text *begin_event(struct output *output, struct event_class class)
{
    const struct output_filter *filter = &output->eve.options->eve_filter;

    if (has_sink(output) && output_filter_match(filter, class.kind, class.type, class.severity))
        return &output->sink.buffer;
    if (!(output_destinations(output)->eve_kinds & 1u << class.kind))
        return NULL;
    text_reset(&output->line);
    return &output->line;
}

/* Called after an event was formatted to `text`, which begin_event() returned: passes it to the further outputs, and
 * completes its line in the event file. If there is no event file, counts the event as written. */
static void end_event(struct output *output, struct event_class class, const struct text *text)
{
    bool to_file = text == &output->sink.buffer;
    size_t start = to_file && output->sink.mark_count > 0 ? output->sink.marks[output->sink.mark_count - 1].end : 0;

    if (text && output_destinations(output)->eve_kinds & 1u << class.kind) {
        const struct destination_event event = { .format = OUTPUT_EVE,
                                                 .kind = class.kind,
                                                 .type = class.type,
                                                 .severity = class.severity,
                                                 .failed = text->failed,
                                                 .line = text->bytes + start,
                                                 .length = text->length - start };

        destinations_add(output_destinations(output), &event);
    }
    if (!has_sink(output))
        counter_add(&output->counters.written[class.kind], 1);
    if (!to_file)
        return;
    sink_end_event(&output->sink, class.kind);
    if (sink_is_full(&output->sink))
        sink_flush(&output->sink);
}

/* Adds the text `line` as an event of a format other than JSON. */
static void add_line(struct output *output, enum output_format format, struct event_class class)
{
    const struct destination_event event = { .format = format,
                                             .kind = class.kind,
                                             .severity = class.severity,
                                             .failed = output->line.failed,
                                             .line = output->line.bytes,
                                             .length = output->line.length };

    destinations_add(output_destinations(output), &event);
}

void format_packet(struct output *output, const struct packet_record *record)
{
    /* Kinds of events that a packet has at most once and that are not shown on the terminal. */
    static const struct {
        enum output_event kind;
        void (*format)(struct eve *eve, struct text *out, const struct packet_record *record);
    } others[] = { { OUTPUT_PACKET, eve_tagged_packet },
                   { OUTPUT_METADATA, eve_packet_metadata },
                   { OUTPUT_STREAM, eve_stream },
                   { OUTPUT_IGMP, eve_igmp },
                   { OUTPUT_ARP, eve_arp } };
    const uint32_t kinds = record->kinds;
    const bool has_alerts = kinds & 1u << OUTPUT_ALERT;
    struct eve *eve = &output->eve;
    struct text *out;

    if (has_alerts && output->recent)
        recent_alerts_add(output->recent, record, output->options.queue_fields);
    for (uint32_t i = 0; has_alerts && eve->options->eve.enabled[OUTPUT_ALERT] && i < record->alert_count; i++) {
        const struct alert *alert = &record_alerts(record)[i];
        const struct event_class class = { .kind = OUTPUT_ALERT, .severity = alert->rule->priority };

        out = begin_event(output, class);
        if (out)
            eve_alert(eve, out, record, alert);
        end_event(output, class, out);
        if (output_destinations(output)->fast) {
            text_reset(&output->line);
            fast_alert(&output->line, record, alert);
            add_line(output, OUTPUT_FAST, class);
        }
    }
    if (kinds & (1u << OUTPUT_DROP | 1u << OUTPUT_WOULD_DROP)) {
        const struct event_class class = { .kind = kinds & 1u << OUTPUT_DROP ? OUTPUT_DROP : OUTPUT_WOULD_DROP };

        out = begin_event(output, class);
        if (out)
            eve_drop(eve, out, record);
        end_event(output, class, out);
    }
    for (unsigned i = 0; kinds & 1u << OUTPUT_ANOMALY && i < record->event_count; i++) {
        const struct event_class class = { .kind = OUTPUT_ANOMALY };

        out = begin_event(output, class);
        if (out)
            eve_anomaly(eve, out, record, record->event_list[i]);
        end_event(output, class, out);
    }
    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        const struct event_class class = { .kind = others[i].kind };

        if (!(kinds & 1u << others[i].kind))
            continue;
        out = begin_event(output, class);
        if (out)
            others[i].format(eve, out, record);
        end_event(output, class, out);
    }
    if (output->options.console) {
        console_packet(&output->console, output->eve.options, record);
        if (output->console.length > CONSOLE_MAX_BYTES)
            output_flush(output);
    }
}

void format_app(struct output *output, const struct packet_record *record)
{
    /* The record of a parser's anomaly has the kind OUTPUT_APP, but its event has the kind OUTPUT_ANOMALY. */
    bool is_anomaly = strcmp(record->app_event_type, "anomaly") == 0;
    const struct event_class class = { .kind = record->kinds & 1u << OUTPUT_FILE    ? OUTPUT_FILE
                                               : record->kinds & 1u << OUTPUT_FRAME ? OUTPUT_FRAME
                                               : is_anomaly                         ? OUTPUT_ANOMALY
                                                                                    : OUTPUT_APP,
                                       .type = record->app_event_type };
    struct text *out = begin_event(output, class);

    if (out)
        eve_app(&output->eve, out, record);
    end_event(output, class, out);
}

/* Formats flow and netflow events. They are recorded only if there is an event file or a further output. */
void format_flow(struct output *output, const struct flow_record *record)
{
    const struct event_class flow = { .kind = OUTPUT_FLOW }, netflow = { .kind = OUTPUT_NETFLOW };
    struct text *out = record->kinds & 1u << OUTPUT_FLOW ? begin_event(output, flow) : NULL;

    if (out)
        eve_flow(&output->eve, out, record);
    if (record->kinds & 1u << OUTPUT_FLOW)
        end_event(output, flow, out);
    for (int direction = 0; record->kinds & 1u << OUTPUT_NETFLOW && direction < FLOW_DIRECTIONS; direction++) {
        if (direction == FLOW_TO_CLIENT && record->flow.packets[FLOW_TO_CLIENT] == 0)
            continue;
        out = begin_event(output, netflow);
        if (out)
            eve_netflow(&output->eve, out, record, (enum flow_direction)direction);
        end_event(output, netflow, out);
    }
}

void format_firewall(struct output *output, const void *record)
{
    const struct event_class class = { .kind = OUTPUT_FIREWALL };
    struct text *out = begin_event(output, class);

    if (out)
        eve_firewall(&output->eve, out, record);
    end_event(output, class, out);
    if (output->options.console)
        console_firewall(&output->console, output->eve.options, record);
}

void format_engine(struct output *output, const void *record)
{
    const struct event_class class = { .kind = OUTPUT_ENGINE };
    struct text *out = begin_event(output, class);

    if (out)
        eve_engine(&output->eve, out, record);
    end_event(output, class, out);
    if (output->options.console)
        console_engine(&output->console, output->eve.options, record);
}

void format_overload(struct output *output, const void *record)
{
    const struct event_class class = { .kind = OUTPUT_OVERLOAD };
    struct text *out = begin_event(output, class);

    if (out)
        eve_overload(&output->eve, out, record);
    end_event(output, class, out);
    if (output->options.console)
        console_overload(&output->console, output->eve.options, record);
}

void format_stats(struct output *output, const struct stats_record *record)
{
    const struct event_class class = { .kind = OUTPUT_STATS };
    struct text *out = begin_event(output, class);

    if (out)
        eve_stats(&output->eve, out, record);
    end_event(output, class, out);
    if (output_destinations(output)->counters) {
        text_reset(&output->line);
        fast_counters(&output->line, record);
        add_line(output, OUTPUT_COUNTERS, class);
    }
    if (output->options.console && output->options.console_stats)
        console_stats(&output->console, record);
}
