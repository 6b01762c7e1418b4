/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state machine as a table of handler functions, by state, direction and kind of segment (RFC 9293 §3.10.7). As in
 * Suricata, the state of a session is that of its server: a FIN of the server leads to FIN_WAIT1, a FIN of the client
 * to CLOSE_WAIT.
 */
#include <errno.h>

#include "stream_priv.h"

/* Initializes the handlers of a state that are the same in both directions. */
#define BOTH(...)                                                                                                      \
    {                                                                                                                  \
        [FLOW_TO_SERVER] = { __VA_ARGS__ }, [FLOW_TO_CLIENT] = { __VA_ARGS__ }                                         \
    }

/* Handles a segment without flags. Receivers ignore segments without ACK (RFC 9293 §3.10.7.4, fifth), so inline one
 * with payload is rejected: the payload is not added to the stream. */
int without_flags(struct segment *seg)
{
    return segment_is_inline(seg) && seg->length > 0 ? -EINVAL : 0;
}

/* clang-format off */
segment_handler *const state_handlers[TCP_STATE_COUNT][FLOW_DIRECTIONS][SEGMENT_KINDS] = {
    [TCP_STATE_NONE] = BOTH(
        [SEGMENT_RST] = none_on_reset,
        [SEGMENT_FIN] = none_on_fin,
        [SEGMENT_SYN_ACK] = none_on_syn_ack,
        [SEGMENT_SYN] = none_on_syn,
        [SEGMENT_ACK] = none_on_ack),
    [TCP_STATE_SYN_SENT] = {
        [FLOW_TO_SERVER] = {
            [SEGMENT_RST] = syn_sent_on_reset,
            [SEGMENT_FIN] = syn_sent_on_fin,
            [SEGMENT_SYN_ACK] = syn_sent_on_wrong_syn_ack,
            [SEGMENT_SYN] = syn_sent_on_syn,
            [SEGMENT_ACK] = syn_sent_on_ack,
            [SEGMENT_OTHER] = syn_sent_on_other,
        },
        [FLOW_TO_CLIENT] = {
            [SEGMENT_RST] = syn_sent_on_reset,
            [SEGMENT_FIN] = syn_sent_on_fin,
            [SEGMENT_SYN_ACK] = syn_sent_on_syn_ack,
            [SEGMENT_SYN] = syn_sent_on_server_syn,
            [SEGMENT_ACK] = syn_sent_on_ack,
            [SEGMENT_OTHER] = syn_sent_on_other,
        },
    },
    [TCP_STATE_SYN_RECV] = {
        [FLOW_TO_SERVER] = {
            [SEGMENT_RST] = syn_recv_on_reset,
            [SEGMENT_FIN] = syn_recv_on_fin,
            [SEGMENT_SYN_ACK] = syn_recv_on_syn_ack_to_server,
            [SEGMENT_SYN] = syn_recv_on_syn,
            [SEGMENT_ACK] = syn_recv_on_ack,
            [SEGMENT_OTHER] = without_flags,
        },
        [FLOW_TO_CLIENT] = {
            [SEGMENT_RST] = syn_recv_on_reset,
            [SEGMENT_FIN] = syn_recv_on_fin,
            [SEGMENT_SYN_ACK] = syn_recv_on_syn_ack,
            [SEGMENT_SYN] = syn_recv_on_syn_to_client,
            [SEGMENT_ACK] = syn_recv_on_ack,
            [SEGMENT_OTHER] = without_flags,
        },
    },
    [TCP_STATE_ESTABLISHED] = {
        [FLOW_TO_SERVER] = {
            [SEGMENT_RST] = established_on_reset,
            [SEGMENT_FIN] = established_on_fin,
            [SEGMENT_SYN_ACK] = established_on_syn_ack_to_server,
            [SEGMENT_SYN] = established_on_syn,
            [SEGMENT_ACK] = established_on_ack,
            [SEGMENT_OTHER] = without_flags,
        },
        [FLOW_TO_CLIENT] = {
            [SEGMENT_RST] = established_on_reset,
            [SEGMENT_FIN] = established_on_fin,
            [SEGMENT_SYN_ACK] = established_on_syn_ack,
            [SEGMENT_SYN] = established_on_syn_to_client,
            [SEGMENT_ACK] = established_on_ack,
            [SEGMENT_OTHER] = without_flags,
        },
    },
    [TCP_STATE_FIN_WAIT1] = {
        [FLOW_TO_SERVER] = {
            [SEGMENT_RST] = closing_on_reset,
            [SEGMENT_FIN] = fin_wait1_on_fin,
            [SEGMENT_SYN_ACK] = closing_on_syn,
            [SEGMENT_SYN] = closing_on_syn,
            [SEGMENT_ACK] = fin_wait1_on_ack_to_server,
            [SEGMENT_OTHER] = without_flags,
        },
        [FLOW_TO_CLIENT] = {
            [SEGMENT_RST] = closing_on_reset,
            [SEGMENT_FIN] = fin_wait1_on_fin,
            [SEGMENT_SYN_ACK] = closing_on_syn,
            [SEGMENT_SYN] = closing_on_syn,
            [SEGMENT_ACK] = fin_wait1_on_ack_to_client,
            [SEGMENT_OTHER] = without_flags,
        },
    },
    [TCP_STATE_FIN_WAIT2] = BOTH(
        [SEGMENT_RST] = closing_on_reset,
        [SEGMENT_FIN] = fin_wait2_on_fin,
        [SEGMENT_SYN_ACK] = closing_on_syn,
        [SEGMENT_SYN] = closing_on_syn,
        [SEGMENT_ACK] = fin_wait2_on_ack,
        [SEGMENT_OTHER] = without_flags),
    [TCP_STATE_TIME_WAIT] = BOTH(
        [SEGMENT_RST] = closing_on_reset,
        [SEGMENT_FIN] = time_wait_on_fin,
        [SEGMENT_SYN_ACK] = closing_on_syn,
        [SEGMENT_SYN] = closing_on_syn,
        [SEGMENT_ACK] = time_wait_on_ack,
        [SEGMENT_OTHER] = without_flags),
    [TCP_STATE_LAST_ACK] = {
        [FLOW_TO_SERVER] = {
            [SEGMENT_RST] = closing_on_reset,
            [SEGMENT_FIN] = last_ack_on_other,
            [SEGMENT_SYN_ACK] = closing_on_syn,
            [SEGMENT_SYN] = closing_on_syn,
            [SEGMENT_ACK] = last_ack_on_ack,
            [SEGMENT_OTHER] = without_flags,
        },
        [FLOW_TO_CLIENT] = {
            [SEGMENT_RST] = closing_on_reset,
            [SEGMENT_FIN] = last_ack_on_other,
            [SEGMENT_SYN_ACK] = closing_on_syn,
            [SEGMENT_SYN] = closing_on_syn,
            [SEGMENT_ACK] = last_ack_on_other,
            [SEGMENT_OTHER] = without_flags,
        },
    },
    [TCP_STATE_CLOSE_WAIT] = BOTH(
        [SEGMENT_RST] = closing_on_reset,
        [SEGMENT_FIN] = close_wait_on_fin,
        [SEGMENT_SYN_ACK] = closing_on_syn,
        [SEGMENT_SYN] = closing_on_syn,
        [SEGMENT_ACK] = close_wait_on_ack,
        [SEGMENT_OTHER] = without_flags),
    [TCP_STATE_CLOSING] = BOTH(
        [SEGMENT_RST] = closing_on_reset,
        [SEGMENT_FIN] = closing_on_fin,
        [SEGMENT_SYN_ACK] = closing_on_syn,
        [SEGMENT_SYN] = closing_on_syn,
        [SEGMENT_ACK] = closing_on_ack,
        [SEGMENT_OTHER] = without_flags),
    [TCP_STATE_CLOSED] = BOTH(
        [SEGMENT_RST] = closed_on_reset,
        [SEGMENT_FIN] = closed_on_any,
        [SEGMENT_SYN_ACK] = closed_on_any,
        [SEGMENT_SYN] = closed_on_any,
        [SEGMENT_ACK] = closed_on_any,
        [SEGMENT_OTHER] = closed_on_any),
};
/* clang-format on */

int state_dispatch(struct segment *seg, enum tcp_state state)
{
    segment_handler *handler = state_handlers[state][seg->direction][seg->kind];

    return handler ? handler(seg) : 0;
}

static const char *const state_names[TCP_STATE_COUNT] = {
    [TCP_STATE_NONE] = "none",
    [TCP_STATE_SYN_SENT] = "syn_sent",
    [TCP_STATE_SYN_RECV] = "syn_recv",
    [TCP_STATE_ESTABLISHED] = "established",
    [TCP_STATE_FIN_WAIT1] = "fin_wait1",
    [TCP_STATE_FIN_WAIT2] = "fin_wait2",
    [TCP_STATE_TIME_WAIT] = "time_wait",
    [TCP_STATE_LAST_ACK] = "last_ack",
    [TCP_STATE_CLOSE_WAIT] = "close_wait",
    [TCP_STATE_CLOSING] = "closing",
    [TCP_STATE_CLOSED] = "closed",
};

const char *tcp_state_name(enum tcp_state state)
{
    return (unsigned)state < TCP_STATE_COUNT ? state_names[state] : "unknown";
}
