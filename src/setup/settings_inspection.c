/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings of the inspection that belong to no single module, or that depend on the mode. */
#include "setup_priv.h"

#include <stddef.h>
#include <stdint.h>

#include "sluice/config.h"

static const char *const accept_or_drop[] = { "accept", "drop", NULL };
static const char *const checksum_choices[] = {
    [CHECKSUMS_CHECK] = "yes", [CHECKSUMS_IGNORE] = "no", [CHECKSUMS_AUTO] = "auto", NULL
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
