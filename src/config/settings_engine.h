/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of the table of settings: the engine as the supervisor looks after it. */
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
        { .name = "engine.failure-policy",                                                                             \
          .type = SETTING_ENUM,                                                                                        \
          .default_value = "auto",                                                                                     \
          .choices = failure_policies,                                                                                 \
          .help = "Treatment of traffic when engines keep dying: open (remove the sluice table, packets pass "         \
                  "uninspected), closed (keep the table, packets are dropped), auto (open if nft.bypass is yes)" },    \
        { .name = "engine.crash-policy",                                                                               \
          .type = SETTING_ENUM,                                                                                        \
          .default_value = "auto",                                                                                     \
          .choices = failure_policies,                                                                                 \
          .help = "The same when engines die while they inspect packets; auto: engine.failure-policy. When deaths in " \
                  "a row have several causes, closed wins" },                                                          \
        { .name = "engine.hang-policy",                                                                                \
          .type = SETTING_ENUM,                                                                                        \
          .default_value = "auto",                                                                                     \
          .choices = failure_policies,                                                                                 \
          .help = "The same when workers hang (engine.hang-timeout); auto: engine.failure-policy" },                   \
        { .name = "engine.memory-policy",                                                                              \
          .type = SETTING_ENUM,                                                                                        \
          .default_value = "auto",                                                                                     \
          .choices = failure_policies,                                                                                 \
          .help = "The same when the kernel kills engines because memory ran out; auto: engine.failure-policy" },      \
        { .name = "engine.start-policy",                                                                               \
          .type = SETTING_ENUM,                                                                                        \
          .default_value = "auto",                                                                                     \
          .choices = failure_policies,                                                                                 \
          .help = "The same when no engine starts any more; auto: engine.failure-policy. At the first start of the "   \
                  "daemon only closed takes effect; otherwise the firewall stays as it is" },                          \
    {                                                                                                                  \
        .name = "engine.violation-policy", .type = SETTING_ENUM, .default_value = "auto", .choices = failure_policies, \
        .help = "The same when engines are killed because they may have been taken over: they sent invalid or too "    \
                "many messages, or did not read theirs; auto: engine.failure-policy"                                   \
    }

#endif
