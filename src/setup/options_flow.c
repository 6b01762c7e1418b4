/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the options of flows and streams and the exception policies from the configuration. */
#include <stdio.h>
#include <string.h>

#include "setup_priv.h"

#include "sluice/config.h"
#include "sluice/exception.h"
#include "sluice/flow.h"
#include "sluice/setup.h"
#include "sluice/stream.h"

void setup_flow_options(const struct config *config, unsigned workers, struct flow_options *out)
{
    struct eve_options events = { 0 };

    *out = (struct flow_options){ .mac_addresses = false };
    config_fill(config, flow_settings, NULL, out);
    config_fill(config, eve_settings, NULL, &events);
    out->memcap /= workers > 0 ? workers : 1;
    out->mac_addresses = events.ethernet;
}

void setup_stream_options(const struct config *config, unsigned workers, bool inline_mode, struct stream_options *out)
{
    struct inspection_options inspection = { 0 };

    *out = (struct stream_options){ .inline_mode = inline_mode };
    config_fill(config, stream_settings, NULL, out);
    config_fill(config, inspection_settings, NULL, &inspection);
    out->inline_mode = inspection.stream_inline == SETTING_AUTO ? inline_mode : inspection.stream_inline == SETTING_YES;
    memcpy(out->window, out->chunk, sizeof(out->window));
    out->memcap /= workers > 0 ? workers : 1;
    out->reassembly_memcap /= workers > 0 ? workers : 1;
    if (out->urgent == STREAM_URGENT_AUTO)
        out->urgent = out->inline_mode ? STREAM_URGENT_BOTH : STREAM_URGENT_OOB;
}

/* --- Exceptions ----------------------------------------------------------------------------------- */

/* Returns the policy for a packet without a flow: policies for the flow are reduced to the packet. */
static enum exception_policy without_flow(enum exception_policy policy)
{
    switch (policy) {
    case EXCEPTION_DROP_FLOW:
        return EXCEPTION_DROP_PACKET;
    case EXCEPTION_PASS_FLOW:
    case EXCEPTION_BYPASS:
        return EXCEPTION_PASS_PACKET;
    default:
        return policy;
    }
}

/* Returns the policy for connections whose handshake was not seen. As in Suricata (docs.suricata.io, "Midstream
 * exception policy"), policies that drop or reject do not apply if stream.midstream picks such connections up
 * (`pick_up`), and policies for single packets never apply. */
static enum exception_policy midstream_policy(bool pick_up, enum exception_policy policy)
{
    switch (policy) {
    case EXCEPTION_PASS_FLOW:
    case EXCEPTION_BYPASS:
        return policy;
    case EXCEPTION_DROP_FLOW:
    case EXCEPTION_REJECT:
    case EXCEPTION_REJECT_BOTH:
        return pick_up ? EXCEPTION_IGNORE : policy;
    default:
        return EXCEPTION_IGNORE;
    }
}

void setup_exception_policies(const struct config *config, bool inline_mode, enum exception_policy out[EXCEPTION_COUNT])
{
    static const struct {
        enum exception_cause cause;
        bool has_flow;
        /* true: the sender retransmits a dropped segment, and memory may be available then, so the default is to drop
         * only the packet */
        bool is_repeated;
    } rows[] = {
        { EXCEPTION_DEFRAG_MEMCAP, false, false },   { EXCEPTION_FLOW_MEMCAP, false, false },
        { EXCEPTION_STREAM_MEMCAP, true, true },     { EXCEPTION_STREAM_REASSEMBLY, true, true },
        { EXCEPTION_STREAM_MIDSTREAM, true, false }, { EXCEPTION_STREAM_INVALID, true, false },
        { EXCEPTION_APP_ERROR, true, false },        { EXCEPTION_APP_MEMCAP, true, false },
        { EXCEPTION_OVERLOAD, true, false },
    };
    struct exception_options options;
    struct stream_options stream;
    bool has_master;

    for (size_t i = 0; i < EXCEPTION_COUNT; i++) {
        options.policies[i] = EXCEPTION_POLICY_COUNT;
        out[i] = EXCEPTION_IGNORE;
    }
    config_fill(config, exception_settings, NULL, &options);
    config_fill(config, stream_settings, NULL, &stream);
    has_master = options.master != EXCEPTION_POLICY_COUNT;
    if (!has_master)
        options.master = inline_mode ? EXCEPTION_DROP_FLOW : EXCEPTION_IGNORE;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        enum exception_policy policy = options.policies[rows[i].cause];

        if (policy == EXCEPTION_POLICY_COUNT)
            policy = rows[i].is_repeated && !has_master && inline_mode ? EXCEPTION_DROP_PACKET : options.master;
        out[rows[i].cause] = rows[i].has_flow ? policy : without_flow(policy);
    }
    /* Parsers raise EXCEPTION_APP_AMBIGUOUS only if a setting of their protocol is to drop ambiguous messages. */
    out[EXCEPTION_APP_AMBIGUOUS] = inline_mode ? EXCEPTION_DROP_FLOW : EXCEPTION_IGNORE;
    out[EXCEPTION_STREAM_MIDSTREAM] = midstream_policy(stream.midstream, out[EXCEPTION_STREAM_MIDSTREAM]);
}
