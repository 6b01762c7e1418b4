/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recognises programs that write rulesets by the names of their tables and chains, and reports how they affect queue
 * rules. */
#include <string.h>

#include "doctor_priv.h"

struct manager {
    const char *id, *name;
    /* names, or patterns in which a `*` at the end stands for any characters; unused entries are NULL */
    const char *tables[3], *chains[6];
    const char *why, *remedy;
};

#define OWN_TABLE                                                                                                      \
    "Use a separate table for Sluice (`sluice nft install --mode after`): reloads of other "                           \
    "programs do not change it."

static const struct manager managers[] = {
    { "docker",
      "Docker",
      { "docker-bridges" },
      { "DOCKER", "DOCKER-*" },
      "At every start Docker inserts its jumps at the front of FORWARD, before existing rules, "
      "and accepts the packets of its containers in them.",
      OWN_TABLE " Put additional iptables rules into DOCKER-USER." },
    { "firewalld",
      "firewalld",
      { "firewalld", "firewalld_*" },
      { NULL },
      "firewalld flushes its table at each reload and may own it (NftablesTableOwner), so that "
      "no other program can write to it; its filter chains are at priority 10. With "
      "NftablesFlowtable it offloads flows.",
      OWN_TABLE " Leave NftablesFlowtable off." },
    { "ufw",
      "ufw",
      { NULL },
      { "ufw-*", "ufw6-*" },
      "ufw rewrites INPUT, FORWARD and OUTPUT at each reload and accepts established "
      "connections early in them.",
      OWN_TABLE " In ufw's files, put a queue rule into before.rules, and into before6.rules for IPv6." },
    { "shorewall",
      "Shorewall",
      { NULL },
      { "sha-lh-*", "sha-rh-*", "shorewall" },
      "Shorewall replaces all iptables tables at each start and uses marks in mangle for its "
      "routing (TC_BITS, MASK_BITS).",
      OWN_TABLE " In Shorewall's files, use the action NFQUEUE in rules or policy. Choose a mark outside "
                "Shorewall's masks." },
    { "fail2ban",
      "fail2ban",
      { "f2b-*" },
      { "f2b-*" },
      "fail2ban adds chains and drops addresses in them; it accepts no packets.",
      "None: what it drops is not to be inspected." },
    { "libvirt",
      "libvirt",
      { "libvirt_network" },
      { "LIBVIRT_*" },
      "libvirt inserts its chains at the front of FORWARD when a network starts, and accepts "
      "the packets of its guests in them.",
      OWN_TABLE },
    { "podman",
      "Podman (netavark)",
      { "netavark" },
      { "NETAVARK*", "NETAVARK_*" },
      "Podman accepts its containers' packets in its own chains.",
      OWN_TABLE },
    { "kubernetes",
      "Kubernetes",
      { "kube-proxy" },
      { "KUBE-*" },
      "kube-proxy rewrites its chains frequently and marks packets with 0x4000/0x4000 and 0x8000/0x8000.",
      OWN_TABLE " Choose marks for Sluice outside these bits." },
    { "calico",
      "Calico",
      { "calico" },
      { "cali-*", "calico*" },
      "Calico marks packets with bits of 0xffff0000 by default (IptablesMarkMask), and inserts "
      "its chains first.",
      OWN_TABLE " Choose marks for Sluice outside its mask: nft.reject-mark is within 0xffff0000 by default." },
    { "cilium",
      "Cilium",
      { NULL },
      { "CILIUM_*" },
      "Cilium forwards packets in eBPF where possible; these packets traverse no hook and "
      "reach no queue. It marks packets with 0x0f00.",
      OWN_TABLE },
    { "tailscale",
      "Tailscale",
      { NULL },
      { "ts-*" },
      "Tailscale marks packets with 0x40000 and 0x80000 under 0xff0000, and inserts its chains first.",
      OWN_TABLE " Choose marks for Sluice outside these bits." },
    { "netbird",
      "NetBird",
      { "netbird" },
      { "netbird-*", "NETBIRD-*" },
      "NetBird marks packets with 0x1bd00 and higher, and accepts the packets of its peers in "
      "its own chains.",
      OWN_TABLE },
    { "crowdsec",
      "CrowdSec",
      { "crowdsec", "crowdsec6" },
      { "CROWDSEC_*" },
      "CrowdSec's bouncer drops addresses in its own chains; it accepts no packets.",
      "None: what it drops is not to be inspected." },
    { "opensnitch",
      "OpenSnitch",
      { "opensnitch" },
      { NULL },
      "OpenSnitch queues packets to its own queue, by default queue 0 with bypass.",
      "Choose other queue numbers for Sluice (queue.numbers)." },
    { "incus",
      "Incus or LXD",
      { "incus", "lxd" },
      { NULL },
      "It accepts the packets of its guests in chains of its own table.",
      OWN_TABLE },
    { "miniupnpd",
      "miniupnpd",
      { "miniupnpd" },
      { "MINIUPNPD*" },
      "It accepts forwarded ports in its own chain.",
      OWN_TABLE },
};

enum { MANAGERS = sizeof(managers) / sizeof(managers[0]) };

/* Returns whether the name matches one of the patterns; "*" at the end of a pattern stands for any characters. */
static bool is_any(const char *name, const char *const *patterns, size_t count)
{
    for (size_t i = 0; i < count && patterns[i]; i++) {
        size_t prefix = strcspn(patterns[i], "*");

        if (strncmp(name, patterns[i], prefix) == 0 && (patterns[i][prefix] == '*' || name[prefix] == '\0'))
            return true;
    }
    return false;
}

static bool writes(const struct manager *manager, const struct netrules_chain *chain)
{
    return is_any(chain->name, manager->chains, sizeof(manager->chains) / sizeof(manager->chains[0])) ||
           (!chain->table->legacy &&
            is_any(chain->table->name, manager->tables, sizeof(manager->tables) / sizeof(manager->tables[0])));
}

const char *manager_of(const struct netrules_chain *chain)
{
    for (size_t i = 0; i < MANAGERS; i++)
        if (writes(&managers[i], chain))
            return managers[i].name;
    return NULL;
}

/* Reports a queue rule that is in a table of another program: the rule disappears when that program rewrites the table.
 */
static void check_guest(struct context *context, const struct feed *feed)
{
    const char *manager = manager_of(feed->rule->chain);
    struct doctor_finding *finding;

    for (const struct netrules_chain *chain = feed->rule->chain->table->chains; chain && !manager && !feed->own;
         chain = chain->next)
        manager = manager_of(chain);
    if (feed->own || !manager)
        return;
    if (replaces_accept(context, feed->rule))
        finding = add_finding(
            context, DOCTOR_NOTE, "manager.guest",
            "While that program reloads its rules, the queue rule is missing: packets that it accepts in the "
            "meantime are not inspected.",
            OWN_TABLE, "the queue rule is in a table that %s writes", manager);
    else
        finding = add_finding(context, DOCTOR_WARNING, "manager.guest",
                              "The next reload of that program may remove the rule or move it behind other rules, "
                              "without a message.",
                              OWN_TABLE, "the queue rule is in a table that %s writes", manager);
    set_finding_rule(finding, feed->rule);
}

void check_managers(struct context *context)
{
    for (const struct feed *feed = context->feeds; feed; feed = feed->next)
        check_guest(context, feed);
    for (size_t i = 0; i < MANAGERS; i++) {
        const struct netrules_chain *first = NULL;
        const char *id;

        for (const struct netrules_table *table = context->ruleset->tables; table && !first; table = table->next)
            for (const struct netrules_chain *chain = table->chains; chain && !first; chain = chain->next)
                if (!find_own_table(context, table) && writes(&managers[i], chain))
                    first = chain;
        if (!first)
            continue;
        id = arena_printf(context->arena, "manager.%s", managers[i].id);
        context->failed |= !id;
        add_finding(context, DOCTOR_NOTE, id ? id : "", managers[i].why, managers[i].remedy,
                    "%s manages rules on this host", managers[i].name)
            ->chain = first;
    }
}
