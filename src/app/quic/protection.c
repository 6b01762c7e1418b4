/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Protection of Initial packets (RFC 9001 §5): AES-128-GCM, with keys that HKDF derives from a connection ID. Keys are
 * expanded again for each packet, because a flow has few Initial packets, and expanded keys would need 9 KiB.
 */
#include <nettle/aes.h>
#include <nettle/gcm.h>
#include <nettle/hkdf.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <nettle/sha2.h>

#include "quic_priv.h"

/* --- Keys ----------------------------------------------------------------------------------------- */

/* HKDF-Expand-Label of TLS 1.3 with an empty context (RFC 8446 §7.1). The secret is the key of `hmac`. */
static void expand_label(struct hmac_sha256_ctx *hmac, const char *label, uint8_t *out, size_t length)
{
    static const char prefix[] = "tls13 ";
    uint8_t info[64];
    size_t label_length = strlen(label), prefix_length = sizeof(prefix) - 1;

    store_be16(info, (uint32_t)length);
    info[2] = (uint8_t)(prefix_length + label_length);
    memcpy(info + 3, prefix, prefix_length);
    memcpy(info + 3 + prefix_length, label, label_length);
    info[3 + prefix_length + label_length] = 0;
    hkdf_expand(hmac, (nettle_hash_update_func *)hmac_sha256_update, (nettle_hash_digest_func *)hmac_sha256_digest,
                SHA256_DIGEST_SIZE, 4 + prefix_length + label_length, info, length, out);
}

void quic_derive_keys(const struct quic_version *version, const struct quic_id *id,
                      struct quic_keys keys[FLOW_DIRECTIONS])
{
    static const char *const sides[FLOW_DIRECTIONS] = {
        [FLOW_TO_SERVER] = "client in", [FLOW_TO_CLIENT] = "server in"
    };
    uint8_t initial[SHA256_DIGEST_SIZE], secret[SHA256_DIGEST_SIZE];
    struct hmac_sha256_ctx hmac;

    hmac_sha256_set_key(&hmac, sizeof(version->salt), version->salt);
    hmac_sha256_update(&hmac, id->length, id->bytes);
    hmac_sha256_digest(&hmac, sizeof(initial), initial);
    for (unsigned i = 0; i < FLOW_DIRECTIONS; i++) {
        hmac_sha256_set_key(&hmac, sizeof(initial), initial);
        expand_label(&hmac, sides[i], secret, sizeof(secret));
        hmac_sha256_set_key(&hmac, sizeof(secret), secret);
        expand_label(&hmac, version->is_second ? "quicv2 key" : "quic key", keys[i].key, sizeof(keys[i].key));
        expand_label(&hmac, version->is_second ? "quicv2 iv" : "quic iv", keys[i].iv, sizeof(keys[i].iv));
        expand_label(&hmac, version->is_second ? "quicv2 hp" : "quic hp", keys[i].header, sizeof(keys[i].header));
    }
}

/* --- Packets -------------------------------------------------------------------------------------- */

/* Restores a packet number from its last bytes and the next expected number (RFC 9000 appendix A.3). */
static uint64_t decode_number(uint64_t expected, uint64_t number, unsigned bytes)
{
    uint64_t window = UINT64_C(1) << 8 * bytes, half = window / 2, candidate = (expected & ~(window - 1)) | number;

    if (candidate + half <= expected && candidate < (UINT64_C(1) << 62) - window)
        return candidate + window;
    if (candidate > expected + half && candidate >= window)
        return candidate - window;
    return candidate;
}

bool quic_decrypt(const struct quic_keys *keys, const struct quic_packet *packet, uint64_t *next_number, uint8_t *out,
                  struct cursor *payload)
{
    enum { SAMPLE_AT = 4 };
    struct gcm_aes128_ctx gcm;
    struct aes128_ctx aes;
    uint8_t mask[AES_BLOCK_SIZE], nonce[QUIC_IV], tag[QUIC_TAG];
    size_t at = packet->number_at;
    unsigned number_length;
    uint64_t number = 0;

    if (packet->length < at + SAMPLE_AT + AES_BLOCK_SIZE)
        return false;
    memcpy(out, packet->bytes, packet->length);
    aes128_set_encrypt_key(&aes, keys->header);
    aes128_encrypt(&aes, sizeof(mask), mask, out + at + SAMPLE_AT);
    out[0] ^= mask[0] & 0x0f;
    number_length = (out[0] & 3) + 1u;
    for (unsigned i = 0; i < number_length; i++) {
        out[at + i] ^= mask[1 + i];
        number = number << 8 | out[at + i];
    }
    number = decode_number(*next_number, number, number_length);
    at += number_length;

    size_t length = packet->length - at - QUIC_TAG; /* not negative: the sample is longer than number and tag */

    memcpy(nonce, keys->iv, sizeof(nonce));
    for (unsigned i = 0; i < 8; i++)
        nonce[QUIC_IV - 1 - i] ^= (uint8_t)(number >> 8 * i);
    gcm_aes128_set_key(&gcm, keys->key);
    gcm_aes128_set_iv(&gcm, sizeof(nonce), nonce);
    gcm_aes128_update(&gcm, at, out);
    gcm_aes128_decrypt(&gcm, length, out + at, out + at);
    gcm_aes128_digest(&gcm, sizeof(tag), tag);
    if (!memeql_sec(tag, packet->bytes + at + length, sizeof(tag)))
        return false;
    if (number >= *next_number)
        *next_number = number + 1;
    *payload = cursor_of(out + at, length);
    return true;
}

bool quic_retry_is_valid(const struct quic_version *version, const struct quic_packet *packet,
                         const struct quic_id *original, uint8_t *scratch)
{
    static const uint8_t none[QUIC_KEY];
    struct gcm_aes128_ctx gcm;
    uint8_t tag[QUIC_TAG];
    size_t length = 0;

    if (memcmp(version->retry_key, none, sizeof(none)) == 0)
        return true;
    if (packet->length < packet->number_at + QUIC_TAG)
        return false;
    scratch[length++] = original->length;
    memcpy(scratch + length, original->bytes, original->length);
    length += original->length;
    memcpy(scratch + length, packet->bytes, packet->length - QUIC_TAG);
    length += packet->length - QUIC_TAG;
    gcm_aes128_set_key(&gcm, version->retry_key);
    gcm_aes128_set_iv(&gcm, sizeof(version->retry_nonce), version->retry_nonce);
    gcm_aes128_update(&gcm, length, scratch);
    gcm_aes128_digest(&gcm, sizeof(tag), tag);
    return memeql_sec(tag, packet->bytes + packet->length - QUIC_TAG, sizeof(tag));
}
