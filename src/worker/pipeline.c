/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A packet's path, top to bottom: decode, defrag, flow, stream, app, detect, policy, events, reject.
 *
 * A packet that carries others (tunnels) is inspected after them, and has the one verdict for all; so is a fragment
 * after the datagram that it completes. When a flow ends, what its stream still held is inspected and its events are
 * written: pipeline_end_flow().
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
#include "sluice/turn.h"
#include "sluice/worker.h"

#include "pipeline_priv.h"

enum { CHECKSUM_SAMPLE = 1000, EXPIRE_PER_FRAGMENT = 2 };

static void inspect_rest(struct pipeline *pipeline, struct flow *flow);

/* In the order of the packets, so that it is the same ones that are sampled whatever the number of workers. */
static void sample_checksums(struct pipeline *pipeline, struct packet *pkt)
{
    struct checksum_sample *sample = pipeline->checksum_sample;

    turn_wait(pipeline->turn);
    if (sample->seen < CHECKSUM_SAMPLE) {
        decode_check_checksums(pkt);
        sample->wrong += (pkt->flags & (PACKET_BAD_L3_CHECKSUM | PACKET_BAD_L4_CHECKSUM)) != 0;
        sample->seen++;
        decode_accept_partial_checksum(pkt); /* captured on the sending host */
        return;
    }
    pipeline->checksums = sample->wrong > CHECKSUM_SAMPLE / 10 ? CHECKSUMS_IGNORE : CHECKSUMS_CHECK;
    if (pipeline->checksums == CHECKSUMS_CHECK)
        decode_check_checksums(pkt);
}

static void check_checksums(struct pipeline *pipeline, struct packet *pkt)
{
    if (pipeline->checksums == CHECKSUMS_AUTO)
        sample_checksums(pipeline, pkt);
    else if (pipeline->checksums == CHECKSUMS_CHECK)
        decode_check_checksums(pkt);
}

/* What the kernel says is about the packet that it had, not about one inside or one made of fragments. */
static bool is_verified(const struct pipeline *pipeline, const struct packet *pkt)
{
    return pipeline->kernel_checksums && pkt->root == pkt && !(pkt->flags & PACKET_REASSEMBLED) &&
           !(pkt->flags & PACKET_CHECKSUM_UNVERIFIED);
}

/* A segment with a wrong checksum does not change its stream. The kernel or the card may have verified it. */
static bool needs_checksums(const struct pipeline *pipeline, const struct packet *pkt)
{
    if (ruleset_needs_checksums(pipeline->ruleset))
        return true;
    return pipeline->stream_checksums && pkt->protocol == IPPROTO_TCP && pkt->transport && !is_verified(pipeline, pkt);
}

/* --- Flow and stream ------------------------------------------------------------------------------ */

/* The kernel did not queue the end of an offloaded connection, and has no conntrack entry when the new SYN arrives. */
static bool is_reuse(const struct pipeline *pipeline, const struct flow *flow, struct packet *pkt)
{
    if (flow->offload == OFFLOAD_ACCEPT && (pkt->tcp.flags & (TCP_SYN | TCP_ACK | TCP_RST)) == TCP_SYN &&
        pkt->tunnel_depth == 0)
        return true;
    return stream_is_reuse(pipeline->stream, flow, pkt);
}

static struct flow *find_flow(struct pipeline *pipeline, struct packet *pkt, enum exception_cause *exception)
{
    struct flow *flow = flow_table_get(pipeline->flows, pkt, exception);

    if (flow && pkt->protocol == IPPROTO_TCP && pkt->transport && is_reuse(pipeline, flow, pkt)) {
        flow_table_end(pipeline->flows, flow, FLOW_END_REUSED);
        flow = flow_table_get(pipeline->flows, pkt, exception);
        pkt->stream_flags |= PACKET_STREAM_PORT_REUSE;
    }
    return flow;
}

/* Of a segment that is dropped because nobody would accept it the rules may tell nevertheless. */
static bool tells_of(enum exception_cause exception)
{
    return exception == EXCEPTION_STREAM_INVALID;
}

/* True when no rule is to be asked. */
static bool track_stream(struct pipeline *pipeline, struct flow *flow, struct packet *pkt, bool settled)
{
    struct stream_verdict verdict;

    stream_packet(pipeline->stream, pipeline->flows, flow, pkt, &verdict);
    if (settled && !(flow->flags & FLOW_ACCEPTED_WHOLE)) /* of those the exceptions are counted on */
        return true;
    if (verdict.undecided && policy_exception_drops(pipeline->policy, verdict.exception)) {
        /* Only the packet, not the flow: the retransmission is looked up again. */
        policy_drop(pipeline->policy, pkt, DROP_REASON_STREAM_MIDSTREAM);
        settled = true;
    } else if (verdict.exception != EXCEPTION_NONE)
        settled |= policy_exception(pipeline->policy, pkt, verdict.exception) && !tells_of(verdict.exception);
    if (verdict.drop && !(flow->flags & FLOW_PASSED))
        policy_drop(pipeline->policy, pkt, verdict.reason);
    return settled;
}

static void count_bypassed(struct pipeline *pipeline, const struct flow *flow, const struct packet *pkt)
{
    bool captured = flow->offload != OFFLOAD_NONE;

    *(captured ? &pipeline->counters.captured_packets : &pipeline->counters.local_packets) += 1;
    *(captured ? &pipeline->counters.captured_bytes : &pipeline->counters.local_bytes) += pkt->length;
}

/* A flow that begins in overload, when that is not to be; or one of which nobody has answered yet, should only packets
 * be treated so. */
static bool refuse_new(struct pipeline *pipeline, struct packet *pkt)
{
    const struct flow *flow = pkt->flow;
    const uint16_t both = FLOW_SERVER_SEEN | FLOW_CLIENT_SEEN;

    if (flow->state != FLOW_NEW || (flow->flags & both) == both || flow->flags & (FLOW_DROPPED | FLOW_PASSED))
        return false;
    pipeline->counters.shed[SHED_NEW] += flow->exceptions[EXCEPTION_OVERLOAD] == 0;
    return policy_exception(pipeline->policy, pkt, EXCEPTION_OVERLOAD);
}

/* Finds the packet's flow and follows its stream. True when no rule is to be asked. */
static bool track(struct pipeline *pipeline, struct packet *pkt)
{
    enum exception_cause exception = EXCEPTION_NONE;
    struct flow *flow = find_flow(pipeline, pkt, &exception);
    bool settled;

    pkt->flow = flow;
    if (!flow)
        return exception != EXCEPTION_NONE && policy_exception(pipeline->policy, pkt, exception);
    flow_update(pipeline->flows, flow, pkt);
    if (flow->state == FLOW_BYPASSED)
        count_bypassed(pipeline, flow, pkt);
    settled = policy_flow(pipeline->policy, pkt);
    if (pipeline->shedding >> SHED_NEW & 1)
        settled |= refuse_new(pipeline, pkt);
    if (pkt->protocol == IPPROTO_TCP && pkt->transport)
        settled = track_stream(pipeline, flow, pkt, settled);
    return settled;
}

/* Inline, the bytes of a connection that is over are given back at once, those that are left being inspected before. */
static void release_closed(struct pipeline *pipeline, struct flow *flow)
{
    struct tcp_summary summary;

    stream_summary(flow, &summary);
    if (!pipeline->inline_mode || summary.state != TCP_STATE_CLOSED)
        return;
    inspect_rest(pipeline, flow);
    stream_release_closed(pipeline->stream, flow);
}

/* As configured, without a rule that asks. */
static bool wants_bypass(const struct pipeline *pipeline, const struct flow *flow)
{
    return offload_port_is_bypassed(pipeline->offload, flow) || (pipeline->bypass_at_depth && stream_is_at_depth(flow));
}

/* What was decided for the flow: one that is dropped, passed, bypassed or over needs no stream any more. */
static void settle_flow(struct pipeline *pipeline, struct flow *flow)
{
    if (flow->state != FLOW_BYPASSED && !(flow->flags & FLOW_DROPPED) && wants_bypass(pipeline, flow))
        flow->flags |= FLOW_BYPASS_WANTED;
    if (pipeline->shedding && flow->state != FLOW_BYPASSED)
        shed_flow(pipeline, flow);
    if (flow->flags & FLOW_BYPASS_WANTED && flow->state != FLOW_BYPASSED)
        flow_set_state(pipeline->flows, flow, FLOW_BYPASSED);
    if (flow->tcp && (flow->flags & FLOW_DROPPED || flow->state == FLOW_BYPASSED)) {
        stream_stop(pipeline->stream, flow, FLOW_TO_SERVER);
        stream_stop(pipeline->stream, flow, FLOW_TO_CLIENT);
    } else if (flow->state == FLOW_CLOSED) {
        release_closed(pipeline, flow);
    }
}

/* --- Application protocols ------------------------------------------------------------------------ */

/* The packet whose stream is being looked at. */
struct app_feed {
    struct pipeline *pipeline;
    struct packet *packet;
    enum exception_cause exception;
    bool stop_stream;
};

static void note_app(struct app_feed *feed, const struct app_verdict *verdict)
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

/* For rules on app-layer-protocol. `next`: before the packet's own bytes are parsed. */
static void note_detected_protocol(struct packet *pkt, bool next)
{
    if (pkt->flow && app_is_just_detected(pkt->flow, direction_of(pkt), next))
        pkt->flags |= PACKET_PROTOCOL_DETECTED;
}

/* What is new in the stream goes to its protocol before rules are asked of it. */
static void feed_view(void *user, const struct stream_view *view)
{
    struct app_feed *feed = user;
    const struct packet *pkt = feed->packet;
    struct app_stream_bytes bytes = {
        .bytes = view->data, .length = view->length, .offset = view->offset, .end = view->end
    };
    struct app_verdict verdict;

    if (view->has_readings)
        bytes.urgent_count = stream_urgent_places(pkt->flow, direction_of(pkt), &bytes.urgent);
    app_stream(feed->pipeline->app, pkt->flow, direction_of(pkt), &bytes, pkt->time_ns, &verdict);
    note_app(feed, &verdict);
    note_detected_protocol(feed->packet, false);
}

/* A message that is complete is inspected as a whole, and what lies in the stream with it. */
static void flush_complete(struct flow *flow, enum flow_direction direction)
{
    enum app_tx_list list = APP_TX_UNSEEN + direction;

    for (const struct app_tx *tx = app_transactions_in(flow, list); tx; tx = tx->link[list].next) {
        if (app_tx_wants_inspection(tx, direction) && app_tx_is_complete(tx, direction))
            stream_flush(flow, direction);
    }
}

/* Passive, a protocol is told what the receiver has acknowledged, on the packet that does so. */
static void feed_acknowledged(struct app_feed *feed, enum flow_direction direction, bool all)
{
    struct pipeline *pipeline = feed->pipeline;
    struct packet *pkt = feed->packet;
    struct stream_view view;

    while (stream_next_acknowledged(pipeline->stream, pkt->flow, direction, all, &view)) {
        const struct app_stream_bytes bytes = {
            .bytes = view.data, .length = view.length, .offset = view.offset, .end = view.end
        };
        struct app_verdict verdict;

        app_stream(pipeline->app, pkt->flow, direction, &bytes, pkt->time_ns, &verdict);
        note_app(feed, &verdict);
    }
    flush_complete(pkt->flow, direction);
}

static void feed_passive(struct app_feed *feed, bool all)
{
    const struct packet *pkt = feed->packet;
    enum flow_direction direction = direction_of(pkt);

    if (!pkt->flow || !pkt->flow->tcp || pkt->protocol != IPPROTO_TCP)
        return;
    if (!all) {
        feed_acknowledged(feed, direction == FLOW_TO_SERVER ? FLOW_TO_CLIENT : FLOW_TO_SERVER, false);
        bool closes = pkt->stream_flags & PACKET_STREAM_STATE_UPDATE && pkt->flow->state == FLOW_CLOSED;

        /* What was acknowledged before it was seen: rules get it now, and then it is given back. */
        if (stream_is_oneside(pkt->flow) || pkt->payload_length > 0 || closes)
            feed_acknowledged(feed, direction, false);
        return;
    }
    feed_acknowledged(feed, FLOW_TO_SERVER, true);
    feed_acknowledged(feed, FLOW_TO_CLIENT, true);
}

/* Inline: a FIN without data ends parsing of its direction; rules inspect what it completes before it is forwarded. */
static void feed_fin(struct app_feed *feed)
{
    struct packet *pkt = feed->packet;
    const struct app_stream_bytes nothing = { .offset = stream_next_offset(pkt->flow, direction_of(pkt)), .end = true };
    struct app_verdict verdict;

    app_stream(feed->pipeline->app, pkt->flow, direction_of(pkt), &nothing, pkt->time_ns, &verdict);
    note_app(feed, &verdict);
}

static bool ends_stream(const struct pipeline *pipeline, const struct packet *pkt)
{
    return pipeline->stream_inline && pkt->protocol == IPPROTO_TCP && pkt->transport && pkt->tcp.flags & TCP_FIN &&
           pkt->payload_length == 0 && pkt->flow && pkt->flow->app && app_protocols(pkt->flow) != 0 &&
           stream_has_ended(pkt->flow, direction_of(pkt));
}

/* False: the packet changes nothing for rules, such as most datagrams of unknown protocols. */
static bool feed_datagram(struct app_feed *feed)
{
    const struct packet *pkt = feed->packet;
    struct app_verdict verdict;

    if (pkt->protocol != IPPROTO_UDP || !pkt->flow || pkt->flow->protocol != IPPROTO_UDP || pkt->payload_length == 0 ||
        !app_datagram(feed->pipeline->app, pkt->flow, direction_of(pkt), pkt->payload, pkt->payload_length,
                      pkt->time_ns, &verdict))
        return false;
    note_app(feed, &verdict);
    return true;
}

/* No rule is asked of a flow that has been passed; what it speaks is told nevertheless. */
static void feed_settled(struct app_feed *feed)
{
    struct pipeline *pipeline = feed->pipeline;
    struct packet *pkt = feed->packet;
    struct stream_view view;

    if (!pkt->flow || pkt->flow->flags & FLOW_DROPPED || pkt->flow->state == FLOW_BYPASSED ||
        pkt->verdict == VERDICT_DROP)
        return;
    feed_datagram(feed);
    if (!pkt->flow->tcp || pkt->protocol != IPPROTO_TCP)
        return;
    if (!pipeline->stream_inline)
        feed_passive(feed, false);
    while (stream_next_view(pipeline->stream, pkt->flow, direction_of(pkt), pkt, false, &view)) {
        if (pipeline->stream_inline)
            feed_view(feed, &view);
    }
}

/* Stops reassembly of a direction without consumers, at one of its packets, after rules saw the data before it. */
static void give_up_stream(struct pipeline *pipeline, struct packet *pkt)
{
    stream_stop(pipeline->stream, pkt->flow, direction_of(pkt));
    if (app_wants_bypass(pkt->flow) && !stream_has_rest(pkt->flow, FLOW_TO_SERVER) &&
        !stream_has_rest(pkt->flow, FLOW_TO_CLIENT))
        pkt->flow->flags |= FLOW_BYPASS_WANTED;
}

/* What a protocol's parser could not do is an exception of the packet that made it so. */
static void settle_app(const struct app_feed *feed)
{
    struct pipeline *pipeline = feed->pipeline;
    struct packet *pkt = feed->packet;

    if (feed->exception != EXCEPTION_NONE)
        policy_exception(pipeline->policy, pkt, feed->exception);
    if (!pkt->flow || !pkt->flow->tcp)
        return;
    if (feed->stop_stream)
        pkt->flow->flags |= FLOW_ENCRYPTED;
    if (pkt->flow->flags & FLOW_ENCRYPTED && pkt->protocol == IPPROTO_TCP)
        give_up_stream(pipeline, pkt);
}

/* --- Rules ---------------------------------------------------------------------------------------- */

static void ask_rules(struct pipeline *pipeline, struct packet *pkt, bool settled, bool flow_ends)
{
    const struct ruleset *ruleset = pipeline->ruleset;
    struct app_feed feed = { .pipeline = pipeline, .packet = pkt };
    const struct detect_input in = {
        .packet = pkt,
        .stream = pipeline->stream,
        .flows = pipeline->flows,
        .hosts = pipeline->hosts,
        .turn = pipeline->turn,
        .files = app_file_engine(pipeline->app),
        .on_view = pipeline->stream_inline ? feed_view : NULL,
        .user = &feed,
        .flow_ends = flow_ends,
    };
    const struct rule *const *limited = NULL;
    const struct hit *hits = NULL;
    struct decision decision;
    size_t count = 0, limited_count;

    if (settled) {
        feed_settled(&feed);
        if (pkt->flow)
            app_skip_inspection(pkt->flow);
    }
    if (!settled) {
        note_detected_protocol(pkt, true);
        bool fed = !flow_ends && feed_datagram(&feed);

        if (!pipeline->stream_inline)
            feed_passive(&feed, flow_ends);
        if (ends_stream(pipeline, pkt)) {
            feed_fin(&feed);
            fed = true;
        }
        if (fed || !pipeline->stream_inline)
            note_detected_protocol(pkt, false);
        count = detect_packet(pipeline->detector, ruleset, &in, &hits);
        limited_count = detector_limited(pipeline->detector, &limited);
        if (limited_count > 0)
            policy_count_limits(pipeline->policy, limited, limited_count);
        settle_app(&feed);
    }

    if (pkt->flags & PACKET_PSEUDO && count == 0)
        return;
    policy_apply(pipeline->policy, ruleset_rules(ruleset), pkt, hits, count, &decision);
    if (decision.block_rule && pipeline->blocks && !(pkt->flags & PACKET_PSEUDO))
        block_port_request(pipeline->blocks, pkt, decision.block_rule);
    decision.stream = pipeline->stream;
    decision.app = pipeline->app;
    decision.texts = settled ? NULL : detector_texts(pipeline->detector);
    decision.names = rule_list_names(ruleset_rules(ruleset));
    if (pipeline->drop_undecodable && (pkt->flags & PACKET_MALFORMED) && !decision.passed && !settled)
        policy_drop(pipeline->policy, pkt, DROP_REASON_DECODE_ERROR);
    output_packet(pipeline->output, pkt, &decision, ruleset_generation(ruleset));
}

static void inspect_unseen(struct pipeline *pipeline, struct flow *flow, uint64_t now_ns, enum flow_direction direction)
{
    struct packet pkt = pseudo_packet(flow, now_ns, direction);

    pkt.root = &pkt;
    ask_rules(pipeline, &pkt, false, false);
}

void pipeline_inspect_unseen(struct pipeline *pipeline, struct flow *flow)
{
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        if (app_transactions_in(flow, APP_TX_UNSEEN + direction))
            inspect_unseen(pipeline, flow, pipeline->now_ns, direction);
    }
}

static bool has_complete_unseen(const struct flow *flow, enum flow_direction direction)
{
    enum app_tx_list list = APP_TX_UNSEEN + direction;
    const struct app_tx *tx = app_transactions_in(flow, list);

    while (tx && !app_tx_is_complete(tx, direction))
        tx = tx->link[list].next;
    return tx != NULL;
}

/* Passive, the packet that closes a connection may complete a transaction of the other direction as its last packet. */
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
            inspect_unseen(pipeline, pkt->flow, pkt->time_ns, direction);
    }
}

static void inspect(struct pipeline *pipeline, struct packet *pkt)
{
    evict_app_memory(pipeline);
    if (needs_checksums(pipeline, pkt))
        check_checksums(pipeline, pkt);
    ask_rules(pipeline, pkt, track(pipeline, pkt), false);
    inspect_closed(pipeline, pkt);
    if (pkt->protocol == IPPROTO_TCP && pkt->tcp.flags & TCP_URG)
        pipeline_settle_urgent(pipeline, pkt);
    transactions_tidy(pipeline, pkt);
    if (pkt->flow)
        settle_flow(pipeline, pkt->flow);
    if (pkt->reject != REJECT_NONE && pipeline->inline_mode) {
        pipeline->counters.rejected++;
        if (pipeline->injector)
            injector_reject(pipeline->injector, pkt);
    }
    pipeline->counters.would_reject += pkt->would_reject;
}

/* --- Fragments ------------------------------------------------------------------------------------ */

static void inspect_found(struct pipeline *pipeline, struct packet *const *found, size_t count);

/* The fragment that completes a datagram carries the verdict for the whole. */
static void inspect_whole(struct pipeline *pipeline, const struct packet *fragment, struct packet *whole)
{
    struct packet *found[DECODE_MAX_PACKETS];
    size_t count = decode_reassembled(pipeline->decoder, whole, fragment, found);

    defrag_show_link(whole, fragment);
    inspect_found(pipeline, found, count);
    if (whole->root->verdict == VERDICT_DROP)
        defrag_drop(pipeline->defrag, whole);
}

/* Datagrams within fragments within datagrams: defrag says how deep this goes. */
static void defragment(struct pipeline *pipeline, struct packet *fragment)
{
    enum exception_cause exception;
    struct packet whole;

    defrag_expire(pipeline->defrag, fragment->time_ns, EXPIRE_PER_FRAGMENT);
    switch (defrag_packet(pipeline->defrag, pipeline->decoder, fragment, &whole, &exception)) {
    case DEFRAG_HELD:
        break;
    case DEFRAG_COMPLETE:
        inspect_whole(pipeline, fragment, &whole);
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
        inspect(pipeline, found[i]);
    }
}

/* --- The end of a flow ---------------------------------------------------------------------------- */

static void ask_at_end(struct pipeline *pipeline, struct flow *flow)
{
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        if (!stream_has_rest(flow, direction) && !app_transactions_in(flow, APP_TX_UNSEEN + direction))
            continue;
        struct packet pkt = pseudo_packet(flow, pipeline->now_ns, direction);

        pkt.root = &pkt;
        ask_rules(pipeline, &pkt, false, true);
    }
}

/*
 * Passive, bytes are inspected when they have been acknowledged: the last ones may not have been. Inline, those behind
 * a hole that never was filled here are left, though the receiver may have had them all.
 */
static void inspect_rest(struct pipeline *pipeline, struct flow *flow)
{
    if (!(flow->tcp || flow->app) || flow->flags & (FLOW_DROPPED | FLOW_PASSED) || flow->state == FLOW_BYPASSED ||
        policy_demands_drop(pipeline->policy, flow))
        return;
    if (flow->tcp)
        ask_at_end(pipeline, flow);
    if (flow->app) {
        app_finish(pipeline->app, flow);
        ask_at_end(pipeline, flow);
    }
}

static void log_at_end(struct pipeline *pipeline, struct flow *flow)
{
    struct packet pkt =
        pseudo_packet(flow, pipeline->now_ns, flow->side[FLOW_TO_SERVER].packets > 0 ? FLOW_TO_SERVER : FLOW_TO_CLIENT);

    pkt.root = &pkt;
    for (struct app_tx *tx = app_transactions(flow); tx; tx = tx->next)
        transaction_log(pipeline, &pkt, flow, tx, true);
}

void pipeline_end_flow(struct flow *flow, enum flow_end reason, void *user)
{
    struct pipeline *pipeline = user;

    if (!pipeline->discards_flows && !flow_is_visit(flow)) {
        turn_flow_ends(pipeline->turn, flow->start_ns, flow->first_number);
        if (pipeline->ruleset)
            inspect_rest(pipeline, flow);
        log_at_end(pipeline, flow);
        output_flow(pipeline->output, flow, reason, pipeline->ruleset ? ruleset_generation(pipeline->ruleset) : 0);
    }
    ended_flows_add(pipeline->ended, flow);
    app_end(pipeline->app, flow, detect_release_transaction, pipeline->detector);
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
    struct packet pkt =
        pseudo_packet(flow, pipeline->now_ns, flow->side[FLOW_TO_SERVER].packets > 0 ? FLOW_TO_SERVER : FLOW_TO_CLIENT);

    pkt.root = &pkt;
    for (struct app_tx *tx = app_transactions(flow); tx; tx = tx->next) {
        if (!tx->moved)
            transaction_log(pipeline, &pkt, flow, tx, true);
    }
}

void pipeline_update_offloaded(struct pipeline *pipeline, const struct ruleset *ruleset,
                               const struct flow_report *report, uint64_t now_ns)
{
    pipeline->now_ns = now_ns;
    pipeline_set_ruleset(pipeline, ruleset);
    flow_table_report(pipeline->flows, report, now_ns);
}

void pipeline_expire(struct pipeline *pipeline, const struct ruleset *ruleset, uint64_t now_ns, size_t budget)
{
    pipeline->now_ns = now_ns;
    pipeline_set_ruleset(pipeline, ruleset);
    defrag_expire(pipeline->defrag, now_ns, budget);
    flow_table_expire(pipeline->flows, now_ns, budget);
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

/* --- A packet ------------------------------------------------------------------------------------- */

static void count_verdict(struct pipeline *pipeline, const struct packet *pkt)
{
    if (pkt->verdict == VERDICT_DROP) {
        pipeline->counters.blocked++;
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

static void decode(struct pipeline *pipeline, struct decoded_packet *decoded, struct packet *pkt)
{
    decoded->of = pkt;
    decoded->count = decode_packet(pipeline->decoder, pkt, decoded->found);
}

/* The packets inside of the one at hand, and those that come out of a datagram, are lent until the decoder's next one.
 */
static void decode_ahead(struct pipeline *pipeline, const struct decoded_packet *now, struct packet *next)
{
    if (now->count > 1 || now->found[0]->flags & PACKET_FRAGMENT)
        return;
    decode(pipeline, &pipeline->decoded[!pipeline->current], next);
    flow_table_prefetch(pipeline->flows, next);
}

/* Of the packet that is at hand now. */
static struct decoded_packet *take_decoded(struct pipeline *pipeline, struct packet *pkt)
{
    struct decoded_packet *decoded = &pipeline->decoded[pipeline->current = !pipeline->current];

    if (decoded->of != pkt)
        decode(pipeline, decoded, pkt);
    decoded->of = NULL;
    return decoded;
}

/* What the kernel is to do with the rest of the connection. */
static void hand_over(struct pipeline *pipeline, struct packet *pkt)
{
    enum packet_offload offload = offload_decide(pipeline->offload, pkt);

    pkt->offload = offload;
    if (offload == OFFLOAD_NONE || pkt->flow->offload == offload)
        return;
    pkt->flow->offload = (uint8_t)offload;
    pipeline->counters.offloaded_accept += offload == OFFLOAD_ACCEPT;
    pipeline->counters.offloaded_drop += offload == OFFLOAD_DROP;
}

/* Should it be the end of us, the keeper sees which packet it was. */
static void hold(struct pipeline *pipeline, const struct packet *pkt)
{
    if (pipeline->heartbeat)
        heartbeat_set_packet(pipeline->heartbeat, (uint64_t)(pkt->data - pipeline->slots), pkt->length, pkt->meta.id);
}

void pipeline_packet(struct pipeline *pipeline, const struct ruleset *ruleset, struct packet *pkt, struct packet *next)
{
    const struct decoded_packet *decoded;

    hold(pipeline, pkt);
    pipeline->now_ns = pkt->time_ns;
    decoded = take_decoded(pipeline, pkt);
    pipeline_set_ruleset(pipeline, ruleset);
    if (next) {
        hold(pipeline, next);
        decode_ahead(pipeline, decoded, next);
        hold(pipeline, pkt);
    }
    if (packet_needs_segments(pipeline, decoded, pkt)) {
        pkt->verdict = VERDICT_SEGMENT;
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
    hand_over(pipeline, pkt);
    count_verdict(pipeline, pkt);
}
