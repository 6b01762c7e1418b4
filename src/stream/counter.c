/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The counters by name, as in EVE below stats: first those of sessions and data, then one per event. */
#include "stream_priv.h"

static const char *const names[STREAM_COUNTERS] = {
    [STREAM_SESSIONS] = "tcp.sessions",
    [STREAM_SSN_MEMCAP_DROP] = "tcp.ssn_memcap_drop",
    [STREAM_SSN_ENDED_EARLY] = "tcp.ssn_ended_early",
    [STREAM_SSN_EVICTED] = "tcp.ssn_evicted",
    [STREAM_SSN_RESTORED] = "tcp.ssn_restored",
    [STREAM_SSN_FROM_CACHE] = "tcp.ssn_from_cache",
    [STREAM_SSN_FROM_POOL] = "tcp.ssn_from_pool",
    [STREAM_PSEUDO] = "tcp.pseudo",
    [STREAM_PSEUDO_FAILED] = "tcp.pseudo_failed",
    [STREAM_INVALID_CHECKSUM] = "tcp.invalid_checksum",
    [STREAM_MIDSTREAM_PICKUPS] = "tcp.midstream_pickups",
    [STREAM_MIDSTREAM_CONNTRACK] = "tcp.midstream_conntrack",
    [STREAM_CONNTRACK_QUERIES] = "tcp.conntrack_queries",
    [STREAM_CONNTRACK_UNDECIDED] = "tcp.conntrack_undecided",
    [STREAM_WRONG_THREAD] = "tcp.pkt_on_wrong_thread",
    [STREAM_ACK_UNSEEN_DATA] = "tcp.ack_unseen_data",
    [STREAM_SYN] = "tcp.syn",
    [STREAM_SYNACK] = "tcp.synack",
    [STREAM_RST] = "tcp.rst",
    [STREAM_URG] = "tcp.urg",
    [STREAM_ACTIVE_SESSIONS] = "tcp.active_sessions",
    [STREAM_SEGMENT_MEMCAP_DROP] = "tcp.segment_memcap_drop",
    [STREAM_REASSEMBLY_EVICTED] = "tcp.reassembly_evicted",
    [STREAM_SEGMENT_FROM_CACHE] = "tcp.segment_from_cache",
    [STREAM_SEGMENT_FROM_POOL] = "tcp.segment_from_pool",
    [STREAM_DEPTH_REACHED] = "tcp.stream_depth_reached",
    [STREAM_GAP] = "tcp.reassembly_gap",
    [STREAM_OVERLAP] = "tcp.overlap",
    [STREAM_OVERLAP_DIFF_DATA] = "tcp.overlap_diff_data",
    [STREAM_INSERT_NORMAL_FAIL] = "tcp.insert_data_normal_fail",
    [STREAM_INSERT_OVERLAP_FAIL] = "tcp.insert_data_overlap_fail",
    [STREAM_URGENT_OOB_DATA] = "tcp.urgent_oob_data",
    [STREAM_URGENT_CLEARED] = "tcp.urgent_cleared",
    [STREAM_MEMUSE] = "tcp.memuse",
    [STREAM_REASSEMBLY_MEMUSE] = "tcp.reassembly_memuse",
    [STREAM_END_STATE + TCP_STATE_NONE] = "flow.end.tcp_state.none",
    [STREAM_END_STATE + TCP_STATE_SYN_SENT] = "flow.end.tcp_state.syn_sent",
    [STREAM_END_STATE + TCP_STATE_SYN_RECV] = "flow.end.tcp_state.syn_recv",
    [STREAM_END_STATE + TCP_STATE_ESTABLISHED] = "flow.end.tcp_state.established",
    [STREAM_END_STATE + TCP_STATE_FIN_WAIT1] = "flow.end.tcp_state.fin_wait1",
    [STREAM_END_STATE + TCP_STATE_FIN_WAIT2] = "flow.end.tcp_state.fin_wait2",
    [STREAM_END_STATE + TCP_STATE_TIME_WAIT] = "flow.end.tcp_state.time_wait",
    [STREAM_END_STATE + TCP_STATE_LAST_ACK] = "flow.end.tcp_state.last_ack",
    [STREAM_END_STATE + TCP_STATE_CLOSE_WAIT] = "flow.end.tcp_state.close_wait",
    [STREAM_END_STATE + TCP_STATE_CLOSING] = "flow.end.tcp_state.closing",
    [STREAM_END_STATE + TCP_STATE_CLOSED] = "flow.end.tcp_state.closed",
};

size_t stream_counter_count(void)
{
    return STREAM_COUNTERS + STREAM_EVENT_COUNT;
}

const char *stream_counter_name(size_t index)
{
    if (index < STREAM_COUNTERS)
        return names[index];
    return index < stream_counter_count() ? stream_event_counter_name(index - STREAM_COUNTERS) : "";
}

uint64_t stream_counter_value(const struct stream *stream, size_t index)
{
    switch (index) {
    case STREAM_ACTIVE_SESSIONS:
        return pool_used(stream->sessions);
    case STREAM_MEMUSE:
        return pool_memory(stream->sessions) + pool_memory(stream->handshakes) +
               half_open_memory(&stream->half_open_records);
    case STREAM_REASSEMBLY_MEMUSE:
        return assembly_store_memory(stream->store);
    default:
        break;
    }
    if (index < STREAM_COUNTERS)
        return stream->counters[index];
    return index < stream_counter_count() ? stream->events[index - STREAM_COUNTERS] : 0;
}

void stream_count_evictions(const struct stream *stream, uint64_t *sessions, uint64_t *data)
{
    *sessions = stream->half_open_evicted + stream->counters[STREAM_SSN_EVICTED];
    *data = stream->counters[STREAM_REASSEMBLY_EVICTED];
}
