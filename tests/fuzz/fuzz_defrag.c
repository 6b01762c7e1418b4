/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fragments. The first byte selects the mode; the rest is records of six bytes (kind, id, offset, length, fill, time).
 * The contract:
 *
 * - Every byte of a reassembled datagram is from a fragment that had it at that offset.
 * - A reassembled datagram has no gaps, and ends where a last fragment ended.
 * - Inline, all fragments that pass agree on every byte and on the end, also those after reassembly.
 * - Inline, after a drop all fragments of that datagram are dropped until it expires. Passive, nothing is dropped.
 * - Memory stays within the memcap.
 */
#include <stdlib.h>
#include <string.h>

#include "default_options.h"
#include "../lib/fragments.h"

enum {
    MODE_INLINE = 0x01,
    MODE_IPV6 = 0x02,
    MODE_SMALL = 0x04, /* small memcap */
    MODE_OS = 0xf0,
    RECORD = 6,
    IDS = 4,
    SPACE = 2048, /* maximum size of a datagram */
    LENGTH_MAX = 512,
    MEMCAP = 64 << 10,
    MEMCAP_SMALL = 12 << 10,
};

#define MUST(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            abort();                                                                                                   \
    } while (0)

/* The fragments of an id since it expired last. Bit N of a value: the byte was the Nth letter in some fragment. */
struct sent {
    uint32_t values[SPACE]; /* passive: of all fragments; inline: of those that passed */
    bool ends[SPACE + 1];
    bool dropped;
};

static struct defragging d;
static struct sent sent[IDS];

static enum host_os chosen_os(const void *user, int ip_version, const struct address *host)
{
    (void)ip_version;
    (void)host;
    return *(const enum host_os *)user;
}

static void check_whole(const struct sent *of, int version)
{
    const uint8_t *bytes = d.whole.data + (version == 4 ? 20 : 40);
    uint32_t length = d.whole.length - (version == 4 ? 20 : 40);

    MUST(length > 0 && length <= SPACE && of->ends[length]);
    for (uint32_t i = 0; i < length; i++) {
        MUST(bytes[i] >= 'a' && bytes[i] < 'a' + 32 && (of->values[i] >> (bytes[i] - 'a') & 1));
    }
    MUST(decode_reassembled(d.decoder, &d.whole, &d.packet, d.found) >= 1);
    MUST(d.whole.ip_version == version && d.whole.ip == d.whole.data);
}

static void note_sent(struct sent *of, const struct piece *piece)
{
    size_t length = piece->more ? piece->length & ~(size_t)7 : piece->length;

    for (size_t i = 0; i < length; i++)
        of->values[piece->offset + i] |= UINT32_C(1) << (piece->bytes[i] - 'a');
    if (!piece->more)
        of->ends[piece->offset + length] = true;
}

/* All fragments that passed must agree on every byte and on the end, so that every receiver gets the same datagram. */
static void check_agreement(const struct sent *of)
{
    unsigned ends = 0;

    for (uint32_t i = 0; i < SPACE; i++) {
        MUST((of->values[i] & (of->values[i] - 1)) == 0);
        ends += of->ends[i];
    }
    MUST(ends <= 1);
}

static struct piece read_piece(const uint8_t *record, int version, uint8_t bytes[LENGTH_MAX])
{
    struct piece piece = {
        .version = version,
        .id = record[1] % IDS,
        .offset = (uint32_t)record[2] * 8 % (SPACE - LENGTH_MAX),
        .more = record[0] & 1,
        .bytes = bytes,
        .length = record[0] & 2 ? record[3] : record[3] % 8 * 8u,
    };

    /* Most bytes depend on the offset only, so that most fragments agree. */
    for (size_t i = 0; i < piece.length; i++)
        bytes[i] = (uint8_t)('a' + (piece.id * 7 + (piece.offset + i) / 8 * 5 + (i % 8)) % 32);
    if ((record[0] & 0xf0) == 0 && piece.length > 0)
        bytes[record[4] % piece.length] = (uint8_t)('a' + record[4] / 8);
    if (piece.offset == 0)
        piece.more = true;
    return piece;
}

static void send_one(const uint8_t *record, int version, bool inline_mode, bool small)
{
    uint8_t bytes[LENGTH_MAX];
    struct piece piece = read_piece(record, version, bytes);
    struct sent *of = &sent[piece.id];
    enum defrag_result result;

    if (record[5] >= 250) {
        d.now_ns += 61 * NS_PER_SECOND;
        memset(sent, 0, sizeof(sent));
    }
    if (record[5] & 1)
        defrag_expire(d.defrag, d.now_ns, record[5] % 4);
    result = defragging_send(&d, &piece);
    MUST(inline_mode || result != DEFRAG_DROPPED);
    MUST(d.exception == EXCEPTION_NONE || (result == DEFRAG_IGNORED && small));
    if (of->dropped)
        MUST(result == DEFRAG_DROPPED || result == DEFRAG_IGNORED);
    if (result == DEFRAG_STORED || result == DEFRAG_COMPLETE)
        note_sent(of, &piece);
    if (inline_mode)
        check_agreement(of);
    if (result == DEFRAG_COMPLETE)
        check_whole(of, version);
    if (result == DEFRAG_COMPLETE && !inline_mode)
        memset(of, 0, sizeof(*of));
    if (result == DEFRAG_COMPLETE && inline_mode && (record[4] & 1)) {
        defrag_drop(d.defrag, &d.whole);
        of->dropped = true;
    }
    MUST(defragging_counter(&d, "defrag.memuse") <= (small ? MEMCAP_SMALL : MEMCAP));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct defrag_options options;
    enum host_os os;

    if (size < 1)
        return 0;
    defrag_options_default(&options);
    os = (enum host_os)((data[0] & MODE_OS) >> 4) % HOST_OS_COUNT;
    options.memcap = data[0] & MODE_SMALL ? MEMCAP_SMALL : MEMCAP;
    options.inline_mode = data[0] & MODE_INLINE;
    options.host_os = (struct host_os_policy){ chosen_os, &os };
    defragging_open(&d, &options);
    memset(sent, 0, sizeof(sent));
    for (size_t at = 1; at + RECORD <= size; at += RECORD)
        send_one(data + at, data[0] & MODE_IPV6 ? 6 : 4, options.inline_mode, data[0] & MODE_SMALL);
    d.now_ns += 200 * NS_PER_SECOND;
    while (defrag_expire(d.defrag, d.now_ns, 4) > 0)
        continue;
    MUST(defragging_counter(&d, "defrag.memuse") == 0);
    defragging_close(&d);
    return 0;
}
