/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings of exception policies and of the inspection that belong to no single module. */
#include "setup_priv.h"

#include <stddef.h>
#include <stdint.h>

#include "sluice/config.h"

static const char *const accept_or_drop[] = { "accept", "drop", NULL };
static const char *const checksum_choices[] = {
    [CHECKSUMS_CHECK] = "yes", [CHECKSUMS_IGNORE] = "no", [CHECKSUMS_AUTO] = "auto", NULL
};
static const char *const exception_policies[] = {
    [EXCEPTION_IGNORE] = "ignore",           [EXCEPTION_PASS_PACKET] = "pass-packet",
    [EXCEPTION_PASS_FLOW] = "pass-flow",     [EXCEPTION_BYPASS] = "bypass",
    [EXCEPTION_DROP_PACKET] = "drop-packet", [EXCEPTION_DROP_FLOW] = "drop-flow",
    [EXCEPTION_REJECT] = "reject",           [EXCEPTION_REJECT_BOTH] = "reject-both",
    [EXCEPTION_POLICY_COUNT] = "auto",       NULL,
};

const struct setting inspection_settings[] = {
    { .name = "decode-error-policy",
      SETTING_FIELD(inspection_options, drop_undecodable),
      .type = SETTING_ENUM,
      .default_value = "accept",
      .choices = accept_or_drop,
      .help = "Treatment of packets that can't be decoded" },
    { .name = "app-layer.memcap",
      SETTING_FIELD(inspection_options, app_memcap),
      .type = SETTING_SIZE,
      .default_value = "256 MiB",
      .low = 1 << 20,
      .high = INT64_C(64) << 30,
      .help = "Memory for application protocols: parser state, and bodies and files for rules, divided between the "
              "workers; when it is nearly used up, the memory of idle connections is freed" },
    { .name = "host.memcap",
      SETTING_FIELD(inspection_options, host_memcap),
      .type = SETTING_SIZE,
      .default_value = "16 MiB",
      .low = 65536,
      .high = INT64_C(1) << 40,
      .help = "Memory for the bits that rules set on hosts (hostbits, xbits)" },
    { .name = "stream.inline",
      SETTING_FIELD(inspection_options, stream_inline),
      .type = SETTING_ENUM,
      .default_value = "auto",
      .choices = setting_auto_choices,
      .help = "Inspect TCP data before it is forwarded, and enforce the data seen first; no: inspect it when it was "
              "acknowledged. auto: yes, except for replay without --ips" },
    { .name = "stream.bypass",
      SETTING_FIELD(inspection_options, bypass_at_depth),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Bypass a connection when both directions have been inspected up to stream.depth" },
    { .name = "stream.midstream-grace",
      SETTING_FIELD(inspection_options, midstream_grace_seconds),
      .type = SETTING_NUMBER,
      .default_value = "7440",
      .low = 0,
      .high = 1 << 24,
      .help = "Seconds after the start of `sluice run` in which TCP connections whose beginning was not seen are "
              "picked up, whatever stream.midstream and its policy are: they may be older than the daemon" },
    { .name = "replay.checksum-checks",
      SETTING_FIELD(inspection_options, checksums),
      .type = SETTING_ENUM,
      .default_value = "auto",
      .choices = checksum_choices,
      .help =
          "Check checksums in capture files; auto stops when more than a tenth of the first 1000 packets are wrong" },
    { .name = NULL },
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
