/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xbits:set,NAME,track ip_src|ip_dst|ip_pair[,expire SECONDS]; bits that rules set on an address or on a pair of
 * addresses. Transaction bits (track tx) are not supported.
 */
#include "host_bit.h"
#include "option.h"

enum { XBITS_SECONDS = 30 };

struct xbits {
    struct host_bit bit;
    bool has_track, has_expire;
};

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
    if (span_equal(value, "tx"))
        return rule_parser_unsupported(parser, value, "xbits track tx", "bits of transactions are not supported");
    return rule_parser_error(parser, value, "'track' must be ip_src, ip_dst or ip_pair, got '" SPAN_FORMAT "'",
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
        err = rule_parser_error(parser, value, "'xbits' needs 'track ip_src', 'track ip_dst' or 'track ip_pair'");
    return err ? err : host_bit_add(parser, name, &xbits.bit);
}

const struct keyword keyword_xbits = {
    .name = "xbits",
    .value = "set|unset|toggle|isset|isnotset,NAME,track ip_src|ip_dst|ip_pair[,expire SECONDS]; or noalert",
    .help = "test or change named bits of an address or of a pair of addresses",
    .manual = "isset and isnotset are conditions; set, unset and toggle run after the rule has matched. A "
              "bit expires after `expire` seconds (default 30). A pair is the same in both directions. "
              "track tx is not supported.",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_STATE | KEYWORD_IP_ONLY,
    .parse = xbits_parse,
    .packet = { .cost = 2, .match = host_bit_match },
};
