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
      .help = "Attachment to the firewall: none (the firewall has queue rules), or a sluice table that queues "        \
              "packets: after (what the firewall accepted), before (all packets), repeat (with queue.mark), chain "    \
              "(sluice_ips, as a jump target), route" },                                                               \
        { .name = "nft.table",                                                                                         \
          .type = SETTING_STRING,                                                                                      \
          .default_value = "sluice",                                                                                   \
          .check = form_name,                                                                                          \
          .help = "Name of the sluice table" },                                                                        \
        { .name = "nft.family",                                                                                        \
          .type = SETTING_ENUM,                                                                                        \
          .default_value = "inet",                                                                                     \
          .choices = families,                                                                                         \
          .help = "Family of the sluice table; inet is IPv4 and IPv6" },                                               \
        { .name = "nft.hooks",                                                                                         \
          .type = SETTING_LIST,                                                                                        \
          .default_value = "forward",                                                                                  \
          .choices = hooks,                                                                                            \
          .help = "Hooks of the sluice table: forward for a gateway, input and output for the host itself" },          \
        { .name = "nft.bypass",                                                                                        \
          .type = SETTING_BOOL,                                                                                        \
          .default_value = "yes",                                                                                      \
          .help = "Let packets pass when no process listens on the queue; otherwise the kernel drops them" },          \
        { .name = "nft.priority",                                                                                      \
          .type = SETTING_STRING,                                                                                      \
          .default_value = "auto",                                                                                     \
          .check = form_priority,                                                                                      \
          .help = "Priority of the sluice chain; auto: after (or before) the filter chains of the live ruleset" },     \
        { .name = "nft.expression",                                                                                    \
          .type = SETTING_ENUM,                                                                                        \
          .default_value = "auto",                                                                                     \
          .choices = expressions,                                                                                      \
          .help = "Expression of the queue rule: native (nft queue), xt (the NFQUEUE target), auto (native where the " \
                  "kernel has it)" },                                                                                  \
        { .name = "nft.reject-mark",                                                                                   \
          .type = SETTING_STRING,                                                                                      \
          .default_value = "0x40000000/0x40000000",                                                                    \
          .check = form_mark,                                                                                          \
          .help = "MARK/MASK on the packets that reject sends, by which they are kept out of the queue" },             \
        { .name = "nft.monitor",                                                                                       \
          .type = SETTING_ENUM,                                                                                        \
          .default_value = "reassert",                                                                                 \
          .choices = monitor_modes,                                                                                    \
          .help = "Reaction when another process removes or changes the sluice table: reassert (restore it, with an "  \
                  "event), report (event only), off" },                                                                \
        { .name = "nft.blocklist.enabled",                                                                             \
          .type = SETTING_BOOL,                                                                                        \
          .default_value = "no",                                                                                       \
          .help = "Keep sets of blocked hosts in the sluice table; the kernel drops packets from and to them before "  \
                  "the queue (`sluice blocklist`)" },                                                                  \
        { .name = "nft.blocklist.timeout",                                                                             \
          .type = SETTING_NUMBER,                                                                                      \
          .default_value = "600",                                                                                      \
          .low = 1,                                                                                                    \
          .high = 31536000,                                                                                            \
          .help = "Seconds that a host is blocked, unless the rule or command gives another time" },                   \
        { .name = "nft.blocklist.size",                                                                                \
          .type = SETTING_NUMBER,                                                                                      \
          .default_value = "16384",                                                                                    \
          .low = 1,                                                                                                    \
          .high = 1 << 20,                                                                                             \
          .help = "Maximum number of blocked hosts, for IPv4 and IPv6 each" },                                         \
        { .name = "nft.blocklist.priority",                                                                            \
          .type = SETTING_NUMBER,                                                                                      \
          .default_value = "0",                                                                                        \
          .low = 0,                                                                                                    \
          .high = 255,                                                                                                 \
          .help = "Block the host when a rule of this or a more urgent priority drops (1 is the most urgent); 0: "     \
                  "only rules with fwsam block hosts" },                                                               \
        { .name = "nft.blocklist.classtypes",                                                                          \
          .type = SETTING_LIST,                                                                                        \
          .help = "Block the host when a rule of these classes drops" },                                               \
        { .name = "nft.offload.flows",                                                                                 \
          .type = SETTING_ENUM,                                                                                        \
          .default_value = "none",                                                                                     \
          .choices = offloaded_flows,                                                                                  \
          .help = "Offload decided flows to the kernel by a mark of their connection: accepted (flows that need no "   \
                  "more inspection), dropped (dropped flows), both" },                                                 \
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
          .help = "How a verdict marks a connection: conntrack (directly), packet-mark (the packet, whose mark a "     \
                  "rule of the sluice table saves), auto (conntrack where the kernel supports it)" },                  \
        { .name = "nft.offload.passed",                                                                                \
          .type = SETTING_BOOL,                                                                                        \
          .default_value = "yes",                                                                                      \
          .help = "Offload flows that a pass rule matches, too; their application events end there" },                 \
        { .name = "nft.offload.ports",                                                                                 \
          .type = SETTING_STRING,                                                                                      \
          .check = form_ports,                                                                                         \
          .help = "TCP and UDP ports of servers whose flows are bypassed from their first packet on: 22,5000-5100" },  \
        { .name = "nft.offload.interval",                                                                              \
          .type = SETTING_NUMBER,                                                                                      \
          .default_value = "10",                                                                                       \
          .low = 0,                                                                                                    \
          .high = 3600,                                                                                                \
          .help = "Seconds between two queries of conntrack for the counters of offloaded flows; 0: never. The "       \
                  "kernel counts with net.netfilter.nf_conntrack_acct=1" },                                            \
        { .name = "nft.offload.flowtable",                                                                             \
          .type = SETTING_LIST,                                                                                        \
          .help = "Devices between which a flowtable forwards accepted flows, bypassing all hooks, the firewall's, "   \
                  "too; unset: they bypass the queue only" },                                                          \
    {                                                                                                                  \
        .name = "nft.blocklist.never", .type = SETTING_VARIABLE, .default_value = "$HOME_NET",                         \
        .help = "Addresses that are never blocked, written as in a rule; none: any address may be blocked"             \
    }

#endif
