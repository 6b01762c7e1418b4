/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets of ISO transport over TCP: TPKT (RFC 1006) with a TPDU of COTP (ISO 8073, class 0), as S7comm and S7comm-plus
 * use them. */
#ifndef SLUICE_APP_TPKT_H
#define SLUICE_APP_TPKT_H

#include "sluice/app.h"
#include "sluice/bytes.h"

enum tpkt_result {
    TPKT_INCOMPLETE, /* more bytes are needed */
    TPKT_INVALID,    /* the TPKT header, and so the end of the packet, or the TPDU is invalid */
    TPKT_OTHER,      /* a TPDU without data, such as those that open the connection */
    TPKT_DATA,
};
struct tpkt {
    uint32_t length;    /* of the packet; TPKT_INCOMPLETE: number of bytes that are needed */
    struct cursor data; /* of TPKT_DATA; may be empty */
    bool is_last;       /* the message ends with this packet (EOT) */
};
enum tpkt_result tpkt_parse(const uint8_t *bytes, uint32_t length, struct tpkt *out);
/* Detects a protocol whose first data TPDU starts with the byte `protocol` and has at least `length` bytes of data. */
enum app_probe_result tpkt_probe(const struct app_probe *in, uint8_t protocol, uint32_t length);

#endif
