/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * EVE's stats event. Counters are a list of paths in any order. They are sorted, so that the counters of one object are
 * adjacent, and written in that order; an object is opened at its first counter and closed after its last. Counters of
 * Suricata are in the object "stats", all others below "sluice", so that the event is valid against Suricata's schema.
 */
#include <stdlib.h>
#include <string.h>

#include "output_priv.h"

enum { MAX_DEPTH = 16, KEY_SIZE = 128 };

/* Counters that Suricata does not have; a name that ends with a dot stands for all counters below it. The test
 * unit.output_schema finds counters that are missing here. */
static const char *const own_counters[] = {
    "app_layer.byterange.",
    "app_layer.error.iec104.",
    "app_layer.error.opcua.",
    "app_layer.error.rtsp.",
    "app_layer.error.s7comm.",
    "app_layer.error.s7commplus.",
    "app_layer.flow.also_tcp",
    "app_layer.flow.also_udp",
    "app_layer.flow.iec104",
    "app_layer.flow.opcua",
    "app_layer.flow.rtsp",
    "app_layer.flow.s7comm",
    "app_layer.flow.s7commplus",
    "app_layer.frames.",
    "app_layer.memcap.",
    "app_layer.memuse",
    "app_layer.tx.iec104",
    "app_layer.tx.opcua",
    "app_layer.tx.rtsp",
    "app_layer.tx.s7comm",
    "app_layer.tx.s7commplus",
    "decoder.event.too_many_layers",
    "decoder.gtp",
    "defrag.contradictions",
    "defrag.dropped_fragments",
    "defrag.evicted",
    "defrag.evicted_fragments",
    "defrag.repeated_fragments",
    "detect.bytes_scanned",
    "detect.candidates",
    "detect.dataset_memcap",
    "detect.evaluations",
    "detect.flow_memcap",
    "detect.host_evicted",
    "detect.host_memcap",
    "detect.limit_matches",
    "detect.lua_calls",
    "detect.lua_messages_lost",
    "detect.pcre_limits",
    "detect.rule_files_failed",
    "detect.scans",
    "detect.step_limits",
    "detect.threshold_evicted",
    "detect.threshold_memcap",
    "detect.transform_limits",
    "detect.waiting",
    "engine.",
    "file_store.files",
    "file_store.refused",
    "files.",
    "firewall.",
    "flow.conntrack_reply",
    "flow.evicted",
    "flow.variable_memcap",
    "ips.budget.",
    "ips.drop_reason.applayer_ambiguous",
    "ips.drop_reason.marked",
    "ips.drop_reason.overload",
    "ips.drop_reason.repeat_loop",
    "ips.drop_reason.truncated",
    "ips.exception.",
    "ips.flow_drops",
    "ips.looping",
    "ips.marked",
    "ips.memcap.",
    "ips.offload.",
    "ips.overload.",
    "ips.queue_age_us.",
    "ips.reject_packets_failed",
    "ips.reject_packets_sent",
    "ips.reload.",
    "ips.replace_refused",
    "ips.route_no_listener",
    "ips.rules_loaded_at",
    "ips.rules_modified_at",
    "ips.ruleset",
    "ips.segmented.",
    "ips.uninspected.",
    "ips.unqueued",
    "ips.unsegmented_udp",
    "ips.would_drop",
    "ips.would_drop_reason.",
    "ips.would_reject",
    "ips.would_replace",
    "output.",
    "pcap_log.bytes",
    "pcap_log.errors",
    "pcap_log.files",
    "pcap_log.lost",
    "pcap_log.packets",
    "queue.",
    "tcp.conntrack_queries",
    "tcp.conntrack_undecided",
    "tcp.midstream_conntrack",
    "tcp.pseudo_failed",
    "tcp.reassembly_evicted",
    "tcp.ssn_ended_early",
    "tcp.ssn_evicted",
    "tcp.ssn_restored",
    "tcp.urgent_cleared",
    "tls_store.",
};

/* Counters of firewall rules, which Suricata has, too. */
static const char *const firewall_counters[] = { "firewall.accepted", "firewall.blocked", "firewall.rejected",
                                                 "firewall.discarded_alerts", "firewall.drop_reason." };

static bool is_own(const char *name)
{
    for (size_t i = 0; i < sizeof(firewall_counters) / sizeof(firewall_counters[0]); i++) {
        if (strncmp(name, firewall_counters[i], strlen(firewall_counters[i])) == 0)
            return false;
    }
    for (size_t i = 0; i < sizeof(own_counters) / sizeof(own_counters[0]); i++) {
        size_t length = strlen(own_counters[i]);

        if (strncmp(name, own_counters[i], length) == 0 && (own_counters[i][length - 1] == '.' || name[length] == '\0'))
            return true;
    }
    return false;
}

/* The JSON objects that are open, from the outermost; each is named by a part of the path of a counter. */
struct nesting {
    struct span part[MAX_DEPTH];
    size_t depth;
};

/* Returns whether a part of a path, like "engines[0]", stands for an array with one element. */
static bool is_element(struct span part)
{
    return part.length > 3 && memcmp(part.at + part.length - 3, "[0]", 3) == 0;
}

static void close_part(struct text *out, struct span part)
{
    json_object_close(out);
    if (is_element(part))
        json_array_close(out);
}

/* Closes the objects that are not part of the path `name`, and opens those that are missing. Returns the last part of
 * the path: the key of the counter. */
static const char *enter_objects(struct nesting *nesting, struct text *out, const char *name)
{
    size_t depth = 0;
    const char *dot;

    for (; (dot = strchr(name, '.')) && depth < MAX_DEPTH; name = dot + 1, depth++) {
        struct span part = { .at = name, .length = (size_t)(dot - name) }, open = nesting->part[depth];
        size_t length = part.length < KEY_SIZE - 1 ? part.length : KEY_SIZE - 1;
        char key[KEY_SIZE];

        if (depth < nesting->depth && open.length == part.length && memcmp(open.at, part.at, part.length) == 0)
            continue;
        for (; nesting->depth > depth; nesting->depth--)
            close_part(out, nesting->part[nesting->depth - 1]);
        memcpy(key, part.at, length);
        key[length] = '\0';
        if (is_element(part)) {
            key[length - 3] = '\0';
            json_array_open(out, key);
            json_object_open(out, NULL);
        } else {
            json_object_open(out, key);
        }
        nesting->part[nesting->depth++] = part;
    }
    for (; nesting->depth > depth; nesting->depth--)
        close_part(out, nesting->part[nesting->depth - 1]);
    return name;
}

/* Writes a counter, or the time of the last reload, which is in nanoseconds. */
static void put_value(struct text *out, const char *key, uint64_t value)
{
    if (strcmp(key, "last_reload") == 0)
        output_time(out, key, value);
    else
        json_uint(out, key, value);
}

struct sorted_stat {
    const struct output_stat *stat;
    size_t index; /* index of the counter in the record, by which its previous value is found */
    bool is_own;  /* Suricata does not have the counter */
};

/* Compares names for qsort(). A dot sorts before all other characters, so that "a-b.c" is not sorted between "a.b" and
 * "a.c", which belong to one object. */
static int compare_names(const void *left, const void *right)
{
    const char *a = ((const struct sorted_stat *)left)->stat->name;
    const char *b = ((const struct sorted_stat *)right)->stat->name;

    while (*a && *a == *b) {
        a++;
        b++;
    }
    unsigned char x = *a == '.' ? 1 : (unsigned char)*a;
    unsigned char y = *b == '.' ? 1 : (unsigned char)*b;

    return (x > y) - (x < y);
}

/* Returns the counters in the order of their names, to be freed by the caller; NULL: no memory. */
static struct sorted_stat *sort_stats(const struct output_stat *stats, size_t count)
{
    struct sorted_stat *order = calloc(count + 1, sizeof(*order));

    if (!order)
        return NULL;
    for (size_t i = 0; i < count; i++)
        order[i] = (struct sorted_stat){ .stat = &stats[i], .index = i, .is_own = is_own(stats[i].name) };
    qsort(order, count, sizeof(*order), compare_names);
    return order;
}

/* Writes the members of the object "stats": the counters of Suricata, or (own) those that only Sluice has. */
static void write_counters(const struct eve *eve, struct text *out, const struct sorted_stat *order, size_t count,
                           bool own)
{
    const struct eve_options *options = &eve->options->eve;
    struct nesting nesting = { 0 };

    for (size_t i = 0; i < count; i++) {
        const struct output_stat *stat = order[i].stat, *previous = NULL;
        bool of_thread = strncmp(stat->name, "threads.", 8) == 0;
        char delta[KEY_SIZE];
        const char *key;

        if (order[i].is_own != own)
            continue;
        if (of_thread ? !options->stats.threads : !options->stats.totals)
            continue;
        if (stat->value == 0 && !options->stats.null_values)
            continue;
        key = enter_objects(&nesting, out, stat->name);
        put_value(out, key, stat->value);
        if (!options->stats.deltas || strcmp(key, "last_reload") == 0)
            continue;
        if (order[i].index < eve->previous_count && strcmp(eve->previous[order[i].index].name, stat->name) == 0)
            previous = &eve->previous[order[i].index];
        snprintf(delta, sizeof(delta), "%s_delta", key);
        json_int(out, delta, (int64_t)(stat->value - (previous ? previous->value : 0)));
    }
    for (; nesting.depth > 0; nesting.depth--)
        close_part(out, nesting.part[nesting.depth - 1]);
}

void eve_stats(struct eve *eve, struct text *out, const struct stats_record *record)
{
    const struct eve_options *options = &eve->options->eve;
    struct sorted_stat *order = sort_stats(record_stats(record), record->count);
    size_t count = order ? record->count : 0;

    if (!order)
        out->failed = true;
    json_object_open(out, NULL);
    eve_timestamp(out, "timestamp", record->time_ns);
    json_string(out, "event_type", "stats");
    json_object_open(out, "stats");
    json_uint(out, "uptime", record->uptime_seconds);
    write_counters(eve, out, order, count, false);
    json_object_close(out);
    json_object_open(out, "sluice");
    json_object_open(out, "stats");
    write_counters(eve, out, order, count, true);
    json_object_close(out);
    json_object_close(out);
    eve_end(eve, out);
    free(order);
    if (options->stats.deltas) {
        struct output_stat *copy = realloc(eve->previous, (record->count + 1) * sizeof(*copy));

        if (!copy)
            return;
        memcpy(copy, record_stats(record), record->count * sizeof(*copy));
        eve->previous = copy;
        eve->previous_count = record->count;
    }
}

void output_stats_json(const struct output_stat *stats, size_t count, uint64_t uptime_seconds, struct text *out)
{
    struct sorted_stat *order = sort_stats(stats, count);
    struct nesting nesting = { 0 };

    json_object_open(out, NULL);
    json_uint(out, "uptime", uptime_seconds);
    if (!order)
        out->failed = true;
    for (size_t i = 0; order && i < count; i++)
        put_value(out, enter_objects(&nesting, out, order[i].stat->name), order[i].stat->value);
    for (; nesting.depth > 0; nesting.depth--)
        close_part(out, nesting.part[nesting.depth - 1]);
    json_object_close(out);
    free(order);
}
