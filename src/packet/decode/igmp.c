/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IGMP, versions 1 to 3 (RFC 1112, 2236, 3376). The complete message is treated as transport header, without payload.
 */
#include "decode_priv.h"

enum {
    IGMP_HEADER_LENGTH = 8,
    IGMP_QUERY = 0x11,
    IGMP_REPORT_V1 = 0x12,
    IGMP_REPORT_V2 = 0x16,
    IGMP_LEAVE_V2 = 0x17,
    IGMP_REPORT_V3 = 0x22,
    QUERY_V3_HEADER_LENGTH = 12,
    QUERY_SOURCES_OFFSET = 10,
    REPORT_RECORDS_OFFSET = 6,
    RECORD_HEADER_LENGTH = 8,
    WORD_LENGTH = 4,
    /* Maximum number of sources in a query: those that fit into the largest IP datagram after an IP header with router
     * alert (24 bytes) and the header of the query. */
    QUERY_MAX_SOURCES = (UINT16_MAX - 24 - QUERY_V3_HEADER_LENGTH) / WORD_LENGTH,
};

/* Consumes a version 3 query with its sources, or a shorter query of an older version. Returns false if it is
 * malformed. */
static bool read_query(struct packet *pkt, struct cursor *cur)
{
    const uint8_t *header = cursor_peek(cur, QUERY_V3_HEADER_LENGTH);

    if (!header)
        return cursor_skip(cur, IGMP_HEADER_LENGTH);
    uint16_t sources = load_be16(header + QUERY_SOURCES_OFFSET);

    if (sources > QUERY_MAX_SOURCES)
        return decode_invalid(pkt, DECODE_EVENT_IGMP_MALFORMED);
    if (!cursor_skip(cur, QUERY_V3_HEADER_LENGTH + (size_t)sources * WORD_LENGTH))
        return decode_invalid(pkt, DECODE_EVENT_IGMP_V3_PKT_TOO_SMALL);
    return true;
}

/* Consumes a version 3 report with its records. Returns false if it is malformed. */
static bool read_report(struct packet *pkt, struct cursor *cur)
{
    const uint8_t *header = cursor_read(cur, IGMP_HEADER_LENGTH);

    if (!header)
        return decode_invalid(pkt, DECODE_EVENT_IGMP_PKT_TOO_SMALL);
    uint16_t records = load_be16(header + REPORT_RECORDS_OFFSET);

    for (unsigned i = 0; i < records; i++) {
        const uint8_t *record = cursor_read(cur, RECORD_HEADER_LENGTH);

        if (!record)
            return decode_invalid(pkt, DECODE_EVENT_IGMP_V3_PKT_TOO_SMALL);
        if (!cursor_skip(cur, ((size_t)load_be16(record + 2) + record[1]) * WORD_LENGTH))
            return decode_invalid(pkt, DECODE_EVENT_IGMP_MALFORMED);
    }
    return true;
}

bool decode_igmp(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    decode_count(decoder, COUNTER_IGMP);
    struct cursor rest = cur;
    const uint8_t *header = cursor_peek(&cur, IGMP_HEADER_LENGTH);

    if (!header)
        return decode_invalid(pkt, DECODE_EVENT_IGMP_PKT_TOO_SMALL);
    bool sound = header[0] == IGMP_QUERY       ? read_query(pkt, &rest)
                 : header[0] == IGMP_REPORT_V3 ? read_report(pkt, &rest)
                                               : cursor_skip(&rest, IGMP_HEADER_LENGTH);

    if (!sound)
        return false;
    pkt->igmp = (struct igmp_info){ .type = header[0] };
    if (header[0] == IGMP_REPORT_V3)
        pkt->igmp.version = 3;
    else if (header[0] == IGMP_REPORT_V2 || header[0] == IGMP_LEAVE_V2)
        pkt->igmp.version = 2;
    else if (header[0] == IGMP_REPORT_V1)
        pkt->igmp.version = 1;
    else if (header[0] == IGMP_QUERY) /* RFC 3376 §7.1: version 3 is longer, version 1 has no response time */
        pkt->igmp.version = cursor_remaining(&cur) >= QUERY_V3_HEADER_LENGTH ? 3 : header[1] != 0 ? 2 : 1;
    decode_transport(pkt, cur, (size_t)(rest.at - cur.at));
    return true;
}
