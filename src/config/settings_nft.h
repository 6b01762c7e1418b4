/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of the own table: nft.*. Apart because the table of settings is long. */
#ifndef CONFIG_SETTINGS_NFT_H
#define CONFIG_SETTINGS_NFT_H

#include <stddef.h>

#include "sluice/config.h"

static const char *const attach_modes[] = { "none", "after", "before", "repeat", "chain", "route", NULL };
static const char *const families[] = { "inet", "ip", "ip6", "bridge", NULL };
static const char *const hooks[] = { "forward", "input", "output", NULL };
static const char *const expressions[] = { "auto", "native", "xt", NULL };
static const char *const monitor_modes[] = { "reassert", "report", "off", NULL };

static const char *const offloaded_flows[] = { "none", "accepted", "dropped", "both", NULL };
static const char *const offload_verdicts[] = { "auto", "conntrack", "packet-mark", NULL };

#define NFT_SETTINGS                                                                                                   \
    { .name = "nft.attach",                                                                                            \
      .type = SETTING_ENUM,                                                                                            \
      .default_value = "none",                                                                                         \
      .choices = attach_modes,                                                                                         \
      .help =                                                                                                          \
          "how `sluice run` feeds its queues: none (the firewall's own rules do), or a table of its own: after "       \
          "(what the "                                                                                                 \
          "firewall accepted), before (everything), repeat (with queue.mark), chain (sluice_ips, to be jumped to), "   \
          "route" },                                                                                                   \
        { .name = "nft.table",                                                                                         \
          .type = SETTING_STRING,                                                                                      \
          .default_value = "sluice",                                                                                   \
          .check = form_name,                                                                                          \
          .help = "name of the own table" },                                                                           \
        { .name = "nft.family",                                                                                        \
          .type = SETTING_ENUM,                                                                                        \
          .default_value = "inet",                                                                                     \
          .choices = families,                                                                                         \
          .help = "family of the own table: inet is IPv4 and IPv6" },                                                  \
        { .name = "nft.hooks",                                                                                         \
          .type = SETTING_LIST,                                                                                        \
          .default_value = "forward",                                                                                  \
          .choices = hooks,                                                                                            \
          .help = "hooks of the own table: forward for a gateway, input and output for the host itself" },             \
        { .name = "nft.bypass",                                                                                        \
          .type = SETTING_BOOL,                                                                                        \
          .default_value = "yes",                                                                                      \
          .help = "packets go on when nobody listens on the queue; otherwise the kernel drops them" },                 \
        { .name = "nft.priority",                                                                                      \
          .type = SETTING_STRING,                                                                                      \
          .default_value = "auto",                                                                                     \
          .check = form_priority,                                                                                      \
          .help =                                                                                                      \
              "priority of the own chain; auto finds one after (or before) the filter chains of the live ruleset" },   \
        { .name = "nft.expression",                                                                                    \
          .type = SETTING_ENUM,                                                                                        \
          .default_value = "auto",                                                                                     \
          .choices = expressions,                                                                                      \
          .help =                                                                                                      \
              "how the rule queues: native (nft queue), xt (the NFQUEUE target); auto takes native where the kernel "  \
              "has it" },                                                                                              \
        { .name = "nft.reject-mark",                                                                                   \
          .type = SETTING_STRING,                                                                                      \
          .default_value = "0x40000000/0x40000000",                                                                    \
          .check = form_mark,                                                                                          \
          .help = "MARK/MASK on the packets that reject sends, by which they are kept out of the queue" },             \
        { .name = "nft.monitor",                                                                                       \
          .type = SETTING_ENUM,                                                                                        \
          .default_value = "reassert",                                                                                 \
          .choices = monitor_modes,                                                                                    \
          .help = "what is done when somebody removes or alters the own table while `sluice run` is attached: "        \
                  "reassert (put "                                                                                     \
                  "back, and told in an event), report (told alone), off (not looked for)" },                          \
        { .name = "nft.blocklist.enabled",                                                                             \
          .type = SETTING_BOOL,                                                                                        \
          .default_value = "no",                                                                                       \
          .help =                                                                                                      \
              "sets of blocked hosts in the own table: the kernel drops their packets, and those to them, before the " \
              "queue (`sluice blocklist`)" },                                                                          \
        { .name = "nft.blocklist.timeout",                                                                             \
          .type = SETTING_NUMBER,                                                                                      \
          .default_value = "600",                                                                                      \
          .low = 1,                                                                                                    \
          .high = 31536000,                                                                                            \
          .help = "seconds for which a host is blocked when nobody says for how long" },                               \
        { .name = "nft.blocklist.size",                                                                                \
          .type = SETTING_NUMBER,                                                                                      \
          .default_value = "16384",                                                                                    \
          .low = 1,                                                                                                    \
          .high = 1 << 20,                                                                                             \
          .help = "hosts that can be blocked at a time, of IPv4 and of IPv6 each" },                                   \
        { .name = "nft.blocklist.priority",                                                                            \
          .type = SETTING_NUMBER,                                                                                      \
          .default_value = "0",                                                                                        \
          .low = 0,                                                                                                    \
          .high = 255,                                                                                                 \
          .help = "rules that drop, of this priority or a more urgent one (1 is the most urgent), block the host "     \
                  "they drop; "                                                                                        \
                  "0: only rules that ask for it (fwsam)" },                                                           \
        { .name = "nft.blocklist.classtypes",                                                                          \
          .type = SETTING_LIST,                                                                                        \
          .help = "rules that drop, of these classes, block the host they drop" },                                     \
        { .name = "nft.offload.flows",                                                                                 \
          .type = SETTING_ENUM,                                                                                        \
          .default_value = "none",                                                                                     \
          .choices = offloaded_flows,                                                                                  \
          .help =                                                                                                      \
              "which flows the kernel handles without Sluice once they are decided, by a mark of their connection: "   \
              "accepted (those that need no more inspection), dropped (those of which all that follows is dropped)" }, \
        { .name = "nft.offload.accept-mark",                                                                           \
          .type = SETTING_STRING,                                                                                      \
          .default_value = "0x10000000/0x10000000",                                                                    \
          .check = form_mark,                                                                                          \
          .help = "MARK/MASK of connections that the kernel accepts; bits that nobody else has" },                     \
        { .name = "nft.offload.drop-mark",                                                                             \
          .type = SETTING_STRING,                                                                                      \
          .default_value = "0x20000000/0x20000000",                                                                    \
          .check = form_mark,                                                                                          \
          .help = "MARK/MASK of connections that the kernel drops" },                                                  \
        { .name = "nft.offload.verdict",                                                                               \
          .type = SETTING_ENUM,                                                                                        \
          .default_value = "auto",                                                                                     \
          .choices = offload_verdicts,                                                                                 \
          .help =                                                                                                      \
              "how a verdict marks a connection: conntrack (itself), packet-mark (the packet, whose mark a rule of "   \
              "the own table saves); auto takes conntrack where the kernel can" },                                     \
        { .name = "nft.offload.passed",                                                                                \
          .type = SETTING_BOOL,                                                                                        \
          .default_value = "yes",                                                                                      \
          .help = "flows that a pass rule passes are offloaded, too; what they speak is then not told any more" },     \
        { .name = "nft.offload.ports",                                                                                 \
          .type = SETTING_STRING,                                                                                      \
          .check = form_ports,                                                                                         \
          .help = "TCP and UDP ports of servers whose flows are bypassed from their first packet on: 22,5000-5100" },  \
        { .name = "nft.offload.interval",                                                                              \
          .type = SETTING_NUMBER,                                                                                      \
          .default_value = "10",                                                                                       \
          .low = 0,                                                                                                    \
          .high = 3600,                                                                                                \
          .help = "seconds between two looks at what offloaded flows have moved, for their records; 0: never. The "    \
                  "kernel counts with net.netfilter.nf_conntrack_acct=1" },                                            \
        { .name = "nft.offload.flowtable",                                                                             \
          .type = SETTING_LIST,                                                                                        \
          .help =                                                                                                      \
              "devices between which the kernel forwards accepted flows without any hook, the firewall's neither; "    \
              "none: all hooks but the queue" },                                                                       \
    {                                                                                                                  \
        .name = "nft.blocklist.never", .type = SETTING_VARIABLE, .default_value = "$HOME_NET",                         \
        .help = "addresses that are never blocked, as in a rule; none: every address may be"                           \
    }

#endif
