/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DHCP keywords: lease times in seconds, and the host name. */
#include "dhcp_priv.h"
#include "sluice/number_range.h"

static const char *const applications[] = { "dhcp", NULL };

static bool match_number(const struct app_tx *tx, enum dhcp_option code, const void *data)
{
    uint32_t number;

    return dhcp_number((const struct dhcp_tx *)tx, code, &number) && number_range_has(data, number);
}

static bool leasetime_match(const struct match_input *in, const void *data)
{
    return match_number(in->transaction, DHCP_LEASE_TIME, data);
}

static bool rebinding_match(const struct match_input *in, const void *data)
{
    return match_number(in->transaction, DHCP_REBINDING_TIME, data);
}

static bool renewal_match(const struct match_input *in, const void *data)
{
    return match_number(in->transaction, DHCP_RENEWAL_TIME, data);
}

static int seconds_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT64_MAX, NULL);
}

const struct keyword keyword_dhcp_leasetime = {
    .name = "dhcp.leasetime",
    .value = NUMBER_RANGE_FORM,
    .help = "lease time in a DHCP message, in seconds",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = seconds_parse,
    .transaction = { .match = leasetime_match },
};

const struct keyword keyword_dhcp_rebinding_time = {
    .name = "dhcp.rebinding_time",
    .value = NUMBER_RANGE_FORM,
    .help = "rebinding time in a DHCP message, in seconds",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = seconds_parse,
    .transaction = { .match = rebinding_match },
};

const struct keyword keyword_dhcp_renewal_time = {
    .name = "dhcp.renewal_time",
    .value = NUMBER_RANGE_FORM,
    .help = "renewal time in a DHCP message, in seconds",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = seconds_parse,
    .transaction = { .match = renewal_match },
};

static bool get_hostname(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    uint8_t length = 0;
    const uint8_t *value = dhcp_option((const struct dhcp_tx *)tx, DHCP_HOSTNAME, &length);

    (void)which;
    *out = (struct app_bytes){ .bytes = value, .length = length };
    return value != NULL;
}

const struct keyword keyword_dhcp_hostname = {
    .name = "dhcp.hostname",
    .help = "host name (option 12) in a DHCP message",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct app_buffer dhcp_buffers[DHCP_BUFFERS] = {
    { &keyword_dhcp_hostname, APP_BOTH, DHCP_COMPLETE, .get = get_hostname },
};

const struct app_condition dhcp_conditions[DHCP_CONDITIONS] = {
    { &keyword_dhcp_leasetime, APP_BOTH, DHCP_COMPLETE },
    { &keyword_dhcp_rebinding_time, APP_BOTH, DHCP_COMPLETE },
    { &keyword_dhcp_renewal_time, APP_BOTH, DHCP_COMPLETE },
};
