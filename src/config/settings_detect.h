/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of the table of settings: how rules are compiled and asked. */
#ifndef CONFIG_SETTINGS_DETECT_H
#define CONFIG_SETTINGS_DETECT_H

#include <stdint.h>

#include "config_priv.h"

enum { NUMBER_MAX = INT32_MAX };
static const char *const limit_policies[] = { "match", "no-match", NULL };

#define DETECT_SETTINGS                                                                                                \
    { .name = "detect.pcre-match-limit",                                                                               \
      .type = SETTING_NUMBER,                                                                                          \
      .default_value = "3500",                                                                                         \
      .low = 1,                                                                                                        \
      .high = NUMBER_MAX,                                                                                              \
      .help = "Maximum number of steps of one pcre evaluation; beyond it detect.limit-policy applies" },               \
        { .name = "detect.pcre-match-limit-recursion",                                                                 \
          .type = SETTING_NUMBER,                                                                                      \
          .default_value = "1500",                                                                                     \
          .low = 1,                                                                                                    \
          .high = NUMBER_MAX,                                                                                          \
          .help = "Maximum recursion depth of one pcre evaluation" },                                                  \
        { .name = "detect.limit-policy",                                                                               \
          .type = SETTING_ENUM,                                                                                        \
          .default_value = "match",                                                                                    \
          .choices = limit_policies,                                                                                   \
          .help = "Drop and reject rules whose evaluation reaches a limit of work (PCRE2's, or 3,000 steps in a "      \
                  "buffer): match (the buffer matches), no-match. Other rules do not match" },                         \
        { .name = "detect.guess-applayer-tx",                                                                          \
          .type = SETTING_BOOL,                                                                                        \
          .default_value = "no",                                                                                       \
          .help = "Add the current transaction to alerts of rules that name no protocol" },                            \
        { .name = "detect.stream-tx-log-limit",                                                                        \
          .type = SETTING_NUMBER,                                                                                      \
          .default_value = "4",                                                                                        \
          .low = 0,                                                                                                    \
          .high = 255,                                                                                                 \
          .help = "Maximum number of alerts of rules without application-layer keywords that one transaction is "      \
                  "added to" },                                                                                        \
        { .name = "detect.sgh-mpm-caching",                                                                            \
          .type = SETTING_BOOL,                                                                                        \
          .default_value = "no",                                                                                       \
          .help = "Keep compiled pattern databases on disk, so that the same rules load faster" },                     \
        { .name = "detect.sgh-mpm-caching-path",                                                                       \
          .type = SETTING_PATH,                                                                                        \
          .default_value = "/var/cache/sluice/sgh",                                                                    \
          .help = "Folder of the compiled databases, created if missing; several instances may share it" },            \
        { .name = "detect.sgh-mpm-caching-max-age",                                                                    \
          .type = SETTING_STRING,                                                                                      \
          .default_value = "7d",                                                                                       \
          .check = form_duration,                                                                                      \
          .help = "Age at which unused databases are deleted: seconds, or a number with s, m, h, d or w; 0: never" },  \
    {                                                                                                                  \
        .name = "detect.sgh-mpm-caching-max-size", .type = SETTING_SIZE, .default_value = "512 MiB", .low = 0,         \
        .high = INT64_C(1) << 40,                                                                                      \
        .help = "Maximum size of all databases together; beyond it those unused for longest are deleted, but for "     \
                "those used in the last hour; 0: unlimited"                                                            \
    }

#endif
