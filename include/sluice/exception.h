/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exceptions: what keeps a packet or flow from being inspected as it should be, and what the configuration says is then
 * done (docs.suricata.io, "Exception Policies"). The stages name the cause; policy decides; each use is counted, kept
 * in the flow and named in drop events.
 */
#ifndef SLUICE_EXCEPTION_H
#define SLUICE_EXCEPTION_H

enum exception_cause {
    EXCEPTION_NONE,
    EXCEPTION_DEFRAG_MEMCAP,     /* no memory for a fragment */
    EXCEPTION_FLOW_MEMCAP,       /* no flow to be had */
    EXCEPTION_STREAM_MEMCAP,     /* no TCP session to be had */
    EXCEPTION_STREAM_REASSEMBLY, /* no memory for a segment's bytes */
    EXCEPTION_STREAM_MIDSTREAM,  /* a TCP session of which the beginning was not seen */
    EXCEPTION_STREAM_INVALID,    /* a segment that does not belong to its session's state or window */
    EXCEPTION_APP_ERROR,         /* a protocol's parser failed */
    EXCEPTION_APP_MEMCAP,        /* the parser's state was released because the flow was idle and memory was short */
    EXCEPTION_OVERLOAD,          /* the queue grows faster than it is emptied */
    EXCEPTION_APP_AMBIGUOUS, /* endpoints read a message in different ways, and the setting of its protocol is to drop
                                it */
    EXCEPTION_COUNT,
};

enum exception_policy {
    EXCEPTION_IGNORE, /* go on with what can be inspected */
    EXCEPTION_PASS_PACKET,
    EXCEPTION_PASS_FLOW, /* and no more rules for the flow */
    EXCEPTION_BYPASS,    /* and the flow is handed to the kernel where that is possible */
    EXCEPTION_DROP_PACKET,
    EXCEPTION_DROP_FLOW,
    EXCEPTION_REJECT,      /* drop the flow and answer the sender */
    EXCEPTION_REJECT_BOTH, /* and the receiver */
    EXCEPTION_POLICY_COUNT,
};

/* EVE's: "stream_midstream", and "drop_flow"; "none" for EXCEPTION_NONE. */
const char *exception_cause_name(enum exception_cause cause);
const char *exception_policy_name(enum exception_policy policy);

#endif
