/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interprets matches and targets of xtables. Rules of nf_tables (nft_compat) and of the legacy tables contain them in
 * the same structures, which are copied from the bytes if these are long enough. Of an unknown match or target only the
 * name is written, and an unknown match makes the rule conditional.
 */
#include "sluice/xtables.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include <linux/netfilter/xt_CONNMARK.h>
#include <linux/netfilter/xt_CT.h>
#include <linux/netfilter/xt_MARK.h>
#include <linux/netfilter/xt_NFQUEUE.h>
#include <linux/netfilter/xt_conntrack.h>
#include <linux/netfilter/xt_multiport.h>
#include <linux/netfilter/xt_state.h>
#include <linux/netfilter/xt_tcpudp.h>

enum { COMMENT_SIZE = 256, ALL_PORTS = 0xffff };

/* One match or target. `data` is the kernel's structure for the revision; later revisions may have more fields. */
struct extension {
    const char *name;
    uint32_t revision;
    struct cursor data;
};

/* Copies a structure from the beginning of the data. Returns false if the data is shorter. */
static bool copy_struct(const struct extension *extension, void *out, size_t size)
{
    struct cursor data = extension->data;
    const uint8_t *bytes = cursor_read(&data, size);

    if (bytes)
        memcpy(out, bytes, size);
    return bytes != NULL;
}

/* --- Matches ---------------------------------------------------------------------------------------- */

static bool match_comment(struct netrules_builder *builder, const struct extension *extension)
{
    size_t length = cursor_remaining(&extension->data);

    builder->rule->comment =
        netrules_copy_string(builder, (const char *)extension->data.at, length < COMMENT_SIZE ? length : COMMENT_SIZE);
    return true;
}

_Static_assert(sizeof(struct xt_mark_mtinfo1) == sizeof(struct xt_connmark_mtinfo1), "both have the same fields");

/* Interprets the matches mark and connmark. Returns false if their data is not understood. */
static bool match_mark(struct netrules_builder *builder, const struct extension *extension)
{
    bool of_packet = strcmp(extension->name, "mark") == 0;
    struct xt_mark_mtinfo1 info;

    if (extension->revision != 1 || !copy_struct(extension, &info, sizeof(info)))
        return false;
    netrules_add_mark(builder,
                      (struct netrules_mark){ .kind = of_packet ? NETRULES_PACKET_MARK : NETRULES_CONNECTION_MARK,
                                              .use = NETRULES_MARK_MATCH,
                                              .value = info.mark & info.mask,
                                              .mask = info.mask });
    netrules_write(builder, info.mask == UINT32_MAX ? "-m %s %s--mark 0x%x" : "-m %s %s--mark 0x%x/0x%x",
                   extension->name, info.invert ? "! " : "", info.mark, info.mask);
    return true;
}

/* Interprets the match state, and the states in the match conntrack. Revisions 1 to 3 of conntrack have the same fields
 * up to the state mask, which has one byte in revision 1 and two bytes in later ones. Returns false if the data is not
 * understood. */
static bool match_state(struct netrules_builder *builder, const struct extension *extension)
{
    static const struct {
        uint32_t bit;
        const char *name;
    } names[] = { { 1, "invalid" }, { 2, "established" }, { 4, "related" }, { 8, "new" }, { 64, "untracked" } };
    bool conntrack = strcmp(extension->name, "conntrack") == 0, inverted, established;
    struct xt_conntrack_mtinfo1 one;
    struct xt_conntrack_mtinfo2 two = { .match_flags = XT_CONNTRACK_STATE };
    struct xt_state_info state;
    char list[64] = "";

    if (!conntrack && extension->revision == 0 && copy_struct(extension, &state, sizeof(state))) {
        two.state_mask = (uint16_t)state.statemask;
    } else if (conntrack && extension->revision == 1 && copy_struct(extension, &one, sizeof(one))) {
        two.match_flags = one.match_flags;
        two.invert_flags = one.invert_flags;
        two.state_mask = one.state_mask;
    } else if (!conntrack || extension->revision < 2 || extension->revision > 3 ||
               !copy_struct(extension, &two, sizeof(two))) {
        return false;
    }
    if (!(two.match_flags & XT_CONNTRACK_STATE))
        return false;
    inverted = two.invert_flags & XT_CONNTRACK_STATE;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (two.state_mask & names[i].bit)
            snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", *list ? "," : "", names[i].name);
    netrules_write(builder, "-m %s %s--%s %s", extension->name, inverted ? "! " : "", conntrack ? "ctstate" : "state",
                   list);
    established = two.state_mask & names[1].bit;
    if (established != inverted)
        builder->rule->established = true;
    if (two.match_flags & ~(XT_CONNTRACK_STATE | XT_CONNTRACK_STATE_ALIAS))
        netrules_write(builder, "...");
    return true;
}

static void write_ports(struct netrules_builder *builder, const char *option, const uint16_t ports[2], bool inverted)
{
    if (ports[0] == 0 && ports[1] == ALL_PORTS && !inverted)
        return;
    netrules_write(builder, ports[0] == ports[1] ? "%s%s %u" : "%s%s %u:%u", inverted ? "! " : "", option,
                   (unsigned)ports[0], (unsigned)ports[1]);
}

/* Interprets the matches tcp and udp. Returns false if their data is not understood. */
static bool match_ports(struct netrules_builder *builder, const struct extension *extension)
{
    bool tcp = strcmp(extension->name, "tcp") == 0;
    struct xt_tcp info = { .flg_mask = 0 };
    struct xt_udp udp;

    if (extension->revision != 0 ||
        !(tcp ? copy_struct(extension, &info, sizeof(info)) : copy_struct(extension, &udp, sizeof(udp))))
        return false;
    if (!tcp) {
        memcpy(info.spts, udp.spts, sizeof(info.spts));
        memcpy(info.dpts, udp.dpts, sizeof(info.dpts));
        info.invflags = udp.invflags; /* the bits that invert ports are the same for TCP and UDP */
    }
    netrules_write(builder, "-m %s", extension->name);
    write_ports(builder, "--sport", info.spts, info.invflags & XT_TCP_INV_SRCPT);
    write_ports(builder, "--dport", info.dpts, info.invflags & XT_TCP_INV_DSTPT);
    if (info.flg_mask)
        netrules_write(builder, "%s--tcp-flags 0x%x 0x%x", info.invflags & XT_TCP_INV_FLAGS ? "! " : "",
                       (unsigned)info.flg_mask, (unsigned)info.flg_cmp);
    return true;
}

_Static_assert(XT_TCP_INV_SRCPT == XT_UDP_INV_SRCPT && XT_TCP_INV_DSTPT == XT_UDP_INV_DSTPT, "the same bits");

static bool match_multiport(struct netrules_builder *builder, const struct extension *extension)
{
    static const char *const options[] = { "--sports", "--dports", "--ports" };
    struct xt_multiport_v1 info;
    char ports[XT_MULTI_PORTS * sizeof("65535,")] = "";

    if (extension->revision != 1 || !copy_struct(extension, &info, sizeof(info)) || info.flags > XT_MULTIPORT_EITHER)
        return false;
    for (unsigned i = 0; i < info.count && i < XT_MULTI_PORTS; i++)
        snprintf(ports + strlen(ports), sizeof(ports) - strlen(ports), "%s%u",
                 i == 0               ? ""
                 : info.pflags[i - 1] ? ":"
                                      : ",",
                 (unsigned)info.ports[i]);
    netrules_write(builder, "-m multiport %s%s %s", info.invert ? "! " : "", options[info.flags], ports);
    return true;
}

void xtables_add_match(struct netrules_builder *builder, const char *name, uint32_t revision, struct cursor data)
{
    static const struct {
        const char *name;
        bool (*read)(struct netrules_builder *builder, const struct extension *extension);
    } matches[] = {
        { "comment", match_comment }, { "mark", match_mark },           { "connmark", match_mark },
        { "state", match_state },     { "conntrack", match_state },     { "tcp", match_ports },
        { "udp", match_ports },       { "multiport", match_multiport },
    };
    const struct extension extension = { name, revision, data };

    if (strcmp(name, "comment") != 0)
        builder->rule->conditional = true;
    for (size_t i = 0; i < sizeof(matches) / sizeof(matches[0]); i++)
        if (strcmp(matches[i].name, name) == 0 && matches[i].read(builder, &extension))
            return;
    netrules_write(builder, "-m %s ...", name);
}

/* --- Targets ---------------------------------------------------------------------------------------- */

/* Interprets the target NFQUEUE. Each revision of its structure is a prefix of the next: revision 0 has only the queue
 * number, 1 adds the number of queues, 2 adds bypass, and 3 has flags in place of bypass. Returns false if the data is
 * not understood. */
static bool target_nfqueue(struct netrules_builder *builder, const struct extension *extension)
{
    static const size_t sizes[] = { sizeof(struct xt_NFQ_info), sizeof(struct xt_NFQ_info_v1),
                                    sizeof(struct xt_NFQ_info_v2), sizeof(struct xt_NFQ_info_v3) };
    struct xt_NFQ_info_v3 info = { .queues_total = 1 };
    struct netrules_queue queue;
    uint32_t last;
    bool fanout;

    if (extension->revision >= sizeof(sizes) / sizeof(sizes[0]) ||
        !copy_struct(extension, &info, sizes[extension->revision]))
        return false;
    last = info.queuenum + (info.queues_total ? info.queues_total - 1u : 0);
    fanout = extension->revision == 3 && info.flags & NFQ_FLAG_CPU_FANOUT;
    queue = (struct netrules_queue){
        .first = info.queuenum,
        .last = last > UINT16_MAX ? UINT16_MAX : (uint16_t)last,
        .bypass = info.flags & NFQ_FLAG_BYPASS,
        .spread = info.queues_total <= 1 ? NETRULES_SPREAD_NONE
                  : fanout               ? NETRULES_SPREAD_CPU
                                         : NETRULES_SPREAD_ADDRESSES,
    };
    builder->rule->xtables_queue = true;
    netrules_set_queue(builder, queue);
    netrules_write(builder, info.queues_total > 1 ? "-j NFQUEUE --queue-balance %u:%u" : "-j NFQUEUE --queue-num %u",
                   (unsigned)queue.first, (unsigned)queue.last);
    if (queue.bypass)
        netrules_write(builder, "--queue-bypass");
    if (fanout)
        netrules_write(builder, "--queue-cpu-fanout");
    return true;
}

/* Interprets the target MARK: mark = (mark & ~info.mask) ^ info.mark. Returns false if the data is not understood. */
static bool target_mark(struct netrules_builder *builder, const struct extension *extension)
{
    struct xt_mark_tginfo2 info;

    if (extension->revision != 2 || !copy_struct(extension, &info, sizeof(info)))
        return false;
    netrules_add_mark(builder, (struct netrules_mark){ .kind = NETRULES_PACKET_MARK,
                                                       .use = NETRULES_MARK_SET,
                                                       .value = info.mark,
                                                       .mask = info.mask | info.mark });
    netrules_write(builder, "-j MARK --set-xmark 0x%x/0x%x", info.mark, info.mask);
    return true;
}

static bool target_connmark(struct netrules_builder *builder, const struct extension *extension)
{
    struct xt_connmark_tginfo1 info; /* ctmark, ctmask and nfmask are at the same place in revision 2 */
    struct xt_connmark_tginfo2 two;
    struct netrules_mark mark = { .kind = NETRULES_CONNECTION_MARK, .use = NETRULES_MARK_COPY };
    unsigned mode;

    if (extension->revision < 1 || extension->revision > 2 || !copy_struct(extension, &info, sizeof(info)) ||
        (extension->revision == 2 && !copy_struct(extension, &two, sizeof(two))))
        return false;
    mode = extension->revision == 2 ? two.mode : info.mode;
    if (mode == XT_CONNMARK_SET) {
        mark.use = NETRULES_MARK_SET;
        mark.value = info.ctmark;
        mark.mask = info.ctmask | info.ctmark;
        netrules_write(builder, "-j CONNMARK --set-xmark 0x%x/0x%x", info.ctmark, info.ctmask);
    } else {
        bool save = mode == XT_CONNMARK_SAVE;

        mark.kind = save ? NETRULES_CONNECTION_MARK : NETRULES_PACKET_MARK;
        mark.mask = save ? info.ctmask : info.nfmask;
        mark.source = save ? info.nfmask : info.ctmask;
        netrules_write(builder, "-j CONNMARK --%s-mark --nfmask 0x%x --ctmask 0x%x", save ? "save" : "restore",
                       info.nfmask, info.ctmask);
    }
    netrules_add_mark(builder, mark);
    return true;
}

static bool target_ct(struct netrules_builder *builder, const struct extension *extension)
{
    uint16_t flags; /* the first field of the structure in all revisions */

    if (!copy_struct(extension, &flags, sizeof(flags)) || !(flags & XT_CT_NOTRACK))
        return false;
    netrules_write(builder, "-j CT --notrack");
    return true;
}

/* Interprets targets of which only the name matters. Always returns false, so that the caller writes their name. */
static bool target_by_name(struct netrules_builder *builder, const struct extension *extension)
{
    if (strcmp(extension->name, "HMARK") == 0)
        netrules_add_mark(builder, (struct netrules_mark){
                                       .kind = NETRULES_PACKET_MARK, .use = NETRULES_MARK_ANY, .mask = UINT32_MAX });
    else if (strcmp(extension->name, "FLOWOFFLOAD") == 0) /* OpenWrt's equivalent of `flow add` */
        builder->rule->flowtable = "FLOWOFFLOAD";
    else /* REJECT and TARPIT do not let the packet pass */
        builder->rule->verdict = NETRULES_DROP;
    return false;
}

void xtables_add_target(struct netrules_builder *builder, const char *name, uint32_t revision, struct cursor data)
{
    static const struct {
        const char *name;
        bool (*read)(struct netrules_builder *builder, const struct extension *extension);
    } targets[] = {
        { "NFQUEUE", target_nfqueue }, { "MARK", target_mark },           { "CONNMARK", target_connmark },
        { "CT", target_ct },           { "HMARK", target_by_name },       { "REJECT", target_by_name },
        { "TARPIT", target_by_name },  { "FLOWOFFLOAD", target_by_name },
    };
    const struct extension extension = { name, revision, data };

    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
        if (strcmp(targets[i].name, name) == 0 && targets[i].read(builder, &extension))
            return;
    netrules_write(builder, "-j %s", name);
}
