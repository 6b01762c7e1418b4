/* SPDX-License-Identifier: GPL-2.0-or-later */
/* NTP keywords: fields of the header. */
#include "ntp_priv.h"
#include "sluice/number_range.h"

static const char *const applications[] = { "ntp", NULL };

static const struct number_name mode_names[] = {
    { "reserved", 0 },  { "symmetric_active", 1 }, { "symmetric_passive", 2 }, { "client", 3 }, { "server", 4 },
    { "broadcast", 5 }, { "control", 6 },          { "private", 7 },           { NULL, 0 },
};

static bool version_match(const struct match_input *in, const void *data)
{
    const struct ntp_tx *ntp = (const struct ntp_tx *)in->transaction;

    return ntp->parsed && number_range_has(data, ntp->version);
}

static bool mode_match(const struct match_input *in, const void *data)
{
    const struct ntp_tx *ntp = (const struct ntp_tx *)in->transaction;

    return ntp->parsed && number_range_has(data, ntp->mode);
}

static bool stratum_match(const struct match_input *in, const void *data)
{
    const struct ntp_tx *ntp = (const struct ntp_tx *)in->transaction;

    return ntp->parsed && number_range_has(data, ntp->stratum);
}

static int number_parse(struct rule_parser *parser, struct span value)
{
    const struct number_name *names = rule_parser_keyword(parser) == &keyword_ntp_mode ? mode_names : NULL;

    return number_range_transaction_condition(parser, value, UINT8_MAX, names);
}

const struct keyword keyword_ntp_version = {
    .name = "ntp.version",
    .value = NUMBER_RANGE_FORM,
    .help = "version of an NTP message: 3 or 4",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = number_parse,
    .transaction = { .match = version_match },
};

const struct keyword keyword_ntp_mode = {
    .name = "ntp.mode",
    .value = NUMBER_RANGE_FORM " or [!]NAME",
    .help = "mode of an NTP message by number or name: 3 or client; reserved, symmetric_active, symmetric_passive, "
            "server, broadcast, "
            "control, private",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = number_parse,
    .transaction = { .match = mode_match },
};

const struct keyword keyword_ntp_stratum = {
    .name = "ntp.stratum",
    .value = NUMBER_RANGE_FORM,
    .help = "stratum in an NTP message",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = number_parse,
    .transaction = { .match = stratum_match },
};

static bool get_reference(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct ntp_tx *ntp = (const struct ntp_tx *)tx;

    (void)which;
    *out = (struct app_bytes){ .bytes = ntp->reference, .length = NTP_REFERENCE_LENGTH };
    return ntp->parsed;
}

const struct keyword keyword_ntp_reference_id = {
    .name = "ntp.reference_id",
    .help = "reference identifier of an NTP message (four bytes)",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct app_buffer ntp_buffers[NTP_BUFFERS] = {
    { &keyword_ntp_reference_id, APP_BOTH, NTP_COMPLETE, .get = get_reference },
};

const struct app_condition ntp_conditions[NTP_CONDITIONS] = {
    { &keyword_ntp_version, APP_BOTH, NTP_COMPLETE },
    { &keyword_ntp_mode, APP_BOTH, NTP_COMPLETE },
    { &keyword_ntp_stratum, APP_BOTH, NTP_COMPLETE },
};
