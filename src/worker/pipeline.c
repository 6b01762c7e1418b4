/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The path of a packet: pipeline_packet() at the end of this file calls the stages in this order:
 *
 *   decode, packet policies, defrag, checksums, flow, stream, app, detect, policy, output, transactions, reject,
 *   rewriting, offload
 *
 * The packets inside a tunnel are inspected before the packet that carries them, and a reassembled datagram before the
 * fragment that completes it; all share the verdict of the queued packet. When a flow ends, pipeline_end_flow()
 * inspects the rest of its stream and writes its events.
 */
#include "sluice/pipeline.h"

#include <netinet/in.h>
#include <string.h>

#include "sluice/app.h"
#include "sluice/block_port.h"
#include "sluice/decision.h"
#include "sluice/decode.h"
#include "sluice/defrag.h"
#include "sluice/detect.h"
#include "sluice/exception.h"
#include "sluice/flow.h"
#include "sluice/inject.h"
#include "sluice/offload.h"
#include "sluice/output.h"
#include "sluice/overload.h"
#include "sluice/packet.h"
#include "sluice/policy.h"
#include "sluice/rule.h"
#include "sluice/stream.h"
#include "sluice/supervisor_channel.h"
#include "sluice/replay_order.h"
#include "sluice/worker.h"

#include "pipeline_priv.h"
#include "rewrite.h"

enum { CHECKSUM_SAMPLE = 1000, EXPIRE_PER_FRAGMENT = 2 };

/* The extent to which a packet is inspected. */
enum inspection_scope {
    INSPECT_FULL,
    INSPECT_FIREWALL, /* parsing, events and firewall rules, but no other rules: the flow was passed */
    INSPECT_REFUSED,  /* firewall rules of the hook pre_flow or pre_stream drop the packet: no parsing, no rules */
    INSPECT_AT_END,   /* full inspection of the rest of a flow that ends, with a pseudo packet */
    /* Parsing and events, but no rules: the flow was passed, dropped or bypassed, or an exception policy decided. */
    INSPECT_LOG_ONLY,
};

/* --- Checksums ------------------------------------------------------------------------------------ */

/* Replay only: checks the checksums of the first CHECKSUM_SAMPLE packets. If more than a tenth of them are wrong, later
 * packets are not checked. The packets are sampled in the order of the capture file, so that the result does not depend
 * on the number of workers. */
static void sample_checksums(struct pipeline *pipeline, struct packet *pkt)
{
    struct checksum_sample *sample = pipeline->checksum_sample;

    replay_order_wait(pipeline->order);
    if (sample->seen < CHECKSUM_SAMPLE) {
        decode_check_checksums(pkt);
        sample->wrong += (pkt->flags & (PACKET_BAD_L3_CHECKSUM | PACKET_BAD_L4_CHECKSUM)) != 0;
        sample->seen++;
        /* For rules the checksum is not wrong if the capturing host let its network card compute it. */
        decode_clear_partial_checksum(pkt);
        return;
    }
    pipeline->checksums = sample->wrong > CHECKSUM_SAMPLE / 10 ? CHECKSUMS_IGNORE : CHECKSUMS_CHECK;
    if (pipeline->checksums == CHECKSUMS_CHECK)
        decode_check_checksums(pkt);
}

/* Verifies the checksums, because rules may match on them and a segment with a wrong checksum is not part of its
 * stream. The kernel reports for a queued packet whether it has verified the checksum; it reports nothing for packets
 * inside a tunnel and reassembled datagrams. */
static void verify_checksums(struct pipeline *pipeline, struct packet *pkt)
{
    bool verified = pipeline->kernel_checksums && pkt->root == pkt && !(pkt->flags & PACKET_REASSEMBLED) &&
                    !(pkt->flags & PACKET_CHECKSUM_UNVERIFIED);

    if (!ruleset_needs_checksums(pipeline->ruleset) &&
        !(pipeline->stream_checksums && pkt->protocol == IPPROTO_TCP && pkt->transport && !verified))
        return;
    if (pipeline->checksums == CHECKSUMS_AUTO)
        sample_checksums(pipeline, pkt);
    else if (pipeline->checksums == CHECKSUMS_CHECK)
        decode_check_checksums(pkt);
}

/* --- Flow and stream ------------------------------------------------------------------------------ */

/* Returns true if a SYN starts a new connection on the ports of this flow. For a flow whose packets the
 * kernel accepts (OFFLOAD_ACCEPT) that is always so: the kernel did not queue the end of its connection, and queues the
 * SYN only because that connection is no longer in conntrack. */
static bool is_port_reuse(const struct pipeline *pipeline, const struct flow *flow, struct packet *pkt)
{
    if (pkt->protocol != IPPROTO_TCP || !pkt->transport)
        return false;
    if (flow->offload == OFFLOAD_ACCEPT && (pkt->tcp.flags & (TCP_SYN | TCP_ACK | TCP_RST)) == TCP_SYN &&
        pkt->tunnel_depth == 0)
        return true;
    return stream_is_port_reuse(pipeline->stream, flow, pkt);
}

/* Applies overload.policy to a new flow. A policy for single packets applies to the packets of the flow until both
 * sides have sent packets. Returns true if the policy decided the verdict, so that rules do not inspect the packet. */
static bool shed_new_flow(struct pipeline *pipeline, struct packet *pkt)
{
    const struct flow *flow = pkt->flow;
    const uint16_t both = FLOW_SERVER_SEEN | FLOW_CLIENT_SEEN;

    if (flow->state != FLOW_NEW || (flow->flags & both) == both || flow->flags & (FLOW_DROPPED | FLOW_PASSED))
        return false;
    pipeline->counters.shed[SHED_NEW] += flow->exceptions[EXCEPTION_OVERLOAD] == 0;
    return policy_exception(pipeline->policy, pkt, EXCEPTION_OVERLOAD);
}

/* --- Firewall rules ------------------------------------------------------------------------------- */

static struct detect_input detect_input_of(const struct pipeline *pipeline, struct packet *pkt,
                                           enum inspection_scope scope)
{
    enum detect_filter filter = pipeline->filters ? DETECT_FILTER_ENFORCE : DETECT_FILTER_OFF;

    if (scope == INSPECT_AT_END || pkt->flags & PACKET_PSEUDO)
        filter = DETECT_FILTER_OFF;
    else if (filter != DETECT_FILTER_OFF && pipeline->mode == IPS_MODE_ALERT_ONLY)
        filter = DETECT_FILTER_OBSERVE;
    return (struct detect_input){
        .packet = pkt,
        .stream = pipeline->stream,
        .flows = pipeline->flows,
        .hosts = pipeline->hosts,
        .order = pipeline->order,
        .files = app_file_engine(pipeline->app),
        .filter = filter,
        .filter_only = scope == INSPECT_FIREWALL,
        .is_inline = pipeline->stream_inline,
        .at_end = scope == INSPECT_AT_END,
        .reaches_filter = policy_reaches_filter,
        .filter_user = pipeline->policy,
    };
}

/* Evaluates the rules of pre_flow or pre_stream. Returns false if firewall rules drop the packet. */
static bool passes_hook(struct pipeline *pipeline, struct packet *pkt, enum filter_packet_hook hook)
{
    struct detect_input in;

    if (!(pipeline->hooks >> hook & 1))
        return true;
    in = detect_input_of(pipeline, pkt, INSPECT_FULL);
    return detect_hook(pipeline->detector, pipeline->ruleset, &in, hook);
}

/* Returns whether a rule of the hook pre_flow, which was evaluated for this packet, has given it no flow. */
static bool is_untracked(const struct pipeline *pipeline)
{
    return pipeline->hooks >> FILTER_PRE_FLOW & 1 && detector_filter(pipeline->detector)->untracked;
}

/* Returns the scope for a packet of a flow for which an earlier decision ends the evaluation of rules: the firewall
 * rules are evaluated until they have accepted the flow. */
static enum inspection_scope scope_of_decided(const struct pipeline *pipeline, const struct packet *pkt)
{
    const struct flow *flow = pkt->flow;

    return pipeline->filters && pkt->verdict != VERDICT_DROP && !(flow->flags & FLOW_DROPPED) && !flow->accepted &&
                   flow->state != FLOW_BYPASSED
               ? INSPECT_FIREWALL
               : INSPECT_LOG_ONLY;
}

/* Runs the TCP state machine and reassembly for a segment, and applies exception policies and the stream's verdict.
 * Returns the scope for the packet. */
static enum inspection_scope update_stream(struct pipeline *pipeline, struct packet *pkt, enum inspection_scope scope)
{
    struct flow *flow = pkt->flow;
    struct stream_verdict verdict;

    stream_packet(pipeline->stream, pipeline->flows, flow, pkt, &verdict);
    /* An exception is counted also for a flow that an exception policy has accepted. */
    if (scope == INSPECT_LOG_ONLY && !(flow->flags & FLOW_ACCEPTED_BY_EXCEPTION))
        return scope;
    if (verdict.undecided && policy_exception_drops(pipeline->policy, verdict.exception)) {
        /* Drop only the packet, not the flow: conntrack is queried again for the retransmission. */
        policy_drop(pipeline->policy, pkt, DROP_REASON_STREAM_MIDSTREAM);
        scope = INSPECT_LOG_ONLY;
    } else if (verdict.exception != EXCEPTION_NONE && policy_exception(pipeline->policy, pkt, verdict.exception) &&
               verdict.exception != EXCEPTION_STREAM_INVALID) {
        /* EXCEPTION_STREAM_INVALID is not included: rules inspect a segment that no receiver accepts. */
        scope = INSPECT_LOG_ONLY;
    }
    if (verdict.drop && !(flow->flags & FLOW_PASSED))
        policy_drop(pipeline->policy, pkt, verdict.reason);
    return scope;
}

/* Finds the flow of a packet, updates the flow and its stream, and applies earlier decisions about the flow. Returns
 * the scope for the packet. */
static enum inspection_scope update_flow(struct pipeline *pipeline, struct packet *pkt)
{
    enum exception_cause exception = EXCEPTION_NONE;
    enum inspection_scope scope = INSPECT_FULL;
    struct flow *flow = flow_table_get(pipeline->flows, pkt, &exception);

    if (flow && is_port_reuse(pipeline, flow, pkt)) {
        flow_table_end(pipeline->flows, flow, FLOW_END_REUSED);
        flow = flow_table_get(pipeline->flows, pkt, &exception);
        pkt->stream_flags |= PACKET_STREAM_PORT_REUSE;
    }
    pkt->flow = flow;
    if (!flow) {
        bool decided = exception != EXCEPTION_NONE && policy_exception(pipeline->policy, pkt, exception);

        return decided ? INSPECT_LOG_ONLY : INSPECT_FULL;
    }
    flow_update(pipeline->flows, flow, pkt);
    if (flow->state == FLOW_BYPASSED && flow->offload == OFFLOAD_ACCEPT) {
        pipeline->counters.captured_packets++;
        pipeline->counters.captured_bytes += pkt->length;
    } else if (flow->state == FLOW_BYPASSED) {
        pipeline->counters.local_packets++;
        pipeline->counters.local_bytes += pkt->length;
    }
    if (policy_flow(pipeline->policy, pkt))
        scope = scope_of_decided(pipeline, pkt);
    if (pipeline->shedding >> SHED_NEW & 1 && shed_new_flow(pipeline, pkt))
        scope = INSPECT_LOG_ONLY;
    if (pkt->protocol != IPPROTO_TCP || !pkt->transport)
        return scope;
    if (scope != INSPECT_LOG_ONLY && !flow->accepted && !passes_hook(pipeline, pkt, FILTER_PRE_STREAM))
        return INSPECT_REFUSED;
    return update_stream(pipeline, pkt, scope);
}

/* --- Application protocols ------------------------------------------------------------------------ */

/* A packet whose data is parsed, and the results of the parsers. */
struct app_feed {
    struct pipeline *pipeline;
    struct packet *packet;
    enum exception_cause exception;
    bool stop_stream;
};

static void apply_app_verdict(struct app_feed *feed, const struct app_verdict *verdict)
{
    if (verdict->exception != EXCEPTION_NONE)
        feed->exception = verdict->exception;
    if (verdict->stop_stream) {
        feed->stop_stream = true;
        stream_flush(feed->packet->flow, FLOW_TO_SERVER);
        stream_flush(feed->packet->flow, FLOW_TO_CLIENT);
    }
    for (unsigned events = verdict->events; events; events &= events - 1)
        packet_add_event(feed->packet, APP_LAYER_EVENT_FIRST + (unsigned)__builtin_ctz(events));
    if (verdict->reversed)
        feed->packet->flags ^= PACKET_TO_CLIENT;
    if (verdict->either_direction)
        feed->packet->flags |= PACKET_EITHER_DIRECTION;
}

static enum flow_direction direction_of(const struct packet *pkt)
{
    return pkt->flags & PACKET_TO_CLIENT ? FLOW_TO_CLIENT : FLOW_TO_SERVER;
}

/* Marks the packet on which protocol detection finished, for rules with app-layer-protocol. `next`: detection finished
 * on the previous packet. */
static void mark_detected_protocol(struct packet *pkt, bool next)
{
    if (pkt->flow && app_is_just_detected(pkt->flow, direction_of(pkt), next))
        pkt->flags |= PACKET_PROTOCOL_DETECTED;
}

/* Gets the next stream chunk that the packet releases to inspection. `all`: the flow ends and releases the rest.
 * Inline, the chunk is parsed first, and the parser may switch the direction of the packet. Returns false when no chunk
 * is released. */
static bool next_chunk(struct app_feed *feed, bool all, struct stream_chunk *chunk)
{
    struct pipeline *pipeline = feed->pipeline;
    struct packet *pkt = feed->packet;
    struct app_verdict verdict;

    /* An ICMP error may belong to the flow of a stream, but is not part of the stream. */
    if (pkt->protocol != IPPROTO_TCP || !pkt->flow || !pkt->flow->tcp ||
        !stream_next_chunk(pipeline->stream, pkt->flow, direction_of(pkt), pkt, all, chunk))
        return false;
    if (!pipeline->stream_inline)
        return true;

    struct app_stream_chunk bytes = {
        .bytes = chunk->data, .length = chunk->length, .offset = chunk->offset, .end = chunk->end
    };

    if (chunk->has_readings)
        bytes.urgent_count = stream_get_urgent_offsets(pkt->flow, direction_of(pkt), &bytes.urgent);
    app_feed_stream(pipeline->app, pkt->flow, direction_of(pkt), &bytes, pkt->time_ns, &verdict);
    apply_app_verdict(feed, &verdict);
    mark_detected_protocol(pkt, false);
    return true;
}

/* Releases the buffered stream data of complete transactions to inspection, so that rules see transaction and data
 * together. */
static void flush_complete(struct flow *flow, enum flow_direction direction)
{
    enum app_tx_list list = APP_TX_UNINSPECTED + direction;

    for (const struct app_tx *tx = app_transaction_list(flow, list); tx; tx = tx->link[list].next) {
        if (app_tx_needs_inspection(tx, direction) && app_tx_is_complete(tx, direction))
            stream_flush(flow, direction);
    }
}

/* Passive mode: parses the data that the receiver has acknowledged; with `all`, also the rest. */
static void parse_acknowledged(struct app_feed *feed, enum flow_direction direction, bool all)
{
    struct pipeline *pipeline = feed->pipeline;
    struct packet *pkt = feed->packet;
    struct stream_chunk chunk;

    while (stream_next_parser_chunk(pipeline->stream, pkt->flow, direction, all, &chunk)) {
        const struct app_stream_chunk bytes = {
            .bytes = chunk.data, .length = chunk.length, .offset = chunk.offset, .end = chunk.end
        };
        struct app_verdict verdict;

        app_feed_stream(pipeline->app, pkt->flow, direction, &bytes, pkt->time_ns, &verdict);
        apply_app_verdict(feed, &verdict);
    }
    flush_complete(pkt->flow, direction);
}

/* Passive mode: parses the data of both directions that this packet releases; with `all`, all data. */
static void parse_passive(struct app_feed *feed, bool all)
{
    const struct packet *pkt = feed->packet;
    enum flow_direction direction = direction_of(pkt);
    bool closes;

    if (!pkt->flow || !pkt->flow->tcp || pkt->protocol != IPPROTO_TCP)
        return;
    if (all) {
        parse_acknowledged(feed, FLOW_TO_SERVER, true);
        parse_acknowledged(feed, FLOW_TO_CLIENT, true);
        return;
    }
    parse_acknowledged(feed, direction == FLOW_TO_SERVER ? FLOW_TO_CLIENT : FLOW_TO_SERVER, false);
    closes = pkt->stream_flags & PACKET_STREAM_STATE_UPDATE && pkt->flow->state == FLOW_CLOSED;
    /* Also the packet's own direction: the ACK for its data may have arrived before the packet. */
    if (stream_is_one_sided(pkt->flow) || pkt->payload_length > 0 || closes)
        parse_acknowledged(feed, direction, false);
}

/* Inline: a FIN without data ends the parsing of its direction, so that rules inspect the transaction that it completes
 * before the FIN is forwarded. Returns true if the FIN was parsed. */
static bool parse_fin(struct app_feed *feed)
{
    struct packet *pkt = feed->packet;
    enum flow_direction direction = direction_of(pkt);
    struct app_stream_chunk nothing = { .end = true };
    struct app_verdict verdict;

    if (!feed->pipeline->stream_inline || pkt->protocol != IPPROTO_TCP || !pkt->transport ||
        !(pkt->tcp.flags & TCP_FIN) || pkt->payload_length > 0 || !pkt->flow || !pkt->flow->app ||
        app_protocols(pkt->flow) == 0 || !stream_has_ended(pkt->flow, direction))
        return false;
    nothing.offset = stream_parsed_offset(pkt->flow, direction);
    app_feed_stream(feed->pipeline->app, pkt->flow, direction, &nothing, pkt->time_ns, &verdict);
    apply_app_verdict(feed, &verdict);
    return true;
}

/* Parses a UDP datagram. Returns false if that changed nothing for rules, as for most datagrams of unknown
 * protocols. */
static bool parse_datagram(struct app_feed *feed)
{
    const struct packet *pkt = feed->packet;
    struct app_verdict verdict;

    if (pkt->protocol != IPPROTO_UDP || !pkt->flow || pkt->flow->protocol != IPPROTO_UDP || pkt->payload_length == 0 ||
        !app_feed_datagram(feed->pipeline->app, pkt->flow, direction_of(pkt), pkt->payload, pkt->payload_length,
                           pkt->time_ns, &verdict))
        return false;
    apply_app_verdict(feed, &verdict);
    return true;
}

/* Parses the data of a packet that rules do not inspect, for the events of its protocol. */
static void parse_for_log(struct app_feed *feed)
{
    const struct packet *pkt = feed->packet;
    struct stream_chunk chunk;

    if (!pkt->flow || pkt->flow->flags & FLOW_DROPPED || pkt->flow->state == FLOW_BYPASSED ||
        pkt->verdict == VERDICT_DROP)
        return;
    parse_datagram(feed);
    if (!feed->pipeline->stream_inline)
        parse_passive(feed, false);
    while (next_chunk(feed, false, &chunk))
        continue;
}

/* Applies the exception policy to a parser failure. Bypasses a UDP flow that has become encrypted, if its parser allows
 * it. Stops the reassembly of a direction of TCP that has become encrypted, after rules have inspected the earlier
 * data. */
static void apply_app_result(const struct app_feed *feed)
{
    struct pipeline *pipeline = feed->pipeline;
    struct packet *pkt = feed->packet;
    struct flow *flow = pkt->flow;

    if (feed->exception != EXCEPTION_NONE)
        policy_exception(pipeline->policy, pkt, feed->exception);
    if (flow && pkt->protocol == IPPROTO_UDP && feed->stop_stream && app_may_bypass(flow))
        flow->flags |= FLOW_BYPASS_REQUESTED;
    if (!flow || !flow->tcp)
        return;
    if (feed->stop_stream)
        flow->flags |= FLOW_ENCRYPTED;
    if (!(flow->flags & FLOW_ENCRYPTED) || pkt->protocol != IPPROTO_TCP)
        return;
    stream_stop(pipeline->stream, flow, direction_of(pkt));
    if (app_may_bypass(flow) && !stream_has_remaining_data(flow, FLOW_TO_SERVER) &&
        !stream_has_remaining_data(flow, FLOW_TO_CLIENT))
        flow->flags |= FLOW_BYPASS_REQUESTED;
}

/* --- Inspection ----------------------------------------------------------------------------------- */

/* Parses the data that a packet releases and evaluates the rules for the packet and each stream chunk. Returns the
 * number of hits. */
static size_t parse_and_detect(struct app_feed *feed, enum inspection_scope scope, const struct hit **hits)
{
    struct pipeline *pipeline = feed->pipeline;
    struct packet *pkt = feed->packet;
    const struct detect_input in = detect_input_of(pipeline, pkt, scope);
    const bool at_end = scope == INSPECT_AT_END;
    const struct rule *const *limited = NULL;
    struct stream_chunk chunk, reading;
    size_t count, limited_count;
    bool parsed, has_chunk;

    mark_detected_protocol(pkt, true);
    parsed = !at_end && parse_datagram(feed);
    if (!pipeline->stream_inline)
        parse_passive(feed, at_end);
    parsed |= parse_fin(feed);
    if (parsed || !pipeline->stream_inline)
        mark_detected_protocol(pkt, false);

    /* The first chunk is inspected together with the packet, because it is often the packet's payload. */
    has_chunk = next_chunk(feed, at_end, &chunk);
    detect_packet(pipeline->detector, pipeline->ruleset, &in, has_chunk ? &chunk : NULL);
    if (pipeline->has_frames) /* before the next chunk, which may free bytes of frames */
        frames_tidy(pipeline, pkt, false);
    while (has_chunk) {
        for (unsigned i = 1; chunk.has_readings &&
                             stream_next_reading(pipeline->stream, pkt->flow, direction_of(pkt), &chunk, i, &reading);
             i++)
            detect_reading(pipeline->detector, &reading);
        has_chunk = next_chunk(feed, at_end, &chunk);
        if (has_chunk)
            detect_chunk(pipeline->detector, &chunk);
        if (has_chunk && pipeline->has_frames)
            frames_tidy(pipeline, pkt, false);
    }
    if (at_end && pipeline->has_frames)
        frames_tidy(pipeline, pkt, true);
    count = detect_finish(pipeline->detector, hits);
    limited_count = detector_limited_rules(pipeline->detector, &limited);
    if (limited_count > 0)
        policy_count_limits(pipeline->policy, limited, limited_count);
    apply_app_result(feed);
    return count;
}

/* Parses the packet, evaluates the rules, applies the policy to their hits, and writes the events of the packet. */
static void inspect(struct pipeline *pipeline, struct packet *pkt, enum inspection_scope scope)
{
    const struct ruleset *ruleset = pipeline->ruleset;
    struct app_feed feed = { .pipeline = pipeline, .packet = pkt };
    const struct hit *hits = NULL;
    struct decision decision;
    size_t count = 0;

    if (scope == INSPECT_LOG_ONLY) {
        parse_for_log(&feed);
        if (pkt->flow)
            app_skip_inspection(pkt->flow);
        if (pipeline->has_frames)
            frames_tidy(pipeline, pkt, false);
        if (pipeline->hooks != 0)
            detect_abandon(pipeline->detector);
    } else if (scope == INSPECT_REFUSED) {
        count = detect_finish(pipeline->detector, &hits);
    } else {
        count = parse_and_detect(&feed, scope, &hits);
    }
    if (pkt->flags & PACKET_PSEUDO && count == 0)
        return;
    policy_apply(pipeline->policy, ruleset_rules(ruleset), pkt, hits, count,
                 pipeline->filters && scope != INSPECT_LOG_ONLY ? detector_filter(pipeline->detector) : NULL,
                 &decision);
    decision.filtered |= pipeline->filters;
    if (decision.block_rule && pipeline->blocks && !(pkt->flags & PACKET_PSEUDO))
        block_port_request(pipeline->blocks, pkt, decision.block_rule);
    decision.stream = pipeline->stream;
    decision.app = pipeline->app;
    decision.texts = scope == INSPECT_LOG_ONLY ? NULL : detector_captures(pipeline->detector);
    decision.names = rule_list_names(ruleset_rules(ruleset));
    if (pipeline->drop_undecodable && (pkt->flags & PACKET_MALFORMED) && !decision.passed && scope != INSPECT_LOG_ONLY)
        policy_drop(pipeline->policy, pkt, DROP_REASON_DECODE_ERROR);
    output_packet(pipeline->output, pkt, &decision, ruleset_generation(ruleset));
}

/* Inspects one direction of a flow with a pseudo packet. */
static void inspect_flow(struct pipeline *pipeline, struct flow *flow, uint64_t now_ns, enum flow_direction direction,
                         enum inspection_scope scope)
{
    struct packet pkt = pseudo_packet(flow, now_ns, direction);

    pkt.root = &pkt;
    inspect(pipeline, &pkt, scope);
}

void pipeline_inspect_unseen(struct pipeline *pipeline, struct flow *flow)
{
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        if (app_transaction_list(flow, APP_TX_UNINSPECTED + direction))
            inspect_flow(pipeline, flow, pipeline->now_ns, direction, INSPECT_FULL);
    }
}

/* Inspects the remaining data of a flow that ends. Passive: data that was not acknowledged. Inline: data behind a gap
 * that was never filled here, which the receiver may have got all the same. */
static void inspect_rest(struct pipeline *pipeline, struct flow *flow)
{
    if (!(flow->tcp || flow->app) || flow->flags & (FLOW_DROPPED | FLOW_PASSED) || flow->state == FLOW_BYPASSED ||
        policy_demands_drop(pipeline->policy, flow))
        return;
    /* First pass: the rest of the stream. Second pass: transactions that the end of the stream completes. */
    for (unsigned pass = 0; pass < 2; pass++) {
        if (pass == 0 ? !flow->tcp : !flow->app)
            continue;
        if (pass == 1)
            app_flow_finish(pipeline->app, flow);
        for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
            if (stream_has_remaining_data(flow, direction) || app_has_frames(flow, direction) ||
                app_transaction_list(flow, APP_TX_UNINSPECTED + direction))
                inspect_flow(pipeline, flow, pipeline->now_ns, direction, INSPECT_AT_END);
        }
    }
}

static bool has_complete_unseen(const struct flow *flow, enum flow_direction direction)
{
    enum app_tx_list list = APP_TX_UNINSPECTED + direction;
    const struct app_tx *tx = app_transaction_list(flow, list);

    while (tx && !app_tx_is_complete(tx, direction))
        tx = tx->link[list].next;
    return tx != NULL;
}

/* Passive mode: inspects transactions that the packet that closes a connection has completed, also those of the
 * opposite direction. */
static void inspect_closed(struct pipeline *pipeline, const struct packet *pkt)
{
    struct tcp_summary summary;

    if (pipeline->stream_inline || !(pkt->stream_flags & PACKET_STREAM_STATE_UPDATE) || !pkt->flow || !pkt->flow->app ||
        pkt->flow->state != FLOW_CLOSED || pkt->flow->flags & FLOW_PASSED ||
        policy_demands_drop(pipeline->policy, pkt->flow))
        return;
    stream_summary(pkt->flow, &summary);
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        if (summary.state == TCP_STATE_CLOSED && has_complete_unseen(pkt->flow, direction))
            inspect_flow(pipeline, pkt->flow, pkt->time_ns, direction, INSPECT_FULL);
    }
}

/* Called after inspection: bypasses the flow if that is configured or was requested, and frees stream memory that a
 * dropped, bypassed or closed flow no longer needs. */
static void update_flow_state(struct pipeline *pipeline, struct flow *flow)
{
    struct tcp_summary summary;

    if (flow->state != FLOW_BYPASSED && !(flow->flags & FLOW_DROPPED) &&
        (offload_port_is_bypassed(pipeline->offload, flow) || (pipeline->bypass_at_depth && stream_is_at_depth(flow))))
        flow->flags |= FLOW_BYPASS_REQUESTED;
    if (pipeline->shedding && flow->state != FLOW_BYPASSED)
        shed_flow(pipeline, flow);
    /* Firewall rules are not evaluated for a bypassed flow, so it must have been accepted. */
    if (flow->flags & FLOW_BYPASS_REQUESTED && pipeline->filters && !flow->accepted)
        flow->flags &= (uint16_t)~FLOW_BYPASS_REQUESTED;
    if (flow->flags & FLOW_BYPASS_REQUESTED && flow->state != FLOW_BYPASSED)
        flow_set_state(pipeline->flows, flow, FLOW_BYPASSED);
    if (flow->tcp && (flow->flags & FLOW_DROPPED || flow->state == FLOW_BYPASSED)) {
        stream_stop(pipeline->stream, flow, FLOW_TO_SERVER);
        stream_stop(pipeline->stream, flow, FLOW_TO_CLIENT);
    } else if (flow->state == FLOW_CLOSED) {
        stream_summary(flow, &summary);
        if (!pipeline->inline_mode || summary.state != TCP_STATE_CLOSED)
            return;
        inspect_rest(pipeline, flow);
        stream_release_closed(pipeline->stream, flow);
        if (!(flow->flags & FLOW_PASSED)) /* for passed flows, inspect_rest() has not completed parsing */
            app_release_closed(pipeline->app, flow);
    }
}

/* Inspects one packet: a queued packet, a packet inside a tunnel, or a reassembled datagram. */
static void inspect_packet(struct pipeline *pipeline, struct packet *pkt)
{
    enum inspection_scope scope;

    evict_app_memory(pipeline);
    verify_checksums(pipeline, pkt);
    if (!passes_hook(pipeline, pkt, FILTER_PRE_FLOW))
        scope = INSPECT_REFUSED;
    else if (is_untracked(pipeline))
        scope = INSPECT_FULL;
    else
        scope = update_flow(pipeline, pkt);
    inspect(pipeline, pkt, scope);
    inspect_closed(pipeline, pkt);
    if (pkt->protocol == IPPROTO_TCP && pkt->tcp.flags & TCP_URG)
        pipeline_settle_urgent(pipeline, pkt);
    transactions_tidy(pipeline, pkt);
    if (pkt->flow)
        update_flow_state(pipeline, pkt->flow);
    if (pkt->reject != REJECT_NONE && pipeline->inline_mode) {
        if (drop_reason_is_firewall(pkt->drop_reason))
            pipeline->counters.firewall_rejected++;
        else
            pipeline->counters.rejected++;
        if (pipeline->injector)
            injector_reject(pipeline->injector, pkt);
    }
    pipeline->counters.would_reject += pkt->would_reject;
}

/* --- Fragments ------------------------------------------------------------------------------------ */

static void inspect_found(struct pipeline *pipeline, struct packet *const *found, size_t count);

/* Passes a fragment to reassembly. If the fragment completes its datagram, inspects the datagram, and gives its verdict
 * to the fragment. A datagram may contain fragments of another datagram: defrag limits the depth. */
static void defragment(struct pipeline *pipeline, struct packet *fragment)
{
    struct packet *found[DECODE_MAX_PACKETS];
    enum exception_cause exception;
    struct packet whole;
    size_t count;

    defrag_expire(pipeline->defrag, fragment->time_ns, EXPIRE_PER_FRAGMENT);
    switch (defrag_packet(pipeline->defrag, pipeline->decoder, fragment, &whole, &exception)) {
    case DEFRAG_STORED:
        break;
    case DEFRAG_COMPLETE:
        count = decode_reassembled(pipeline->decoder, &whole, fragment, found);
        defrag_prepend_link_header(&whole, fragment);
        inspect_found(pipeline, found, count);
        if (whole.root->verdict == VERDICT_DROP)
            defrag_drop(pipeline->defrag, &whole);
        break;
    case DEFRAG_DROPPED:
        policy_drop(pipeline->policy, fragment, DROP_REASON_DEFRAG_ERROR);
        break;
    case DEFRAG_IGNORED:
        pipeline->counters.uninspected_fragments++;
        if (exception != EXCEPTION_NONE)
            policy_exception(pipeline->policy, fragment, exception);
        break;
    }
}

static void inspect_found(struct pipeline *pipeline, struct packet *const *found, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (found[i]->flags & PACKET_FRAGMENT)
            defragment(pipeline, found[i]);
        inspect_packet(pipeline, found[i]);
    }
}

/* --- End of a flow -------------------------------------------------------------------------------- */

/* Writes the remaining events of transactions; with `moved_too`, also the events of transactions that were sent to the
 * next engine. */
static void log_transactions(struct pipeline *pipeline, struct flow *flow, bool moved_too)
{
    struct packet pkt =
        pseudo_packet(flow, pipeline->now_ns, flow->side[FLOW_TO_SERVER].packets > 0 ? FLOW_TO_SERVER : FLOW_TO_CLIENT);

    pkt.root = &pkt;
    for (struct app_tx *tx = app_transactions(flow); tx; tx = tx->next) {
        if (moved_too || !tx->moved)
            transaction_log(pipeline, &pkt, flow, tx, true);
    }
}

void pipeline_end_flow(struct flow *flow, enum flow_end reason, void *user)
{
    struct pipeline *pipeline = user;

    if (!pipeline->discards_flows && !flow_is_duplicate(flow)) {
        replay_order_flow_ends(pipeline->order, flow->start_ns, flow->first_number);
        if (pipeline->ruleset)
            inspect_rest(pipeline, flow);
        log_transactions(pipeline, flow, true);
        output_flow(pipeline->output, flow, reason, pipeline->ruleset ? ruleset_generation(pipeline->ruleset) : 0);
    }
    ended_flows_add(pipeline->ended, flow);
    app_flow_free(pipeline->app, flow, detect_release_transaction, pipeline->detector);
    detect_flow_end(pipeline->detector, flow);
    policy_flow_end(pipeline->policy, flow);
    stream_end(pipeline->stream, flow);
}

void pipeline_discard_flows(struct pipeline *pipeline)
{
    pipeline->discards_flows = true;
    flow_table_end_all(pipeline->flows, FLOW_END_SHUTDOWN);
    app_byterange_clear(pipeline->app);
    pipeline->discards_flows = false;
}

void pipeline_log_remaining(struct pipeline *pipeline, struct flow *flow)
{
    log_transactions(pipeline, flow, false);
}

void pipeline_update_offloaded(struct pipeline *pipeline, const struct ruleset *ruleset,
                               const struct flow_report *report, uint64_t now_ns)
{
    pipeline->now_ns = now_ns;
    pipeline_set_ruleset(pipeline, ruleset);
    flow_table_update_offloaded(pipeline->flows, report, now_ns);
}

void pipeline_expire(struct pipeline *pipeline, const struct ruleset *ruleset, uint64_t now_ns, size_t budget)
{
    pipeline->now_ns = now_ns;
    pipeline_set_ruleset(pipeline, ruleset);
    defrag_expire(pipeline->defrag, now_ns, budget);
    flow_table_expire(pipeline->flows, now_ns, budget);
}

void pipeline_trim(struct pipeline *pipeline)
{
    flow_table_trim(pipeline->flows);
    stream_trim(pipeline->stream);
    detector_trim(pipeline->detector);
}

void pipeline_expire_all(struct pipeline *pipeline, const struct ruleset *ruleset, uint64_t now_ns)
{
    pipeline->now_ns = now_ns;
    pipeline_set_ruleset(pipeline, ruleset);
    flow_table_expire_all(pipeline->flows, now_ns);
}

void pipeline_finish(struct pipeline *pipeline, const struct ruleset *ruleset, uint64_t now_ns)
{
    pipeline->now_ns = now_ns;
    pipeline_set_ruleset(pipeline, ruleset);
    flow_table_end_all(pipeline->flows, FLOW_END_SHUTDOWN);
}

/* --- Path of a packet ----------------------------------------------------------------------------- */

/* Publishes the packet that the worker inspects in the engine's memory, where the supervisor finds it if the engine
 * dies. */
static void publish_packet(struct pipeline *pipeline, const struct packet *pkt)
{
    if (pipeline->heartbeat)
        heartbeat_set_packet(pipeline->heartbeat, (uint64_t)(pkt->data - pipeline->slots), pkt->length, pkt->meta.id);
}

static void decode(struct pipeline *pipeline, struct decoded_packet *decoded, struct packet *pkt)
{
    decoded->of = pkt;
    decoded->count = decode_packet(pipeline->decoder, pkt, decoded->found);
}

/* Decodes the packet, unless it was decoded ahead. Then decodes the next packet ahead, so that the next flow is in the
 * CPU's cache when it is needed. Does not decode ahead if this packet has inner packets or is a fragment, because
 * decoding reuses their memory. */
static const struct decoded_packet *decode_with_next(struct pipeline *pipeline, struct packet *pkt, struct packet *next)
{
    struct decoded_packet *decoded = &pipeline->decoded[pipeline->current = !pipeline->current];

    publish_packet(pipeline, pkt);
    if (decoded->of != pkt)
        decode(pipeline, decoded, pkt);
    decoded->of = NULL;
    if (next && decoded->count == 1 && !(decoded->found[0]->flags & PACKET_FRAGMENT)) {
        publish_packet(pipeline, next);
        decode(pipeline, &pipeline->decoded[!pipeline->current], next);
        flow_table_prefetch(pipeline->flows, next);
        publish_packet(pipeline, pkt);
    }
    return decoded;
}

/* Decides whether the kernel handles the rest of the connection, and records the decision in the flow. */
static void offload_flow(struct pipeline *pipeline, struct packet *pkt)
{
    enum packet_offload offload = offload_decide(pipeline->offload, pkt);

    if (offload == OFFLOAD_ACCEPT && pipeline->filters && !pkt->flow->accepted)
        offload = OFFLOAD_NONE;
    if (offload == OFFLOAD_NONE && pipeline->offload->acknowledge && pkt->flow) {
        bool was_offloaded = pkt->flow->offload == OFFLOAD_ACKNOWLEDGMENTS;
        bool allowed =
            ruleset_acknowledgment_count(pipeline->ruleset) == 0 && (!pipeline->filters || pkt->flow->accepted);

        pkt->offload = offload_acknowledgments(pipeline->offload, pipeline->stream, pkt, allowed);
        pipeline->counters.offloaded_acknowledgments += pkt->offload == OFFLOAD_ACKNOWLEDGMENTS && !was_offloaded;
        return;
    }
    pkt->offload = offload;
    if (offload == OFFLOAD_NONE || pkt->flow->offload == offload)
        return;
    pkt->flow->offload = (uint8_t)offload;
    pipeline->counters.offloaded_accept += offload == OFFLOAD_ACCEPT;
    pipeline->counters.offloaded_drop += offload == OFFLOAD_DROP;
}

static void count_verdict(struct pipeline *pipeline, const struct packet *pkt)
{
    bool by_firewall = pkt->verdict == VERDICT_DROP && drop_reason_is_firewall(pkt->drop_reason);

    if (pipeline->filters) {
        pipeline->counters.firewall_accepted += !by_firewall;
        pipeline->counters.firewall_blocked += by_firewall && pkt->reject == REJECT_NONE; /* as in Suricata */
    }
    if (pkt->verdict == VERDICT_DROP) {
        pipeline->counters.blocked += !by_firewall;
        pipeline->counters.drop_reason[pkt->drop_reason]++;
        return;
    }
    pipeline->counters.accepted++;
    pipeline->counters.uninspected_link += pkt->link == LINK_UNSUPPORTED;
    if (pkt->would_drop != DROP_REASON_NONE) {
        pipeline->counters.would_drop++;
        pipeline->counters.would_drop_reason[pkt->would_drop]++;
    }
}

void pipeline_packet(struct pipeline *pipeline, const struct ruleset *ruleset, struct packet *pkt, struct packet *next)
{
    const struct decoded_packet *decoded;

    pipeline->now_ns = pkt->time_ns;
    pipeline_set_ruleset(pipeline, ruleset);
    decoded = decode_with_next(pipeline, pkt, next);
    if (packet_needs_segments(pipeline, decoded, pkt)) {
        pkt->verdict = VERDICT_SEGMENT;
        return;
    }
    if (pipeline->offload->skips && decoded->count == 1 &&
        offload_is_skipped(pipeline->offload, pipeline->flows, decoded->found[0])) {
        pipeline->counters.accepted++;
        pipeline->counters.skipped_packets++;
        pipeline->counters.skipped_bytes += pkt->length;
        return;
    }
    if (packet_policy_decides(pipeline, pkt)) {
        struct decision nothing = { 0 };

        output_packet(pipeline->output, pkt, &nothing, ruleset_generation(ruleset));
    } else {
        if (pipeline->inline_mode)
            rewriter_begin(&pipeline->rewriter, pkt);
        inspect_found(pipeline, decoded->found, decoded->count);
        if (pipeline->inline_mode)
            pipeline_finish_rewriting(pipeline, pkt);
    }
    offload_flow(pipeline, pkt);
    count_verdict(pipeline, pkt);
}
