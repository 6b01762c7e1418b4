/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a classic pcap file in large pieces and delivers the records in place. Reading each packet by a stdio call and
 * a copy would take half of the time that a replay without rules takes.
 *
 * Only the common form is supported: a regular file of version 2.4 in either byte order, with complete records no
 * longer than the file header states. libpcap reads all other files, and continues at pcap_records_offset() when a
 * record is not in the common form, so only libpcap detects and reports defects of a file.
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
    PCAP_MAX_PACKET = 256 * 1024, /* bytes; libpcap has the same limit for network packets */
};

struct pcap_record {
    const uint8_t *bytes;
    uint32_t length, wire_length; /* `length` captured bytes; `wire_length` as stated in the file */
    uint64_t time_ns;
};

struct pcap_records {
    struct read_ahead *reader;
    bool swapped;            /* true: the numbers in the file are big-endian */
    uint32_t fraction_ns;    /* nanoseconds per unit of a record's fraction of a second: 1 or 1000 */
    uint32_t max_length;     /* libpcap reads longer records */
    uint64_t next_piece;     /* offset of the next piece in the file */
    const uint8_t *at, *end; /* the part of the piece that was not delivered yet */
};

/* Returns 0, -ENOTSUP when libpcap has to read the file, or -ENOMEM. The caller still owns `fd`, and its position is
 * not changed. `snapshot`: the longest record according to libpcap. */
int pcap_records_init(struct pcap_records *records, int fd, uint32_t snapshot);
void pcap_records_clear(struct pcap_records *records); /* an all-zero structure is allowed */

/* Returns the next record of the current piece in *out; false: the piece has no further record that is complete and in
 * the common form. */
bool pcap_records_next(struct pcap_records *records, struct pcap_record *out);
/* Reads the next piece; invalidates records that were returned before. Returns false if no piece follows, or if libpcap
 * has to continue. */
bool pcap_records_fill(struct pcap_records *records);
/* Returns the offset of the next record in the file. */
uint64_t pcap_records_offset(const struct pcap_records *records);

#endif
