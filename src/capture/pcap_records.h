/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The records of a classic pcap file, read in large pieces and lent where they lie: a call to stdio and a copy for each
 * packet would take half of the time that a packet without rules takes.
 *
 * Only what is common is understood: a regular file of version 2.4 in either byte order, with records that are whole
 * and no longer than the file says. Anything else is libpcap's, which can go on at any record (pcap_records_offset());
 * so what ails a file is found and told by libpcap alone.
 *
 * Threads:   one; large files are read ahead by another (read_ahead.h).
 * Ownership: records are lent until the next pcap_records_fill().
 */
#ifndef SLUICE_PCAP_RECORDS_H
#define SLUICE_PCAP_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read_ahead.h"

enum {
    PCAP_RECORD_HEADER = 16,
    PCAP_MAX_PACKET = 256 * 1024, /* libpcap's own limit for network packets */
};

struct pcap_record {
    const uint8_t *bytes;
    uint32_t length, wire_length; /* the latter as the file says */
    uint64_t time_ns;
};

struct pcap_records {
    struct read_ahead *reader;
    bool swapped;
    uint32_t fraction_ns;    /* what the fraction of a second counts */
    uint32_t max_length;     /* longer ones are libpcap's */
    uint64_t next_piece;     /* in the file */
    const uint8_t *at, *end; /* read, and not lent yet */
};

/* 0, -ENOTSUP when the file is for libpcap, -ENOMEM. `fd` is lent, its position not touched; `snapshot` is the longest
 * record by libpcap's word. */
int pcap_records_init(struct pcap_records *records, int fd, uint32_t snapshot);
void pcap_records_clear(struct pcap_records *records); /* one that is all zeros is allowed */

/* The next record of what has been read; false when none is there that is whole and common. */
bool pcap_records_next(struct pcap_records *records, struct pcap_record *out);
/* Reads on; false when there was nothing more. What was lent before is gone. */
bool pcap_records_fill(struct pcap_records *records);
/* Where in the file the next record begins. */
uint64_t pcap_records_offset(const struct pcap_records *records);

#endif
