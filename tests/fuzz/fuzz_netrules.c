/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Live rulesets as the kernel sends them. The first byte says what follows: 0 messages of nf_tables, 1 of policy
 * routing and links, 2 a legacy table of IPv4, 3 of IPv6 (what IPT_SO_GET_INFO gives, then the entries). The contract:
 * whatever comes, the model is whole (every rule has a text and its own chain, a queue's range is one), and the
 * doctor's report says what, why and what to do.
 */
#include <linux/netfilter_ipv4/ip_tables.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/doctor.h"
#include "sluice/netrules.h"
#include "sluice/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MESSAGES = 4096 };

static void require(bool is)
{
    if (!is)
        abort();
}

static size_t length_at(const uint8_t *data, size_t size)
{
    struct nlmsghdr header;

    if (size < sizeof(header))
        return 0;
    memcpy(&header, data, sizeof(header));
    return header.nlmsg_len < sizeof(header) || header.nlmsg_len > size ? size : header.nlmsg_len;
}

static bool is_link(const uint8_t *data, size_t length)
{
    struct nlmsghdr header = { .nlmsg_type = 0 };

    if (length >= sizeof(header))
        memcpy(&header, data, sizeof(header));
    return header.nlmsg_type == RTM_NEWLINK;
}

static void add_messages(struct netrules *ruleset, bool routes, const uint8_t *data, size_t size)
{
    for (int i = 0; i < MESSAGES && size > 0; i++) {
        size_t length = length_at(data, size), next = NLMSG_ALIGN(length) < size ? NLMSG_ALIGN(length) : size;
        int err = length == 0                       ? -1
                  : routes && is_link(data, length) ? netrules_add_link(ruleset, data, length)
                  : routes                          ? netrules_add_route(ruleset, data, length)
                                                    : netrules_add_message(ruleset, data, length);

        require(err <= 0);
        if (length == 0)
            break;
        data += next;
        size -= next;
    }
}

static void add_legacy(struct netrules *ruleset, bool ipv6, const uint8_t *data, size_t size)
{
    size_t info = sizeof(struct ipt_getinfo) < size ? sizeof(struct ipt_getinfo) : size;

    netrules_add_legacy(ruleset, ipv6, data, info, data + info, size - info);
}

static void check_rule(const struct netrules_chain *chain, const struct netrules_rule *rule)
{
    require(rule->chain == chain && rule->text);
    if (rule->verdict == NETRULES_QUEUE)
        require(rule->queue.first <= rule->queue.last);
    if (rule->established || rule->only_loopback || rule->matches_connection_mark)
        require(rule->conditional);
}

static void check_model(const struct netrules *ruleset)
{
    unsigned chains = 0;

    for (const struct netrules_table *table = ruleset->tables; table; table = table->next) {
        require(table->name != NULL);
        for (const struct netrules_chain *chain = table->chains; chain; chain = chain->next, chains++) {
            size_t rules = 0;

            require(chain->table == table && chain->name && chain->type && chain->number < ruleset->chain_count);
            for (const struct netrules_rule *rule = chain->rules; rule; rule = rule->next, rules++)
                check_rule(chain, rule);
            require(rules == chain->rule_count);
        }
    }
    require(chains == ruleset->chain_count);
}

static void check_report(const struct netrules *ruleset)
{
    struct doctor_input input = { .repeats = false };
    struct doctor_report *report;
    struct text out;

    firewall_options_default(&input.options);
    input.options.queue_last = 3;
    require(doctor_examine(&report, ruleset, &input) == 0);
    for (const struct doctor_finding *finding = report->findings; finding; finding = finding->next) {
        require(finding->id && finding->what && finding->why && finding->remedy);
        require(!finding->next || finding->next->severity <= finding->severity);
        require(!finding->rule || finding->chain == finding->rule->chain);
    }
    text_init(&out);
    doctor_print(&out, report);
    doctor_print_json(&out, report);
    require(!out.failed);
    text_clear(&out);
    doctor_report_free(report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct netrules *ruleset = netrules_new();

    require(ruleset != NULL);
    if (size > 0 && data[0] < 2)
        add_messages(ruleset, data[0] == 1, data + 1, size - 1);
    else if (size > 0)
        add_legacy(ruleset, data[0] & 1, data + 1, size - 1);
    check_model(ruleset);
    check_report(ruleset);
    netrules_free(ruleset);
    return 0;
}
