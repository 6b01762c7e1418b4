/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of a datagram, in pages with a bit for each unit of eight bytes that is stored. The cost of a fragment
 * depends on its length only, not on the number of stored fragments, so an attacker cannot increase it by many small
 * fragments in an unfavourable order.
 *
 * Overlaps are resolved by the policy of the receiving host, as in Suricata (after Novak, "Target-Based Fragmentation
 * Reassembly"). A policy compares a stored fragment with the new one. If the stored fragment wins at the start of the
 * new one, the new fragment is treated as starting behind the stored one. Inline no policy is needed, because fragments
 * with different bytes are dropped.
 */
#include <string.h>

#include "defrag_priv.h"

/* The range of units that contain bytes of a fragment: from first to last - 1. */
struct units {
    uint32_t first, last;
};

static struct units units_of(const struct fragment *fragment)
{
    return (struct units){ fragment->start / UNIT, (fragment->end + UNIT - 1) / UNIT };
}

/* Returns a mask of the bits in word number `word` of the bitmap that represent the units. */
static uint64_t word_mask(struct units units, uint32_t word)
{
    uint32_t base = word * WORD_UNITS;
    uint32_t low = units.first > base ? units.first - base : 0;
    uint32_t high = units.last - base < WORD_UNITS ? units.last - base : WORD_UNITS;

    return (high == WORD_UNITS ? UINT64_MAX : (UINT64_C(1) << high) - 1) & (UINT64_MAX << low);
}

static uint64_t held_in(const struct datagram *datagram, uint32_t word)
{
    const struct page *page = datagram->page[word / PAGE_WORDS];

    return page ? page->held[word % PAGE_WORDS] : 0;
}

static uint8_t *unit_bytes(struct page *page, uint32_t unit)
{
    return page->bytes + unit % PAGE_UNITS * UNIT;
}

/* Returns the number of the fragment's bytes in a unit: the last unit of the last fragment may be incomplete. */
static size_t unit_length(const struct fragment *fragment, uint32_t unit)
{
    uint32_t left = fragment->end - unit * UNIT;

    return left < UNIT ? left : UNIT;
}

bool pages_reserve(struct defrag *defrag, struct datagram *datagram, const struct fragment *fragment)
{
    uint64_t now_ns = fragment->pkt->time_ns;

    if (fragment->start == 0 && fragment->header_length > SHORT_HEADER && !datagram->long_header) {
        datagram->long_header = table_page(defrag, datagram, now_ns);
        if (!datagram->long_header)
            return false;
    }
    for (uint32_t i = fragment->start / PAGE_BYTES; i <= (fragment->end - 1) / PAGE_BYTES; i++) {
        if (!datagram->page[i])
            datagram->page[i] = table_page(defrag, datagram, now_ns);
        if (!datagram->page[i])
            return false;
    }
    return true;
}

bool pages_overlap(const struct datagram *datagram, const struct fragment *fragment)
{
    struct units units = units_of(fragment);

    for (uint32_t word = units.first / WORD_UNITS; word * WORD_UNITS < units.last; word++) {
        if (held_in(datagram, word) & word_mask(units, word))
            return true;
    }
    return false;
}

static bool word_differs(const struct datagram *datagram, const struct fragment *fragment, uint32_t word, uint64_t bits)
{
    for (; bits; bits &= bits - 1) {
        uint32_t unit = word * WORD_UNITS + (uint32_t)__builtin_ctzll(bits);
        const uint8_t *received = fragment->bytes + (unit * UNIT - fragment->start);

        if (memcmp(unit_bytes(datagram->page[unit / PAGE_UNITS], unit), received, unit_length(fragment, unit)) != 0)
            return true;
    }
    return false;
}

bool pages_differ(const struct datagram *datagram, const struct fragment *fragment)
{
    struct units units = units_of(fragment);

    for (uint32_t word = units.first / WORD_UNITS; word * WORD_UNITS < units.last; word++) {
        if (word_differs(datagram, fragment, word, held_in(datagram, word) & word_mask(units, word)))
            return true;
    }
    return false;
}

/* --- Overlap policies ----------------------------------------------------------------------------- */

/* An overlap policy: returns whether the bytes of the later fragment replace those of the stored one (`held`). The
 * names of the functions say where the later fragment must start and end, relative to the stored one. */
typedef bool later_wins(const struct owner *held, const struct owner *later);

static bool wins_never(const struct owner *held, const struct owner *later)
{
    (void)held;
    (void)later;
    return false;
}

static bool wins_if_before(const struct owner *held, const struct owner *later)
{
    return later->start < held->start;
}

static bool wins_if_not_after(const struct owner *held, const struct owner *later)
{
    return later->start <= held->start;
}

static bool wins_if_not_before(const struct owner *held, const struct owner *later)
{
    return later->start >= held->start;
}

static bool wins_if_enclosing(const struct owner *held, const struct owner *later)
{
    return later->start < held->start && later->end > held->end;
}

static bool wins_if_covering_end(const struct owner *held, const struct owner *later)
{
    return later->start < held->start && later->end >= held->end;
}

static later_wins *const policies[HOST_OS_COUNT] = {
    [HOST_OS_BSD] = wins_if_before,           [HOST_OS_BSD_RIGHT] = wins_if_not_before,
    [HOST_OS_OLD_LINUX] = wins_if_not_after,  [HOST_OS_LINUX] = wins_if_not_after,
    [HOST_OS_OLD_SOLARIS] = wins_never,       [HOST_OS_SOLARIS] = wins_if_covering_end,
    [HOST_OS_HPUX10] = wins_if_before,        [HOST_OS_HPUX11] = wins_never,
    [HOST_OS_IRIX] = wins_if_before,          [HOST_OS_MACOS] = wins_never,
    [HOST_OS_WINDOWS] = wins_if_enclosing,    [HOST_OS_VISTA] = wins_if_enclosing,
    [HOST_OS_WINDOWS2K3] = wins_if_enclosing,
};

/* --- Insertion ------------------------------------------------------------------------------------ */

/* Inline: stores the units that are not stored yet. The others were compared before and are equal. */
static void insert_equal(struct datagram *datagram, const struct fragment *fragment, struct units units)
{
    for (uint32_t word = units.first / WORD_UNITS; word * WORD_UNITS < units.last; word++) {
        struct page *page = datagram->page[word / PAGE_WORDS];
        uint64_t missing = word_mask(units, word) & ~page->held[word % PAGE_WORDS];

        page->held[word % PAGE_WORDS] |= missing;
        while (missing) {
            uint32_t low = (uint32_t)__builtin_ctzll(missing);
            uint64_t after = ~(missing >> low); /* the lowest set bit is behind the run of missing units */
            uint32_t run = after ? (uint32_t)__builtin_ctzll(after) : WORD_UNITS;
            uint32_t unit = word * WORD_UNITS + low;
            uint32_t length = (run - 1) * UNIT + (uint32_t)unit_length(fragment, unit + run - 1);

            memcpy(unit_bytes(page, unit), fragment->bytes + (unit * UNIT - fragment->start), length);
            missing = low + run == WORD_UNITS ? 0 : missing & (UINT64_MAX << (low + run));
        }
    }
}

static void insert_by_policy(struct datagram *datagram, const struct fragment *fragment, struct units units)
{
    later_wins *wins = policies[datagram->host_os];
    const struct owner whole = { (uint16_t)units.first, (uint16_t)units.last };
    struct owner owner = whole;

    for (uint32_t unit = units.first; unit < units.last; unit++) {
        struct page *page = datagram->page[unit / PAGE_UNITS];
        uint64_t *held = &page->held[unit / WORD_UNITS % PAGE_WORDS], bit = UINT64_C(1) << unit % WORD_UNITS;

        if ((*held & bit) && !wins(&page->owners[unit % PAGE_UNITS], &whole)) {
            /* For the following units, the policies compare the start of the trimmed fragment; BSD-right compares the
             * original start. */
            if (datagram->host_os != HOST_OS_BSD_RIGHT)
                owner.start = (uint16_t)(unit + 1);
            continue;
        }
        *held |= bit;
        page->owners[unit % PAGE_UNITS] = owner;
        memcpy(unit_bytes(page, unit), fragment->bytes + (unit * UNIT - fragment->start), unit_length(fragment, unit));
    }
}

bool pages_insert(const struct defrag *defrag, struct datagram *datagram, const struct fragment *fragment)
{
    struct units units = units_of(fragment);
    struct page *first = datagram->page[units.first / PAGE_UNITS];
    uint32_t word = units.first / WORD_UNITS % PAGE_WORDS;
    uint64_t bit = UINT64_C(1) << units.first % WORD_UNITS;
    bool was_held = first->held[word] & bit;

    first->starts[word] |= bit;
    if (defrag->options.inline_mode) {
        insert_equal(datagram, fragment, units);
        return !was_held;
    }
    bool won = !was_held || policies[datagram->host_os](&first->owners[units.first % PAGE_UNITS],
                                                        &(struct owner){ (uint16_t)units.first, (uint16_t)units.last });

    insert_by_policy(datagram, fragment, units);
    return won;
}

/* --- Whole datagram ------------------------------------------------------------------------------- */

bool pages_complete(const struct datagram *datagram)
{
    struct units units = { 0, (datagram->end - 1) / UNIT + 1 };

    if (datagram->end == UINT32_MAX)
        return false;
    for (uint32_t word = 0; word * WORD_UNITS < units.last; word++) {
        if (word_mask(units, word) & ~held_in(datagram, word))
            return false;
    }
    return true;
}

void pages_copy(const struct datagram *datagram, uint8_t *out)
{
    for (uint32_t at = 0; at < datagram->end; at += PAGE_BYTES) {
        uint32_t left = datagram->end - at;

        memcpy(out + at, datagram->page[at / PAGE_BYTES]->bytes, left < PAGE_BYTES ? left : PAGE_BYTES);
    }
}

size_t pages_starts(const struct datagram *datagram, uint32_t *out, size_t max)
{
    size_t count = 0;

    for (uint32_t word = 0; word < DATAGRAM_PAGES * PAGE_WORDS; word++) {
        const struct page *page = datagram->page[word / PAGE_WORDS];

        for (uint64_t bits = page ? page->starts[word % PAGE_WORDS] : 0; bits && count < max; bits &= bits - 1)
            out[count++] = (word * WORD_UNITS + (uint32_t)__builtin_ctzll(bits)) * UNIT;
    }
    return count;
}

void pages_clear(struct defrag *defrag, struct datagram *datagram)
{
    if (datagram->state != DATAGRAM_OPEN)
        return; /* the pages were freed when the state changed */
    for (unsigned i = 0; i < DATAGRAM_PAGES; i++)
        pool_release(defrag->pages, datagram->page[i]);
    pool_release(defrag->pages, datagram->long_header);
    datagram->long_header = NULL;
    memset(datagram->page, 0, sizeof(datagram->page));
}
