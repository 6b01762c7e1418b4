/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings of DNS events: which messages are logged, and in which format. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dns_priv.h"
#include "sluice/text.h"

static const char *const formats[] = { "detailed", "grouped", NULL };

static const struct number_name *find_type(const char *name)
{
    struct span text = span_of(name);

    for (const struct number_name *type = dns_type_names; type->name; type++)
        if (span_equal_nocase(text, type->name))
            return type;
    return NULL;
}

static const char *check_type(const char *value)
{
    return find_type(value) ? NULL : "a DNS record type: a, aaaa, cname, mx, txt ...";
}

const struct setting mdns_setting_rows[] = {
    { .name = "eve.types.mdns", .type = SETTING_SECTION, .help = "Event type mdns: a multicast DNS message" },
    { .name = NULL },
};

const struct setting llmnr_setting_rows[] = {
    { .name = "eve.types.llmnr", .type = SETTING_SECTION, .help = "Event type llmnr: an LLMNR message" },
    { .name = NULL },
};

const struct setting dns_setting_rows[] = {
    { .name = "eve.types.dns", .type = SETTING_SECTION, .help = "Event type dns: a DNS request or response" },
    { .name = "eve.types.dns.requests",
      SETTING_FIELD(dns_settings, requests),
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Log DNS requests" },
    { .name = "eve.types.dns.responses",
      SETTING_FIELD(dns_settings, responses),
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Log DNS responses" },
    { .name = "eve.types.dns.version",
      SETTING_FIELD(dns_settings, version),
      .type = SETTING_NUMBER,
      .default_value = "3",
      .low = 2,
      .high = 3,
      .help = "Version of the event format: 3 (Suricata 8) or 2 (Suricata 7)" },
    { .name = "eve.types.dns.types",
      SETTING_FIELD(dns_settings, type_names),
      .type = SETTING_LIST,
      .check = check_type,
      .help = "Log only messages with a query of these record types; unset: all types" },
    { .name = "eve.types.dns.formats",
      SETTING_FIELD(dns_settings, formats),
      .type = SETTING_LIST,
      .default_value = "detailed, grouped",
      .choices = formats,
      .help = "Format of answers: each record (detailed), or their data by type (grouped)" },
    { .name = NULL },
};

const struct setting doh2_setting_rows[] = {
    { .name = "eve.types.doh2",
      .type = SETTING_SECTION,
      .help = "Event type dns for DNS over HTTP/2: a request with its response" },
    { .name = "eve.types.doh2.requests",
      SETTING_FIELD(dns_settings, requests),
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Log DNS requests without a DNS response" },
    { .name = "eve.types.doh2.responses",
      SETTING_FIELD(dns_settings, responses),
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Log DNS responses" },
    { .name = "eve.types.doh2.types",
      SETTING_FIELD(dns_settings, type_names),
      .type = SETTING_LIST,
      .check = check_type,
      .help = "Log only messages with a query of these record types; unset: all types" },
    { .name = "eve.types.doh2.formats",
      SETTING_FIELD(dns_settings, formats),
      .type = SETTING_LIST,
      .default_value = "detailed, grouped",
      .choices = formats,
      .help = "Format of answers: each record (detailed), or their data by type (grouped)" },
    { .name = NULL },
};

int dns_configure(const struct config *config, void *data)
{
    struct dns_settings *settings = data;

    (void)config;
    for (const char *const *format = settings->formats; *format; format++) {
        settings->detailed |= strcmp(*format, "detailed") == 0;
        settings->grouped |= strcmp(*format, "grouped") == 0;
    }
    if (!settings->detailed && !settings->grouped)
        settings->detailed = settings->grouped = true;
    settings->all_types = !*settings->type_names;
    for (const char *const *name = settings->type_names; *name; name++) {
        const struct number_name *type = find_type(*name);

        if (type)
            settings->types[type->value] = true;
    }
    return 0;
}
