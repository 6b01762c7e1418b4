/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets in capture files (pcap_log.c).
 *
 * Threads: pcap_log_packet() is called by the worker of its port, the other functions by the main thread. The log has a
 * thread of its own that writes the files.
 */
#ifndef SLUICE_OUTPUT_PCAP_LOG_H
#define SLUICE_OUTPUT_PCAP_LOG_H

#include "sluice/output.h"

struct pcap_log;
struct pcap_port;

/* Creates the folder and allocates a ring for each of `ports` workers. `lossless`: workers wait for space in their
 * ring. Returns 0 or -errno; -EOPNOTSUPP: this build has no LZ4. */
int pcap_log_new(struct pcap_log **out, const struct pcap_log_options *options, unsigned ports, bool lossless);
int pcap_log_start(struct pcap_log *log); /* starts the thread; 0 or -errno */
void pcap_log_stop(struct pcap_log *log); /* writes all packets, closes the files and joins the thread */
void pcap_log_free(struct pcap_log *log); /* also stops; NULL is allowed */
struct pcap_port *pcap_log_port(struct pcap_log *log, unsigned worker);

/* Copies the packet if the options select it. Returns the number of its capture file, for pcap_log_path(); 0: it is not
 * logged. Returns quickly, and neither blocks nor allocates unless the log is lossless. */
uint64_t pcap_log_packet(struct pcap_port *port, const struct packet *pkt, const struct decision *decision);
/* Writes the path of a capture file. */
void pcap_log_path(const struct pcap_log *log, uint64_t file, char *out, size_t size);
/* The number of the newest file, for the next engine, and its counterpart: files begin after that number. Called while
 * no worker runs. */
uint64_t pcap_log_newest(const struct pcap_log *log);
void pcap_log_begin_after(struct pcap_log *log, uint64_t number);
void pcap_log_counters(const struct pcap_log *log, struct output_pcap_counters *out);

#endif
