/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which protocol a flow speaks. Patterns come first, the longest that is there wins; then the probes of protocols that the ports hint
 * at; then those that are strict enough to be asked for any port. A protocol that said no is not asked again for the direction.
 *
 * This happens for the first bytes of a flow only, so the table is simply walked, looking at the first byte of each pattern.
 */
#include <stdlib.h>
#include <string.h>

#include "app_priv.h"

static bool byte_equal(uint8_t a, uint8_t b, bool nocase)
{
    return a == b || (nocase && (a ^ b) == 0x20 && (a | 0x20) >= 'a' && (a | 0x20) <= 'z');
}

static bool bytes_equal(const uint8_t *bytes, const char *want, uint32_t length, bool nocase)
{
    uint32_t i = 0;

    if (!nocase)
        return memcmp(bytes, want, length) == 0;
    while (i < length && byte_equal(bytes[i], (uint8_t)want[i], true))
        i++;
    return i == length;
}

/* Most patterns are refuted by their first byte. */
static bool may_begin(const struct app_pattern *pattern, const struct app_probe *probe)
{
    uint8_t letters = pattern->nocase ? 0x20 : 0; /* of both cases are taken for one, and some other bytes with them */

    if (pattern->depth > 0 || pattern->offset >= probe->length)
        return true;
    return ((probe->bytes[pattern->offset] ^ (uint8_t)pattern->bytes[0]) & (uint8_t)~letters) == 0;
}

/* Whether the pattern is there; *possible: more bytes could show it. */
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

/* The length of the longest pattern that is there; 0 for none. */
static unsigned match_patterns(const struct app_proto *proto, const struct app_probe *probe, bool *possible)
{
    unsigned longest = 0;

    for (size_t i = 0; i < proto->pattern_count; i++) {
        const struct app_pattern *pattern = &proto->patterns[i];

        if (pattern->direction == probe->direction && pattern->length > longest && may_begin(pattern, probe) &&
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

static unsigned by_pattern(const struct app *app, struct app_side *side, const struct app_probe *probe, unsigned only,
                           bool *unsure)
{
    unsigned best = 0, longest = 0;

    for (size_t i = 0; i < app_list_count; i++) {
        bool possible = false;
        unsigned length = may_be(app, side, probe, i, only) ? match_patterns(app_list[i], probe, &possible) : 0;

        *unsure |= possible;
        if (length > longest) {
            longest = length;
            best = (unsigned)i + 1;
        }
    }
    return best;
}

static unsigned by_probe(const struct app *app, struct app_side *side, struct app_probe *probe, unsigned only,
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

    return by_pattern(app, side, probe, 0, &unsure);
}

unsigned app_identify(const struct app *app, struct app_side *side, const struct app_probe *probe, unsigned only,
                      bool *unsure, bool *reversed)
{
    struct app_probe asked = *probe;
    unsigned id;

    *unsure = *reversed = false;
    id = by_pattern(app, side, &asked, only, unsure);
    if (id == 0)
        id = by_probe(app, side, &asked, only, true, unsure, reversed);
    if (id == 0)
        id = by_probe(app, side, &asked, only, false, unsure, reversed);
    return id;
}

/* --- Datagrams ------------------------------------------------------------------------------------------------------------ */

/* Whether the datagram may be a message of the protocol. */
static bool claims(size_t index, const struct app_probe *probe, struct app_claim *out)
{
    const struct app_proto *proto = app_list[index];
    enum app_guess guess = APP_NO;
    bool possible = false;

    if (match_patterns(proto, probe, &possible) > 0)
        guess = APP_YES;
    else if (proto->probe && (probe->port_hint || proto->probe_any_port))
        guess = proto->probe(probe);
    *out = (struct app_claim){ .id = (uint8_t)(index + 1), .reversed = guess == APP_REVERSED };
    return guess == APP_YES || guess == APP_REVERSED;
}

static bool is_udp_service(const struct app *app, uint16_t port)
{
    return app->udp_services[port / 64] >> (port % 64) & 1;
}

unsigned app_identify_datagram(const struct app *app, const struct app_probe *probe, unsigned except,
                               struct app_claim out[APP_MAX_PROTOCOLS])
{
    struct app_claim hinted[APP_MAX_PROTOCOLS];
    unsigned hinted_count = 0, other_count = 0;
    struct app_probe asked = *probe;

    bool may_hint = is_udp_service(app, probe->client_port) || is_udp_service(app, probe->server_port);

    for (unsigned k = 0; k < app->udp_protocol_count; k++) {
        size_t i = app->udp_protocols[k];

        if (i + 1 == except || !app->options.enabled[i] || !(app->options.transports[i] & APP_UDP))
            continue;
        asked.port_hint = may_hint && has_hint(app, i, probe);
        if (!asked.port_hint && !app_list[i]->probe_any_port && app_list[i]->pattern_count == 0)
            continue;
        if (asked.port_hint)
            hinted_count += claims(i, &asked, &hinted[hinted_count]);
        else
            other_count += claims(i, &asked, &out[other_count]);
    }
    memmove(out + hinted_count, out, other_count * sizeof(*out));
    memcpy(out, hinted, hinted_count * sizeof(*out));
    return hinted_count + other_count;
}
