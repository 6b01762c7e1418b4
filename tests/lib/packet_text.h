/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets as text: hexadecimal digits; blanks are ignored. A mark before a header ({4 IPv4, {6 IPv6, {u UDP) sets its
 * length field to the number of bytes that follow. The macros are common headers.
 */
#ifndef PACKET_TEXT_H
#define PACKET_TEXT_H

#include <check.h>
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/decode.h"
#include "sluice/decode_event.h"

enum { PACKET_TEXT_MAX = 4096, PACKET_TEXT_MARKS = 32 };

#define ETH(type) "020000000002 020000000001" type
#define IP4_OPTIONS(first, protocol) "{4" first "00 0000 1234 4000 40" protocol "0000 0a000001 0a000002"
#define IP4(protocol) IP4_OPTIONS("45", protocol)
#define IP6_FROM "20010db8000000000000000000000001"
#define IP6_TO "20010db8000000000000000000000002"
#define IP6(next) "{6 60000000 0000" next "40" IP6_FROM IP6_TO
#define UDP_PORTS(from, to) "{u" from to "0000 0000"
#define UDP UDP_PORTS("3039", "0050")
#define TCP_HEADER(offset) "3039 0050 00000001 00000002" offset "10 0100 0000 0000"
#define TCP TCP_HEADER("50")

struct text_mark {
    char kind;
    size_t at;
};

size_t packet_from_text(const char *text, uint8_t bytes[PACKET_TEXT_MAX]);

/* A decoder and a packet. The bytes are a separate allocation, so that a sanitizer detects reads past the end. */
struct decoding {
    struct decoder *decoder;
    struct packet packet;
    uint8_t *bytes;
    struct packet *found[DECODE_MAX_PACKETS];
    size_t count;
};

void decoding_open(struct decoding *decoding, const struct decode_options *options);
void decoding_bytes(struct decoding *decoding, enum link_type link, const uint8_t *bytes, size_t length);
void decoding_text(struct decoding *decoding, enum link_type link, const char *text);
void decoding_close(struct decoding *decoding);

/* Returns the value of a counter; fails the test if the counter does not exist. */
uint64_t decoding_counter(const struct decoding *decoding, const char *name);

#endif
