/* SPDX-License-Identifier: GPL-2.0-or-later */
/* EVE's event stream_tcp: a TCP segment, and the state of the session after it. Names and order of the fields are
 * Suricata's. */
#include "output_priv.h"
#include "sluice/json.h"
#include "sluice/stream_event.h"

static void flag_names(struct text *out, unsigned flags, unsigned count, const char *(*name)(unsigned bit))
{
    json_array_open(out, "flags");
    for (unsigned i = 0; i < count; i++) {
        if (flags >> i & 1)
            json_string(out, NULL, name(i));
    }
    json_array_close(out);
}

static void side(struct text *out, const char *key, const struct tcp_side_facts *facts)
{
    json_member_object(out, key);
    json_member_uint(out, "isn", facts->isn);
    json_member_uint(out, "next_seq", facts->next_seq);
    json_member_uint(out, "last_ack", facts->last_ack);
    json_member_uint(out, "next_win", facts->next_win);
    if (facts->is_reassembled) {
        json_member_uint(out, "base_seq", facts->base_seq);
        json_member_uint(out, "segs_right_edge", facts->right_edge);
    }
    json_member_uint(out, "window", facts->window);
    json_member_uint(out, "wscale", facts->window_scale);
    flag_names(out, facts->flags, STREAM_SIDE_FLAGS, stream_side_flag_name);
    json_object_close(out);
}

void eve_stream(struct eve *eve, struct text *out, const struct packet_record *record)
{
    static const struct {
        const char *name;
        uint16_t flag;
    } packet_flags[] = {
        { "retransmission", PACKET_STREAM_RETRANSMISSION },
        { "spurious_retransmission", PACKET_STREAM_SPURIOUS_RETRANSMISSION },
        { "keepalive", PACKET_STREAM_KEEPALIVE },
        { "keepalive_ack", PACKET_STREAM_KEEPALIVE_ACK },
        { "window_update", PACKET_STREAM_WINDOW_UPDATE },
        { "event_set", PACKET_STREAM_EVENT },
        { "state_update", PACKET_STREAM_STATE_UPDATE },
        { "ack_unseen_data", PACKET_STREAM_ACK_UNSEEN_DATA },
        { "tcp_port_reuse", PACKET_STREAM_PORT_REUSE },
        { "zero_window_probe", PACKET_STREAM_ZERO_WINDOW_PROBE },
        { "zero_window_probe_ack", PACKET_STREAM_ZERO_WINDOW_PROBE_ACK },
    };
    struct record_segment segment;
    const struct tcp_session_facts *facts = &segment.session;

    record_get_segment(record, &segment);
    eve_header(eve, out, record, "stream_tcp");
    eve_direction(out, record);
    json_member_object(out, "stream_tcp");
    json_member_object(out, "packet");
    eve_packet_headers(out, record);
    json_array_open(out, "flags");
    for (unsigned i = 0; i < sizeof(packet_flags) / sizeof(packet_flags[0]); i++) {
        if (segment.flags & packet_flags[i].flag)
            json_string(out, NULL, packet_flags[i].name);
    }
    json_array_close(out);
    json_object_close(out);
    json_member_object(out, "session");
    if (segment.has_session) {
        json_member_string(out, "state", tcp_state_name(facts->state));
        if (segment.flags & PACKET_STREAM_STATE_UPDATE)
            json_member_string(out, "pstate", tcp_state_name(facts->previous));
        json_member_object(out, "flags");
        flag_names(out, facts->flags, STREAM_SESSION_FLAGS, stream_session_flag_name);
        json_object_close(out);
        side(out, "client", &facts->side[FLOW_TO_SERVER]);
        side(out, "server", &facts->side[FLOW_TO_CLIENT]);
    }
    json_object_close(out);
    if (segment.flags & PACKET_STREAM_EVENT) {
        json_array_open(out, "events");
        for (unsigned i = 0; i < segment.event_count; i++)
            json_printf(out, NULL, "stream.%s", stream_event_name((enum stream_event)segment.events[i]));
        json_array_close(out);
    }
    if (record->drop_reason != DROP_REASON_NONE)
        json_member_string(out, "reason", output_drop_reason_name((enum drop_reason)record->drop_reason));
    json_object_close(out);
    eve_end(eve, out);
}
