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
      .help = "Bypass flows of overload.shed when a queue is too full or its packets wait too long, with an event; "   \
              "it ends when both have been below half of their limits for a second" },                                 \
        { .name = "overload.queue-fill",                                                                               \
          .type = SETTING_NUMBER,                                                                                      \
          .default_value = "50",                                                                                       \
          .low = 1,                                                                                                    \
          .high = 100,                                                                                                 \
          .help = "Fill level of a queue, in per cent of queue.length or of the socket buffer, from which it is "      \
                  "overloaded" },                                                                                      \
        { .name = "overload.queue-age",                                                                                \
          .type = SETTING_NUMBER,                                                                                      \
          .default_value = "100",                                                                                      \
          .low = 1,                                                                                                    \
          .high = 3600000,                                                                                             \
          .help = "Milliseconds that packets may wait for their verdict before the queue is overloaded, when they do " \
                  "so for 20 ms" },                                                                                    \
        { .name = "overload.shed",                                                                                     \
          .type = SETTING_LIST,                                                                                        \
          .default_value = "encrypted",                                                                                \
          .choices = shed_classes,                                                                                     \
          .help = "Classes of flows that are bypassed in overload, in this order, one class more each 50 ms while it " \
                  "lasts: encrypted (TLS and SSH after the handshake), bulk (more than overload.bulk-size), files "    \
                  "(within a file larger than overload.file-size), established; no flow that a rule has matched. "     \
                  "new: new flows are treated by overload.policy. []: none" },                                         \
        { .name = "overload.bulk-size",                                                                                \
          .type = SETTING_SIZE,                                                                                        \
          .default_value = "10 MiB",                                                                                   \
          .low = 1,                                                                                                    \
          .high = INT64_C(1) << 40,                                                                                    \
          .help = "Bytes of both directions from which a flow is bulk" },                                              \
        { .name = "overload.file-size",                                                                                \
          .type = SETTING_SIZE,                                                                                        \
          .default_value = "256 KiB",                                                                                  \
          .low = 1,                                                                                                    \
          .high = INT64_C(1) << 40,                                                                                    \
          .help = "Bytes from which a file is large" },                                                                \
    {                                                                                                                  \
        .name = "overload.policy", .type = SETTING_ENUM, .choices = exception_policies,                                \
        .help = "Exception policy for flows that begin in overload, when overload.shed has new and has reached it; "   \
                "unset: exception-policy"                                                                              \
    }

/* What packets and rules may cost: timed in `sluice run` only, and only when there is a budget. */
static const char *const suspend_modes[] = { "no", "alert", "all", NULL };

#define BUDGET_SETTINGS                                                                                                \
    { .name = "detect.packet-budget",                                                                                  \
      .type = SETTING_NUMBER,                                                                                          \
      .default_value = "0",                                                                                            \
      .high = 60000000,                                                                                                \
      .help = "Microseconds per packet; packets that take longer are counted, and logged once a minute with the most " \
              "expensive rules; 0: not measured. Needs a restart, as the five settings below" },                       \
        { .name = "detect.rule-budget",                                                                                \
          .type = SETTING_NUMBER,                                                                                      \
          .default_value = "0",                                                                                        \
          .high = 60000000,                                                                                            \
          .help = "Microseconds per evaluation of a rule; slower evaluations are counted and logged as for packets; "  \
                  "0: unlimited" },                                                                                    \
        { .name = "detect.suspend-slow-rules",                                                                         \
          .type = SETTING_ENUM,                                                                                        \
          .default_value = "no",                                                                                       \
          .choices = suspend_modes,                                                                                    \
          .help = "Suspend rules that exceed detect.rule-budget repeatedly, with an event. alert: rules that only "    \
                  "alert; all: rules that drop or pass, too" },                                                        \
        { .name = "detect.suspend-count",                                                                              \
          .type = SETTING_NUMBER,                                                                                      \
          .default_value = "100",                                                                                      \
          .low = 1,                                                                                                    \
          .high = 1 << 30,                                                                                             \
          .help = "Number of times that a rule must exceed its budget within detect.suspend-window to be suspended" }, \
        { .name = "detect.suspend-window",                                                                             \
          .type = SETTING_NUMBER,                                                                                      \
          .default_value = "60",                                                                                       \
          .low = 1,                                                                                                    \
          .high = 86400,                                                                                               \
          .help = "Seconds in which these times are counted" },                                                        \
    {                                                                                                                  \
        .name = "detect.suspend-time", .type = SETTING_NUMBER, .default_value = "600", .low = 1, .high = 1 << 24,      \
        .help = "Seconds that a rule stays suspended"                                                                  \
    }

#endif
