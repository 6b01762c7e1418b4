/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of the table of settings that several event types have: the client behind a proxy. */
#ifndef CONFIG_SETTINGS_XFF_H
#define CONFIG_SETTINGS_XFF_H

#include <stddef.h>

#include "sluice/config.h"

static const char *const xff_modes[] = { "extra-data", "overwrite", NULL };
static const char *const xff_deployments[] = { "reverse", "forward", NULL };

#define XFF_SETTINGS(path)                                                                                             \
    { .name = path ".enabled",                                                                                         \
      .type = SETTING_BOOL,                                                                                            \
      .default_value = "no",                                                                                           \
      .help = "Report the address of the client behind a proxy, from an HTTP header" },                                \
        { .name = path ".mode",                                                                                        \
          .type = SETTING_ENUM,                                                                                        \
          .default_value = "extra-data",                                                                               \
          .choices = xff_modes,                                                                                        \
          .help = "Place of the address: extra-data (a field xff), overwrite (instead of the source address)" },       \
        { .name = path ".deployment",                                                                                  \
          .type = SETTING_ENUM,                                                                                        \
          .default_value = "reverse",                                                                                  \
          .choices = xff_deployments,                                                                                  \
          .help = "Kind of proxy: reverse (use the last address of the header), forward (the first)" },                \
    {                                                                                                                  \
        .name = path ".header", .type = SETTING_STRING, .default_value = "X-Forwarded-For",                            \
        .help = "Name of the HTTP header"                                                                              \
    }
#define XFF_OF(event)                                                                                                  \
    { .name = "eve.types." event ".xff", .type = SETTING_SECTION, .help = "Settings of eve.xff for this event type" }, \
        XFF_SETTINGS("eve.types." event ".xff")

#endif
