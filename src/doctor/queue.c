/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The queues: how rules feed them, what happens without a listener, who listens, who else uses queues. */
#include <linux/netfilter.h>
#include <string.h>

#include "doctor_priv.h"

enum { ENOUGH_PACKETS = 1000, MOST_PERCENT = 90, MAX_RANGES = 64 };

/* --- In a chain with others' rules ---------------------------------------------------------------- */

struct shared {
    struct patient *patient;
    const struct feed *feed;
    size_t rules, drops; /* behind ours */
    bool told;
};

static void count_behind(const struct step *step, void *user)
{
    struct shared *shared = user;

    shared->rules++;
    shared->drops += step->drops;
}

#define OWN_CHAIN                                                                                                      \
    "Give Sluice its own base chain behind those of the firewall, where neither can skip it: `sluice nft install "     \
    "--mode after`."

bool repeats(const struct patient *patient, const struct netrules_rule *rule)
{
    for (const struct netrules_mark *mark = rule->marks; mark && patient->mark_mask; mark = mark->next)
        if (mark->kind == NETRULES_PACKET_MARK && mark->use == NETRULES_MARK_MATCH && mark->mask == patient->mark_mask)
            return true;
    return patient->input->repeats;
}

/* What is skipped: with bypass when nobody listens, and by an accept always but in repeat mode. */
static void report_shared(struct shared *shared, const struct netrules_chain *base, bool always)
{
    const struct netrules_rule *rule = shared->feed->rule;
    bool denies = shared->drops > 0 || base->policy == NETRULES_DROP;
    enum doctor_severity severity = denies ? DOCTOR_BROKEN : DOCTOR_WARNING;
    const char *policy = base->policy == NETRULES_DROP ? ", and the policy drop" : "";

    if ((!denies && shared->rules == 0) || (!always && replaces_accept(shared->patient, rule)))
        return;
    if (rule->queue.bypass)
        about_rule(
            find_out(
                shared->patient, severity, "queue.bypass-shared",
                "When nobody listens, or with fail-open when the queue is full, the kernel accepts the packet for "
                "the rest of this base chain: bypass does not turn off the inspection only, it opens the firewall.",
                OWN_CHAIN, "bypass skips the rules behind the queue in %s %s: %zu, of them %zu that deny%s",
                base->table->name, base->name, shared->rules, shared->drops, policy),
            rule);
    if (!repeats(shared->patient, rule))
        about_rule(
            find_out(shared->patient, severity, "queue.accept-shared",
                     "A packet that Sluice accepts leaves the base chain: the rules behind the queue are never asked "
                     "for it, whatever they deny.",
                     OWN_CHAIN " Or let accepted packets come back with a mark (queue.verdict repeat).",
                     "an accepted packet skips the rules behind the queue in %s %s: %zu, of them %zu that deny%s",
                     base->table->name, base->name, shared->rules, shared->drops, policy),
            rule);
}

static void check_shared_base(const struct netrules_chain *base, void *user)
{
    struct shared *shared = user;
    struct way way = { .base = base, .goal = shared->feed->rule, .behind = count_behind, .user = shared };

    shared->rules = shared->drops = 0;
    if (walk(shared->patient->ruleset, &way))
        shared->patient->failed = true;
    else
        report_shared(shared, base, way.always);
}

/* --- How it spreads ------------------------------------------------------------------------------- */

static void check_spread(struct patient *patient, const struct feed *feed)
{
    const struct netrules_rule *rule = feed->rule;
    bool native = !strstr(rule->text, "NFQUEUE");

    switch (rule->queue.spread) {
    case NETRULES_SPREAD_CPU:
        about_rule(
            find_out(
                patient, DOCTOR_WARNING, "queue.fanout",
                "The queue is chosen by the CPU that has the packet: the two directions of a connection, and after "
                "a move of interrupts its packets, go to different workers, which see half of it each.",
                "Leave out fanout: `queue flags bypass to symhash mod N`, or --queue-balance without "
                "--queue-cpu-fanout.",
                "the queue is chosen by CPU"),
            rule);
        break;
    case NETRULES_SPREAD_OTHER:
        about_rule(
            find_out(patient, DOCTOR_WARNING, "queue.not-by-flow",
                     "The queue must be the same for all packets of a connection in both directions; a counter, a "
                     "random number or a hash of the packet's own fields is not.",
                     "Spread by `symhash mod N`, or by a jhash of `ct original` addresses and ports.",
                     "the queue is not chosen by connection"),
            rule);
        break;
    case NETRULES_SPREAD_ADDRESSES:
        about_rule(
            find_out(patient, DOCTOR_NOTE, "queue.by-addresses",
                     "The kernel's own hash takes addresses only: everything between two hosts is in one queue and has "
                     "one worker. Behind a proxy, a tunnel or NAT that may be nearly all there is.",
                     native
                         ? "Use `queue flags bypass to symhash mod N`, which takes ports too."
                         : "Use nft's own queue expression where the kernel has it (module nft_queue): nft.expression.",
                     "packets are spread by their addresses alone"),
            rule);
        break;
    default:
        break;
    }
}

static void check_bypass(struct patient *patient, const struct feed *feed)
{
    if (feed->rule->queue.bypass)
        return;
    about_rule(
        find_out(patient, patient->input->bypass_given && patient->input->options.bypass ? DOCTOR_WARNING : DOCTOR_NOTE,
                 "queue.no-bypass",
                 "When the daemon is not there, every packet that this rule takes is dropped: nothing passes "
                 "uninspected, and nothing passes at all.",
                 feed->own ? "That is nft.bypass: no. With bypass packets go on; in our own table that opens nothing."
                           : "If that is not meant, use an own table with bypass; in a chain with other rules bypass "
                             "would skip them.",
                 "without a listener the queue drops"),
        feed->rule);
}

/* --- Others' queues ------------------------------------------------------------------------------- */

static const struct netrules_holder *holder_of(const struct patient *patient, unsigned queue)
{
    for (const struct netrules_holder *holder = patient->ruleset->holders; holder; holder = holder->next)
        if (holder->queue == queue)
            return holder;
    return NULL;
}

static void check_second_user(struct patient *patient, const struct feed *feed)
{
    if (!patient->own || feed->own)
        return;
    about_rule(
        find_out(patient, DOCTOR_WARNING, "queue.second-rule",
                 "Packets that both take are inspected twice, at two places; others come to us from a place where the "
                 "firewall has not decided, and what we accept skips the rest of that chain.",
                 "Give one of them other numbers, or delete the rule.",
                 "a rule outside of our table sends packets to %s",
                 queues_text(patient, feed->rule->queue.first, feed->rule->queue.last)),
        feed->rule);
}

static void check_other_user(struct patient *patient, const struct netrules_rule *rule)
{
    const struct netrules_queue *queue = &rule->queue;
    const struct netrules_holder *holder = holder_of(patient, queue->first);

    if (rule->verdict != NETRULES_QUEUE || is_next_queue(patient, rule) ||
        (queue->first <= patient->last_queue && queue->last >= patient->first))
        return;
    about_rule(
        find_out(
            patient, DOCTOR_NOTE, "queue.other-user",
            "Its verdict accept lets the packet go on to the next base chain, ours if that comes behind; a verdict "
            "repeat runs its own chain again.",
            "None as long as the numbers differ. Where a packet is to pass both, see mode route.",
            "another consumer has %s (%s)", queues_text(patient, queue->first, queue->last),
            !holder        ? "nobody listens"
            : holder->name ? holder->name
                           : "of another namespace"),
        rule);
}

/* The same rule in a chain of another hook says nothing new of its queue. */
static bool is_repeated(const struct patient *patient, const struct feed *feed)
{
    for (const struct feed *earlier = patient->feeds; earlier != feed; earlier = earlier->next)
        if (earlier->rule->chain->table == feed->rule->chain->table && earlier->own == feed->own &&
            strcmp(earlier->rule->text, feed->rule->text) == 0)
            return true;
    return false;
}

void check_queues(struct patient *patient)
{
    for (const struct feed *feed = patient->feeds; feed; feed = feed->next) {
        struct shared shared = { .patient = patient, .feed = feed };

        if (!feed->own && each_base(patient->ruleset, feed->rule, check_shared_base, &shared))
            patient->failed = true;
        check_second_user(patient, feed);
        if (is_repeated(patient, feed))
            continue;
        check_spread(patient, feed);
        check_bypass(patient, feed);
    }
    for (const struct netrules_table *table = patient->ruleset->tables; table; table = table->next)
        for (const struct netrules_chain *chain = table->chains; chain; chain = chain->next)
            for (const struct netrules_rule *rule = chain->rules; rule; rule = rule->next)
                check_other_user(patient, rule);
}

/* --- Who listens ---------------------------------------------------------------------------------- */

static bool is_fed(const struct feed *feed, unsigned queue)
{
    return !feed->rule->queue.unknown && feed->rule->queue.first <= queue && queue <= feed->rule->queue.last;
}

static bool is_deaf(const struct patient *patient, const struct feed *feed, unsigned queue)
{
    return is_fed(feed, queue) && !holder_of(patient, queue);
}

static void report_deaf(struct patient *patient, const struct feed *feed, unsigned first, unsigned last)
{
    bool bypass = feed->rule->queue.bypass;

    about_rule(find_out(patient, bypass ? DOCTOR_WARNING : DOCTOR_BROKEN, "queue.no-listener",
                        bypass ? "With bypass the packets go on, uninspected."
                               : "Without bypass the kernel drops every packet that this rule takes.",
                        "Start the daemon, with all of these numbers: `sluice run --queue FIRST-LAST`.",
                        "nobody listens on %s", queues_text(patient, first, last)),
               feed->rule);
}

/* Runs of numbers that nobody has. */
static void check_deaf(struct patient *patient, const struct feed *feed)
{
    unsigned last = feed->rule->queue.last, ranges = 0;

    for (unsigned queue = feed->rule->queue.first; queue <= last && ranges < MAX_RANGES; queue++) {
        unsigned first = queue;

        while (queue <= last && is_deaf(patient, feed, queue))
            queue++;
        if (queue == first)
            continue;
        report_deaf(patient, feed, first, queue - 1);
        ranges++;
    }
}

static bool is_ours(const struct netrules_holder *holder)
{
    return !holder->name || strncmp(holder->name, "sluice", strlen("sluice")) == 0;
}

static void check_holder(struct patient *patient, const struct netrules_holder *holder)
{
    struct doctor_finding *finding;

    if (holder->queue < patient->first || holder->queue > patient->last_queue || is_ours(holder))
        return;
    finding = find_out(patient, DOCTOR_BROKEN, "queue.foreign-listener",
                       "A queue has one listener. The packets go to that program, and Sluice can't have the number.",
                       "Give Sluice other numbers (queue.numbers), or stop that program.",
                       "queue %u is held by %s (%u)", (unsigned)holder->queue, holder->name, holder->process);
    finding->other = arena_printf(patient->arena, "process %u (%s)", holder->process, holder->name);
    patient->failed |= !finding->other;
}

/* Nearly all packets in one of several queues. */
static void check_load(struct patient *patient)
{
    const struct netrules_holder *most = NULL;
    uint64_t sum = 0;

    for (unsigned queue = patient->first; queue <= patient->last_queue; queue++) {
        const struct netrules_holder *holder = holder_of(patient, queue);

        sum += holder ? holder->delivered : 0;
        if (holder && (!most || holder->delivered > most->delivered))
            most = holder;
    }
    if (patient->first == patient->last_queue || !most || sum < ENOUGH_PACKETS ||
        (uint64_t)most->delivered * 100 < sum * MOST_PERCENT)
        return;
    find_out(patient, DOCTOR_WARNING, "queue.one-loaded",
             "One worker does all the work: with the hash by addresses everything between two hosts is in one queue.",
             "Spread by `symhash mod N` (nft.expression native), or by a jhash of `ct original` addresses and ports.",
             "queue %u has %u%% of the packets of %s", (unsigned)most->queue,
             (unsigned)((uint64_t)most->delivered * 100 / sum),
             queues_text(patient, patient->first, patient->last_queue));
}

static void check_full(struct patient *patient, const struct netrules_holder *holder)
{
    if (holder->dropped && holder->queue >= patient->first && holder->queue <= patient->last_queue)
        find_out(patient, DOCTOR_NOTE, "queue.dropped",
                 "The queue was full, or its socket was: since it was opened the kernel dropped these packets.",
                 "More queues (queue.numbers), a longer one (queue.length), a larger buffer (queue.receive-buffer).",
                 "queue %u has dropped %u packets", (unsigned)holder->queue, holder->dropped);
}

/* Every packet that Sluice accepts goes to the next consumer. */
static void check_next_queue(struct patient *patient, const struct doctor_next_queue *next)
{
    if (holder_of(patient, next->queue))
        return;
    find_out(patient, next->bypass ? DOCTOR_WARNING : DOCTOR_BROKEN, "route.no-listener",
             next->bypass
                 ? "With queue.route-bypass the packets that Sluice accepts go on; the next consumer sees none of them."
                 : "Without queue.route-bypass the kernel drops every packet that Sluice accepts.",
             next->bypass ? "Start the program that reads that queue."
                          : "Start the program that reads that queue, or set queue.route-bypass: yes.",
             "accepted packets are routed to queue %u, on which nobody listens", (unsigned)next->queue);
}

void check_listeners(struct patient *patient)
{
    for (unsigned i = 0; i < patient->input->next_count; i++)
        check_next_queue(patient, &patient->input->next[i]);
    for (const struct feed *feed = patient->feeds; feed; feed = feed->next)
        if (!feed->rule->queue.unknown && !is_repeated(patient, feed))
            check_deaf(patient, feed);
    for (const struct netrules_holder *holder = patient->ruleset->holders; holder; holder = holder->next) {
        check_holder(patient, holder);
        check_full(patient, holder);
    }
    check_load(patient);
}
