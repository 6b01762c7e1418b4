/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The settings of `sluice metrics`. The daemon only checks them, with the rest of the configuration. */
#include <stddef.h>

#include "metrics_priv.h"

static const char *check_listen(const char *value)
{
    struct metrics_address address;

    return metrics_parse_address(value, &address) == 0 ? NULL
                                                       : "an IP address with a port, such as 127.0.0.1:9931 or "
                                                         "[::1]:9931, or the absolute path of a Unix socket";
}

static const char *check_mode(const char *value)
{
    unsigned mode;

    return config_mode(value, &mode) ? NULL : "permissions in octal such as 0660";
}

static void store_mode(const char *value, void *options)
{
    config_mode(value, &((struct metrics_options *)options)->mode);
}

const struct setting metrics_settings[] = {
    { .name = "metrics.listen",
      SETTING_FIELD(metrics_options, listen),
      .type = SETTING_STRING,
      .default_value = "127.0.0.1:9931",
      .check = check_listen,
      .help =
          "Where `sluice metrics` answers HTTP requests: address and port, such as 127.0.0.1:9931 or [::1]:9931, or "
          "the absolute path of a Unix socket. The daemon itself listens nowhere" },
    { .name = "metrics.allow-remote",
      SETTING_FIELD(metrics_options, allow_remote),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Allow an address in metrics.listen that other hosts can reach. HTTP has no authentication and no "
              "encryption here: whoever reaches the port reads all counters" },
    { .name = "metrics.mode",
      .store = store_mode,
      .type = SETTING_STRING,
      .default_value = "0660",
      .check = check_mode,
      .help = "Permissions of the Unix socket of metrics.listen, in octal" },
    { .name = "metrics.group",
      SETTING_FIELD(metrics_options, group),
      .type = SETTING_STRING,
      .help = "Group of the Unix socket of metrics.listen; unset: group of the process" },
    { .name = "metrics.clients",
      SETTING_FIELD(metrics_options, clients),
      .type = SETTING_NUMBER,
      .default_value = "8",
      .low = 1,
      .high = METRICS_MAX_CLIENTS,
      .help = "Maximum number of HTTP connections at the same time; further ones are closed" },
    { .name = "metrics.timeout",
      SETTING_FIELD(metrics_options, timeout),
      .type = SETTING_NUMBER,
      .default_value = "10",
      .low = 1,
      .high = 600,
      .help = "Seconds after which an HTTP connection is closed, whether its request is complete or not" },
    { .name = NULL },
};
