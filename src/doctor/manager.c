/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs that write rulesets, known by the names of their tables and chains, and what each means for a queue. */
#include <string.h>

#include "doctor_priv.h"

struct manager {
    const char *id, *name;
    const char *tables[3], *chains[6]; /* whole names, or beginnings that end with * */
    const char *why, *remedy;
};

#define OWN_TABLE "Use an own table, mode after: it is not theirs, and their reload leaves it."

static const struct manager managers[] = {
    { "docker",
      "Docker",
      { "docker-bridges" },
      { "DOCKER", "DOCKER-*" },
      "Docker puts its jumps at the front of FORWARD at every start, ahead of what stood there, and accepts its "
      "containers' "
      "packets in them.",
      OWN_TABLE " A rule of your own in iptables belongs into DOCKER-USER." },
    { "firewalld",
      "firewalld",
      { "firewalld", "firewalld_*" },
      { NULL },
      "firewalld flushes its table at each reload and may own it (NftablesTableOwner), so that nobody else can write "
      "there; its "
      "filter chains are at priority 10. With NftablesFlowtable it offloads flows.",
      OWN_TABLE " Leave NftablesFlowtable off." },
    { "ufw",
      "ufw",
      { NULL },
      { "ufw-*", "ufw6-*" },
      "ufw writes INPUT, FORWARD and OUTPUT anew at each reload and accepts established connections early in them.",
      OWN_TABLE " In ufw's own files a queue rule goes into before.rules, and before6.rules for IPv6." },
    { "shorewall",
      "Shorewall",
      { NULL },
      { "sha-lh-*", "sha-rh-*", "shorewall" },
      "Shorewall replaces all tables of iptables at each start and uses marks in mangle for its own routing (TC_BITS, "
      "MASK_BITS).",
      OWN_TABLE " Shorewall's own way is the action NFQUEUE in rules or policy; keep our mark out of its masks." },
    { "fail2ban",
      "fail2ban",
      { "f2b-*" },
      { "f2b-*" },
      "fail2ban adds chains and drops addresses in them; it accepts nothing.",
      "None: what it drops is not to be inspected." },
    { "libvirt",
      "libvirt",
      { "libvirt_network" },
      { "LIBVIRT_*" },
      "libvirt puts its chains at the front of FORWARD when a network starts, and accepts its guests' packets in them.",
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
      "kube-proxy rewrites its chains all the time and marks packets 0x4000/0x4000 and 0x8000/0x8000.",
      OWN_TABLE " Keep our marks off those bits." },
    { "calico",
      "Calico",
      { "calico" },
      { "cali-*", "calico*" },
      "Calico marks packets with bits of 0xffff0000 unless told otherwise (IptablesMarkMask), and puts its chains "
      "first.",
      OWN_TABLE " Keep our marks off its mask: nft.reject-mark is within 0xffff0000 by default." },
    { "cilium",
      "Cilium",
      { NULL },
      { "CILIUM_*" },
      "Cilium forwards by eBPF, past the hooks, where it can; then no queue sees the packets. It marks with 0x0f00.",
      OWN_TABLE },
    { "tailscale",
      "Tailscale",
      { NULL },
      { "ts-*" },
      "Tailscale marks packets with 0x40000 and 0x80000 under 0xff0000, and puts its chains first.",
      OWN_TABLE " Keep our marks off those bits." },
    { "netbird",
      "NetBird",
      { "netbird" },
      { "netbird-*", "NETBIRD-*" },
      "NetBird marks packets with 0x1bd00 and more, and accepts its peers' packets in its own chains.",
      OWN_TABLE },
    { "crowdsec",
      "CrowdSec",
      { "crowdsec", "crowdsec6" },
      { "CROWDSEC_*" },
      "CrowdSec's bouncer drops addresses in its own chains; it accepts nothing.",
      "None: what it drops is not to be inspected." },
    { "opensnitch",
      "OpenSnitch",
      { "opensnitch" },
      { NULL },
      "OpenSnitch queues packets itself, to queue 0 by default, with bypass.",
      "Give Sluice other numbers (queue.numbers)." },
    { "incus",
      "Incus or LXD",
      { "incus", "lxd" },
      { NULL },
      "It accepts its guests' packets in chains of its own table.",
      OWN_TABLE },
    { "miniupnpd",
      "miniupnpd",
      { "miniupnpd" },
      { "MINIUPNPD*" },
      "It accepts forwarded ports in a chain of its own.",
      OWN_TABLE },
};

enum { MANAGERS = sizeof(managers) / sizeof(managers[0]) };

static bool is_named(const char *name, const char *pattern)
{
    size_t length = strlen(pattern);

    return pattern[length - 1] == '*' ? strncmp(name, pattern, length - 1) == 0 : strcmp(name, pattern) == 0;
}

static bool is_any(const char *name, const char *const *patterns, size_t count)
{
    for (size_t i = 0; i < count && patterns[i]; i++)
        if (is_named(name, patterns[i]))
            return true;
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

static const struct netrules_chain *first_chain(const struct patient *patient, const struct manager *manager)
{
    for (const struct netrules_table *table = patient->ruleset->tables; table; table = table->next)
        for (const struct netrules_chain *chain = table->chains; chain; chain = chain->next)
            if (!own_of(patient, table) && writes(manager, chain))
                return chain;
    return NULL;
}

/* A rule of ours in a table that somebody else writes is gone when they write it again. */
static void check_guest(struct patient *patient, const struct feed *feed)
{
    const char *manager = manager_of(feed->rule->chain);

    for (const struct netrules_chain *chain = feed->rule->chain->table->chains; chain && !manager && !feed->own;
         chain = chain->next)
        manager = manager_of(chain);
    if (feed->own || !manager)
        return;
    if (replaces_accept(patient, feed->rule)) {
        about_rule(
            find_out(
                patient, DOCTOR_NOTE, "manager.guest",
                "While that program reloads its rules, the queue's rule is missing: packets that it lets pass in the "
                "meantime are not inspected.",
                OWN_TABLE, "the queue's rule is in a table that %s writes", manager),
            feed->rule);
        return;
    }
    about_rule(find_out(patient, DOCTOR_WARNING, "manager.guest",
                        "At its next reload the rule may be gone, or stand behind others, and nothing says so.",
                        OWN_TABLE, "the queue's rule is in a table that %s writes", manager),
               feed->rule);
}

void check_managers(struct patient *patient)
{
    for (const struct feed *feed = patient->feeds; feed; feed = feed->next)
        check_guest(patient, feed);
    for (size_t i = 0; i < MANAGERS; i++) {
        const struct netrules_chain *chain = first_chain(patient, &managers[i]);
        const char *id = chain ? arena_printf(patient->arena, "manager.%s", managers[i].id) : NULL;

        if (!chain)
            continue;
        patient->failed |= !id;
        find_out(patient, DOCTOR_NOTE, id ? id : "", managers[i].why, managers[i].remedy, "%s writes rules here",
                 managers[i].name)
            ->chain = chain;
    }
}
