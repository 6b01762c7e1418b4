/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands about the bits that rules set on hosts (hostbits; xbits with track ip_src or ip_dst). */
#include "service.h"

#include <string.h>

#include "sluice/address.h"
#include "sluice/clock.h"
#include "sluice/host.h"
#include "sluice/rule.h"
#include "sluice/text.h"
#include "sluice/worker.h"

static struct host_table *get_hosts(const struct service *service)
{
    return service->options.workers[0].pipeline.hosts; /* all workers share it */
}

/* Reads the argument `ipaddress`. Returns false after control_fail(). */
static bool read_address(struct control_request *request, struct host_key *key)
{
    const char *text = control_string(request, "ipaddress");
    int version = text ? address_parse(text, strlen(text), &key->first) : 0;

    if (!text)
        control_fail(request, "ipaddress is not an string");
    else if (version != 4 && version != 6)
        control_fail(request, "invalid address string: '%.60s' is not an IPv4 or IPv6 address", text);
    key->ip_version = (uint8_t)version;
    return text && (version == 4 || version == 6);
}

/* Reads the arguments `ipaddress` and `hostbit`. Returns false after control_fail(). */
static bool read_bit(const struct service *service, struct control_request *request, struct host_key *key)
{
    const char *name = control_string(request, "hostbit");

    if (!read_address(request, key))
        return false;
    if (!name) {
        control_fail(request, "hostbit is not a string");
        return false;
    }
    key->number = rule_names_find(service->options.names, RULE_NAME_HOSTBIT, span_of(name));
    if (key->number == 0)
        control_fail(request, "hostbit not found: no loaded rule has a hostbit '%.60s'", name);
    return key->number != 0;
}

void service_add_hostbit(void *user, struct control_request *request)
{
    const struct service *service = user;
    struct host_key key = { .number = 0 };
    int64_t seconds = control_number(request, "expire", -1);
    uint64_t now_ns = clock_realtime_ns();

    if (!read_bit(service, request, &key))
        return;
    if (seconds < 1 || seconds > UINT32_MAX) {
        control_fail(request, "expire is not an integer from 1 to 4294967295 (seconds)");
        return;
    }
    if (host_bit_set(get_hosts(service), &key, now_ns, now_ns + (uint64_t)seconds * NS_PER_SECOND))
        json_string(control_answer(request), NULL, "hostbit added");
    else
        control_fail(request, "couldn't create host: the table of hosts is full, raise host.memcap");
}

void service_remove_hostbit(void *user, struct control_request *request)
{
    const struct service *service = user;
    struct host_key key = { .number = 0 };

    if (!read_bit(service, request, &key))
        return;
    if (host_bit_clear(get_hosts(service), &key, clock_realtime_ns()))
        json_string(control_answer(request), NULL, "hostbit removed");
    else
        control_fail(request, "host not found: the hostbit '%.60s' is not set on %.60s",
                     control_string(request, "hostbit"), control_string(request, "ipaddress"));
}

void service_list_hostbits(void *user, struct control_request *request)
{
    const struct service *service = user;
    struct host_key key = { .number = 0 };
    uint64_t now_ns = clock_realtime_ns(), expires_ns;
    struct text bits, *out;
    const char *name;
    size_t count = 0;

    if (!read_address(request, &key))
        return;
    text_init(&bits);
    json_array_open(&bits, NULL);
    while ((name = rule_names_text(service->options.names, RULE_NAME_HOSTBIT, ++key.number))) {
        if (!host_bit_expiry(get_hosts(service), &key, now_ns, &expires_ns))
            continue;
        json_object_open(&bits, NULL);
        json_string(&bits, "name", name);
        if (expires_ns != UINT64_MAX)
            json_uint(&bits, "expire", (expires_ns - now_ns + NS_PER_SECOND - 1) / NS_PER_SECOND);
        json_object_close(&bits);
        count++;
    }
    json_array_close(&bits);
    if (bits.failed) {
        control_fail(request, "out of memory");
    } else if (count == 0) {
        control_fail(request, "host not found: no hostbit is set on %.60s", control_string(request, "ipaddress"));
    } else {
        out = control_answer(request);
        json_object_open(out, NULL);
        json_uint(out, "count", count);
        json_key(out, "hostbits", strlen("hostbits"));
        text_append(out, bits.bytes, bits.length);
        json_object_close(out);
    }
    text_clear(&bits);
}
