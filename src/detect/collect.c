/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Collects the candidates: rules whose literal a prefilter finds in the packet's payload, its other buffers or the new
 * bytes of its stream, and rules without a literal.
 *
 * Each byte of a stream is scanned once, as part of a chunk, together with literals that cross the border to the
 * preceding bytes. If the chunk is the packet's payload, one scan serves both.
 */
#include <netinet/in.h>

#include "detect_priv.h"

static void add_list(struct detector *detector, const struct signature_list *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        candidates_add(&detector->candidates, list->index[i]);
}

static void add_unfiltered(struct evaluation *ev, const struct unfiltered_list *list)
{
    if (list->count == 0)
        return;
    const struct packet_facts facts = ev->facts; /* a copy, so that the compiler keeps it in registers */
    struct detector *detector = ev->detector;

    for (const struct unfiltered *entry = list->entries, *end = entry + list->count; entry < end; entry++) {
        if (!needs_met(&entry->needs, &facts))
            continue;
        if (entry->applications) {
            const struct flow *flow = ev->input->packet->flow;

            if (!flow || !(entry->applications & app_protocols(flow)))
                continue;
        }
        if (entry->needs_variables && detector->deferred_count < DEFERRED_MAX) {
            const struct flow *flow = ev->input->packet->flow;

            if (!flow || !flow->variables) {
                detector->deferred[detector->deferred_count++] = entry->signature;
                continue;
            }
        }
        candidates_add(&detector->candidates, entry->signature);
    }
}

void collect_deferred(struct evaluation *ev)
{
    struct detector *detector = ev->detector;
    bool may_set = false;

    for (uint32_t i = 0; i < detector->candidates.count && !may_set; i++) {
        const struct rule *rule = ev->ruleset->signatures[detector->candidates.list[i]].rule;

        may_set = rule->actions || rule->captures_text;
    }
    for (uint32_t i = 0; i < detector->deferred_count && may_set; i++)
        candidates_add(&detector->candidates, detector->deferred[i]);
    detector->deferred_count = 0;
}

void collect_event(struct evaluation *ev, unsigned event)
{
    add_list(ev->detector, &ev->ruleset->by_event[event]);
}

static void scan_buffers(struct detector *detector, const struct ruleset *ruleset, const struct match_input *in)
{
    for (uint32_t i = 0; i < ruleset->buffer_count; i++) {
        uint32_t length = 0;
        const uint8_t *bytes = ruleset->buffers[i].buffer->buffer.get(in, &length);

        if (bytes && length > 0)
            prefilter_scan(ruleset->buffers[i].prefilter, detector, bytes, length, 0);
    }
}

/* Returns whether address-only rules must be evaluated for the packet: true for the first packet of a flow in each
 * direction, which is recorded in the flow, and for each packet without a flow. It is also true for each ICMP error
 * that refers to the flow, because its protocol, and possibly its sender, differ from those of the flow. */
static bool needs_ip_only(const struct packet *pkt)
{
    unsigned flag = pkt->flags & PACKET_TO_CLIENT ? FLOW_IP_ONLY_TO_CLIENT : FLOW_IP_ONLY_TO_SERVER;

    if (!pkt->flow || pkt->flow->protocol != pkt->protocol)
        return true;
    if (pkt->flow->flags & flag)
        return false;
    pkt->flow->flags |= (uint16_t)flag;
    return true;
}

void collect_packet(struct evaluation *ev)
{
    struct detector *detector = ev->detector;
    const struct ruleset *ruleset = ev->ruleset;
    const struct packet *pkt = ev->input->packet;

    if (pkt->event_count > 0) {
        for (unsigned word = 0; word < PACKET_EVENT_WORDS; word++) {
            for (uint64_t bits = pkt->events[word]; bits; bits &= bits - 1)
                collect_event(ev, word * 64 + (unsigned)__builtin_ctzll(bits));
        }
    }
    if (pkt->ip_version == 0) {
        add_list(detector, &ruleset->without_ip);
        scan_buffers(detector, ruleset, &ev->match);
        return;
    }

    enum traffic traffic = pkt->protocol == IPPROTO_TCP   ? TRAFFIC_TCP
                           : pkt->protocol == IPPROTO_UDP ? TRAFFIC_UDP
                                                          : TRAFFIC_OTHER;
    const struct group_side *groups[GROUPS_PER_PACKET];
    unsigned count = groups_of_packet(ev, traffic, groups);
    /* Scan the payload unless it was scanned as a chunk. Payload that was added to the stream is scanned as part of
     * chunks. It is scanned here as well if its segment was rewritten (new_data) or a TCP rule with a literal inspects
     * packets (scans_packets). */
    bool scan = packet_has_payload(pkt) && !(ev->chunk && ev->chunk->is_payload) &&
                (!(pkt->flags & PACKET_STREAM_ADDED) || pkt->new_data || ruleset->scans_packets);

    for (unsigned i = 0; i < count; i++) {
        if (scan && groups[i]->prefilter)
            prefilter_scan(groups[i]->prefilter, detector, pkt->payload, pkt->payload_length, 0);
        add_unfiltered(ev, &groups[i]->unfiltered);
    }
    if (ruleset->ip_only[traffic].count > 0 && !ev->is_reversed && needs_ip_only(pkt))
        address_index_find(ruleset->ip_only_index[traffic], detector, pkt);
    if (ruleset->buffer_count > 0)
        scan_buffers(detector, ruleset, &ev->match);
}

void collect_chunk(struct evaluation *ev)
{
    const struct stream_chunk *chunk = ev->chunk;
    const struct group_side *groups[GROUPS_PER_PACKET];
    unsigned count = groups_of_packet(ev, TRAFFIC_TCP, groups);
    /* the start of the stream, for literals with a fixed offset; `bytes` is NULL if the start is not stored any more,
     * or if the chunk is too far behind it */
    struct stream_start start = { .bytes = chunk->data, .length = chunk->length };

    if (chunk->offset >= LITERAL_NEAR)
        start.bytes = NULL;
    else if (chunk->offset > 0 && stream_inspection_window(ev->input->stream, ev->input->packet->flow, ev->direction,
                                                           chunk, &start.bytes, &start.length, &start.chunk_at) > 0)
        start.bytes = NULL;
    pending_expire(ev);
    for (unsigned i = 0; i < count; i++) {
        if (groups[i]->prefilter)
            prefilter_scan_chunk(groups[i]->prefilter, i == 0 ? transaction_merged_prefilter(ev) : NULL, ev->detector,
                                 chunk, &start);
        add_unfiltered(ev, &groups[i]->stream_unfiltered);
    }
    pending_add_candidates(ev);
}

/* Scans the whole inspection window of an alternative reading, because its candidates are not stored as pending. */
void collect_reading(struct evaluation *ev)
{
    const struct group_side *groups[GROUPS_PER_PACKET];
    unsigned count = groups_of_packet(ev, TRAFFIC_TCP, groups);

    collect_window(ev);
    for (unsigned i = 0; i < count; i++)
        add_unfiltered(ev, &groups[i]->stream_unfiltered);
}

void collect_window(struct evaluation *ev)
{
    const struct group_side *groups[GROUPS_PER_PACKET];
    unsigned count = groups_of_packet(ev, TRAFFIC_TCP, groups);
    const uint8_t *bytes;
    uint32_t length, chunk_at;
    uint64_t offset = stream_inspection_window(ev->input->stream, ev->input->packet->flow, ev->direction, ev->chunk,
                                               &bytes, &length, &chunk_at);

    ev->detector->candidates.count = 0;
    for (unsigned i = 0; i < count; i++) {
        if (groups[i]->prefilter)
            prefilter_scan_window(groups[i]->prefilter, ev->detector, bytes, length, offset);
    }
}
