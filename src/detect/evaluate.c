/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Evaluates candidates: header, packet and flow conditions, buffers, cheapest first.
 *
 * Contents without a buffer keyword are matched in the stream: in the new bytes and the preceding history, so that a
 * content may span segments. A rule whose contents count from the start (offset, depth) is evaluated on the packet,
 * and on the stream only while the inspection window begins at the stream's start.
 */
#include <netinet/in.h>
#include <string.h>

#include "detect_priv.h"
#include "inspect.h"
#include "sluice/pcre_scratch.h"
#include "sluice/transform.h"

/* Sorts the candidates; without literal matches they are sorted already. Uses Shell's sort with Ciura's gaps, for a
 * handful up to some hundreds: for the latter, qsort() allocates memory. */
static void sort_indices(uint32_t *candidates, uint32_t count)
{
    enum { FEW = 5, LAST = 8 }; /* below gaps[FEW] candidates, one insertion pass is enough */
    static const uint32_t gaps[LAST + 1] = { 1750, 701, 301, 132, 57, 23, 10, 4, 1 };
    uint32_t ordered = 1;

    while (ordered < count && candidates[ordered - 1] <= candidates[ordered])
        ordered++;
    if (ordered >= count)
        return;
    for (size_t g = count < gaps[FEW] ? LAST : 0; g <= LAST; g++) {
        uint32_t gap = gaps[g];

        for (uint32_t i = gap; i < count; i++) {
            uint32_t value = candidates[i], k = i;

            for (; k >= gap && candidates[k - gap] > value; k -= gap)
                candidates[k] = candidates[k - gap];
            candidates[k] = value;
        }
    }
}

void evaluate_sort(struct detector *detector)
{
    sort_indices(detector->candidates, detector->candidate_count);
}

/* Each loop reads what the previous one has prefetched. */
void evaluate_fetch(const struct evaluation *ev)
{
    enum { MOST = 32, LINE = 64 };
    const struct detector *detector = ev->detector;
    const struct check *checks = ev->ruleset->checks;
    uint32_t count = detector->candidate_count < MOST ? detector->candidate_count : MOST;

    for (uint32_t i = 0; i < count; i++) {
        const char *check = (const char *)&checks[detector->candidates[i]];

        for (size_t at = 0; at < sizeof(*checks); at += LINE)
            __builtin_prefetch(check + at);
    }
    for (uint32_t i = 0; i < count; i++) {
        __builtin_prefetch(checks[detector->candidates[i]].plans);
        __builtin_prefetch(checks[detector->candidates[i]].buffers);
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct check *check = &checks[detector->candidates[i]];

        if (check->plans)
            __builtin_prefetch(check->plans->access);
        if (check->buffers)
            __builtin_prefetch(check->buffers->conditions);
    }
}

/* --- Header --------------------------------------------------------------------------------------- */

static bool protocol_matches(const struct check *check, const struct packet *pkt)
{
    if (pkt->ip_version == 0)
        return check->any_packet;
    if (!(pkt->ip_version == 4 ? check->ipv4 : check->ipv6))
        return false;
    if (check->any_protocol)
        return true;
    if (check->one_protocol)
        return check->protocol == pkt->protocol;
    return check->rule->protocol.ip_protocols[pkt->protocol / 64] >> (pkt->protocol % 64) & 1;
}

/* The ports of a fragment are unknown: a rule with a port does not match it. */
static bool port_matches(const struct port_set *set, const struct packet *pkt, uint16_t port)
{
    return !set || (!(pkt->flags & PACKET_FRAGMENT) && port_set_has(set, port));
}

static bool ends_match(const struct check *check, const struct packet *pkt, bool swapped)
{
    const struct address_set *source = swapped ? check->destination : check->source;
    const struct address_set *destination = swapped ? check->source : check->destination;

    return port_matches(swapped ? check->destination_port : check->source_port, pkt, pkt->source_port) &&
           port_matches(swapped ? check->source_port : check->destination_port, pkt, pkt->destination_port) &&
           (!source || address_set_has(source, pkt->ip_version, &pkt->source_address)) &&
           (!destination || address_set_has(destination, pkt->ip_version, &pkt->destination_address));
}

static bool asks_same_ends(const struct check *one, const struct check *other)
{
    return one->source == other->source && one->destination == other->destination &&
           one->source_port == other->source_port && one->destination_port == other->destination_port;
}

/* Most rules are from $HOME_NET to $EXTERNAL_NET or vice versa: the result of the previous comparison is reused. */
static bool direction_matches(struct evaluation *ev, const struct check *check, bool swapped)
{
    struct asked_ends *before = &ev->asked_ends[swapped];

    if (!before->by || !asks_same_ends(before->by, check))
        *before = (struct asked_ends){ check, ends_match(check, ev->input->packet, swapped) };
    return before->match;
}

/* Whether the flow's protocol is one of the rule's. */
static bool application_matches(const struct check *check, const struct packet *pkt)
{
    return pkt->flow && check->applications & app_protocols(pkt->flow);
}

bool evaluate_header(struct evaluation *ev, const struct check *check)
{
    const struct packet *pkt = ev->input->packet;

    if (!protocol_matches(check, pkt))
        return false;
    if (check->applications && !check->of_transaction && !application_matches(check, pkt))
        return false;
    if (check->transactional)
        return check->any_ends || direction_matches(ev, check, ev->direction == FLOW_TO_CLIENT);
    return check->any_ends || direction_matches(ev, check, false) ||
           (check->bidirectional && direction_matches(ev, check, true));
}

/* --- Buffers -------------------------------------------------------------------------------------- */

static bool inspect_part(const struct inspection *inspection, uint32_t from, uint32_t length,
                         const struct condition *conditions)
{
    struct inspection part = *inspection;

    part.steps_left = INSPECT_STEPS;
    part.texts = NULL;
    part.data += from;
    part.length = length;
    return inspect_buffer(&part, conditions);
}

/* Whether the rule may have matched before in bytes that are still in the inspection window. */
static bool may_be_old(const struct evaluation *ev, const struct check *check)
{
    if (ev->view->is_reading)
        return true;
    if (check->has_literal)
        return ev->again; /* otherwise its literal is in the chunk, or the rule is pending */
    return ev->input->packet->flow->flags & FLOW_RESCAN ||
           waiting_is_muted(ev, (uint32_t)(check - ev->ruleset->checks));
}

/* Whether a match in the window also exists without the chunk, and not in the chunk alone. */
static bool is_old(const struct evaluation *ev, const struct check *check, const struct inspection *inspection,
                   uint32_t view_at, const struct condition *conditions)
{
    return may_be_old(ev, check) && inspect_part(inspection, 0, view_at, conditions) &&
           !inspect_part(inspection, view_at, inspection->length - view_at, conditions);
}

/* Matches the payload conditions in the stream's inspection window. */
static bool matches_stream(struct evaluation *ev, const struct check *check, struct inspection *inspection,
                           const struct condition *conditions)
{
    uint32_t view_at;
    uint64_t offset = stream_window(ev->input->stream, ev->input->packet->flow, ev->direction, ev->view,
                                    &inspection->data, &inspection->length, &view_at);
    struct inspection start = *inspection;

    if (check->scope == SCOPE_BOTH && offset > 0)
        return false;
    inspection->start_is_cut = offset > 0;
    inspection->end_is_cut = !ev->view->end;
    ev->match.in_stream = inspect_buffer(inspection, conditions) && !is_old(ev, check, &start, view_at, conditions);
    return ev->match.in_stream;
}

static bool matches_packet(struct evaluation *ev, const struct check *check, struct inspection *inspection,
                           const struct condition *conditions)
{
    const struct packet *pkt = ev->input->packet;

    if (ev->view_only || !packet_has_payload(pkt))
        return false;
    if (check->scope == SCOPE_STREAM && pkt->flags & PACKET_STREAM_ADDED && !pkt->new_data)
        return false;
    inspection->data = pkt->payload;
    inspection->length = pkt->payload_length;
    inspection->start_is_cut = inspection->end_is_cut = false;
    if (!inspect_buffer(inspection, conditions))
        return false;
    /* a rewritten retransmission contains the stream's bytes */
    ev->match.in_stream = check->scope == SCOPE_STREAM && pkt->new_data;
    return true;
}

bool evaluate_payload(struct evaluation *ev, const struct check *check, struct inspection *inspection,
                      const struct condition *conditions)
{
    uint32_t steps = inspection->steps_left;

    if (ev->view && check->scope != SCOPE_PACKET && matches_stream(ev, check, inspection, conditions))
        return true;
    inspection->steps_left = steps;
    return matches_packet(ev, check, inspection, conditions);
}

bool evaluate_packet_buffer(struct evaluation *ev, struct inspection *inspection, const struct rule_buffer *buffer)
{
    const uint8_t *bytes = buffer->keyword->buffer(&ev->match, &inspection->length);

    transform_scratch_reset(inspection->transforms);
    for (const struct condition *t = buffer->transforms; t && bytes; t = t->next) {
        if (!t->keyword->transform(inspection->transforms, bytes, inspection->length, t->data, &bytes,
                                   &inspection->length))
            bytes = NULL;
    }
    if (!bytes)
        return buffer->absence != BUFFER_PRESENT;
    if (buffer->absence == BUFFER_ABSENT)
        return false;
    inspection->data = bytes;
    inspection->start_is_cut = inspection->end_is_cut = false;
    inspection->steps_left = INSPECT_STEPS;
    return inspect_buffer(inspection, buffer->conditions);
}

/* Clears all but the search results of earlier inspections, which are long and are reset for each buffer. */
void inspection_begin(struct inspection *inspection, const struct evaluation *ev)
{
    memset(inspection, 0, offsetof(struct inspection, searches));
    inspection->input = &ev->match;
    inspection->limits = &ev->detector->limits;
    inspection->pcre = ev->detector->pcre;
    inspection->transforms = ev->detector->transforms;
    inspection->texts = &ev->detector->taken;
    inspection->pairs = &ev->detector->pairs;
}

static bool buffers_match(struct evaluation *ev, const struct check *check)
{
    struct inspection inspection;

    inspection_begin(&inspection, ev);
    for (const struct rule_buffer *buffer = check->buffers; buffer; buffer = buffer->next) {
        if (!buffer->keyword) {
            inspection.steps_left = INSPECT_STEPS;
            if (!evaluate_payload(ev, check, &inspection, buffer->conditions))
                return false;
            continue;
        }
        if (!evaluate_packet_buffer(ev, &inspection, buffer))
            return false;
    }
    return true;
}

/* --- Limits --------------------------------------------------------------------------------------- */

void evaluate_begin_limits(struct detector *detector, const struct rule *rule)
{
    detector->limits.reached = 0;
    if (detector->limits_match)
        detector->limits.match = rule->action == ACTION_DROP || rule->action >= ACTION_REJECT;
}

/* Counts a reached limit once per rule and packet. */
static __attribute__((noinline, cold)) void count_limit(struct detector *detector, const struct rule *rule)
{
    uint32_t i = 0;

    while (i < detector->limited_count && detector->limited[i] != rule)
        i++;
    if (i < detector->limited_count)
        return;
    if (i < LIMITED_MAX)
        detector->limited[detector->limited_count++] = rule;
    detector->counters.pcre_limits += detector->limits.reached >> INSPECT_LIMIT_PCRE & 1;
    detector->counters.step_limits += detector->limits.reached >> INSPECT_LIMIT_STEPS & 1;
    detector->counters.limit_matches += detector->limits.match;
    detector->counters.limited_gid = rule->gid;
    detector->counters.limited_sid = rule->sid;
}

void evaluate_end_limits(struct detector *detector, const struct rule *rule)
{
    if (detector->limits.reached)
        count_limit(detector, rule);
}

/* --- Candidates ----------------------------------------------------------------------------------- */

bool evaluate_packet_conditions(struct evaluation *ev, const struct check *check)
{
    for (const struct condition *c = check->conditions; c; c = c->next) {
        if (c->keyword->match(&ev->match, c->data) == c->negated)
            return false;
    }
    return true;
}

/* Returns the index of the hit, or -1. */
static int find_hit(const struct detector *detector, uint32_t index, const struct app_tx *tx)
{
    for (uint32_t i = 0; i < detector->hit_count; i++) {
        if (detector->hit_checks[i] == index && detector->hits[i].tx == tx)
            return (int)i;
    }
    return -1;
}

static struct rule_capture *find_text(struct rule_captures *texts, const struct rule_capture *like)
{
    for (uint32_t i = 0; i < texts->count; i++) {
        if (texts->list[i].kind == like->kind && texts->list[i].number == like->number)
            return &texts->list[i];
    }
    return NULL;
}

/* Stores a captured text: one per name for a packet, separate ones for each alert. A text that does not fit is dropped.
 */
static void keep_text(struct evaluation *ev, const struct rule_capture *text, struct hit *hit)
{
    struct rule_captures *texts = &ev->detector->texts;
    struct rule_capture *slot = text->kind == RULE_NAME_PACKET_TEXT ? find_text(texts, text) : NULL;
    struct flow *flow = ev->input->packet->flow;

    if (text->kind == RULE_NAME_FLOW_TEXT) {
        if (flow && ev->match.flows)
            flow_text_set(ev->match.flows, flow, text->number, text->bytes, text->length);
        return;
    }
    if (!slot && texts->count == RULE_TEXTS_MAX)
        return;
    if (!slot)
        slot = &texts->list[texts->count++];
    *slot = *text;
    hit->text_count += text->kind == RULE_NAME_ALERT_TEXT;
}

/* Stores the alert's texts first, because they must be adjacent. */
static void keep_texts(struct evaluation *ev, struct hit *hit)
{
    const struct rule_captures *taken = &ev->detector->taken;

    hit->first_text = (uint8_t)ev->detector->texts.count;
    for (uint32_t i = 0; i < taken->count; i++) {
        if (taken->list[i].kind == RULE_NAME_ALERT_TEXT)
            keep_text(ev, &taken->list[i], hit);
    }
    for (uint32_t i = 0; i < taken->count; i++) {
        if (taken->list[i].kind != RULE_NAME_ALERT_TEXT)
            keep_text(ev, &taken->list[i], hit);
    }
}

/* Whether drop and pass apply to the flow. */
static bool acts_on_flow(const struct evaluation *ev, const struct check *check)
{
    switch ((enum rule_type)check->type) {
    case RULE_TYPE_PACKET:
        return false;
    case RULE_TYPE_STREAM:
    case RULE_TYPE_PACKET_STREAM:
        return ev->match.in_stream;
    default:
        return true;
    }
}

/* Adds a hit. Returns false if the rule has matched in another chunk of the same packet, or if the list is full because
 * a packet ends more transactions than there are rules. */
static bool add_hit(struct evaluation *ev, uint32_t index, const struct app_tx *tx)
{
    struct detector *detector = ev->detector;
    int old = find_hit(detector, index, tx);
    uint32_t at = detector->hit_count;

    if (old >= 0) { /* matched in another chunk of the same packet; a match in the stream applies to the flow */
        detector->hits[old].in_stream |= ev->match.in_stream;
        detector->hits[old].of_flow |= ev->match.in_stream;
        return false;
    }
    if (at > detector->capacity)
        return false;
    for (; at > 0 && detector->hit_checks[at - 1] > index; at--) {
        detector->hits[at] = detector->hits[at - 1];
        detector->hit_checks[at] = detector->hit_checks[at - 1];
    }
    detector->hits[at] = (struct hit){
        .rule = ev->ruleset->checks[index].rule,
        .in_stream = ev->match.in_stream,
        .of_flow = acts_on_flow(ev, &ev->ruleset->checks[index]),
        .tx = tx,
    };
    detector->hit_checks[at] = index;
    detector->hit_count++;
    if (detector->taken.count > 0)
        keep_texts(ev, &detector->hits[at]);
    return true;
}

static void matched(struct evaluation *ev, const struct check *check, uint32_t index)
{
    bool is_new = add_hit(ev, index, NULL);

    for (const struct condition *c = check->rule->actions; c && is_new; c = c->next)
        c->keyword->act(&ev->match, c->data);
    if (!ev->match.in_stream || !ev->view ||
        ev->view->is_reading) /* without a chunk, the match is in a rewritten segment */
        return;
    if (!check->has_literal)
        waiting_put(ev, index, true);
    else if (check->may_wait)
        waiting_remove(ev, index);
}

void evaluate_transaction_hit(struct evaluation *ev, uint32_t index, struct app_tx *tx)
{
    const struct check *check = &ev->ruleset->checks[index];
    /* A match in another reading of the message has already raised the alert; files of this reading may still be
     * stored. */
    bool is_new = !app_tx_note_match(tx, ev->direction, check->rule->gid, check->rule->sid) || add_hit(ev, index, tx);

    ev->match.transaction = tx;
    ev->match.direction = ev->direction;
    for (const struct condition *c = check->rule->actions; c && is_new; c = c->next)
        c->keyword->act(&ev->match, c->data);
    ev->match.transaction = NULL;
}

/* Records that the payload literal of a transaction rule was found: the rule is evaluated on transactions with this
 * packet, and as long as the literal is in the inspection window. */
static void note_payload_seen(struct evaluation *ev, uint32_t index)
{
    struct detector *detector = ev->detector;

    if (!evaluate_header(ev, &ev->ruleset->checks[index]))
        return;
    if (detector->payload_seen_count < PAYLOAD_SEEN)
        detector->payload_seen[detector->payload_seen_count++] = index;
    else
        detector->payload_seen_more = true;
    if (ev->view && ev->ruleset->checks[index].scope != SCOPE_PACKET && !ev->again)
        waiting_put(ev, index, false);
}

/* Inlined into the loop over the candidates: most fail at their first conditions, and a call cost 3 % of the
 * instructions for a datagram (tests/bench/instructions). */
static inline __attribute__((always_inline)) void evaluate(struct evaluation *ev, uint32_t index)
{
    const struct check *check = &ev->ruleset->checks[index];
    bool streamable = ev->view && check->scope != SCOPE_PACKET;

    if (check->by_payload) {
        note_payload_seen(ev, index);
        return;
    }
    if (!needs_met(&check->needs, &ev->facts))
        return;
    ev->match.in_stream = streamable;
    if ((ev->view_only && !(streamable && check->has_payload)) || !evaluate_header(ev, check))
        return;
    ev->detector->counters.evaluations++;
    if (!evaluate_packet_conditions(ev, check))
        return;
    ev->match.in_stream = false;
    ev->detector->taken.count = 0;
    evaluate_begin_limits(ev->detector, check->rule);
    bool holds = buffers_match(ev, check);

    evaluate_end_limits(ev->detector, check->rule);
    if (holds)
        matched(ev, check, index);
    else if (streamable && check->may_wait && check->has_literal && !ev->again)
        waiting_put(ev, index, false);
}

/* Evaluates the candidates and books their time on the rules. */
static __attribute__((noinline, cold)) void evaluate_by_budget(struct evaluation *ev)
{
    struct detector *detector = ev->detector;
    const struct rule_list *rules = ruleset_rules(ev->ruleset);

    budget_begin(detector->budget);
    for (uint32_t i = 0; i < detector->candidate_count; i++) {
        const struct rule *rule = ev->ruleset->checks[detector->candidates[i]].rule;

        if (!budget_allows(detector->budget, rule))
            continue;
        evaluate(ev, detector->candidates[i]);
        budget_book(detector, rules, rule);
    }
}

void evaluate_candidates(struct evaluation *ev)
{
    struct detector *detector = ev->detector;

    if (detector->candidate_count == 0)
        return;
    detector->counters.candidates += detector->candidate_count;
    evaluate_sort(detector);
    if (detector->budget) {
        evaluate_by_budget(ev);
        return;
    }
    for (uint32_t i = 0; i < detector->candidate_count; i++)
        evaluate(ev, detector->candidates[i]);
}
