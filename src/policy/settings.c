/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings of alerts, thresholds and of the mode. */
#include "sluice/policy.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sluice/config.h"
#include "sluice/text.h"

static const char *const ips_modes[] = { [IPS_MODE_DROP] = "drop", [IPS_MODE_ALERT_ONLY] = "alert-only", NULL };

/* 0 keeps the default, which config_fill() has stored before. */
static void store_alert_max(const char *value, void *options)
{
    uint64_t number;

    if (text_to_uint(value, strlen(value), 1, UINT8_MAX, &number))
        ((struct policy_options *)options)->packet_alert_max = (unsigned)number;
}

const struct setting policy_settings[] = {
    { .name = "packet-alert-max",
      .store = store_alert_max,
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
          "Memory for the state of thresholds, for all workers; when it is full, states with low counts are evicted" },
    { .name = NULL },
};

const struct setting ips_mode_settings[] = {
    { .name = "queues.*.ips-mode",
      SETTING_FIELD(policy_options, mode),
      .type = SETTING_ENUM,
      .choices = ips_modes,
      .help = "ips.mode for these queues" },
    { .name = "ips.mode",
      SETTING_FIELD(policy_options, mode),
      .type = SETTING_ENUM,
      .default_value = "drop",
      .choices = ips_modes,
      .help = "Enforce the decisions of rules and exception policies (drop), or let every packet pass unchanged, "
              "and report and count what drop would do (alert-only, ips.would_drop). Changed by a reload, or by "
              "`sluice mode`" },
    { .name = NULL },
};
