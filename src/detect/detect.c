/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A packet's way through a ruleset: scan the payload and the other buffers that have a prefilter, add the rules that have
 * none, put the candidates into order, evaluate them.
 *
 * The packet serial marks which checks are already candidates, so nothing has to be cleared between packets; when it
 * wraps, the marks are cleared once.
 */
#include <errno.h>
#include <hs.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "detect_priv.h"
#include "inspect.h"
#include "sluice/stream_event.h"
#include "sluice/pcre_scratch.h"

void detector_options_default(struct detector_options *options)
{
    *options = (struct detector_options){
        .pcre_match_limit = PCRE_DEFAULT_MATCH_LIMIT,
        .pcre_depth_limit = PCRE_DEFAULT_DEPTH_LIMIT,
    };
}

int detector_new(struct detector **out, const struct detector_options *options)
{
    const struct pcre_limits limits = { options->pcre_match_limit, options->pcre_depth_limit };
    struct detector *detector = calloc(1, sizeof(*detector));

    if (!detector)
        return -ENOMEM;
    detector->pcre = pcre_scratch_new(&limits);
    if (!detector->pcre) {
        free(detector);
        return -ENOMEM;
    }
    *out = detector;
    return 0;
}

void detector_free(struct detector *detector)
{
    if (!detector)
        return;
    if (detector->scratch)
        hs_free_scratch(detector->scratch);
    pcre_scratch_free(detector->pcre);
    free(detector->candidates);
    free(detector->seen);
    free(detector->hits);
    free(detector);
}

static int grow_arrays(struct detector *detector, uint32_t count)
{
    uint32_t *candidates = calloc(count + 1, sizeof(*candidates));
    uint32_t *seen = calloc(count + 1, sizeof(*seen));
    struct hit *hits = calloc(count + 1, sizeof(*hits));

    if (!candidates || !seen || !hits) {
        free(candidates);
        free(seen);
        free(hits);
        return -ENOMEM;
    }
    free(detector->candidates);
    free(detector->seen);
    free(detector->hits);
    detector->candidates = candidates;
    detector->seen = seen;
    detector->hits = hits;
    detector->capacity = count;
    detector->serial = 0;
    return 0;
}

int detector_prepare(struct detector *detector, const struct ruleset *ruleset)
{
    int err = 0;

    if (ruleset->check_count > detector->capacity || !detector->candidates)
        err = grow_arrays(detector, ruleset->check_count);
    for (enum traffic traffic = 0; traffic < TRAFFIC_COUNT && !err; traffic++) {
        if (ruleset->payload[traffic])
            err = prefilter_grow_scratch(ruleset->payload[traffic], &detector->scratch);
    }
    for (uint32_t i = 0; i < ruleset->buffer_count && !err; i++)
        err = prefilter_grow_scratch(ruleset->buffers[i].prefilter, &detector->scratch);
    if (err)
        return err;
    memset(detector->seen, 0, detector->capacity * sizeof(*detector->seen));
    detector->serial = 0;
    detector->prepared_for = ruleset;
    return 0;
}

const struct detect_counters *detector_counters(const struct detector *detector)
{
    return &detector->counters;
}

/* --- Candidates ------------------------------------------------------------------------------------------------------------ */

static void next_serial(struct detector *detector)
{
    if (++detector->serial == 0) {
        memset(detector->seen, 0, detector->capacity * sizeof(*detector->seen));
        detector->serial = 1;
    }
    detector->candidate_count = 0;
}

static void add_list(struct detector *detector, const struct check_list *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        detector_add_candidate(detector, list->index[i]);
}

static void add_events(struct detector *detector, const struct ruleset *ruleset, const struct packet *pkt)
{
    for (unsigned word = 0; word < PACKET_EVENT_WORDS; word++) {
        for (uint64_t bits = pkt->events[word]; bits; bits &= bits - 1) {
            unsigned event = word * 64 + (unsigned)__builtin_ctzll(bits);

            if (event < STREAM_EVENT_END)
                add_list(detector, &ruleset->by_event[event]);
        }
    }
}

static void scan_buffers(struct detector *detector, const struct ruleset *ruleset, const struct match_input *in)
{
    for (uint32_t i = 0; i < ruleset->buffer_count; i++) {
        uint32_t length = 0;
        const uint8_t *bytes = ruleset->buffers[i].buffer->buffer(in, &length);

        if (bytes && length > 0)
            prefilter_scan(ruleset->buffers[i].prefilter, detector, bytes, length);
    }
}

static enum traffic traffic_of(const struct packet *pkt)
{
    if (pkt->protocol == IPPROTO_TCP)
        return TRAFFIC_TCP;
    return pkt->protocol == IPPROTO_UDP ? TRAFFIC_UDP : TRAFFIC_OTHER;
}

/* The payload of a carrier is the packet inside, which is inspected by itself. */
static bool has_payload(const struct packet *pkt)
{
    return pkt->payload_length > 0 && !(pkt->flags & PACKET_CARRIES_TUNNEL);
}

static void collect(struct detector *detector, const struct ruleset *ruleset, const struct match_input *in)
{
    const struct packet *pkt = in->packet;

    if (pkt->event_count > 0)
        add_events(detector, ruleset, pkt);
    if (pkt->ip_version == 0) {
        add_list(detector, &ruleset->without_ip);
        scan_buffers(detector, ruleset, in);
        return;
    }
    enum traffic traffic = traffic_of(pkt);

    if (ruleset->payload[traffic] && has_payload(pkt))
        prefilter_scan(ruleset->payload[traffic], detector, pkt->payload, pkt->payload_length);
    add_list(detector, &ruleset->unfiltered[traffic]);
    if (ruleset->buffer_count > 0)
        scan_buffers(detector, ruleset, in);
}

static int compare_index(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    return a < b ? -1 : a > b;
}

/* Most packets have a handful of candidates: insertion beats qsort there. */
static void sort_candidates(uint32_t *candidates, uint32_t count)
{
    if (count > 32) {
        qsort(candidates, count, sizeof(*candidates), compare_index);
        return;
    }
    for (uint32_t i = 1; i < count; i++) {
        uint32_t value = candidates[i], k = i;

        for (; k > 0 && candidates[k - 1] > value; k--)
            candidates[k] = candidates[k - 1];
        candidates[k] = value;
    }
}

/* --- Evaluation ------------------------------------------------------------------------------------------------------------ */

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

/* Ports of a fragment are not known: a rule that asks for one does not match it. */
static bool port_matches(const struct port_set *set, const struct packet *pkt, uint16_t port)
{
    return !set || (!(pkt->flags & PACKET_FRAGMENT) && port_set_has(set, port));
}

static bool direction_matches(const struct check *check, const struct packet *pkt, bool swapped)
{
    const struct address_set *source = swapped ? check->destination : check->source;
    const struct address_set *destination = swapped ? check->source : check->destination;

    return port_matches(swapped ? check->destination_port : check->source_port, pkt, pkt->source_port) &&
           port_matches(swapped ? check->source_port : check->destination_port, pkt, pkt->destination_port) &&
           (!source || address_set_has(source, pkt->ip_version, &pkt->source_address)) &&
           (!destination || address_set_has(destination, pkt->ip_version, &pkt->destination_address));
}

static bool header_matches(const struct check *check, const struct packet *pkt)
{
    if (!protocol_matches(check, pkt))
        return false;
    return direction_matches(check, pkt, false) || (check->bidirectional && direction_matches(check, pkt, true));
}

static bool buffers_match(struct detector *detector, const struct check *check, const struct match_input *in)
{
    struct inspection inspection = {
        .input = in,
        .pcre = detector->pcre,
    };

    for (const struct rule_buffer *buffer = check->buffers; buffer; buffer = buffer->next) {
        inspection.at = 0;
        inspection.steps_left = INSPECT_STEPS;
        if (buffer->keyword) {
            inspection.data = buffer->keyword->buffer(in, &inspection.length);
            if (!inspection.data)
                return false;
        } else {
            if (!has_payload(in->packet))
                return false;
            inspection.data = in->packet->payload;
            inspection.length = in->packet->payload_length;
        }
        if (!inspect_buffer(&inspection, buffer->conditions))
            return false;
    }
    return true;
}

static bool evaluate(struct detector *detector, const struct check *check, const struct match_input *in)
{
    if (!header_matches(check, in->packet))
        return false;
    detector->counters.evaluations++;
    for (const struct condition *c = check->conditions; c; c = c->next) {
        if (c->keyword->match(in, c->data) == c->negated)
            return false;
    }
    return buffers_match(detector, check, in);
}

size_t detect_packet(struct detector *detector, const struct ruleset *ruleset, const struct packet *pkt,
                     const struct hit **hits)
{
    struct match_input in = { .packet = pkt };
    size_t count = 0;

    next_serial(detector);
    collect(detector, ruleset, &in);
    *hits = detector->hits;
    if (detector->candidate_count == 0)
        return 0;
    detector->counters.candidates += detector->candidate_count;
    sort_candidates(detector->candidates, detector->candidate_count);
    for (uint32_t i = 0; i < detector->candidate_count; i++) {
        const struct check *check = &ruleset->checks[detector->candidates[i]];

        if (evaluate(detector, check, &in))
            detector->hits[count++].rule = check->rule;
    }
    detector->counters.matches += count;
    return count;
}
