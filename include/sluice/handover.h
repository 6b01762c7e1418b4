/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Engine hand-over: transfers the state of an engine that ends to the next one, so that established flows continue.
 * Each worker writes a file between two batches, and each worker of the next engine reads it before its first packet;
 * one more file has the state that workers share. The reader may be another version of the program, with other rules,
 * limits and number of queues.
 *
 * Transferred: flows with all decisions, their variables, TCP sessions with buffered data and data in the inspection
 * window, detection state, tags and history, parsers of application protocols (a parser without support for it starts
 * again behind the last byte), fragments; counts of rule matches; thresholds, bits and tags of hosts, expectations
 * (app_expect()), datasets, counters. Not transferred: records in rings for other threads (events, hosts to block),
 * which these threads process before they end.
 *
 * A file that is damaged, has another TRANSFER_VERSION, or is from the other kind of stream handling (inline or
 * passive) is not used, and the worker starts without it. Flows for which there is no memory are skipped and counted.
 *
 * Queues: the kernel distributes packets over n queues by reciprocal_scale(hash, n) of their addresses. With another
 * number of queues, each worker reads all files and uses the flows whose packets it may get. If a flow's packets may
 * arrive at two workers, both have the flow. Its end is logged by the worker that gets its packets or, if no packet
 * arrives, by the first of the two.
 *
 * Threads:   a worker's file is written and read by the worker, or by another thread while the worker does not run;
 *            the shared file by one thread.
 * Ownership: files belong to the caller: memory files (memfd_create() with MFD_ALLOW_SEALING), which the writer seals.
 *            The functions need the system calls fstat, mmap, write and fcntl.
 */
#ifndef SLUICE_HANDOVER_H
#define SLUICE_HANDOVER_H

#include <stdint.h>

struct pipeline;
struct pipeline_shared;
struct ruleset;

/* A worker, by its number, and the number of all workers. */
struct handover_place {
    uint32_t worker, workers;
};

struct handover_counts {
    uint64_t flows;    /* flows written or read */
    uint64_t sessions; /* TCP sessions */
    uint64_t left;     /* flows skipped for lack of memory */
    uint64_t spoiled;  /* parts of flows that were invalid; always 0 without a bug */
    uint64_t bytes;    /* size of the files */
};

/* Writes the state of a worker. Transactions that cannot be transferred are logged as at the end of their flow. The
 * flows stay in the pipeline, which must not get further packets. Adds to `counts`. Returns 0 or -errno. */
int handover_write(struct pipeline *pipeline, const struct ruleset *ruleset, struct handover_place place, int fd,
                   struct handover_counts *counts);
/* Reads a worker's file into a pipeline that has not inspected packets and whose detector is prepared for the ruleset;
 * may be called for several files. Returns 0, -EBADMSG (damaged), -EPROTO (another TRANSFER_VERSION), -ENOTSUP (written
 * inline and read passively, or the reverse), or another -errno; after an error the pipeline has no flows. */
int handover_read(struct pipeline *pipeline, const struct ruleset *ruleset, struct handover_place place, int fd,
                  struct handover_counts *counts);

/* Write and read the state that all workers share, while no worker runs. After a read error, state that was read before
 * it stays, which is harmless. */
int handover_write_shared(struct pipeline_shared *shared, const struct ruleset *ruleset, uint64_t now_ns, int fd);
int handover_read_shared(struct pipeline_shared *shared, const struct ruleset *ruleset, int fd);

#endif
