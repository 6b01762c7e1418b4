/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Evaluation of thresholds as in Suricata (docs.suricata.io, "Thresholding Keywords" and "Global Thresholds"). A window
 * starts with the match that opens it and lasts `seconds`. "Silently" means: the rule's action is applied without an
 * alert. "Ignored" means: neither alert nor action.
 *
 * - limit: the first `count` matches of a window are reported, the others applied silently.
 * - threshold: every `count`th match of a window is reported, the others are ignored.
 * - both: the `count`th match of a window is reported, earlier ones are ignored, later ones applied silently.
 * - backoff: the matches `count`, `count` * `multiplier`, `count` * `multiplier`^2 ... are reported. Matches before the
 *   first of these are ignored, the others applied silently.
 * - detection_filter: the matches of a window from `count` + 1 on are reported, earlier ones are ignored.
 * - rate_filter: every match is reported. After `count` matches in a window, the action changes for `timeout` seconds.
 * - suppress: matches with the given addresses are applied silently, the others reported.
 *
 * update_functions has one function for each kind except suppress.
 */
#include <string.h>

#include "policy_priv.h"
#include "sluice/clock.h"

struct threshold_update {
    struct threshold_table *table;
    struct shared_shard *shard;
    struct threshold_state *state;
    const struct threshold *threshold;
    const struct packet *pkt;
    enum rule_action *action;
    uint64_t *memcap_hits; /* counts states and ports that could not be stored */
    bool fresh;
};

/* Counts a match in the current window. Returns true if the match opened a new window. */
static bool count_in_window(struct threshold_update *u)
{
    uint64_t window_ns = u->threshold->seconds * NS_PER_SECOND;

    if (!u->fresh && u->pkt->time_ns <= u->state->start_ns + window_ns) {
        u->state->count++;
        return false;
    }
    u->state->start_ns = u->pkt->time_ns;
    u->state->entry.expires_ns = u->pkt->time_ns + window_ns;
    u->state->count = 1;
    return true;
}

static enum threshold_outcome update_limit(struct threshold_update *u)
{
    count_in_window(u);
    return u->state->count <= u->threshold->count ? OUTCOME_REPORT : OUTCOME_SILENT;
}

static enum threshold_outcome update_threshold(struct threshold_update *u)
{
    count_in_window(u);
    if (u->state->count < u->threshold->count)
        return OUTCOME_IGNORE;
    u->state->count = 0;
    return OUTCOME_REPORT;
}

static enum threshold_outcome update_both(struct threshold_update *u)
{
    count_in_window(u);
    if (u->state->count == u->threshold->count)
        return OUTCOME_REPORT;
    return u->state->count > u->threshold->count ? OUTCOME_SILENT : OUTCOME_IGNORE;
}

static enum threshold_outcome update_backoff(struct threshold_update *u)
{
    struct threshold_state *state = u->state;

    if (u->fresh) {
        state->next_count = u->threshold->count;
        state->start_ns = u->pkt->time_ns;
    }
    state->entry.expires_ns = u->pkt->time_ns + 3600 * NS_PER_SECOND;
    if (state->count < UINT32_MAX)
        state->count++;
    if (state->count != state->next_count)
        return state->count < u->threshold->count ? OUTCOME_IGNORE : OUTCOME_SILENT;

    uint64_t next = (uint64_t)state->next_count * u->threshold->multiplier;

    state->next_count = next < UINT32_MAX ? (uint32_t)next : UINT32_MAX;
    return OUTCOME_REPORT;
}

/* With unique_on, a port that was already seen in the window is not counted again. */
static enum threshold_outcome update_detection_filter(struct threshold_update *u)
{
    uint32_t before = u->state->count;
    bool opened = count_in_window(u);

    if (u->threshold->unique != UNIQUE_NONE) {
        uint16_t port = u->threshold->unique == UNIQUE_SOURCE_PORT ? u->pkt->source_port : u->pkt->destination_port;

        if (opened)
            threshold_table_clear_ports(u->table, u->shard, u->state);
        if (before > u->threshold->count && !opened) {
            u->state->count = before; /* the count is exceeded already: further ports need not be stored */
        } else {
            enum port_status status = threshold_table_add_port(u->table, u->shard, u->state, port);

            if (status != PORT_NEW)
                u->state->count = opened ? 0 : before;
            *u->memcap_hits += status == PORT_NO_MEMORY;
        }
    }
    return u->state->count > u->threshold->count ? OUTCOME_REPORT : OUTCOME_IGNORE;
}

static enum threshold_outcome update_rate_filter(struct threshold_update *u)
{
    uint64_t timeout_ns = u->threshold->timeout * NS_PER_SECOND;
    struct threshold_state *state = u->state;

    if (state->timeout_ns != 0) {
        if (u->pkt->time_ns <= state->timeout_ns + timeout_ns)
            *u->action = u->threshold->new_action;
        else
            state->timeout_ns = 0;
        return OUTCOME_REPORT;
    }
    count_in_window(u);
    if (state->count > u->threshold->count) {
        state->timeout_ns = u->pkt->time_ns;
        state->entry.expires_ns = u->pkt->time_ns + timeout_ns;
        *u->action = u->threshold->new_action;
    }
    return OUTCOME_REPORT;
}

static enum threshold_outcome (*const update_functions[])(struct threshold_update *u) = {
    [THRESHOLD_LIMIT] = update_limit,
    [THRESHOLD_THRESHOLD] = update_threshold,
    [THRESHOLD_BOTH] = update_both,
    [THRESHOLD_BACKOFF] = update_backoff,
    [THRESHOLD_DETECTION_FILTER] = update_detection_filter,
    [THRESHOLD_RATE_FILTER] = update_rate_filter,
};

/* Evaluates a match when no state can be allocated: each match counts as the first of its window. So limit and
 * rate_filter report every match, and rate_filter never changes the action. The other kinds report none if they need
 * several matches. */
static enum threshold_outcome update_without_state(struct threshold_update *u)
{
    struct threshold_state temporary = { 0 };
    enum threshold_outcome outcome;

    u->state = &temporary;
    u->fresh = true;
    outcome = update_functions[u->threshold->kind](u);
    threshold_table_clear_ports(u->table, u->shard, &temporary);
    return outcome;
}

static bool is_suppressed(const struct threshold *threshold, const struct packet *pkt)
{
    const struct address_set *set = threshold->addresses;
    bool source, destination;

    if (!threshold->has_track || !set)
        return true;
    source = address_set_has(set, pkt->ip_version, &pkt->source_address);
    destination = address_set_has(set, pkt->ip_version, &pkt->destination_address);
    if (threshold->track == TRACK_SOURCE)
        return source;
    return threshold->track == TRACK_DESTINATION ? destination : source || destination;
}

/* Sorts the endpoints of the key, so that both directions of a host pair or flow have the same key. */
static void sort_endpoints(struct threshold_key *key)
{
    int order = memcmp(&key->first, &key->second, sizeof(key->first));

    if (order < 0 || (order == 0 && key->first_port <= key->second_port))
        return;

    struct address address = key->first;
    uint16_t port = key->first_port;

    key->first = key->second;
    key->second = address;
    key->first_port = key->second_port;
    key->second_port = port;
}

/* Mixes the start time and the VLANs of the flow into the key, because a flow with the same addresses and ports at a
 * later time or in another VLAN is another flow. */
static void mix_flow_into_key(struct threshold_key *key, const struct flow *flow)
{
    for (size_t i = 0; i < sizeof(flow->start_ns); i++)
        key->first.bytes[sizeof(key->first) - 1 - i] ^= (uint8_t)(flow->start_ns >> 8 * i);
    for (size_t i = 0; i < flow->vlan_count; i++) {
        key->second.bytes[sizeof(key->second) - 1 - 2 * i] ^= (uint8_t)flow->vlan_id[i];
        key->second.bytes[sizeof(key->second) - 2 - 2 * i] ^= (uint8_t)(flow->vlan_id[i] >> 8);
    }
}

static void make_key(struct threshold_key *key, const struct threshold *threshold, const struct rule *rule,
                     const struct packet *pkt)
{
    memset(key, 0, sizeof(*key)); /* also clears padding: keys are hashed and compared as bytes */
    key->gid = rule->gid;
    key->sid = rule->sid;
    key->kind = (uint8_t)threshold->kind;
    key->track = (uint8_t)threshold->track;
    if (threshold->track == TRACK_RULE)
        return;
    key->ip_version = pkt->ip_version;
    if (threshold->track != TRACK_DESTINATION)
        key->first = pkt->source_address;
    if (threshold->track != TRACK_SOURCE)
        key->second = pkt->destination_address;
    if (threshold->track == TRACK_FLOW) {
        key->protocol = pkt->protocol;
        key->first_port = pkt->source_port;
        key->second_port = pkt->destination_port;
    }
    if (threshold->track == TRACK_BOTH || threshold->track == TRACK_FLOW)
        sort_endpoints(key);
    if (threshold->track == TRACK_FLOW)
        mix_flow_into_key(key, pkt->flow);
}

enum threshold_outcome threshold_apply(struct threshold_table *table, const struct threshold *threshold,
                                       const struct rule *rule, const struct packet *pkt, enum rule_action *action,
                                       uint64_t *memcap_hits)
{
    struct threshold_key key;

    if (threshold->kind == THRESHOLD_SUPPRESS)
        return is_suppressed(threshold, pkt) ? OUTCOME_SILENT : OUTCOME_REPORT;
    if (threshold->track == TRACK_FLOW && !pkt->flow)
        return OUTCOME_IGNORE; /* as in Suricata, by_flow ignores a match without a flow */
    make_key(&key, threshold, rule, pkt);

    enum threshold_outcome outcome = OUTCOME_REPORT;
    struct threshold_update update = {
        .table = table, .threshold = threshold, .pkt = pkt, .action = action, .memcap_hits = memcap_hits
    };

    update.shard = threshold_table_lock(table, &key);
    update.state = shared_shard_get(update.shard, &key, pkt->time_ns, &update.fresh);
    if (update.state) {
        outcome = update_functions[threshold->kind](&update);
    } else {
        outcome = update_without_state(&update);
        (*memcap_hits)++;
    }
    shared_table_unlock(update.shard);
    return outcome;
}
