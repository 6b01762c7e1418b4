/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * If the end of a piece cuts a record, the beginning of the record is copied into the room before the next piece, so
 * that each record is contiguous.
 */
#include "pcap_records.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sluice/bytes.h"
#include "sluice/clock.h"

enum {
    FILE_HEADER = 24,
    VERSION_AT = 4,
    VERSION_MAJOR = 2,
    VERSION_MINOR = 4,
    ROOM_BEFORE = PCAP_RECORD_HEADER + PCAP_MAX_PACKET, /* room for the beginning of the longest record */
};

static const uint32_t magic_microseconds = 0xa1b2c3d4, magic_nanoseconds = 0xa1b23c4d;

static inline uint32_t load32(const struct pcap_records *records, const uint8_t *at)
{
    return records->swapped ? load_be32(at) : load_le32(at);
}

/* Returns true if the file is a regular pcap file of version 2.4, in either byte order; sets the byte order. */
static bool is_common(struct pcap_records *records, int fd, const struct stat *status)
{
    uint8_t header[FILE_HEADER];

    if (!S_ISREG(status->st_mode) || pread(fd, header, sizeof(header), 0) != sizeof(header))
        return false;
    for (int swapped = 0; swapped < 2; swapped++) {
        records->swapped = swapped;
        uint32_t magic = load32(records, header);
        uint16_t major = swapped ? load_be16(header + VERSION_AT) : load_le16(header + VERSION_AT);
        uint16_t minor = swapped ? load_be16(header + VERSION_AT + 2) : load_le16(header + VERSION_AT + 2);

        records->fraction_ns = magic == magic_microseconds ? 1000 : 1;
        if (magic == magic_microseconds || magic == magic_nanoseconds)
            return major == VERSION_MAJOR && minor == VERSION_MINOR;
    }
    return false;
}

int pcap_records_init(struct pcap_records *records, int fd, uint32_t snapshot)
{
    struct stat status;

    *records = (struct pcap_records){ .next_piece = FILE_HEADER };
    records->max_length = snapshot < PCAP_MAX_PACKET ? snapshot : PCAP_MAX_PACKET;
    if (fstat(fd, &status) || !is_common(records, fd, &status))
        return -ENOTSUP;
    return read_ahead_new(&records->reader, fd, FILE_HEADER, (uint64_t)status.st_size, ROOM_BEFORE);
}

void pcap_records_clear(struct pcap_records *records)
{
    read_ahead_free(records->reader);
    *records = (struct pcap_records){ 0 };
}

bool pcap_records_next(struct pcap_records *records, struct pcap_record *out)
{
    const uint8_t *header = records->at;
    size_t left = (size_t)(records->end - header);

    if (left < PCAP_RECORD_HEADER)
        return false;
    uint32_t seconds = load32(records, header), fraction = load32(records, header + 4);
    uint32_t length = load32(records, header + 8);

    /* libpcap reads records that are incomplete, too long, before 1970 or after 2038. */
    if (length > left - PCAP_RECORD_HEADER || length > records->max_length || (seconds | fraction) >> 31)
        return false;
    out->bytes = header + PCAP_RECORD_HEADER;
    out->length = length;
    out->wire_length = load32(records, header + 12);
    out->time_ns = seconds * NS_PER_SECOND + (uint64_t)fraction * records->fraction_ns;
    records->at = out->bytes + length;
    return true;
}

bool pcap_records_fill(struct pcap_records *records)
{
    size_t rest = (size_t)(records->end - records->at);
    uint8_t *piece;

    if (rest >= ROOM_BEFORE)
        return false; /* the next record is complete but not in the common form: libpcap has to read it */
    ssize_t length = read_ahead_next(records->reader, &piece);

    if (length <= 0)
        return false;
    if (rest > 0)
        memcpy(piece - rest, records->at, rest);
    read_ahead_release(records->reader);
    records->at = piece - rest;
    records->end = piece + length;
    records->next_piece += (uint64_t)length;
    return true;
}

uint64_t pcap_records_offset(const struct pcap_records *records)
{
    return records->next_piece - (uint64_t)(records->end - records->at);
}
