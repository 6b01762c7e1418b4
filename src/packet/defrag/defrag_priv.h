/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Defrag, internal:
 *
 *   defrag.c   processing of a fragment: parse, compare, store, complete
 *   table.c    datagrams: lookup by key, memory reserved at the start, expiry
 *   evicted.c  evicted datagrams, whose later fragments are dropped
 *   pages.c    the bytes of one datagram: overlaps, overlap policy, completeness
 *   whole.c    the packet of a complete datagram, and its header
 *   transfer.c transfer of datagrams to the next engine
 */
#ifndef SLUICE_DEFRAG_PRIV_H
#define SLUICE_DEFRAG_PRIV_H

#include "sluice/decode_event.h"
#include "sluice/defrag.h"
#include "sluice/pool.h"

enum {
    UNIT = 8, /* bytes; offsets of fragments, and lengths of all except the last, are multiples of this */
    WORD_UNITS = 64,
    PAGE_WORDS = 2,
    PAGE_UNITS = PAGE_WORDS * WORD_UNITS,
    PAGE_BYTES = PAGE_UNITS * UNIT,
    DATAGRAM_MAX = 65535, /* bytes of an IPv4 datagram with its header, or after the IPv6 header */
    DATAGRAM_PAGES = 64,  /* pages of a datagram of maximum length */
    IPV4_HEADER_MIN = 20,
    IPV6_HEADER = 40,
    FRAGMENT_HEADER = 8,
    SHORT_HEADER = 64, /* bytes; longer headers (IPv6 only) are stored in datagram.long_header */
    LINK_ROOM = 256,   /* bytes in front of a reassembled datagram, for the link header */
    SCRATCH_SIZE = LINK_ROOM + IPV6_HEADER + DATAGRAM_MAX + 1,
    DEFRAG_NESTED = 4,      /* nesting levels: a reassembled datagram may contain a tunnel with fragments */
    DIGESTS_MAX = 63,       /* maximum number of fragments of an accepted datagram whose copies are recognized */
    REMEMBERED_MAX = 32768, /* maximum number of remembered accepted datagrams: half of the IPv4 identifications */
};

_Static_assert(DATAGRAM_PAGES *PAGE_BYTES > DATAGRAM_MAX, "pages for every offset");

/* The range, in units, of the fragment that the bytes of a unit belong to. */
struct owner {
    uint16_t start, end;
};

/* A part of a datagram of PAGE_BYTES bytes. */
struct page {
    uint64_t held[PAGE_WORDS];   /* a bit per unit: its bytes are stored */
    uint64_t starts[PAGE_WORDS]; /* a bit per unit: a fragment starts with it */
    uint8_t bytes[PAGE_BYTES];
    struct owner owners[]; /* one per unit; none inline, where the bytes of fragments never differ */
};

struct datagram_key {
    struct address source, destination;
    uint32_t id;
    uint16_t vlan_id[PACKET_MAX_VLANS];
    uint8_t ip_version;
    uint8_t protocol; /* IPv4; 0 for IPv6, whose key does not include the protocol (RFC 791, RFC 8200 §4.5) */
};

_Static_assert(sizeof(struct datagram_key) == 44, "no padding, because the bytes of the key are hashed");

enum datagram_state {
    DATAGRAM_OPEN,
    DATAGRAM_DONE,    /* inline: the datagram was complete and accepted; only copies of its fragments pass */
    DATAGRAM_DROPPED, /* inline: all later fragments are dropped */
    DATAGRAM_STATES,
};

struct datagram {
    struct datagram *next;          /* next in the bucket */
    struct datagram *older, *newer; /* neighbours in the list of its state */
    uint64_t seen_ns; /* time of the last fragment that passed or changed the state; the timeout starts then */
    struct datagram_key key;
    uint32_t hash;
    uint32_t end;        /* end of the last fragment in bytes; UINT32_MAX: not seen yet */
    uint32_t reach;      /* highest end of a fragment in bytes */
    uint8_t state;       /* enum datagram_state */
    uint8_t host_os;     /* enum host_os of the receiver */
    bool has_header;     /* the first fragment was seen, and its header is stored */
    uint8_t next_header; /* IPv6: next header of the first fragment */
    uint16_t header_length;
    uint8_t header[SHORT_HEADER]; /* header of the first fragment, without fragment header */
    struct page *long_header;     /* holds the header instead if it is longer than SHORT_HEADER */
    union {
        struct page *page[DATAGRAM_PAGES]; /* DATAGRAM_OPEN; NULL: no bytes of this range are stored */
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
    COUNTER_EVICTED,           /* evicted datagrams that were incomplete or dropped */
    COUNTER_EVICTED_FRAGMENTS, /* fragments of evicted datagrams that were dropped */
    COUNTER_MEMUSE,            /* gauge, computed when it is read */
    COUNTER_COUNT,
};

/* The Bloom filters with the hashes of evicted datagrams; see evicted.c. */
enum { EVICTED_FILTERS = 2 };
struct evicted {
    struct evicted_filter {
        uint64_t *words;
        uint64_t count; /* number of datagrams in the filter */
    } filter[EVICTED_FILTERS];
    uint32_t bit_mask;   /* number of bits of a filter - 1; 0: passive, no filters */
    unsigned current;    /* index of the filter that new entries are added to */
    uint64_t rotated_ns; /* time at which the current filter was cleared */
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
    struct datagram *completed[DEFRAG_NESTED]; /* datagram in each scratch buffer; NULL if freed */
};

/* The fields of a fragment; the pointers point into the packet. */
struct fragment {
    const struct packet *pkt;
    const uint8_t *header; /* the IP header and the headers before the fragment header */
    uint32_t header_length;
    const uint8_t *bytes;
    uint32_t start, end; /* offsets of the first byte and behind the last byte in the datagram */
    bool more;           /* more-fragments flag */
    uint8_t next_header; /* IPv6: value of this field in the fragment header */
};

/* --- table.c -------------------------------------------------------------------------------------- */

int table_new(struct defrag *defrag);
void table_free(struct defrag *defrag);
struct datagram *table_find(struct defrag *defrag, const struct packet *pkt);
/* Adds the datagram of a fragment. Returns NULL if memory is exhausted. */
struct datagram *table_add(struct defrag *defrag, const struct packet *pkt);
/* Adds a datagram of the previous engine, without its bytes. Returns NULL if memory is exhausted. */
struct datagram *table_add_transferred(struct defrag *defrag, const struct datagram *read);
void table_remove(struct defrag *defrag, struct datagram *datagram);
/* Allocates an empty page for a datagram; may evict other datagrams. Returns NULL if memory is exhausted. */
struct page *table_page(struct defrag *defrag, const struct datagram *datagram, uint64_t now_ns);
/* Returns whether the datagram of a fragment, which is not in the table, was evicted. If so, the fragment must not
 * pass. */
bool table_was_evicted(struct defrag *defrag, const struct packet *pkt);
/* Moves the datagram to the end of the list of `state`, and restarts its timeout. */
void table_move(struct defrag *defrag, struct datagram *datagram, enum datagram_state state, uint64_t now_ns);

/* --- evicted.c ------------------------------------------------------------------------------------ */

int evicted_new(struct evicted *evicted, size_t memcap); /* 0 or -ENOMEM */
void evicted_free(struct evicted *evicted);
void evicted_add(struct evicted *evicted, uint64_t hash, uint64_t now_ns, uint64_t timeout_ns);
/* When reading, adds the entries that were read, and keeps the entries that `evicted` already contains. */
void evicted_transfer(struct transfer *t, struct evicted *evicted);
bool evicted_contains(struct evicted *evicted, uint64_t hash, uint64_t now_ns, uint64_t timeout_ns);

/* --- pages.c -------------------------------------------------------------------------------------- */

/* Allocates the missing pages for the range of a fragment. Returns false if memory is exhausted; pages that were
 * allocated before stay with the datagram. */
bool pages_reserve(struct defrag *defrag, struct datagram *datagram, const struct fragment *fragment);
/* Returns whether stored bytes overlap the fragment. */
bool pages_overlap(const struct datagram *datagram, const struct fragment *fragment);
/* Returns whether the fragment and the stored bytes differ where they overlap. */
bool pages_differ(const struct datagram *datagram, const struct fragment *fragment);
/* Stores the bytes of a fragment, as far as the overlap policy prefers them to stored bytes. Returns true if the bytes
 * of the first unit in the fragment's range are now those of this fragment. */
bool pages_insert(const struct defrag *defrag, struct datagram *datagram, const struct fragment *fragment);
/* Returns whether all bytes up to the end of the last fragment are stored. */
bool pages_complete(const struct datagram *datagram);
void pages_copy(const struct datagram *datagram, uint8_t *out);
/* Frees all pages. */
void pages_clear(struct defrag *defrag, struct datagram *datagram);
/* Stores in `out` the offsets at which fragments start, in ascending order and at most `max` of them. Returns the
 * number of stored offsets. */
size_t pages_starts(const struct datagram *datagram, uint32_t *out, size_t max);

/* --- whole.c -------------------------------------------------------------------------------------- */

/* Stores the header of the first fragment. pages_reserve() has allocated memory for a long one. */
void header_store(struct datagram *datagram, const struct fragment *fragment);
/* Returns whether the datagram is equivalent if a receiver uses `fragment` as first fragment instead of the stored one.
 * This is true for IPv4; for IPv6, only if both have the same chain of headers. */
bool header_is_same(const struct datagram *datagram, const struct fragment *fragment);
/* Builds the packet of a complete datagram in the scratch buffer number `level`. Returns false if the datagram is too
 * long with its header. */
bool whole_build(struct defrag *defrag, const struct datagram *datagram, const struct fragment *last, unsigned level,
                 struct packet *whole);
const uint8_t *header_bytes(const struct datagram *datagram);

#endif
