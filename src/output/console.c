/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events on the terminal, one line each, in local time:
 *
 *     12:00:01.123456 DROP  [1:9000001:1] Log4Shell {TCP} 10.1.0.2:41234 -> 10.2.0.2:80 (queue 0, rules)
 *
 * Control characters in messages of rules are escaped. A rule that drops a packet has a DROP line and no ALERT line.
 */
#include <string.h>
#include <time.h>

#include "output_priv.h"
#include "sluice/clock.h"
#include "sluice/decode_event.h"
#include "sluice/stream_event.h"

enum { DETAIL_SIZE = 64 };
enum colour { COLOUR_RED, COLOUR_YELLOW, COLOUR_DIM };

static const char *const colours[] = {
    [COLOUR_RED] = "\033[31m", [COLOUR_YELLOW] = "\033[33m", [COLOUR_DIM] = "\033[2m"
};

static void begin_line(struct text *out, const struct output_options *options, uint64_t time_ns, enum colour colour,
                       const char *word)
{
    time_t seconds = (time_t)(time_ns / NS_PER_SECOND);
    char clock[16];
    struct tm local;

    localtime_r(&seconds, &local);
    strftime(clock, sizeof(clock), "%H:%M:%S", &local);
    text_printf(out, "%s%s.%06u %-5s ", options->console_colour ? colours[colour] : "", clock,
                (unsigned)(time_ns % NS_PER_SECOND / 1000), word);
}

static void end_line(struct text *out, const struct output_options *options)
{
    text_puts(out, options->console_colour ? "\033[0m\n" : "\n");
}

static void rule_part(struct text *out, const struct rule *rule)
{
    text_printf(out, "[%u:%u:%u] ", rule->gid, rule->sid, rule->revision);
    if (!rule->message)
        return;
    text_printable(out, rule->message, strlen(rule->message));
    text_puts(out, " ");
}

static void endpoint(struct text *out, const struct address *address, const struct endpoints *ends, uint16_t port)
{
    bool has_port = protocol_has_ports(ends->protocol);
    char text[ADDRESS_TEXT_SIZE];

    address_format(address, ends->ip_version, false, text);
    if (!has_port)
        text_puts(out, text);
    else
        text_printf(out, ends->ip_version == 6 ? "[%s]:%u" : "%s:%u", text, port);
}

static void endpoints(struct text *out, const struct endpoints *ends)
{
    const char *name = protocol_name(ends->protocol);

    if (ends->ip_version == 0)
        return;
    if (name)
        text_printf(out, "{%s} ", name);
    else
        text_printf(out, "{%u} ", ends->protocol);
    endpoint(out, &ends->source, ends, ends->source_port);
    text_puts(out, " -> ");
    endpoint(out, &ends->destination, ends, ends->destination_port);
    text_puts(out, " ");
}

static void place(struct text *out, const struct output_options *options, const struct packet_record *record,
                  const char *detail)
{
    if (options->queue_fields)
        text_printf(out, "(%s %u", options->ring_fields ? "ring" : "queue", record->meta.queue);
    else
        text_printf(out, "(packet %llu", (unsigned long long)record->number);
    if (detail)
        text_printf(out, ", %s", detail);
    text_puts(out, ")");
}

void console_packet(struct text *out, const struct output_options *options, const struct packet_record *record)
{
    const struct alert *alerts = record_alerts(record);
    bool dropped = record->kinds & (1u << OUTPUT_DROP | 1u << OUTPUT_WOULD_DROP);

    for (uint32_t i = 0;
         record->kinds & 1u << OUTPUT_ALERT && options->eve.enabled[OUTPUT_ALERT] && i < record->alert_count; i++) {
        if (dropped && alerts[i].rule == record->drop_rule)
            continue;
        begin_line(out, options, record->time_ns, COLOUR_YELLOW, "ALERT");
        rule_part(out, alerts[i].rule);
        endpoints(out, &record->endpoints);
        place(out, options, record, alerts[i].blocked ? "blocked" : NULL);
        end_line(out, options);
    }
    if (dropped) {
        const char *reason = output_drop_reason_name((enum drop_reason)record->drop_reason);
        char detail[DETAIL_SIZE];

        begin_line(out, options, record->time_ns, COLOUR_RED,
                   record->kinds & 1u << OUTPUT_WOULD_DROP ? "WOULD DROP"
                   : record->reject != REJECT_NONE         ? "REJECT"
                                                           : "DROP");
        if (record->drop_rule)
            rule_part(out, record->drop_rule);
        endpoints(out, &record->endpoints);
        if (record->drop_reason == DROP_REASON_FLOW && record->flow_drop_sid != 0)
            snprintf(detail, sizeof(detail), "%s, by %u:%u", reason, record->flow_drop_gid, record->flow_drop_sid);
        else
            snprintf(detail, sizeof(detail), "%s", reason);
        place(out, options, record, detail);
        end_line(out, options);
    }
    for (unsigned i = 0; record->kinds & 1u << OUTPUT_ANOMALY && i < record->event_count; i++) {
        unsigned event = record->event_list[i];

        begin_line(out, options, record->time_ns, COLOUR_DIM, "ANOMALY");
        if (event < DECODE_EVENT_COUNT)
            text_printf(out, "decoder.%s ", decode_event_name((enum decode_event)event));
        else
            text_printf(out, "stream.%s ", stream_event_name((enum stream_event)event));
        endpoints(out, &record->endpoints);
        place(out, options, record, NULL);
        end_line(out, options);
    }
}

void console_firewall(struct text *out, const struct output_options *options, const struct output_firewall *event)
{
    char host[ADDRESS_TEXT_SIZE];

    begin_line(out, options, event->time_ns, event->action == OUTPUT_FIREWALL_BLOCKED ? COLOUR_DIM : COLOUR_RED,
               "FIREWALL");
    text_printf(out, "table %s %s", event->table, output_firewall_action_name(event->action));
    switch (event->action) {
    case OUTPUT_FIREWALL_FLUSHED:
        text_printf(out, ": %llu packets", (unsigned long long)event->packets);
        break;
    case OUTPUT_FIREWALL_MISPLACED:
    case OUTPUT_FIREWALL_MOVED:
        text_printf(out, ": %s %s %s at priority %d", event->intruder.family, event->intruder.table,
                    event->intruder.chain, (int)event->intruder.priority);
        break;
    case OUTPUT_FIREWALL_BLOCKED:
        address_format(&event->host, event->host_version, false, host);
        text_printf(out, ": %s for %llu s by %u:%u", host, (unsigned long long)event->host_seconds, event->gid,
                    event->sid);
        break;
    case OUTPUT_FIREWALL_FAILED:
        text_puts(out, ": ");
        text_printable(out, event->error, strlen(event->error));
        break;
    default:
        break;
    }
    if (event->has_duration)
        text_printf(out, " after %.3f ms", (double)event->duration_ns / 1e6);
    if (event->process[0]) {
        text_puts(out, " (by ");
        text_printable(out, event->process, strlen(event->process));
        text_printf(out, ", process %u)", event->pid);
    }
    end_line(out, options);
}

void console_engine(struct text *out, const struct output_options *options, const struct output_engine *event)
{
    if (event->action == OUTPUT_ENGINE_RULE_LEFT_OUT)
        return; /* not printed: the rule was printed with its text when the rules were loaded */
    begin_line(out, options, event->time_ns, COLOUR_RED, "ENGINE");
    engine_message(out, event);
    end_line(out, options);
}

void console_overload(struct text *out, const struct output_options *options, const struct output_overload *event)
{
    bool good = event->action == OUTPUT_OVERLOAD_LEFT || event->action == OUTPUT_OVERLOAD_RESUMED;

    begin_line(out, options, event->time_ns, good ? COLOUR_DIM : COLOUR_RED, "OVERLOAD");
    text_puts(out, output_overload_action_name(event->action));
    if (event->has_queue)
        text_printf(out, " queue %u", (unsigned)event->queue);
    for (unsigned i = 0; i < event->class_count; i++)
        text_printf(out, ", %llu %s", (unsigned long long)event->classes[i].flows, event->classes[i].name);
    if (event->action == OUTPUT_OVERLOAD_LOST)
        text_printf(out, ": %llu packets",
                    (unsigned long long)(event->queue_dropped + event->user_dropped + event->missing));
    for (unsigned i = 0; i < event->rule_count; i++)
        text_printf(out, " %u:%u", event->rules[i].gid, event->rules[i].sid);
    end_line(out, options);
}

void console_stats(struct text *out, const struct stats_record *record)
{
    const struct output_stat *stats = record_stats(record);
    time_t seconds = (time_t)(record->time_ns / NS_PER_SECOND);
    char clock[16];
    struct tm local;

    localtime_r(&seconds, &local);
    strftime(clock, sizeof(clock), "%H:%M:%S", &local);
    text_printf(out, "%s.%06u STATS up %llu s", clock, (unsigned)(record->time_ns % NS_PER_SECOND / 1000),
                (unsigned long long)record->uptime_seconds);
    for (size_t i = 0; i < record->count; i++)
        if (stats[i].value != 0)
            text_printf(out, " %s=%llu", stats[i].name, (unsigned long long)stats[i].value);
    text_puts(out, "\n");
}
