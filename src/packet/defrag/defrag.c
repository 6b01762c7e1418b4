/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processing of a fragment: parse it, compare it with the stored part of its datagram, store it, and build the datagram
 * when it is complete.
 *
 * Passive mode follows Suricata: overlaps are resolved as the receiver's system does, and a complete datagram is
 * removed. Inline this does not suffice. Fragments pass before their datagram is complete, and the receiver may not get
 * all fragments that are seen here: some are lost on the way (low TTL, smaller MTU), and some are discarded by the
 * receiver. Every datagram that a receiver can reassemble must have been inspected. Therefore:
 *
 * - Every byte of a datagram has one value. An exact copy of a fragment passes. A fragment with different bytes, a
 *   different end of the datagram, or a different chain of headers is dropped, and so are all later fragments of the
 *   datagram (RFC 5722, applied to IPv4, too).
 * - A dropped datagram stays dropped, because the receiver may have all of its fragments except the dropped one.
 * - An accepted datagram is remembered, too. If the receiver has only a part of it, a new fragment with the same
 *   identification could complete that part to a datagram that was not inspected, although here the fragment starts a
 *   new datagram. So only copies of its fragments pass, recognized by keyed digests of their range and bytes. Digests
 *   of the first DIGESTS_MAX fragments are stored.
 *
 * Dropped and accepted datagrams are remembered for `timeout` after the last fragment that passed: receivers keep
 * incomplete datagrams for 30 or 60 s. A sender must not reuse an identification in that time (RFC 6864, RFC 8200), but
 * over IPv4, where the identification has 16 bits, fast senders do. So at most REMEMBERED_MAX accepted datagrams are
 * remembered, and the oldest is evicted first: a sender that counts identifications reuses one only later. An attacker
 * must complete REMEMBERED_MAX datagrams before the receiver's timeout to mix new bytes into an accepted one. To
 * remember more datagrams would drop fragments of every fast sender.
 *
 * A fragment that every receiver discards (no bytes, too large, IPv6 with an invalid length) is not used but passes,
 * because it cannot complete a datagram.
 *
 * Threads:   a defragmenter belongs to one worker.
 * Ownership: datagrams and pages belong to the table. Scratch buffers belong to the defragmenter; a reassembled
 * datagram is valid until another one of the same nesting level is complete.
 */
#include "sluice/defrag.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "defrag_priv.h"
#include "sluice/clock.h"
#include "sluice/decode.h"

static const char *const counter_names[COUNTER_COUNT] = {
    [COUNTER_IPV4_FRAGMENTS] = "defrag.ipv4.fragments",
    [COUNTER_IPV4_REASSEMBLED] = "defrag.ipv4.reassembled",
    [COUNTER_IPV6_FRAGMENTS] = "defrag.ipv6.fragments",
    [COUNTER_IPV6_REASSEMBLED] = "defrag.ipv6.reassembled",
    [COUNTER_MAX_TRACKERS] = "defrag.max_trackers_reached",
    [COUNTER_MAX_FRAGS] = "defrag.max_frags_reached",
    [COUNTER_TIMEOUT_LOOKUP] = "defrag.wrk.tracker_timeout",
    [COUNTER_TIMEOUT_EXPIRE] = "defrag.mgr.tracker_timeout",
    [COUNTER_CONTRADICTIONS] = "defrag.contradictions",
    [COUNTER_REPEATED] = "defrag.repeated_fragments",
    [COUNTER_EVICTED] = "defrag.evicted",
    [COUNTER_EVICTED_FRAGMENTS] = "defrag.evicted_fragments",
    [COUNTER_DROPPED_FRAGMENTS] = "defrag.dropped_fragments",
    [COUNTER_MEMUSE] = "defrag.memuse",
};

int defrag_new(struct defrag **out, const struct defrag_options *options)
{
    struct defrag *defrag = calloc(1, sizeof(*defrag));

    if (!defrag)
        return -ENOMEM;
    defrag->options = *options;
    defrag->timeout_ns = options->timeout_seconds * NS_PER_SECOND;
    defrag->scratch = malloc((size_t)DEFRAG_NESTED * SCRATCH_SIZE);
    if (!defrag->scratch || table_new(defrag)) {
        defrag_free(defrag);
        return -ENOMEM;
    }
    *out = defrag;
    return 0;
}

void defrag_free(struct defrag *defrag)
{
    if (!defrag)
        return;
    table_free(defrag);
    free(defrag->scratch);
    free(defrag);
}

size_t defrag_counter_count(void)
{
    return COUNTER_COUNT;
}

const char *defrag_counter_name(size_t index)
{
    return counter_names[index];
}

uint64_t defrag_counter_value(const struct defrag *defrag, size_t index)
{
    if (index == COUNTER_MEMUSE)
        return pool_memory(defrag->datagrams) + pool_memory(defrag->pages);
    return defrag->counters[index];
}

/* --- Parsing a fragment --------------------------------------------------------------------------- */

/* The fragment that is being processed, and the objects that are needed for it. */
struct fragment_context {
    struct defrag *defrag;
    struct decoder *decoder;
    struct packet *pkt;
    struct fragment fragment;
    unsigned level; /* nesting level of the packet in reassembled datagrams; index of the scratch buffer */
};

static void count_event(const struct fragment_context *context, enum decode_event ipv4, enum decode_event ipv6)
{
    decode_count_event(context->decoder, context->pkt, context->pkt->ip_version == 4 ? ipv4 : ipv6);
}

static void report_ignored(const struct fragment_context *context)
{
    count_event(context, DECODE_EVENT_IPV4_FRAG_IGNORED, DECODE_EVENT_IPV6_FRAG_IGNORED);
}

static void report_overlap(const struct fragment_context *context)
{
    count_event(context, DECODE_EVENT_IPV4_FRAG_OVERLAP, DECODE_EVENT_IPV6_FRAG_OVERLAP);
}

static void report_too_large(const struct fragment_context *context)
{
    count_event(context, DECODE_EVENT_IPV4_FRAG_PKT_TOO_LARGE, DECODE_EVENT_IPV6_FRAG_PKT_TOO_LARGE);
}

static enum defrag_result drop_fragment(const struct fragment_context *context)
{
    context->defrag->counters[COUNTER_DROPPED_FRAGMENTS]++;
    return DEFRAG_DROPPED;
}

/* Counts a fragment that cannot be processed here, and returns the result for it. Inline it is dropped, because a
 * receiver may use it. */
static enum defrag_result refuse_fragment(const struct fragment_context *context)
{
    report_ignored(context);
    return context->defrag->options.inline_mode ? drop_fragment(context) : DEFRAG_IGNORED;
}

/* Fills context->fragment. Returns false if every receiver discards the fragment. The decoder has checked that the
 * packet contains its headers and bytes. */
static bool read_fragment(struct fragment_context *context)
{
    const struct packet *pkt = context->pkt;
    struct fragment *fragment = &context->fragment;
    uint32_t length, room = pkt->ip_version == 4 ? DATAGRAM_MAX - IPV4_HEADER_MIN : DATAGRAM_MAX;

    *fragment = (struct fragment){
        .pkt = pkt,
        .header = pkt->ip,
        .header_length = pkt->ip_header_length,
        .bytes = pkt->ip + pkt->ip_header_length,
        .start = pkt->fragment_offset,
        .more = pkt->more_fragments,
    };
    if (pkt->ip_version == 6) {
        fragment->header_length += pkt->ip_extension_length; /* extension headers before the fragment header */
        fragment->next_header = pkt->ip[fragment->header_length];
        fragment->bytes = pkt->ip + fragment->header_length + FRAGMENT_HEADER;
    }
    length = pkt->ip_total_length - (uint32_t)(fragment->bytes - pkt->ip);
    if (fragment->start + length > room) {
        report_too_large(context);
        return false;
    }
    if (fragment->more && length % UNIT != 0) {
        /* A length that is no multiple of 8: for IPv6 the decoder has set an event, and receivers discard the fragment.
         * Linux truncates IPv4 fragments to a multiple, other systems discard them. */
        if (pkt->ip_version == 6)
            return false;
        length -= length % UNIT;
    }
    fragment->end = fragment->start + length;
    return length > 0;
}

/* --- Completed and dropped datagrams -------------------------------------------------------------- */

static uint64_t digest(const struct defrag *defrag, uint32_t start, uint32_t end, bool more, const uint8_t *bytes)
{
    uint64_t range = (uint64_t)start << 32 | end << 1 | more;

    return XXH3_64bits_withSeed(bytes, end - start, defrag->seed ^ range * UINT64_C(0x9e3779b97f4a7c15));
}

/* Returns a digest of the headers that header_is_same() compares. */
static uint64_t chain_digest(const struct defrag *defrag, const uint8_t *header, uint32_t length, uint8_t next_header)
{
    if (header[0] >> 4 == 4)
        return 0;
    return XXH3_64bits_withSeed(header + IPV6_HEADER, length - IPV6_HEADER,
                                defrag->seed + ((uint32_t)next_header << 8 | header[6]));
}

/* Replaces the pages of an accepted datagram by digests of its fragments. `bytes`: the reassembled payload. */
static void store_digests(struct defrag *defrag, struct datagram *datagram, const uint8_t *bytes, uint64_t now_ns)
{
    uint32_t starts[DIGESTS_MAX + 1];
    uint64_t digests[DIGESTS_MAX];
    size_t found = pages_starts(datagram, starts, DIGESTS_MAX + 1), count = found < DIGESTS_MAX ? found : DIGESTS_MAX;

    for (size_t i = 0; i < count; i++) {
        uint32_t end = i + 1 < found ? starts[i + 1] : datagram->end;

        digests[i] = digest(defrag, starts[i], end, end != datagram->end, bytes + starts[i]);
    }
    digests[0] ^= chain_digest(defrag, header_bytes(datagram), datagram->header_length, datagram->next_header);
    pages_clear(defrag, datagram);
    datagram->count = count;
    memcpy(datagram->digest, digests, count * sizeof(digests[0]));
    table_move(defrag, datagram, DATAGRAM_DONE, now_ns);
}

static enum defrag_result handle_accepted(const struct fragment_context *context, struct datagram *datagram)
{
    const struct fragment *fragment = &context->fragment;
    struct defrag *defrag = context->defrag;
    uint64_t expected = digest(defrag, fragment->start, fragment->end, fragment->more, fragment->bytes);

    if (fragment->start == 0)
        expected ^= chain_digest(defrag, fragment->header, fragment->header_length, fragment->next_header);
    report_overlap(context);
    for (size_t i = 0; i < datagram->count; i++) {
        if (datagram->digest[i] == expected) {
            defrag->counters[COUNTER_REPEATED]++;
            table_move(defrag, datagram, DATAGRAM_DONE, context->pkt->time_ns);
            return DEFRAG_STORED;
        }
    }
    defrag->counters[COUNTER_CONTRADICTIONS]++;
    return drop_fragment(context);
}

static void drop_datagram(struct defrag *defrag, struct datagram *datagram, uint64_t now_ns)
{
    pages_clear(defrag, datagram);
    table_move(defrag, datagram, DATAGRAM_DROPPED, now_ns);
}

/* --- Open datagrams ------------------------------------------------------------------------------- */

/* Returns whether the end of the fragment contradicts the ends of earlier fragments. A fragment with the more-fragments
 * flag must end before the end of the datagram. A last fragment must end where an earlier last fragment ended, or, if
 * it is the first last fragment, not before any other fragment. */
static bool ends_contradict(const struct datagram *datagram, const struct fragment *fragment)
{
    if (fragment->more)
        return fragment->end >= datagram->end;
    return datagram->end == UINT32_MAX ? fragment->end <= datagram->reach : fragment->end != datagram->end;
}

static bool contradicts(const struct datagram *datagram, const struct fragment *fragment, bool overlaps)
{
    if (ends_contradict(datagram, fragment))
        return true;
    if (fragment->start == 0 && datagram->has_header && !header_is_same(datagram, fragment))
        return true;
    return overlaps && pages_differ(datagram, fragment);
}

static enum defrag_result ignore_without_memory(const struct fragment_context *context, enum defrag_counter counter,
                                                enum exception_cause *exception)
{
    context->defrag->counters[counter]++;
    *exception = EXCEPTION_DEFRAG_MEMCAP;
    report_ignored(context);
    return DEFRAG_IGNORED;
}

static enum defrag_result complete_datagram(const struct fragment_context *context, struct datagram *datagram,
                                            struct packet *whole)
{
    struct defrag *defrag = context->defrag;

    if (!whole_build(defrag, datagram, &context->fragment, context->level, whole)) {
        report_too_large(context);
        if (defrag->options.inline_mode) {
            drop_datagram(defrag, datagram, context->pkt->time_ns);
            return drop_fragment(context);
        }
        table_remove(defrag, datagram);
        return DEFRAG_IGNORED;
    }
    defrag->counters[context->pkt->ip_version == 4 ? COUNTER_IPV4_REASSEMBLED : COUNTER_IPV6_REASSEMBLED]++;
    defrag->completed[context->level] = NULL;
    if (defrag->options.inline_mode) {
        store_digests(defrag, datagram, whole->data + datagram->header_length, context->pkt->time_ns);
        defrag->completed[context->level] = datagram;
    } else {
        table_remove(defrag, datagram);
    }
    return DEFRAG_COMPLETE;
}

static enum defrag_result store_fragment(const struct fragment_context *context, struct datagram *datagram,
                                         struct packet *whole, enum exception_cause *exception)
{
    const struct fragment *fragment = &context->fragment;
    struct defrag *defrag = context->defrag;
    bool overlaps = pages_overlap(datagram, fragment);

    if (overlaps)
        report_overlap(context);
    if (defrag->options.inline_mode && contradicts(datagram, fragment, overlaps)) {
        defrag->counters[COUNTER_CONTRADICTIONS]++;
        drop_datagram(defrag, datagram, context->pkt->time_ns);
        return drop_fragment(context);
    }
    if (!pages_reserve(defrag, datagram, fragment)) {
        if (datagram->reach == 0)
            table_remove(defrag, datagram);
        return ignore_without_memory(context, COUNTER_MAX_FRAGS, exception);
    }
    if (pages_insert(defrag, datagram, fragment) && fragment->start == 0)
        header_store(datagram, fragment);
    if (fragment->end > datagram->reach)
        datagram->reach = fragment->end;
    if (!fragment->more && fragment->end < datagram->end)
        datagram->end = fragment->end;
    table_move(defrag, datagram, DATAGRAM_OPEN, context->pkt->time_ns);
    return pages_complete(datagram) ? complete_datagram(context, datagram, whole) : DEFRAG_STORED;
}

/* --- Entry points --------------------------------------------------------------------------------- */

/* Returns the index of the scratch buffer that contains the bytes, or DEFRAG_NESTED if they are in none. */
static unsigned scratch_index(const struct defrag *defrag, const uint8_t *bytes)
{
    uintptr_t start = (uintptr_t)defrag->scratch, at = (uintptr_t)bytes;

    if (at < start || at - start >= (uintptr_t)DEFRAG_NESTED * SCRATCH_SIZE)
        return DEFRAG_NESTED;
    return (unsigned)((at - start) / SCRATCH_SIZE);
}

enum defrag_result defrag_packet(struct defrag *defrag, struct decoder *decoder, struct packet *pkt,
                                 struct packet *whole, enum exception_cause *exception)
{
    struct fragment_context context = { .defrag = defrag, .decoder = decoder, .pkt = pkt };
    unsigned inside = scratch_index(defrag, pkt->ip);
    struct datagram *datagram;

    *exception = EXCEPTION_NONE;
    defrag->counters[pkt->ip_version == 4 ? COUNTER_IPV4_FRAGMENTS : COUNTER_IPV6_FRAGMENTS]++;
    context.level = inside == DEFRAG_NESTED ? 0 : inside + 1;
    if (context.level == DEFRAG_NESTED)
        return refuse_fragment(&context);
    if (!read_fragment(&context))
        return DEFRAG_IGNORED;
    if (context.fragment.start == 0 && context.fragment.header_length > PAGE_BYTES)
        return refuse_fragment(&context);
    datagram = table_find(defrag, pkt);
    if (datagram && datagram->state == DATAGRAM_DROPPED)
        return drop_fragment(&context);
    if (datagram && datagram->state == DATAGRAM_DONE)
        return handle_accepted(&context, datagram);
    if (!datagram && table_was_evicted(defrag, pkt)) {
        defrag->counters[COUNTER_EVICTED_FRAGMENTS]++;
        return drop_fragment(&context);
    }
    if (!datagram)
        datagram = table_add(defrag, pkt);
    if (!datagram)
        return ignore_without_memory(&context, COUNTER_MAX_TRACKERS, exception);
    return store_fragment(&context, datagram, whole, exception);
}

uint64_t defrag_evicted(const struct defrag *defrag)
{
    return defrag->counters[COUNTER_EVICTED];
}

void defrag_drop(struct defrag *defrag, const struct packet *whole)
{
    unsigned level = scratch_index(defrag, whole->data);
    struct datagram *datagram = level < DEFRAG_NESTED ? defrag->completed[level] : NULL;

    if (!datagram)
        return;
    drop_datagram(defrag, datagram, datagram->seen_ns);
    defrag->completed[level] = NULL;
}
