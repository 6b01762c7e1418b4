/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of the table of settings: what a worker does that can't keep up. */
#ifndef CONFIG_SETTINGS_OVERLOAD_H
#define CONFIG_SETTINGS_OVERLOAD_H

#include "config_priv.h"

static const char *const shed_classes[] = { "encrypted", "bulk", "files", "established", "new", NULL };

#define OVERLOAD_SETTINGS                                                                                              \
    { .name = "overload.enabled",                                                                                      \
      .type = SETTING_BOOL,                                                                                            \
      .default_value = "yes",                                                                                          \
      .help =                                                                                                          \
          "when a queue is too full or its packets have waited too long, flows of overload.shed are bypassed, and "    \
          "an event says so; it ends when both have been below half of their limits for a second" },                   \
        { .name = "overload.queue-fill",                                                                               \
          .type = SETTING_NUMBER,                                                                                      \
          .default_value = "50",                                                                                       \
          .low = 1,                                                                                                    \
          .high = 100,                                                                                                 \
          .help = "per cent of queue.length, or of the socket's buffer, that are too full" },                          \
        { .name = "overload.queue-age",                                                                                \
          .type = SETTING_NUMBER,                                                                                      \
          .default_value = "100",                                                                                      \
          .low = 1,                                                                                                    \
          .high = 3600000,                                                                                             \
          .help =                                                                                                      \
              "milliseconds that are too long for a packet to wait for its verdict, when it goes on so for 20 ms" },   \
        { .name = "overload.shed",                                                                                     \
          .type = SETTING_LIST,                                                                                        \
          .default_value = "encrypted",                                                                                \
          .choices = shed_classes,                                                                                     \
          .help =                                                                                                      \
              "which flows are bypassed in overload, in this order, one class more each 50 ms as long as it lasts: "   \
              "encrypted (TLS and SSH after the handshake), bulk (more than overload.bulk-size), files (in the midst " \
              "of one larger than overload.file-size), established; of "                                               \
              "those none that a rule has met. new: flows that begin are treated as overload.policy says. "            \
              "[]: none" },                                                                                            \
        { .name = "overload.bulk-size",                                                                                \
          .type = SETTING_SIZE,                                                                                        \
          .default_value = "10 MiB",                                                                                   \
          .low = 1,                                                                                                    \
          .high = INT64_C(1) << 40,                                                                                    \
          .help = "bytes of both directions past which a flow is bulk" },                                              \
        { .name = "overload.file-size",                                                                                \
          .type = SETTING_SIZE,                                                                                        \
          .default_value = "256 KiB",                                                                                  \
          .low = 1,                                                                                                    \
          .high = INT64_C(1) << 40,                                                                                    \
          .help = "bytes of a file past which it is large" },                                                          \
    {                                                                                                                  \
        .name = "overload.policy", .type = SETTING_ENUM, .choices = exception_policies,                                \
        .help = "exception-policy for a flow that begins in overload, when overload.shed has new and has come to it"   \
    }

/* What packets and rules may cost: timed in `sluice run` only, and only when there is a budget. */
static const char *const suspend_modes[] = { "no", "alert", "all", NULL };

#define BUDGET_SETTINGS                                                                                                \
    { .name = "detect.packet-budget",                                                                                  \
      .type = SETTING_NUMBER,                                                                                          \
      .default_value = "0",                                                                                            \
      .high = 60000000,                                                                                                \
      .help = "microseconds that a packet may take; those that take longer are counted, and told once a minute with "  \
              "the rules that cost most. 0: nothing is timed. Of the start, as the next ones" },                       \
        { .name = "detect.rule-budget",                                                                                \
          .type = SETTING_NUMBER,                                                                                      \
          .default_value = "0",                                                                                        \
          .high = 60000000,                                                                                            \
          .help = "microseconds that one evaluation of a rule may take; told as those of packets. 0: any" },           \
        { .name = "detect.suspend-slow-rules",                                                                         \
          .type = SETTING_ENUM,                                                                                        \
          .default_value = "no",                                                                                       \
          .choices = suspend_modes,                                                                                    \
          .help = "a rule that exceeds detect.rule-budget again and again is not asked for some time, and an event "   \
                  "says so. alert: rules that do no more than alert; all: those that drop or pass, too" },             \
        { .name = "detect.suspend-count",                                                                              \
          .type = SETTING_NUMBER,                                                                                      \
          .default_value = "100",                                                                                      \
          .low = 1,                                                                                                    \
          .high = 1 << 30,                                                                                             \
          .help = "so many times in detect.suspend-window" },                                                          \
        { .name = "detect.suspend-window",                                                                             \
          .type = SETTING_NUMBER,                                                                                      \
          .default_value = "60",                                                                                       \
          .low = 1,                                                                                                    \
          .high = 86400,                                                                                               \
          .help = "seconds" },                                                                                         \
    {                                                                                                                  \
        .name = "detect.suspend-time", .type = SETTING_NUMBER, .default_value = "600", .low = 1, .high = 1 << 24,      \
        .help = "seconds for which it is not asked"                                                                    \
    }

#endif
