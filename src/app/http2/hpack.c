/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hpack.h"

#include <string.h>

#include "sluice/transfer.h"

/* --- Static table (RFC 7541, appendix A) ---------------------------------------------------------- */

#define FIELD(name, value)                                                                                             \
    {                                                                                                                  \
        name, value, sizeof(name) - 1, sizeof(value) - 1                                                               \
    }

static const struct {
    const char *name, *value;
    uint8_t name_length, value_length;
} static_table[HPACK_STATIC_COUNT] = {
    FIELD(":authority", ""),
    FIELD(":method", "GET"),
    FIELD(":method", "POST"),
    FIELD(":path", "/"),
    FIELD(":path", "/index.html"),
    FIELD(":scheme", "http"),
    FIELD(":scheme", "https"),
    FIELD(":status", "200"),
    FIELD(":status", "204"),
    FIELD(":status", "206"),
    FIELD(":status", "304"),
    FIELD(":status", "400"),
    FIELD(":status", "404"),
    FIELD(":status", "500"),
    FIELD("accept-charset", ""),
    FIELD("accept-encoding", "gzip, deflate"),
    FIELD("accept-language", ""),
    FIELD("accept-ranges", ""),
    FIELD("accept", ""),
    FIELD("access-control-allow-origin", ""),
    FIELD("age", ""),
    FIELD("allow", ""),
    FIELD("authorization", ""),
    FIELD("cache-control", ""),
    FIELD("content-disposition", ""),
    FIELD("content-encoding", ""),
    FIELD("content-language", ""),
    FIELD("content-length", ""),
    FIELD("content-location", ""),
    FIELD("content-range", ""),
    FIELD("content-type", ""),
    FIELD("cookie", ""),
    FIELD("date", ""),
    FIELD("etag", ""),
    FIELD("expect", ""),
    FIELD("expires", ""),
    FIELD("from", ""),
    FIELD("host", ""),
    FIELD("if-match", ""),
    FIELD("if-modified-since", ""),
    FIELD("if-none-match", ""),
    FIELD("if-range", ""),
    FIELD("if-unmodified-since", ""),
    FIELD("last-modified", ""),
    FIELD("link", ""),
    FIELD("location", ""),
    FIELD("max-forwards", ""),
    FIELD("proxy-authenticate", ""),
    FIELD("proxy-authorization", ""),
    FIELD("range", ""),
    FIELD("referer", ""),
    FIELD("refresh", ""),
    FIELD("retry-after", ""),
    FIELD("server", ""),
    FIELD("set-cookie", ""),
    FIELD("strict-transport-security", ""),
    FIELD("transfer-encoding", ""),
    FIELD("user-agent", ""),
    FIELD("vary", ""),
    FIELD("via", ""),
    FIELD("www-authenticate", ""),
};

/* --- Huffman code (RFC 7541, appendix B) ---------------------------------------------------------- */

/*
 * The code is canonical: codes of equal length are consecutive numbers, in the order of `symbols`, and the first code
 * of a length follows the last one of the previous length. So a code is decoded by comparing the next bits with the
 * first code of each length.
 */
enum { HUFFMAN_EOS = 256, HUFFMAN_SHORTEST = 5 };

static const uint16_t symbols[] = {
    48,  49,  50,  97,  99,  101, 105, 111, 115, 116, 32,  37,  45,  46,  47,  51,  52,  53,  54,  55,  56,  57,
    61,  65,  95,  98,  100, 102, 103, 104, 108, 109, 110, 112, 114, 117, 58,  66,  67,  68,  69,  70,  71,  72,
    73,  74,  75,  76,  77,  78,  79,  80,  81,  82,  83,  84,  85,  86,  87,  89,  106, 107, 113, 118, 119, 120,
    121, 122, 38,  42,  44,  59,  88,  90,  33,  34,  40,  41,  63,  39,  43,  124, 35,  62,  0,   36,  64,  91,
    93,  126, 94,  125, 60,  96,  123, 92,  195, 208, 128, 130, 131, 162, 184, 194, 224, 226, 153, 161, 167, 172,
    176, 177, 179, 209, 216, 217, 227, 229, 230, 129, 132, 133, 134, 136, 146, 154, 156, 160, 163, 164, 169, 170,
    173, 178, 181, 185, 186, 187, 189, 190, 196, 198, 228, 232, 233, 1,   135, 137, 138, 139, 140, 141, 143, 147,
    149, 150, 151, 152, 155, 157, 158, 165, 166, 168, 174, 175, 180, 182, 183, 188, 191, 197, 231, 239, 9,   142,
    144, 145, 148, 159, 171, 206, 215, 225, 236, 237, 199, 207, 234, 235, 192, 193, 200, 201, 202, 205, 210, 213,
    218, 219, 238, 240, 242, 243, 255, 203, 204, 211, 212, 214, 221, 222, 223, 241, 244, 245, 246, 247, 248, 250,
    251, 252, 253, 254, 2,   3,   4,   5,   6,   7,   8,   11,  12,  14,  15,  16,  17,  18,  19,  20,  21,  23,
    24,  25,  26,  27,  28,  29,  30,  31,  127, 220, 249, 10,  13,  22,  256,
};

static const struct {
    uint8_t length; /* bits */
    uint32_t first; /* code of the first symbol of this length */
    uint16_t index; /* its index in `symbols` */
    uint16_t count; /* number of codes of this length */
} code_lengths[] = {
    { 5, 0x0, 0, 10 },          { 6, 0x14, 10, 26 },        { 7, 0x5c, 36, 32 },        { 8, 0xf8, 68, 6 },
    { 10, 0x3f8, 74, 5 },       { 11, 0x7fa, 79, 3 },       { 12, 0xffa, 82, 2 },       { 13, 0x1ff8, 84, 6 },
    { 14, 0x3ffc, 90, 2 },      { 15, 0x7ffc, 92, 3 },      { 19, 0x7fff0, 95, 3 },     { 20, 0xfffe6, 98, 8 },
    { 21, 0x1fffdc, 106, 13 },  { 22, 0x3fffd2, 119, 26 },  { 23, 0x7fffd8, 145, 29 },  { 24, 0xffffea, 174, 12 },
    { 25, 0x1ffffec, 186, 4 },  { 26, 0x3ffffe0, 190, 15 }, { 27, 0x7ffffde, 205, 19 }, { 28, 0xfffffe2, 224, 29 },
    { 30, 0x3ffffffc, 253, 4 },
};

/* Decodes the symbol at the front of `bits`, of which the upper `available` are valid, and sets *length to the length
 * of its code. Returns -1 if the bits are the beginning of a longer code. */
static int decode_symbol(uint64_t bits, unsigned available, unsigned *length)
{
    for (size_t i = 0; i < sizeof(code_lengths) / sizeof(code_lengths[0]); i++) {
        unsigned size = code_lengths[i].length;
        uint32_t offset = (uint32_t)(bits >> (64 - size)) - code_lengths[i].first;

        if (size > available)
            break;
        if (offset >= code_lengths[i].count)
            continue;
        *length = size;
        return symbols[code_lengths[i].index + offset];
    }
    return -1;
}

bool hpack_decode_huffman(struct heap *heap, const uint8_t *bytes, uint32_t length, struct buffer *out, uint32_t limit,
                          bool *full)
{
    struct cursor cur = cursor_of(bytes, length);
    uint32_t before = out->length, used = 0;
    uint8_t decoded[256], byte;
    uint64_t bits = 0;
    unsigned available = 0, size = 0;

    for (;;) {
        while (available <= 56 && cursor_u8(&cur, &byte)) {
            bits |= (uint64_t)byte << (56 - available);
            available += 8;
        }
        int symbol = decode_symbol(bits, available, &size);

        if (symbol == HUFFMAN_EOS)
            break;
        if (symbol < 0 || used == sizeof(decoded)) {
            if (buffer_append(heap, out, decoded, used, limit) < used) {
                *full = true;
                return false;
            }
            used = 0;
        }
        if (symbol < 0) {
            /* The padding consists of the upper bits of EOS, all of them one, and is shorter than a byte. */
            if (available < 8 && bits >> (63 - available) >> 1 == (UINT64_C(1) << available) - 1)
                return true;
            break;
        }
        decoded[used++] = (uint8_t)symbol;
        bits <<= size;
        available -= size;
    }
    out->length = before;
    return false;
}

/* --- Dynamic table -------------------------------------------------------------------------------- */

struct hpack_entry {
    uint32_t position; /* of its name, which the value follows, as struct hpack.base */
    uint32_t name_length, value_length;
};

void hpack_init(struct hpack *hpack, uint32_t limit_max)
{
    *hpack = (struct hpack){ .limit_max = limit_max };
    hpack->limit = limit_max < HPACK_DEFAULT_LIMIT ? limit_max : HPACK_DEFAULT_LIMIT;
}

void hpack_clear(struct heap *heap, struct hpack *hpack)
{
    buffer_clear(heap, &hpack->text);
    buffer_clear(heap, &hpack->entries);
}

static uint32_t entry_count(const struct hpack *hpack)
{
    return hpack->entries.length / (uint32_t)sizeof(struct hpack_entry) - hpack->first_entry;
}

/* Evicts the oldest entries until the table has at most `limit` bytes. */
static void evict(struct hpack *hpack, uint32_t limit)
{
    const struct hpack_entry *entries = (const struct hpack_entry *)hpack->entries.bytes;

    while (hpack->size > limit && entry_count(hpack) > 0) {
        uint32_t length = entries[hpack->first_entry].name_length + entries[hpack->first_entry].value_length;

        hpack->size -= length + HPACK_ENTRY_OVERHEAD;
        hpack->first_byte += length;
        hpack->first_entry++;
    }
    /* Each byte moves at most once for each byte that was evicted before it. */
    if (hpack->first_byte > 0 && hpack->first_byte >= hpack->text.length / 2) {
        buffer_consume(&hpack->text, hpack->first_byte);
        hpack->base += hpack->first_byte;
        hpack->first_byte = 0;
    }
    if (hpack->first_entry > 0 && hpack->first_entry >= entry_count(hpack)) {
        buffer_consume(&hpack->entries, hpack->first_entry * (uint32_t)sizeof(struct hpack_entry));
        hpack->first_entry = 0;
    }
}

/* Adds a field; the text is not in the table. Returns false without memory. */
static bool add_entry(struct hpack *hpack, struct heap *heap, const uint8_t *name, uint32_t name_length,
                      const uint8_t *value, uint32_t value_length)
{
    uint64_t size = (uint64_t)name_length + value_length + HPACK_ENTRY_OVERHEAD;

    if (size > hpack->limit) { /* an entry that exceeds the table empties it */
        evict(hpack, 0);
        return true;
    }
    evict(hpack, hpack->limit - (uint32_t)size);
    const struct hpack_entry entry = {
        .position = hpack->base + hpack->text.length,
        .name_length = name_length,
        .value_length = value_length,
    };

    hpack->size += (uint32_t)size;
    return buffer_append(heap, &hpack->text, name, name_length, UINT32_MAX) == name_length &&
           buffer_append(heap, &hpack->text, value, value_length, UINT32_MAX) == value_length &&
           buffer_append(heap, &hpack->entries, &entry, sizeof(entry), UINT32_MAX) == sizeof(entry);
}

static const uint8_t nothing[1];

/* The text of an entry of either table, until the table changes. */
struct table_text {
    const uint8_t *name, *value;
    uint32_t name_length, value_length;
};

static bool get_entry(const struct hpack *hpack, uint32_t index, struct table_text *out)
{
    const struct hpack_entry *entries = (const struct hpack_entry *)hpack->entries.bytes, *entry;
    uint32_t count = entry_count(hpack);

    if (index == 0)
        return false;
    if (index <= HPACK_STATIC_COUNT) {
        *out = (struct table_text){
            .name = (const uint8_t *)static_table[index - 1].name,
            .value = (const uint8_t *)static_table[index - 1].value,
            .name_length = static_table[index - 1].name_length,
            .value_length = static_table[index - 1].value_length,
        };
        return true;
    }
    if (index - HPACK_STATIC_COUNT > count)
        return false;
    entry = &entries[hpack->first_entry + count - (index - HPACK_STATIC_COUNT)];
    out->name = hpack->text.bytes ? hpack->text.bytes + (entry->position - hpack->base) : nothing;
    out->value = out->name + entry->name_length;
    out->name_length = entry->name_length;
    out->value_length = entry->value_length;
    return true;
}

/* --- Decoding ------------------------------------------------------------------------------------- */

/* Reads an integer with a prefix of `bits` bits in `first`, the byte that was read last. Returns HPACK_FIELD, or an
 * error. */
static enum hpack_result read_integer(struct cursor *cur, uint8_t first, unsigned bits, uint32_t *out)
{
    uint32_t most = (1u << bits) - 1;
    uint64_t number = first & most;
    uint8_t byte;

    if (number < most) {
        *out = (uint32_t)number;
        return HPACK_FIELD;
    }
    for (unsigned shift = 0; shift < 35; shift += 7) {
        if (!cursor_u8(cur, &byte))
            return HPACK_TRUNCATED;
        number += (uint64_t)(byte & 0x7f) << shift;
        if (byte & 0x80)
            continue;
        if (number > UINT32_MAX)
            return HPACK_INTEGER_OVERFLOW;
        *out = (uint32_t)number;
        return HPACK_FIELD;
    }
    return HPACK_INTEGER_OVERFLOW;
}

/* Reads a string and appends it to *text. Returns HPACK_FIELD or an error; after HPACK_INVALID_STRING the next string
 * can be read. */
static enum hpack_result read_string(struct heap *heap, struct cursor *cur, struct buffer *text, uint32_t limit)
{
    enum hpack_result result;
    uint32_t length;
    uint8_t first;
    bool full = false;

    if (!cursor_u8(cur, &first))
        return HPACK_TRUNCATED;
    result = read_integer(cur, first, 7, &length);
    if (result != HPACK_FIELD)
        return result;
    const uint8_t *bytes = cursor_read(cur, length);

    if (!bytes)
        return HPACK_TRUNCATED;
    if (length > HPACK_STRING_MAX)
        return HPACK_INVALID_STRING;
    if (!(first & 0x80)) {
        full = buffer_append(heap, text, bytes, length, limit) < length;
    } else if (!hpack_decode_huffman(heap, bytes, length, text, limit, &full) && !full) {
        return HPACK_INVALID_STRING;
    }
    if (!full)
        return HPACK_FIELD;
    return text->length >= limit ? HPACK_TEXT_LIMIT : HPACK_NO_MEMORY;
}

static enum hpack_result append(struct heap *heap, struct buffer *text, const void *bytes, uint32_t length,
                                uint32_t limit)
{
    if (buffer_append(heap, text, bytes, length, limit) == length)
        return HPACK_FIELD;
    return text->length >= limit ? HPACK_TEXT_LIMIT : HPACK_NO_MEMORY;
}

/* Decodes a literal: its name from the table (index > 0) or as a string, and its value. *adds: the field is added to
 * the table. */
static enum hpack_result decode_literal(struct hpack *hpack, struct heap *heap, struct cursor *cur, uint32_t index,
                                        bool adds, struct buffer *text, uint32_t limit, struct http_field *out)
{
    enum hpack_result name = HPACK_FIELD, value;
    struct table_text entry;

    out->at = text->length;
    if (index == 0)
        name = read_string(heap, cur, text, limit);
    else if (!get_entry(hpack, index, &entry))
        name = HPACK_INVALID_INDEX;
    else
        name = append(heap, text, entry.name, entry.name_length, limit);
    if (name > HPACK_INVALID_STRING)
        return name;
    out->name_length = text->length - out->at;
    if (out->name_length > HPACK_NAME_MAX)
        name = HPACK_INVALID_STRING;
    value = append(heap, text, ": ", 2, limit);
    if (value == HPACK_FIELD)
        value = read_string(heap, cur, text, limit);
    if (value > HPACK_INVALID_STRING)
        return value;
    out->value_length = text->length - out->at - out->name_length - 2;
    if (name == HPACK_FIELD && value == HPACK_FIELD && adds &&
        !add_entry(hpack, heap, text->bytes + out->at, out->name_length, text->bytes + out->at + out->name_length + 2,
                   out->value_length))
        return HPACK_NO_MEMORY;
    return name == HPACK_FIELD ? value : name;
}

static enum hpack_result decode_field(struct hpack *hpack, struct heap *heap, struct cursor *cur, struct buffer *text,
                                      uint32_t limit, struct http_field *out, uint32_t *value)
{
    enum hpack_result result;
    struct table_text entry;
    uint32_t index = 0;
    uint8_t first;

    if (!cursor_u8(cur, &first))
        return HPACK_END;
    if (first & 0x80) { /* indexed field */
        result = read_integer(cur, first, 7, &index);
        if (result != HPACK_FIELD)
            return result;
        if (!get_entry(hpack, index, &entry))
            return HPACK_INVALID_INDEX;
        *out = (struct http_field){ text->length, entry.name_length, entry.value_length };
        result = append(heap, text, entry.name, entry.name_length, limit);
        if (result == HPACK_FIELD)
            result = append(heap, text, ": ", 2, limit);
        return result == HPACK_FIELD ? append(heap, text, entry.value, entry.value_length, limit) : result;
    }
    if ((first & 0xe0) == 0x20) {
        result = read_integer(cur, first, 5, value);
        if (result != HPACK_FIELD)
            return result;
        if (*value > hpack->limit_max)
            return HPACK_SIZE_EXCESSIVE;
        hpack->limit = *value;
        evict(hpack, hpack->limit);
        return HPACK_SIZE_UPDATE;
    }
    result = read_integer(cur, first, first & 0x40 ? 6 : 4, &index); /* 0x40: added to the table */
    return result == HPACK_FIELD ? decode_literal(hpack, heap, cur, index, first & 0x40, text, limit, out) : result;
}

enum hpack_result hpack_next(struct hpack *hpack, struct heap *heap, struct cursor *block, struct buffer *text,
                             uint32_t text_limit, struct http_field *out, uint32_t *value)
{
    uint32_t before = text->length;
    enum hpack_result result = decode_field(hpack, heap, block, text, text_limit, out, value);

    if (result == HPACK_FIELD)
        result = append(heap, text, "\r\n", 2, text_limit);
    if (result != HPACK_FIELD)
        text->length = before;
    return result;
}

/* --- Transfer to another process ------------------------------------------------------------------ */

void hpack_transfer(struct transfer *t, struct hpack *hpack)
{
    const struct hpack_entry *entries = (const struct hpack_entry *)hpack->entries.bytes;
    uint64_t size = 0, bytes = 0;
    uint32_t limit = hpack->limit;

    transfer_u32(t, &hpack->first_byte);
    transfer_u32(t, &hpack->first_entry);
    transfer_u32(t, &hpack->base);
    transfer_u32(t, &limit);
    if (t->error || !t->reading)
        return;
    transfer_require(t, hpack->entries.length % sizeof(*entries) == 0 && hpack->first_byte <= hpack->text.length &&
                            hpack->first_entry <= hpack->entries.length / sizeof(*entries));
    if (t->error)
        return;
    /* The texts of the entries are consecutive, up to the end of the buffer. */
    for (uint32_t i = 0; i < entry_count(hpack) && !t->error; i++) {
        const struct hpack_entry *entry = &entries[hpack->first_entry + i];

        transfer_require(t, entry->position - hpack->base == hpack->first_byte + bytes);
        bytes += (uint64_t)entry->name_length + entry->value_length;
        transfer_require(t, bytes <= hpack->text.length - hpack->first_byte);
    }
    transfer_require(t, bytes == hpack->text.length - hpack->first_byte);
    if (t->error)
        return;
    size = bytes + (uint64_t)entry_count(hpack) * HPACK_ENTRY_OVERHEAD;
    transfer_require(t, size <= UINT32_MAX);
    if (t->error)
        return;
    hpack->size = (uint32_t)size;
    hpack->limit = limit < hpack->limit_max ? limit : hpack->limit_max;
    evict(hpack, hpack->limit);
}
