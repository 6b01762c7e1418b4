/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the records of a classic pcap file in large pieces and delivers them in place: a stdio call and a copy for each
 * packet would take half of the time that a packet without rules takes.
 *
 * Only the common form is supported: a regular file of version 2.4 in either byte order, with complete records no
 * longer than the file header states. libpcap reads everything else and can continue at any record
 * (pcap_records_offset()), so only libpcap detects and reports defects of a file.
 *
 * Threads:   one; large files are read ahead by another (read_ahead.h).
 * Ownership: records are valid until the next pcap_records_fill().
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
    uint32_t length, wire_length; /* wire_length as stated in the file */
    uint64_t time_ns;
};

struct pcap_records {
    struct read_ahead *reader;
    bool swapped;
    uint32_t fraction_ns;    /* unit of the fraction of a second */
    uint32_t max_length;     /* longer records are left to libpcap */
    uint64_t next_piece;     /* offset in the file */
    const uint8_t *at, *end; /* read, and not delivered yet */
};

/* Returns 0, -ENOTSUP when libpcap has to read the file, or -ENOMEM. `fd` stays the caller's, its position is not
 * changed; `snapshot` is the longest record according to libpcap. */
int pcap_records_init(struct pcap_records *records, int fd, uint32_t snapshot);
void pcap_records_clear(struct pcap_records *records); /* an all-zero structure is allowed */

/* Returns the next record of the read piece; false when there is none that is complete and common. */
bool pcap_records_next(struct pcap_records *records, struct pcap_record *out);
/* Reads the next piece; false at the end. Records returned before become invalid. */
bool pcap_records_fill(struct pcap_records *records);
/* Returns the offset of the next record in the file. */
uint64_t pcap_records_offset(const struct pcap_records *records);

#endif
