/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Evaluates candidates: first the header, then packet and flow conditions, then buffers, in the order of their cost.
 *
 * Contents without a buffer keyword are matched in the stream: in a new chunk together with the preceding history, so
 * that a content may span segments. A rule with offset or depth, which count from the start, is evaluated on the
 * packet, and also on the stream while the inspection window begins at the stream's start.
 */
#include <netinet/in.h>
#include <string.h>

#include "detect_priv.h"
#include "inspect.h"
#include "sluice/pcre_scratch.h"
#include "sluice/transform.h"

/* Sorts the candidates; without literal matches they are sorted already. Uses Shell's sort with Ciura's gaps, because
 * qsort() may allocate memory; it is fast for the usual number of candidates, up to some hundreds. */
void evaluate_sort(struct detector *detector)
{
    enum { FEW_GAP = 5, LAST = 8 }; /* below gaps[FEW_GAP] candidates, one insertion pass is enough */
    static const uint32_t gaps[LAST + 1] = { 1750, 701, 301, 132, 57, 23, 10, 4, 1 };
    uint32_t *candidates = detector->candidates.list, count = detector->candidates.count, ordered = 1;

    while (ordered < count && candidates[ordered - 1] <= candidates[ordered])
        ordered++;
    if (ordered >= count)
        return;
    for (size_t g = count < gaps[FEW_GAP] ? LAST : 0; g <= LAST; g++) {
        uint32_t gap = gaps[g];

        for (uint32_t i = gap; i < count; i++) {
            uint32_t value = candidates[i], k = i;

            for (; k >= gap && candidates[k - gap] > value; k -= gap)
                candidates[k] = candidates[k - gap];
            candidates[k] = value;
        }
    }
}

/* Each loop reads the memory that the previous loop has prefetched. */
void evaluate_prefetch(const struct evaluation *ev)
{
    enum { MOST = 32, LINE = 64 };
    const struct detector *detector = ev->detector;
    const struct signature *signatures = ev->ruleset->signatures;
    uint32_t count = detector->candidates.count < MOST ? detector->candidates.count : MOST;

    for (uint32_t i = 0; i < count; i++) {
        const char *signature = (const char *)&signatures[detector->candidates.list[i]];

        for (size_t at = 0; at < sizeof(*signatures); at += LINE)
            __builtin_prefetch(signature + at);
    }
    for (uint32_t i = 0; i < count; i++) {
        __builtin_prefetch(signatures[detector->candidates.list[i]].plans);
        __builtin_prefetch(signatures[detector->candidates.list[i]].buffers);
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct signature *signature = &signatures[detector->candidates.list[i]];

        if (signature->plans)
            __builtin_prefetch(signature->plans->access);
        if (signature->buffers)
            __builtin_prefetch(signature->buffers->conditions);
    }
}

/* --- Header --------------------------------------------------------------------------------------- */

static bool protocol_matches(const struct signature *signature, const struct packet *pkt)
{
    if (pkt->ip_version == 0)
        return signature->any_packet;
    if (!(pkt->ip_version == 4 ? signature->ipv4 : signature->ipv6))
        return false;
    if (signature->any_protocol)
        return true;
    if (signature->one_protocol)
        return signature->protocol == pkt->protocol;
    return signature->rule->protocol.ip_protocols[pkt->protocol / 64] >> (pkt->protocol % 64) & 1;
}

/* Returns whether the port is in the set. The ports of a fragment are unknown, so rules with ports do not match it. */
static bool port_matches(const struct port_set *set, const struct packet *pkt, uint16_t port)
{
    return !set || (!(pkt->flags & PACKET_FRAGMENT) && port_set_has(set, port));
}

static bool ends_match(const struct signature *signature, const struct packet *pkt, bool swapped)
{
    const struct address_set *source = swapped ? signature->destination : signature->source;
    const struct address_set *destination = swapped ? signature->source : signature->destination;

    return port_matches(swapped ? signature->destination_port : signature->source_port, pkt, pkt->source_port) &&
           port_matches(swapped ? signature->source_port : signature->destination_port, pkt, pkt->destination_port) &&
           (!source || address_set_has(source, pkt->ip_version, &pkt->source_address)) &&
           (!destination || address_set_has(destination, pkt->ip_version, &pkt->destination_address));
}

/* Returns whether addresses and ports match. `swapped`: the rule's source is compared with the packet's destination,
 * and vice versa. Reuses the previous result if the sets are the same, because most rules are for $HOME_NET and
 * $EXTERNAL_NET. */
static bool direction_matches(struct evaluation *ev, const struct signature *signature, bool swapped)
{
    struct header_match *previous = &ev->header_matches[swapped];

    const struct signature *last = previous->signature;

    if (!last || last->source != signature->source || last->destination != signature->destination ||
        last->source_port != signature->source_port || last->destination_port != signature->destination_port)
        *previous = (struct header_match){ signature, ends_match(signature, ev->input->packet, swapped) };
    return previous->match;
}

bool evaluate_header(struct evaluation *ev, const struct signature *signature)
{
    const struct packet *pkt = ev->input->packet;

    if (!protocol_matches(signature, pkt))
        return false;
    if (signature->applications && !signature->of_transaction && !signature->of_frame &&
        !(pkt->flow && signature->applications & app_protocols(pkt->flow)))
        return false;
    if (signature->transactional)
        return signature->any_ends || direction_matches(ev, signature, ev->direction == FLOW_TO_CLIENT);
    return signature->any_ends || direction_matches(ev, signature, false) ||
           (signature->bidirectional && direction_matches(ev, signature, true));
}

/* --- Buffers -------------------------------------------------------------------------------------- */

static bool matches_part(const struct inspection *inspection, uint32_t from, uint32_t length,
                         const struct condition *conditions)
{
    struct inspection part = *inspection;

    part.steps_left = INSPECT_STEPS;
    part.texts = NULL;
    part.data += from;
    part.length = length;
    return inspect_buffer(&part, conditions);
}

/* Returns whether the payload conditions hold in the stream's inspection window and the match is new; sets
 * match.in_stream to the result. */
static bool matches_stream(struct evaluation *ev, const struct signature *signature, struct inspection *inspection,
                           const struct condition *conditions)
{
    uint32_t chunk_at;
    uint64_t offset = stream_inspection_window(ev->input->stream, ev->input->packet->flow, ev->direction, ev->chunk,
                                               &inspection->data, &inspection->length, &chunk_at);
    struct inspection start = *inspection;

    if (signature->scope == SCOPE_BOTH && offset > 0)
        return false;
    inspection->start_is_cut = offset > 0;
    inspection->end_is_cut = !ev->chunk->end;
    ev->match.in_stream = inspect_buffer(inspection, conditions);
    if (!ev->match.in_stream)
        return false;

    /* True if the rule may have matched before, in bytes that are still in the inspection window. Outside of rescans
     * and alternative readings, this is false for a rule with a literal: it is a candidate only while it is pending, or
     * if its literal ends in the chunk. */
    bool may_be_old = ev->chunk->is_reading || ev->is_rescan;

    if (!signature->has_literal && !ev->chunk->is_reading)
        may_be_old = ev->input->packet->flow->flags & FLOW_RESCAN ||
                     pending_is_muted(ev, (uint32_t)(signature - ev->ruleset->signatures));
    /* If the conditions also hold in the bytes before the chunk, but not in the chunk alone, the match was reported
     * with an earlier chunk. */
    if (may_be_old && matches_part(&start, 0, chunk_at, conditions) &&
        !matches_part(&start, chunk_at, start.length - chunk_at, conditions))
        ev->match.in_stream = false;
    return ev->match.in_stream;
}

static bool matches_packet(struct evaluation *ev, const struct signature *signature, struct inspection *inspection,
                           const struct condition *conditions)
{
    const struct packet *pkt = ev->input->packet;

    if (ev->chunk_only || !packet_has_payload(pkt))
        return false;
    if (signature->scope == SCOPE_STREAM && pkt->flags & PACKET_STREAM_ADDED && !pkt->new_data)
        return false;
    inspection->data = pkt->payload;
    inspection->length = pkt->payload_length;
    inspection->start_is_cut = inspection->end_is_cut = false;
    if (!inspect_buffer(inspection, conditions))
        return false;
    /* if the segment was rewritten (new_data), its payload consists of bytes of the stream */
    ev->match.in_stream = signature->scope == SCOPE_STREAM && pkt->new_data;
    return true;
}

bool evaluate_payload(struct evaluation *ev, const struct signature *signature, struct inspection *inspection,
                      const struct condition *conditions)
{
    uint32_t steps = inspection->steps_left;

    if (ev->chunk && signature->scope != SCOPE_PACKET && matches_stream(ev, signature, inspection, conditions))
        return true;
    inspection->steps_left = steps;
    return matches_packet(ev, signature, inspection, conditions);
}

bool evaluate_packet_buffer(struct evaluation *ev, struct inspection *inspection, const struct rule_buffer *buffer)
{
    const uint8_t *bytes = buffer->keyword->buffer.get(&ev->match, &inspection->length);

    enum transform_result result = TRANSFORM_DONE;

    transform_scratch_reset(inspection->transforms);
    if (bytes && buffer->transforms)
        result = transforms_apply(inspection->transforms, buffer->transforms, &bytes, &inspection->length);
    if (result == TRANSFORM_NO_MEMORY)
        return inspection_record_limit(inspection, INSPECT_LIMIT_TRANSFORM);
    if (!bytes || result == TRANSFORM_ABSENT)
        return buffer->absence != BUFFER_PRESENT;
    if (buffer->absence == BUFFER_ABSENT)
        return false;
    inspection->data = bytes;
    inspection->start_is_cut = inspection->end_is_cut = false;
    inspection->steps_left = INSPECT_STEPS;
    return inspect_buffer(inspection, buffer->conditions);
}

/* Clears all members except `searches`, a large array that is reset for each buffer. */
void inspection_init(struct inspection *inspection, const struct evaluation *ev)
{
    memset(inspection, 0, offsetof(struct inspection, searches));
    inspection->input = &ev->match;
    inspection->limits = &ev->detector->limits;
    inspection->pcre = ev->detector->pcre;
    inspection->transforms = ev->detector->transforms;
    inspection->texts = &ev->detector->captured;
}

/* --- Limits --------------------------------------------------------------------------------------- */

void evaluate_begin_limits(struct detector *detector, const struct rule *rule)
{
    detector->limits.reached = 0;
    if (detector->limits_match)
        detector->limits.match = rule_action_drops(rule->action);
}

/* Counts the limits that the rule has reached. Each of the first LIMITED_MAX rules is counted once per packet, further
 * rules at each evaluation. */
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
    detector->counters.transform_limits += detector->limits.reached >> INSPECT_LIMIT_TRANSFORM & 1;
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

bool evaluate_packet_conditions(struct evaluation *ev, const struct signature *signature)
{
    for (const struct condition *c = signature->conditions; c; c = c->next) {
        if (c->keyword->packet.match(&ev->match, c->data) == c->negated)
            return false;
    }
    return true;
}

/* Stores a captured text: flow texts in the flow, packet texts once per name, alert texts separately for each hit. A
 * text that does not fit is discarded. */
static void store_capture(struct evaluation *ev, const struct rule_capture *text, struct hit *hit)
{
    struct rule_captures *texts = &ev->detector->texts;
    struct rule_capture *slot = NULL;
    struct flow *flow = ev->input->packet->flow;

    if (text->kind == RULE_NAME_FLOW_TEXT) {
        if (flow && ev->match.flows)
            flow_text_set(ev->match.flows, flow, text->number, text->bytes, text->length);
        return;
    }
    for (uint32_t i = 0; text->kind == RULE_NAME_PACKET_TEXT && i < texts->count && !slot; i++) {
        if (texts->list[i].kind == text->kind && texts->list[i].number == text->number)
            slot = &texts->list[i];
    }
    if (!slot && texts->count == RULE_TEXTS_MAX)
        return;
    if (!slot)
        slot = &texts->list[texts->count++];
    *slot = *text;
    hit->text_count += text->kind == RULE_NAME_ALERT_TEXT;
}

/* Returns whether drop and pass of a hit apply to the flow; otherwise they apply to the packet only. */
static bool applies_to_flow(const struct signature *signature, bool in_stream)
{
    enum rule_type type = (enum rule_type)signature->type;

    if (signature->rule->scope != RULE_SCOPE_DEFAULT)
        return signature->rule->scope == RULE_SCOPE_FLOW;
    return type == RULE_TYPE_STREAM || type == RULE_TYPE_PACKET_STREAM ? in_stream : type != RULE_TYPE_PACKET;
}

/* Returns whether both are the same frame of a packet; NULL: none. */
static bool same_frame(const struct frame_facts *a, const struct frame_facts *b)
{
    return a == b || (a && b && a->id == b->id && a->type == b->type && a->offset == b->offset);
}

/* Adds a hit. Returns false if the rule has a hit with the same `tx` and `frame` in this packet already, or if the list
 * is full. The list can be full only if rules match in several transactions of one packet. The last hit of a full list
 * is replaced if the new one is before it, so a drop is never lost to alerts. */
static bool add_hit(struct evaluation *ev, uint32_t index, const struct app_tx *tx, const struct frame_facts *frame)
{
    const struct signature *signature = &ev->ruleset->signatures[index];
    struct detector *detector = ev->detector;
    const struct rule_captures *captured = &detector->captured;
    uint32_t at = detector->hit_count;

    for (uint32_t i = 0; i < detector->hit_count; i++) {
        if (detector->hit_signatures[i] != index || detector->hits[i].tx != tx ||
            !same_frame(detector->hits[i].frame, frame))
            continue;
        detector->hits[i].in_stream |=
            ev->match.in_stream; /* if one match is in the stream, drop and pass apply to the flow */
        detector->hits[i].of_flow |= ev->match.in_stream && signature->rule->scope != RULE_SCOPE_PACKET;
        return false;
    }
    if (at == detector->capacity) {
        if (detector->hit_signatures[at - 1] <= index)
            return false;
        detector->hit_count = --at;
    }
    for (; at > 0 && detector->hit_signatures[at - 1] > index; at--) {
        detector->hits[at] = detector->hits[at - 1];
        detector->hit_signatures[at] = detector->hit_signatures[at - 1];
    }
    detector->hits[at] = (struct hit){
        .rule = signature->rule,
        .in_stream = ev->match.in_stream,
        .of_flow = applies_to_flow(signature, ev->match.in_stream),
        .filter = { .protocol = signature->rule->firewall ? signature->rule->hook.protocol : NULL,
                    .hook = signature->rule->firewall ? signature->rule->hook.name : NULL,
                    .policy = { .action = signature->rule->action, .scope = signature->rule->scope } },
        .tx = tx,
        .frame = frame,
    };
    detector->hit_signatures[at] = index;
    detector->hit_count++;
    detector->hits[at].first_text = (uint8_t)detector->texts.count;
    for (unsigned round = 0; round < 2; round++) { /* alert texts first, so that they are adjacent */
        for (uint32_t i = 0; i < captured->count; i++) {
            if ((captured->list[i].kind == RULE_NAME_ALERT_TEXT) == (round == 0))
                store_capture(ev, &captured->list[i], &detector->hits[at]);
        }
    }
    return true;
}

bool evaluate_hit(struct evaluation *ev, uint32_t index)
{
    if (!add_hit(ev, index, NULL, NULL))
        return false;
    for (const struct match_action *action = ev->ruleset->signatures[index].rule->actions; action;
         action = action->next)
        action->act(&ev->match, action->data);
    return true;
}

void evaluate_transaction_hit(struct evaluation *ev, uint32_t index, struct app_tx *tx)
{
    const struct signature *signature = &ev->ruleset->signatures[index];
    /* If the rule has matched in another reading of the message, the alert exists already, but files of this reading
     * may still be stored. */
    bool is_new = !app_tx_record_match(tx, ev->direction, signature->rule->gid, signature->rule->sid) ||
                  add_hit(ev, index, tx, NULL);

    match_enter_transaction(&ev->match, tx, ev->direction);
    ev->match.heap = app_tx_heap(tx);
    for (const struct match_action *action = signature->rule->actions; action && is_new; action = action->next)
        action->act(&ev->match, action->data);
    ev->match.transaction = NULL;
}

void evaluate_frame_hit(struct evaluation *ev, uint32_t index, const struct app_frame *frame, uint64_t edge)
{
    struct detector *detector = ev->detector;
    struct app_tx *tx = frame->has_tx ? app_transactions(ev->input->packet->flow) : NULL;
    struct frame_facts facts;
    uint32_t at = 0;

    while (tx && tx->id != frame->tx_id)
        tx = tx->next;
    app_frame_describe(frame, ev->input->packet, edge, &facts);
    while (at < detector->frame_count && !same_frame(&detector->frames[at], &facts))
        at++;
    if (at == detector->frame_count && at < FRAME_HITS) {
        uint32_t room = FRAME_PAYLOADS - detector->frame_payloads_length;
        uint8_t *payload = detector->frame_payloads + detector->frame_payloads_length;

        facts.payload = payload;
        facts.payload_length =
            app_frame_copy(&facts, ev->input->packet, payload, room < FRAME_PAYLOAD_MAX ? room : FRAME_PAYLOAD_MAX);
        detector->frame_payloads_length += facts.payload_length;
        detector->frames[detector->frame_count++] = facts;
    }
    if (!add_hit(ev, index, tx, at < FRAME_HITS ? &detector->frames[at] : NULL))
        return;
    ev->match.transaction = tx;
    ev->match.direction = ev->direction;
    for (const struct match_action *action = ev->ruleset->signatures[index].rule->actions; action;
         action = action->next)
        action->act(&ev->match, action->data);
    ev->match.transaction = NULL;
}

/* Records that the payload literal of a transaction rule was found: the rule is evaluated on transactions with this
 * packet, and as long as the literal is in the inspection window. */
static void record_payload_literal(struct evaluation *ev, uint32_t index)
{
    struct detector *detector = ev->detector;

    if (!evaluate_header(ev, &ev->ruleset->signatures[index]))
        return;
    if (detector->payload_seen_count < PAYLOAD_SEEN)
        detector->payload_seen[detector->payload_seen_count++] = index;
    else
        detector->payload_seen_more = true;
    if (ev->chunk && ev->ruleset->signatures[index].scope != SCOPE_PACKET && !ev->is_rescan)
        pending_add(ev, index, false);
}

/* Evaluates one candidate. Always inlined into the loop over the candidates, most of which fail at their first
 * conditions: a call would cost 3 % of the instructions for a datagram (tests/bench/instructions). */
static inline __attribute__((always_inline)) void evaluate(struct evaluation *ev, uint32_t index)
{
    const struct signature *signature = &ev->ruleset->signatures[index];
    bool streamable = ev->chunk && signature->scope != SCOPE_PACKET, holds = true;
    struct inspection inspection;

    if (signature->by_payload) {
        record_payload_literal(ev, index);
        return;
    }
    if (!needs_met(&signature->needs, &ev->facts))
        return;
    ev->match.in_stream = streamable;
    if ((ev->chunk_only && !(streamable && signature->has_payload)) || !evaluate_header(ev, signature))
        return;
    ev->detector->counters.evaluations++;
    if (!evaluate_packet_conditions(ev, signature))
        return;

    ev->match.in_stream = false;
    ev->detector->captured.count = 0;
    evaluate_begin_limits(ev->detector, signature->rule);
    inspection_init(&inspection, ev);
    for (const struct rule_buffer *buffer = signature->buffers; buffer && holds; buffer = buffer->next) {
        inspection.steps_left = INSPECT_STEPS;
        holds = buffer->keyword ? evaluate_packet_buffer(ev, &inspection, buffer)
                                : evaluate_payload(ev, signature, &inspection, buffer->conditions);
    }
    evaluate_end_limits(ev->detector, signature->rule);
    if (!holds) {
        if (streamable && signature->may_span_segments && signature->has_literal && !ev->is_rescan)
            pending_add(ev, index, false);
        return;
    }
    evaluate_hit(ev, index);
    if (!ev->match.in_stream || !ev->chunk || ev->chunk->is_reading)
        return; /* nothing to store: the match is in the packet, in a rewritten segment, or in an alternative reading */
    if (!signature->has_literal)
        pending_add(ev, index, true);
    else if (signature->may_span_segments)
        pending_remove(ev, index);
}

/* Evaluates the candidates and adds the time of each one to the cost of its rule. */
static __attribute__((noinline, cold)) void evaluate_timed(struct evaluation *ev)
{
    struct detector *detector = ev->detector;
    const struct rule_list *rules = ruleset_rules(ev->ruleset);

    budget_start(detector->budget);
    for (uint32_t i = 0; i < detector->candidates.count; i++) {
        const struct rule *rule = ev->ruleset->signatures[detector->candidates.list[i]].rule;

        if (!budget_allows(detector->budget, rule))
            continue;
        evaluate(ev, detector->candidates.list[i]);
        budget_book(detector, rules, rule);
    }
}

void evaluate_candidates(struct evaluation *ev)
{
    struct detector *detector = ev->detector;

    if (detector->deferred_count > 0)
        collect_deferred(ev);
    if (detector->candidates.count == 0)
        return;
    detector->counters.candidates += detector->candidates.count;
    evaluate_sort(detector);
    if (detector->budget) {
        evaluate_timed(ev);
        return;
    }
    for (uint32_t i = 0; i < detector->candidates.count; i++)
        evaluate(ev, detector->candidates.list[i]);
}
