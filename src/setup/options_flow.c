/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the options of flows and streams and the exception policies from the configuration. */
#include <stdio.h>
#include <string.h>

#include "sluice/config.h"
#include "sluice/exception.h"
#include "sluice/flow.h"
#include "sluice/setup.h"
#include "sluice/stream.h"

static const char *const class_names[FLOW_CLASS_COUNT] = {
    [FLOW_CLASS_TCP] = "tcp",
    [FLOW_CLASS_UDP] = "udp",
    [FLOW_CLASS_ICMP] = "icmp",
    [FLOW_CLASS_OTHER] = "default",
};

/* Only TCP has the state closed: other protocols have no such setting and never reach it. */
static void read_timeouts(const struct config *config, enum flow_class class, const char *prefix,
                          struct flow_timeouts *out)
{
    for (enum flow_state state = 0; state < FLOW_STATE_COUNT; state++) {
        char name[64];

        if (state == FLOW_CLOSED && class != FLOW_CLASS_TCP)
            continue;
        snprintf(name, sizeof(name), "flow.timeouts.%s.%s%s", class_names[class], prefix, flow_state_name(state));
        out->seconds[state] = (uint32_t)config_number_or(config, name, out->seconds[state]);
    }
}

static enum stream_conntrack conntrack_word(const struct config *config)
{
    const char *value = config_string(config, "stream.midstream-conntrack");

    return strcmp(value, "only") == 0 ? STREAM_CONNTRACK_ONLY
           : strcmp(value, "no") == 0 ? STREAM_CONNTRACK_NO
                                      : STREAM_CONNTRACK_YES;
}

static size_t share(const struct config *config, const char *name, unsigned workers)
{
    return (size_t)config_number(config, name) / (workers > 0 ? workers : 1);
}

void setup_flow_options(const struct config *config, unsigned workers, struct flow_options *out)
{
    flow_options_default(out);
    out->memcap = share(config, "flow.memcap", workers);
    out->vlan_tracking = config_bool(config, "flow.vlan-tracking");
    out->mac_addresses = config_bool(config, "eve.ethernet");
    out->tunnel_level_tracking = config_bool(config, "flow.tunnel-level-tracking");
    for (enum flow_class class = 0; class < FLOW_CLASS_COUNT; class ++) {
        read_timeouts(config, class, "", &out->timeouts[class]);
        read_timeouts(config, class, "emergency-", &out->emergency[class]);
    }
}

static enum stream_urgent urgent_policy(const struct config *config, const char *name, bool inline_mode)
{
    static const char *const names[] = {
        [STREAM_URGENT_OOB] = "oob", [STREAM_URGENT_INLINE] = "inline", [STREAM_URGENT_DROP] = "drop",
        [STREAM_URGENT_GAP] = "gap", [STREAM_URGENT_CLEAR] = "clear",   [STREAM_URGENT_BOTH] = "both",
    };
    const char *value = config_string(config, name);

    for (enum stream_urgent i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i], value) == 0)
            return i;
    }
    return inline_mode ? STREAM_URGENT_BOTH : STREAM_URGENT_OOB; /* auto */
}

static bool stream_inline(const struct config *config, bool inline_mode)
{
    const char *value = config_string(config, "stream.inline");

    return strcmp(value, "auto") == 0 ? inline_mode : strcmp(value, "yes") == 0;
}

void setup_stream_options(const struct config *config, unsigned workers, bool inline_mode, struct stream_options *out)
{
    stream_options_default(out);
    out->inline_mode = stream_inline(config, inline_mode);
    out->midstream = config_bool(config, "stream.midstream");
    out->conntrack = conntrack_word(config);
    out->async_oneside = config_bool(config, "stream.async-oneside");
    out->checksum_validation = config_bool(config, "stream.checksum-validation");
    out->depth = (uint32_t)config_number(config, "stream.depth");
    out->chunk[FLOW_TO_SERVER] = (uint32_t)config_number(config, "stream.toserver-chunk-size");
    out->chunk[FLOW_TO_CLIENT] = (uint32_t)config_number(config, "stream.toclient-chunk-size");
    memcpy(out->window, out->chunk, sizeof(out->window));
    out->memcap = share(config, "stream.memcap", workers);
    out->reassembly_memcap = share(config, "stream.reassembly-memcap", workers);
    out->overlap =
        strcmp(config_string(config, "stream.overlap"), "drop") == 0 ? STREAM_OVERLAP_DROP : STREAM_OVERLAP_REWRITE;
    out->urgent = urgent_policy(config, "stream.urgent-policy", out->inline_mode);
    out->urgent_limit = urgent_policy(config, "stream.urgent-oob-limit-policy", out->inline_mode);
    out->max_syn_queued = (uint32_t)config_number(config, "stream.max-syn-queued");
    out->max_synack_queued = (uint32_t)config_number(config, "stream.max-synack-queued");
}

/* --- Exceptions ----------------------------------------------------------------------------------- */

/* Parses "drop-flow" of the configuration, which is "drop_flow" in events. */
static bool same_policy(const char *setting, const char *name)
{
    for (; *setting && *name; setting++, name++) {
        if (*setting != *name && !(*setting == '-' && *name == '_'))
            return false;
    }
    return *setting == *name;
}

/* Returns false for auto, and when nothing is set. */
static bool read_policy(const struct config *config, const char *name, enum exception_policy *out)
{
    const char *value = config_string(config, name);

    for (enum exception_policy policy = 0; value && policy < EXCEPTION_POLICY_COUNT; policy++) {
        if (same_policy(value, exception_policy_name(policy))) {
            *out = policy;
            return true;
        }
    }
    return false;
}

/* Without a flow, only policies for the packet apply. */
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

/* With stream.midstream, policies that drop do not apply (docs.suricata.io, "Midstream exception policy"). Policies for
 * single packets do not apply to connections that are not picked up. */
static enum exception_policy midstream_policy(const struct config *config, enum exception_policy policy)
{
    bool pick_up = config_bool(config, "stream.midstream");

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
        const char *setting;
        bool has_flow;
        bool is_repeated; /* the sender retransmits a dropped segment, and memory may be available then */
    } rows[] = {
        { EXCEPTION_DEFRAG_MEMCAP, "defrag.memcap-policy", false, false },
        { EXCEPTION_FLOW_MEMCAP, "flow.memcap-policy", false, false },
        { EXCEPTION_STREAM_MEMCAP, "stream.memcap-policy", true, true },
        { EXCEPTION_STREAM_REASSEMBLY, "stream.reassembly-memcap-policy", true, true },
        { EXCEPTION_STREAM_MIDSTREAM, "stream.midstream-policy", true, false },
        { EXCEPTION_STREAM_INVALID, "stream.invalid-policy", true, false },
        { EXCEPTION_APP_ERROR, "app-layer.error-policy", true, false },
        { EXCEPTION_APP_MEMCAP, "app-layer.memcap-policy", true, false },
        { EXCEPTION_OVERLOAD, "overload.policy", true, false },
    };
    enum exception_policy master = inline_mode ? EXCEPTION_DROP_FLOW : EXCEPTION_IGNORE;
    bool has_master;

    has_master = read_policy(config, "exception-policy", &master);
    for (size_t i = 0; i < EXCEPTION_COUNT; i++)
        out[i] = EXCEPTION_IGNORE;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        enum exception_policy policy = master;

        if (rows[i].is_repeated && !has_master && inline_mode)
            policy = EXCEPTION_DROP_PACKET;
        read_policy(config, rows[i].setting, &policy);
        out[rows[i].cause] = rows[i].has_flow ? policy : without_flow(policy);
    }
    /* Parsers raise it when the setting of their protocol is to drop such messages. */
    out[EXCEPTION_APP_AMBIGUOUS] = inline_mode ? EXCEPTION_DROP_FLOW : EXCEPTION_IGNORE;
    out[EXCEPTION_STREAM_MIDSTREAM] = midstream_policy(config, out[EXCEPTION_STREAM_MIDSTREAM]);
}
