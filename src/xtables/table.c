/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the legacy tables of iptables and ip6tables. A table is a sequence of entries, each with its matches and its
 * target (linux/netfilter_ipv4/ip_tables.h). Built-in chains begin at the offsets in the table header; each user chain
 * begins after an entry whose target is named ERROR and contains the chain's name. The tables of IPv4 and IPv6 differ
 * only in the header of an entry.
 */
#include "sluice/xtables.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4/ip_tables.h>
#include <linux/netfilter_ipv6/ip6_tables.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sluice/arena.h"

enum { CHAINS = 65536, TRIES = 32, ENTRY_HEAD = offsetof(struct xt_entry_match, data) };

_Static_assert(offsetof(struct ipt_getinfo, size) == offsetof(struct ip6t_getinfo, size), "IPv6 has the same");

/* The header of an entry, and the fields that IPv4 and IPv6 have in common: offsets, from the start of the entry, of
 * the target, the next entry, and the matches (`head`, the size of the header). */
struct entry {
    size_t target_offset, next_offset, head;
    bool is_goto;
    union {
        struct ipt_entry ipv4;
        struct ip6t_entry ipv6;
    } of;
};

struct chain_at {
    uint32_t offset;
    struct netrules_chain *chain;
};

struct reading {
    struct netrules *ruleset;
    struct netrules_table *table;
    struct ipt_getinfo info;
    bool ipv6;
    const uint8_t *bytes;
    size_t length;
    /* offset of the first entry of each chain; ascending, because find_chains() adds them in this order */
    struct chain_at *chains;
    size_t chain_count, chain_room;
};

/* --- Entries ---------------------------------------------------------------------------------------- */

/* Reads the entry at `offset` and checks the offsets in it. Returns false if there is no complete and valid entry. */
static bool read_entry(const struct reading *reading, size_t offset, struct entry *out)
{
    size_t left = offset <= reading->length ? reading->length - offset : 0;

    out->head = reading->ipv6 ? sizeof(out->of.ipv6) : sizeof(out->of.ipv4);
    if (left < out->head)
        return false;
    memcpy(&out->of, reading->bytes + offset, out->head);
    if (reading->ipv6) {
        out->target_offset = out->of.ipv6.target_offset;
        out->next_offset = out->of.ipv6.next_offset;
        out->is_goto = out->of.ipv6.ipv6.flags & IP6T_F_GOTO;
    } else {
        out->target_offset = out->of.ipv4.target_offset;
        out->next_offset = out->of.ipv4.next_offset;
        out->is_goto = out->of.ipv4.ip.flags & IPT_F_GOTO;
    }
    return out->target_offset >= out->head && out->next_offset >= out->target_offset + ENTRY_HEAD &&
           out->next_offset <= left;
}

/* Reads the name, revision and data of a match or target, and advances `from` by its size. Matches and targets begin
 * with the same fields. Returns false at the end or if the size is invalid. */
static bool read_extension(struct cursor *from, char name[XT_EXTENSION_MAXNAMELEN + 1], uint8_t *revision,
                           struct cursor *data)
{
    struct xt_entry_match head;
    const uint8_t *bytes = cursor_peek(from, ENTRY_HEAD);

    if (!bytes)
        return false;
    memcpy(&head, bytes, ENTRY_HEAD);
    if (head.u.user.match_size < ENTRY_HEAD || !cursor_skip(from, head.u.user.match_size))
        return false;
    memcpy(name, head.u.user.name, XT_EXTENSION_MAXNAMELEN);
    name[XT_EXTENSION_MAXNAMELEN] = '\0';
    *revision = head.u.user.revision;
    *data = cursor_of(bytes + ENTRY_HEAD, head.u.user.match_size - ENTRY_HEAD);
    return true;
}

static struct cursor target_of(const struct reading *reading, size_t offset, const struct entry *entry)
{
    return cursor_of(reading->bytes + offset + entry->target_offset, entry->next_offset - entry->target_offset);
}

/* --- Chains ----------------------------------------------------------------------------------------- */

static int add_chain(struct reading *reading, size_t offset, const char *name, int hook, int32_t priority)
{
    struct netrules_chain *chain;
    struct chain_at *chains;

    if (reading->chain_count >= CHAINS)
        return -E2BIG;
    if (reading->chain_count == reading->chain_room) {
        size_t room = reading->chain_room ? 2 * reading->chain_room : 64;

        chains = arena_alloc(reading->ruleset->arena, room * sizeof(*chains));
        if (!chains)
            return -ENOMEM;
        if (reading->chain_count)
            memcpy(chains, reading->chains, reading->chain_count * sizeof(*chains));
        reading->chains = chains;
        reading->chain_room = room;
    }
    chain = name ? netrules_add_chain(reading->ruleset, reading->table, name) : NULL;
    if (!chain)
        return -ENOMEM;
    chain->base = hook >= 0;
    chain->hook = hook >= 0 ? (uint32_t)hook : 0;
    chain->priority = priority;
    chain->type = "filter";
    reading->chains[reading->chain_count++] = (struct chain_at){ (uint32_t)offset, chain };
    return 0;
}

/* Returns the priority of a table's base chain at the hook (enum nf_ip_hook_priorities); for nat it depends on the
 * hook. */
static int32_t priority_of(const char *table, int hook)
{
    static const struct {
        const char *name;
        int32_t priority;
    } priorities[] = { { "raw", -300 }, { "mangle", -150 }, { "filter", 0 }, { "security", 50 } };

    for (size_t i = 0; i < sizeof(priorities) / sizeof(priorities[0]); i++)
        if (strcmp(priorities[i].name, table) == 0)
            return priorities[i].priority;
    return hook == NF_INET_PRE_ROUTING || hook == NF_INET_LOCAL_OUT ? -100 : 100;
}

/* Returns whether the entry has the target ERROR. Such an entry precedes a user chain, whose name is then in `data`, or
 * ends the table. */
static bool is_error_target(const struct reading *reading, size_t offset, const struct entry *entry,
                            struct cursor *data)
{
    struct cursor target = target_of(reading, offset, entry);
    char name[XT_EXTENSION_MAXNAMELEN + 1];
    uint8_t revision;

    return read_extension(&target, name, &revision, data) && strcmp(name, XT_ERROR_TARGET) == 0;
}

static int find_chains(struct reading *reading)
{
    static const char *const names[] = { "PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING" };
    struct entry entry;
    struct cursor data;
    int err = 0;

    for (size_t at = 0; !err && read_entry(reading, at, &entry); at += entry.next_offset) {
        int hook = 0;

        while (hook < NF_INET_NUMHOOKS &&
               !(reading->info.valid_hooks & 1u << hook && reading->info.hook_entry[hook] == at))
            hook++;
        if (hook < NF_INET_NUMHOOKS)
            err = add_chain(reading, at, names[hook], hook, priority_of(reading->table->name, hook));
        else if (is_error_target(reading, at, &entry, &data) && at + entry.next_offset < reading->length)
            err = add_chain(reading, at + entry.next_offset,
                            arena_strndup(reading->ruleset->arena, (const char *)data.at,
                                          strnlen((const char *)data.at, cursor_remaining(&data))),
                            -1, 0);
    }
    return err;
}

static struct netrules_chain *chain_at(const struct reading *reading, size_t offset)
{
    size_t low = 0, high = reading->chain_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (reading->chains[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < reading->chain_count && reading->chains[low].offset == offset ? reading->chains[low].chain : NULL;
}

/* --- Header of an entry ----------------------------------------------------------------------------- */

static void write_address(struct netrules_builder *builder, int family, const char *option, const void *address,
                          const void *mask, bool inverted)
{
    char name[INET6_ADDRSTRLEN];
    const uint8_t *bytes = mask;
    unsigned bits = 0;

    for (size_t i = 0; i < (family == AF_INET ? 4 : 16); i++)
        bits += (unsigned)__builtin_popcount(bytes[i]);
    if (!bits && !inverted)
        return;
    builder->rule->conditional = true;
    netrules_write(builder, "%s%s %s/%u", inverted ? "! " : "", option, inet_ntop(family, address, name, sizeof(name)),
                   bits);
}

/* Writes the condition on an interface. The mask has a byte for each character that is compared: three for "eth+", five
 * for "eth0", because its NUL is compared, too. */
static void write_interface(struct netrules_builder *builder, const char *option, const char *name, const uint8_t *mask,
                            bool inverted)
{
    size_t length = strnlen(name, IFNAMSIZ), compared = 0;
    bool prefix;

    while (compared < IFNAMSIZ && mask[compared])
        compared++;
    prefix = compared <= length && compared < IFNAMSIZ;
    if (compared == 0)
        return;
    builder->rule->conditional = true;
    netrules_write(builder, "%s%s %.*s%s", inverted ? "! " : "", option, (int)(prefix ? compared : length), name,
                   prefix ? "+" : "");
    if (!inverted && !prefix && length == 2 && memcmp(name, "lo", 2) == 0)
        builder->rule->only_loopback = true;
}

static void write_protocol(struct netrules_builder *builder, unsigned protocol, bool inverted)
{
    static const struct {
        unsigned number;
        const char *name;
    } names[] = { { 1, "icmp" }, { 6, "tcp" }, { 17, "udp" }, { 47, "gre" }, { 50, "esp" }, { 58, "icmpv6" } };
    size_t i = 0;

    if (!protocol)
        return;
    builder->rule->conditional = true;
    while (i < sizeof(names) / sizeof(names[0]) && names[i].number != protocol)
        i++;
    if (i < sizeof(names) / sizeof(names[0]))
        netrules_write(builder, "%s-p %s", inverted ? "! " : "", names[i].name);
    else
        netrules_write(builder, "%s-p %u", inverted ? "! " : "", protocol);
}

static void write_ipv4(struct netrules_builder *builder, const struct ipt_ip *ip)
{
    write_address(builder, AF_INET, "-s", &ip->src, &ip->smsk, ip->invflags & IPT_INV_SRCIP);
    write_address(builder, AF_INET, "-d", &ip->dst, &ip->dmsk, ip->invflags & IPT_INV_DSTIP);
    write_interface(builder, "-i", ip->iniface, ip->iniface_mask, ip->invflags & IPT_INV_VIA_IN);
    write_interface(builder, "-o", ip->outiface, ip->outiface_mask, ip->invflags & IPT_INV_VIA_OUT);
    write_protocol(builder, ip->proto, ip->invflags & IPT_INV_PROTO);
    if (ip->flags & IPT_F_FRAG) {
        builder->rule->conditional = true;
        netrules_write(builder, "%s-f", ip->invflags & IPT_INV_FRAG ? "! " : "");
    }
}

static void write_ipv6(struct netrules_builder *builder, const struct ip6t_ip6 *ip)
{
    write_address(builder, AF_INET6, "-s", &ip->src, &ip->smsk, ip->invflags & IP6T_INV_SRCIP);
    write_address(builder, AF_INET6, "-d", &ip->dst, &ip->dmsk, ip->invflags & IP6T_INV_DSTIP);
    write_interface(builder, "-i", ip->iniface, ip->iniface_mask, ip->invflags & IP6T_INV_VIA_IN);
    write_interface(builder, "-o", ip->outiface, ip->outiface_mask, ip->invflags & IP6T_INV_VIA_OUT);
    write_protocol(builder, ip->proto, ip->invflags & IP6T_INV_PROTO);
}

/* --- Rules ------------------------------------------------------------------------------------------ */

/* Reads the verdict of the standard target, which has no name. A negative number N stands for the verdict -N - 1; other
 * numbers are the offset of a chain to jump to, or of the next entry (no verdict). */
static void read_standard_target(struct reading *reading, struct netrules_builder *builder, size_t next,
                                 const struct entry *entry, struct cursor data)
{
    const struct netrules_chain *chain;
    int32_t verdict;
    const uint8_t *bytes = cursor_read(&data, sizeof(verdict));

    if (!bytes)
        return;
    memcpy(&verdict, bytes, sizeof(verdict));
    if (verdict == XT_RETURN || verdict == -NF_DROP - 1 || verdict == -NF_ACCEPT - 1) {
        static const char *const words[] = { "-j DROP", "-j ACCEPT", "-j RETURN" };
        static const enum netrules_verdict verdicts[] = { NETRULES_DROP, NETRULES_ACCEPT, NETRULES_RETURN };
        size_t which = verdict == XT_RETURN ? 2 : verdict == -NF_ACCEPT - 1;

        builder->rule->verdict = verdicts[which];
        netrules_write(builder, "%s", words[which]);
    } else if (verdict >= 0 && (size_t)verdict != next && (chain = chain_at(reading, (size_t)verdict))) {
        builder->rule->verdict = entry->is_goto ? NETRULES_GOTO : NETRULES_JUMP;
        builder->rule->target = chain->name;
        netrules_write(builder, "%s %s", entry->is_goto ? "-g" : "-j", chain->name);
    } else if (verdict < 0) { /* NF_QUEUE, the obsolete target QUEUE: queue 0 */
        netrules_set_queue(builder, (struct netrules_queue){ .first = 0 });
        builder->rule->xtables_queue = true;
        netrules_write(builder, "-j QUEUE");
    }
}

static int read_rule(struct reading *reading, struct netrules_rule *rule, size_t offset, const struct entry *entry)
{
    struct cursor matches = cursor_of(reading->bytes + offset + entry->head, entry->target_offset - entry->head);
    struct cursor target = target_of(reading, offset, entry), data;
    char name[XT_EXTENSION_MAXNAMELEN + 1];
    struct netrules_builder builder;
    uint8_t revision;

    netrules_start_rule(&builder, reading->ruleset, rule);
    if (reading->ipv6)
        write_ipv6(&builder, &entry->of.ipv6.ipv6);
    else
        write_ipv4(&builder, &entry->of.ipv4.ip);
    while (read_extension(&matches, name, &revision, &data))
        xtables_add_match(&builder, name, revision, data);
    if (read_extension(&target, name, &revision, &data)) {
        if (name[0] == '\0')
            read_standard_target(reading, &builder, offset + entry->next_offset, entry, data);
        else
            xtables_add_target(&builder, name, revision, data);
    }
    return netrules_end_rule(&builder);
}

static int read_rules(struct reading *reading)
{
    struct netrules_chain *chain = NULL;
    struct entry entry, next;
    struct cursor data;
    int err = 0;

    for (size_t at = 0; !err && read_entry(reading, at, &entry); at += entry.next_offset) {
        struct netrules_chain *begins = chain_at(reading, at);
        size_t end = at + entry.next_offset;
        struct netrules_rule *rule;

        chain = begins ? begins : chain;
        if (!chain || is_error_target(reading, at, &entry, &data))
            continue;
        /* the last entry of a base chain is its policy */
        if (chain->base && reading->info.underflow[chain->hook] == at) {
            struct netrules_rule policy = { .chain = chain };

            err = read_rule(reading, &policy, at, &entry);
            chain->policy = policy.verdict == NETRULES_DROP ? NETRULES_DROP : NETRULES_ACCEPT;
            continue;
        }
        /* The last entry of a user chain is an implicit return, which is no rule. */
        if (!chain->base && (!read_entry(reading, end, &next) || is_error_target(reading, end, &next, &data)))
            continue;
        rule = netrules_add_rule(reading->ruleset, chain);
        if (!rule)
            return -ENOMEM;
        rule->handle = chain->rule_count;
        err = read_rule(reading, rule, at, &entry);
        if (!err)
            err = netrules_check_size(reading->ruleset);
    }
    return err;
}

int xtables_add_table(struct netrules *ruleset, bool ipv6, const void *info, size_t info_length, const void *entries,
                      size_t length)
{
    struct reading reading = { .ruleset = ruleset, .ipv6 = ipv6, .bytes = entries, .length = length };
    const char *name;
    int err;

    if (info_length < sizeof(reading.info) || length > NETRULES_MEMORY)
        return -EBADMSG;
    memcpy(&reading.info, info, sizeof(reading.info));
    name = arena_strndup(ruleset->arena, reading.info.name, strnlen(reading.info.name, sizeof(reading.info.name)));
    reading.table = name ? netrules_add_table(ruleset, ipv6 ? NFPROTO_IPV6 : NFPROTO_IPV4, true, name) : NULL;
    if (!reading.table)
        return -ENOMEM;
    err = find_chains(&reading);
    return err ? err : read_rules(&reading);
}

/* --- Live tables: only those in /proc, because a request creates a missing table ------------------ */

/* Reads one table from the kernel. Returns 0, also if the table does not exist; -EAGAIN if its size changed between the
 * two requests; or another -errno. */
static int read_table(struct netrules *ruleset, int socket, bool ipv6, const char *name)
{
    int level = ipv6 ? SOL_IPV6 : SOL_IP;
    size_t head = offsetof(struct ipt_get_entries, entrytable);
    struct ipt_getinfo info = { .valid_hooks = 0 };
    struct ipt_get_entries *entries;
    socklen_t length = sizeof(info);
    int err;

    snprintf(info.name, sizeof(info.name), "%.*s", (int)sizeof(info.name) - 1, name);
    if (getsockopt(socket, level, ipv6 ? IP6T_SO_GET_INFO : IPT_SO_GET_INFO, &info, &length))
        return errno == ENOENT || errno == ENOPROTOOPT ? 0 : -errno;
    if (info.size > NETRULES_MEMORY)
        return -E2BIG;
    length = (socklen_t)(head + info.size);
    entries = calloc(1, length);
    if (!entries)
        return -ENOMEM;
    memcpy(entries->name, info.name, sizeof(entries->name));
    entries->size = info.size;
    if (getsockopt(socket, level, ipv6 ? IP6T_SO_GET_ENTRIES : IPT_SO_GET_ENTRIES, entries, &length))
        err = -errno;
    else
        err = xtables_add_table(ruleset, ipv6, &info, sizeof(info), (const uint8_t *)entries + head, info.size);
    free(entries);
    return err;
}

int xtables_read(struct netrules *ruleset)
{
    int err = 0;

    for (int ipv6 = 0; ipv6 < 2 && !err; ipv6++) {
        FILE *file = fopen(ipv6 ? "/proc/net/ip6_tables_names" : "/proc/net/ip_tables_names", "re");
        int one = socket(ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        char name[64];

        while (file && one >= 0 && !err && fgets(name, sizeof(name), file)) {
            name[strcspn(name, "\n")] = '\0';
            err = -EAGAIN;
            for (int i = 0; i < TRIES && err == -EAGAIN; i++)
                err = read_table(ruleset, one, ipv6, name);
        }
        if (file)
            fclose(file);
        if (one >= 0)
            close(one);
    }
    return err;
}
