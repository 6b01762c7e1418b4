/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Matches and targets of xtables, as nf_tables (nft_compat) and the legacy tables contain them: the same structures,
 * copied from their bytes when these are long enough. Unknown ones are written by their name, and an unknown match
 * makes the rule conditional.
 */
#include "netrules_priv.h"

#include <netinet/in.h>
#include <string.h>

#include <linux/netfilter/xt_CONNMARK.h>
#include <linux/netfilter/xt_CT.h>
#include <linux/netfilter/xt_MARK.h>
#include <linux/netfilter/xt_NFQUEUE.h>
#include <linux/netfilter/xt_conntrack.h>
#include <linux/netfilter/xt_multiport.h>
#include <linux/netfilter/xt_state.h>
#include <linux/netfilter/xt_tcpudp.h>

enum { STATE_ESTABLISHED = 2, COMMENT_SIZE = 256, ALL_PORTS = 0xffff };

/* Copies a structure from the beginning of `data`; false when the data is shorter. */
static bool copy_struct(struct cursor data, void *out, size_t size)
{
    const uint8_t *bytes = cursor_read(&data, size);

    if (bytes)
        memcpy(out, bytes, size);
    return bytes != NULL;
}

/* --- Matches ---------------------------------------------------------------------------------------- */

static bool match_comment(struct rule_builder *builder, uint32_t revision, struct cursor data)
{
    (void)revision;
    cursor_limit(&data, COMMENT_SIZE);
    builder->rule->comment = rule_string(builder, data);
    return true;
}

_Static_assert(sizeof(struct xt_mark_mtinfo1) == sizeof(struct xt_connmark_mtinfo1), "both have the same fields");

static bool match_any_mark(struct rule_builder *builder, enum netrules_mark_kind kind, uint32_t revision,
                           struct cursor data)
{
    struct xt_mark_mtinfo1 info;

    if (revision != 1 || !copy_struct(data, &info, sizeof(info)))
        return false;
    rule_mark(builder,
              (struct netrules_mark){
                  .kind = kind, .use = NETRULES_MARK_MATCH, .value = info.mark & info.mask, .mask = info.mask });
    rule_condition(builder, info.mask == ALL_BITS ? "-m %s %s--mark 0x%x" : "-m %s %s--mark 0x%x/0x%x",
                   kind == NETRULES_PACKET_MARK ? "mark" : "connmark", info.invert ? "! " : "", info.mark, info.mask);
    return true;
}

static bool match_mark(struct rule_builder *builder, uint32_t revision, struct cursor data)
{
    return match_any_mark(builder, NETRULES_PACKET_MARK, revision, data);
}

static bool match_connmark(struct rule_builder *builder, uint32_t revision, struct cursor data)
{
    return match_any_mark(builder, NETRULES_CONNECTION_MARK, revision, data);
}

static void match_states(struct rule_builder *builder, const char *name, const char *option, uint32_t states,
                         bool inverted)
{
    rule_condition(builder, "-m %s %s%s %s", name, inverted ? "! " : "", option,
                   rule_value(builder, VALUE_STATE, cursor_of(&states, sizeof(states)), sizeof(states)));
    if (((states & STATE_ESTABLISHED) != 0) != inverted)
        builder->rule->established = true;
}

static bool match_state(struct rule_builder *builder, uint32_t revision, struct cursor data)
{
    struct xt_state_info info;

    if (revision != 0 || !copy_struct(data, &info, sizeof(info)))
        return false;
    match_states(builder, "state", "--state", info.statemask, false);
    return true;
}

/* Revisions 1 to 3 have the same fields up to the states, which grew from one byte to two. */
static bool match_conntrack(struct rule_builder *builder, uint32_t revision, struct cursor data)
{
    struct xt_conntrack_mtinfo1 one;
    struct xt_conntrack_mtinfo2 two;
    uint16_t flags, inverted;
    uint32_t states;

    if (revision == 1 && copy_struct(data, &one, sizeof(one))) {
        flags = one.match_flags, inverted = one.invert_flags;
        states = one.state_mask;
    } else if (revision <= 3 && revision > 1 && copy_struct(data, &two, sizeof(two))) {
        flags = two.match_flags, inverted = two.invert_flags;
        states = two.state_mask;
    } else {
        return false;
    }
    if (!(flags & XT_CONNTRACK_STATE))
        return false;
    match_states(builder, "conntrack", "--ctstate", states, inverted & XT_CONNTRACK_STATE);
    if (flags & ~(XT_CONNTRACK_STATE | XT_CONNTRACK_STATE_ALIAS))
        rule_word(builder, "...");
    return true;
}

static void write_ports(struct rule_builder *builder, const char *option, const uint16_t ports[2], bool inverted)
{
    if (ports[0] == 0 && ports[1] == ALL_PORTS && !inverted)
        return;
    if (ports[0] == ports[1])
        rule_word(builder, "%s%s %u", inverted ? "! " : "", option, (unsigned)ports[0]);
    else
        rule_word(builder, "%s%s %u:%u", inverted ? "! " : "", option, (unsigned)ports[0], (unsigned)ports[1]);
}

static bool match_tcp(struct rule_builder *builder, uint32_t revision, struct cursor data)
{
    struct xt_tcp info;

    if (revision != 0 || !copy_struct(data, &info, sizeof(info)))
        return false;
    rule_condition(builder, "-m tcp");
    write_ports(builder, "--sport", info.spts, info.invflags & XT_TCP_INV_SRCPT);
    write_ports(builder, "--dport", info.dpts, info.invflags & XT_TCP_INV_DSTPT);
    if (info.flg_mask)
        rule_word(builder, "%s--tcp-flags 0x%x 0x%x", info.invflags & XT_TCP_INV_FLAGS ? "! " : "",
                  (unsigned)info.flg_mask, (unsigned)info.flg_cmp);
    return true;
}

static bool match_udp(struct rule_builder *builder, uint32_t revision, struct cursor data)
{
    struct xt_udp info;

    if (revision != 0 || !copy_struct(data, &info, sizeof(info)))
        return false;
    rule_condition(builder, "-m udp");
    write_ports(builder, "--sport", info.spts, info.invflags & XT_UDP_INV_SRCPT);
    write_ports(builder, "--dport", info.dpts, info.invflags & XT_UDP_INV_DSTPT);
    return true;
}

static bool match_multiport(struct rule_builder *builder, uint32_t revision, struct cursor data)
{
    static const char *const options[] = { "--sports", "--dports", "--ports" };
    struct xt_multiport_v1 info;
    const char *ports = "";

    if (revision != 1 || !copy_struct(data, &info, sizeof(info)) || info.flags > XT_MULTIPORT_EITHER)
        return false;
    for (unsigned i = 0; i < info.count && i < XT_MULTI_PORTS; i++)
        ports = rule_text(builder, "%s%s%u", ports,
                          i == 0               ? ""
                          : info.pflags[i - 1] ? ":"
                                               : ",",
                          (unsigned)info.ports[i]);
    rule_condition(builder, "-m multiport %s%s %s", info.invert ? "! " : "", options[info.flags], ports);
    return true;
}

static const struct {
    const char *name;
    bool (*read)(struct rule_builder *builder, uint32_t revision, struct cursor data);
} matches[] = {
    { "comment", match_comment }, { "mark", match_mark },           { "connmark", match_connmark },
    { "state", match_state },     { "conntrack", match_conntrack }, { "tcp", match_tcp },
    { "udp", match_udp },         { "multiport", match_multiport },
};

void rule_xt_match(struct rule_builder *builder, const char *name, uint32_t revision, struct cursor data)
{
    for (size_t i = 0; i < sizeof(matches) / sizeof(matches[0]); i++)
        if (strcmp(matches[i].name, name) == 0 && matches[i].read(builder, revision, data))
            return;
    rule_condition(builder, "-m %s ...", name);
}

/* --- Targets ---------------------------------------------------------------------------------------- */

/* Revision 0 has only the number, 1 also a count, 2 a bypass, 3 flags: each is a prefix of the next. */
static bool target_nfqueue(struct rule_builder *builder, uint32_t revision, struct cursor data)
{
    static const size_t sizes[] = { sizeof(struct xt_NFQ_info), sizeof(struct xt_NFQ_info_v1),
                                    sizeof(struct xt_NFQ_info_v2), sizeof(struct xt_NFQ_info_v3) };
    struct xt_NFQ_info_v3 info = { .queues_total = 1 };
    struct netrules_queue queue;
    uint32_t last;
    bool fanout;

    if (revision >= sizeof(sizes) / sizeof(sizes[0]) || !copy_struct(data, &info, sizes[revision]))
        return false;
    last = info.queuenum + (info.queues_total ? info.queues_total - 1u : 0);
    fanout = revision == 3 && info.flags & NFQ_FLAG_CPU_FANOUT;
    queue = (struct netrules_queue){
        .first = info.queuenum,
        .last = last > UINT16_MAX ? UINT16_MAX : (uint16_t)last,
        .bypass = info.flags & NFQ_FLAG_BYPASS,
        .spread = info.queues_total <= 1 ? NETRULES_SPREAD_NONE
                  : fanout               ? NETRULES_SPREAD_CPU
                                         : NETRULES_SPREAD_ADDRESSES,
    };
    builder->rule->xtables_queue = true;
    rule_queue(builder, queue);
    if (info.queues_total > 1)
        rule_word(builder, "-j NFQUEUE --queue-balance %u:%u", (unsigned)queue.first, (unsigned)queue.last);
    else
        rule_word(builder, "-j NFQUEUE --queue-num %u", (unsigned)queue.first);
    if (queue.bypass)
        rule_word(builder, "--queue-bypass");
    if (fanout)
        rule_word(builder, "--queue-cpu-fanout");
    return true;
}

/* mark = (mark & ~info.mask) ^ info.mark. */
static bool target_mark(struct rule_builder *builder, uint32_t revision, struct cursor data)
{
    struct xt_mark_tginfo2 info;

    if (revision != 2 || !copy_struct(data, &info, sizeof(info)))
        return false;
    rule_mark(builder, (struct netrules_mark){ .kind = NETRULES_PACKET_MARK,
                                               .use = NETRULES_MARK_SET,
                                               .value = info.mark,
                                               .mask = info.mask | info.mark });
    rule_word(builder, "-j MARK --set-xmark 0x%x/0x%x", info.mark, info.mask);
    return true;
}

static bool target_connmark(struct rule_builder *builder, uint32_t revision, struct cursor data)
{
    struct xt_connmark_tginfo1 info; /* revision 2 has more fields after the masks */
    struct xt_connmark_tginfo2 two = { .mode = XT_CONNMARK_SET };
    unsigned mode;

    if (revision < 1 || revision > 2 || !copy_struct(data, &info, sizeof(info)) ||
        (revision == 2 && !copy_struct(data, &two, sizeof(two))))
        return false;
    mode = revision == 2 ? two.mode : info.mode;
    if (mode == XT_CONNMARK_SET) {
        rule_mark(builder, (struct netrules_mark){ .kind = NETRULES_CONNECTION_MARK,
                                                   .use = NETRULES_MARK_SET,
                                                   .value = info.ctmark,
                                                   .mask = info.ctmask | info.ctmark });
        rule_word(builder, "-j CONNMARK --set-xmark 0x%x/0x%x", info.ctmark, info.ctmask);
        return true;
    }
    bool save = mode == XT_CONNMARK_SAVE;

    rule_mark(builder, (struct netrules_mark){ .kind = save ? NETRULES_CONNECTION_MARK : NETRULES_PACKET_MARK,
                                               .use = NETRULES_MARK_COPY,
                                               .mask = save ? info.ctmask : info.nfmask,
                                               .source = save ? info.nfmask : info.ctmask });
    rule_word(builder, "-j CONNMARK --%s-mark --nfmask 0x%x --ctmask 0x%x", save ? "save" : "restore", info.nfmask,
              info.ctmask);
    return true;
}

static bool target_hmark(struct rule_builder *builder, uint32_t revision, struct cursor data)
{
    (void)revision;
    (void)data;
    rule_mark(builder,
              (struct netrules_mark){ .kind = NETRULES_PACKET_MARK, .use = NETRULES_MARK_ANY, .mask = ALL_BITS });
    return false; /* written by its name */
}

static bool target_ct(struct rule_builder *builder, uint32_t revision, struct cursor data)
{
    uint16_t flags; /* the first field of all revisions */

    (void)revision;
    if (!copy_struct(data, &flags, sizeof(flags)) || !(flags & XT_CT_NOTRACK))
        return false;
    rule_word(builder, "-j CT --notrack");
    return true;
}

static bool target_reject(struct rule_builder *builder, uint32_t revision, struct cursor data)
{
    (void)revision;
    (void)data;
    rule_verdict(builder, NETRULES_DROP, NULL);
    return false;
}

/* OpenWrt's target, the equivalent of `flow add` in nft. */
static bool target_offload(struct rule_builder *builder, uint32_t revision, struct cursor data)
{
    (void)revision;
    (void)data;
    builder->rule->flowtable = "FLOWOFFLOAD";
    return false;
}

static const struct {
    const char *name;
    bool (*read)(struct rule_builder *builder, uint32_t revision, struct cursor data);
} targets[] = {
    { "NFQUEUE", target_nfqueue },
    { "MARK", target_mark },
    { "CONNMARK", target_connmark },
    { "HMARK", target_hmark },
    { "CT", target_ct },
    { "REJECT", target_reject },
    { "TARPIT", target_reject },
    { "FLOWOFFLOAD", target_offload },
};

void rule_xt_target(struct rule_builder *builder, const char *name, uint32_t revision, struct cursor data)
{
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
        if (strcmp(targets[i].name, name) == 0 && targets[i].read(builder, revision, data))
            return;
    rule_word(builder, "-j %s", name);
}
