/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses that are never blocked: those of nft.blocklist.never, which has the syntax of rules and may contain
 * variables, and special addresses (is_special()). The setting is parsed as the source of a rule, so it has the same
 * meaning as in rules.
 */
#include "sluice/block_exemptions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/address.h"
#include "sluice/config.h"
#include "sluice/keyword.h"
#include "sluice/rule.h"
#include "sluice/setup.h"
#include "sluice/text.h"

struct block_exemptions {
    struct rule_list *list; /* NULL: nft.blocklist.never is none */
    const struct address_set *addresses;
};

static int parse_addresses(struct block_exemptions *never, const struct config *config, const char *value,
                           struct diag *diag)
{
    struct keyword_table *keywords = keyword_table_new(keyword_list, keyword_list_count);
    struct rule_variables *variables = NULL;
    const struct rule_list_options options = { .keywords = keywords };
    struct rule_list_options with_variables = options;
    struct text text;
    int err = keywords ? setup_rule_variables(&variables, config) : -ENOMEM;

    text_init(&text);
    text_printf(&text, "alert ip %s any -> any any (sid:1;)", value);
    with_variables.variables = variables;
    if (!err && text.failed)
        err = -ENOMEM;
    if (!err)
        err = rule_list_new(&never->list, &with_variables, diag);
    if (!err)
        err = rule_list_parse(never->list, "nft.blocklist.never", text.bytes, text.length, diag);
    if (!err)
        err = rule_list_finish(never->list, diag);
    if (!err && rule_list_count(never->list) != 1)
        err = -EINVAL;
    if (!err)
        never->addresses = rule_list_get(never->list, 0)->source;
    text_clear(&text);
    rule_variables_free(variables);
    keyword_table_free(keywords);
    return err;
}

int block_exemptions_new(struct block_exemptions **out, const struct config *config, struct diag *diag)
{
    struct firewall_settings firewall;
    struct block_exemptions *never = calloc(1, sizeof(*never));
    int err = 0;

    if (!never)
        return -ENOMEM;
    firewall_settings_read(config, &firewall);
    if (strcmp(firewall.never_blocked, "none") != 0)
        err = parse_addresses(never, config, firewall.never_blocked, diag);
    if (err) {
        block_exemptions_free(never);
        return err;
    }
    *out = never;
    return 0;
}

void block_exemptions_free(struct block_exemptions *never)
{
    if (!never)
        return;
    rule_list_free(never->list);
    free(never);
}

/* Addresses that are never a single host (unspecified, loopback, multicast), and link-local IPv6, which the network
 * itself needs. */
static const struct special {
    int version;
    uint8_t first[2]; /* the first two bytes */
    unsigned prefix;
    bool last_one; /* true: the last byte of the address is 1, as in ::1; false: it is 0 */
} specials[] = {
    { 4, { 0 }, 8, false },  { 4, { 127 }, 8, false },  { 4, { 224 }, 3, false },         { 6, { 0 }, 128, false },
    { 6, { 0 }, 128, true }, { 6, { 0xff }, 8, false }, { 6, { 0xfe, 0x80 }, 10, false },
};

static struct range range_of(const struct special *special)
{
    const unsigned bits = (special->version == 4 ? 32 : 128) - special->prefix;
    struct address address = { .bytes = { special->first[0], special->first[1] } };
    wide low;

    address.bytes[15] = special->last_one;
    low = address_to_number(&address, special->version);
    return (struct range){ .low = low, .high = low | (((wide)1 << bits) - 1) };
}

static bool is_special(int version, const struct address *address)
{
    const wide number = address_to_number(address, version);

    for (size_t i = 0; i < sizeof(specials) / sizeof(specials[0]); i++) {
        const struct range range = range_of(&specials[i]);

        if (specials[i].version == version && number >= range.low && number <= range.high)
            return true;
    }
    return false;
}

int block_exemptions_ranges(const struct block_exemptions *never, int version, struct range_list *out)
{
    const struct address_set *set = never->addresses;
    int err = 0;

    for (size_t i = 0; i < sizeof(specials) / sizeof(specials[0]) && !err; i++) {
        const struct range range = range_of(&specials[i]);

        if (specials[i].version == version)
            err = range_list_add(out, range.low, range.high);
    }
    for (uint32_t i = 0; set && version == 4 && i < set->count4 && !err; i++)
        err = range_list_add(out, set->range4[i].low, set->range4[i].high);
    for (uint32_t i = 0; set && version == 6 && i < set->count6 && !err; i++)
        err =
            range_list_add(out, address_to_number(&set->range6[i].low, 6), address_to_number(&set->range6[i].high, 6));
    if (!err)
        range_list_normalise(out);
    return err;
}

bool block_exemptions_contain(const struct block_exemptions *never, int version, const struct address *address)
{
    return is_special(version, address) || (never->addresses && address_set_has(never->addresses, version, address));
}

bool block_exemptions_are_all(const struct block_exemptions *never)
{
    return never->addresses && never->addresses->any;
}
