/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of the table of settings: queues.*, which override queue.* for some queues; the mode, which they can override,
 * too. */
#ifndef CONFIG_SETTINGS_QUEUE_H
#define CONFIG_SETTINGS_QUEUE_H

#include <stddef.h>

#include "sluice/config.h"
#include "config_priv.h"

static const char *const verdicts[] = { "accept", "repeat", "route", NULL };
static const char *const looping_policies[] = { "drop", "accept", NULL };
static const char *const truncated_policies[] = { "drop", "inspect", NULL };
static const char *const marked_policies[] = { "accept", "inspect", "drop", NULL };
static const char *const ips_modes[] = { "drop", "alert-only", NULL };
static const char *const conntrack_modes[] = { "auto", "always", "no", NULL };

#define QUEUE_OVERRIDES                                                                                                \
    { .name = "queues.*.verdict",                                                                                      \
      .type = SETTING_ENUM,                                                                                            \
      .choices = verdicts,                                                                                             \
      .help = "queue.verdict for the queues in the name, such as \"0-3\"" },                                           \
        { .name = "queues.*.mark",                                                                                     \
          .type = SETTING_STRING,                                                                                      \
          .check = form_mark,                                                                                          \
          .help = "queue.mark for these queues" },                                                                     \
        { .name = "queues.*.marked-packets",                                                                           \
          .type = SETTING_ENUM,                                                                                        \
          .choices = marked_policies,                                                                                  \
          .help = "queue.marked-packets for these queues" },                                                           \
        { .name = "queues.*.repeat-limit",                                                                             \
          .type = SETTING_NUMBER,                                                                                      \
          .low = 0,                                                                                                    \
          .high = 1 << 20,                                                                                             \
          .help = "queue.repeat-limit for these queues" },                                                             \
        { .name = "queues.*.looping-packets",                                                                          \
          .type = SETTING_ENUM,                                                                                        \
          .choices = looping_policies,                                                                                 \
          .help = "queue.looping-packets for these queues" },                                                          \
        { .name = "queues.*.truncated-packets",                                                                        \
          .type = SETTING_ENUM,                                                                                        \
          .choices = truncated_policies,                                                                               \
          .help = "queue.truncated-packets for these queues" },                                                        \
        { .name = "queues.*.route-to",                                                                                 \
          .type = SETTING_NUMBER,                                                                                      \
          .low = 0,                                                                                                    \
          .high = 65535,                                                                                               \
          .help = "queue.route-to for these queues" },                                                                 \
        { .name = "queues.*.route-bypass", .type = SETTING_BOOL, .help = "queue.route-bypass for these queues" },      \
        { .name = "queues.*.fail-open", .type = SETTING_BOOL, .help = "queue.fail-open for these queues" },            \
        { .name = "queues.*.gso", .type = SETTING_BOOL, .help = "queue.gso for these queues" },                        \
        { .name = "queues.*.ips-mode",                                                                                 \
          .type = SETTING_ENUM,                                                                                        \
          .choices = ips_modes,                                                                                        \
          .help = "ips.mode for these queues" },                                                                       \
        { .name = "queues.*.conntrack",                                                                                \
          .type = SETTING_ENUM,                                                                                        \
          .choices = conntrack_modes,                                                                                  \
          .help = "queue.conntrack for these queues" },                                                                \
        { .name = "queues.*.length",                                                                                   \
          .type = SETTING_NUMBER,                                                                                      \
          .low = 1,                                                                                                    \
          .high = 1 << 20,                                                                                             \
          .help = "queue.length for these queues" },                                                                   \
        { .name = "queues.*.receive-buffer",                                                                           \
          .type = SETTING_SIZE,                                                                                        \
          .low = 0,                                                                                                    \
          .high = INT64_C(1) << 30,                                                                                    \
          .help = "queue.receive-buffer for these queues" },                                                           \
    {                                                                                                                  \
        .name = "queues.*.batch", .type = SETTING_NUMBER, .low = 1, .high = 256,                                       \
        .help = "queue.batch for these queues"                                                                         \
    }

#define MODE_SETTING                                                                                                   \
    {                                                                                                                  \
        .name = "ips.mode", .type = SETTING_ENUM, .default_value = "drop", .choices = ips_modes,                       \
        .help = "Enforce the decisions of rules and exception policies (drop), or let every packet pass unchanged, "   \
                "and report and count what drop would do (alert-only, ips.would_drop). Changed by a reload, or by "    \
                "`sluice mode`"                                                                                        \
    }

#endif
