/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Conditions on the server's certificate: the legacy keywords tls.subject, tls.issuerdn and tls.fingerprint, the length
 * of the chain, and the validity period.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "sluice/der.h"
#include "sluice/number_range.h"

#include "tls_priv.h"

static const struct tls_certificates *server_certificates(const struct app_tx *tx)
{
    const struct tls_certificates *certificates = &tls_tx_of(tx)->side[FLOW_TO_CLIENT].certificates;

    return certificates->decoded ? certificates : NULL;
}

/* --- tls.subject, tls.issuerdn -------------------------------------------------------------------- */

static int add_text(struct rule_parser *parser, struct span value)
{
    struct span *text = arena_alloc(rule_parser_arena(parser), sizeof(*text));
    char *copy = arena_alloc(rule_parser_arena(parser), value.length + 1);

    if (!text || !copy)
        return -ENOMEM;
    memcpy(copy, value.at, value.length);
    copy[value.length] = '\0';
    *text = (struct span){ copy, value.length };
    return rule_parser_add_transaction_condition(parser, text, rule_parser_is_negated(parser));
}

static int text_parse(struct rule_parser *parser, struct span value)
{
    if (value.length == 0)
        return rule_parser_error(parser, value, "the text to search for is missing");
    return add_text(parser, value);
}

static bool has_text(const struct tls_certificates *certificates, struct tls_piece piece, const struct span *text)
{
    return memmem(certificates->text + piece.at, piece.length, text->at, text->length) != NULL;
}

static bool tls_subject_match(const struct match_input *in, const void *data)
{
    const struct tls_certificates *certificates = server_certificates(in->transaction);

    return certificates && has_text(certificates, certificates->subject, data);
}

static bool tls_issuerdn_match(const struct match_input *in, const void *data)
{
    const struct tls_certificates *certificates = server_certificates(in->transaction);

    return certificates && has_text(certificates, certificates->issuer, data);
}

const struct keyword keyword_tls_subject = {
    .name = "tls.subject",
    .value = "[!]\"TEXT\"",
    .help = "True if the subject of the server's certificate contains this text",
    .manual = "New rules should use tls.cert_subject with content.",
    .kind = KEYWORD_TRANSACTION,
    .flags = KEYWORD_QUOTED | KEYWORD_NEGATABLE,
    .scope = { tls_applications, APP_TO_CLIENT },
    .parse = text_parse,
    .transaction = { .match = tls_subject_match },
};

const struct keyword keyword_tls_issuerdn = {
    .name = "tls.issuerdn",
    .value = "[!]\"TEXT\"",
    .help = "True if the issuer of the server's certificate contains this text",
    .manual = "New rules should use tls.cert_issuer with content.",
    .kind = KEYWORD_TRANSACTION,
    .flags = KEYWORD_QUOTED | KEYWORD_NEGATABLE,
    .scope = { tls_applications, APP_TO_CLIENT },
    .parse = text_parse,
    .transaction = { .match = tls_issuerdn_match },
};

/* --- tls.fingerprint ------------------------------------------------------------------------------ */

static bool is_fingerprint(struct span text)
{
    if (text.length != sizeof((struct tls_certificates){ 0 }.fingerprint))
        return false;
    for (size_t i = 0; i < text.length; i++) {
        if (i % 3 == 2 ? text.at[i] != ':' : !isxdigit((unsigned char)text.at[i]))
            return false;
    }
    return true;
}

static int tls_fingerprint_parse(struct rule_parser *parser, struct span value)
{
    if (!is_fingerprint(value))
        return rule_parser_error(
            parser, value, "a fingerprint must be 20 hexadecimal bytes separated by colons, such as \"4a:a3:...\"");
    return add_text(parser, value);
}

static bool tls_fingerprint_match(const struct match_input *in, const void *data)
{
    const struct tls_certificates *certificates = server_certificates(in->transaction);
    const struct span *text = data;

    return certificates && strncasecmp(certificates->fingerprint, text->at, sizeof(certificates->fingerprint)) == 0;
}

const struct keyword keyword_tls_fingerprint = {
    .name = "tls.fingerprint",
    .value = "[!]\"XX:XX:...\"",
    .help = "True if the server's certificate has this SHA-1 fingerprint",
    .kind = KEYWORD_TRANSACTION,
    .flags = KEYWORD_QUOTED | KEYWORD_NEGATABLE,
    .scope = { tls_applications, APP_TO_CLIENT },
    .parse = tls_fingerprint_parse,
    .transaction = { .match = tls_fingerprint_match },
};

/* --- tls.cert_chain_len --------------------------------------------------------------------------- */

static int tls_cert_chain_len_parse(struct rule_parser *parser, struct span value)
{
    struct number_range *range = arena_alloc(rule_parser_arena(parser), sizeof(*range));

    if (!range)
        return -ENOMEM;
    int err = number_range_parse(parser, value, UINT32_MAX, NULL, range);

    return err ? err : rule_parser_add_transaction_condition(parser, range, false);
}

static bool tls_cert_chain_len_match(const struct match_input *in, const void *data)
{
    const struct tls_tx *tls = tls_tx_of(in->transaction);
    uint32_t count = tls->side[in->direction].certificates.count;

    /* A client that sent no Certificate message has no chain, so a condition on length 0 does not match either. */
    if (count == 0 && in->direction == FLOW_TO_SERVER && !(tls->flags & TLS_SAW_CLIENT_CERTIFICATE))
        return false;
    return number_range_has(data, count);
}

const struct keyword keyword_tls_cert_chain_len = {
    .name = "tls.cert_chain_len",
    .value = NUMBER_RANGE_FORM,
    .help = "number of certificates in the Certificate message",
    .kind = KEYWORD_TRANSACTION,
    .scope = { tls_applications, APP_BOTH },
    .parse = tls_cert_chain_len_parse,
    .transaction = { .match = tls_cert_chain_len_match },
};

/* --- Validity ------------------------------------------------------------------------------------- */

struct time_range {
    int64_t low, high; /* seconds since 1970, both inclusive */
};

static bool has_only_digits(struct span text)
{
    for (size_t i = 0; i < text.length; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
    }
    return text.length > 0;
}

/* Reads a number of `digits` digits. One of the characters in `separators` must precede it, unless that set is empty.
 */
static bool read_number(struct span *rest, const char *separators, size_t digits, uint64_t *out)
{
    if (*separators) {
        if (rest->length == 0 || !strchr(separators, rest->at[0]))
            return false;
        *rest = (struct span){ rest->at + 1, rest->length - 1 };
    }
    struct span number = { rest->at, digits };

    if (rest->length < digits || !has_only_digits(number) || !span_to_uint(number, 0, 9999, out))
        return false;
    *rest = (struct span){ rest->at + digits, rest->length - digits };
    return true;
}

/* Parses YYYY[-MM[-DD[(T| )HH[:MM[:SS]]]]] in UTC; omitted parts have their lowest value. */
static bool parse_date(struct span text, int64_t *out)
{
    static const char *const separators[] = { "", "-", "-", "T ", ":", ":" };
    uint64_t part[6] = { 0, 1, 1, 0, 0, 0 };
    static const uint64_t high[6] = { 9999, 12, 31, 23, 59, 60 };

    for (size_t i = 0; i < 6 && (i == 0 || text.length > 0); i++) {
        if (!read_number(&text, separators[i], i == 0 ? 4 : 2, &part[i]) || part[i] > high[i])
            return false;
    }
    if (text.length > 0 || part[1] == 0 || part[2] == 0)
        return false;
    *out = der_day_seconds((unsigned)part[0], (unsigned)part[1], (unsigned)part[2]) +
           (int64_t)(part[3] * 3600 + part[4] * 60 + part[5]);
    return true;
}

/* Parses a time. Digits only are a year if there are four, and seconds since 1970 otherwise. */
static bool parse_time(struct span text, int64_t *out)
{
    uint64_t seconds;

    if (!has_only_digits(text) || text.length == 4)
        return parse_date(text, out);
    if (!span_to_uint(text, 0, INT64_MAX, &seconds))
        return false;
    *out = (int64_t)seconds;
    return true;
}

static bool parse_time_range(struct span value, struct time_range *out)
{
    const char *between = memmem(value.at, value.length, "<>", 2);

    *out = (struct time_range){ INT64_MIN, INT64_MAX };
    if (between) {
        struct span low = { value.at, (size_t)(between - value.at) };
        struct span high = { between + 2, value.length - low.length - 2 };

        return parse_time(span_trim(low), &out->low) && parse_time(span_trim(high), &out->high) &&
               out->low <= out->high;
    }
    struct span rest = value.length > 0 ? span_trim((struct span){ value.at + 1, value.length - 1 }) : value;

    if (value.length > 0 && value.at[0] == '<')
        return parse_time(rest, &out->high);
    if (value.length > 0 && value.at[0] == '>')
        return parse_time(rest, &out->low);
    if (!parse_time(value, &out->low))
        return false;
    out->high = out->low;
    return true;
}

static int time_parse(struct rule_parser *parser, struct span value)
{
    struct time_range *range = arena_alloc(rule_parser_arena(parser), sizeof(*range));

    if (!range)
        return -ENOMEM;
    if (!parse_time_range(value, range))
        return rule_parser_error(
            parser, value,
            "expected TIME, <TIME, >TIME or TIME<>TIME, where TIME is YYYY[-MM[-DD[THH[:MM[:SS]]]]] or "
            "seconds since 1970");
    return rule_parser_add_transaction_condition(parser, range, false);
}

static bool time_range_has(const struct time_range *range, int64_t seconds)
{
    return seconds >= range->low && seconds <= range->high;
}

static bool notbefore_match(const struct match_input *in, const void *data)
{
    const struct tls_certificates *certificates = server_certificates(in->transaction);

    return certificates && time_range_has(data, certificates->not_before);
}

static bool notafter_match(const struct match_input *in, const void *data)
{
    const struct tls_certificates *certificates = server_certificates(in->transaction);

    return certificates && time_range_has(data, certificates->not_after);
}

#define TIME_FORM "[<|>]TIME or TIME<>TIME; a TIME is YYYY[-MM[-DD[THH[:MM[:SS]]]]] or seconds since 1970"

const struct keyword keyword_tls_cert_notbefore = {
    .name = "tls_cert_notbefore",
    .value = TIME_FORM,
    .help = "start of the validity period of the server's certificate (notBefore)",
    .manual = "The times themselves belong to the range.",
    .kind = KEYWORD_TRANSACTION,
    .flags = KEYWORD_QUOTED,
    .scope = { tls_applications, APP_TO_CLIENT },
    .parse = time_parse,
    .transaction = { .match = notbefore_match },
};

const struct keyword keyword_tls_cert_notafter = {
    .name = "tls_cert_notafter",
    .value = TIME_FORM,
    .help = "end of the validity period of the server's certificate (notAfter)",
    .manual = "The times themselves belong to the range.",
    .kind = KEYWORD_TRANSACTION,
    .flags = KEYWORD_QUOTED,
    .scope = { tls_applications, APP_TO_CLIENT },
    .parse = time_parse,
    .transaction = { .match = notafter_match },
};

static int current_time_parse(struct rule_parser *parser, struct span value)
{
    (void)value;
    return rule_parser_add_transaction_condition(parser, NULL, false);
}

static int64_t packet_seconds(const struct match_input *in)
{
    return (int64_t)(in->packet->time_ns / 1000000000u);
}

static bool expired_match(const struct match_input *in, const void *data)
{
    const struct tls_certificates *certificates = server_certificates(in->transaction);

    (void)data;
    return certificates && certificates->not_after < packet_seconds(in);
}

static bool valid_match(const struct match_input *in, const void *data)
{
    const struct tls_certificates *certificates = server_certificates(in->transaction);

    (void)data;
    return certificates && certificates->not_before < packet_seconds(in) &&
           certificates->not_after > packet_seconds(in);
}

const struct keyword keyword_tls_cert_expired = {
    .name = "tls_cert_expired",
    .help = "True if the server's certificate has expired at the time of the packet",
    .kind = KEYWORD_TRANSACTION,
    .flags = KEYWORD_NO_VALUE,
    .scope = { tls_applications, APP_TO_CLIENT },
    .parse = current_time_parse,
    .transaction = { .match = expired_match },
};

const struct keyword keyword_tls_cert_valid = {
    .name = "tls_cert_valid",
    .help = "True if the server's certificate is valid at the time of the packet",
    .kind = KEYWORD_TRANSACTION,
    .flags = KEYWORD_NO_VALUE,
    .scope = { tls_applications, APP_TO_CLIENT },
    .parse = current_time_parse,
    .transaction = { .match = valid_match },
};
