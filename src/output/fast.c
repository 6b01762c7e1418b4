/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines in the formats of Suricata's fast.log and stats.log (docs.suricata.io, "Line based alerts log" and "Stats"):
 *
 *     11/27/2026-10:00:00.123456  [Drop] [**] [1:9000001:1] Log4Shell [**] [Classification: Attempted Admin]
 *     [Priority: 1] {TCP} 10.1.0.2:41234 -> 10.2.0.2:80
 *
 * in one line and in local time. ICMP has type and code in place of the ports, other protocols without ports have 0.
 * Control characters in messages of rules are escaped.
 */
#include "fast.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "output_priv.h"
#include "sluice/clock.h"

static void put_time(struct text *out, const char *format, uint64_t time_ns)
{
    time_t seconds = (time_t)(time_ns / NS_PER_SECOND);
    char clock[64];
    struct tm local;

    localtime_r(&seconds, &local);
    strftime(clock, sizeof(clock), format, &local);
    text_puts(out, clock);
}

void fast_alert(struct text *out, const struct packet_record *record, const struct alert *alert)
{
    const struct endpoints *ends = &record->endpoints;
    const struct rule *rule = alert->rule;
    const char *protocol = protocol_name(ends->protocol);
    bool has_ports = protocol_has_ports(ends->protocol);
    bool is_icmp = record->has_transport && (ends->protocol == IPPROTO_ICMP || ends->protocol == IPPROTO_ICMPV6);
    const unsigned ports[2] = { has_ports ? ends->source_port
                                : is_icmp ? record->icmp_type
                                          : 0,
                                has_ports ? ends->destination_port
                                : is_icmp ? record->icmp_code
                                          : 0 };
    char address[2][ADDRESS_TEXT_SIZE];

    put_time(out, "%m/%d/%Y-%H:%M:%S", record->time_ns);
    text_printf(out, ".%06u  %s[**] [%u:%u:%u] ", (unsigned)(record->time_ns % NS_PER_SECOND / 1000),
                alert->blocked      ? "[Drop] "
                : alert->would_drop ? "[wDrop] "
                                    : "",
                rule->gid, rule->sid, rule->revision);
    if (rule->message)
        text_printable(out, rule->message, strlen(rule->message));
    text_printf(out, " [**] [Classification: %s] [Priority: %u]",
                rule->class_description ? rule->class_description : "(null)", rule->priority);
    if (ends->ip_version == 0)
        return;
    if (protocol)
        text_printf(out, " {%s} ", protocol);
    else
        text_printf(out, " {PROTO:%03u} ", ends->protocol);
    for (int i = 0; i < 2; i++) {
        address_format(i == 0 ? &ends->source : &ends->destination, ends->ip_version, false, address[i]);
        text_printf(out, "%s%s:%u", i == 0 ? "" : " -> ", address[i], ports[i]);
    }
}

static int compare_names(const void *left, const void *right)
{
    return strcmp((*(const struct output_stat *const *)left)->name, (*(const struct output_stat *const *)right)->name);
}

void fast_counters(struct text *out, const struct stats_record *record)
{
    static const char line[] = "------------------------------------------------------------------------------------\n";
    const struct output_stat *stats = record_stats(record), **order = calloc(record->count + 1, sizeof(*order));
    uint64_t up = record->uptime_seconds;

    if (!order) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < record->count; i++)
        order[i] = &stats[i];
    qsort(order, record->count, sizeof(*order), compare_names);
    text_puts(out, line);
    put_time(out, "Date: %m/%d/%Y -- %H:%M:%S", record->time_ns);
    text_printf(out, " (uptime: %llud, %02uh %02um %02us)\n%s", (unsigned long long)(up / 86400),
                (unsigned)(up / 3600 % 24), (unsigned)(up / 60 % 60), (unsigned)(up % 60), line);
    text_printf(out, "%-45s | %-25s | %s\n%s", "Counter", "TM Name", "Value", line);
    for (size_t i = 0; i < record->count; i++)
        if (order[i]->value != 0)
            text_printf(out, "%-45s | %-25s | %llu\n", order[i]->name, "Total", (unsigned long long)order[i]->value);
    text_append(out, line, sizeof(line) - 2);
    free(order);
}
