/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads pcapng files (draft-ietf-opsawg-pcapng). libpcap refuses files whose interfaces have different link types or
 * snap lengths, and those whose sections have different byte orders.
 *
 * Threads:   one.
 * Ownership: the input is borrowed. Records are valid until pcapng_next() is called with may_read.
 */
#ifndef SLUICE_PCAPNG_H
#define SLUICE_PCAPNG_H

#include <stdbool.h>
#include <stdint.h>

#include "pcap_records.h"

struct capture_input;
struct pcapng;

enum {
    PCAPNG_MAGIC = 0x0a0d0d0a, /* the first four bytes of a file, in either byte order */
    PCAPNG_MAX_NAMES = 256,    /* further names of interfaces are ignored */
};

struct pcapng_packet {
    struct pcap_record record;
    int dlt;            /* link type as libpcap numbers it */
    uint32_t interface; /* for pcapng_interface_name(); 0: the interface has no name */
};

/* Reads the header of the first section. Returns 0, -ENOMEM, -ENODATA if the input was stopped, or -EBADMSG; except
 * for -ENOMEM *out is set, and pcapng_error() returns the cause. */
int pcapng_open(struct pcapng **out, struct capture_input *input);
void pcapng_close(struct pcapng *file); /* NULL is allowed */

/* Returns 1 and the next packet, 0 if the input has to be read and may_read is false, -ENODATA at the end of the file,
 * or -EBADMSG. */
int pcapng_next(struct pcapng *file, bool may_read, struct pcapng_packet *out);
/* Returns the cause of -EBADMSG, if it is not an error of the input. */
const char *pcapng_error(const struct pcapng *file);
/* Returns the name of an interface, valid until pcapng_close(). */
const char *pcapng_interface_name(const struct pcapng *file, uint32_t interface);

#endif
