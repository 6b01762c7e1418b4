/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RFB keywords. */
#include "rfb_priv.h"
#include "sluice/number_range.h"

static const char *const applications[] = { "rfb", NULL };

static bool get_name(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct rfb_tx *rfb = (const struct rfb_tx *)tx;

    (void)which;
    if (!(rfb->seen & RFB_SEEN_SERVER_INIT))
        return false;
    *out = (struct app_bytes){ .bytes = (const uint8_t *)"", .length = rfb->name.length };
    if (rfb->name.length > 0)
        out->bytes = rfb->name.bytes;
    return true;
}

const struct keyword keyword_rfb_name = {
    .name = "rfb.name",
    .help = "name of the desktop in an RFB handshake",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_CLIENT },
};

const struct app_buffer rfb_buffers[RFB_BUFFERS] = {
    { &keyword_rfb_name, APP_TO_CLIENT, RFB_SERVER_COMPLETE, .get = get_name },
};

static bool type_match(const struct match_input *in, const void *data)
{
    const struct rfb_tx *rfb = (const struct rfb_tx *)in->transaction;

    return rfb->seen & RFB_SEEN_TYPE && number_range_has(data, rfb->type);
}

static int type_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT32_MAX, NULL);
}

const struct keyword keyword_rfb_sectype = {
    .name = "rfb.sectype",
    .value = NUMBER_RANGE_FORM,
    .help = "security type of an RFB connection: 1 (None), 2 (VNC Authentication)",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_TO_SERVER },
    .parse = type_parse,
    .transaction = { .match = type_match },
};

static bool result_match(const struct match_input *in, const void *data)
{
    const struct rfb_tx *rfb = (const struct rfb_tx *)in->transaction;

    return rfb->seen & RFB_SEEN_RESULT && number_range_has(data, rfb->result);
}

static int result_parse(struct rule_parser *parser, struct span value)
{
    static const struct number_name names[] = {
        { "ok", RFB_OK }, { "fail", RFB_FAILED }, { "toomany", RFB_TOO_MANY }, { NULL, 0 }
    };

    if (span_equal_nocase(value, "unknown"))
        value = span_of(">2");
    else if (span_equal_nocase(value, "!unknown"))
        value = span_of("<3");
    return number_range_transaction_condition(parser, value, UINT32_MAX, names);
}

const struct keyword keyword_rfb_secresult = {
    .name = "rfb.secresult",
    .value = NUMBER_RANGE_FORM " or [!]NAME",
    .help =
        "security result of an RFB connection by number or name: 0 or ok, 1 or fail, 2 or toomany; unknown: another",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_TO_CLIENT },
    .parse = result_parse,
    .transaction = { .match = result_match },
};

const struct app_condition rfb_conditions[RFB_CONDITIONS] = {
    { &keyword_rfb_sectype, APP_TO_SERVER, RFB_SELECTED },
    { &keyword_rfb_secresult, APP_TO_CLIENT, RFB_RESULT },
};
