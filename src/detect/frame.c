/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules on frames (keyword frame). Each type of frames has a group: a prefilter with the literals of its rules, and the
 * list of rules without one.
 *
 * A frame is inspected with the packets of its direction: inline, all of its new bytes with each packet; in passive
 * mode when it is complete, when FRAME_WINDOW new bytes have arrived, or at the end of the stream, as in Suricata. The
 * FRAME_WINDOW bytes before the new ones are inspected again, for matches that begin there.
 *
 * A rule matches once in a frame, so that the result does not depend on segmentation. The frame of a whole direction is
 * an exception: there a rule matches again behind its last match, as in a stream. A rule that finds no room in the list
 * of the frame (app_frame.matches) may match again in new bytes.
 *
 * The bytes are copied from the stream, because a frame may span segments and chunks. A gap in the stream divides a
 * frame into pieces, which are inspected separately. Conditions that refer to the start or the end of the frame hold
 * only in a piece with that start or end.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "detect_priv.h"
#include "inspect.h"
#include "sluice/transform.h"

struct frame_group {
    struct prefilter *prefilter;      /* NULL: no rule has a literal */
    struct signature_list unfiltered; /* rules without a literal, or with transforms */
};

/* --- Groups --------------------------------------------------------------------------------------- */

static struct frame_group *find_group(const struct ruleset *ruleset, unsigned protocol, unsigned type)
{
    return &ruleset->frames[(size_t)protocol * APP_FRAME_TYPES + type];
}

static size_t group_count(void)
{
    return (app_list_count + 1) * APP_FRAME_TYPES;
}

bool rule_is_of_frame(const struct rule *rule)
{
    for (const struct rule_buffer *buffer = rule->buffers; buffer; buffer = buffer->next) {
        if (app_frame_keyword(buffer->keyword))
            return true;
    }
    return false;
}

uint16_t ruleset_frame_types(const struct ruleset *ruleset, unsigned protocol)
{
    return ruleset->frame_types[protocol];
}

/* Returns whether a condition refers to the end of its buffer. */
static bool refers_to_end(const struct condition *condition)
{
    const struct content *content = condition_content(condition);
    const char *name = condition->keyword->name;

    if (content)
        return content->ends_with;
    return strcmp(name, "bsize") == 0 || strcmp(name, "isdataat") == 0;
}

static void set_bounds(struct signature *signature)
{
    for (const struct rule_buffer *buffer = signature->buffers; buffer; buffer = buffer->next) {
        for (const struct condition *c = buffer->conditions; c; c = c->next) {
            const struct content *content = condition_content(c);

            signature->frame_end |= refers_to_end(c);
            signature->frame_start |= content && (content->starts_with || content->has_offset || content->has_depth);
            /* Other conditions without a previous match count from the start of the frame. */
            signature->frame_start |= !content && !c->relative && strcmp(c->keyword->name, "pcre") != 0;
        }
    }
}

int frame_rule_add(struct ruleset *ruleset, uint32_t index)
{
    struct signature *signature = &ruleset->signatures[index];
    struct literal literal;

    if (!ruleset->frames)
        ruleset->frames = calloc(group_count(), sizeof(*ruleset->frames));
    if (!ruleset->frames)
        return -ENOMEM;
    set_bounds(signature);
    bool has_literal = literal_choose(signature->rule, true, LITERAL_BOTH_WAYS, &literal);

    for (const struct rule_buffer *buffer = signature->buffers; buffer; buffer = buffer->next) {
        const struct app_frame_keyword *keyword = app_frame_keyword(buffer->keyword);
        struct frame_group *group = find_group(ruleset, keyword->protocol, keyword->type);
        int err;

        ruleset->frame_types[keyword->protocol] |= (uint16_t)(1U << keyword->type);
        if (has_literal && literal.rule_buffer == buffer && !buffer->transforms) {
            literal.grows = true;
            literal.is_whole = false;
            literal.at = LITERAL_ANYWHERE;
            err = group->prefilter ? 0 : prefilter_new(&group->prefilter);
            if (!err)
                err = prefilter_add(group->prefilter, &literal, index);
        } else {
            err = signature_list_add(&group->unfiltered, index);
        }
        if (err)
            return err;
    }
    return 0;
}

struct prefilter *frame_prefilter(const struct ruleset *ruleset, size_t number)
{
    return ruleset->frames[number].prefilter;
}

size_t frame_group_count(const struct ruleset *ruleset)
{
    return ruleset->frames ? group_count() : 0;
}

void frame_groups_clear(struct ruleset *ruleset)
{
    for (size_t i = 0; i < frame_group_count(ruleset); i++) {
        prefilter_free(ruleset->frames[i].prefilter);
        free(ruleset->frames[i].unfiltered.index);
    }
    free(ruleset->frames);
}

/* --- Evaluation ----------------------------------------------------------------------------------- */

/* A part of a frame without a gap. */
struct piece {
    struct app_frame *frame;
    const uint8_t *bytes;
    uint64_t offset; /* of bytes[0] in the stream or datagram */
    uint32_t length;
    uint32_t known; /* number of leading bytes that were inspected before */
    bool has_start, has_end;
    uint64_t edge; /* offset before which the bytes of the stream, or datagram, have arrived */
};

static bool matches(struct inspection *inspection, const struct rule_buffer *buffer, const uint8_t *bytes,
                    uint32_t length)
{
    enum transform_result result = TRANSFORM_DONE;

    transform_scratch_reset(inspection->transforms);
    if (buffer->transforms)
        result = transforms_apply(inspection->transforms, buffer->transforms, &bytes, &length);
    if (result == TRANSFORM_NO_MEMORY)
        return inspection_record_limit(inspection, INSPECT_LIMIT_TRANSFORM);
    if (result == TRANSFORM_ABSENT)
        return buffer->absence != BUFFER_PRESENT;
    if (buffer->absence == BUFFER_ABSENT)
        return false;
    inspection->data = bytes;
    inspection->length = length;
    inspection->steps_left = INSPECT_STEPS;
    return inspect_buffer(inspection, buffer->conditions);
}

/* Evaluates the rule on the bytes [from, to) of a piece. */
static bool matches_part(struct evaluation *ev, const struct signature *signature, const struct piece *piece,
                         uint32_t from, uint32_t to)
{
    bool has_start = piece->has_start && from == 0, has_end = piece->has_end && to == piece->length;
    struct inspection inspection;
    bool any = false;

    if ((signature->frame_start && !has_start) || (signature->frame_end && !has_end))
        return false;
    inspection_init(&inspection, ev);
    inspection.start_is_cut = !has_start;
    inspection.end_is_cut = !has_end;
    for (const struct rule_buffer *buffer = signature->buffers; buffer; buffer = buffer->next) {
        const struct app_frame_keyword *keyword = app_frame_keyword(buffer->keyword);

        /* As in Suricata, a rule that selects frames of several types matches in a frame of any of them. */
        if (keyword->type != piece->frame->type || keyword->protocol != piece->frame->protocol)
            continue;
        if (!matches(&inspection, buffer, piece->bytes + from, to - from))
            return false;
        any = true;
    }
    return any;
}

/* Returns the entry of the rule in the frame's list of rules that have matched; NULL: it has none. */
static struct app_frame_match *find_match(struct app_frame *frame, uint64_t rule)
{
    for (unsigned i = 0; i < frame->match_count; i++) {
        if (frame->matches[i].rule == rule)
            return &frame->matches[i];
    }
    return NULL;
}

static void evaluate_rule(struct evaluation *ev, uint32_t index, const struct piece *piece)
{
    const struct signature *signature = &ev->ruleset->signatures[index];
    uint64_t id = (uint64_t)signature->rule->gid << 32 | signature->rule->sid;
    struct detector *detector = ev->detector;
    struct app_frame *frame = piece->frame;
    struct app_frame_match *match = find_match(frame, id);
    uint32_t from = 0, known = piece->known;
    bool matched;

    if (match && frame->type != APP_FRAME_STREAM)
        return;
    if (match && match->end > piece->offset) { /* a match in a whole direction: search behind it */
        from = match->end - piece->offset < piece->length ? (uint32_t)(match->end - piece->offset) : piece->length;
        known = 0;
    }
    ev->match.in_stream = false;
    detector->captured.count = 0;
    if (from == piece->length || !evaluate_header(ev, signature) || !evaluate_packet_conditions(ev, signature))
        return;
    detector->counters.evaluations++;
    evaluate_begin_limits(detector, signature->rule);
    matched = matches_part(ev, signature, piece, from, piece->length);
    if (matched && known > 0 && matches_part(ev, signature, piece, 0, known) &&
        !matches_part(ev, signature, piece, known, piece->length))
        matched = false; /* reported when the frame was inspected before */
    evaluate_end_limits(detector, signature->rule);
    if (!matched)
        return;
    if (!match && frame->match_count < APP_FRAME_MATCHES)
        match = &frame->matches[frame->match_count++];
    if (match)
        *match = (struct app_frame_match){ .rule = id, .end = piece->offset + piece->length };
    evaluate_frame_hit(ev, index, frame, piece->edge);
}

static void inspect_piece(struct evaluation *ev, const struct piece *piece)
{
    const struct frame_group *group = find_group(ev->ruleset, piece->frame->protocol, piece->frame->type);
    struct detector *detector = ev->detector;
    const struct rule_list *rules = ruleset_rules(ev->ruleset);

    candidates_clear(&detector->candidates);
    if (group->prefilter)
        prefilter_scan(group->prefilter, detector, piece->bytes, piece->length, piece->has_start ? 0 : 1);
    for (uint32_t i = 0; i < group->unfiltered.count; i++)
        candidates_add(&detector->candidates, group->unfiltered.index[i]);
    detector->counters.candidates += detector->candidates.count;
    evaluate_sort(detector);
    if (detector->budget)
        budget_start(detector->budget);
    for (uint32_t i = 0; i < detector->candidates.count; i++) {
        const struct rule *rule = ev->ruleset->signatures[detector->candidates.list[i]].rule;

        if (detector->budget && !budget_allows(detector->budget, rule))
            continue;
        evaluate_rule(ev, detector->candidates.list[i], piece);
        if (detector->budget)
            budget_book(detector, rules, rule);
    }
}

static void inspect_datagram_frame(struct evaluation *ev, struct app_frame *frame)
{
    const struct packet *pkt = ev->input->packet;
    uint32_t left = frame->offset < pkt->payload_length ? pkt->payload_length - (uint32_t)frame->offset : 0;
    bool complete = frame->length == APP_FRAME_UNKNOWN || frame->length <= left;
    const struct piece piece = {
        .frame = frame,
        .bytes = pkt->payload + frame->offset,
        .offset = frame->offset,
        .length = complete && frame->length != APP_FRAME_UNKNOWN ? (uint32_t)frame->length : left,
        .has_start = true,
        .has_end = complete,
        .edge = pkt->payload_length,
    };

    if (left > 0 && piece.length > 0 && frame->inspected == frame->offset)
        inspect_piece(ev, &piece);
    frame->inspected = frame->offset + piece.length;
}

/* Inspects the bytes of a frame before the offset `edge` of the stream. `all`: no more bytes will come. */
static void inspect_stream_frame(struct evaluation *ev, struct app_frame *frame, uint64_t edge, bool all)
{
    struct detector *detector = ev->detector;
    bool complete =
        frame->length != APP_FRAME_UNKNOWN && frame->offset <= edge && frame->length <= edge - frame->offset;
    uint64_t end = complete ? frame->offset + frame->length : edge, at = frame->offset;

    if (frame->inspected >= end)
        return;
    if (!ev->input->is_inline && !complete && !all && end - frame->inspected < FRAME_WINDOW)
        return;
    if (frame->inspected > at + FRAME_WINDOW)
        at = frame->inspected - FRAME_WINDOW;
    while (at < end) {
        uint32_t length = (uint32_t)stream_copy_run(ev->input->packet->flow, ev->direction, &at, end,
                                                    detector->frame_bytes, FRAME_PIECE_MAX);
        struct piece piece = {
            .frame = frame,
            .bytes = detector->frame_bytes,
            .offset = at,
            .length = length,
            .has_start = at == frame->offset,
            .has_end = at + length == end && (complete || all),
            .edge = edge,
        };

        if (length == 0)
            break;
        if (frame->inspected > at)
            piece.known = frame->inspected - at < length ? (uint32_t)(frame->inspected - at) : length;
        if (piece.known < length)
            inspect_piece(ev, &piece);
        at += length;
        if (length == FRAME_PIECE_MAX && at < end)
            at -= FRAME_WINDOW;
    }
    frame->inspected = end;
}

void detect_listed_frames(struct evaluation *ev)
{
    const struct packet *pkt = ev->input->packet;
    bool is_tcp = pkt->flow->tcp && pkt->protocol == IPPROTO_TCP;
    uint64_t edge = is_tcp ? stream_parsed_offset(pkt->flow, ev->direction) : 0;
    struct app_frame *list;
    uint32_t count;

    if (!is_tcp && (pkt->protocol != IPPROTO_UDP || pkt->flow->protocol != IPPROTO_UDP))
        return;
    for (unsigned reading = 0; app_get_frames(pkt->flow, reading, ev->direction, &list, &count); reading++) {
        for (uint32_t i = 0; i < count; i++) {
            if (!(ev->ruleset->frame_types[list[i].protocol] >> list[i].type & 1))
                continue;
            if (!is_tcp && pkt->payload)
                inspect_datagram_frame(ev, &list[i]);
            else if (is_tcp && list[i].offset < edge)
                inspect_stream_frame(ev, &list[i], edge, ev->input->at_end);
        }
    }
}
