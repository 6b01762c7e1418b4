/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings of the evaluation of rules, and of its limits of work and time. */
#include "sluice/detect.h"

#include <stddef.h>
#include <stdint.h>

#include "sluice/clock.h"
#include "sluice/config.h"

static const char *const limit_policies[] = { "no-match", "match", NULL };
static const char *const suspend_modes[] = {
    [SUSPEND_NONE] = "no", [SUSPEND_ALERTS] = "alert", [SUSPEND_ALL] = "all", NULL
};

const struct setting detector_settings[] = {
    { .name = "detect.pcre-match-limit",
      SETTING_FIELD(detector_options, pcre_match_limit),
      .type = SETTING_NUMBER,
      .default_value = "3500",
      .low = 1,
      .high = INT32_MAX,
      .help = "Maximum number of steps of one pcre evaluation; beyond it detect.limit-policy applies" },
    { .name = "detect.pcre-match-limit-recursion",
      SETTING_FIELD(detector_options, pcre_depth_limit),
      .type = SETTING_NUMBER,
      .default_value = "1500",
      .low = 1,
      .high = INT32_MAX,
      .help = "Maximum recursion depth of one pcre evaluation" },
    { .name = "detect.limit-policy",
      SETTING_FIELD(detector_options, limits_match),
      .type = SETTING_ENUM,
      .default_value = "match",
      .choices = limit_policies,
      .help = "Result for a buffer whose evaluation reaches a limit (of PCRE2, 3,000 steps, or 4 MiB for transforms) "
              "in drop and reject "
              "rules: match or no-match. In other rules the result is always no-match" },
    { .name = "detect.guess-applayer-tx",
      SETTING_FIELD(detector_options, guess_transactions),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Add the current transaction to alerts of rules without application-layer keywords" },
    { .name = "detect.stream-tx-log-limit",
      SETTING_FIELD(detector_options, guess_limit),
      .type = SETTING_NUMBER,
      .default_value = "4",
      .low = 0,
      .high = 255,
      .help = "Maximum number of alerts of rules without application-layer keywords that one transaction is "
              "added to" },
    { .name = "detect.packet-budget",
      SETTING_FIELD(detector_options, budget.packet_ns),
      .scale = 1000,
      .type = SETTING_NUMBER,
      .default_value = "0",
      .high = 60000000,
      .help = "Microseconds per packet; packets that take longer are counted, and logged once a minute with the most "
              "expensive rules; 0: not measured. Takes effect after a restart, as do the five settings below" },
    { .name = "detect.rule-budget",
      SETTING_FIELD(detector_options, budget.rule_ns),
      .scale = 1000,
      .type = SETTING_NUMBER,
      .default_value = "0",
      .high = 60000000,
      .help = "Microseconds per evaluation of a rule; slower evaluations are counted, and logged once a minute; "
              "0: unlimited" },
    { .name = "detect.suspend-slow-rules",
      SETTING_FIELD(detector_options, budget.suspend),
      .type = SETTING_ENUM,
      .default_value = "no",
      .choices = suspend_modes,
      .help = "Suspend rules that exceed detect.rule-budget repeatedly, with an event. alert: rules that only "
              "alert; all: rules that drop or pass, too" },
    { .name = "detect.suspend-count",
      SETTING_FIELD(detector_options, budget.suspend_count),
      .type = SETTING_NUMBER,
      .default_value = "100",
      .low = 1,
      .high = 1 << 30,
      .help = "Number of times that a rule must exceed its budget within detect.suspend-window to be suspended" },
    { .name = "detect.suspend-window",
      SETTING_FIELD(detector_options, budget.window_ns),
      .scale = NS_PER_SECOND,
      .type = SETTING_NUMBER,
      .default_value = "60",
      .low = 1,
      .high = 86400,
      .help = "Seconds within which detect.suspend-count is counted" },
    { .name = "detect.suspend-time",
      SETTING_FIELD(detector_options, budget.suspend_ns),
      .scale = NS_PER_SECOND,
      .type = SETTING_NUMBER,
      .default_value = "600",
      .low = 1,
      .high = 1 << 24,
      .help = "Seconds that a rule stays suspended" },
    { .name = NULL },
};
