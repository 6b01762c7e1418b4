/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TCP (RFC 9293) and its options. A malformed option gets an event and the packet stays TCP, because receivers accept
 * it, too. If the length of an option is invalid, the remaining options are skipped.
 */
#include "decode_priv.h"

enum {
    TCP_HEADER_LENGTH = 20,
    OPTION_EOL = 0,
    OPTION_NOP = 1,
    OPTION_MSS = 2,
    OPTION_WINDOW_SCALE = 3,
    OPTION_SACK_PERMITTED = 4,
    OPTION_SACK = 5,
    OPTION_TIMESTAMP = 8,
    OPTION_MD5 = 19,       /* RFC 2385 */
    OPTION_AO = 29,        /* RFC 5925 */
    OPTION_FAST_OPEN = 34, /* RFC 7413 */
    OPTION_EXPERIMENT_1 = 253,
    OPTION_EXPERIMENT_2 = 254,
    OPTION_COUNT = 256,
    SACK_BLOCK_LENGTH = 8,
    SACK_MAX_BLOCKS = 4,
    COOKIE_MIN_LENGTH = 4,
    COOKIE_MAX_LENGTH = 16,
    EXPERIMENT_FAST_OPEN = 0xf989, /* identifies fast open before option 34 was assigned */
};

/* Parses an option into pkt->tcp. `length`: bytes of the option, including its type and length bytes. */
typedef void read_option(struct packet *pkt, const uint8_t *option, unsigned length);

/* Returns true if an option that may occur only once has the right length and was not `seen` before; otherwise sets an
 * event. */
static bool check_first(struct packet *pkt, bool length_is_right, bool seen)
{
    if (!length_is_right)
        decode_note(pkt, DECODE_EVENT_TCP_OPT_INVALID_LEN);
    else if (seen)
        decode_note(pkt, DECODE_EVENT_TCP_OPT_DUPLICATE);
    return length_is_right && !seen;
}

static void read_mss(struct packet *pkt, const uint8_t *option, unsigned length)
{
    if (!check_first(pkt, length == 4, pkt->tcp.has_mss))
        return;
    pkt->tcp.has_mss = true;
    pkt->tcp.mss = load_be16(option + 2);
}

static void read_window_scale(struct packet *pkt, const uint8_t *option, unsigned length)
{
    if (!check_first(pkt, length == 3, pkt->tcp.has_window_scale))
        return;
    pkt->tcp.has_window_scale = true;
    pkt->tcp.window_scale = option[2];
}

static void read_sack_permitted(struct packet *pkt, const uint8_t *option, unsigned length)
{
    (void)option;
    if (check_first(pkt, length == 2, pkt->tcp.has_sack_permitted))
        pkt->tcp.has_sack_permitted = true;
}

static void read_sack(struct packet *pkt, const uint8_t *option, unsigned length)
{
    unsigned blocks = (length - 2) / SACK_BLOCK_LENGTH;
    bool right = (length - 2) % SACK_BLOCK_LENGTH == 0 && blocks <= SACK_MAX_BLOCKS;

    if (!check_first(pkt, right, pkt->tcp.sack != NULL))
        return;
    pkt->tcp.sack = option + 2;
    pkt->tcp.sack_count = (uint8_t)blocks;
}

static void read_timestamp(struct packet *pkt, const uint8_t *option, unsigned length)
{
    if (!check_first(pkt, length == 10, pkt->tcp.has_timestamp))
        return;
    pkt->tcp.has_timestamp = true;
    pkt->tcp.timestamp_value = load_be32(option + 2);
    pkt->tcp.timestamp_echo = load_be32(option + 6);
}

static void set_fast_open(struct packet *pkt, const uint8_t *cookie, unsigned length)
{
    pkt->tcp.has_fast_open = true;
    pkt->tcp.fast_open_length = (uint8_t)length;
    pkt->tcp.fast_open = length > 0 ? cookie : NULL;
}

static void read_fast_open(struct packet *pkt, const uint8_t *option, unsigned length)
{
    unsigned cookie = length - 2;
    bool right = cookie == 0 || (cookie >= COOKIE_MIN_LENGTH && cookie <= COOKIE_MAX_LENGTH && cookie % 2 == 0);

    if (check_first(pkt, right, pkt->tcp.has_fast_open))
        set_fast_open(pkt, option + 2, cookie);
}

static void read_experiment(struct packet *pkt, const uint8_t *option, unsigned length)
{
    if (length != 4 && length != 12)
        decode_note(pkt, DECODE_EVENT_TCP_OPT_INVALID_LEN);
    else if (load_be16(option + 2) == EXPERIMENT_FAST_OPEN && check_first(pkt, true, pkt->tcp.has_fast_open))
        set_fast_open(pkt, option + 4, length - 4);
}

static void read_md5(struct packet *pkt, const uint8_t *option, unsigned length)
{
    (void)option;
    pkt->tcp.has_signature = true;
    if (length != 18)
        decode_invalid(pkt, DECODE_EVENT_TCP_OPT_INVALID_LEN);
}

static void read_ao(struct packet *pkt, const uint8_t *option, unsigned length)
{
    (void)option;
    pkt->tcp.has_signature = true;
    if (length < 4)
        decode_invalid(pkt, DECODE_EVENT_TCP_OPT_INVALID_LEN);
}

static read_option *const option_readers[OPTION_COUNT] = {
    [OPTION_MSS] = read_mss,
    [OPTION_WINDOW_SCALE] = read_window_scale,
    [OPTION_SACK_PERMITTED] = read_sack_permitted,
    [OPTION_SACK] = read_sack,
    [OPTION_TIMESTAMP] = read_timestamp,
    [OPTION_MD5] = read_md5,
    [OPTION_AO] = read_ao,
    [OPTION_FAST_OPEN] = read_fast_open,
    [OPTION_EXPERIMENT_1] = read_experiment,
    [OPTION_EXPERIMENT_2] = read_experiment,
};

static void decode_options(struct packet *pkt, struct cursor cur)
{
    while (cursor_remaining(&cur) > 0 && *cur.at != OPTION_EOL) {
        if (*cur.at == OPTION_NOP) {
            cursor_skip(&cur, 1);
            continue;
        }
        const uint8_t *option = cursor_peek(&cur, 2);

        if (!option)
            return;
        unsigned length = option[1];

        if (length < 2 || !cursor_skip(&cur, length)) {
            decode_invalid(pkt, DECODE_EVENT_TCP_OPT_INVALID_LEN);
            return;
        }
        if (option_readers[option[0]])
            option_readers[option[0]](pkt, option, length);
    }
}

bool decode_tcp(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    decode_count(decoder, COUNTER_TCP);
    const uint8_t *header = cursor_peek(&cur, TCP_HEADER_LENGTH);

    if (!header)
        return decode_invalid(pkt, DECODE_EVENT_TCP_PKT_TOO_SMALL);
    unsigned length = (header[12] >> 4) * 4u;

    if (length > cursor_remaining(&cur))
        return decode_invalid(pkt, DECODE_EVENT_TCP_HLEN_TOO_SMALL);
    if (length < TCP_HEADER_LENGTH)
        return decode_invalid(pkt, DECODE_EVENT_TCP_INVALID_OPTLEN);
    pkt->source_port = load_be16(header);
    pkt->destination_port = load_be16(header + 2);
    pkt->tcp.sequence = load_be32(header + 4);
    pkt->tcp.acknowledgment = load_be32(header + 8);
    pkt->tcp.reserved = header[12] & 0x0f;
    pkt->tcp.flags = header[13];
    pkt->tcp.window = load_be16(header + 14);
    pkt->tcp.checksum = load_be16(header + 16);
    pkt->tcp.urgent = load_be16(header + 18);
    if (length > TCP_HEADER_LENGTH)
        decode_options(pkt, cursor_of(header + TCP_HEADER_LENGTH, length - TCP_HEADER_LENGTH));
    decode_transport(pkt, cur, length);
    return true;
}
