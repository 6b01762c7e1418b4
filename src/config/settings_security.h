/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of the table of settings: who the daemon is, and what it may do when packets flow. */
#ifndef CONFIG_SETTINGS_SECURITY_H
#define CONFIG_SETTINGS_SECURITY_H

#include "config_priv.h"

#define SECURITY_SETTINGS                                                                                              \
    { .name = "run-as.user",                                                                                           \
      .type = SETTING_STRING,                                                                                          \
      .help = "User that the engine runs as when root starts the daemon; unset: sluice, if this user exists" },        \
        { .name = "run-as.group",                                                                                      \
          .type = SETTING_STRING,                                                                                      \
          .help = "Group that the engine runs as; unset: group of the user" },                                         \
        { .name = "security.sandbox",                                                                                  \
          .type = SETTING_ENUM,                                                                                        \
          .default_value = "auto",                                                                                     \
          .choices = yes_no_auto,                                                                                      \
          .help = "Sandbox the engine: run as run-as.user with CAP_NET_ADMIN only, with a Landlock and a seccomp "     \
                  "filter. auto logs what the kernel lacks, yes does not start without all of it" },                   \
        { .name = "security.seccomp",                                                                                  \
          .type = SETTING_BOOL,                                                                                        \
          .default_value = "yes",                                                                                      \
          .help = "Restrict system calls in the sandbox (seccomp)" },                                                  \
        { .name = "security.landlock.enabled",                                                                         \
          .type = SETTING_BOOL,                                                                                        \
          .default_value = "yes",                                                                                      \
          .help = "Restrict file access in the sandbox (Landlock)" },                                                  \
        { .name = "security.landlock.directories.read",                                                                \
          .type = SETTING_PATHS,                                                                                       \
          .help = "Folders that the sandbox may read, too, for example those of files that rules name" },              \
        { .name = "security.landlock.directories.write",                                                               \
          .type = SETTING_PATHS,                                                                                       \
          .help = "Folders that the sandbox may write to, too" },                                                      \
        { .name = "security.lua.**", .type = SETTING_ANY, .help = "Accepted without effect: rules have no Lua" },      \
    {                                                                                                                  \
        .name = "security.limit-noproc", .type = SETTING_BOOL,                                                         \
        .help = "Accepted without effect: the seccomp filter allows no new processes"                                  \
    }

#endif
