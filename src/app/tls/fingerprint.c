/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fingerprints of hellos: JA3 and JA3S (github.com/salesforce/ja3), JA4 (github.com/FoxIO-LLC/ja4,
 * technical_details/JA4.md). They are computed from the stored hello on first use by a rule or event. Rules and events
 * get a const transaction, so the results are in a separate struct tls_fingerprints to which the transaction points.
 *
 * Memory for the JA3 text is allocated when the hello is parsed, because only the parser can report an error for the
 * flow. If it were allocated when a rule uses the fingerprint and memory were exhausted, the rule would silently not
 * match.
 */
#include <errno.h>
#include <nettle/md5.h>
#include <nettle/sha2.h>
#include <string.h>

#include "tls_priv.h"
#include "sluice/hex.h"

/* --- Text ----------------------------------------------------------------------------------------- */

struct writer {
    struct buffer *out; /* preallocated; NULL: count the bytes only */
    uint32_t length;
};

static void write_bytes(struct writer *w, const char *bytes, uint32_t length)
{
    if (w->out && w->length + length <= w->out->capacity) {
        memcpy(w->out->bytes + w->length, bytes, length);
        w->out->length = w->length + length;
    }
    w->length += length;
}

static void write_number(struct writer *w, unsigned value)
{
    char digits[10];
    size_t at = sizeof(digits);

    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    write_bytes(w, digits + at, (uint32_t)(sizeof(digits) - at));
}

/* --- Lists of a hello ----------------------------------------------------------------------------- */

/* Reads the next number that is not GREASE. */
static bool next_number(struct cursor *list, uint16_t *out)
{
    while (cursor_be16(list, out)) {
        if (!tls_is_grease(*out))
            return true;
    }
    return false;
}

static bool next_extension(struct cursor *list, uint16_t *type)
{
    uint16_t length;

    while (cursor_be16(list, type) && cursor_be16(list, &length) && cursor_skip(list, length)) {
        if (!tls_is_grease(*type))
            return true;
    }
    return false;
}

enum { NUMBERS_MAX = 1 << 15 }; /* a list has a 16-bit length in bytes, and two bytes per number */

typedef bool next_function(struct cursor *list, uint16_t *out);

static bool next_byte(struct cursor *list, uint16_t *out)
{
    uint8_t byte;

    if (!cursor_u8(list, &byte))
        return false;
    *out = byte;
    return true;
}

/* --- JA3 ------------------------------------------------------------------------------------------ */

static void write_list(struct writer *w, const struct tls_hello *hello, struct tls_piece piece, next_function *next)
{
    struct cursor list = tls_piece_cursor(&hello->body, piece);
    uint16_t number;

    write_bytes(w, ",", 1);
    for (bool is_first = true; next(&list, &number); is_first = false) {
        if (!is_first)
            write_bytes(w, "-", 1);
        write_number(w, number);
    }
}

/* Writes "version,ciphers,extensions,curves,formats", for a server without the last two. Returns the length. */
static uint32_t write_ja3(const struct tls_hello *hello, bool of_client, struct buffer *out)
{
    struct writer w = { .out = out };

    write_number(&w, hello->version);
    write_list(&w, hello, hello->ciphers, next_number);
    write_list(&w, hello, hello->extensions, next_extension);
    if (of_client) {
        write_list(&w, hello, hello->curves, next_number);
        write_list(&w, hello, hello->formats, next_byte);
    }
    return w.length;
}

int tls_reserve_ja3(struct tls_tx *tx, enum flow_direction direction)
{
    struct tls_side *side = &tx->side[direction];
    uint32_t length;

    if (tx->ja3_off || !side->hello.whole)
        return 0;
    length = write_ja3(&side->hello, direction == FLOW_TO_SERVER, NULL);
    side->fingerprints->ja3.bytes = heap_alloc_uncleared(tx->heap, length);
    side->fingerprints->ja3.capacity = side->fingerprints->ja3.bytes ? length : 0;
    return side->fingerprints->ja3.bytes ? 0 : -ENOMEM;
}

/* --- JA4 ------------------------------------------------------------------------------------------ */

static const char *ja4_version(uint16_t version)
{
    switch (version) {
    case TLS_13:
        return "13";
    case TLS_12:
        return "12";
    case TLS_11:
        return "11";
    case TLS_10:
        return "10";
    case TLS_SSL3:
        return "s3";
    default:
        return "00";
    }
}

static bool is_alphanumeric(uint8_t byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');
}

/* Writes the first and last character of the first ALPN name; if they are not alphanumeric, the first and last
 * hexadecimal digit of the name. Without a name, and if it is GREASE, writes 00. */
static void write_ja4_alpn(const struct tls_side *side, char out[2])
{
    struct cursor name;

    out[0] = out[1] = '0';
    if (!tls_alpn_at(side, 0, &name) || cursor_remaining(&name) == 0)
        return;
    uint8_t first = *name.at, last = name.end[-1];

    if (cursor_remaining(&name) == 2 && tls_is_grease(load_be16(name.at)))
        return;
    bool is_plain = is_alphanumeric(first) && is_alphanumeric(last);

    out[0] = is_plain ? (char)first : hex_digits[first >> 4];
    out[1] = is_plain ? (char)last : hex_digits[last & 15];
}

static void write_count(char *out, unsigned count)
{
    if (count > 99)
        count = 99;
    out[0] = (char)('0' + count / 10);
    out[1] = (char)('0' + count % 10);
}

static void digest_list(struct sha256_ctx *sha256, const uint16_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint8_t bytes[2] = { (uint8_t)(numbers[i] >> 8), (uint8_t)numbers[i] };
        char text[5] = { ',' };

        hex_write(text + 1, bytes, 2);
        sha256_update(sha256, i > 0 ? 5 : 4, (const uint8_t *)text + (i > 0 ? 0 : 1));
    }
}

/* Radix sort by the low, then by the high byte; the result is in `numbers`. Lists may have 32,768 numbers, so a
 * quadratic sort would allow denial of service. */
static void sort_numbers(uint16_t *numbers, uint16_t *scratch, size_t count)
{
    for (unsigned shift = 0; shift <= 8; shift += 8) {
        size_t place[257] = { 0 };

        for (size_t i = 0; i < count; i++)
            place[(numbers[i] >> shift & 0xff) + 1]++;
        for (size_t i = 0; i < 256; i++)
            place[i + 1] += place[i];
        for (size_t i = 0; i < count; i++)
            scratch[place[numbers[i] >> shift & 0xff]++] = numbers[i];

        uint16_t *swap = numbers;

        numbers = scratch;
        scratch = swap;
    }
}

static size_t collect_numbers(const struct tls_hello *hello, struct tls_piece piece, next_function *next, uint16_t *out)
{
    struct cursor list = tls_piece_cursor(&hello->body, piece);
    size_t count = 0;

    while (count < NUMBERS_MAX && next(&list, &out[count]))
        count++;
    return count;
}

static void end_digest(struct sha256_ctx *sha256, char out[12])
{
    uint8_t digest[6];

    sha256_digest(sha256, sizeof(digest), digest);
    hex_write(out, digest, sizeof(digest));
}

static size_t remove_sni_and_alpn(uint16_t *types, size_t count, bool *has_name)
{
    size_t kept = 0;

    *has_name = false;
    for (size_t i = 0; i < count; i++) {
        *has_name |= types[i] == 0;
        if (types[i] != 0 && types[i] != 16)
            types[kept++] = types[i];
    }
    return kept;
}

/* Computes a JA4 such as t13d1516h2_8daaf6152771_02713d6af862; its first letter is `transport`. `numbers` and `scratch`
 * have NUMBERS_MAX entries. */
static void compute_ja4(const struct tls_side *side, char transport, uint16_t *numbers, uint16_t *scratch, char out[36])
{
    const struct tls_hello *hello = &side->hello;
    struct sha256_ctx sha256;
    size_t count = collect_numbers(hello, hello->ciphers, next_number, numbers), all;
    bool has_name;

    out[0] = transport;
    memcpy(out + 1, ja4_version(hello->offered), 2);
    write_count(out + 4, (unsigned)count);
    write_ja4_alpn(side, out + 8);
    out[10] = out[23] = '_';
    sort_numbers(numbers, scratch, count);
    sha256_init(&sha256);
    digest_list(&sha256, numbers, count);
    end_digest(&sha256, out + 11);

    all = collect_numbers(hello, hello->extensions, next_extension, numbers);
    count = remove_sni_and_alpn(numbers, all, &has_name);
    out[3] = has_name ? 'd' : 'i';
    write_count(out + 6, (unsigned)all);
    sort_numbers(numbers, scratch, count);
    digest_list(&sha256, numbers, count);
    sha256_update(&sha256, 1, (const uint8_t *)"_");
    count = collect_numbers(hello, hello->algorithms, next_number, numbers);
    digest_list(&sha256, numbers, count);
    end_digest(&sha256, out + 24);
}

/* --- Lazy evaluation ------------------------------------------------------------------------------ */

const struct tls_fingerprints *tls_ja3(const struct tls_tx *tx, enum flow_direction direction)
{
    const struct tls_side *side = &tx->side[direction];
    struct tls_fingerprints *fingerprints = side->fingerprints;

    if (tx->ja3_off || !fingerprints || !fingerprints->ja3.bytes)
        return NULL;
    if (!fingerprints->ja3_computed) {
        struct md5_ctx md5;
        uint8_t digest[MD5_DIGEST_SIZE];

        write_ja3(&side->hello, direction == FLOW_TO_SERVER, &fingerprints->ja3);
        md5_init(&md5);
        md5_update(&md5, fingerprints->ja3.length, fingerprints->ja3.bytes);
        md5_digest(&md5, sizeof(digest), digest);
        hex_write(fingerprints->ja3_hash, digest, sizeof(digest));
        fingerprints->ja3_computed = true;
    }
    return fingerprints;
}

const struct tls_fingerprints *tls_ja4(const struct tls_tx *tx)
{
    const struct tls_side *side = &tx->side[FLOW_TO_SERVER];
    struct tls_fingerprints *fingerprints = side->fingerprints;

    if (tx->ja4_off || !fingerprints || !side->hello.body.bytes)
        return NULL;
    if (!fingerprints->ja4_computed) {
        uint16_t numbers[NUMBERS_MAX], scratch[NUMBERS_MAX];

        compute_ja4(side, tx->over_quic ? 'q' : 't', numbers, scratch, fingerprints->ja4);
        fingerprints->ja4_computed = true;
    }
    return fingerprints;
}

void tls_free_fingerprints(struct heap *heap, struct tls_fingerprints *fingerprints)
{
    if (!fingerprints)
        return;
    buffer_clear(heap, &fingerprints->ja3);
    heap_release(heap, fingerprints);
}
