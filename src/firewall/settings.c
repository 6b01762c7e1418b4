/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The settings nft.* of the sluice table. */
#include "firewall_priv.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sluice/config.h"
#include "sluice/text.h"

enum { MAX_PORTS = 1024, TABLE_NAME_LENGTH = 32 };

static const char *const mode_choices[] = {
    [ATTACH_NONE] = "none",
    [ATTACH_AFTER] = "after",
    [ATTACH_BEFORE] = "before",
    [ATTACH_REPEAT] = "repeat",
    [ATTACH_CHAIN] = "chain",
    [ATTACH_ROUTE] = "route",
    NULL,
};
static const char *const family_choices[] = {
    [FIREWALL_INET] = "inet", [FIREWALL_IPV4] = "ip", [FIREWALL_IPV6] = "ip6", [FIREWALL_BRIDGE] = "bridge", NULL
};
static const char *const hook_choices[] = { "forward", "input", "output", NULL };
static const char *const expression_choices[] = {
    [QUEUE_EXPRESSION_AUTO] = "auto", [QUEUE_EXPRESSION_NATIVE] = "native", [QUEUE_EXPRESSION_XT] = "xt", NULL
};
static const char *const monitor_modes[] = {
    [MONITOR_OFF] = "off", [MONITOR_REPORT] = "report", [MONITOR_REASSERT] = "reassert", NULL
};
static const char *const offloaded_flows[] = { "none", "accepted", "dropped", "both", NULL };
static const char *const acknowledgments[] = { [ACKNOWLEDGMENTS_QUEUED] = "no", [ACKNOWLEDGMENTS_AUTO] = "auto", NULL };
static const char *const offload_verdicts[] = {
    [OFFLOAD_BY_EITHER] = "auto", [OFFLOAD_BY_CONNECTION] = "conntrack", [OFFLOAD_BY_PACKET_MARK] = "packet-mark", NULL
};

/* Accepts only names that nft can parse, so that nft can read the printed ruleset. Returns NULL if the name is valid,
 * otherwise a description of valid names. */
static const char *check_name(const char *value)
{
    size_t length = strlen(value);

    if (length > 0 && length <= TABLE_NAME_LENGTH && !strchr("0123456789-", value[0]) &&
        strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == length)
        return NULL;
    return "a name of letters, digits, _, . and -, at most 32 long, which does not begin with a digit or -";
}

static const char *check_priority(const char *value)
{
    int64_t number;

    if (strcmp(value, "auto") == 0 || text_to_int(value, strlen(value), INT32_MIN, INT32_MAX, &number))
        return NULL;
    return "auto or a number such as 10 or -150";
}

static const char *check_ports(const char *value)
{
    uint32_t numbers[MAX_PORTS];

    return config_ranges(value, UINT16_MAX, numbers, MAX_PORTS) > 0 ? NULL
                                                                    : "ports such as 22 or 22,5000-5100, at most 1024";
}

static void store_priority(const char *value, void *settings)
{
    struct firewall_options *options = &((struct firewall_settings *)settings)->options;
    int64_t number = 0;

    options->has_priority = text_to_int(value, strlen(value), INT32_MIN, INT32_MAX, &number);
    options->priority = (int32_t)number;
}

static void store_reject_mark(const char *value, void *settings)
{
    struct firewall_options *options = &((struct firewall_settings *)settings)->options;

    config_mark(value, &options->reject_mark, &options->reject_mask);
}

static void store_accept_mark(const char *value, void *settings)
{
    struct firewall_offload *offload = &((struct firewall_settings *)settings)->options.offload;

    config_mark(value, &offload->accept_mark, &offload->accept_mask);
}

static void store_acknowledgment_mark(const char *value, void *settings)
{
    struct firewall_offload *offload = &((struct firewall_settings *)settings)->options.offload;

    config_mark(value, &offload->acknowledge_mark, &offload->acknowledge_mask);
}

static void store_drop_mark(const char *value, void *settings)
{
    struct firewall_offload *offload = &((struct firewall_settings *)settings)->options.offload;

    config_mark(value, &offload->drop_mark, &offload->drop_mask);
}
const struct setting firewall_settings[] = {
    { .name = "nft.attach",
      SETTING_FIELD(firewall_settings, options.mode),
      .type = SETTING_ENUM,
      .default_value = "none",
      .choices = mode_choices,
      .help = "Firewall rules that queue packets: none (your firewall has them), or a sluice table that queues: after "
              "(packets that the firewall accepted), before (all packets), repeat (packets without queue.mark), chain "
              "(packets that your rules send to its chain sluice_ips), route (as after, with the verdict route)" },
    { .name = "nft.table",
      SETTING_FIELD(firewall_settings, options.table),
      .type = SETTING_STRING,
      .default_value = "sluice",
      .check = check_name,
      .help = "Name of the sluice table" },
    { .name = "nft.family",
      SETTING_FIELD(firewall_settings, options.family),
      .type = SETTING_ENUM,
      .default_value = "inet",
      .choices = family_choices,
      .help = "Family of the sluice table; inet is IPv4 and IPv6" },
    { .name = "nft.hooks",
      SETTING_FIELD(firewall_settings, hooks),
      .type = SETTING_LIST,
      .default_value = "forward",
      .choices = hook_choices,
      .help = "Hooks of the sluice table: forward for a gateway, input and output for the host itself" },
    { .name = "nft.bypass",
      SETTING_FIELD(firewall_settings, options.bypass),
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Let packets pass when no process listens on the queue; otherwise the kernel drops them" },
    { .name = "nft.priority",
      .store = store_priority,
      .type = SETTING_STRING,
      .default_value = "auto",
      .check = check_priority,
      .help =
          "Priority of the sluice chain; auto: after the filter chains, or before them (nft.attach before, repeat)" },
    { .name = "nft.expression",
      SETTING_FIELD(firewall_settings, options.expression),
      .type = SETTING_ENUM,
      .default_value = "auto",
      .choices = expression_choices,
      .help = "Expression of the queue rule: native (nft queue), xt (the NFQUEUE target), auto (native where the "
              "kernel has it)" },
    { .name = "nft.reject-mark",
      .store = store_reject_mark,
      .type = SETTING_STRING,
      .default_value = "0x40000000/0x40000000",
      .check = config_check_mark,
      .help = "MARK/MASK on the packets that reject sends, by which they are kept out of the queue" },
    { .name = "nft.monitor",
      SETTING_FIELD(firewall_settings, monitor),
      .type = SETTING_ENUM,
      .default_value = "reassert",
      .choices = monitor_modes,
      .help = "Reaction when another process removes or changes the sluice table: reassert (restore it, with an "
              "event), report (event only), off" },
    { .name = "nft.blocklist.enabled",
      SETTING_FIELD(firewall_settings, options.blocklist),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Keep sets of blocked hosts in the sluice table; the kernel drops packets from and to them before "
              "the queue (`sluice blocklist`)" },
    { .name = "nft.blocklist.timeout",
      SETTING_FIELD(firewall_settings, block_seconds),
      .type = SETTING_NUMBER,
      .default_value = "600",
      .low = 1,
      .high = 31536000,
      .help = "Seconds that a host is blocked, unless the rule or command gives another time" },
    { .name = "nft.blocklist.size",
      SETTING_FIELD(firewall_settings, options.blocklist_size),
      .type = SETTING_NUMBER,
      .default_value = "16384",
      .low = 1,
      .high = 1 << 20,
      .help = "Maximum number of blocked hosts, for IPv4 and IPv6 each" },
    { .name = "nft.blocklist.priority",
      SETTING_FIELD(firewall_settings, block_priority),
      .type = SETTING_NUMBER,
      .default_value = "0",
      .low = 0,
      .high = 255,
      .help = "Block the host when a rule of this or a more urgent priority drops (1 is the most urgent); 0: "
              "no rule blocks by its priority" },
    { .name = "nft.blocklist.classtypes",
      SETTING_FIELD(firewall_settings, block_classtypes),
      .type = SETTING_LIST,
      .help = "Block the host when a rule of these classes drops" },
    { .name = "nft.blocklist.files",
      SETTING_FIELD(firewall_settings, block_files),
      .type = SETTING_PATHS,
      .help = "Files of addresses and networks to block, such as Spamhaus DROP, FireHOL or abuse.ch; read at the "
              "start, at a reload, and by `sluice blocklist reread`" },
    { .name = "nft.blocklist.countries",
      SETTING_FIELD(firewall_settings, block_countries),
      .type = SETTING_LIST,
      .help = "Countries to block, by their codes of ISO 3166-1 such as KP; needs geoip-database" },
    { .name = "nft.blocklist.networks",
      SETTING_FIELD(firewall_settings, max_networks),
      .type = SETTING_NUMBER,
      .default_value = "65536",
      .low = 1,
      .high = 1 << 20,
      .help = "Maximum number of blocked networks, for IPv4 and IPv6 each, after neighbours are merged" },
    { .name = "nft.blocklist.folder",
      SETTING_FIELD(firewall_settings, lists_folder),
      .type = SETTING_STRING,
      .default_value = "blocklist",
      .help = "Folder of imported lists, and of hosts and networks that stay blocked after a restart; relative to "
              "data-dir, or absolute; none: nothing is kept" },
    { .name = "nft.blocklist.never",
      SETTING_FIELD(firewall_settings, never_blocked),
      .type = SETTING_VARIABLE,
      .default_value = "$HOME_NET",
      .help = "Addresses that are never blocked, written as in a rule; none: any address may be blocked" },
    { .name = "nft.offload.flows",
      SETTING_FIELD(firewall_settings, offload_flows),
      .type = SETTING_ENUM,
      .default_value = "none",
      .choices = offloaded_flows,
      .help = "Offload decided flows to the kernel by a mark of their connection: accepted (flows that need no "
              "more inspection), dropped (dropped flows), both" },
    { .name = "nft.offload.accept-mark",
      .store = store_accept_mark,
      .type = SETTING_STRING,
      .default_value = "0x10000000/0x10000000",
      .check = config_check_mark,
      .help = "MARK/MASK of connections that the kernel accepts; bits that no other program uses" },
    { .name = "nft.offload.drop-mark",
      .store = store_drop_mark,
      .type = SETTING_STRING,
      .default_value = "0x20000000/0x20000000",
      .check = config_check_mark,
      .help = "MARK/MASK of connections that the kernel drops" },
    { .name = "nft.offload.acknowledgments",
      SETTING_FIELD(firewall_settings, acknowledgments),
      .type = SETTING_ENUM,
      .default_value = "no",
      .choices = acknowledgments,
      .help = "Let the kernel accept TCP acknowledgments (segments without payload and with no flag but ACK) of "
              "established connections instead of queueing them: no, auto (as long as no loaded rule can match or "
              "count them)" },
    { .name = "nft.offload.acknowledgment-packets",
      SETTING_FIELD(firewall_settings, acknowledgment_packets),
      .type = SETTING_NUMBER,
      .default_value = "12",
      .low = 0,
      .high = 1 << 20,
      .help = "Minimum number of packets of a flow whose acknowledgments are offloaded; for shorter flows offloading "
              "costs more than it saves" },
    { .name = "nft.offload.acknowledgment-mark",
      .store = store_acknowledgment_mark,
      .type = SETTING_STRING,
      .default_value = "0x08000000/0x08000000",
      .check = config_check_mark,
      .help = "MARK/MASK of connections whose acknowledgments the kernel accepts" },
    { .name = "nft.offload.verdict",
      SETTING_FIELD(firewall_settings, offload_verdict),
      .type = SETTING_ENUM,
      .default_value = "auto",
      .choices = offload_verdicts,
      .help = "How a verdict marks a connection: conntrack (directly), packet-mark (the packet, whose mark a "
              "rule of the sluice table saves), auto (conntrack where the kernel supports it)" },
    { .name = "nft.offload.passed",
      SETTING_FIELD(firewall_settings, offload_passed),
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Also offload flows that a pass rule matches; no application events are logged for them after that" },
    { .name = "nft.offload.ports",
      SETTING_FIELD(firewall_settings, offload_ports),
      .type = SETTING_STRING,
      .check = check_ports,
      .help = "TCP and UDP ports of servers whose flows are bypassed from their first packet on: 22,5000-5100" },
    { .name = "nft.offload.interval",
      SETTING_FIELD(firewall_settings, offload_interval_seconds),
      .type = SETTING_NUMBER,
      .default_value = "10",
      .low = 0,
      .high = 3600,
      .help = "Seconds between two queries of conntrack for the counters of offloaded flows; 0: never. The "
              "kernel counts with net.netfilter.nf_conntrack_acct=1" },
    { .name = "nft.offload.flowtable",
      SETTING_FIELD(firewall_settings, devices),
      .type = SETTING_LIST,
      .help = "Devices between which a flowtable forwards accepted flows, bypassing all hooks, including the "
              "firewall's; unset: they bypass the queue only" },
    { .name = NULL },
};
