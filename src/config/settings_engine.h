/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of the table of settings: the engine as the keeper looks after it. */
#ifndef CONFIG_SETTINGS_ENGINE_H
#define CONFIG_SETTINGS_ENGINE_H

#include "config_priv.h"

static const char *const failure_policies[] = { "auto", "open", "closed", NULL };

#define ENGINE_SETTINGS                                                                                                \
    { .name = "engine.init-failure-fatal",                                                                             \
      .type = SETTING_BOOL,                                                                                            \
      .default_value = "no",                                                                                           \
      .help = "Refuse to start, and to reload, when a rule has a mistake or is not supported, or a rule file cannot "  \
              "be read; no: leave the rule out, and report it" },                                                      \
        { .name = "engine.hang-timeout",                                                                               \
          .type = SETTING_NUMBER,                                                                                      \
          .default_value = "10",                                                                                       \
          .low = 0,                                                                                                    \
          .high = 3600,                                                                                                \
          .help =                                                                                                      \
              "Seconds without progress of a worker after which the engine is killed and replaced; 0: unlimited" },    \
        { .name = "engine.load-timeout",                                                                               \
          .type = SETTING_NUMBER,                                                                                      \
          .default_value = "300",                                                                                      \
          .low = 0,                                                                                                    \
          .high = 86400,                                                                                               \
          .help = "Seconds that an engine may take to start, and a reload to load its rules; then the engine is "      \
                  "killed, or the reload aborted; 0: unlimited" },                                                     \
        { .name = "engine.stop-timeout",                                                                               \
          .type = SETTING_NUMBER,                                                                                      \
          .default_value = "30",                                                                                       \
          .low = 0,                                                                                                    \
          .high = 3600,                                                                                                \
          .help = "Seconds that an engine may take to stop before it is killed; 0: unlimited" },                       \
        { .name = "engine.restart-limit",                                                                              \
          .type = SETTING_NUMBER,                                                                                      \
          .default_value = "20",                                                                                       \
          .low = 0,                                                                                                    \
          .high = 1000000,                                                                                             \
          .help = "Number of engines in a row that may die within a second of their start; after one more "            \
                  "engine.failure-policy decides" },                                                                   \
    {                                                                                                                  \
        .name = "engine.failure-policy", .type = SETTING_ENUM, .default_value = "auto", .choices = failure_policies,   \
        .help = "Treatment of traffic when engines keep dying: open (remove the sluice table, packets pass "           \
                "uninspected), closed (keep the table, packets are dropped), auto (open if nft.bypass is yes)"         \
    }

#endif
