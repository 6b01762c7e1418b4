/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings of TCP sessions and their reassembly. */
#include "sluice/stream.h"

#include <stddef.h>
#include <stdint.h>

#include "sluice/config.h"

static const char *const overlap_choices[] = {
    [STREAM_OVERLAP_DROP] = "drop", [STREAM_OVERLAP_REWRITE] = "rewrite", NULL
};
static const char *const urgent_policies[] = {
    [STREAM_URGENT_OOB] = "oob",     [STREAM_URGENT_INLINE] = "inline",
    [STREAM_URGENT_DROP] = "drop",   [STREAM_URGENT_GAP] = "gap",
    [STREAM_URGENT_CLEAR] = "clear", [STREAM_URGENT_BOTH] = "both",
    [STREAM_URGENT_AUTO] = "auto",   NULL,
};
static const char *const urgent_limit_policies[] = { [STREAM_URGENT_OOB] = "oob",
                                                     [STREAM_URGENT_INLINE] = "inline",
                                                     [STREAM_URGENT_DROP] = "drop",
                                                     [STREAM_URGENT_GAP] = "gap",
                                                     NULL };
static const char *const conntrack_choices[] = {
    [STREAM_CONNTRACK_NO] = "no", [STREAM_CONNTRACK_YES] = "yes", [STREAM_CONNTRACK_ONLY] = "only", NULL
};

const struct setting stream_settings[] = {
    { .name = "stream.memcap",
      SETTING_FIELD(stream_options, memcap),
      .type = SETTING_SIZE,
      .default_value = "64 MiB",
      .low = 65536,
      .high = INT64_C(1) << 40,
      .help = "Memory for TCP sessions, divided between the workers" },
    { .name = "stream.reassembly-memcap",
      SETTING_FIELD(stream_options, reassembly_memcap),
      .type = SETTING_SIZE,
      .default_value = "256 MiB",
      .low = 1 << 20,
      .high = INT64_C(1) << 40,
      .help = "Memory for TCP data, divided between the workers" },
    { .name = "stream.depth",
      SETTING_FIELD(stream_options, depth),
      .type = SETTING_SIZE,
      .default_value = "1 MiB",
      .low = 0,
      .high = INT64_C(1) << 31,
      .help = "Bytes of each direction of a TCP connection that are inspected as a stream; what follows is inspected "
              "packet by packet. 0: all" },
    { .name = "stream.midstream",
      SETTING_FIELD(stream_options, midstream),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Pick up TCP connections whose beginning was not seen, and inspect them from there" },
    { .name = "stream.midstream-conntrack",
      SETTING_FIELD(stream_options, conntrack),
      .type = SETTING_ENUM,
      .default_value = "yes",
      .choices = conntrack_choices,
      .help =
          "Pick up TCP connections whose beginning was not seen if they are established in conntrack, regardless of "
          "stream.midstream and its policy, so that idle connections outlive flow.timeouts.tcp.established; only: "
          "pick up no others, not even during stream.midstream-grace" },
    { .name = "stream.async-oneside",
      SETTING_FIELD(stream_options, async_oneside),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Inspect TCP connections of which one side is seen only; set stream.midstream, too, where that may be "
              "the server's side" },
    { .name = "stream.checksum-validation",
      SETTING_FIELD(stream_options, checksum_validation),
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Exclude segments with a wrong checksum from their stream" },
    { .name = "stream.toserver-chunk-size",
      SETTING_FIELD(stream_options, chunk[FLOW_TO_SERVER]),
      .type = SETTING_SIZE,
      .default_value = "2560",
      .low = 64,
      .high = 1 << 16,
      .help = "Bytes of history to the server that are inspected together with new data; the contents of a rule may be "
              "that far apart" },
    { .name = "stream.toclient-chunk-size",
      SETTING_FIELD(stream_options, chunk[FLOW_TO_CLIENT]),
      .type = SETTING_SIZE,
      .default_value = "2560",
      .low = 64,
      .high = 1 << 16,
      .help = "Bytes of history to the client that are inspected together with new data" },
    { .name = "stream.overlap",
      SETTING_FIELD(stream_options, overlap),
      .type = SETTING_ENUM,
      .default_value = "rewrite",
      .choices = overlap_choices,
      .help = "Treatment of segments whose data differs from the data that was seen first at the same place of the "
              "stream: rewrite (forward the data seen first) or drop" },
    { .name = "stream.urgent-policy",
      SETTING_FIELD(stream_options, urgent),
      .type = SETTING_ENUM,
      .default_value = "auto",
      .choices = urgent_policies,
      .help =
          "Treatment of urgent data: oob (not part of the stream), inline (part of it), gap (missing bytes in it), "
          "drop (the packet), clear (part of it, and the URG flag is removed, so that the receiver agrees), both "
          "(inspected as part of it and as not part of it; like clear where a protocol's parser cannot read it in both "
          "ways, and after 4 urgent bytes in the inspected window). auto: in inline mode both, otherwise oob" },
    { .name = "stream.urgent-oob-limit-policy",
      SETTING_FIELD(stream_options, urgent_limit),
      .type = SETTING_ENUM,
      .default_value = "drop",
      .choices = urgent_limit_policies,
      .help = "Treatment of urgent data after oob has left out 65,535 bytes of a direction; see stream.urgent-policy" },
    { .name = "stream.max-syn-queued",
      SETTING_FIELD(stream_options, max_syn_queued),
      .type = SETTING_NUMBER,
      .default_value = "10",
      .low = 1,
      .high = 255,
      .help = "Maximum number of repeated SYNs stored per connection; further ones set the event 3whs_syn_flood" },
    { .name = "stream.max-synack-queued",
      SETTING_FIELD(stream_options, max_synack_queued),
      .type = SETTING_NUMBER,
      .default_value = "5",
      .low = 1,
      .high = 255,
      .help = "Maximum number of different SYN/ACKs stored per connection" },
    { .name = NULL },
};
