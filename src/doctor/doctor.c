/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entry point: finds the sluice table and the rules that feed its queues, runs all checks in order and sorts the
 * findings. */
#include "doctor_priv.h"

#include <errno.h>
#include <linux/netfilter.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* --- Findings --------------------------------------------------------------------------------------- */

enum { WHAT_SIZE = 1024 };

struct doctor_finding *add_finding(struct context *context, enum doctor_severity severity, const char *id,
                                   const char *why, const char *remedy, const char *what, ...)
{
    struct doctor_finding *finding = arena_alloc(context->arena, sizeof(*finding));
    char text[WHAT_SIZE];
    va_list args;

    va_start(args, what);
    vsnprintf(text, sizeof(text), what, args);
    va_end(args);
    if (!finding) {
        context->failed = true;
        return &context->scratch;
    }
    *finding = (struct doctor_finding){
        .severity = severity, .id = id, .what = arena_strdup(context->arena, text), .why = why, .remedy = remedy
    };
    context->failed |= !finding->what;
    *context->last = finding;
    context->last = &finding->next;
    context->report->counts[severity]++;
    return finding;
}

void set_finding_rule(struct doctor_finding *finding, const struct netrules_rule *rule)
{
    finding->rule = rule;
    finding->text = rule->text;
    finding->chain = rule->chain;
}

/* --- The sluice table and its queues ---------------------------------------------------------------- */

static void find_own_tables(struct context *context)
{
    struct sluice_table **last = &context->own;

    for (const struct netrules_table *table = context->ruleset->tables; table; table = table->next) {
        enum attach_mode mode;
        struct sluice_table *own;

        if (table->legacy || strcmp(table->name, context->input->options.table) != 0 ||
            !firewall_is_sluice_table(table->comment, &mode))
            continue;
        own = arena_alloc(context->arena, sizeof(*own));
        if (!own) {
            context->failed = true;
            return;
        }
        *own = (struct sluice_table){ .table = table, .mode = mode };
        *last = own;
        last = &own->next;
    }
    context->report->installed = context->own != NULL;
}

const struct sluice_table *find_own_table(const struct context *context, const struct netrules_table *table)
{
    for (const struct sluice_table *own = context->own; own; own = own->next)
        if (own->table == table)
            return own;
    return NULL;
}

bool is_sluice_rule(const struct context *context, const struct netrules_rule *rule)
{
    return find_own_table(context, rule->chain->table) != NULL;
}

bool is_feed(const struct context *context, const struct netrules_rule *rule)
{
    for (const struct feed *feed = context->feeds; feed; feed = feed->next)
        if (feed->rule == rule)
            return true;
    return false;
}

bool replaces_accept(const struct context *context, const struct netrules_rule *rule)
{
    const struct doctor_input *input = context->input;

    return (input->attach_given && input->options.mode == ATTACH_CHAIN) || strcmp(rule->chain->name, "sluice_ips") == 0;
}

/* Sets the range of queue numbers from the queue rules of the sluice table, unless the caller gave queue numbers. */
static void find_own_queues(struct context *context)
{
    for (const struct netrules_rule *rule = NULL; (rule = netrules_next_rule(context->ruleset, rule));) {
        bool first = !context->own_queues;

        if (context->input->queues_given || rule->verdict != NETRULES_QUEUE || rule->queue.unknown ||
            !is_sluice_rule(context, rule) || is_next_queue(context, rule))
            continue;
        context->own_queues = true;
        context->first = first || rule->queue.first < context->first ? rule->queue.first : context->first;
        context->last_queue = first || rule->queue.last > context->last_queue ? rule->queue.last : context->last_queue;
    }
}

static void find_feeds(struct context *context)
{
    struct feed **last = &context->feeds;

    for (const struct netrules_rule *rule = NULL; (rule = netrules_next_rule(context->ruleset, rule));) {
        struct feed *feed;

        if (rule->verdict != NETRULES_QUEUE || is_next_queue(context, rule) ||
            rule->queue.first > context->last_queue || rule->queue.last < context->first)
            continue;
        feed = arena_alloc(context->arena, sizeof(*feed));
        if (!feed) {
            context->failed = true;
            return;
        }
        *feed = (struct feed){ .rule = rule, .own = is_sluice_rule(context, rule) };
        *last = feed;
        last = &feed->next;
    }
}

/* Sets the mark of repeat mode from the configuration. If the configuration has no mark, uses the mark of a queue rule
 * that excludes packets with a mark. */
static void find_mark(struct context *context)
{
    const struct firewall_options *options = &context->input->options;

    context->repeats = context->input->repeats;
    context->mark = options->mark;
    context->mark_mask = options->mark_mask;
    for (const struct sluice_table *own = context->own; own; own = own->next)
        context->repeats |= own->mode == ATTACH_REPEAT;
    for (const struct feed *feed = context->feeds; feed && !context->mark_mask; feed = feed->next) {
        const struct netrules_mark *mark = feed->rule->marks;

        if (!mark || mark->kind != NETRULES_PACKET_MARK || mark->use != NETRULES_MARK_MATCH || mark->value == 0 ||
            (feed->own && find_own_table(context, feed->rule->chain->table)->mode != ATTACH_REPEAT))
            continue;
        context->mark = mark->value;
        context->mark_mask = mark->mask;
        context->repeats = true;
    }
}

/* --- Chains ----------------------------------------------------------------------------------------- */

unsigned families_of(const struct netrules_chain *chain)
{
    switch (chain->table->family) {
    case NFPROTO_IPV4:
        return NETRULES_IPV4;
    case NFPROTO_IPV6:
        return NETRULES_IPV6;
    case NFPROTO_INET:
        return NETRULES_IPV4 | NETRULES_IPV6;
    default:
        return NETRULES_OTHER;
    }
}

static bool is_routed(const struct netrules_chain *chain)
{
    uint32_t family = chain->table->family;

    return family == NFPROTO_IPV4 || family == NFPROTO_IPV6 || family == NFPROTO_INET;
}

bool same_hook(const struct netrules_chain *one, const struct netrules_chain *other)
{
    if (!one->base || !other->base || one->hook != other->hook)
        return false;
    if (!is_routed(one) || !is_routed(other))
        return one->table->family == other->table->family;
    return (families_of(one) & families_of(other)) != 0;
}

const char *queues_text(struct context *context, unsigned first, unsigned last)
{
    const char *text = first == last ? arena_printf(context->arena, "queue %u", first)
                                     : arena_printf(context->arena, "queues %u-%u", first, last);

    context->failed |= !text;
    return text ? text : "";
}

/* --- The report ------------------------------------------------------------------------------------- */

int doctor_examine(struct doctor_report **out, const struct netrules *ruleset, const struct doctor_host *host,
                   const struct doctor_input *input)
{
    static void (*const checks[])(struct context * context) = {
        check_own_table, check_queues,        check_order,    check_priorities, check_offload, check_listeners,
        check_marks,     check_offload_marks, check_families, check_managers,   check_links,   check_kernel,
    };
    struct arena *arena = arena_new(0);
    struct doctor_report *report = arena ? arena_alloc(arena, sizeof(*report)) : NULL;
    struct doctor_finding *sorted = NULL, **last = &sorted;
    struct context context = {
        .ruleset = ruleset,
        .host = host,
        .input = input,
        .report = report,
        .arena = arena,
        .first = input->options.queue_first,
        .last_queue = input->options.queue_last,
    };

    if (report) {
        report->arena = arena;
        context.last = &report->findings;
        find_own_tables(&context);
        find_own_queues(&context);
        find_feeds(&context);
        find_mark(&context);
        find_offload(&context);
        report->queue_first = context.first;
        report->queue_last = context.last_queue;
        for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
            checks[i](&context);
        /* Sort the findings by severity, highest first; findings of equal severity keep their order. */
        for (int severity = DOCTOR_BROKEN; severity >= DOCTOR_NOTE; severity--)
            for (struct doctor_finding **link = &report->findings; *link;) {
                struct doctor_finding *finding = *link;

                if ((int)finding->severity != severity) {
                    link = &finding->next;
                    continue;
                }
                *link = finding->next;
                finding->next = NULL;
                *last = finding;
                last = &finding->next;
            }
        report->findings = sorted;
    }
    if (!report || context.failed) {
        arena_free(arena);
        return -ENOMEM;
    }
    *out = report;
    return 0;
}

void doctor_report_free(struct doctor_report *report)
{
    if (report)
        arena_free(report->arena);
}

enum doctor_severity doctor_worst(const struct doctor_report *report)
{
    return report->counts[DOCTOR_BROKEN]    ? DOCTOR_BROKEN
           : report->counts[DOCTOR_WARNING] ? DOCTOR_WARNING
                                            : DOCTOR_NOTE;
}

const char *doctor_severity_name(enum doctor_severity severity)
{
    static const char *const names[] = { "note", "warning", "broken" };

    return names[severity];
}
