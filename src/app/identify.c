/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Protocol detection. Patterns come first, and the longest match wins; then the probes of protocols that the ports hint
 * at; then the probes that are strict enough for any port. A protocol whose probe returned APP_NO is not probed again
 * in that direction.
 *
 * A stream is identified by its first bytes, each datagram on its own. Two tables, computed once, exclude most
 * protocols cheaply: one contains the protocols with a pattern that can start with a given byte, the other one the
 * starts of messages that are accepted on any port (app_proto.heads).
 */
#include <stdlib.h>
#include <string.h>

#include "app_priv.h"
#include "sluice/bytes.h"

static bool byte_equal(uint8_t a, uint8_t b, bool nocase)
{
    return a == b || (nocase && (a ^ b) == 0x20 && (a | 0x20) >= 'a' && (a | 0x20) <= 'z');
}

static bool bytes_equal(const uint8_t *bytes, const char *literal, uint32_t length, bool nocase)
{
    uint32_t i = 0;

    if (!nocase)
        return memcmp(bytes, literal, length) == 0;
    while (i < length && byte_equal(bytes[i], (uint8_t)literal[i], true))
        i++;
    return i == length;
}

/* A cheap test that excludes most patterns: false if the first byte of the pattern is not at its position. */
static bool may_match(const struct app_pattern *pattern, const struct app_probe *probe)
{
    uint8_t letters = pattern->nocase
                          ? 0x20
                          : 0; /* bit 5 differs between the cases of a letter; ignoring it also equates other bytes */

    if (pattern->depth > 0 || pattern->offset >= probe->length)
        return true;
    return ((probe->bytes[pattern->offset] ^ (uint8_t)pattern->bytes[0]) & (uint8_t)~letters) == 0;
}

/* Whether the pattern occurs. Sets *possible to true if it may occur when more bytes are available. */
static bool pattern_occurs(const struct app_pattern *pattern, const struct app_probe *probe, bool *possible)
{
    uint32_t last = pattern->depth > 0 ? pattern->depth - pattern->length : pattern->offset;

    for (uint32_t at = pattern->offset; at <= last; at++) {
        uint32_t left = probe->length > at ? probe->length - at : 0;

        if (left >= pattern->length) {
            if (bytes_equal(probe->bytes + at, pattern->bytes, pattern->length, pattern->nocase))
                return true;
        } else if (bytes_equal(probe->bytes + at, pattern->bytes, left, pattern->nocase)) {
            *possible = true;
        }
    }
    return false;
}

/* Returns the length of the longest pattern of the protocol that occurs; 0 for none. *possible as in
 * pattern_occurs(). */
static unsigned match_patterns(const struct app_proto *proto, const struct app_probe *probe, bool *possible)
{
    unsigned longest = 0;

    for (size_t i = 0; i < proto->pattern_count; i++) {
        const struct app_pattern *pattern = &proto->patterns[i];

        if (pattern->direction == probe->direction && pattern->length > longest && may_match(pattern, probe) &&
            pattern_occurs(pattern, probe, possible))
            longest = pattern->length;
    }
    return longest;
}

static bool has_port(const struct app_ports *ports, uint16_t port)
{
    for (unsigned i = 0; i < ports->count; i++) {
        if (ports->port[i] == port)
            return true;
    }
    return ports->any;
}

static bool has_hint(const struct app *app, size_t index, const struct app_probe *probe)
{
    const struct app_ports *ports = &app->ports[index][probe->transport == APP_UDP];

    return has_port(ports, probe->server_port) || has_port(ports, probe->client_port);
}

bool app_is_expected_at(const struct app *app, size_t index, unsigned transport, uint16_t port)
{
    return app->options.enabled[index] && app_list[index]->transports & app->options.transports[index] & transport &&
           has_port(&app->ports[index][transport == APP_UDP], port);
}

static bool may_be(const struct app *app, const struct app_side *side, const struct app_probe *probe, size_t index,
                   unsigned only)
{
    return app->options.enabled[index] && !(side->excluded >> index & 1) &&
           app_list[index]->transports & app->options.transports[index] & probe->transport &&
           (only == 0 || only == index + 1);
}

/* Whether all bytes are the start of a pattern of the protocol, which is longer than the longest one that matches. */
static bool may_match_longer(const struct app_proto *proto, const struct app_probe *probe)
{
    for (size_t i = 0; i < proto->pattern_count; i++) {
        const struct app_pattern *pattern = &proto->patterns[i];

        if (pattern->direction == probe->direction && pattern->offset == 0 && pattern->depth == 0 &&
            pattern->length > probe->length &&
            bytes_equal(probe->bytes, pattern->bytes, probe->length, pattern->nocase))
            return true;
    }
    return false;
}

/* The longest pattern decides: "OPTIONS sip:" is SIP, although "OPTIONS " is HTTP. While more bytes may complete a
 * longer one, no protocol is identified. */
static unsigned identify_by_pattern(const struct app *app, struct app_side *side, const struct app_probe *probe,
                                    unsigned only, bool *unsure)
{
    uint64_t candidates = probe->length > 0 ? app->first_bytes[probe->direction][probe->bytes[0]] : UINT64_MAX;
    unsigned best = 0, longest = 0;
    bool waits = false;

    for (; candidates; candidates &= candidates - 1) {
        size_t i = (size_t)__builtin_ctzll(candidates);
        bool possible = false;

        if (i >= app_list_count)
            break;
        unsigned length = may_be(app, side, probe, i, only) ? match_patterns(app_list[i], probe, &possible) : 0;

        *unsure |= possible;
        if (length > longest) {
            longest = length;
            best = (unsigned)i + 1;
        }
        waits |= possible && may_match_longer(app_list[i], probe);
    }
    return waits ? 0 : best;
}

static unsigned identify_by_probe(const struct app *app, struct app_side *side, struct app_probe *probe, unsigned only,
                                  bool hinted, bool *unsure, bool *reversed)
{
    for (size_t i = 0; i < app_list_count; i++) {
        const struct app_proto *proto = app_list[i];

        if (!proto->probe || !may_be(app, side, probe, i, only))
            continue;
        probe->port_hint = only > 0 || has_hint(app, i, probe);
        if (probe->port_hint != hinted || (!hinted && !proto->probe_any_port))
            continue;
        switch (proto->probe(probe)) {
        case APP_NO:
            side->excluded |= UINT64_C(1) << i;
            break;
        case APP_UNSURE:
            *unsure = true;
            break;
        case APP_REVERSED:
            *reversed = true;
            return (unsigned)i + 1;
        case APP_YES:
            return (unsigned)i + 1;
        }
    }
    return 0;
}

unsigned app_identify_by_pattern(const struct app *app, struct app_side *side, const struct app_probe *probe)
{
    bool unsure = false;

    return identify_by_pattern(app, side, probe, 0, &unsure);
}

unsigned app_identify(const struct app *app, struct app_side *side, const struct app_probe *probe, unsigned only,
                      bool *unsure, bool *reversed)
{
    struct app_probe input = *probe;
    unsigned id;

    *unsure = *reversed = false;
    id = identify_by_pattern(app, side, &input, only, unsure);
    if (id == 0)
        id = identify_by_probe(app, side, &input, only, true, unsure, reversed);
    if (id == 0)
        id = identify_by_probe(app, side, &input, only, false, unsure, reversed);
    return id;
}

/* --- Tables --------------------------------------------------------------------------------------- */

static void add_port(uint64_t *ports, uint16_t port)
{
    ports[port / 64] |= UINT64_C(1) << (port % 64);
}

static void add_default_ports(struct datagram_table *table, size_t index)
{
    struct app_ports *own = &table->own[index];

    app_parse_ports(own, app_list[index]->udp_ports);
    for (unsigned i = 0; i < own->count; i++)
        add_port(table->known_ports, own->port[i]);
}

static void add_heads(struct datagram_table *table, size_t index)
{
    static const struct app_message_start any = { 0, 0 };
    const struct app_proto *proto = app_list[index];
    bool on_any_port = proto->probe_any_port && !proto->default_ports_only;
    bool asks_all = (proto->pattern_count > 0 && !proto->heads) ||
                    (on_any_port && (!proto->heads || proto->head_count > APP_MESSAGE_STARTS_MAX));
    size_t count = asks_all ? 1 : on_any_port ? proto->head_count : 0;

    for (size_t i = 0; i < count; i++)
        table->heads[table->head_count++] =
            (struct datagram_head){ .head = asks_all ? any : proto->heads[i], .index = (unsigned)index };
}

/* Adds the protocol to the table for each byte that a message with one of its patterns can start with. */
static void add_first_bytes(struct app *app, size_t index)
{
    const struct app_proto *proto = app_list[index];
    const uint64_t protocol = UINT64_C(1) << index;

    for (size_t i = 0; i < proto->pattern_count; i++) {
        const struct app_pattern *pattern = &proto->patterns[i];
        uint64_t *table = app->first_bytes[pattern->direction];
        uint8_t first = (uint8_t)pattern->bytes[0];

        if (pattern->offset > 0 || pattern->depth > 0) { /* other bytes may come before it */
            for (unsigned byte = 0; byte <= UINT8_MAX; byte++)
                table[byte] |= protocol;
            continue;
        }
        table[first] |= protocol;
        if (byte_equal(first ^ 0x20, first, pattern->nocase)) /* the other case of a letter */
            table[first ^ 0x20] |= protocol;
    }
}

void app_init_identification(struct app *app)
{
    struct datagram_table *table = &app->datagrams;

    for (size_t i = 0; i < app_list_count; i++) {
        const struct app_ports *ports = &app->ports[i][1];

        add_first_bytes(app, i);
        if (app_list[i]->continues_after_errors || app_list[i]->parsed_alongside)
            app->alongside_protocols |= UINT64_C(1) << i;
        if (ports->any)
            memset(table->services, 0xff, sizeof(table->services));
        for (unsigned k = 0; k < ports->count; k++)
            add_port(table->services, ports->port[k]);
        if (!(app_list[i]->transports & APP_UDP))
            continue;
        table->protocols[table->protocol_count++] = (uint8_t)i;
        add_default_ports(table, i);
        add_heads(table, i);
    }
    for (size_t i = 0; i < sizeof(table->services) / sizeof(table->services[0]); i++)
        table->known_ports[i] |= table->services[i];
}

/* --- Datagrams ------------------------------------------------------------------------------------ */

/* Returns the bit set of indices of the protocols that may use any port and have messages that start like the
 * datagram. */
static uint64_t match_heads(const struct datagram_table *table, const uint8_t *bytes, uint32_t length)
{
    uint64_t begin = length >= sizeof(begin) ? load_be64(bytes) : 0, found = 0;

    for (unsigned i = 0; i < table->head_count; i++) {
        const struct datagram_head *entry = &table->heads[i];

        if ((begin & entry->head.mask) == entry->head.value)
            found |= UINT64_C(1) << entry->index;
    }
    return found;
}

/* Returns the bit set of indices of the protocols that use one of the datagram's ports. */
static uint64_t match_ports(const struct app *app, const struct app_probe *probe)
{
    const struct datagram_table *table = &app->datagrams;
    uint64_t found = 0;

    for (unsigned i = 0; i < table->protocol_count; i++) {
        size_t index = table->protocols[i];

        if (has_hint(app, index, probe) || has_port(&table->own[index], probe->client_port) ||
            has_port(&table->own[index], probe->server_port))
            found |= UINT64_C(1) << index;
    }
    return found;
}

static bool is_known_port(const struct datagram_table *table, uint16_t port)
{
    return table->known_ports[port / 64] >> (port % 64) & 1;
}

bool app_has_known_port(const struct app *app, uint16_t one, uint16_t other)
{
    return is_known_port(&app->datagrams, one) || is_known_port(&app->datagrams, other);
}

bool app_matches_no_head(const struct app *app, const uint8_t *bytes, uint32_t length)
{
    return match_heads(&app->datagrams, bytes, length) == 0;
}

/* Whether the datagram may be a message of the protocol. Sets *out in either case. */
static bool matches_protocol(size_t index, const struct app_probe *probe, struct app_datagram_match *out)
{
    const struct app_proto *proto = app_list[index];
    enum app_probe_result guess = APP_NO;
    bool possible = false;

    if (!proto->heads && match_patterns(proto, probe, &possible) > 0)
        guess = APP_YES;
    else if (proto->probe && (probe->port_hint || proto->probe_any_port))
        guess = proto->probe(probe);
    *out = (struct app_datagram_match){ .id = (uint8_t)(index + 1), .reversed = guess == APP_REVERSED };
    return guess == APP_YES || guess == APP_REVERSED;
}

/* Tests whether the datagram may be a message of the protocols in the bit set `possible`. Writes the protocols that
 * pass to `out`, first those that use one of the datagram's ports. Returns their number. */
static unsigned test_protocols(const struct app *app, const struct app_probe *probe, uint64_t possible,
                               struct app_datagram_match *out)
{
    struct app_datagram_match others[APP_MAX_PROTOCOLS];
    unsigned hinted_count = 0, other_count = 0;
    struct app_probe input = *probe;

    for (; possible; possible &= possible - 1) {
        size_t index = (size_t)__builtin_ctzll(possible);

        if (!app->options.enabled[index] || !(app->options.transports[index] & APP_UDP))
            continue;
        input.port_hint = has_hint(app, index, probe);
        if (input.port_hint)
            hinted_count += matches_protocol(index, &input, &out[hinted_count]);
        else
            other_count += matches_protocol(index, &input, &others[other_count]);
    }
    memcpy(out + hinted_count, others, other_count * sizeof(*out));
    return hinted_count + other_count;
}

unsigned app_identify_datagram(const struct app *app, const struct app_probe *probe, unsigned except,
                               struct app_datagram_match out[APP_MAX_PROTOCOLS])
{
    uint64_t possible = match_heads(&app->datagrams, probe->bytes, probe->length);

    if (app_has_known_port(app, probe->client_port, probe->server_port))
        possible |= match_ports(app, probe);
    if (except > 0)
        possible &= ~(UINT64_C(1) << (except - 1));
    return possible ? test_protocols(app, probe, possible, out) : 0;
}
