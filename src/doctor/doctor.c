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

struct doctor_finding *find_out(struct patient *patient, enum doctor_severity severity, const char *id, const char *why,
                                const char *remedy, const char *what, ...)
{
    struct doctor_finding *finding = arena_alloc(patient->arena, sizeof(*finding));
    char text[WHAT_SIZE];
    va_list args;

    va_start(args, what);
    vsnprintf(text, sizeof(text), what, args);
    va_end(args);
    if (!finding) {
        patient->failed = true;
        return &patient->scratch;
    }
    *finding = (struct doctor_finding){
        .severity = severity, .id = id, .what = arena_strdup(patient->arena, text), .why = why, .remedy = remedy
    };
    patient->failed |= !finding->what;
    *patient->last = finding;
    patient->last = &finding->next;
    patient->report->counts[severity]++;
    return finding;
}

void about_rule(struct doctor_finding *finding, const struct netrules_rule *rule)
{
    finding->rule = rule;
    finding->chain = rule->chain;
}

/* --- The sluice table and its queues ---------------------------------------------------------------- */

static void find_own_tables(struct patient *patient)
{
    struct own_table **last = &patient->own;

    for (const struct netrules_table *table = patient->ruleset->tables; table; table = table->next) {
        enum attach_mode mode;
        struct own_table *own;

        if (table->legacy || strcmp(table->name, patient->input->options.table) != 0 ||
            !firewall_is_own(table->comment, &mode))
            continue;
        own = arena_alloc(patient->arena, sizeof(*own));
        if (!own) {
            patient->failed = true;
            return;
        }
        *own = (struct own_table){ .table = table, .mode = mode };
        *last = own;
        last = &own->next;
    }
    patient->report->installed = patient->own != NULL;
}

const struct own_table *own_of(const struct patient *patient, const struct netrules_table *table)
{
    for (const struct own_table *own = patient->own; own; own = own->next)
        if (own->table == table)
            return own;
    return NULL;
}

bool is_own(const struct patient *patient, const struct netrules_rule *rule)
{
    return own_of(patient, rule->chain->table) != NULL;
}

bool replaces_accept(const struct patient *patient, const struct netrules_rule *rule)
{
    const struct doctor_input *input = patient->input;

    return (input->attach_given && input->options.mode == ATTACH_CHAIN) || strcmp(rule->chain->name, "sluice_ips") == 0;
}

/* Calls `each` for every rule of the ruleset. */
static void each_rule(struct patient *patient, void (*each)(struct patient *patient, const struct netrules_rule *rule))
{
    for (const struct netrules_table *table = patient->ruleset->tables; table; table = table->next)
        for (const struct netrules_chain *chain = table->chains; chain; chain = chain->next)
            for (const struct netrules_rule *rule = chain->rules; rule; rule = rule->next)
                each(patient, rule);
}

/* Takes the queue numbers from the sluice table unless the caller gave some. */
static void take_own_queues(struct patient *patient, const struct netrules_rule *rule)
{
    bool first = !patient->own_queues;

    if (patient->input->queues_given || rule->verdict != NETRULES_QUEUE || rule->queue.unknown ||
        !is_own(patient, rule) || is_next_queue(patient, rule))
        return;
    patient->own_queues = true;
    patient->first = first || rule->queue.first < patient->first ? rule->queue.first : patient->first;
    patient->last_queue = first || rule->queue.last > patient->last_queue ? rule->queue.last : patient->last_queue;
}

static void take_feed(struct patient *patient, const struct netrules_rule *rule)
{
    bool ours = rule->verdict == NETRULES_QUEUE && !is_next_queue(patient, rule) &&
                rule->queue.first <= patient->last_queue && rule->queue.last >= patient->first;
    struct feed *feed = ours ? arena_alloc(patient->arena, sizeof(*feed)) : NULL;

    if (!ours)
        return;
    if (!feed) {
        patient->failed = true;
        return;
    }
    *feed = (struct feed){ .rule = rule, .own = is_own(patient, rule) };
    *patient->last_feed = feed;
    patient->last_feed = &feed->next;
}

/* Takes the mark of repeat mode from the configuration, otherwise from a queue rule that excludes a mark. */
static void take_mark(struct patient *patient)
{
    const struct firewall_options *options = &patient->input->options;

    patient->repeats = patient->input->repeats;
    patient->mark = options->mark;
    patient->mark_mask = options->mark_mask;
    for (const struct own_table *own = patient->own; own; own = own->next)
        patient->repeats |= own->mode == ATTACH_REPEAT;
    for (const struct feed *feed = patient->feeds; feed && !patient->mark_mask; feed = feed->next) {
        const struct netrules_mark *mark = feed->rule->marks;

        if (!mark || mark->kind != NETRULES_PACKET_MARK || mark->use != NETRULES_MARK_MATCH || mark->value == 0 ||
            (feed->own && own_of(patient, feed->rule->chain->table)->mode != ATTACH_REPEAT))
            continue;
        patient->mark = mark->value;
        patient->mark_mask = mark->mask;
        patient->repeats = true;
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

const char *queues_text(struct patient *patient, unsigned first, unsigned last)
{
    const char *text = first == last ? arena_printf(patient->arena, "queue %u", first)
                                     : arena_printf(patient->arena, "queues %u-%u", first, last);

    patient->failed |= !text;
    return text ? text : "";
}

/* --- The report ------------------------------------------------------------------------------------- */

/* Sorts the findings by severity, highest first; the order within one severity stays. */
static void sort(struct doctor_report *report)
{
    struct doctor_finding *sorted = NULL, **last = &sorted;

    for (int severity = DOCTOR_BROKEN; severity >= DOCTOR_NOTE; severity--) {
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
    }
    report->findings = sorted;
}

static int examine(struct doctor_report *report, const struct netrules *ruleset, const struct doctor_input *input)
{
    static void (*const checks[])(struct patient * patient) = {
        check_own_table, check_queues,        check_order,    check_priorities, check_offload, check_listeners,
        check_marks,     check_offload_marks, check_families, check_managers,   check_links,   check_kernel,
    };
    struct patient patient = {
        .ruleset = ruleset,
        .input = input,
        .report = report,
        .arena = report->arena,
        .last = &report->findings,
        .first = input->options.queue_first,
        .last_queue = input->options.queue_last,
    };

    patient.last_feed = &patient.feeds;
    find_own_tables(&patient);
    each_rule(&patient, take_own_queues);
    each_rule(&patient, take_feed);
    take_mark(&patient);
    take_offload(&patient);
    report->queue_first = patient.first;
    report->queue_last = patient.last_queue;
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
        checks[i](&patient);
    sort(report);
    return patient.failed ? -ENOMEM : 0;
}

int doctor_judge(struct doctor_report **out, const struct netrules *ruleset, const struct doctor_input *input)
{
    struct arena *arena = arena_new(0);
    struct doctor_report *report = arena ? arena_alloc(arena, sizeof(*report)) : NULL;
    int err = report ? 0 : -ENOMEM;

    if (!err) {
        report->arena = arena;
        err = examine(report, ruleset, input);
    }
    if (err)
        arena_free(arena);
    else
        *out = report;
    return err;
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
