/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Certificate chains in files (tls-store): the chains of connections that rules with tls.store select (chain_store.c).
 *
 * Threads: chain_record_*() are called by the worker that owns the port, the other functions by the output thread,
 * except for new, free and counters.
 */
#ifndef SLUICE_OUTPUT_CHAIN_STORE_H
#define SLUICE_OUTPUT_CHAIN_STORE_H

#include "record.h"
#include "sink.h"

/* Value of `kinds` in the record of a chain, beside the bits of enum output_event. */
enum { CHAIN_RECORD = 1 << 30 };

/* A chain. `kinds` must be the first member, as in all records of a port. The struct is followed by the chain, the
 * subject, the issuer and the fingerprint. */
struct chain_record {
    uint32_t kinds;
    bool from_client;                /* the chain of the client */
    uint64_t time_ns, packet_number; /* number in the capture file; 0: the packet is from a queue */
    struct endpoints endpoints;      /* source: the client */
    uint32_t chain_length, subject_length, issuer_length, fingerprint_length;
};

size_t chain_record_size(const struct app_chain *chain);
void chain_record_write(struct chain_record *out, const struct app_chain *chain, const struct packet *pkt,
                        const struct flow *flow, bool has_number);

struct chain_store;

/* Creates the folder and counts the chains in it. Returns 0 or -errno. */
int chain_store_new(struct chain_store **out, const struct tls_store_options *options);
void chain_store_free(struct chain_store *store); /* NULL is allowed */
void chain_store_write(struct chain_store *store, const struct chain_record *record);
void chain_store_counters(const struct chain_store *store,
                          struct output_chain_counters *out); /* not `lost`, `limited` */

#endif
