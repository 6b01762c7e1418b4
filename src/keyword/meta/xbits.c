/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xbits:set,NAME,track ip_src|ip_dst|ip_pair|tx[,expire SECONDS]; bits that rules set on an address or on a pair of
 * addresses, or, with track tx, on the transaction in which the rule has matched.
 *
 * As in Suricata a bit of a transaction can be set and tested, and only rules with a hook of an application protocol
 * can test it: the hook determines when.
 */
#include <errno.h>

#include "host_bit.h"
#include "option.h"
#include "state_name.h"

enum { XBITS_SECONDS = 30 };

struct xbits {
    struct host_bit bit;
    bool has_track, has_expire;
    bool is_tx; /* track tx */
};

/* --- Bits of transactions ------------------------------------------------------------------------- */

static bool tx_bit_is_set(const struct match_input *in, const void *data)
{
    return tx_bits_has(*in->bits, *(const uint32_t *)data);
}

static void set_tx_bit(const struct match_input *in, const void *data)
{
    if (in->transaction)
        tx_bits_set(in->heap, in->bits, *(const uint32_t *)data);
}

static int add_tx_bit(struct rule_parser *parser, struct span name, bool acts)
{
    uint32_t *number = arena_alloc(rule_parser_arena(parser), sizeof(*number));

    if (!number)
        return -ENOMEM;
    int err = state_name_number(parser, RULE_NAME_TX_BIT, name, acts ? RULE_STATE_WRITES : RULE_STATE_READS, number);

    if (err)
        return err;
    return acts ? rule_parser_add_action(parser, set_tx_bit, number, false)
                : rule_parser_add_transaction_condition(parser, number, false);
}

static int parse_tx_condition(struct rule_parser *parser, struct span name)
{
    return add_tx_bit(parser, name, false);
}

/* xbits:isset,NAME,track tx: a condition on the transaction. */
static const struct keyword tx_bit = {
    .name = "xbits",
    .kind = KEYWORD_TRANSACTION,
    .flags = KEYWORD_STATE,
    .parse = parse_tx_condition,
    .transaction = { .match = tx_bit_is_set, .is_state = true },
};

static int parse_tx_bit(struct rule_parser *parser, struct span value, struct span name, enum host_bit_command command)
{
    if (command == HOST_BIT_SET)
        return add_tx_bit(parser, name, true);
    if (command != HOST_BIT_IS_SET)
        return rule_parser_error(parser, value, "xbits with 'track tx' can only be 'set' or 'isset'");
    if (rule_parser_rule(parser)->hook.kind != RULE_HOOK_APP)
        return rule_parser_error(parser, value,
                                 "'isset' with 'track tx' needs a rule with a hook of an application protocol, such as "
                                 "'http1:request_line'");
    return rule_parser_parse_as(parser, &tx_bit, name);
}

/* --- Options -------------------------------------------------------------------------------------- */

static int set_track(struct rule_parser *parser, struct span value, void *data, int argument)
{
    static const char *const names[] = { "ip_src", "ip_dst", "ip_pair" }; /* indexed by enum host_bit_track */
    struct xbits *xbits = data;

    (void)argument;
    if (xbits->has_track)
        return rule_parser_error(parser, value, "'track' was given before");
    xbits->has_track = true;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (span_equal(value, names[i])) {
            xbits->bit.track = (enum host_bit_track)i;
            return 0;
        }
    }
    xbits->is_tx = span_equal(value, "tx");
    if (xbits->is_tx)
        return 0;
    return rule_parser_error(parser, value, "'track' must be ip_src, ip_dst, ip_pair or tx, got '" SPAN_FORMAT "'",
                             SPAN_ARGS(value));
}

static int set_expire(struct rule_parser *parser, struct span value, void *data, int argument)
{
    struct xbits *xbits = data;
    int64_t seconds = 0;

    (void)argument;
    if (xbits->has_expire)
        return rule_parser_error(parser, value, "'expire' was given before");
    xbits->has_expire = true;
    int err = option_number(parser, value, "the number of seconds", 1, UINT32_MAX, &seconds);

    xbits->bit.expire_seconds = (uint32_t)seconds;
    return err;
}

static int xbits_parse(struct rule_parser *parser, struct span value)
{
    static const struct option options[] = {
        { "track", set_track, 0, true },
        { "expire", set_expire, 0, true },
    };
    struct xbits xbits = { .bit.expire_seconds = XBITS_SECONDS };
    struct span name, rest = value;
    bool done;
    int err = host_bit_parse_command(parser, &rest, &xbits.bit.command, &done);

    if (err || done)
        return err;
    span_next(&rest, ',', &name);
    err = option_list(parser, rest, options, sizeof(options) / sizeof(options[0]), &xbits);
    if (!err && !xbits.has_track)
        err = rule_parser_error(parser, value,
                                "'xbits' needs 'track ip_src', 'track ip_dst', 'track ip_pair' or 'track tx'");
    if (!err && xbits.is_tx && xbits.has_expire)
        rule_parser_warning(parser, value, "'expire' has no effect: a bit of a transaction ends with the transaction");
    if (err)
        return err;
    return xbits.is_tx ? parse_tx_bit(parser, value, name, xbits.bit.command) : host_bit_add(parser, name, &xbits.bit);
}

const struct keyword keyword_xbits = {
    .name = "xbits",
    .value = "set|unset|toggle|isset|isnotset,NAME,track ip_src|ip_dst|ip_pair[,expire SECONDS]; "
             "set|isset,NAME,track tx; or noalert",
    .help = "test or change named bits of an address, of a pair of addresses or of a transaction",
    .manual = "isset and isnotset are conditions; set, unset and toggle run after the rule has matched. A "
              "bit expires after `expire` seconds (default 30). A pair is the same in both directions. "
              "With track tx, set sets the bit on the transaction in which the rule has matched, for as long as the "
              "transaction exists; isset needs a rule with a hook of an application protocol. A transaction has at "
              "most 64 bits.",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_STATE | KEYWORD_IP_ONLY,
    .parse = xbits_parse,
    .packet = { .cost = 2, .match = host_bit_match },
};
