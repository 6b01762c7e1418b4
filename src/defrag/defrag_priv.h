/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside of defrag:
 *
 *   defrag.c   a fragment's way: read, check against what is held, keep, complete
 *   table.c    datagrams: found by key, in memory that is reserved at the start, forgotten in time
 *   evicted.c  datagrams that gave way: no fragment of them passes any more
 *   pages.c    the bytes of one datagram: overlaps, whose bytes count, what is missing
 *   whole.c    the datagram as a packet: its header
 *   transfer.c datagrams for another process
 */
#ifndef SLUICE_DEFRAG_PRIV_H
#define SLUICE_DEFRAG_PRIV_H

#include "sluice/decode_event.h"
#include "sluice/defrag.h"
#include "sluice/pool.h"

enum {
    UNIT = 8, /* offsets, and the lengths of all fragments but the last, are multiples of it */
    WORD_UNITS = 64,
    PAGE_WORDS = 2,
    PAGE_UNITS = PAGE_WORDS * WORD_UNITS,
    PAGE_BYTES = PAGE_UNITS * UNIT,
    DATAGRAM_MAX = 65535, /* bytes of an IPv4 datagram with its header, or after the IPv6 header */
    DATAGRAM_PAGES = 64,
    IPV4_HEADER_MIN = 20,
    IPV6_HEADER = 40,
    FRAGMENT_HEADER = 8,
    SHORT_HEADER = 64, /* kept in the datagram itself: any IPv4 header, IPv6 with little before the fragment header */
    LINK_ROOM = 256,
    SCRATCH_SIZE = LINK_ROOM + IPV6_HEADER + DATAGRAM_MAX + 1,
    DEFRAG_NESTED = 4,      /* datagrams within fragments of datagrams that are put together */
    DIGESTS_MAX = 63,       /* fragments of a datagram that are known again after it was complete */
    REMEMBERED_MAX = 32768, /* complete datagrams: half of what IPv4's identification counts */
};

_Static_assert(DATAGRAM_PAGES *PAGE_BYTES > DATAGRAM_MAX, "pages for every offset");

/* The fragment that a unit's bytes came from, in units. */
struct owner {
    uint16_t start, end;
};

/* PAGE_BYTES of a datagram. */
struct page {
    uint64_t held[PAGE_WORDS];   /* a bit a unit: its bytes are there */
    uint64_t starts[PAGE_WORDS]; /* a fragment began here */
    uint8_t bytes[PAGE_BYTES];
    struct owner owners[]; /* PAGE_UNITS, but inline none: there bytes never differ */
};

struct datagram_key {
    struct address source, destination;
    uint32_t id;
    uint16_t vlan_id[PACKET_MAX_VLANS];
    uint8_t ip_version;
    uint8_t protocol; /* IPv4 only (RFC 791, RFC 8200 §4.5) */
};

_Static_assert(sizeof(struct datagram_key) == 44, "no padding, for it is hashed");

enum datagram_state {
    DATAGRAM_OPEN,
    DATAGRAM_DONE,    /* inline: complete and accepted */
    DATAGRAM_DROPPED, /* inline: nothing of it passes any more */
    DATAGRAM_STATES,
};

struct datagram {
    struct datagram *next;          /* in the bucket */
    struct datagram *older, *newer; /* of the same state */
    uint64_t seen_ns;               /* of the last fragment that passed, or that decided the state */
    struct datagram_key key;
    uint32_t hash;
    uint32_t end;   /* of the last fragment; UINT32_MAX: not seen */
    uint32_t reach; /* end of the farthest fragment */
    uint8_t state;  /* enum datagram_state */
    uint8_t host_os;
    bool has_header;
    uint8_t next_header; /* IPv6: of the first fragment */
    uint16_t header_length;
    uint8_t header[SHORT_HEADER]; /* of the first fragment, without fragment header */
    struct page *long_header;     /* in its place when it is longer */
    union {
        struct page *page[DATAGRAM_PAGES]; /* DATAGRAM_OPEN; NULL where nothing is held */
        struct {                           /* DATAGRAM_DONE */
            uint64_t count;
            uint64_t digest[DIGESTS_MAX];
        };
    };
};

struct datagram_list {
    struct datagram *oldest, *newest;
    size_t count;
};

enum defrag_counter {
    COUNTER_IPV4_FRAGMENTS,
    COUNTER_IPV4_REASSEMBLED,
    COUNTER_IPV6_FRAGMENTS,
    COUNTER_IPV6_REASSEMBLED,
    COUNTER_MAX_TRACKERS,
    COUNTER_MAX_FRAGS,
    COUNTER_TIMEOUT_LOOKUP,
    COUNTER_TIMEOUT_EXPIRE,
    COUNTER_CONTRADICTIONS,
    COUNTER_REPEATED,
    COUNTER_DROPPED_FRAGMENTS,
    COUNTER_EVICTED,           /* datagrams that gave way before they were complete, or while they were dropped */
    COUNTER_EVICTED_FRAGMENTS, /* of those, dropped */
    COUNTER_MEMUSE,            /* computed */
    COUNTER_COUNT,
};

/* Two Bloom filters of the hashes of evicted datagrams. */
enum { EVICTED_FILTERS = 2 };
struct evicted {
    struct evicted_filter {
        uint64_t *words;
        uint64_t count; /* datagrams */
    } filter[EVICTED_FILTERS];
    uint32_t bit_mask;
    unsigned current; /* that new ones go to */
    uint64_t rotated_ns;
};

struct defrag {
    struct defrag_options options;
    uint64_t timeout_ns, seed;
    struct pool *datagrams, *pages;
    struct datagram **buckets;
    uint32_t bucket_mask;
    struct datagram_list lists[DATAGRAM_STATES];
    struct evicted evicted;
    uint64_t counters[COUNTER_COUNT];
    uint8_t *scratch;                          /* DEFRAG_NESTED times SCRATCH_SIZE */
    struct datagram *completed[DEFRAG_NESTED]; /* whose bytes are in that scratch; NULL when it is forgotten */
};

/* One fragment, read from its packet. */
struct fragment {
    const struct packet *pkt;
    const uint8_t *header; /* the IP header and what comes before the fragment header */
    uint32_t header_length;
    const uint8_t *bytes;
    uint32_t start, end; /* of the bytes in the datagram */
    bool more;
    uint8_t next_header; /* IPv6 */
};

/* --- table.c -------------------------------------------------------------------------------------- */

int table_new(struct defrag *defrag);
void table_free(struct defrag *defrag);
struct datagram *table_find(struct defrag *defrag, const struct packet *pkt);
/* NULL when there is no memory. */
struct datagram *table_add(struct defrag *defrag, const struct packet *pkt);
/* One that another process had, of which the bytes are still to come. NULL when there is no memory. */
struct datagram *table_place(struct defrag *defrag, const struct datagram *read);
void table_remove(struct defrag *defrag, struct datagram *datagram);
/* A page with nothing held, for a datagram, which does not give way for it; NULL when there is no memory. */
struct page *table_page(struct defrag *defrag, const struct datagram *datagram, uint64_t now_ns);
/* Whether a datagram that is not in the table gave way; no fragment of it may pass. */
bool table_was_evicted(struct defrag *defrag, const struct packet *pkt);
/* To the end of the list of `state`: its time begins again. */
void table_move(struct defrag *defrag, struct datagram *datagram, enum datagram_state state, uint64_t now_ns);

/* --- evicted.c ------------------------------------------------------------------------------------ */

int evicted_new(struct evicted *evicted, size_t memcap); /* 0 or -ENOMEM */
void evicted_free(struct evicted *evicted);
void evicted_add(struct evicted *evicted, uint64_t hash, uint64_t now_ns, uint64_t timeout_ns);
void evicted_transfer(struct transfer *t, struct evicted *evicted); /* reading: adds to those that are there */
bool evicted_has(struct evicted *evicted, uint64_t hash, uint64_t now_ns, uint64_t timeout_ns);

/* --- pages.c -------------------------------------------------------------------------------------- */

/* False when memory is used up; what was reserved stays with the datagram. */
bool pages_reserve(struct defrag *defrag, struct datagram *datagram, const struct fragment *fragment);
bool pages_overlap(const struct datagram *datagram, const struct fragment *fragment);
/* Whether a byte that is held is another one in the fragment. */
bool pages_differ(const struct datagram *datagram, const struct fragment *fragment);
/* Takes the fragment's bytes as the policy says; whether its first ones are now the datagram's. */
bool pages_insert(const struct defrag *defrag, struct datagram *datagram, const struct fragment *fragment);
/* Whether all is there up to the end of the last fragment. */
bool pages_complete(const struct datagram *datagram);
void pages_copy(const struct datagram *datagram, uint8_t *out);
/* Gives all back. Nothing is held then. */
void pages_clear(struct defrag *defrag, struct datagram *datagram);
/* Where the fragments began, ascending: at most `max` starts in bytes; how many. */
size_t pages_starts(const struct datagram *datagram, uint32_t *out, size_t max);

/* --- whole.c -------------------------------------------------------------------------------------- */

/* Keeps the header of the first fragment; memory for a long one is reserved. */
void header_keep(struct datagram *datagram, const struct fragment *fragment);
/* Whether another first fragment says the same: only what a receiver may pick one of counts (IPv6: the chain of
 * headers). */
bool header_same(const struct datagram *datagram, const struct fragment *fragment);
/* Header and bytes to the scratch of `level`; false when both together are too long. */
bool whole_build(struct defrag *defrag, const struct datagram *datagram, const struct fragment *last, unsigned level,
                 struct packet *whole);
const uint8_t *header_bytes(const struct datagram *datagram);

#endif
