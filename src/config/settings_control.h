/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of the table of settings: how a running daemon is asked, and how it takes other rules. */
#ifndef CONFIG_SETTINGS_CONTROL_H
#define CONFIG_SETTINGS_CONTROL_H

#include <stdint.h>

#include "config_priv.h"

#define CONTROL_SETTINGS                                                                                               \
    { .name = "unix-command.enabled",                                                                                  \
      .type = SETTING_ENUM,                                                                                            \
      .default_value = "auto",                                                                                         \
      .choices = yes_no_auto,                                                                                          \
      .help = "Open the control socket, which `sluice status` and other commands use; with auto the daemon runs "      \
              "without it when it can't be opened" },                                                                  \
        { .name = "unix-command.filename",                                                                             \
          .type = SETTING_STRING,                                                                                      \
          .default_value = SLUICE_RUNDIR "/control.socket",                                                            \
          .help = "Path of that socket; a name without / lies in " SLUICE_RUNDIR },                                    \
        { .name = "control.mode",                                                                                      \
          .type = SETTING_STRING,                                                                                      \
          .default_value = "0660",                                                                                     \
          .check = form_mode,                                                                                          \
          .help = "Permissions of the control socket, in octal; whoever may write to it may send commands, reload "    \
                  "among them" },                                                                                      \
        { .name = "control.group",                                                                                     \
          .type = SETTING_STRING,                                                                                      \
          .help = "Group of the control socket; unset: group of the daemon" },                                         \
        { .name = "control.clients",                                                                                   \
          .type = SETTING_NUMBER,                                                                                      \
          .default_value = "8",                                                                                        \
          .low = 1,                                                                                                    \
          .high = 64,                                                                                                  \
          .help = "Maximum number of control socket requests that are being answered at a time; beyond it a request "  \
                  "replaces a client that does not read its answer" },                                                 \
        { .name = "reload.mistakes",                                                                                   \
          .type = SETTING_ENUM,                                                                                        \
          .default_value = "skip",                                                                                     \
          .choices = refuse_or_skip,                                                                                   \
          .help =                                                                                                      \
              "Reaction of a reload when rules have more mistakes than the rules in use: skip leaves out the rules "   \
              "with mistakes, as a start does; refuse keeps the rules in use" },                                       \
    {                                                                                                                  \
        .name = "reload.memory-max", .type = SETTING_SIZE, .default_value = "0", .high = INT64_C(1) << 40,             \
        .help = "Memory that a reload may take for the new rules, beside those in use; 0: what the machine or the "    \
                "control group has left"                                                                               \
    }

#endif
