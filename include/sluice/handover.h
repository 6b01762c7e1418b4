/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hand-over: what an engine that ends knows of traffic goes to the one that takes its place, so that established flows
 * go on as if nothing had happened. It is written by each worker between two batches, and read by each worker of the
 * next engine before its first packet: a file each, and one of what all workers share. A reader may be another version
 * of the program, with other rules, other limits and another number of queues.
 *
 * What goes: flows with all that was decided of them, their variables, TCP sessions with the bytes that wait or are
 * still looked at, what rules remember of them, tags and history, what is known of their application protocols (as far
 * as those say: the rest begins anew behind the last byte), fragments of datagrams; how often rules matched;
 * thresholds, bits and tags of hosts, flows that are expected, datasets, counters. What does not: what waits in rings
 * for other threads (events, hosts to block), which their owners empty at their end.
 *
 * A file is damaged, of another version or made where streams are handled otherwise (inline or not): then nothing of it
 * is used, and the worker begins as it would without. What finds no room is left out, and counted.
 *
 * Queues: the kernel spreads packets over n queues by reciprocal_scale(hash, n) of their addresses, so that of another
 * number of queues only some may have got the same packets: each worker is given all files and takes what may be its
 * own. A flow that two may get is with both; it is told of at its end by the one that gets its packets, otherwise by
 * the first.
 *
 * Threads:   a worker's file by the worker, or by whoever has its pipeline while it stands; the shared one by one
 * thread. Ownership: files are the caller's: memory files (memfd_create() with MFD_ALLOW_SEALING), which are sealed by
 * who writes them. What is needed of the system is fstat, mmap, write and fcntl.
 */
#ifndef SLUICE_HANDOVER_H
#define SLUICE_HANDOVER_H

#include <stdint.h>

struct pipeline;
struct pipeline_shared;
struct ruleset;

/* Which of how many workers. */
struct handover_place {
    uint32_t worker, workers;
};

struct handover_counts {
    uint64_t flows;    /* written, or read */
    uint64_t sessions; /* of TCP */
    uint64_t left;     /* flows for which there was no room */
    uint64_t spoiled;  /* parts of flows that made no sense: 0 unless we have made a mistake */
    uint64_t bytes;    /* of files */
};

/* All of a worker's. Transactions that do not go with it are logged as at the end of their flow; the flows stay, and
 * nobody may give the pipeline a packet any more. The counts are added to. 0 or -errno. */
int handover_write(struct pipeline *pipeline, const struct ruleset *ruleset, struct handover_place place, int fd,
                   struct handover_counts *counts);
/* Into a pipeline that has judged no packet yet, of which the detector is prepared for the ruleset; any number of
 * files. 0; -EBADMSG: damaged, -EPROTO: another version, -ENOTSUP: of other streams, or -errno: then the pipeline has
 * no flows. */
int handover_read(struct pipeline *pipeline, const struct ruleset *ruleset, struct handover_place place, int fd,
                  struct handover_counts *counts);

/* What all workers share, while none of them works. Reading: what was there before an error stays, which is of no harm.
 */
int handover_write_shared(struct pipeline_shared *shared, const struct ruleset *ruleset, uint64_t now_ns, int fd);
int handover_read_shared(struct pipeline_shared *shared, const struct ruleset *ruleset, int fd);

#endif
