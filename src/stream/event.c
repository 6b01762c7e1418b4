/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of stream events, used for counters, anomaly events and the keyword stream-event. The name of a counter is
 * "stream." and the name of the event. */
#include <string.h>

#include "stream_priv.h"

enum { PREFIX_LENGTH = sizeof("stream.") - 1 };

#define SLOT(event) [(event)-STREAM_EVENT_FIRST]

static const char *const names[STREAM_EVENT_COUNT] = {
    SLOT(STREAM_EVENT_3WHS_ACK_IN_WRONG_DIR) = "stream.3whs_ack_in_wrong_dir",
    SLOT(STREAM_EVENT_3WHS_ASYNC_WRONG_SEQ) = "stream.3whs_async_wrong_seq",
    SLOT(STREAM_EVENT_3WHS_RIGHT_SEQ_WRONG_ACK_EVASION) = "stream.3whs_right_seq_wrong_ack_evasion",
    SLOT(STREAM_EVENT_3WHS_SYNACK_IN_WRONG_DIRECTION) = "stream.3whs_synack_in_wrong_direction",
    SLOT(STREAM_EVENT_3WHS_SYNACK_RESEND_WITH_DIFFERENT_ACK) = "stream.3whs_synack_resend_with_different_ack",
    SLOT(STREAM_EVENT_3WHS_SYNACK_RESEND_WITH_DIFF_SEQ) = "stream.3whs_synack_resend_with_diff_seq",
    SLOT(STREAM_EVENT_3WHS_SYNACK_TOSERVER_ON_SYN_RECV) = "stream.3whs_synack_toserver_on_syn_recv",
    SLOT(STREAM_EVENT_3WHS_SYNACK_WITH_WRONG_ACK) = "stream.3whs_synack_with_wrong_ack",
    SLOT(STREAM_EVENT_3WHS_SYNACK_FLOOD) = "stream.3whs_synack_flood",
    SLOT(STREAM_EVENT_3WHS_SYNACK_TFO_DATA_IGNORED) = "stream.3whs_synack_tfo_data_ignored",
    SLOT(STREAM_EVENT_3WHS_SYN_FLOOD) = "stream.3whs_syn_flood",
    SLOT(STREAM_EVENT_3WHS_SYN_RESEND_DIFF_SEQ_ON_SYN_RECV) = "stream.3whs_syn_resend_diff_seq_on_syn_recv",
    SLOT(STREAM_EVENT_3WHS_SYN_TOCLIENT_ON_SYN_RECV) = "stream.3whs_syn_toclient_on_syn_recv",
    SLOT(STREAM_EVENT_3WHS_WRONG_SEQ_WRONG_ACK) = "stream.3whs_wrong_seq_wrong_ack",
    SLOT(STREAM_EVENT_3WHS_ACK_DATA_INJECT) = "stream.3whs_ack_data_inject",
    SLOT(STREAM_EVENT_4WHS_SYNACK_WITH_WRONG_ACK) = "stream.4whs_synack_with_wrong_ack",
    SLOT(STREAM_EVENT_4WHS_SYNACK_WITH_WRONG_SYN) = "stream.4whs_synack_with_wrong_syn",
    SLOT(STREAM_EVENT_4WHS_WRONG_SEQ) = "stream.4whs_wrong_seq",
    SLOT(STREAM_EVENT_4WHS_INVALID_ACK) = "stream.4whs_invalid_ack",
    SLOT(STREAM_EVENT_CLOSEWAIT_ACK_OUT_OF_WINDOW) = "stream.closewait_ack_out_of_window",
    SLOT(STREAM_EVENT_CLOSEWAIT_FIN_OUT_OF_WINDOW) = "stream.closewait_fin_out_of_window",
    SLOT(STREAM_EVENT_CLOSEWAIT_PKT_BEFORE_LAST_ACK) = "stream.closewait_pkt_before_last_ack",
    SLOT(STREAM_EVENT_CLOSEWAIT_INVALID_ACK) = "stream.closewait_invalid_ack",
    SLOT(STREAM_EVENT_CLOSING_ACK_WRONG_SEQ) = "stream.closing_ack_wrong_seq",
    SLOT(STREAM_EVENT_CLOSING_INVALID_ACK) = "stream.closing_invalid_ack",
    SLOT(STREAM_EVENT_EST_PACKET_OUT_OF_WINDOW) = "stream.est_packet_out_of_window",
    SLOT(STREAM_EVENT_EST_PKT_BEFORE_LAST_ACK) = "stream.est_pkt_before_last_ack",
    SLOT(STREAM_EVENT_EST_SYNACK_RESEND) = "stream.est_synack_resend",
    SLOT(STREAM_EVENT_EST_SYNACK_RESEND_WITH_DIFFERENT_ACK) = "stream.est_synack_resend_with_different_ack",
    SLOT(STREAM_EVENT_EST_SYNACK_RESEND_WITH_DIFF_SEQ) = "stream.est_synack_resend_with_diff_seq",
    SLOT(STREAM_EVENT_EST_SYNACK_TOSERVER) = "stream.est_synack_toserver",
    SLOT(STREAM_EVENT_EST_SYN_RESEND) = "stream.est_syn_resend",
    SLOT(STREAM_EVENT_EST_SYN_RESEND_DIFF_SEQ) = "stream.est_syn_resend_diff_seq",
    SLOT(STREAM_EVENT_EST_SYN_TOCLIENT) = "stream.est_syn_toclient",
    SLOT(STREAM_EVENT_EST_INVALID_ACK) = "stream.est_invalid_ack",
    SLOT(STREAM_EVENT_EST_ACK_ZWP_DATA) = "stream.est_ack_zwp_data",
    SLOT(STREAM_EVENT_FIN_INVALID_ACK) = "stream.fin_invalid_ack",
    SLOT(STREAM_EVENT_FIN1_ACK_WRONG_SEQ) = "stream.fin1_ack_wrong_seq",
    SLOT(STREAM_EVENT_FIN1_FIN_WRONG_SEQ) = "stream.fin1_fin_wrong_seq",
    SLOT(STREAM_EVENT_FIN1_INVALID_ACK) = "stream.fin1_invalid_ack",
    SLOT(STREAM_EVENT_FIN2_ACK_WRONG_SEQ) = "stream.fin2_ack_wrong_seq",
    SLOT(STREAM_EVENT_FIN2_FIN_WRONG_SEQ) = "stream.fin2_fin_wrong_seq",
    SLOT(STREAM_EVENT_FIN2_INVALID_ACK) = "stream.fin2_invalid_ack",
    SLOT(STREAM_EVENT_FIN_BUT_NO_SESSION) = "stream.fin_but_no_session",
    SLOT(STREAM_EVENT_FIN_OUT_OF_WINDOW) = "stream.fin_out_of_window",
    SLOT(STREAM_EVENT_FIN_SYN) = "stream.fin_syn",
    SLOT(STREAM_EVENT_LASTACK_ACK_WRONG_SEQ) = "stream.lastack_ack_wrong_seq",
    SLOT(STREAM_EVENT_LASTACK_INVALID_ACK) = "stream.lastack_invalid_ack",
    SLOT(STREAM_EVENT_RST_BUT_NO_SESSION) = "stream.rst_but_no_session",
    SLOT(STREAM_EVENT_TIMEWAIT_ACK_WRONG_SEQ) = "stream.timewait_ack_wrong_seq",
    SLOT(STREAM_EVENT_TIMEWAIT_INVALID_ACK) = "stream.timewait_invalid_ack",
    SLOT(STREAM_EVENT_SHUTDOWN_SYN_RESEND) = "stream.shutdown_syn_resend",
    SLOT(STREAM_EVENT_PKT_INVALID_TIMESTAMP) = "stream.pkt_invalid_timestamp",
    SLOT(STREAM_EVENT_PKT_INVALID_ACK) = "stream.pkt_invalid_ack",
    SLOT(STREAM_EVENT_PKT_BROKEN_ACK) = "stream.pkt_broken_ack",
    SLOT(STREAM_EVENT_RST_INVALID_ACK) = "stream.rst_invalid_ack",
    SLOT(STREAM_EVENT_RST_WITH_DATA) = "stream.rst_with_data",
    SLOT(STREAM_EVENT_PKT_RETRANSMISSION) = "stream.pkt_retransmission",
    SLOT(STREAM_EVENT_PKT_SPURIOUS_RETRANSMISSION) = "stream.pkt_spurious_retransmission",
    SLOT(STREAM_EVENT_PKT_BAD_WINDOW_UPDATE) = "stream.pkt_bad_window_update",
    SLOT(STREAM_EVENT_SUSPECTED_RST_INJECT) = "stream.suspected_rst_inject",
    SLOT(STREAM_EVENT_WRONG_THREAD) = "stream.wrong_thread",
    SLOT(STREAM_EVENT_REASSEMBLY_SEGMENT_BEFORE_BASE_SEQ) = "stream.reassembly_segment_before_base_seq",
    SLOT(STREAM_EVENT_REASSEMBLY_NO_SEGMENT) = "stream.reassembly_no_segment",
    SLOT(STREAM_EVENT_REASSEMBLY_SEQ_GAP) = "stream.reassembly_seq_gap",
    SLOT(STREAM_EVENT_REASSEMBLY_OVERLAP_DIFFERENT_DATA) = "stream.reassembly_overlap_different_data",
    SLOT(STREAM_EVENT_REASSEMBLY_DEPTH_REACHED) = "stream.reassembly_depth_reached",
    SLOT(STREAM_EVENT_REASSEMBLY_INSERT_LIMIT) = "stream.reassembly_insert_limit",
    SLOT(STREAM_EVENT_REASSEMBLY_INSERT_MEMCAP) = "stream.reassembly_insert_memcap",
    SLOT(STREAM_EVENT_REASSEMBLY_INSERT_INVALID) = "stream.reassembly_insert_invalid",
    SLOT(STREAM_EVENT_REASSEMBLY_URGENT_OOB_LIMIT_REACHED) = "stream.reassembly_urgent_oob_limit_reached",
};

/* Two counters have shorter names in Suricata's statistics than the events in its rules. */
const char *stream_event_counter_name(size_t index)
{
    if (index + STREAM_EVENT_FIRST == STREAM_EVENT_3WHS_SYNACK_RESEND_WITH_DIFFERENT_ACK)
        return "stream.3whs_synack_resend_with_diff_ack";
    if (index + STREAM_EVENT_FIRST == STREAM_EVENT_EST_SYNACK_RESEND_WITH_DIFFERENT_ACK)
        return "stream.est_synack_resend_with_diff_ack";
    return names[index];
}

const char *stream_event_name(enum stream_event event)
{
    return event >= STREAM_EVENT_FIRST && event < STREAM_EVENT_END ? names[event - STREAM_EVENT_FIRST] + PREFIX_LENGTH
                                                                   : "unknown";
}

bool stream_event_find(const char *text, size_t length, enum stream_event *out)
{
    if (length > PREFIX_LENGTH && memcmp(text, names[0], PREFIX_LENGTH) == 0) {
        text += PREFIX_LENGTH;
        length -= PREFIX_LENGTH;
    }
    for (size_t i = 0; i < STREAM_EVENT_COUNT; i++) {
        if (strlen(names[i] + PREFIX_LENGTH) == length && memcmp(names[i] + PREFIX_LENGTH, text, length) == 0) {
            *out = (enum stream_event)(STREAM_EVENT_FIRST + i);
            return true;
        }
    }
    return false;
}
