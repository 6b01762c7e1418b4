/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A packet's whole path, top to bottom: decode -> defrag -> (checksums) -> detect -> policy -> events -> reject.
 *
 * A packet that carries others (tunnels) is inspected after them, and has the one verdict for all; so is a fragment after the
 * datagram that it completes. Flows and streams take their places between decode and detect.
 */
#include "engine_priv.h"

#include <string.h>

enum { CHECKSUM_SAMPLE = 1000, EXPIRE_PER_FRAGMENT = 2 };

static int new_defrag(struct pipeline *pipeline, const struct pipeline_options *options)
{
    struct defrag_options defrag = options->defrag;

    pipeline->host_os = options->host_os;
    defrag.inline_mode = options->policy.inline_mode;
    defrag.host_os = host_os_table_policy(&pipeline->host_os);
    return defrag_new(&pipeline->defrag, &defrag);
}

int pipeline_init(struct pipeline *pipeline, const struct pipeline_options *options, struct policy_shared *shared,
                  struct output_port *output)
{
    int err;

    memset(pipeline, 0, sizeof(*pipeline));
    err = decoder_new(&pipeline->decoder, &options->decode);
    if (err)
        return err;
    err = new_defrag(pipeline, options);
    if (err)
        goto free_decoder;
    err = detector_new(&pipeline->detector, &options->detector);
    if (err)
        goto free_defrag;
    err = policy_new(&pipeline->policy, &options->policy, shared);
    if (err)
        goto free_detector;
    pipeline->output = output;
    pipeline->checksums = options->checksums;
    pipeline->drop_undecodable = options->drop_undecodable;
    return 0;

free_detector:
    detector_free(pipeline->detector);
free_defrag:
    defrag_free(pipeline->defrag);
free_decoder:
    decoder_free(pipeline->decoder);
    memset(pipeline, 0, sizeof(*pipeline));
    return err;
}

void pipeline_clear(struct pipeline *pipeline)
{
    injector_free(pipeline->injector);
    policy_free(pipeline->policy);
    detector_free(pipeline->detector);
    defrag_free(pipeline->defrag);
    decoder_free(pipeline->decoder);
    memset(pipeline, 0, sizeof(*pipeline));
}

/* What the policies for whole packets say before any rule is asked; true when the packet is not to be inspected. */
static bool judged_by_policy(struct pipeline *pipeline, struct packet *pkt)
{
    if (!(pkt->flags & PACKET_MARKED))
        return false;
    pipeline->counters.marked++;
    if (pipeline->marked_policy == QUEUE_MARKED_INSPECT)
        return false;
    if (pipeline->marked_policy == QUEUE_MARKED_DROP) {
        pkt->verdict = VERDICT_DROP;
        pkt->drop_reason = DROP_REASON_MARKED;
    } else {
        pipeline->counters.uninspected_marked++;
    }
    return true;
}

static void check_checksums(struct pipeline *pipeline, struct packet *pkt)
{
    if (pipeline->checksums == CHECKSUMS_IGNORE)
        return;
    decode_check_checksums(pkt);
    if (pipeline->checksums != CHECKSUMS_AUTO)
        return;
    pipeline->checksums_wrong += (pkt->flags & (PACKET_BAD_L3_CHECKSUM | PACKET_BAD_L4_CHECKSUM)) != 0;
    if (++pipeline->checksums_seen == CHECKSUM_SAMPLE)
        pipeline->checksums = pipeline->checksums_wrong > CHECKSUM_SAMPLE / 10 ? CHECKSUMS_IGNORE : CHECKSUMS_CHECK;
}

static void inspect(struct pipeline *pipeline, const struct ruleset *ruleset, struct packet *pkt)
{
    const struct hit *hits;
    struct decision decision;

    if (ruleset_needs_checksums(ruleset))
        check_checksums(pipeline, pkt);
    size_t count = detect_packet(pipeline->detector, ruleset, pkt, &hits);

    policy_apply(pipeline->policy, ruleset_rules(ruleset), pkt, hits, count, &decision);
    if (pipeline->drop_undecodable && (pkt->flags & PACKET_MALFORMED) && !decision.passed &&
        pkt->verdict != VERDICT_DROP) {
        pkt->verdict = VERDICT_DROP;
        pkt->drop_reason = DROP_REASON_DECODE_ERROR;
        if (pkt->root->verdict != VERDICT_DROP) {
            pkt->root->verdict = VERDICT_DROP;
            pkt->root->drop_reason = DROP_REASON_TUNNEL;
        }
    }
    output_packet(pipeline->output, pkt, &decision, ruleset_generation(ruleset));
    if (pkt->reject != REJECT_NONE) {
        pipeline->counters.rejected++;
        if (pipeline->injector)
            injector_reject(pipeline->injector, pkt);
    }
}

/* --- Fragments -------------------------------------------------------------------------------------------------------------- */

static void inspect_found(struct pipeline *pipeline, const struct ruleset *ruleset, struct packet *const *found,
                          size_t count);

/* The fragment that completes a datagram carries the verdict for the whole. */
static void inspect_whole(struct pipeline *pipeline, const struct ruleset *ruleset, const struct packet *fragment,
                          struct packet *whole)
{
    struct packet *found[DECODE_MAX_PACKETS];
    size_t count = decode_reassembled(pipeline->decoder, whole, fragment, found);

    defrag_show_link(whole, fragment);
    inspect_found(pipeline, ruleset, found, count);
    if (whole->root->verdict == VERDICT_DROP)
        defrag_drop(pipeline->defrag, whole);
}

/* Datagrams within fragments within datagrams: defrag says how deep this goes. */
static void defragment(struct pipeline *pipeline, const struct ruleset *ruleset, struct packet *fragment)
{
    enum exception_cause exception;
    struct packet whole;

    defrag_expire(pipeline->defrag, fragment->time_ns, EXPIRE_PER_FRAGMENT);
    switch (defrag_packet(pipeline->defrag, pipeline->decoder, fragment, &whole, &exception)) {
    case DEFRAG_HELD:
        break;
    case DEFRAG_COMPLETE:
        inspect_whole(pipeline, ruleset, fragment, &whole);
        break;
    case DEFRAG_DROPPED:
        fragment->verdict = VERDICT_DROP;
        fragment->drop_reason = DROP_REASON_DEFRAG_ERROR;
        if (fragment->root->verdict != VERDICT_DROP) {
            fragment->root->verdict = VERDICT_DROP;
            fragment->root->drop_reason = DROP_REASON_TUNNEL;
        }
        break;
    case DEFRAG_IGNORED:
        pipeline->counters.uninspected_fragments++;
        break;
    }
}

static void inspect_found(struct pipeline *pipeline, const struct ruleset *ruleset, struct packet *const *found,
                          size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (found[i]->flags & PACKET_FRAGMENT)
            defragment(pipeline, ruleset, found[i]);
        inspect(pipeline, ruleset, found[i]);
    }
}

static void count_verdict(struct pipeline *pipeline, const struct packet *pkt)
{
    if (pkt->verdict == VERDICT_DROP) {
        pipeline->counters.blocked++;
        pipeline->counters.drop_reason[pkt->drop_reason]++;
    } else {
        pipeline->counters.accepted++;
        pipeline->counters.uninspected_link += pkt->link == LINK_UNSUPPORTED;
    }
}

void pipeline_packet(struct pipeline *pipeline, const struct ruleset *ruleset, struct packet *pkt)
{
    struct packet *found[DECODE_MAX_PACKETS];
    size_t count = decode_packet(pipeline->decoder, pkt, found);

    if (judged_by_policy(pipeline, pkt)) {
        struct decision nothing = { 0 };

        output_packet(pipeline->output, pkt, &nothing, ruleset_generation(ruleset));
    } else {
        inspect_found(pipeline, ruleset, found, count);
    }
    count_verdict(pipeline, pkt);
}
