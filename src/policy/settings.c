/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings of alerts and thresholds. */
#include "sluice/policy.h"

#include <stddef.h>
#include <stdint.h>

#include "sluice/config.h"

const struct setting policy_settings[] = {
    { .name = "packet-alert-max",
      SETTING_FIELD(policy_options, packet_alert_max),
      .type = SETTING_NUMBER,
      .default_value = "15",
      .low = 0,
      .high = 255,
      .help = "Maximum number of alerts per packet; further alerts are only counted; 0: the default" },
    { .name = "threshold.memcap",
      SETTING_FIELD(policy_options, threshold_memcap),
      .type = SETTING_SIZE,
      .default_value = "16 MiB",
      .low = 65536,
      .high = INT64_C(1) << 40,
      .help =
          "Memory for the state of thresholds, for all workers; when it is used up, each match counts as the first" },
    { .name = NULL },
};
