/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Defrag, internal:
 *
 *   defrag.c   processing of a fragment: parse, compare, store, complete
 *   table.c    datagrams: lookup by key, memory reserved at the start, expiry
 *   evicted.c  evicted datagrams, none of whose fragments passes any more
 *   pages.c    the bytes of one datagram: overlaps, overlap policy, completeness
 *   whole.c    the datagram as a packet: its header
 *   transfer.c transfer of datagrams to another process
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
    SHORT_HEADER = 64, /* headers up to this length are stored in the datagram itself: any IPv4 header */
    LINK_ROOM = 256,
    SCRATCH_SIZE = LINK_ROOM + IPV6_HEADER + DATAGRAM_MAX + 1,
    DEFRAG_NESTED = 4,      /* levels of datagrams inside fragments of reassembled datagrams */
    DIGESTS_MAX = 63,       /* fragments of a complete datagram that are recognized as copies */
    REMEMBERED_MAX = 32768, /* complete datagrams: half the range of IPv4's identification */
};

_Static_assert(DATAGRAM_PAGES *PAGE_BYTES > DATAGRAM_MAX, "pages for every offset");

/* The fragment that a unit's bytes came from; fields in units. */
struct owner {
    uint16_t start, end;
};

/* PAGE_BYTES of a datagram. */
struct page {
    uint64_t held[PAGE_WORDS];   /* a bit per unit: its bytes are stored */
    uint64_t starts[PAGE_WORDS]; /* a fragment began here */
    uint8_t bytes[PAGE_BYTES];
    struct owner owners[]; /* PAGE_UNITS of them; none inline, where bytes never differ */
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
    DATAGRAM_DROPPED, /* inline: none of its fragments passes any more */
    DATAGRAM_STATES,
};

struct datagram {
    struct datagram *next;          /* next in the bucket */
    struct datagram *older, *newer; /* neighbours in the list of its state */
    uint64_t seen_ns;               /* time of the last fragment that passed, or that set the state */
    struct datagram_key key;
    uint32_t hash;
    uint32_t end;   /* end of the last fragment; UINT32_MAX: not seen */
    uint32_t reach; /* end of the farthest fragment */
    uint8_t state;  /* enum datagram_state */
    uint8_t host_os;
    bool has_header;
    uint8_t next_header; /* IPv6: next header of the first fragment */
    uint16_t header_length;
    uint8_t header[SHORT_HEADER]; /* header of the first fragment, without fragment header */
    struct page *long_header;     /* used instead when the header is longer */
    union {
        struct page *page[DATAGRAM_PAGES]; /* DATAGRAM_OPEN; NULL where no bytes are stored */
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
    COUNTER_EVICTED,           /* datagrams evicted before they were complete, or while they were dropped */
    COUNTER_EVICTED_FRAGMENTS, /* fragments of those, dropped */
    COUNTER_MEMUSE,            /* computed when read */
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
    unsigned current; /* index of the filter that new entries are added to */
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
    struct datagram *completed[DEFRAG_NESTED]; /* datagram in that scratch buffer; NULL when freed */
};

/* A fragment, parsed from its packet. */
struct fragment {
    const struct packet *pkt;
    const uint8_t *header; /* the IP header and the headers before the fragment header */
    uint32_t header_length;
    const uint8_t *bytes;
    uint32_t start, end; /* range of its bytes in the datagram */
    bool more;
    uint8_t next_header; /* IPv6 */
};

/* --- table.c -------------------------------------------------------------------------------------- */

int table_new(struct defrag *defrag);
void table_free(struct defrag *defrag);
struct datagram *table_find(struct defrag *defrag, const struct packet *pkt);
/* NULL when there is no memory. */
struct datagram *table_add(struct defrag *defrag, const struct packet *pkt);
/* Adds a datagram of another process, whose bytes follow. NULL when there is no memory. */
struct datagram *table_add_transferred(struct defrag *defrag, const struct datagram *read);
void table_remove(struct defrag *defrag, struct datagram *datagram);
/* Allocates an empty page for a datagram, which is not evicted for it; NULL when there is no memory. */
struct page *table_page(struct defrag *defrag, const struct datagram *datagram, uint64_t now_ns);
/* Whether a datagram that is not in the table was evicted; none of its fragments may pass. */
bool table_was_evicted(struct defrag *defrag, const struct packet *pkt);
/* Moves the datagram to the end of the list of `state`, and restarts its timeout. */
void table_move(struct defrag *defrag, struct datagram *datagram, enum datagram_state state, uint64_t now_ns);

/* --- evicted.c ------------------------------------------------------------------------------------ */

int evicted_new(struct evicted *evicted, size_t memcap); /* 0 or -ENOMEM */
void evicted_free(struct evicted *evicted);
void evicted_add(struct evicted *evicted, uint64_t hash, uint64_t now_ns, uint64_t timeout_ns);
void evicted_transfer(struct transfer *t, struct evicted *evicted); /* reading: adds to the existing ones */
bool evicted_contains(struct evicted *evicted, uint64_t hash, uint64_t now_ns, uint64_t timeout_ns);

/* --- pages.c -------------------------------------------------------------------------------------- */

/* Allocates the pages of a fragment; false when memory is used up, then pages allocated before stay with the datagram.
 */
bool pages_reserve(struct defrag *defrag, struct datagram *datagram, const struct fragment *fragment);
bool pages_overlap(const struct datagram *datagram, const struct fragment *fragment);
/* Whether a stored byte differs in the fragment. */
bool pages_differ(const struct datagram *datagram, const struct fragment *fragment);
/* Stores the fragment's bytes by the overlap policy; true when its first ones are now the datagram's. */
bool pages_insert(const struct defrag *defrag, struct datagram *datagram, const struct fragment *fragment);
/* Whether all bytes up to the end of the last fragment are stored. */
bool pages_complete(const struct datagram *datagram);
void pages_copy(const struct datagram *datagram, uint8_t *out);
/* Frees all pages; the datagram is empty then. */
void pages_clear(struct defrag *defrag, struct datagram *datagram);
/* Gets the starts of the fragments in bytes, ascending, at most `max`; returns how many. */
size_t pages_starts(const struct datagram *datagram, uint32_t *out, size_t max);

/* --- whole.c -------------------------------------------------------------------------------------- */

/* Stores the header of the first fragment; memory for a long one is reserved before. */
void header_store(struct datagram *datagram, const struct fragment *fragment);
/* Whether another first fragment has the same header, as far as receivers may choose between them (IPv6: the chain of
 * headers). */
bool header_is_same(const struct datagram *datagram, const struct fragment *fragment);
/* Copies header and bytes to the scratch buffer of `level`; false when both together are too long. */
bool whole_build(struct defrag *defrag, const struct datagram *datagram, const struct fragment *last, unsigned level,
                 struct packet *whole);
const uint8_t *header_bytes(const struct datagram *datagram);

#endif
