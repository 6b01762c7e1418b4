/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A packet's whole path, top to bottom: decode -> (checksums) -> detect -> policy -> events -> reject.
 *
 * A packet that carries others (tunnels) is inspected after them, and has the one verdict for all. Defragmentation, flows
 * and streams take their places between decode and detect.
 */
#include "engine_priv.h"

#include <string.h>

enum { CHECKSUM_SAMPLE = 1000 };

int pipeline_init(struct pipeline *pipeline, const struct pipeline_options *options, struct policy_shared *shared,
                  struct output_port *output)
{
    int err;

    memset(pipeline, 0, sizeof(*pipeline));
    err = decoder_new(&pipeline->decoder, &options->decode);
    if (err)
        return err;
    err = detector_new(&pipeline->detector, &options->detector);
    if (err)
        goto free_decoder;
    err = policy_new(&pipeline->policy, &options->policy, shared);
    if (err)
        goto free_detector;
    pipeline->output = output;
    pipeline->checksums = options->checksums;
    pipeline->checksum_sample = options->checksum_sample;
    pipeline->drop_undecodable = options->drop_undecodable;
    return 0;

free_detector:
    detector_free(pipeline->detector);
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
    decoder_free(pipeline->decoder);
    memset(pipeline, 0, sizeof(*pipeline));
}

void pipeline_set_turn(struct pipeline *pipeline, struct turn *turn)
{
    pipeline->turn = turn;
    policy_set_turn(pipeline->policy, turn);
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

/* In the order of the packets, so that it is the same ones that are sampled whatever the number of workers. */
static void sample_checksums(struct pipeline *pipeline, struct packet *pkt)
{
    struct checksum_sample *sample = pipeline->checksum_sample;

    turn_wait(pipeline->turn);
    if (sample->seen < CHECKSUM_SAMPLE) {
        decode_check_checksums(pkt);
        sample->wrong += (pkt->flags & (PACKET_BAD_L3_CHECKSUM | PACKET_BAD_L4_CHECKSUM)) != 0;
        sample->seen++;
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

static void count_verdict(struct pipeline *pipeline, const struct packet *pkt)
{
    if (pkt->verdict == VERDICT_DROP) {
        pipeline->counters.blocked++;
        pipeline->counters.drop_reason[pkt->drop_reason]++;
    } else {
        pipeline->counters.accepted++;
        pipeline->counters.uninspected_link += pkt->link == LINK_UNSUPPORTED;
        pipeline->counters.uninspected_fragments += (pkt->flags & PACKET_FRAGMENT) != 0;
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
        for (size_t i = 0; i < count; i++)
            inspect(pipeline, ruleset, found[i]);
    }
    count_verdict(pipeline, pkt);
}
