/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints the plan for administrators, in nft or iptables-restore syntax. A header shows where the rules are in the
 * packet path and which packets they queue. */
#include "firewall_priv.h"

#include <linux/netfilter.h>
#include <string.h>

/* The description of a mode for administrators. Lines end with \n; `picture` has one %s for the queues. */
struct description {
    const char *picture;
    const char *when;
    const char *sees;
    const char *note;
};

static const struct description descriptions[] = {
    [ATTACH_AFTER] = {
        .picture = "prerouting -> hook: [ the firewall's filter chains ] -> [ sluice, %s ] -> postrouting\n"
                   "                             | drops                        | drops\n",
        .when = "the default, together with any firewall, written by an administrator or a tool.\n",
        .sees = "the packets that the firewall accepted, after DNAT and before SNAT.\n",
        .note = "Without a listener, bypass lets packets pass; this skips no firewall rule, because the firewall\n"
                "has already decided.\n",
    },
    [ATTACH_BEFORE] = {
        .picture = "prerouting -> hook: [ sluice, %s ] -> [ the firewall's filter chains ] -> postrouting\n"
                   "                         | drops                  | drops\n",
        .when = "Sluice should also inspect packets that the firewall would drop.\n",
        .sees = "all packets, including those that the firewall drops later, after DNAT and before SNAT.\n",
        .note = "Accepted packets continue to the firewall, which decides as before.\n",
    },
    [ATTACH_REPEAT] = {
        .picture = "hook: [ marked? ] -- no --> [ sluice, %s ] -- marks, REPEATs this chain\n"
                   "          '--- yes --> [ the rest: the firewall's filter chains ] -> postrouting\n",
        .when = "the queue rule must be among other rules of one chain: copy the rule with the mark to its\n"
                "      place. Run with `--verdict repeat` and the same --mark.\n",
        .sees = "all packets that reach the rule without the mark, once.\n",
        .note = "In a chain with other rules omit bypass: without a listener it accepts packets for the rest of that\n"
                "chain and skips its rules. No other program may use the mark. It is cleared when the packet has\n"
                "passed, so that packets that enter or leave a tunnel are inspected, too.\n",
    },
    [ATTACH_CHAIN] = {
        .picture = "hook: [ your chain ... `jump sluice_ips` in place of `accept` ] -> postrouting\n"
                   "                                |\n"
                   "                                v\n"
                   "                      [ sluice_exceptions: yours ] -> [ sluice_ips, %s ] -- accepts or drops\n",
        .when = "a tool generates the ruleset and can write `jump sluice_ips` in place of `accept`.\n",
        .sees = "the packets that your rules send there, except those that sluice_exceptions accepts.\n",
        .note = "A jump cannot leave its table, so this is a fragment: include it inside the braces of your table.\n"
                "Fill sluice_exceptions in the same table.\n",
    },
    [ATTACH_ROUTE] = {
        .picture = "hook: [ the firewall's filter chains ] -> [ sluice, %s ] -> [ the next consumer's queue ] -> "
                   "postrouting\n",
        .when = "another program should receive packets after Sluice: run with `--verdict route --route-to N`.\n",
        .sees = "the packets that the firewall accepted; the next consumer receives those that Sluice accepts.\n",
        .note = "If the next queue has no listener, the kernel drops the packets, unless --route-bypass is given\n"
                "(queue.route-bypass).\n",
    },
};

enum { DEFAULT_BLOCKLIST_SIZE = 16384 }; /* of nft.blocklist.size */

/* --- Header ----------------------------------------------------------------------------------------- */

/* Prints each of the lines after "# " and `indent`. */
static void comment(struct text *out, const char *indent, const char *lines)
{
    while (*lines) {
        size_t length = strcspn(lines, "\n");

        text_printf(out, "# %s%.*s\n", indent, (int)length, lines);
        lines += length + (lines[length] == '\n');
    }
}

static void print_queues(struct text *out, const struct firewall_options *options)
{
    text_printf(out, "%u", (unsigned)options->queue_first);
    if (options->queue_last != options->queue_first)
        text_printf(out, "-%u", (unsigned)options->queue_last);
}

/* Prints the command line that reproduces the output. */
static void print_command(struct text *out, const struct firewall_options *options)
{
    const struct firewall_offload *offload = &options->offload;
    const char *between = " --hook ";
    bool hooks = options->mode != ATTACH_CHAIN;

    text_printf(out, "sluice nft print --mode %s --queue ", firewall_mode_name(options->mode));
    print_queues(out, options);
    for (unsigned i = 0; i < FIREWALL_HOOK_COUNT && hooks && options->hooks != FIREWALL_FORWARD; i++) {
        if (!(options->hooks & 1u << i))
            continue;
        text_printf(out, "%s%s", between, firewall_hook_name(1u << i));
        between = ",";
    }
    if (options->family != FIREWALL_INET)
        text_printf(out, " --family %s", firewall_family_name(options->family));
    if (options->mode == ATTACH_REPEAT)
        text_printf(out, " --mark 0x%x/0x%x", options->mark, options->mark_mask);
    if (hooks && options->has_priority)
        text_printf(out, " --priority %d", (int)options->priority);
    if (strcmp(options->table, "sluice") != 0)
        text_printf(out, " --table %s", options->table);
    if (!options->bypass)
        text_puts(out, " --no-bypass");
    if (options->blocklist) {
        text_puts(out, " --set nft.blocklist.enabled=yes");
        if (options->blocklist_size != DEFAULT_BLOCKLIST_SIZE)
            text_printf(out, " --set nft.blocklist.size=%u", options->blocklist_size);
    }
    if (offload->has_next)
        text_printf(out, " --set queue.route-to=%u%s", (unsigned)offload->next_queue,
                    offload->next_bypass ? " --set queue.route-bypass=yes" : "");
    /* The marks and nft.offload.verdict are omitted: they are the defaults, or the rules show them. */
    if (offload->accept || offload->drop)
        text_printf(out, " --set nft.offload.flows=%s",
                    !offload->drop     ? "accepted"
                    : !offload->accept ? "dropped"
                                       : "both");
    if (offload->acknowledge)
        text_puts(out, " --set nft.offload.acknowledgments=auto");
    for (unsigned i = 0; i < offload->device_count; i++)
        text_printf(out, "%s%s%s", i > 0 ? "," : " --set nft.offload.flowtable=[", offload->devices[i],
                    i + 1 == offload->device_count ? "]" : "");
    if (options->expression == QUEUE_EXPRESSION_XT)
        text_puts(out, " --iptables");
}

static void print_picture(struct text *out, const char *picture, const struct firewall_options *options)
{
    struct text queues, lines;
    const char *hole = strstr(picture, "%s");

    text_init(&queues);
    text_init(&lines);
    text_puts(&queues, options->queue_first == options->queue_last ? "queue " : "queues ");
    print_queues(&queues, options);
    text_append(&lines, picture, (size_t)(hole - picture));
    text_puts(&lines, queues.bytes ? queues.bytes : "");
    text_puts(&lines, hole + 2);
    if (lines.failed || queues.failed)
        out->failed = true;
    else
        comment(out, "  ", lines.bytes);
    text_clear(&lines);
    text_clear(&queues);
}

static void print_head(struct text *out, const struct firewall_options *options, const char *note)
{
    const struct description *description = &descriptions[options->mode];

    text_printf(out, "# Sluice, mode %s, as printed by\n#   ", firewall_mode_name(options->mode));
    print_command(out, options);
    text_puts(out, "\n#\n");
    print_picture(out, description->picture, options);
    text_printf(out, "#\n# When: ");
    /* The first line of the description follows a label on the same line. */
    text_printf(out, "%.*s\n", (int)strcspn(description->when, "\n"), description->when);
    comment(out, "", description->when + strcspn(description->when, "\n") + 1);
    text_printf(out, "# Sees: %s#\n", description->sees);
    comment(out, "", note);
    if (options->reject_mask != 0)
        text_printf(out, "# Packets marked 0x%x/0x%x were sent by Sluice (reject) and are not queued.\n",
                    options->reject_mark, options->reject_mask);
}

/* --- nft -------------------------------------------------------------------------------------------- */

static void print_chains(struct text *out, const char *indent, const struct plan *plan)
{
    for (unsigned i = 0; i < BLOCK_SETS && plan->options->blocklist; i++)
        nft_set_print(out, indent, i, plan);
    nft_offload_print(out, indent, plan);
    for (unsigned i = 0; i < plan->chain_count; i++) {
        const struct plan_chain *chain = &plan->chains[i];

        text_printf(out, "%s%schain %s {\n", i > 0 ? "\n" : "", indent, chain->name);
        if (chain->base)
            text_printf(out, "%s\ttype filter hook %s priority %d; policy accept;\n", indent,
                        nft_hook_name(chain->hook), (int)chain->priority);
        for (unsigned k = 0; k < chain->rule_count; k++) {
            text_printf(out, "%s\t", indent);
            nft_rule_print(out, chain->rules[k], plan);
            text_puts(out, "\n");
        }
        text_printf(out, "%s}\n", indent);
    }
}

static void print_table(struct text *out, const struct plan *plan)
{
    const char *family = nft_family_name(plan->families[0]), *table = plan->options->table;
    char text[COMMENT_SIZE];

    nft_comment(text, plan->options->mode);
    text_printf(out, "table %s %s\ndelete table %s %s\ntable %s %s {\n\tcomment \"%s\"\n\n", family, table, family,
                table, family, table, text);
    print_chains(out, "\t", plan);
    text_puts(out, "}\n");
}

void nft_plan_print(struct text *out, const struct plan *plan)
{
    const struct firewall_options *options = plan->options;

    if (options->mode != ATTACH_CHAIN)
        text_puts(out, "#!/usr/sbin/nft -f\n");
    print_head(out, options, descriptions[options->mode].note);
    if (options->mode == ATTACH_CHAIN) {
        text_puts(out, "\n");
        print_chains(out, "", plan);
        return;
    }
    text_printf(out,
                "#\n# It replaces the table with this name. Remove it with `sluice nft remove` or\n"
                "# `nft delete table %s %s`.\n\n",
                nft_family_name(plan->families[0]), options->table);
    print_table(out, plan);
}

/* --- iptables --------------------------------------------------------------------------------------- */

/* Returns the iptables table that runs where the mode needs it: security runs after filter, mangle before it. */
static const char *iptables_table(enum attach_mode mode)
{
    switch (mode) {
    case ATTACH_AFTER:
    case ATTACH_ROUTE:
        return "security";
    case ATTACH_BEFORE:
        return "mangle";
    default:
        return "filter";
    }
}

static const char *builtin_chain(const struct plan_chain *chain)
{
    switch (chain->hook) {
    case NF_INET_LOCAL_IN:
        return "INPUT";
    case NF_INET_LOCAL_OUT:
        return "OUTPUT";
    case NF_INET_POST_ROUTING:
        return "POSTROUTING";
    default:
        return "FORWARD";
    }
}

/* Prints the name of a chain, shortened, because iptables limits chain names to 28 characters. */
static void print_own_name(struct text *out, const struct plan_chain *chain, const struct plan *plan)
{
    if (chain->base)
        text_printf(out, "%.20s_%s", plan->options->table, chain->name);
    else
        text_puts(out, chain->name);
}

static const char *iptables_note(const struct firewall_options *options)
{
    switch (options->mode) {
    case ATTACH_AFTER:
        return "The table security runs after filter, so bypass skips no firewall rule: the firewall has already "
               "decided.\n"
               "An SELinux policy with SECMARK rules uses that table, too.\n";
    case ATTACH_ROUTE:
        return "The table security runs after filter. If the next queue has no listener, the kernel drops the "
               "packets,\n"
               "unless --route-bypass is given (queue.route-bypass).\n";
    case ATTACH_BEFORE:
        return "The table mangle runs before filter. The jump is last in its chain, because accepted packets skip the\n"
               "rest of it.\n";
    case ATTACH_REPEAT:
        return "The rule is first in filter, among the rules of the firewall. There is no --queue-bypass: without a\n"
               "listener it would accept for the whole chain, which opens the firewall. No other program may use the\n"
               "mark. It is cleared when the packet has passed.\n";
    default:
        return "No rule jumps here yet: write `-j sluice_ips` in place of `-j ACCEPT`. Loading this file again "
               "empties\n"
               "sluice_exceptions.\n";
    }
}

/* Returns the iptables table for rules that handle marks: mangle, the first table, on postrouting; security, which
 * runs after filter, on other hooks. */
static const char *mark_table(const struct plan_chain *chain)
{
    return chain->hook == NF_INET_POST_ROUTING ? "mangle" : "security";
}

/* Prints a rule that handles marks in a built-in chain, or with `removes` the command that removes the rule. */
static void print_mark_rule(struct text *out, bool removes, const struct plan_chain *chain, enum plan_rule rule,
                            const struct plan *plan)
{
    if (removes)
        text_printf(out, "#   iptables -t %s -D %s ", mark_table(chain), builtin_chain(chain));
    else
        text_printf(out, "-A %s ", builtin_chain(chain));
    nft_rule_print_iptables(out, rule, plan);
    text_puts(out, "\n");
}

static void print_mark_rules(struct text *out, bool removes, const struct plan_chain *chain, const struct plan *plan)
{
    if (chain->unmarks) {
        print_mark_rule(out, removes, chain, RULE_UNMARK, plan);
    } else if (plan->options->offload.accept) {
        print_mark_rule(out, removes, chain, RULE_SAVE_ACCEPT, plan);
        print_mark_rule(out, removes, chain, RULE_SAVED_ACCEPT, plan);
    }
}

static void print_removal(struct text *out, const struct plan *plan)
{
    const char *table = iptables_table(plan->options->mode);

    text_puts(out, "# Remove it with these commands, for IPv6 with ip6tables:\n");
    for (unsigned i = 0; i < plan->chain_count; i++) {
        const struct plan_chain *chain = &plan->chains[plan->chain_count - 1 - i];

        if (chain->unmarks || chain->saves) {
            print_mark_rules(out, true, chain, plan);
            continue;
        }
        if (chain->base) {
            text_printf(out, "#   iptables -t %s -D %s -j ", table, builtin_chain(chain));
            print_own_name(out, chain, plan);
            text_puts(out, "\n");
        }
        text_printf(out, "#   iptables -t %s -F ", table);
        print_own_name(out, chain, plan);
        text_printf(out, " && iptables -t %s -X ", table);
        print_own_name(out, chain, plan);
        text_puts(out, "\n");
    }
}

void nft_plan_print_iptables(struct text *out, const struct plan *plan)
{
    const enum firewall_family family = plan->options->family;
    const bool repeats = plan->options->mode == ATTACH_REPEAT;

    print_head(out, plan->options, iptables_note(plan->options));
    text_puts(out, "#\n");
    text_printf(out, "# Load it with:\n#   %s%s%s\n", family == FIREWALL_IPV6 ? "" : "iptables-restore --noflush FILE",
                family == FIREWALL_IPV4 || family == FIREWALL_IPV6 ? "" : " && ",
                family == FIREWALL_IPV4 ? "" : "ip6tables-restore --noflush FILE");
    print_removal(out, plan);
    text_printf(out, "\n*%s\n", iptables_table(plan->options->mode));
    for (unsigned i = 0; i < plan->chain_count; i++) {
        if (plan->chains[i].unmarks || plan->chains[i].saves)
            continue;
        text_puts(out, ":");
        print_own_name(out, &plan->chains[i], plan);
        text_puts(out, " - [0:0]\n");
    }
    for (unsigned i = 0; i < plan->chain_count; i++) {
        const struct plan_chain *chain = &plan->chains[i];

        for (unsigned k = 0; k < chain->rule_count && !chain->unmarks && !chain->saves; k++) {
            size_t before = out->length;

            text_puts(out, "-A ");
            print_own_name(out, chain, plan);
            text_puts(out, " ");
            if (nft_rule_print_iptables(out, chain->rules[k], plan))
                text_puts(out, "\n");
            else
                out->length = before; /* remove what was printed of the rule: iptables has no such rule */
        }
    }
    for (unsigned i = 0; i < plan->chain_count; i++) {
        const struct plan_chain *chain = &plan->chains[i];

        if (!chain->base || chain->unmarks || chain->saves)
            continue;
        text_printf(out, "%s %s%s -j ", repeats ? "-I" : "-A", builtin_chain(chain), repeats ? " 1" : "");
        print_own_name(out, chain, plan);
        text_puts(out, "\n");
    }
    text_puts(out, "COMMIT\n");
    for (unsigned i = 0; i < plan->chain_count; i++) {
        const struct plan_chain *chain = &plan->chains[i];

        if (!chain->unmarks && !(chain->saves && plan->options->offload.accept))
            continue;
        text_printf(out, "*%s\n", mark_table(chain));
        print_mark_rules(out, false, chain, plan);
        text_puts(out, "COMMIT\n");
    }
}
