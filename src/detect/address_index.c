/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Index of rules by address. Lists of malicious hosts consist of about a thousand rules, of which a packet matches at
 * most a few; the index avoids the evaluation of the others.
 *
 * A rule is indexed by the end (source or destination) for which it lists fewer addresses. The address space is divided
 * at the bounds of the sets, and each interval lists the rules whose set contains it, so a binary search for each end
 * of a packet yields its candidates. Rules that list a large part of the address space at both ends, and bidirectional
 * rules, are candidates for every packet.
 */
#include <errno.h>
#include <stdlib.h>

#include "detect_priv.h"
#include "sluice/bytes.h"

/* An address as a number; an IPv4 address is in the upper 32 bits, as in struct address. */
__extension__ typedef unsigned __int128 wide;

enum family { IPV4, IPV6, FAMILIES };
enum address_end { END_SOURCE, END_DESTINATION, ENDS };
enum {
    IPV4_SHIFT = 96,
    MAX_WEIGHT = 1 << 27, /* a rule is not indexed by a set with more IPv4 addresses than this, or with a larger share
                             of all IPv6 addresses, because too many packets match the set */
    MAX_LISTED = 4 << 20, /* maximum length of intervals.signatures. If an end and family would need more, no rule is
                             indexed: all rules are candidates for every packet */
};

/* Intervals of addresses, ascending. Interval i contains the addresses from low[i] up to low[i + 1], exclusive. */
struct intervals {
    wide *low;
    uint32_t *first; /* per interval: index of its first entry in `signatures`; one more element at the end */
    uint32_t count;
    struct signature_list signatures;
};

struct address_index {
    struct intervals intervals[ENDS][FAMILIES];
    struct signature_list always;
};

/* --- Sets ----------------------------------------------------------------------------------------- */

static wide address_number(const struct address *address)
{
    return (wide)load_be64(address->bytes) << 64 | load_be64(address->bytes + 8);
}

/* Returns the size of the set in the family of which it contains the larger share. The unit is 2^-32 of the family's
 * address space: one IPv4 address. `set` NULL: any address. */
static uint64_t set_weight(const struct address_set *set)
{
    uint64_t weight4 = 0, weight6 = 0;

    if (!set)
        return UINT64_MAX;
    for (uint32_t i = 0; i < set->count4; i++)
        weight4 += (uint64_t)set->range4[i].high - set->range4[i].low + 1;
    for (uint32_t i = 0; i < set->count6; i++)
        weight6 +=
            (uint64_t)((address_number(&set->range6[i].high) - address_number(&set->range6[i].low)) >> IPV4_SHIFT) + 1;
    return weight4 > weight6 ? weight4 : weight6;
}

/* Returns the end by which the rule is indexed; ENDS: the rule is not indexed. */
static enum address_end choose_end(const struct signature *signature)
{
    uint64_t source = set_weight(signature->source), destination = set_weight(signature->destination);
    enum address_end end = source <= destination ? END_SOURCE : END_DESTINATION;

    return signature->bidirectional || (source > MAX_WEIGHT && destination > MAX_WEIGHT) ? ENDS : end;
}

/* --- Building ------------------------------------------------------------------------------------- */

/* The first address of a rule's range, or the first address behind the range. */
struct bound {
    wide at;
    uint32_t signature;
    bool begins;
};

struct bounds {
    struct bound *list;
    uint32_t count, capacity;
};

static int bounds_add(struct bounds *bounds, wide at, uint32_t signature, bool begins)
{
    if (bounds->count == bounds->capacity) {
        uint32_t capacity = bounds->capacity ? bounds->capacity * 2 : 64;
        struct bound *list = realloc(bounds->list, capacity * sizeof(*list));

        if (!list)
            return -ENOMEM;
        bounds->list = list;
        bounds->capacity = capacity;
    }
    bounds->list[bounds->count++] = (struct bound){ at, signature, begins };
    return 0;
}

/* Orders bounds by address. At the same address, ends of ranges come before starts, so that a rule with adjacent ranges
 * is not listed twice in an interval. */
static int compare_bounds(const void *left, const void *right)
{
    const struct bound *a = left, *b = right;

    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    if (a->begins != b->begins)
        return a->begins ? 1 : -1;
    return a->signature < b->signature ? -1 : a->signature > b->signature;
}

/* Adds an interval that begins at `low` and lists the active rules. Returns 0, -ENOMEM, or -E2BIG if MAX_LISTED is
 * exceeded. */
static int add_interval(struct intervals *intervals, wide low, const struct signature_list *active)
{
    intervals->low[intervals->count] = low;
    intervals->first[intervals->count++] = intervals->signatures.count;
    if (intervals->signatures.count + active->count > MAX_LISTED)
        return -E2BIG;
    for (uint32_t i = 0; i < active->count; i++) {
        if (signature_list_add(&intervals->signatures, active->index[i]))
            return -ENOMEM;
    }
    return 0;
}

/* Builds the intervals of one end and family from the rules that are indexed by this end. */
static int build_intervals(struct intervals *intervals, const struct ruleset *ruleset,
                           const struct signature_list *signatures, enum address_end end, enum family family)
{
    struct bounds bounds = { 0 };
    struct signature_list active = { 0 };
    int err = 0;

    for (uint32_t i = 0; i < signatures->count && !err; i++) {
        const struct signature *signature = &ruleset->signatures[signatures->index[i]];
        const struct address_set *set = end == END_SOURCE ? signature->source : signature->destination;

        if (choose_end(signature) != end)
            continue;
        for (uint32_t k = 0; k < (family == IPV4 ? set->count4 : set->count6) && !err; k++) {
            wide low = family == IPV4 ? (wide)set->range4[k].low << IPV4_SHIFT : address_number(&set->range6[k].low);
            wide high = family == IPV4 ? (wide)set->range4[k].high << IPV4_SHIFT : address_number(&set->range6[k].high);

            err = bounds_add(&bounds, low, signatures->index[i], true);
            if (!err && high < ~(wide)0)
                err = bounds_add(&bounds, high + 1, signatures->index[i], false);
        }
    }
    if (err || bounds.count == 0) {
        free(bounds.list);
        return err;
    }
    qsort(bounds.list, bounds.count, sizeof(*bounds.list), compare_bounds);
    intervals->low = calloc(bounds.count + (size_t)1, sizeof(*intervals->low));
    intervals->first = calloc(bounds.count + (size_t)2, sizeof(*intervals->first));
    err = intervals->low && intervals->first ? add_interval(intervals, 0, &active) : -ENOMEM;
    for (uint32_t i = 0; i < bounds.count && !err; i++) {
        const struct bound *bound = &bounds.list[i];
        uint32_t at = 0;

        if (bound->begins) {
            err = signature_list_add(&active, bound->signature);
        } else {
            while (at < active.count && active.index[at] != bound->signature)
                at++;
            if (at < active.count)
                active.index[at] = active.index[--active.count];
        }
        if (!err && (i + 1 == bounds.count || bounds.list[i + 1].at != bound->at))
            err = add_interval(intervals, bound->at, &active);
    }
    if (!err)
        intervals->first[intervals->count] = intervals->signatures.count;
    free(active.index);
    free(bounds.list);
    return err;
}

static void clear_index(struct address_index *index)
{
    for (unsigned end = 0; end < ENDS; end++) {
        for (unsigned family = 0; family < FAMILIES; family++) {
            struct intervals *intervals = &index->intervals[end][family];

            free(intervals->low);
            free(intervals->first);
            free(intervals->signatures.index);
            *intervals = (struct intervals){ 0 };
        }
    }
    free(index->always.index);
    index->always = (struct signature_list){ 0 };
}

static int add_unindexed(struct address_index *index, const struct ruleset *ruleset,
                         const struct signature_list *signatures, bool all)
{
    int err = 0;

    for (uint32_t i = 0; i < signatures->count && !err; i++) {
        if (all || choose_end(&ruleset->signatures[signatures->index[i]]) == ENDS)
            err = signature_list_add(&index->always, signatures->index[i]);
    }
    return err;
}

int address_index_new(struct address_index **out, const struct ruleset *ruleset,
                      const struct signature_list *signatures)
{
    struct address_index *index = calloc(1, sizeof(*index));
    int err = index ? add_unindexed(index, ruleset, signatures, false) : -ENOMEM;

    for (unsigned end = 0; end < ENDS && !err; end++) {
        for (unsigned family = 0; family < FAMILIES && !err; family++)
            err = build_intervals(&index->intervals[end][family], ruleset, signatures, end, family);
    }
    if (err == -E2BIG) {
        clear_index(index);
        err = add_unindexed(index, ruleset, signatures, true);
    }
    if (err) {
        address_index_free(index);
        return err;
    }
    *out = index;
    return 0;
}

void address_index_free(struct address_index *index)
{
    if (!index)
        return;
    clear_index(index);
    free(index);
}

/* --- Lookup --------------------------------------------------------------------------------------- */

static void add_interval_candidates(const struct intervals *intervals, struct detector *detector,
                                    const struct address *address)
{
    wide number = address_number(address);
    uint32_t low = 0, high = intervals->count;

    if (high == 0)
        return;
    while (high - low > 1) { /* the number of the interval is in [low, high) */
        uint32_t middle = low + (high - low) / 2;

        if (intervals->low[middle] <= number)
            low = middle;
        else
            high = middle;
    }
    for (uint32_t i = intervals->first[low]; i < intervals->first[low + 1]; i++)
        candidates_add(&detector->candidates, intervals->signatures.index[i]);
}

void address_index_find(const struct address_index *index, struct detector *detector, const struct packet *pkt)
{
    enum family family = pkt->ip_version == 4 ? IPV4 : IPV6;

    for (uint32_t i = 0; i < index->always.count; i++)
        candidates_add(&detector->candidates, index->always.index[i]);
    add_interval_candidates(&index->intervals[END_SOURCE][family], detector, &pkt->source_address);
    add_interval_candidates(&index->intervals[END_DESTINATION][family], detector, &pkt->destination_address);
}
