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
      .help = "a socket by which the running daemon is asked (`sluice status` and kin); auto goes on without it when " \
              "it can't be opened" },                                                                                  \
        { .name = "unix-command.filename",                                                                             \
          .type = SETTING_STRING,                                                                                      \
          .default_value = SLUICE_RUNDIR "/control.socket",                                                            \
          .help = "path of that socket; a name without / lies in " SLUICE_RUNDIR },                                    \
        { .name = "control.mode",                                                                                      \
          .type = SETTING_STRING,                                                                                      \
          .default_value = "0660",                                                                                     \
          .check = form_mode,                                                                                          \
          .help = "permissions of the control socket, in octal: who may write to it may ask, and reload" },            \
        { .name = "control.group",                                                                                     \
          .type = SETTING_STRING,                                                                                      \
          .help = "group of the control socket; unset: that of the daemon" },                                          \
        { .name = "control.clients",                                                                                   \
          .type = SETTING_NUMBER,                                                                                      \
          .default_value = "8",                                                                                        \
          .low = 1,                                                                                                    \
          .high = 64,                                                                                                  \
          .help = "clients of the control socket at the same time; one more is turned away" },                         \
        { .name = "reload.mistakes",                                                                                   \
          .type = SETTING_ENUM,                                                                                        \
          .default_value = "skip",                                                                                     \
          .choices = refuse_or_skip,                                                                                   \
          .help = "what a reload does when rules have more mistakes than the rules in use: skip leaves out the rules " \
                  "with mistakes, as a start does; refuse keeps the rules in use" },                                   \
    {                                                                                                                  \
        .name = "reload.memory-max", .type = SETTING_SIZE, .default_value = "0", .high = INT64_C(1) << 40,             \
        .help = "what the rules of a reload may take, beside those in use; 0: what the machine or the control "        \
                "group has left"                                                                                       \
    }

#endif
