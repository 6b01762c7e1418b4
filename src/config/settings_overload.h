/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of the table of settings: what a worker does that can't keep up. */
#ifndef CONFIG_SETTINGS_OVERLOAD_H
#define CONFIG_SETTINGS_OVERLOAD_H

#include "config_priv.h"

static const char *const shed_classes[] = { "encrypted", "bulk", "established", "new", NULL };

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
              "encrypted (TLS and SSH after the handshake), bulk (more than overload.bulk-size), established; of "     \
              "those none that a rule has met. new: flows that begin are treated as overload.policy says. "            \
              "[]: none" },                                                                                            \
        { .name = "overload.bulk-size",                                                                                \
          .type = SETTING_SIZE,                                                                                        \
          .default_value = "10 MiB",                                                                                   \
          .low = 1,                                                                                                    \
          .high = INT64_C(1) << 40,                                                                                    \
          .help = "bytes of both directions past which a flow is bulk" },                                              \
    {                                                                                                                  \
        .name = "overload.policy", .type = SETTING_ENUM, .choices = exception_policies,                                \
        .help = "exception-policy for a flow that begins in overload, when overload.shed has new and has come to it"   \
    }

#endif
