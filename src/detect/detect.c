/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inspection of a packet: scans the payload, the new stream data and the other buffers with a prefilter, adds the rules
 * without a literal, sorts the candidates, and evaluates them.
 */
#include <errno.h>
#include <hs.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "detect_priv.h"
#include "filter.h"
#include "sluice/pcre_scratch.h"
#include "sluice/transform.h"

int detector_new(struct detector **out, const struct detector_options *options)
{
    const struct pcre_limits limits = { options->pcre_match_limit, options->pcre_depth_limit };
    struct detector *detector = calloc(1, sizeof(*detector));

    if (!detector)
        return -ENOMEM;
    detector->guess_transactions = options->guess_transactions;
    detector->limits_match = options->limits_match;
    detector->guess_limit = options->guess_limit;
    memcpy(detector->stream_inspection_window, options->stream_inspection_window,
           sizeof(detector->stream_inspection_window));
    detector->pcre = pcre_scratch_new(&limits);
    detector->transforms = transform_scratch_new();
    detector->frame_bytes = malloc(FRAME_PIECE_MAX);
    detector->frame_payloads = malloc(FRAME_PAYLOADS);
    if (!detector->pcre || !detector->transforms || !detector->frame_bytes || !detector->frame_payloads ||
        budget_new(&detector->budget, &options->budget) ||
        script_reports_new(&detector->script_reports, &detector->counters.scripts) ||
        pool_new(&detector->pending, sizeof(struct flow_detection), options->flow_memcap) ||
        pool_new(&detector->transactions, sizeof(struct app_detection), options->transaction_memcap)) {
        detector_free(detector);
        return -ENOMEM;
    }
    *out = detector;
    return 0;
}

void detector_trim(struct detector *detector)
{
    pool_trim(detector->pending);
    pool_trim(detector->transactions);
}

void detector_free(struct detector *detector)
{
    if (!detector)
        return;
    if (detector->scratch)
        hs_free_scratch(detector->scratch);
    pcre_scratch_free(detector->pcre);
    pool_free(detector->pending);
    pool_free(detector->transactions);
    transform_scratch_free(detector->transforms);
    budget_free(detector->budget);
    free(detector->frame_bytes);
    free(detector->frame_payloads);
    script_states_free(detector->scripts);
    script_reports_free(detector->script_reports);
    candidates_free(&detector->candidates);
    free(detector->hits);
    free(detector->hit_signatures);
    free(detector);
}

static int grow_scratch(void *scratch, const struct prefilter_use *use)
{
    return prefilter_grow_scratch(use->prefilter, scratch);
}

static void memory_clear(struct detector_memory *memory)
{
    if (memory->scratch)
        hs_free_scratch(memory->scratch);
    candidates_free(&memory->candidates);
    free(memory->hits);
    free(memory->hit_signatures);
    script_states_free(memory->scripts);
    *memory = (struct detector_memory){ .scratch = NULL };
}

static int memory_init(struct detector_memory *memory, const struct ruleset *ruleset)
{
    uint32_t count = ruleset->signature_count + DETECT_MORE_HITS;
    int err = -ENOMEM;

    *memory = (struct detector_memory){
        .prepared_for = ruleset,
        .capacity = count,
        .hits = calloc(count, sizeof(*memory->hits)),
        .hit_signatures = calloc(count, sizeof(*memory->hit_signatures)),
    };
    if (memory->hits && memory->hit_signatures && !candidates_init(&memory->candidates, ruleset->signature_count))
        err = ruleset_visit_prefilters(ruleset, grow_scratch, &memory->scratch);
    if (!err)
        err = script_states_new(&memory->scripts, rule_list_scripts(ruleset->rules));
    if (err)
        memory_clear(memory);
    return err;
}

int detector_memory_new(struct detector_memory **out, const struct ruleset *ruleset)
{
    struct detector_memory *memory = malloc(sizeof(*memory));
    int err = memory ? memory_init(memory, ruleset) : -ENOMEM;

    if (err)
        free(memory);
    else
        *out = memory;
    return err;
}

void detector_memory_free(struct detector_memory *memory)
{
    if (!memory)
        return;
    memory_clear(memory);
    free(memory);
}

void detector_switch(struct detector *detector, struct detector_memory *memory)
{
    const struct detector_memory before = {
        .prepared_for = detector->prepared_for,
        .scratch = detector->scratch,
        .candidates = detector->candidates,
        .hits = detector->hits,
        .hit_signatures = detector->hit_signatures,
        .capacity = detector->capacity,
        .scripts = detector->scripts,
    };

    detector->prepared_for = memory->prepared_for;
    detector->scratch = memory->scratch;
    detector->candidates = memory->candidates;
    detector->hits = memory->hits;
    detector->hit_signatures = memory->hit_signatures;
    detector->capacity = memory->capacity;
    detector->scripts = memory->scripts;
    script_states_attach(detector->scripts, detector->script_reports);
    transform_scratch_set_scripts(detector->transforms, detector->scripts);
    if (detector->budget)
        budget_set_ruleset(detector->budget, detector->prepared_for);
    detector->hit_count = 0;
    *memory = before;
}

int detector_prepare(struct detector *detector, const struct ruleset *ruleset)
{
    struct detector_memory memory;
    int err = memory_init(&memory, ruleset);

    if (err)
        return err;
    detector_switch(detector, &memory);
    memory_clear(&memory);
    return 0;
}

bool detector_next_script_report(struct detector *detector, struct script_report *out)
{
    return script_reports_next(detector->script_reports, out);
}

const struct detect_counters *detector_counters(const struct detector *detector)
{
    return &detector->counters;
}

/* --- Packets -------------------------------------------------------------------------------------- */

/* Returns the packet's properties in the form of struct packet_needs. */
static inline uint64_t properties_of(const struct packet *pkt)
{
    uint64_t properties = pkt->flags | (uint64_t)pkt->protocol << PACKET_PROPERTY_PROTOCOL;

    if (pkt->protocol == IPPROTO_TCP && pkt->transport)
        properties |= (uint64_t)pkt->tcp.flags << PACKET_PROPERTY_TCP_FLAGS;
    if (pkt->ip_options_seen)
        properties |= PACKET_PROPERTY_IP_OPTIONS;
    if (pkt->reserved_fragment_bit)
        properties |= PACKET_PROPERTY_RESERVED_BIT;
    if (address_equal(&pkt->source_address, &pkt->destination_address))
        properties |= PACKET_PROPERTY_SAME_ADDRESSES;
    return properties;
}

static void update_direction(struct evaluation *ev)
{
    ev->direction = ev->input->packet->flags & PACKET_TO_CLIENT ? FLOW_TO_CLIENT : FLOW_TO_SERVER;
    ev->facts.properties = (ev->facts.properties & ~(uint64_t)UINT32_MAX) | ev->input->packet->flags;
}

/* Scans the whole inspection window again, and evaluates the candidates, if pending candidates of the flow could not be
 * stored (FLOW_RESCAN). */
static void rescan_window(struct evaluation *ev)
{
    bool chunk_only = ev->chunk_only;

    if (!ev->chunk || !(ev->input->packet->flow->flags & FLOW_RESCAN))
        return;
    collect_window(ev);
    ev->is_rescan = ev->chunk_only = true;
    evaluate_candidates(ev);
    ev->is_rescan = false;
    ev->chunk_only = chunk_only;
}

/* Clears the candidates, the payload literals that were found (payload_seen), and the result of the merged scan, before
 * the next scan. */
static void reset_candidates(struct detector *detector)
{
    candidates_clear(&detector->candidates);
    detector->payload_seen_count = 0;
    detector->payload_seen_more = false;
    detector->merged.growing = NULL;
}

/* Returns the oldest transaction that is incomplete or not completely inspected in the packet's direction; NULL:
 * none. */
static struct app_tx *current_transaction(const struct evaluation *ev)
{
    for (struct app_tx *tx = app_transactions(ev->input->packet->flow); tx; tx = tx->next) {
        if (tx->directions >> ev->direction & 1 && !tx->tentative &&
            (app_tx_needs_inspection(tx, ev->direction) || !app_tx_is_complete(tx, ev->direction)))
            return tx;
    }
    return NULL;
}

/*
 * Adds the current transaction to hits of rules without conditions on transactions, as Suricata does before it inspects
 * the packet's transactions. If detect.guess-applayer-tx is set, this is done for all rules except address-only ones,
 * over TCP only if the transaction is the newest of the flow. Otherwise it is done only over UDP, for rules with an
 * application protocol. A transaction is added to at most detect.stream-tx-log-limit alerts.
 */
static void guess_transactions(const struct evaluation *ev)
{
    struct detector *detector = ev->detector;
    const struct flow *flow = ev->input->packet->flow;
    bool is_udp = ev->input->packet->protocol == IPPROTO_UDP;
    struct app_tx *tx = NULL;

    if (!flow || !flow->app || (!is_udp && !detector->guess_transactions))
        return;
    for (uint32_t i = 0; i < detector->hit_count; i++) {
        struct hit *hit = &detector->hits[i];
        enum rule_type type = ev->ruleset->signatures[detector->hit_signatures[i]].type;

        if (hit->tx || type == RULE_TYPE_IP_ONLY ||
            !(detector->guess_transactions || (is_udp && hit->rule->applications)))
            continue;
        if (!tx)
            tx = current_transaction(ev);
        if (!tx || tx->guessed >= detector->guess_limit || (!is_udp && tx->next))
            return;
        tx->guessed++;
        hit->tx = tx;
        hit->tx_guessed = !is_udp;
    }
}

size_t detector_limited_rules(const struct detector *detector, const struct rule *const **rules)
{
    *rules = detector->limited;
    return detector->limited_count;
}

const struct rule_captures *detector_captures(const struct detector *detector)
{
    return detector->texts.count > 0 ? &detector->texts : NULL;
}

/* Begins the evaluation of a packet. */
static void begin(struct detector *detector, const struct ruleset *ruleset, const struct detect_input *in,
                  const struct stream_chunk *chunk)
{
    struct evaluation *ev = &detector->evaluation;
    struct packet *pkt = in->packet;
    bool begun = detector->begun == pkt; /* detect_hook() was called: keep its hits and its decision */

    detector->begun = NULL;
    *ev = (struct evaluation){
        .detector = detector,
        .ruleset = ruleset,
        .input = in,
        .match = { .packet = pkt,
                   .flows = in->flows,
                   .hosts = in->hosts,
                   .order = in->order,
                   .files = in->files,
                   .untracked = &detector->filter.untracked,
                   .texts = &detector->texts,
                   .scripts = detector->scripts },
        .facts = { .properties = properties_of(pkt), .payload_length = pkt->payload_length, .protocol = pkt->protocol },
        .direction = pkt->flags & PACKET_TO_CLIENT ? FLOW_TO_CLIENT : FLOW_TO_SERVER,
        .chunk = chunk,
        .chunk_only = pkt->flags & PACKET_PSEUDO,
    };
    if (!begun) {
        detector->hit_count = 0;
        detector->limited_count = 0;
        detector->frame_count = detector->frame_payloads_length = 0;
        detector->texts.count = 0;
        detector->filter.verdict = FILTER_NONE;
        detector->filter.untracked = false;
    }
    reset_candidates(detector);
    detector->payload = pkt->payload;
    detector->payload_length = pkt->payload_length;
}

/* Evaluates the firewall rules on the packet, before all other rules. Out of line: most rulesets have none. */
static __attribute__((noinline, cold)) void begin_filter(struct evaluation *ev)
{
    struct filter_decision *filter = &ev->detector->filter;

    if (filter->verdict == FILTER_NONE)
        *filter = (struct filter_decision){ .verdict = FILTER_ACCEPT };
    ev->is_filtered = filter->accept_packet || (ev->input->packet->flow && ev->input->packet->flow->accepted);
    if (!ev->is_filtered && !ev->chunk_only)
        ev->is_refused = !filter_packet(ev, FILTER_PACKET);
    if (filter->pass != RULE_SCOPE_DEFAULT && filter->verdict == FILTER_ACCEPT)
        ev->is_passed = true;
}

/* Returns whether a rule that is no firewall rule drops the packet: then the hooks of its protocol are not evaluated,
 * as in Suricata. A rule with thresholds may not drop; a pass rule before it ends the evaluation. */
static bool is_dropped(const struct evaluation *ev)
{
    const struct detector *detector = ev->detector;

    for (uint32_t i = 0; i < detector->hit_count && ev->input->filter == DETECT_FILTER_ENFORCE; i++) {
        const struct rule *rule = detector->hits[i].rule;

        if (rule->firewall || rule->action == ACTION_ALERT)
            continue;
        return rule_action_drops(rule->action) && !rule->thresholds && !rule->alert_only;
    }
    return false;
}

/* Evaluates the firewall rules on the transactions of the packet. Returns false if no other rules are to be evaluated
 * on them. */
static __attribute__((noinline, cold)) bool filter_changed_transactions(struct evaluation *ev)
{
    const struct packet *pkt = ev->input->packet;
    const struct filter_decision *filter = &ev->detector->filter;

    bool is_stopped = ev->is_refused || (!ev->is_filtered && is_dropped(ev));

    if (!is_stopped)
        is_stopped = ev->is_refused = !filter_transactions(ev);
    ev->is_passed |= filter->pass != RULE_SCOPE_DEFAULT && filter->verdict == FILTER_ACCEPT;
    /* The next datagram is another message; in TCP, a retransmission is the same one. */
    if (pkt->flow && pkt->flow->app && (is_stopped ? pkt->protocol != IPPROTO_TCP : ev->is_passed))
        app_skip_inspection(pkt->flow);
    return !is_stopped && !ev->is_passed;
}

static void evaluate_transactions(struct evaluation *ev)
{
    if (ev->detector->filter.verdict != FILTER_NONE && !filter_changed_transactions(ev))
        return;
    detect_transactions(ev);
}

bool detect_hook(struct detector *detector, const struct ruleset *ruleset, const struct detect_input *in,
                 enum filter_packet_hook hook)
{
    struct evaluation *ev = &detector->evaluation;
    bool passes = true;

    begin(detector, ruleset, in, NULL);
    if (ruleset->filter && in->filter != DETECT_FILTER_OFF) {
        if (detector->filter.verdict == FILTER_NONE)
            detector->filter = (struct filter_decision){ .verdict = FILTER_ACCEPT };
        passes = detector->filter.accept_packet || filter_packet(ev, hook);
        detector->filter.accept_packet |= ev->is_filtered;
    }
    if (passes)
        filter_early_rules(ev, hook);
    detector->begun = in->packet;
    return passes;
}

void detect_abandon(struct detector *detector)
{
    detector->begun = NULL;
}

const struct filter_decision *detector_filter(const struct detector *detector)
{
    return &detector->filter;
}

void detect_packet(struct detector *detector, const struct ruleset *ruleset, const struct detect_input *in,
                   const struct stream_chunk *chunk)
{
    struct evaluation *ev = &detector->evaluation;
    struct packet *pkt = in->packet;

    begin(detector, ruleset, in, chunk);
    ev->is_passed = in->filter_only;
    if (ruleset->filter && in->filter != DETECT_FILTER_OFF)
        begin_filter(ev);
    if (!ev->is_refused && !ev->is_passed) {
        if (chunk)
            collect_chunk(ev);
        if (!ev->chunk_only)
            collect_packet(ev);
        evaluate_candidates(ev);
        rescan_window(ev);
        if (detector->hit_count > 0)
            guess_transactions(ev);
        if (ruleset->frames)
            detect_frames(ev);
    }
    evaluate_transactions(ev);
    if (pkt->flags & PACKET_EITHER_DIRECTION) {
        /* A datagram of ambiguous direction is also evaluated for the opposite direction. A rule that matches in both
         * directions has one hit. */
        pkt->flags ^= PACKET_TO_CLIENT;
        update_direction(ev);
        ev->is_reversed = true;
        reset_candidates(detector);
        if (!ev->is_refused && !ev->is_passed) {
            collect_packet(ev);
            evaluate_candidates(ev);
            if (ruleset->frames)
                detect_frames(ev);
        }
        evaluate_transactions(ev);
        pkt->flags ^= PACKET_TO_CLIENT;
        update_direction(ev);
    }
    ev->chunk_only = true;
}

void detect_chunk(struct detector *detector, const struct stream_chunk *chunk)
{
    struct evaluation *ev = &detector->evaluation;

    ev->chunk = chunk;
    update_direction(ev); /* the parser may have reversed the flow's direction */
    reset_candidates(detector);
    if (!ev->is_refused && !ev->is_passed) {
        collect_chunk(ev);
        evaluate_candidates(ev);
        rescan_window(ev);
        if (detector->hit_count > 0)
            guess_transactions(ev);
        if (ev->ruleset->frames)
            detect_frames(ev);
    }
    evaluate_transactions(ev);
}

void detect_reading(struct detector *detector, const struct stream_chunk *reading)
{
    struct evaluation *ev = &detector->evaluation;

    if (ev->is_refused || ev->is_passed)
        return;
    ev->chunk = reading;
    ev->is_rescan = true;
    reset_candidates(detector);
    collect_reading(ev);
    evaluate_candidates(ev);
    ev->is_rescan = false;
}

/* Sets the packet event for rules that reached a limit. Evaluates the rules that require this event, except for a
 * pseudo packet. */
static __attribute__((noinline, cold)) void report_limits(struct evaluation *ev)
{
    struct packet *pkt = ev->input->packet;

    if (packet_has_event(pkt, APP_LAYER_LIMIT))
        return;
    packet_add_event(pkt, APP_LAYER_LIMIT);
    if (pkt->flags & PACKET_PSEUDO)
        return;
    ev->chunk = NULL;
    ev->chunk_only = false;
    reset_candidates(ev->detector);
    collect_event(ev, APP_LAYER_LIMIT);
    evaluate_candidates(ev);
}

size_t detect_finish(struct detector *detector, const struct hit **hits)
{
    if (detector->limited_count > 0)
        report_limits(&detector->evaluation);
    detector->counters.matches += detector->hit_count;
    *hits = detector->hits;
    return detector->hit_count;
}
