/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sluice/exception.h"

static const char *const causes[EXCEPTION_COUNT] = {
    [EXCEPTION_NONE] = "none",
    [EXCEPTION_DEFRAG_MEMCAP] = "defrag_memcap",
    [EXCEPTION_FLOW_MEMCAP] = "flow_memcap",
    [EXCEPTION_STREAM_MEMCAP] = "stream_memcap",
    [EXCEPTION_STREAM_REASSEMBLY] = "stream_reassembly_memcap",
    [EXCEPTION_STREAM_MIDSTREAM] = "stream_midstream",
    [EXCEPTION_STREAM_INVALID] = "stream_invalid",
    [EXCEPTION_APP_ERROR] = "app_layer_error",
    [EXCEPTION_APP_MEMCAP] = "app_layer_memcap",
    [EXCEPTION_OVERLOAD] = "overload",
    [EXCEPTION_APP_AMBIGUOUS] = "app_layer_ambiguous",
};

static const char *const policies[EXCEPTION_POLICY_COUNT] = {
    [EXCEPTION_IGNORE] = "ignore", [EXCEPTION_PASS_PACKET] = "pass_packet", [EXCEPTION_PASS_FLOW] = "pass_flow",
    [EXCEPTION_BYPASS] = "bypass", [EXCEPTION_DROP_PACKET] = "drop_packet", [EXCEPTION_DROP_FLOW] = "drop_flow",
    [EXCEPTION_REJECT] = "reject", [EXCEPTION_REJECT_BOTH] = "reject_both",
};

const char *exception_cause_name(enum exception_cause cause)
{
    return causes[cause];
}

const char *exception_policy_name(enum exception_policy policy)
{
    return policies[policy];
}
