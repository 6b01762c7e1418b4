/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of application protocols (src/app/frame.c): writes their events, and removes frames that are complete. Both
 * are done with a packet of the direction of the frame, after rules have inspected it.
 *
 * As in Suricata, the event of a frame is written when the frame is complete, when FRAME_LOGGED bytes of it have
 * arrived, or at the end of its stream; that of a frame without known length is written at once.
 */
#include <netinet/in.h>

#include "sluice/app.h"
#include "sluice/detect.h"
#include "sluice/flow.h"
#include "sluice/output.h"
#include "sluice/packet.h"
#include "sluice/pipeline.h"
#include "sluice/stream.h"

#include "pipeline_priv.h"

enum { FRAME_LOGGED = 2500 };

void frames_configure(struct pipeline *pipeline)
{
    uint16_t types[APP_MAX_PROTOCOLS] = { 0 };

    pipeline->logs_frames = pipeline->output && output_wants_frames(pipeline->output);
    pipeline->has_frames = pipeline->logs_frames;
    for (unsigned i = 0; i < app_list_count; i++) {
        types[i] = pipeline->ruleset ? ruleset_frame_types(pipeline->ruleset, i + 1) : 0;
        pipeline->has_frames |= types[i] != 0;
        if (pipeline->logs_frames)
            types[i] = app_list[i]->frames ? UINT16_MAX : 1U << APP_FRAME_STREAM;
    }
    app_set_frames(pipeline->app, types);
}

/* Writes the events of the frames of a list that are due. `edge`: offset before which the stream has arrived. */
static void log_list(struct pipeline *pipeline, const struct packet *pkt, struct app_frame *list, uint32_t count,
                     uint64_t edge, bool ends)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t arrived = edge > list[i].offset ? edge - list[i].offset : 0;
        uint8_t payload[FRAME_PAYLOAD_MAX];
        struct frame_facts facts;

        if (list[i].logged ||
            (!ends && list[i].length != APP_FRAME_UNKNOWN && arrived < list[i].length && arrived < FRAME_LOGGED))
            continue;
        app_frame_describe(&list[i], pkt, edge, &facts);
        facts.payload = payload;
        facts.payload_length = app_frame_copy(&facts, pkt, payload, sizeof(payload));
        output_frame(pipeline->output, pkt, &facts, pipeline->ruleset ? ruleset_generation(pipeline->ruleset) : 0);
        list[i].logged = true;
    }
}

void frames_tidy(struct pipeline *pipeline, const struct packet *pkt, bool ends)
{
    const struct flow *flow = pkt->flow;
    enum flow_direction direction = pkt->flags & PACKET_TO_CLIENT ? FLOW_TO_CLIENT : FLOW_TO_SERVER;
    bool is_udp = pkt->protocol == IPPROTO_UDP && flow && flow->protocol == IPPROTO_UDP;
    bool is_tcp = pkt->protocol == IPPROTO_TCP && flow && flow->tcp;
    struct app_frame *list;
    uint32_t count;
    uint64_t edge;

    if (!flow || !flow->app || !(is_udp || is_tcp))
        return;
    edge = is_tcp ? stream_parsed_offset(flow, direction) : pkt->payload_length;
    if (pipeline->logs_frames) {
        for (unsigned reading = 0; app_get_frames(flow, reading, direction, &list, &count); reading++)
            log_list(pipeline, pkt, list, count, edge, ends);
    }
    if (is_tcp) {
        app_remove_frames(flow, direction, ends ? UINT64_MAX : edge);
        return;
    }
    app_remove_frames(flow, FLOW_TO_SERVER, UINT64_MAX);
    app_remove_frames(flow, FLOW_TO_CLIENT, UINT64_MAX);
}
