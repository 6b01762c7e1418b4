/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Defrag: datagrams from IPv4 and IPv6 fragments (RFC 791 §3.2, RFC 8200 §4.5, RFC 5722).
 *
 * Inline, fragments pass until their datagram is complete, because a receiver cannot use an incomplete datagram. The
 * verdict on the datagram is applied to the fragment that completes it. If the datagram is dropped, all its later
 * fragments are dropped until its timeout; if it is accepted, only copies of its fragments pass until then. In passive
 * mode, overlaps are resolved as by the receiver's operating system, which host-os-policy selects by its address.
 *
 * All memory is reserved at the start. If the kernel reassembles before the queue, no fragments arrive here.
 *
 * Threads:   a defragmenter belongs to one worker.
 * Ownership: a reassembled datagram is valid until the next defrag_packet(), except calls for fragments that a tunnel
 * inside the datagram carries.
 */
#ifndef SLUICE_DEFRAG_H
#define SLUICE_DEFRAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/config.h"
#include "sluice/exception.h"
#include "sluice/packet.h"

#include "sluice/host_os.h"

struct defrag_options {
    size_t memcap; /* bytes for trackers and fragments of this worker */
    uint32_t timeout_seconds;
    bool inline_mode;   /* an overlap with different bytes drops the fragment (RFC 5722) and the datagram */
    bool vlan_tracking; /* fragments with different VLAN ids belong to different datagrams */
    struct host_os_policy host_os;
};
extern const struct setting defrag_settings[]; /* for struct defrag_options; the memcap is for all workers together */

struct defrag;
struct decoder;
struct transfer;

int defrag_new(struct defrag **out, const struct defrag_options *options); /* 0 or -ENOMEM */
/* Changes the memcap (one worker's share) while fragments are stored, as flow_table_set_memcap(). */
int defrag_set_memcap(struct defrag *defrag, size_t memcap);
void defrag_free(struct defrag *defrag); /* NULL is allowed */

enum defrag_result {
    DEFRAG_STORED,   /* a fragment of an incomplete datagram; its bytes are stored */
    DEFRAG_COMPLETE, /* `*whole` is the datagram, which decode_reassembled() must decode */
    DEFRAG_DROPPED,  /* inline only: the caller drops the fragment. It belongs to a dropped or evicted datagram,
                        contradicts earlier fragments, completes a datagram that is too large, or is not supported: its
                        headers are too long, or fragments are nested too deeply */
    DEFRAG_IGNORED,  /* malformed, beyond the maximum length of a datagram, or no memory (then *exception is set). In
                        passive mode also: not supported, or completes a datagram that is too large */
};

/*
 * Processes a packet with PACKET_FRAGMENT. Events (ipv4.frag_overlap etc.) are added to it through
 * decode_count_event(). On DEFRAG_COMPLETE, whole->data, length and wire_length are set to the reassembled datagram:
 * the IP header of the first fragment with the new length and without fragment fields (IPv6: without fragment header),
 * and the payload.
 */
enum defrag_result defrag_packet(struct defrag *defrag, struct decoder *decoder, struct packet *pkt,
                                 struct packet *whole, enum exception_cause *exception);

/* Drops a complete datagram and all its later fragments. Must be called for the `whole` of the last defrag_packet(),
 * before the next packet. Does nothing in passive mode. */
void defrag_drop(struct defrag *defrag, const struct packet *whole);

/* After decode_reassembled(): puts the link header of `fragment`, which completed the datagram, before the bytes of
 * `whole`, so that the packet can be written to a capture file. */
void defrag_prepend_link_header(struct packet *whole, const struct packet *fragment);

/* Frees at most `budget` expired datagrams; returns how many. */
size_t defrag_expire(struct defrag *defrag, uint64_t now_ns, size_t budget);

uint64_t defrag_evicted(const struct defrag *defrag); /* number of datagrams evicted to free memory */

/* Transfers all datagrams to the next engine (sluice/transfer.h). The next engine omits datagrams for which it has no
 * memory. */
void defrag_transfer(struct transfer *t, struct defrag *defrag);

/* Counters, named as in EVE below stats: "defrag.ipv4.fragments", "defrag.ipv4.reassembled", "defrag.ipv6...",
 * "defrag.mgr.tracker_timeout", "defrag.max_trackers_reached", "defrag.max_frags_reached", "defrag.memuse"... */
size_t defrag_counter_count(void);
const char *defrag_counter_name(size_t index);
uint64_t defrag_counter_value(const struct defrag *defrag, size_t index);

#endif
