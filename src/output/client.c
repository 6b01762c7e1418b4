/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The address of a client behind a proxy, from the header in which the proxy reports it (X-Forwarded-For). Any sender
 * can forge this header, so the result is a valid address or nothing, never the sender's text. The worker parses the
 * header, because only the worker may access the transaction.
 */
#include <string.h>

#include "client.h"

enum { ENTRY_MAX = 128 }; /* an entry (an address in brackets, its port, and blanks) must have fewer bytes */

static bool is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t';
}

static void trim(const uint8_t **bytes, uint32_t *length)
{
    while (*length > 0 && is_blank((*bytes)[*length - 1]))
        --*length;
    for (; *length > 0 && is_blank(**bytes); ++*bytes)
        --*length;
}

/* Shortens *length to the first entry of the list. Returns false if the entry is longer than any address. */
static bool first_entry(const uint8_t *bytes, uint32_t *length)
{
    const uint8_t *end = memchr(bytes, ',', *length < ENTRY_MAX ? *length : ENTRY_MAX);

    if (end)
        *length = (uint32_t)(end - bytes);
    return *length < ENTRY_MAX;
}

/* Moves *bytes and *length to the last entry of the list. Blanks also separate entries, because some proxies write no
 * commas. Returns false if the entry is longer than any address. */
static bool last_entry(const uint8_t **bytes, uint32_t *length)
{
    uint32_t entry = 0;

    while (entry < *length && entry < ENTRY_MAX) {
        uint8_t byte = (*bytes)[*length - entry - 1];

        if (byte == ',' || is_blank(byte))
            break;
        entry++;
    }
    *bytes += *length - entry;
    *length = entry;
    return entry < ENTRY_MAX;
}

/* Removes brackets and the port from the entry; bytes after the closing bracket are ignored. Returns false if a bracket
 * is not closed. */
static bool strip_port(const uint8_t **bytes, uint32_t *length)
{
    const uint8_t *end;

    if (*length > 0 && **bytes == '[') {
        ++*bytes;
        --*length;
        end = memchr(*bytes, ']', *length);
        if (!end)
            return false;
        *length = (uint32_t)(end - *bytes);
        return true;
    }
    end = memchr(*bytes, ':', *length);
    if (end && !memchr(end + 1, ':', (size_t)(*bytes + *length - end - 1)))
        *length = (uint32_t)(end - *bytes);
    return true;
}

struct record_client client_parse(const uint8_t *bytes, uint32_t length, bool first)
{
    struct record_client client = { .ip_version = 0 };
    int version;

    trim(&bytes, &length);
    if (first ? !first_entry(bytes, &length) : !last_entry(&bytes, &length))
        return client;
    trim(&bytes, &length);
    if (!strip_port(&bytes, &length))
        return client;
    version = address_parse((const char *)bytes, length, &client.address);
    if (version > 0)
        client.ip_version = (uint8_t)version;
    return client;
}

struct record_client client_of_tx(const struct xff_options *options, const struct app_tx *tx)
{
    struct app_bytes value;

    if (!options->enabled || !tx->proto->header || !tx->proto->header(tx, options->header, &value))
        return (struct record_client){ .ip_version = 0 };
    return client_parse(value.bytes, value.length, options->first);
}

struct record_client client_of_flow(const struct xff_options *options, const struct flow *flow)
{
    struct record_client client = { .ip_version = 0 };
    const struct app_tx *tx = flow && options->enabled ? app_transactions(flow) : NULL;

    for (; tx && client.ip_version == 0; tx = tx->next)
        client = client_of_tx(options, tx);
    return client;
}
