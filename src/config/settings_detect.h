/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of the table of settings: how rules are compiled and asked. */
#ifndef CONFIG_SETTINGS_DETECT_H
#define CONFIG_SETTINGS_DETECT_H

#include <stdint.h>

#include "config_priv.h"

enum { NUMBER_MAX = INT32_MAX };

#define DETECT_SETTINGS                                                                                                \
    { .name = "detect.pcre-match-limit",                                                                               \
      .type = SETTING_NUMBER,                                                                                          \
      .default_value = "3500",                                                                                         \
      .low = 1,                                                                                                        \
      .high = NUMBER_MAX,                                                                                              \
      .help = "steps that one evaluation of a pcre may take; past them it does not match" },                           \
        { .name = "detect.pcre-match-limit-recursion",                                                                 \
          .type = SETTING_NUMBER,                                                                                      \
          .default_value = "1500",                                                                                     \
          .low = 1,                                                                                                    \
          .high = NUMBER_MAX,                                                                                          \
          .help = "depth that one evaluation of a pcre may reach" },                                                   \
        { .name = "detect.guess-applayer-tx",                                                                          \
          .type = SETTING_BOOL,                                                                                        \
          .default_value = "no",                                                                                       \
          .help = "alerts of rules that name no protocol tell of the transaction under way, too" },                    \
        { .name = "detect.sgh-mpm-caching",                                                                            \
          .type = SETTING_BOOL,                                                                                        \
          .default_value = "no",                                                                                       \
          .help = "keeps compiled pattern databases on disk, so that the same rules load faster" },                    \
        { .name = "detect.sgh-mpm-caching-path",                                                                       \
          .type = SETTING_PATH,                                                                                        \
          .default_value = "/var/cache/sluice/sgh",                                                                    \
          .help = "the folder they are kept in; made when it is not there. Several instances may share it" },          \
        { .name = "detect.sgh-mpm-caching-max-age",                                                                    \
          .type = SETTING_STRING,                                                                                      \
          .default_value = "7d",                                                                                       \
          .check = form_duration,                                                                                      \
          .help = "how long a file stays that nobody uses: seconds, or a number with s, m, h, d or w; 0: for ever" },  \
    {                                                                                                                  \
        .name = "detect.sgh-mpm-caching-max-size", .type = SETTING_SIZE, .default_value = "512 MiB", .low = 0,         \
        .high = INT64_C(1) << 40,                                                                                      \
        .help = "past it the longest unused files go, but for those of the last hour; 0: no bound"                     \
    }

#endif
