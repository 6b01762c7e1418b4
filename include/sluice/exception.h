/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exceptions: causes that prevent the normal inspection of a packet or flow, and the configured policies for them
 * (docs.suricata.io, "Exception Policies"). The pipeline stages report the cause; policy applies the action. Each
 * application is counted, recorded in the flow and named in drop events.
 */
#ifndef SLUICE_EXCEPTION_H
#define SLUICE_EXCEPTION_H

enum exception_cause {
    EXCEPTION_NONE,
    EXCEPTION_DEFRAG_MEMCAP,     /* no memory for a fragment */
    EXCEPTION_FLOW_MEMCAP,       /* no memory for a flow */
    EXCEPTION_STREAM_MEMCAP,     /* no memory for a TCP session */
    EXCEPTION_STREAM_REASSEMBLY, /* no memory for a segment's bytes */
    EXCEPTION_STREAM_MIDSTREAM,  /* a TCP session whose handshake was not seen */
    EXCEPTION_STREAM_INVALID,    /* a segment that does not fit its session's state or window */
    EXCEPTION_APP_ERROR,         /* a protocol's parser failed */
    EXCEPTION_APP_MEMCAP,        /* the parser's state was released because the flow was idle and memory was short */
    EXCEPTION_OVERLOAD,          /* packets arrive faster than they are inspected */
    EXCEPTION_APP_AMBIGUOUS,     /* endpoints may parse a message differently, and its protocol is set to drop it */
    EXCEPTION_COUNT,
};

enum exception_policy {
    EXCEPTION_IGNORE,      /* no action: inspection continues with the data that can be inspected */
    EXCEPTION_PASS_PACKET, /* accept the packet without inspection */
    EXCEPTION_PASS_FLOW,   /* accept the packet, evaluate no rules for the rest of the flow */
    EXCEPTION_BYPASS,      /* accept the flow and offload it to the kernel if possible */
    EXCEPTION_DROP_PACKET,
    EXCEPTION_DROP_FLOW,
    EXCEPTION_REJECT,      /* drop the flow and send a reject packet to the sender */
    EXCEPTION_REJECT_BOTH, /* drop the flow and send reject packets to sender and receiver */
    EXCEPTION_POLICY_COUNT,
};

/* Return names as in EVE: "stream_midstream", "drop_flow"; "none" for EXCEPTION_NONE. */
const char *exception_cause_name(enum exception_cause cause);
const char *exception_policy_name(enum exception_policy policy);

#endif
