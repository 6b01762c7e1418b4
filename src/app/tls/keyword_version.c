/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Conditions on the version and on the progress of the handshake: tls.version, ssl_version, ssl_state.
 */
#include <errno.h>

#include "tls_priv.h"

static uint16_t version_of(const struct app_tx *tx, enum flow_direction direction)
{
    return tls_tx_of(tx)->side[direction].version;
}

/* Maps the drafts 0x7fXX of TLS 1.3, and the drafts 0xfbXX of early clients, to TLS 1.3. */
static uint16_t map_draft(uint16_t version)
{
    return version >> 8 == 0x7f || version >> 8 == 0xfb ? TLS_13 : version;
}

struct name_value {
    const char *name;
    unsigned value;
};

static bool find_name(const struct name_value *names, struct span text, unsigned *value)
{
    for (; names->name; names++) {
        if (span_equal_nocase(text, names->name)) {
            *value = names->value;
            return true;
        }
    }
    return false;
}

/* --- tls.version ---------------------------------------------------------------------------------- */

struct version_condition {
    uint16_t version;
    bool is_raw; /* the version was given in hexadecimal: only this version matches; false: TLS 1.3 also matches drafts
                    (map_draft()) */
};

static int tls_version_parse(struct rule_parser *parser, struct span value)
{
    static const struct name_value names[] = {
        { "1.0", TLS_10 }, { "1.1", TLS_11 }, { "1.2", TLS_12 }, { "1.3", TLS_13 }, { NULL, 0 },
    };
    struct version_condition *condition = arena_alloc(rule_parser_arena(parser), sizeof(*condition));
    unsigned named;
    uint64_t number;

    if (!condition)
        return -ENOMEM;
    if (find_name(names, value, &named))
        *condition = (struct version_condition){ (uint16_t)named, false };
    else if (value.length > 2 && value.at[0] == '0' && (value.at[1] == 'x' || value.at[1] == 'X') &&
             span_to_uint(value, 1, UINT16_MAX, &number))
        *condition = (struct version_condition){ (uint16_t)number, true };
    else
        return rule_parser_error(parser, value,
                                 "tls.version must be 1.0, 1.1, 1.2, 1.3 or a hexadecimal number such as 0x7f12");
    return rule_parser_add_transaction_condition(parser, condition, rule_parser_is_negated(parser));
}

static bool tls_version_match(const struct match_input *in, const void *data)
{
    const struct version_condition *condition = data;
    uint16_t version = version_of(in->transaction, in->direction);

    return (condition->is_raw ? version : map_draft(version)) == condition->version;
}

const struct keyword keyword_tls_version = {
    .name = "tls.version",
    .value = "[!]1.0|1.1|1.2|1.3|0xNUMBER",
    .help = "TLS version of the hello",
    .manual = "For the client the first version offered, for the server the selected one. 1.3 includes its drafts.",
    .kind = KEYWORD_TRANSACTION,
    .flags = KEYWORD_QUOTED | KEYWORD_NEGATABLE,
    .scope = { tls_applications, APP_BOTH },
    .parse = tls_version_parse,
    .transaction = { .match = tls_version_match },
};

/* --- ssl_version ---------------------------------------------------------------------------------- */

enum { VERSION_COUNT = 6 };

struct version_set {
    uint8_t listed; /* bit set of versions, by version_index() */
    bool negated;   /* versions that are not listed match */
};

/* Returns the bit number of a version; VERSION_COUNT for versions without a name. */
static unsigned version_index(uint16_t version)
{
    version = map_draft(version);
    if (version == TLS_SSL2)
        return 0;
    return version >= TLS_SSL3 && version <= TLS_13 ? 1 + (version - TLS_SSL3) : VERSION_COUNT;
}

/* As in Suricata, ! before the first version negates the whole list. It may be repeated before the other versions. */
static int add_version(struct rule_parser *parser, struct span part, struct version_set *set)
{
    static const struct name_value names[] = {
        { "sslv2", 0 }, { "sslv3", 1 }, { "tls1.0", 2 }, { "tls1.1", 3 }, { "tls1.2", 4 }, { "tls1.3", 5 }, { NULL, 0 },
    };
    bool negated = part.length > 0 && part.at[0] == '!';
    struct span name = negated ? span_trim((struct span){ part.at + 1, part.length - 1 }) : part;
    unsigned index;

    if (!find_name(names, name, &index))
        return rule_parser_error(parser, part,
                                 "unknown version: ssl_version supports sslv2, sslv3, tls1.0, tls1.1, tls1.2, tls1.3");
    if (set->listed >> index & 1)
        return rule_parser_error(parser, part, "'" SPAN_FORMAT "' is listed twice", SPAN_ARGS(name));
    if (negated && set->listed && !set->negated)
        return rule_parser_error(parser, part, "'!' must precede the first version: it negates the whole list");
    set->negated |= negated;
    set->listed |= (uint8_t)(1u << index);
    return 0;
}

static int ssl_version_parse(struct rule_parser *parser, struct span value)
{
    struct version_set *set = arena_alloc(rule_parser_arena(parser), sizeof(*set));
    struct span part;

    if (!set)
        return -ENOMEM;
    *set = (struct version_set){ 0 };
    for (struct span rest = value; span_next(&rest, ',', &part);) {
        int err = add_version(parser, part, set);

        if (err)
            return err;
    }
    return rule_parser_add_transaction_condition(parser, set, false);
}

static bool ssl_version_match(const struct match_input *in, const void *data)
{
    const struct version_set *set = data;
    unsigned index = version_index(version_of(in->transaction, in->direction));

    return index < VERSION_COUNT && (set->listed >> index & 1) != set->negated;
}

const struct keyword keyword_ssl_version = {
    .name = "ssl_version",
    .value = "[!]VERSION[,...]: sslv2, sslv3, tls1.0, tls1.1, tls1.2, tls1.3",
    .help = "True if the version is one of these; with !, if it is none of these",
    .kind = KEYWORD_TRANSACTION,
    .flags = KEYWORD_QUOTED,
    .scope = { tls_applications, APP_BOTH },
    .parse = ssl_version_parse,
    .transaction = { .match = ssl_version_match },
};

/* --- ssl_state ------------------------------------------------------------------------------------ */

struct state_set {
    unsigned listed, excluded; /* bits TLS_SAW_* of the states without ! (listed) and with ! (excluded) */
};

static int add_state(struct rule_parser *parser, struct span part, struct state_set *set)
{
    static const struct name_value names[] = {
        { "client_hello", TLS_SAW_CLIENT_HELLO },
        { "server_hello", TLS_SAW_SERVER_HELLO },
        { "client_keyx", TLS_SAW_CLIENT_KEY },
        { "server_keyx", TLS_SAW_SERVER_KEY },
        { "unknown", 0 },
        { NULL, 0 },
    };
    bool negated = part.length > 0 && part.at[0] == '!';
    struct span name = negated ? span_trim((struct span){ part.at + 1, part.length - 1 }) : part;
    unsigned bit;

    if (!find_name(names, name, &bit))
        return rule_parser_error(
            parser, part,
            "unknown state: ssl_state supports client_hello, server_hello, client_keyx, server_keyx, unknown");
    if (negated)
        set->excluded |= bit;
    else
        set->listed |= bit;
    return 0;
}

static int ssl_state_parse(struct rule_parser *parser, struct span value)
{
    struct state_set *set = arena_alloc(rule_parser_arena(parser), sizeof(*set));
    struct span rest = value;

    if (!set)
        return -ENOMEM;
    *set = (struct state_set){ 0 };
    do { /* names are separated by commas or bars */
        struct span part = { rest.at, 0 };
        int err;

        while (part.length < rest.length && part.at[part.length] != ',' && part.at[part.length] != '|')
            part.length++;
        size_t taken = part.length + (part.length < rest.length);

        rest = (struct span){ rest.at + taken, rest.length - taken };
        err = add_state(parser, span_trim(part), set);
        if (err)
            return err;
    } while (rest.length > 0);
    return rule_parser_add_transaction_condition(parser, set, false);
}

static bool ssl_state_match(const struct match_input *in, const void *data)
{
    const struct state_set *set = data;
    unsigned flags = tls_tx_of(in->transaction)->flags;

    return (flags & set->listed) || (set->excluded & ~flags);
}

const struct keyword keyword_ssl_state = {
    .name = "ssl_state",
    .value = "[!]client_hello|server_hello|client_keyx|server_keyx|unknown[,...]",
    .help = "True if one of these messages was seen; with !, if one was not seen yet; unknown never matches",
    .kind = KEYWORD_TRANSACTION,
    .scope = { tls_applications, APP_BOTH },
    .parse = ssl_state_parse,
    .transaction = { .match = ssl_state_match },
};
