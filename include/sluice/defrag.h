/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Defrag: datagrams from IPv4 and IPv6 fragments (RFC 791 §3.2, RFC 8200 §4.5, RFC 5722).
 *
 * Inline, every fragment but the one that completes a datagram passes: a receiver can do nothing with them. The one
 * that completes it carries the verdict for the whole, and when that is drop the datagram is remembered until its time
 * is over: no copy of any fragment of it passes any more. One that was accepted is remembered too, and copies alone
 * pass. Which bytes of overlapping fragments count depends on the receiver; the policy is asked by address.
 *
 * All memory is reserved at the start. Where the kernel has reassembled before the queue there are no fragments to see.
 *
 * Threads:   a defragmenter belongs to one worker.
 * Ownership: a reassembled datagram is lent until the next defrag_packet() of a fragment that is not inside of it.
 */
#ifndef SLUICE_DEFRAG_H
#define SLUICE_DEFRAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/exception.h"
#include "sluice/packet.h"

#include "sluice/host_os.h"

struct defrag_options {
    size_t memcap; /* bytes of trackers and fragments of this worker */
    uint32_t timeout_seconds;
    bool inline_mode; /* an overlap with other content drops the fragment (RFC 5722), and the datagram with it */
    bool vlan_tracking;
    struct host_os_policy host_os;
};
/* Suricata's: 32 MiB, 60 s. */
void defrag_options_default(struct defrag_options *options);

struct defrag;
struct decoder;
struct transfer;

int defrag_new(struct defrag **out, const struct defrag_options *options); /* 0 or -ENOMEM */
void defrag_free(struct defrag *defrag);                                   /* NULL is allowed */

enum defrag_result {
    DEFRAG_HELD,     /* a fragment of a datagram that is not complete; its bytes are kept */
    DEFRAG_COMPLETE, /* `*whole` is the datagram: hand it to decode_reassembled() */
    DEFRAG_DROPPED,  /* belongs to a datagram that was dropped, contradicts what came before, or is beyond us (fragments
                      * in  fragments, endless headers): drop it; inline only */
    DEFRAG_IGNORED,  /* not to be used: malformed, too large, or no memory (then *exception says so) */
};

/*
 * Takes a packet that has PACKET_FRAGMENT. Events (ipv4.frag_overlap and kin) are added to it through
 * decode_count_event(). On DEFRAG_COMPLETE, whole->data, length and wire_length are set: an IP header as the first
 * fragment had it, with the length of the whole and without its fragment fields (IPv6: without fragment header), and
 * the payload.
 */
enum defrag_result defrag_packet(struct defrag *defrag, struct decoder *decoder, struct packet *pkt,
                                 struct packet *whole, enum exception_cause *exception);

/* A datagram that was complete is dropped, and so is each fragment of it from now on. `whole` is as defrag_packet() set
 * it, and the packet that completed it is still at hand. Does nothing where packets are not judged inline. */
void defrag_drop(struct defrag *defrag, const struct packet *whole);

/* After decode_reassembled(): puts the link header of the fragment that completed it before the bytes of `whole`, for
 * who shows the packet as captured. */
void defrag_show_link(struct packet *whole, const struct packet *fragment);

/* Gives back at most `budget` datagrams whose time is over; how many. */
size_t defrag_expire(struct defrag *defrag, uint64_t now_ns, size_t budget);

uint64_t defrag_evicted(const struct defrag *defrag); /* datagrams that gave way to others */

/* To another process (sluice/transfer.h): all datagrams. Those for which there is no memory are left. */
void defrag_transfer(struct transfer *t, struct defrag *defrag);

/* Counters, EVE's below stats: "defrag.ipv4.fragments", "defrag.ipv4.reassembled", "defrag.ipv6...",
 * "defrag.mgr.tracker_timeout", "defrag.max_trackers_reached", "defrag.max_frags_reached", "defrag.memuse"... */
size_t defrag_counter_count(void);
const char *defrag_counter_name(size_t index);
uint64_t defrag_counter_value(const struct defrag *defrag, size_t index);

#endif
