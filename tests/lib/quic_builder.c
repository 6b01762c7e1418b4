/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "quic_builder.h"

#include <nettle/aes.h>
#include <nettle/gcm.h>

#include "app/quic/quic_priv.h"

void put_varint(struct bytes *out, uint64_t value)
{
    unsigned bytes = value < 1u << 6 ? 1 : value < 1u << 14 ? 2 : value < 1u << 30 ? 4 : 8;
    static const uint8_t prefix[] = { [1] = 0x00, [2] = 0x40, [4] = 0x80, [8] = 0xc0 };

    for (unsigned i = bytes; i > 0; i--)
        put_u8(out, (unsigned)(value >> 8 * (i - 1) & 0xff) | (i == bytes ? prefix[bytes] : 0));
}

void put_crypto(struct bytes *out, uint64_t offset, const void *bytes, size_t length)
{
    put_u8(out, 0x06);
    put_varint(out, offset);
    put_varint(out, length);
    put_bytes(out, bytes, length);
}

static struct quic_id id_of(const char *text)
{
    struct quic_id id = { .length = (uint8_t)(text ? strlen(text) : 0) };

    if (text)
        memcpy(id.bytes, text, id.length);
    return id;
}

void put_initial(struct bytes *out, const struct quic_initial *initial, const struct bytes *frames)
{
    const struct quic_version *version = quic_version_find(initial->version);
    const char *source = initial->source ? initial->source : "";
    const char *destination = initial->destination ? initial->destination : "";
    struct quic_id id = id_of(initial->key_id ? initial->key_id : initial->destination);
    unsigned number_length = initial->number_length ? initial->number_length : 4, padding;
    struct quic_keys keys[FLOW_DIRECTIONS];
    struct gcm_aes128_ctx gcm;
    struct aes128_ctx aes;
    uint8_t nonce[QUIC_IV], mask[AES_BLOCK_SIZE];
    size_t start = out->length, number_at, payload_at;

    quic_derive_keys(version, &id, keys);
    const struct quic_keys *key = &keys[initial->from_server ? FLOW_TO_CLIENT : FLOW_TO_SERVER];

    padding = frames->length < 4 ? (unsigned)(4 - frames->length) : 0;
    put_u8(out, (version->is_second ? 0xd0 : 0xc0) | (number_length - 1));
    put_u16(out, initial->version >> 16);
    put_u16(out, initial->version & 0xffff);
    put_vector(out, 1, destination, strlen(destination));
    put_vector(out, 1, source, strlen(source));
    put_u8(out, 0); /* no token */
    put_varint(out, number_length + frames->length + padding + QUIC_TAG);
    number_at = out->length;
    for (unsigned i = number_length; i > 0; i--)
        put_u8(out, (unsigned)(initial->number >> 8 * (i - 1) & 0xff));
    payload_at = out->length;
    put_bytes(out, frames->at, frames->length);
    for (; padding > 0; padding--)
        put_u8(out, 0);

    size_t length = out->length - payload_at;

    memcpy(nonce, key->iv, sizeof(nonce));
    for (unsigned i = 0; i < 8; i++)
        nonce[QUIC_IV - 1 - i] ^= (uint8_t)(initial->number >> 8 * i);
    gcm_aes128_set_key(&gcm, key->key);
    gcm_aes128_set_iv(&gcm, sizeof(nonce), nonce);
    gcm_aes128_update(&gcm, payload_at - start, out->at + start);
    gcm_aes128_encrypt(&gcm, length, out->at + payload_at, out->at + payload_at);
    gcm_aes128_digest(&gcm, QUIC_TAG, out->at + out->length);
    out->length += QUIC_TAG;
    aes128_set_encrypt_key(&aes, key->header);
    aes128_encrypt(&aes, sizeof(mask), mask, out->at + number_at + 4);
    out->at[start] ^= mask[0] & 0x0f;
    for (unsigned i = 0; i < number_length; i++)
        out->at[number_at + i] ^= mask[1 + i];
}
