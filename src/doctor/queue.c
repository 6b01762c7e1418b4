/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks queue rules (their position, bypass and distribution over queues), the listeners of the queues, and queues of
 * other programs. */
#include <linux/netfilter.h>
#include <string.h>

#include "doctor_priv.h"

enum { ENOUGH_PACKETS = 1000, MOST_PERCENT = 90, MAX_RANGES = 64 };

/* --- Queue rules in chains of other programs -------------------------------------------------------- */

struct shared {
    struct context *context;
    const struct feed *feed;
    size_t rules, drops; /* number of rules after the queue rule; how many of them drop packets */
};

static void count_after(const struct step *step, void *user)
{
    struct shared *shared = user;

    shared->rules++;
    shared->drops += step->drops;
}

#define OWN_CHAIN                                                                                                      \
    "Give Sluice its own base chain after those of the firewall, where neither skips the "                             \
    "other: `sluice nft install --mode after`."

bool repeats(const struct context *context, const struct netrules_rule *rule)
{
    for (const struct netrules_mark *mark = rule->marks; mark && context->mark_mask; mark = mark->next)
        if (mark->kind == NETRULES_PACKET_MARK && mark->use == NETRULES_MARK_MATCH && mark->mask == context->mark_mask)
            return true;
    return context->input->repeats;
}

/* Reports that packets skip the rules after the queue rule in its chain: by bypass if the queue has no listener, and,
 * outside repeat mode, after every accept of Sluice. */
static void check_shared_base(const struct netrules_chain *base, void *user)
{
    struct shared *shared = user;
    struct context *context = shared->context;
    const struct netrules_rule *rule = shared->feed->rule;
    struct path path = { .base = base, .goal = rule, .after = count_after, .user = shared };
    const char *policy = base->policy == NETRULES_DROP ? ", and the policy drop" : "";
    enum doctor_severity severity = DOCTOR_BROKEN;

    shared->rules = shared->drops = 0;
    if (walk(context->ruleset, &path)) {
        context->failed = true;
        return;
    }
    if (!path.always && replaces_accept(context, rule))
        return;
    if (shared->drops == 0 && base->policy != NETRULES_DROP) {
        if (shared->rules == 0)
            return;
        severity = DOCTOR_WARNING;
    }
    if (rule->queue.bypass)
        set_finding_rule(
            add_finding(context, severity, "queue.bypass-shared",
                        "Without a listener, or with fail-open when the queue is full, the kernel accepts the "
                        "packet for the rest of this base chain: bypass then disables not only the inspection "
                        "but also the firewall rules after the queue.",
                        OWN_CHAIN, "bypass skips the rules after the queue in %s %s: %zu, of which %zu deny%s",
                        base->table->name, base->name, shared->rules, shared->drops, policy),
            rule);
    if (!repeats(context, rule))
        set_finding_rule(
            add_finding(context, severity, "queue.accept-shared",
                        "A packet that Sluice accepts leaves the base chain: the rules after the queue are never "
                        "evaluated for it.",
                        OWN_CHAIN
                        " Or set queue.verdict: repeat, so that accepted packets return to the chain with a mark.",
                        "an accepted packet skips the rules after the queue in %s %s: %zu, of which %zu deny%s",
                        base->table->name, base->name, shared->rules, shared->drops, policy),
            rule);
}

/* --- Distribution over queues ----------------------------------------------------------------------- */

static void check_spread(struct context *context, const struct feed *feed)
{
    const struct netrules_rule *rule = feed->rule;
    bool native = !rule->xtables_queue;

    switch (rule->queue.spread) {
    case NETRULES_SPREAD_CPU:
        set_finding_rule(
            add_finding(
                context, DOCTOR_WARNING, "queue.fanout",
                "The queue is chosen by the CPU that handles the packet: the two directions of a "
                "connection, and its packets after interrupts move, go to different workers, each of "
                "which sees only a part.",
                "Remove fanout: `queue flags bypass to symhash mod N`, or --queue-balance without --queue-cpu-fanout.",
                "the queue is chosen by CPU"),
            rule);
        break;
    case NETRULES_SPREAD_OTHER:
        set_finding_rule(
            add_finding(context, DOCTOR_WARNING, "queue.not-by-flow",
                        "All packets of a connection, in both directions, must go to one queue. A counter, a "
                        "random number or a hash of the packet's own fields does not guarantee this.",
                        "Distribute by `symhash mod N`, or by a jhash of `ct original` addresses and ports.",
                        "the queue is not chosen by connection"),
            rule);
        break;
    case NETRULES_SPREAD_ADDRESSES:
        set_finding_rule(
            add_finding(context, DOCTOR_NOTE, "queue.by-addresses",
                        "The kernel's own hash covers addresses only: all traffic between two hosts goes to one "
                        "queue and one worker. Behind a proxy, a tunnel or NAT that may be nearly all traffic.",
                        native ? "Use `queue flags bypass to symhash mod N`, which includes the ports."
                               : "Use the queue expression of nftables where the kernel has it (module nft_queue): "
                                 "nft.expression: native.",
                        "packets are distributed by their addresses only"),
            rule);
        break;
    default:
        break;
    }
}

/* --- Queues of other programs ----------------------------------------------------------------------- */

static const struct doctor_listener *listener_of(const struct context *context, unsigned queue)
{
    for (const struct doctor_listener *listener = context->host->listeners; listener; listener = listener->next)
        if (listener->queue == queue)
            return listener;
    return NULL;
}

/* Returns whether an equal rule of the same table was checked before. The table may contain an equal rule at each hook,
 * and each one would cause the same findings about the queue. */
static bool is_repeated(const struct context *context, const struct feed *feed)
{
    for (const struct feed *earlier = context->feeds; earlier != feed; earlier = earlier->next)
        if (earlier->rule->chain->table == feed->rule->chain->table && earlier->own == feed->own &&
            strcmp(earlier->rule->text, feed->rule->text) == 0)
            return true;
    return false;
}

void check_queues(struct context *context)
{
    bool bypass_wanted = context->input->bypass_given && context->input->options.bypass;

    for (const struct feed *feed = context->feeds; feed; feed = feed->next) {
        struct shared shared = { .context = context, .feed = feed };
        const struct netrules_queue *queue = &feed->rule->queue;

        if (!feed->own && for_each_base(context->ruleset, feed->rule, check_shared_base, &shared))
            context->failed = true;
        if (context->own && !feed->own)
            set_finding_rule(
                add_finding(
                    context, DOCTOR_WARNING, "queue.second-rule",
                    "Packets that match both rules are inspected twice. This rule may also queue packets "
                    "before the firewall has decided: packets that Sluice accepts skip the remaining rules of the base "
                    "chain in which this rule is evaluated.",
                    "Use other queue numbers for one of them, or delete the rule.",
                    "a rule outside the sluice table sends packets to %s",
                    queues_text(context, queue->first, queue->last)),
                feed->rule);
        if (is_repeated(context, feed))
            continue;
        check_spread(context, feed);
        if (!queue->bypass)
            set_finding_rule(
                add_finding(
                    context, bypass_wanted ? DOCTOR_WARNING : DOCTOR_NOTE, "queue.no-bypass",
                    "Without a running daemon the kernel drops every packet that matches this rule: no "
                    "packet passes uninspected, and none passes at all.",
                    feed->own
                        ? "This is the setting nft.bypass: no. With bypass, packets continue with the next chain; "
                          "in the sluice table this skips no firewall rule."
                        : "If this is not intended, use the sluice table with nft.bypass: yes. In a chain with "
                          "other rules, bypass would skip them.",
                    "the kernel drops queued packets while there is no listener"),
                feed->rule);
    }
    for (const struct netrules_rule *rule = NULL; (rule = netrules_next_rule(context->ruleset, rule));) {
        const struct netrules_queue *queue = &rule->queue;
        const struct doctor_listener *listener = listener_of(context, queue->first);

        if (rule->verdict != NETRULES_QUEUE || is_next_queue(context, rule) ||
            (queue->first <= context->last_queue && queue->last >= context->first))
            continue;
        set_finding_rule(
            add_finding(
                context, DOCTOR_NOTE, "queue.other-user",
                "The other program's verdict accept passes the packet to the next base chain, Sluice's "
                "if that is later; its verdict repeat traverses the chain again.",
                "None, as long as the queue numbers differ. To pass packets through both programs, see mode route.",
                "another program uses %s (%s)", queues_text(context, queue->first, queue->last),
                !listener        ? "no listener"
                : listener->name ? listener->name
                                 : "process of another namespace"),
            rule);
    }
}

/* --- Listeners -------------------------------------------------------------------------------------- */

/* Reports a queue that receives at least MOST_PERCENT of the packets of all queues. */
static void check_load(struct context *context)
{
    const struct doctor_listener *most = NULL;
    uint64_t sum = 0;

    for (unsigned queue = context->first; queue <= context->last_queue; queue++) {
        const struct doctor_listener *listener = listener_of(context, queue);

        sum += listener ? listener->delivered : 0;
        if (listener && (!most || listener->delivered > most->delivered))
            most = listener;
    }
    if (context->first == context->last_queue || !most || sum < ENOUGH_PACKETS ||
        (uint64_t)most->delivered * 100 < sum * MOST_PERCENT)
        return;
    add_finding(context, DOCTOR_WARNING, "queue.one-loaded",
                "One worker does nearly all the work: with the hash over addresses, all traffic between "
                "two hosts goes to one queue.",
                "Distribute by `symhash mod N` (nft.expression: native), or by a jhash of `ct original` "
                "addresses and ports.",
                "queue %u receives %u%% of the packets of %s", (unsigned)most->queue,
                (unsigned)((uint64_t)most->delivered * 100 / sum),
                queues_text(context, context->first, context->last_queue));
}

void check_listeners(struct context *context)
{
    /* queues to which Sluice routes accepted packets (mode route) */
    for (unsigned i = 0; i < context->input->next_count; i++) {
        const struct doctor_next_queue *next = &context->input->next[i];

        if (listener_of(context, next->queue))
            continue;
        add_finding(context, next->bypass ? DOCTOR_WARNING : DOCTOR_BROKEN, "route.no-listener",
                    next->bypass
                        ? "Because of queue.route-bypass, packets that Sluice accepts pass without the next consumer."
                        : "Without queue.route-bypass the kernel drops every packet that Sluice accepts.",
                    next->bypass ? "Start the program that reads this queue."
                                 : "Start the program that reads this queue, or set queue.route-bypass: yes.",
                    "accepted packets are routed to queue %u, which has no listener", (unsigned)next->queue);
    }
    /* report each range of queue numbers without a listener */
    for (const struct feed *feed = context->feeds; feed; feed = feed->next) {
        bool bypass = feed->rule->queue.bypass;
        unsigned last = feed->rule->queue.last, ranges = 0;

        if (feed->rule->queue.unknown || is_repeated(context, feed))
            continue;
        for (unsigned queue = feed->rule->queue.first; queue <= last && ranges < MAX_RANGES; queue++) {
            unsigned first = queue;

            while (queue <= last && !listener_of(context, queue))
                queue++;
            if (queue == first)
                continue;
            set_finding_rule(
                add_finding(context, bypass ? DOCTOR_WARNING : DOCTOR_BROKEN, "queue.no-listener",
                            bypass ? "Because of bypass, packets pass uninspected."
                                   : "Without bypass the kernel drops every packet that matches this rule.",
                            "Start the daemon with all these queue numbers: `sluice run --queue FIRST-LAST`.",
                            "%s: no listener", queues_text(context, first, queue - 1)),
                feed->rule);
            ranges++;
        }
    }
    for (const struct doctor_listener *listener = context->host->listeners; listener; listener = listener->next) {
        struct doctor_finding *finding;

        if (listener->queue < context->first || listener->queue > context->last_queue)
            continue;
        if (listener->name && strncmp(listener->name, "sluice", strlen("sluice")) != 0) {
            finding = add_finding(
                context, DOCTOR_BROKEN, "queue.foreign-listener",
                "A queue has only one listener. That program receives the packets, and Sluice cannot open the queue.",
                "Choose other queue numbers for Sluice (queue.numbers), or stop that program.",
                "queue %u is in use by %s (%u)", (unsigned)listener->queue, listener->name, listener->process);
            finding->other = arena_printf(context->arena, "process %u (%s)", listener->process, listener->name);
            context->failed |= !finding->other;
        }
        if (listener->dropped)
            add_finding(context, DOCTOR_NOTE, "queue.dropped",
                        "The queue or its socket buffer was full: the kernel has dropped these packets since the "
                        "queue was opened.",
                        "Configure more queues (queue.numbers), a longer queue (queue.length) or a larger buffer "
                        "(queue.receive-buffer).",
                        "queue %u has dropped %u packets", (unsigned)listener->queue, listener->dropped);
    }
    check_load(context);
}
