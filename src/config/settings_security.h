/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of the table of settings: who the daemon is, and what it may do when packets flow. */
#ifndef CONFIG_SETTINGS_SECURITY_H
#define CONFIG_SETTINGS_SECURITY_H

#include "config_priv.h"

#define SECURITY_SETTINGS                                                                                              \
    { .name = "run-as.user",                                                                                           \
      .type = SETTING_STRING,                                                                                          \
      .help = "the user that the daemon becomes when root starts it; unset: sluice, if there is such a user" },        \
        { .name = "run-as.group", .type = SETTING_STRING, .help = "its group; unset: that of the user" },              \
        { .name = "security.sandbox",                                                                                  \
          .type = SETTING_ENUM,                                                                                        \
          .default_value = "auto",                                                                                     \
          .choices = yes_no_auto,                                                                                      \
          .help = "before the first packet the daemon becomes that user, and gives up all capabilities but "           \
                  "CAP_NET_ADMIN, files that it does not need (Landlock) and system calls (seccomp); auto tells what " \
                  "is not to be had, yes does not start without, no keeps all" },                                      \
        { .name = "security.seccomp",                                                                                  \
          .type = SETTING_BOOL,                                                                                        \
          .default_value = "yes",                                                                                      \
          .help = "whether the sandbox has a list of system calls" },                                                  \
        { .name = "security.landlock.enabled",                                                                         \
          .type = SETTING_BOOL,                                                                                        \
          .default_value = "yes",                                                                                      \
          .help = "whether it has Landlock" },                                                                         \
        { .name = "security.landlock.directories.read",                                                                \
          .type = SETTING_PATHS,                                                                                       \
          .help = "more folders that may be read beneath: where rules name files that a reload is to find" },          \
        { .name = "security.landlock.directories.write",                                                               \
          .type = SETTING_PATHS,                                                                                       \
          .help = "more folders that may be written beneath" },                                                        \
        { .name = "security.lua.**", .type = SETTING_ANY, .help = "accepted and not needed: rules have no Lua" },      \
    {                                                                                                                  \
        .name = "security.limit-noproc", .type = SETTING_BOOL,                                                         \
        .help = "accepted and not needed: the list of system calls has none for processes"                             \
    }

#endif
