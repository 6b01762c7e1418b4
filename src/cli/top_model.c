/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Live view: makes tables from the answers of the daemon. Rates are the differences of two answers. */
#include "top_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- Columns -------------------------------------------------------------------------------------- */

#define NUMBER(title, width, narrow)                                                                                   \
    {                                                                                                                  \
        title, width, narrow, false, false, false                                                                      \
    }
#define NAME_NUMBER(title, width, narrow)                                                                              \
    {                                                                                                                  \
        title, width, narrow, false, false, true                                                                       \
    }
#define TEXT(title, width, narrow, ascending)                                                                          \
    {                                                                                                                  \
        title, width, narrow, true, false, ascending                                                                   \
    }
#define GROWING(title, width, narrow, ascending)                                                                       \
    {                                                                                                                  \
        title, width, narrow, true, true, ascending                                                                    \
    }

static const struct top_column queue_columns[] = {
    NAME_NUMBER("QUEUE", 6, 6), NUMBER("CPU%", 5, 5),       NUMBER("PKT/S", 7, 6),        NUMBER("BIT/S", 7, 6),
    NUMBER("DROP/S", 7, 7),     NUMBER("WAIT", 6, 5),       NUMBER("AGE", 8, 7),          NUMBER("P99 AGE", 8, 7),
    NUMBER("LOST/S", 7, 7),     TEXT("MODE", 10, 10, true), GROWING("STATE", 5, 4, true),
};
static const struct top_column talker_columns[] = {
    TEXT("HOST", 39, 28, true),   NUMBER("FLOWS", 7, 7), NUMBER("SENT BIT/S", 10, 10),
    NUMBER("RECV BIT/S", 10, 10), NUMBER("PKT/S", 7, 7), GROWING("SHARE", 12, 8, false),
};
static const struct top_column flow_columns[] = {
    TEXT("PROTO", 6, 5, true), TEXT("CLIENT", 28, 20, true), TEXT("SERVER", 28, 20, true),
    TEXT("APP", 8, 6, true),   TEXT("VERDICT", 10, 9, true), NUMBER("TO SRV", 6, 6),
    NUMBER("TO CLI", 6, 6),    NUMBER("PKT/S", 6, 0),        GROWING("", 1, 1, false),
};
static const struct top_column rule_columns[] = {
    NAME_NUMBER("SID", 12, 9), TEXT("ACTION", 7, 7, true), NUMBER("MATCH/S", 8, 8),
    NUMBER("DROP/S", 7, 7),    NUMBER("MATCHES", 8, 8),    NUMBER("COST%", 6, 6),
    NUMBER("US/EVAL", 8, 0),   TEXT("LAST", 8, 8, false),  GROWING("MESSAGE", 20, 18, true),
};
static const struct top_column drop_columns[] = {
    NUMBER("DROP/S", 8, 8), NUMBER("DROPPED", 8, 8),         NUMBER("WOULD/S", 8, 8),
    NUMBER("WOULD", 8, 8),  GROWING("REASON", 30, 30, true),
};
static const struct top_column alert_columns[] = {
    TEXT("TIME", 8, 8, false),        TEXT("ACTION", 7, 7, true),   NAME_NUMBER("SID", 12, 8),
    GROWING("MESSAGE", 30, 14, true), TEXT("SOURCE", 26, 15, true), TEXT("DESTINATION", 26, 21, true),
};

#define COLUMNS(columns) (columns), sizeof(columns) / sizeof((columns)[0])
static const struct top_table empty_tables[TOP_PANELS] = {
    [TOP_QUEUES] = { "Queues", COLUMNS(queue_columns), 0, NULL, 0, 0 },
    [TOP_TALKERS] = { "Talkers", COLUMNS(talker_columns), 5, NULL, 0, 0 },
    [TOP_FLOWS] = { "Flows", COLUMNS(flow_columns), 8, NULL, 0, 0 },
    [TOP_RULES] = { "Rules", COLUMNS(rule_columns), 2, NULL, 0, 0 },
    [TOP_DROPS] = { "Drops", COLUMNS(drop_columns), 0, NULL, 0, 0 },
    [TOP_ALERTS] = { "Alerts", COLUMNS(alert_columns), 0, NULL, 0, 0 },
};

int top_model_new(struct top_model **out)
{
    struct top_model *model = calloc(1, sizeof(*model));

    if (!model)
        return -ENOMEM;
    model->arena = arena_new(0);
    if (!model->arena) {
        free(model);
        return -ENOMEM;
    }
    memcpy(model->tables, empty_tables, sizeof(model->tables));
    *out = model;
    return 0;
}

void top_model_free(struct top_model *model)
{
    if (!model)
        return;
    for (unsigned i = 0; i < TOP_PANELS; i++)
        free(model->tables[i].rows);
    control_value_free(model->now.whole);
    control_value_free(model->before.whole);
    arena_free(model->arena);
    free(model);
}

const struct top_table *top_model_table(const struct top_model *model, enum top_panel panel)
{
    return &model->tables[panel];
}

void top_model_set_error(struct top_model *model, const char *error)
{
    snprintf(model->error, sizeof(model->error), "%s", error);
}

/* --- Values --------------------------------------------------------------------------------------- */

int64_t top_value(const struct control_value *value, const char *path)
{
    int64_t number = 0;
    char name[64];

    for (const char *at = path; value && *at;) {
        size_t length = strcspn(at, ".");

        snprintf(name, sizeof(name), "%.*s", (int)length, at);
        if (control_value_is_array(value))
            value = control_value_item(value, strtoul(name, NULL, 10));
        else
            value = control_value_member(value, name);
        at += length + (at[length] == '.');
    }
    control_value_number(value, &number);
    return number;
}

static const char *string_of(const struct control_value *value, const char *name)
{
    const char *string = control_value_string(control_value_member(value, name));

    return string ? string : "";
}

double top_rate(const struct top_model *model, const struct control_value *now, const struct control_value *before,
                const char *path)
{
    int64_t difference = top_value(now, path) - top_value(before, path);

    return model->seconds > 0 && now && before && difference > 0 ? (double)difference / model->seconds : 0;
}

double top_total_rate(const struct top_model *model, const char *path)
{
    return top_rate(model, model->now.message, model->before.message, path);
}

/* Returns the entry of a list in which the members `first` and `second` (NULL: ignored) have the same values as in
 * `like`; NULL: none. */
static const struct control_value *find_same(const struct control_value *list, const struct control_value *like,
                                             const char *first, const char *second)
{
    for (size_t i = 0; i < control_value_count(list); i++) {
        const struct control_value *entry = control_value_item(list, i);

        if (top_value(entry, first) == top_value(like, first) &&
            (!second || top_value(entry, second) == top_value(like, second)))
            return entry;
    }
    return NULL;
}

/* --- Rows ----------------------------------------------------------------------------------------- */

/* Adds a row without cells; returns NULL when out of memory. */
static struct top_row *add_row(struct top_table *table, enum top_style style)
{
    if (table->count == table->capacity) {
        size_t capacity = table->capacity ? 2 * table->capacity : 64;
        struct top_row *rows = realloc(table->rows, capacity * sizeof(*rows));

        if (!rows)
            return NULL;
        table->rows = rows;
        table->capacity = capacity;
    }
    table->rows[table->count] = (struct top_row){ .style = style };
    return &table->rows[table->count++];
}

static void set_text(struct top_model *model, struct top_row *row, unsigned column, const char *text)
{
    const char *copy = arena_strdup(model->arena, text);

    row->cell[column] = copy ? copy : "";
}

static void set_number(struct top_model *model, struct top_row *row, unsigned column, double value)
{
    char text[TOP_NUMBER_SIZE];

    top_number(text, value);
    row->key[column] = value;
    set_text(model, row, column, text);
}

/* A rate; "-" as long as it is not known. */
static void set_rate(struct top_model *model, struct top_row *row, unsigned column, double value)
{
    if (model->seconds > 0)
        set_number(model, row, column, value);
    else
        set_text(model, row, column, "-");
}

static void set_time(struct top_model *model, struct top_row *row, unsigned column, int64_t microseconds)
{
    double us = (double)microseconds;

    row->key[column] = us;
    row->cell[column] = us < 1000        ? arena_printf(model->arena, "%.0f us", us)
                        : us < 1000000   ? arena_printf(model->arena, "%.1f ms", us / 1000)
                        : us < 100000000 ? arena_printf(model->arena, "%.1f s", us / 1000000)
                                         : arena_printf(model->arena, "%.0f s", us / 1000000);
    if (!row->cell[column])
        row->cell[column] = "";
}

/* An address, with the port of protocols that have ports. */
static void set_end(struct top_model *model, struct top_row *row, unsigned column, const struct control_value *value,
                    const char *address, const char *port)
{
    const char *text = string_of(value, address), *protocol = string_of(value, "proto");
    bool has_port =
        control_value_member(value, port) && strncmp(protocol, "ICMP", 4) != 0 && top_value(value, port) > 0;
    const char *cell = !has_port           ? arena_strdup(model->arena, text)
                       : strchr(text, ':') ? arena_printf(model->arena, "[%s]:%" PRId64, text, top_value(value, port))
                                           : arena_printf(model->arena, "%s:%" PRId64, text, top_value(value, port));

    row->cell[column] = cell ? cell : "";
}

/* --- Tables --------------------------------------------------------------------------------------- */

static void fill_queues(struct top_model *model, struct top_table *table)
{
    const struct control_value *list = control_value_member(model->now.message, "queues");
    const struct control_value *before = control_value_member(model->before.message, "queues");
    const struct control_value *modes = control_value_member(control_value_member(model->now.message, "ips"), "queues");

    for (size_t i = 0; i < control_value_count(list); i++) {
        const struct control_value *queue = control_value_item(list, i);
        const struct control_value *old = find_same(before, queue, "queue", NULL);
        const struct control_value *shedding = control_value_member(queue, "shedding");
        bool overloaded = control_value_bool(control_value_member(queue, "overloaded"));
        double lost = top_rate(model, queue, old, "queue_dropped") + top_rate(model, queue, old, "user_dropped");
        double cpu = top_rate(model, queue, old, "cpu_us") + top_rate(model, queue, old, "sender_cpu_us");
        double packets = top_rate(model, queue, old, "packets");
        int64_t waiting = top_value(queue, "waiting");
        struct top_row *row = add_row(table, overloaded || lost > 0 ? TOP_BAD : TOP_NORMAL);

        if (!row)
            return;
        set_number(model, row, 0, (double)top_value(queue, "queue"));
        set_rate(model, row, 1, cpu / 10000);
        set_rate(model, row, 2, packets);
        set_rate(model, row, 3, 8 * top_rate(model, queue, old, "bytes"));
        set_rate(model, row, 4, top_rate(model, queue, old, "dropped"));
        set_number(model, row, 5, (double)waiting);
        if (packets > 0 || waiting > 0)
            set_time(model, row, 6, top_value(queue, "age_us"));
        else
            set_text(model, row, 6, "-"); /* without new packets the age is still that of an earlier packet */
        set_time(model, row, 7, top_value(queue, "age_p99_us"));
        set_rate(model, row, 8, lost);
        set_text(model, row, 9, string_of(find_same(modes, queue, "queue", NULL), "mode"));
        if (control_value_count(shedding) > 0)
            set_text(model, row, 10, "SHED");
        else
            set_text(model, row, 10, overloaded ? "OVER" : "ok");
    }
}

/* A bar of at most 20 characters for a share of the whole. */
static void set_bar(struct top_row *row, unsigned column, double value, double whole)
{
    static const char bar[] = "####################";
    double share = whole > 0 ? value / whole : 0;

    row->key[column] = value;
    row->cell[column] = &bar[sizeof(bar) - 1 - (size_t)(share * (sizeof(bar) - 1) + 0.5)];
}

static void fill_talkers(struct top_model *model, struct top_table *hosts, struct top_table *flows)
{
    const struct control_value *talkers = control_value_member(model->now.message, "talkers");
    const struct control_value *list = control_value_member(talkers, "hosts");
    bool known = control_value_bool(control_value_member(talkers, "rates"));
    double most = 0;

    for (size_t i = 0; i < control_value_count(list); i++) {
        const struct control_value *host = control_value_item(list, i);
        double both = (double)(top_value(host, "sent") + top_value(host, "received"));
        struct top_row *row = add_row(hosts, TOP_NORMAL);

        if (!row)
            return;
        most = both > most ? both : most;
        set_text(model, row, 0, string_of(host, "ip"));
        set_number(model, row, 1, (double)top_value(host, "flows"));
        for (unsigned k = 0; k < 3; k++) {
            static const char *const names[] = { "sent", "received", "packets" };

            if (known)
                set_number(model, row, 2 + k, (double)top_value(host, names[k]) * (k < 2 ? 8 : 1));
            else
                set_text(model, row, 2 + k, "-");
        }
        set_bar(row, 5, both, most);
    }
    list = control_value_member(talkers, "flows");
    for (size_t i = 0; i < control_value_count(list); i++) {
        const struct control_value *flow = control_value_item(list, i);
        const char *verdict = string_of(flow, "verdict");
        struct top_row *row = add_row(flows, strcmp(verdict, "dropped") == 0      ? TOP_BAD
                                             : strcmp(verdict, "would_drop") == 0 ? TOP_WARNING
                                                                                  : TOP_NORMAL);

        if (!row)
            return;
        set_text(model, row, 0, string_of(flow, "proto"));
        set_end(model, row, 1, flow, "src_ip", "src_port");
        set_end(model, row, 2, flow, "dest_ip", "dest_port");
        set_text(model, row, 3, *string_of(flow, "app_proto") ? string_of(flow, "app_proto") : "-");
        set_text(model, row, 4, verdict);
        for (unsigned k = 0; k < 3; k++) {
            static const char *const names[] = { "to_server", "to_client", "packets" };

            if (known)
                set_number(model, row, 5 + k, (double)top_value(flow, names[k]) * (k < 2 ? 8 : 1));
            else
                set_text(model, row, 5 + k, "-");
        }
        row->key[8] = (double)(top_value(flow, "to_server") + top_value(flow, "to_client"));
        row->cell[8] = "";
    }
}

/* Returns the local time of an EVE time stamp as text; `stamp` itself if it cannot be parsed. */
static const char *clock_of(struct top_model *model, const char *stamp, double *key)
{
    struct tm utc = { 0 };
    const char *end = strptime(stamp, "%Y-%m-%dT%H:%M:%S", &utc);
    struct tm local;
    long offset = 0;
    char text[16], sign = '+', *fraction_end;
    double fraction = 0;
    time_t seconds;

    if (!end)
        return arena_strdup(model->arena, stamp);
    if (*end == '.') {
        fraction = strtod(end, &fraction_end);
        end = fraction_end;
    }
    if (sscanf(end, "%c%4ld", &sign, &offset) == 2)
        offset = (offset / 100 * 60 + offset % 100) * 60 * (sign == '-' ? -1 : 1);
    seconds = timegm(&utc) - offset;
    *key = (double)seconds + fraction;
    localtime_r(&seconds, &local);
    strftime(text, sizeof(text), "%H:%M:%S", &local);
    return arena_strdup(model->arena, text);
}

static void set_clock(struct top_model *model, struct top_row *row, unsigned column, const char *stamp)
{
    const char *text = *stamp ? clock_of(model, stamp, &row->key[column]) : "-";

    row->cell[column] = text ? text : "";
}

static void set_sid(struct top_model *model, struct top_row *row, unsigned column, const struct control_value *rule)
{
    int64_t gid = top_value(rule, "gid"), sid = top_value(rule, "signature_id");
    const char *text = gid == 1 ? arena_printf(model->arena, "%" PRId64, sid)
                                : arena_printf(model->arena, "%" PRId64 ":%" PRId64, gid, sid);

    row->cell[column] = text ? text : "";
    row->key[column] = (double)gid * 4294967296.0 + (double)sid;
}

static void fill_rules(struct top_model *model, struct top_table *table)
{
    const struct control_value *rules = control_value_member(model->now.message, "rules");
    const struct control_value *list = control_value_member(rules, "list");
    const struct control_value *before =
        control_value_member(control_value_member(model->before.message, "rules"), "list");
    bool timed = control_value_bool(control_value_member(rules, "timed"));

    for (size_t i = 0; i < control_value_count(list); i++) {
        const struct control_value *rule = control_value_item(list, i);
        const struct control_value *old = find_same(before, rule, "signature_id", "gid");
        double drops = top_rate(model, rule, old, "drops") + top_rate(model, rule, old, "would_drops");
        double evaluations = top_rate(model, rule, old, "evaluations"), us = top_rate(model, rule, old, "total_us");
        struct top_row *row = add_row(table, drops > 0 ? TOP_BAD : TOP_NORMAL);

        if (!row)
            return;
        set_sid(model, row, 0, rule);
        set_text(model, row, 1, string_of(rule, "action"));
        set_rate(model, row, 2, top_rate(model, rule, old, "matches"));
        set_rate(model, row, 3, drops);
        set_number(model, row, 4, (double)top_value(rule, "matches"));
        if (timed) {
            set_rate(model, row, 5, us / 10000);
            set_rate(model, row, 6, evaluations > 0 ? us / evaluations : 0);
        } else {
            set_text(model, row, 5, "-");
            set_text(model, row, 6, "-");
        }
        set_clock(model, row, 7, string_of(rule, "last"));
        set_text(model, row, 8, string_of(rule, "signature"));
        /* rules with the same rate: the one that matched last is first */
        row->key[2] += row->key[7] / 1e12;
    }
}

struct drop_filler {
    struct top_model *model;
    struct top_table *table;
};

static void add_drop(struct top_model *model, struct top_table *table, const char *reason, const char *drop_path,
                     const char *would_path)
{
    double rate = top_total_rate(model, drop_path), would = would_path ? top_total_rate(model, would_path) : 0;
    double dropped = (double)top_value(model->now.message, drop_path);
    double would_total = would_path ? (double)top_value(model->now.message, would_path) : 0;
    struct top_row *row;

    if (dropped + would_total == 0)
        return;
    row = add_row(table, rate > 0 ? TOP_BAD : would > 0 ? TOP_WARNING : TOP_NORMAL);
    if (!row)
        return;
    set_rate(model, row, 0, rate);
    set_number(model, row, 1, dropped);
    set_rate(model, row, 2, would);
    set_number(model, row, 3, would_total);
    set_text(model, row, 4, reason);
    row->key[0] += (would + dropped / 1e9) / 1e6;
}

static void add_drop_reason(const char *key, const struct control_value *member, void *user)
{
    struct drop_filler *filler = user;
    char drop_path[96], would_path[96], reason[64];

    (void)member;
    snprintf(drop_path, sizeof(drop_path), "stats.ips.drop_reason.%s", key);
    snprintf(would_path, sizeof(would_path), "stats.ips.would_drop_reason.%s", key);
    snprintf(reason, sizeof(reason), "%s", key);
    for (char *at = reason; *at; at++)
        *at = *at == '_' ? ' ' : *at;
    add_drop(filler->model, filler->table, reason, drop_path, would_path);
}

static void fill_drops(struct top_model *model, struct top_table *table)
{
    const struct control_value *ips = control_value_member(control_value_member(model->now.message, "stats"), "ips");
    struct drop_filler filler = { model, table };

    control_value_each(control_value_member(ips, "drop_reason"), add_drop_reason, &filler);
    add_drop(model, table, "in the kernel: offloaded flow", "stats.firewall.offload.dropped_packets", NULL);
    add_drop(model, table, "in the kernel: blocklist", "stats.firewall.blocklist.dropped_packets", NULL);
    add_drop(model, table, "in the kernel: queue or socket full", "stats.capture.kernel_drops", NULL);
    add_drop(model, table, "in the kernel: before a queue", "stats.ips.unqueued", NULL);
}

static void fill_alerts(struct top_model *model, struct top_table *table)
{
    const struct control_value *list = control_value_member(model->now.message, "alerts");

    for (size_t i = control_value_count(list); i-- > 0;) {
        const struct control_value *event = control_value_item(list, i), *alert = control_value_member(event, "alert");
        bool blocked = strcmp(string_of(alert, "action"), "blocked") == 0;
        bool would_drop = control_value_bool(control_value_member(control_value_member(event, "sluice"), "would_drop"));
        struct top_row *row = add_row(table, blocked ? TOP_BAD : would_drop ? TOP_WARNING : TOP_NORMAL);

        if (!row)
            return;
        set_clock(model, row, 0, string_of(event, "timestamp"));
        set_text(model, row, 1, blocked ? "blocked" : would_drop ? "would" : "allowed");
        set_sid(model, row, 2, alert);
        set_text(model, row, 3, string_of(alert, "signature"));
        set_end(model, row, 4, event, "src_ip", "src_port");
        set_end(model, row, 5, event, "dest_ip", "dest_port");
    }
}

/* --- Update --------------------------------------------------------------------------------------- */

void top_model_update(struct top_model *model, struct control_reply *reply)
{
    struct tm local;
    int64_t took_us;

    control_value_free(model->before.whole);
    model->before = model->now;
    model->now = *reply;
    *reply = (struct control_reply){ NULL, NULL };
    took_us = top_value(model->now.message, "time_us") - top_value(model->before.message, "time_us");
    model->seconds =
        model->before.whole && took_us > 0 &&
                top_value(model->now.message, "engine_pid") == top_value(model->before.message, "engine_pid")
            ? (double)took_us / 1e6
            : 0;
    model->error[0] = '\0';
    localtime_r(&(time_t){ time(NULL) }, &local);
    strftime(model->clock, sizeof(model->clock), "%H:%M:%S", &local);
    arena_reset(model->arena);
    for (unsigned i = 0; i < TOP_PANELS; i++)
        model->tables[i].count = 0;
    fill_queues(model, &model->tables[TOP_QUEUES]);
    fill_talkers(model, &model->tables[TOP_TALKERS], &model->tables[TOP_FLOWS]);
    fill_rules(model, &model->tables[TOP_RULES]);
    fill_drops(model, &model->tables[TOP_DROPS]);
    fill_alerts(model, &model->tables[TOP_ALERTS]);
    if (model->seconds <= 0)
        return;
    memmove(model->history, model->history + 1, sizeof(model->history) - sizeof(model->history[0]));
    model->history[TOP_HISTORY - 1] = top_queues_rate(model, "packets");
    if (model->history_count < TOP_HISTORY)
        model->history_count++;
}

double top_queues_rate(const struct top_model *model, const char *name)
{
    const struct control_value *list = control_value_member(model->now.message, "queues");
    const struct control_value *before = control_value_member(model->before.message, "queues");
    double sum = 0;

    for (size_t i = 0; i < control_value_count(list); i++) {
        const struct control_value *queue = control_value_item(list, i);

        sum += top_rate(model, queue, find_same(before, queue, "queue", NULL), name);
    }
    return sum;
}
