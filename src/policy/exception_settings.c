/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings of exception policies. */
#include <stddef.h>
#include <stdint.h>

#include "sluice/config.h"
#include "sluice/policy.h"

static const char *const exception_policies[] = {
    [EXCEPTION_IGNORE] = "ignore",           [EXCEPTION_PASS_PACKET] = "pass-packet",
    [EXCEPTION_PASS_FLOW] = "pass-flow",     [EXCEPTION_BYPASS] = "bypass",
    [EXCEPTION_DROP_PACKET] = "drop-packet", [EXCEPTION_DROP_FLOW] = "drop-flow",
    [EXCEPTION_REJECT] = "reject",           [EXCEPTION_REJECT_BOTH] = "reject-both",
    [EXCEPTION_POLICY_COUNT] = "auto",       NULL,
};

const struct setting exception_settings[] = {
    { .name = "exception-policy",
      SETTING_FIELD(exception_options, master),
      .type = SETTING_ENUM,
      .default_value = "auto",
      .choices = exception_policies,
      .help = "Treatment of traffic that cannot be inspected completely, for all causes without a policy of "
              "their own. auto: when inline, drop the flow, or the packet if it has no flow; otherwise ignore" },
    { .name = "flow.memcap-policy",
      SETTING_FIELD(exception_options, policies[EXCEPTION_FLOW_MEMCAP]),
      .type = SETTING_ENUM,
      .choices = exception_policies,
      .help = "Exception policy when flow.memcap is used up; unset: exception-policy" },
    { .name = "defrag.memcap-policy",
      SETTING_FIELD(exception_options, policies[EXCEPTION_DEFRAG_MEMCAP]),
      .type = SETTING_ENUM,
      .choices = exception_policies,
      .help = "Exception policy when defrag.memcap is used up; unset: exception-policy" },
    { .name = "stream.memcap-policy",
      SETTING_FIELD(exception_options, policies[EXCEPTION_STREAM_MEMCAP]),
      .type = SETTING_ENUM,
      .choices = exception_policies,
      .help = "Exception policy for a connection that finds no room in stream.memcap; unset: exception-policy, whose "
              "auto means drop-packet here: the sender repeats the segment" },
    { .name = "stream.reassembly-memcap-policy",
      SETTING_FIELD(exception_options, policies[EXCEPTION_STREAM_REASSEMBLY]),
      .type = SETTING_ENUM,
      .choices = exception_policies,
      .help = "Exception policy for data that finds no room in stream.reassembly-memcap, and for data that would "
              "complete what was evicted from there; unset: exception-policy, whose auto means drop-packet here: the "
              "sender repeats the segment" },
    { .name = "stream.midstream-policy",
      SETTING_FIELD(exception_options, policies[EXCEPTION_STREAM_MIDSTREAM]),
      .type = SETTING_ENUM,
      .choices = exception_policies,
      .help = "Exception policy for TCP connections whose beginning was not seen and that are not picked up; unset: "
              "exception-policy. pass-packet and drop-packet mean ignore; with stream.midstream: yes, drop-flow, "
              "reject and reject-both mean ignore, too" },
    { .name = "stream.invalid-policy",
      SETTING_FIELD(exception_options, policies[EXCEPTION_STREAM_INVALID]),
      .type = SETTING_ENUM,
      .default_value = "drop-packet",
      .choices = exception_policies,
      .help = "Treatment of TCP segments that the receiver would not accept: wrong checksum, outside of the window, "
              "or not allowed in the state of the connection. exception-policy does not change it" },
    { .name = "app-layer.memcap-policy",
      SETTING_FIELD(exception_options, policies[EXCEPTION_APP_MEMCAP]),
      .type = SETTING_ENUM,
      .default_value = "ignore",
      .choices = exception_policies,
      .help = "Exception policy for data of a connection whose parser was released because it was idle when "
              "app-layer.memcap was nearly used up; ignore: its data is inspected as a stream, without the "
              "protocol's buffers. exception-policy does not change it" },
    { .name = "app-layer.error-policy",
      SETTING_FIELD(exception_options, policies[EXCEPTION_APP_ERROR]),
      .type = SETTING_ENUM,
      .choices = exception_policies,
      .help = "Exception policy for a flow whose application protocol could not be parsed; unset: exception-policy" },
    { .name = "overload.policy",
      SETTING_FIELD(exception_options, policies[EXCEPTION_OVERLOAD]),
      .type = SETTING_ENUM,
      .choices = exception_policies,
      .help = "Exception policy for flows that begin during load shedding, when it has reached the class new of "
              "overload.shed; unset: exception-policy" },
    { .name = NULL },
};
