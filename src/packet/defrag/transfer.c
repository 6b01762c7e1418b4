/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transfer of datagrams to the next engine: open ones with their bytes, so that the next engine can complete and
 * inspect them; inline also accepted and dropped ones, so that the next engine handles their later fragments as this
 * one would.
 *
 * Digests of accepted fragments and the filters of evicted datagrams depend on the seed of the table, which is
 * transferred with them.
 */
#include "sluice/transfer.h"

#include <string.h>

#include "defrag_priv.h"

enum { PART_SEED, PART_DATAGRAM, PART_EVICTED };

static void transfer_fields(struct transfer *t, struct datagram *datagram)
{
    struct datagram_key *key = &datagram->key;

    transfer_bytes(t, &key->source, sizeof(key->source));
    transfer_bytes(t, &key->destination, sizeof(key->destination));
    transfer_u32(t, &key->id);
    for (unsigned i = 0; i < PACKET_MAX_VLANS; i++)
        transfer_u16(t, &key->vlan_id[i]);
    transfer_u8(t, &key->ip_version);
    transfer_u8(t, &key->protocol);
    transfer_require(t, key->ip_version == 4 || key->ip_version == 6);
    transfer_u64(t, &datagram->seen_ns);
    transfer_u32(t, &datagram->end);
    transfer_u32(t, &datagram->reach);
    transfer_u8(t, &datagram->state);
    transfer_bool(t, &datagram->has_header);
    transfer_u8(t, &datagram->next_header);
    transfer_u16(t, &datagram->header_length);
    transfer_require(t, datagram->state < DATAGRAM_STATES && datagram->reach <= DATAGRAM_MAX);
    transfer_require(t, datagram->end == UINT32_MAX || (datagram->end > 0 && datagram->end <= DATAGRAM_MAX));
    transfer_require(t, datagram->header_length <= PAGE_BYTES);
    transfer_require(t, !datagram->has_header ||
                            datagram->header_length >= (key->ip_version == 4 ? IPV4_HEADER_MIN : IPV6_HEADER));
}

/* --- Open datagrams ------------------------------------------------------------------------------- */

static void transfer_page(struct transfer *t, const struct defrag *defrag, struct page *page)
{
    for (unsigned i = 0; i < PAGE_WORDS; i++) {
        transfer_u64(t, &page->held[i]);
        transfer_u64(t, &page->starts[i]);
    }
    transfer_bytes(t, page->bytes, sizeof(page->bytes));
    for (unsigned i = 0; !defrag->options.inline_mode && i < PAGE_UNITS; i++) {
        transfer_u16(t, &page->owners[i].start);
        transfer_u16(t, &page->owners[i].end);
    }
}

static void write_pages(struct transfer *t, const struct defrag *defrag, const struct datagram *datagram)
{
    uint64_t present = 0;

    for (unsigned i = 0; i < DATAGRAM_PAGES; i++)
        present |= (uint64_t)(datagram->page[i] != NULL) << i;
    transfer_u64(t, &present);
    for (unsigned i = 0; i < DATAGRAM_PAGES; i++) {
        if (datagram->page[i])
            transfer_page(t, defrag, datagram->page[i]);
    }
}

/* Reads the pages of a datagram. Returns false if memory is exhausted. */
static bool read_pages(struct transfer *t, struct defrag *defrag, struct datagram *datagram)
{
    uint64_t present = 0;

    transfer_u64(t, &present);
    for (unsigned i = 0; i < DATAGRAM_PAGES && !t->error; i++) {
        if (!(present >> i & 1))
            continue;
        datagram->page[i] = table_page(defrag, datagram, 0);
        if (!datagram->page[i])
            return false;
        transfer_page(t, defrag, datagram->page[i]);
    }
    return true;
}

static bool transfer_header(struct transfer *t, struct defrag *defrag, struct datagram *datagram)
{
    bool is_long = datagram->header_length > SHORT_HEADER;

    if (!datagram->has_header)
        return true;
    if (is_long && t->reading && !(datagram->long_header = table_page(defrag, datagram, 0)))
        return false;
    transfer_bytes(t, is_long ? datagram->long_header->bytes : datagram->header, datagram->header_length);
    transfer_require(t, header_bytes(datagram)[0] >> 4 == datagram->key.ip_version);
    return true;
}

static bool transfer_open(struct transfer *t, struct defrag *defrag, struct datagram *datagram)
{
    if (!transfer_header(t, defrag, datagram))
        return false;
    if (t->reading)
        return read_pages(t, defrag, datagram);
    write_pages(t, defrag, datagram);
    return true;
}

static void transfer_digests(struct transfer *t, struct datagram *datagram)
{
    transfer_u64(t, &datagram->count);
    transfer_require(t, datagram->count <= DIGESTS_MAX);
    for (uint64_t i = 0; i < datagram->count && !t->error; i++)
        transfer_u64(t, &datagram->digest[i]);
}

/* --- Table ---------------------------------------------------------------------------------------- */

static void write_datagram(struct transfer *t, struct defrag *defrag, struct datagram *datagram)
{
    size_t start = transfer_part_start(t, PART_DATAGRAM);

    transfer_fields(t, datagram);
    if (datagram->state == DATAGRAM_OPEN)
        transfer_open(t, defrag, datagram);
    else if (datagram->state == DATAGRAM_DONE)
        transfer_digests(t, datagram);
    transfer_part_end(t, start);
}

static void write_datagrams(struct transfer *t, struct defrag *defrag)
{
    size_t start = transfer_part_start(t, PART_SEED);

    transfer_u64(t, &defrag->seed);
    transfer_part_end(t, start);
    for (unsigned i = 0; i < DATAGRAM_STATES; i++) {
        for (struct datagram *datagram = defrag->lists[i].oldest; datagram; datagram = datagram->newer)
            write_datagram(t, defrag, datagram);
    }
    if (defrag->evicted.bit_mask > 0) { /* inline */
        start = transfer_part_start(t, PART_EVICTED);
        evicted_transfer(t, &defrag->evicted);
        transfer_part_end(t, start);
    }
}

/* Returns whether an open datagram that was read is consistent: it is incomplete, no fragment ends behind its end, and
 * it has a header if the bytes of the first fragment are stored. */
static bool is_valid(const struct datagram *datagram)
{
    const struct page *first = datagram->page[0];

    if (datagram->state != DATAGRAM_OPEN)
        return true;
    if (pages_complete(datagram) || (datagram->end != UINT32_MAX && datagram->reach > datagram->end))
        return false;
    return datagram->has_header || !first || !(first->held[0] & 1);
}

/* Reads a datagram and adds it to the table. If memory is exhausted, it is omitted: its later fragments start a new
 * datagram. */
static void read_datagram(struct transfer *t, struct defrag *defrag, bool has_same_seed)
{
    struct datagram read, *datagram;

    memset(&read, 0, sizeof(read));
    transfer_fields(t, &read);
    if (t->error || (read.state == DATAGRAM_DONE && !has_same_seed) ||
        !(datagram = table_add_transferred(defrag, &read)))
        return;
    if (datagram->state == DATAGRAM_DONE)
        transfer_digests(t, datagram);
    else if (datagram->state == DATAGRAM_OPEN && !transfer_open(t, defrag, datagram) && !t->error) {
        table_remove(defrag, datagram);
        return;
    }
    transfer_require(t, is_valid(datagram));
    if (t->error)
        table_remove(defrag, datagram);
}

/* Reads the hash seed and uses it if the table is empty. Returns false if the table uses another seed: digests and
 * filters of the writer are not valid then. */
static bool read_seed(struct transfer *t, struct defrag *defrag)
{
    uint64_t seed = 0;

    transfer_u64(t, &seed);
    if (pool_used(defrag->datagrams) == 0 && !t->error)
        defrag->seed = seed;
    return seed == defrag->seed;
}

void defrag_transfer(struct transfer *t, struct defrag *defrag)
{
    struct transfer part;
    bool has_same_seed = false;
    uint16_t kind;

    if (!t->reading) {
        write_datagrams(t, defrag);
        return;
    }
    while (!t->error && transfer_next_part(t, &kind, &part)) {
        if (kind == PART_SEED)
            has_same_seed = read_seed(&part, defrag);
        else if (kind == PART_DATAGRAM)
            read_datagram(&part, defrag, has_same_seed);
        else if (kind == PART_EVICTED && has_same_seed && defrag->evicted.bit_mask > 0)
            evicted_transfer(&part, &defrag->evicted);
        t->error = part.error;
    }
}
