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
      .help = "refuse to start, and to reload, when a rule has a mistake or is not supported, or a rule file cannot "  \
              "be read; no: leave it out, and report it" },                                                            \
        { .name = "engine.hang-timeout",                                                                               \
          .type = SETTING_NUMBER,                                                                                      \
          .default_value = "10",                                                                                       \
          .low = 0,                                                                                                    \
          .high = 3600,                                                                                                \
          .help =                                                                                                      \
              "seconds for which a worker may stand still before the engine is ended and another one started; 0: for " \
              "ever" },                                                                                                \
        { .name = "engine.load-timeout",                                                                               \
          .type = SETTING_NUMBER,                                                                                      \
          .default_value = "300",                                                                                      \
          .low = 0,                                                                                                    \
          .high = 86400,                                                                                               \
          .help = "seconds that an engine may take until it is ready, and a reload until its rules are loaded; then "  \
                  "the engine is ended, or the reload given up; 0: for ever" },                                        \
        { .name = "engine.stop-timeout",                                                                               \
          .type = SETTING_NUMBER,                                                                                      \
          .default_value = "30",                                                                                       \
          .low = 0,                                                                                                    \
          .high = 3600,                                                                                                \
          .help = "seconds that an engine may take to stop before it is ended; 0: for ever" },                         \
        { .name = "engine.restart-limit",                                                                              \
          .type = SETTING_NUMBER,                                                                                      \
          .default_value = "20",                                                                                       \
          .low = 0,                                                                                                    \
          .high = 1000000,                                                                                             \
          .help = "how many engines in a row may die by themselves before they have worked for a second; one more, "   \
                  "and traffic is treated by engine.failure-policy" },                                                 \
    {                                                                                                                  \
        .name = "engine.failure-policy", .type = SETTING_ENUM, .default_value = "auto", .choices = failure_policies,   \
        .help = "what becomes of traffic when engines keep dying: open (the own table is removed, packets pass "       \
                "uninspected), closed (the own table stays, packets are dropped), auto (open if nft.bypass is yes)"    \
    }

#endif
