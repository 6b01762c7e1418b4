/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames: messages and their parts, as ranges of the bytes of a stream or datagram, which the parsers announce. Rules
 * inspect them (keyword frame), and events of type frame report them.
 *
 * A parser announces a frame as soon as it has read the header that says where the frame ends, so that the bytes of the
 * frame can be inspected while they arrive. It may announce the same frame again when it is called again with the
 * unconsumed bytes: a frame that does not begin behind the last one of its type is known already.
 *
 * A direction of a reading has a list of the frames that are not inspected completely. It is allocated for the first
 * frame that a loaded rule or an output uses (app_set_frames()); for all others app_frame() returns after one
 * comparison. The pipeline removes frames from the list when all of their bytes have been inspected.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app_priv.h"
#include "frame.h"
#include "sluice/keyword.h"
#include "sluice/stream.h"

enum { FRAMES_FIRST = 8 /* initial size of a list */ };

struct app_frames {
    uint32_t count, capacity;
    uint64_t next_id;
    uint16_t announced;             /* bit set of types that have had a frame */
    uint64_t last[APP_FRAME_TYPES]; /* per type in `announced`: offset of its last frame */
    struct app_frame list[];
};

/* --- Announcement --------------------------------------------------------------------------------- */

void app_set_frames(struct app *app, const uint16_t types[APP_MAX_PROTOCOLS])
{
    memcpy(app->frame_types, types, sizeof(app->frame_types));
}

/* Returns a new element at the end of the list, which is allocated if necessary; NULL if the list is full or memory is
 * exhausted. */
static struct app_frame *append_frame(struct app_context *context, struct app_frames **slot)
{
    struct app_frames *frames = *slot;
    uint32_t capacity = frames ? frames->capacity : 0;

    if (capacity == APP_FRAMES_MAX && frames->count == capacity) {
        context->app->lost_frames++;
        return NULL;
    }
    if (!frames || frames->count == capacity) {
        size_t used = frames ? sizeof(*frames) + capacity * sizeof(struct app_frame) : 0;

        capacity = capacity ? capacity * 2 : FRAMES_FIRST;
        frames = heap_grow(context->app->heap, frames, used, sizeof(*frames) + capacity * sizeof(struct app_frame));
        if (!frames)
            return NULL;
        if (!*slot)
            memset(frames, 0, sizeof(*frames));
        frames->capacity = capacity;
        *slot = frames;
    }
    return &frames->list[frames->count++];
}

static struct app_frame *last_frame(struct app_frames *frames, unsigned type)
{
    for (uint32_t i = frames ? frames->count : 0; i > 0; i--) {
        if (frames->list[i - 1].type == type)
            return &frames->list[i - 1];
    }
    return NULL;
}

/* Sets the length. The last byte is inspected again if it was inspected when it was not known to be the last one. */
static void set_length(struct app_frame *frame, uint64_t length)
{
    uint64_t end = frame->offset + length;

    if (frame->length == APP_FRAME_UNKNOWN && length != APP_FRAME_UNKNOWN && length > 0 && frame->inspected >= end)
        frame->inspected = end - 1;
    frame->length = length;
}

void app_frame_add(struct app_context *context, const struct app_input *in, uint32_t at, uint64_t length, unsigned type,
                   const struct app_tx *tx)
{
    struct app_frames **slot = &context->af->frames[in->direction], *frames = *slot;
    uint64_t offset = in->transport == APP_UDP ? at : in->offset + at;
    struct app_frame *frame;

    if (frames && frames->announced >> type & 1 && offset <= frames->last[type]) {
        frame = last_frame(frames, type);
        if (!frame || frame->offset != offset)
            return;
        set_length(frame, length);
    } else {
        frame = append_frame(context, slot);
        if (!frame)
            return;
        frames = *slot;
        frames->announced |= (uint16_t)(1U << type);
        frames->last[type] = offset;
        *frame = (struct app_frame){
            .id = ++frames->next_id,
            .offset = offset,
            .length = length,
            .inspected = offset,
            .type = (uint8_t)type,
            .protocol = context->af->protocol,
        };
    }
    if (tx) {
        frame->has_tx = true;
        frame->tx_id = tx->id;
        frame->tx_number = tx->number;
    }
}

bool app_wants_frame(const struct app_context *context, unsigned type)
{
    return context->app->frame_types[context->af->protocol - 1] >> type & 1;
}

bool app_wants_frames(const struct app_context *context)
{
    return context->app->frame_types[context->af->protocol - 1] != 0;
}

void app_frame_end(struct app_context *context, const struct app_input *in, uint32_t at, unsigned type)
{
    struct app_frame *frame = last_frame(context->af->frames[in->direction], type);
    uint64_t end = in->transport == APP_UDP ? at : in->offset + at;

    if (frame && frame->length == APP_FRAME_UNKNOWN && end >= frame->offset)
        set_length(frame, end - frame->offset);
}

void app_frame_set_tx(struct app_context *context, enum flow_direction direction, unsigned type,
                      const struct app_tx *tx)
{
    struct app_frame *frame = last_frame(context->af->frames[direction], type);

    if (!frame || !tx || frame->has_tx)
        return;
    frame->has_tx = true;
    frame->tx_id = tx->id;
    frame->tx_number = tx->number;
}

void app_frame_stream(struct app_context *context, const struct app_input *in)
{
    struct app_frames *frames = context->af->frames[in->direction];

    if (!frames || !(frames->announced >> APP_FRAME_STREAM & 1))
        app_frame_add(context, in, 0, APP_FRAME_UNKNOWN, APP_FRAME_STREAM, NULL);
    if (in->end)
        app_frame_end(context, in, in->length, APP_FRAME_STREAM);
}

void app_end_frames(struct app_flow *af)
{
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        struct app_frames *frames = af->frames[direction];
        uint64_t end = af->side[direction].offset;

        for (uint32_t i = 0; frames && i < frames->count; i++) {
            struct app_frame *frame = &frames->list[i];

            if (frame->length == APP_FRAME_UNKNOWN)
                set_length(frame, end > frame->offset ? end - frame->offset : 0);
        }
        if (frames)
            frames->announced = 0;
    }
}

/* --- Lists ---------------------------------------------------------------------------------------- */

bool app_get_frames(const struct flow *flow, unsigned reading, enum flow_direction direction, struct app_frame **list,
                    uint32_t *count)
{
    const struct app_flow *af = flow->app;

    for (; af && reading > 0; reading--)
        af = af->next_reading;
    *count = af && af->frames[direction] ? af->frames[direction]->count : 0;
    *list = *count > 0 ? af->frames[direction]->list : NULL;
    return af != NULL;
}

bool app_has_frames(const struct flow *flow, enum flow_direction direction)
{
    for (const struct app_flow *af = flow->app; af; af = af->next_reading) {
        if (af->frames[direction] && af->frames[direction]->count > 0)
            return true;
    }
    return false;
}

void app_remove_frames(const struct flow *flow, enum flow_direction direction, uint64_t until)
{
    for (const struct app_flow *af = flow->app; af; af = af->next_reading) {
        struct app_frames *frames = af->frames[direction];
        uint32_t kept = 0;

        for (uint32_t i = 0; frames && i < frames->count; i++) {
            const struct app_frame *frame = &frames->list[i];

            if (until < UINT64_MAX &&
                (frame->length == APP_FRAME_UNKNOWN || frame->offset > until || frame->length > until - frame->offset))
                frames->list[kept++] = *frame;
        }
        if (!frames)
            continue;
        frames->count = kept;
        if (flow->protocol == IPPROTO_UDP)
            frames->announced = 0; /* offsets count from the start of each datagram */
    }
}

void app_free_frames(struct app *app, struct app_flow *af)
{
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++)
        heap_release(app->heap, af->frames[direction]);
}

void app_frame_describe(const struct app_frame *frame, const struct packet *pkt, uint64_t edge, struct frame_facts *out)
{
    enum flow_direction direction = pkt->flags & PACKET_TO_CLIENT ? FLOW_TO_CLIENT : FLOW_TO_SERVER;
    uint64_t seen = pkt->protocol == IPPROTO_TCP ? stream_seen_offset(pkt->flow, direction) : edge;
    uint64_t arrived = edge > frame->offset ? edge - frame->offset : 0;
    bool has_end = frame->length != APP_FRAME_UNKNOWN;

    *out = (struct frame_facts){
        .type = frame->type == APP_FRAME_STREAM ? "stream" : app_proto_by_id(frame->protocol)->frames[frame->type],
        .id = frame->id,
        .offset = frame->offset,
        .length = has_end ? frame->length : arrived,
        .tx_number = frame->tx_number,
        .has_tx = frame->has_tx,
        .is_complete = has_end && frame->offset <= seen && frame->length <= seen - frame->offset,
    };
}

uint32_t app_frame_copy(const struct frame_facts *frame, const struct packet *pkt, uint8_t *out, uint32_t size)
{
    enum flow_direction direction = pkt->flags & PACKET_TO_CLIENT ? FLOW_TO_CLIENT : FLOW_TO_SERVER;
    uint64_t at = frame->offset, end = frame->offset + frame->length;
    uint32_t length = 0;

    if (pkt->protocol != IPPROTO_TCP) {
        uint64_t left = frame->offset < pkt->payload_length ? pkt->payload_length - frame->offset : 0;

        left = frame->length < left ? frame->length : left;
        length = left < size ? (uint32_t)left : size;
        if (length > 0)
            memcpy(out, pkt->payload + frame->offset, length);
        return length;
    }
    while (at < end && length < size) {
        uint64_t next = at, first = at;
        char note[48] = "";
        uint32_t noted = 0;
        size_t copied = stream_copy_run(pkt->flow, direction, &first, end, out + length, 1);
        uint64_t missing = (copied > 0 ? first : end) - at;

        if (copied == 0 && !frame->is_complete)
            break;
        if (missing > 0)
            noted = (uint32_t)snprintf(note, sizeof(note), "[%llu bytes missing]", (unsigned long long)missing);
        noted = noted < size - length ? noted : size - length;
        memcpy(out + length, note, noted);
        length += noted;
        next = at + missing;
        copied = stream_copy_run(pkt->flow, direction, &next, end, out + length, size - length);
        length += (uint32_t)copied;
        at = next + copied;
    }
    return length;
}

/* --- The keyword ---------------------------------------------------------------------------------- */

static bool admits(const struct rule_protocol *header, unsigned protocol)
{
    return header->ip_protocols[0] >> protocol & 1;
}

/* Returns the number of a type of frames of the protocol in rules with this header; -1: it has none of this name. */
static int find_type(const struct app_proto *proto, const struct rule_protocol *header, struct span name)
{
    if (span_equal(name, "stream") && proto->transports & APP_TCP && admits(header, IPPROTO_TCP))
        return APP_FRAME_STREAM;
    for (int type = 0; proto->frames && proto->frames[type]; type++) {
        if (span_equal(name, proto->frames[type]))
            return type;
    }
    return -1;
}

/* Returns the id of the protocol with this name or alias; 0: none. */
static unsigned find_protocol(struct span name)
{
    char text[32];

    if (name.length == 0 || name.length >= sizeof(text))
        return 0;
    memcpy(text, name.at, name.length);
    text[name.length] = '\0';
    return app_id_by_name(text);
}

static int parse(struct rule_parser *parser, struct span value)
{
    const struct rule *rule = rule_parser_rule(parser);
    const struct rule_protocol *header = &rule->protocol;
    const char *dot = memchr(value.at, '.', value.length);
    struct span name = value;
    unsigned id = dot ? find_protocol((struct span){ value.at, (size_t)(dot - value.at) }) : 0;
    struct app_frame_keyword *keyword;
    const struct app_proto *proto;
    const char **applications;
    int type;

    if (rule->transactional)
        return rule_parser_error(parser, value, "'frame' cannot be used in a rule with '=>'");
    if (header->packet_only)
        return rule_parser_error(parser, value, "'frame' inspects streams, which '%s' excludes", header->name);
    if (id > 0)
        name = (struct span){ dot + 1, value.length - (size_t)(dot + 1 - value.at) };
    else if (header->application)
        id = app_id_by_name(header->application);
    if (id == 0)
        return rule_parser_error(parser, value,
                                 "'" SPAN_FORMAT "' needs the name of its protocol, as in tls.pdu, or a rule for one",
                                 SPAN_ARGS(value));
    proto = app_proto_by_id(id);
    type = find_type(proto, header, name);
    if (type < 0) { /* the first word is part of the type: nfs.pdu of NFS */
        type = find_type(proto, header, value);
        name = type >= 0 ? value : name;
    }
    if (type < 0)
        return rule_parser_error(parser, value, "'%s' has no frames of type '" SPAN_FORMAT "'", proto->name,
                                 SPAN_ARGS(name));
    if (!(proto->transports & APP_TCP && admits(header, IPPROTO_TCP)) &&
        !(proto->transports & APP_UDP && admits(header, IPPROTO_UDP)))
        return rule_parser_error(parser, value, "'%s' has no frames in a rule for '%s'", proto->name, header->name);
    for (const struct rule_buffer *buffer = rule->buffers; buffer; buffer = buffer->next) {
        const struct app_frame_keyword *other = app_frame_keyword(buffer->keyword);

        if (other && other->protocol == id && other->type == type)
            return rule_parser_select_buffer(parser, buffer->keyword);
    }
    keyword = arena_alloc(rule_parser_arena(parser), sizeof(*keyword));
    applications = arena_alloc(rule_parser_arena(parser), 2 * sizeof(*applications));
    if (!keyword || !applications)
        return -ENOMEM;
    applications[0] = proto->name;
    *keyword = (struct app_frame_keyword){ .protocol = (uint8_t)id, .type = (uint8_t)type };
    memcpy(&keyword->keyword, &keyword_frame, sizeof(keyword->keyword));
    keyword->keyword.name =
        arena_printf(rule_parser_arena(parser), "frame:%s." SPAN_FORMAT, proto->name, SPAN_ARGS(name));
    keyword->keyword.scope = (struct keyword_scope){ applications, APP_BOTH };
    return keyword->keyword.name ? rule_parser_select_buffer(parser, &keyword->keyword) : -ENOMEM;
}

/* A rule on frames inspects only frames, as in Suricata. */
static int finish(struct rule_parser *parser, const struct condition *condition)
{
    const struct rule *rule = rule_parser_rule(parser);
    const char *other = NULL;

    (void)condition;
    if (rule->transaction_conditions)
        other = rule->transaction_conditions->keyword->name;
    else if (rule->file_conditions)
        other = rule->file_conditions->keyword->name;
    for (const struct rule_buffer *buffer = rule->buffers; buffer && !other; buffer = buffer->next) {
        bool is_nested = buffer->keyword && buffer->keyword->flags & KEYWORD_NESTED; /* decoded bytes of the frame */

        if (!is_nested && !app_frame_keyword(buffer->keyword))
            other = buffer->keyword ? buffer->keyword->name : "content without a buffer";
    }
    if (!other)
        return 0;
    return rule_parser_error(parser, rule_parser_rule_span(parser), "'frame' cannot be combined with '%s'", other);
}

const struct keyword keyword_frame = {
    .name = "frame",
    .value = "[PROTOCOL.]TYPE",
    .help = "selects the bytes of frames: messages of an application protocol, or parts of them",
    .manual = "The types of each protocol are listed in docs/frames.md. In a rule for a protocol its name may be left "
              "out: frame:pdu. A rule with frame cannot inspect other buffers. The type stream is all bytes of a "
              "direction of a TCP stream.",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_STATE,
    .parse = parse,
    .finish = finish,
};
