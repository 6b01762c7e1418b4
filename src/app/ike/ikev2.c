/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Payloads of IKE version 2: SA payloads, which are checked for weak algorithms, and notifications. Parsing ends at an
 * encrypted payload. */
#include "ike_priv.h"

enum {
    PAYLOAD_SA = 33,
    PAYLOAD_NOTIFY = 41,
    PAYLOAD_ENCRYPTED = 46,
    PAYLOAD_FRAGMENT = 53,
    PROTOCOL_AH = 2,
    NOTIFY_STATUS = 16384, /* types below this value are errors */
    MORE_PROPOSALS = 2,    /* first byte of a substructure that is not the last one */
    MORE_TRANSFORMS = 3,
};

/* Transforms of a proposal. */
struct proposal {
    bool has_dh, has_auth, has_aead;
    struct ike_choice choice[IKE2_TRANSFORMS]; /* the last transform of each type */
};

/* Whether the encryption algorithm is AES-CCM, AES-GCM, Camellia-CCM or ChaCha20-Poly1305, which need no separate
 * integrity algorithm. */
static bool is_aead(uint16_t id)
{
    return (id >= 14 && id <= 16) || (id >= 18 && id <= 20) || (id >= 25 && id <= 28);
}

/* Sets events for weak algorithms and the members has_... of the proposal. The numbers of algorithms are those of
 * IANA, "IKEv2 Parameters"; names.c lists them. */
static void check_transform(struct ike_parse *parse, struct proposal *proposal, uint8_t type, uint16_t id)
{
    switch (type) {
    case IKE2_ENC:
        if ((id >= 1 && id <= 9) || id == 11) /* DES, 3DES, RC5, IDEA, CAST, Blowfish, 3IDEA, NULL */
            ike_set_event(parse, IKE_WEAK_CRYPTO_ENC);
        proposal->has_aead |= is_aead(id);
        break;
    case IKE2_PRF:
        if (id <= 2) /* none, HMAC-MD5, HMAC-SHA1 */
            ike_set_event(parse, id == 0 ? IKE_INVALID_PROPOSAL : IKE_WEAK_CRYPTO_PRF);
        break;
    case IKE2_AUTH:
        if (id >= 1 && id <= 7) /* based on MD5, SHA-1, DES or AES-XCBC */
            ike_set_event(parse, IKE_WEAK_CRYPTO_AUTH);
        proposal->has_auth |= id != 0;
        break;
    case IKE2_DH:
        if (id == 0)
            ike_set_event(parse, IKE_INVALID_PROPOSAL);
        else if (id == 1 || id == 2 || id == 5 || id == 22) /* MODP groups of at most 1536 bits */
            ike_set_event(parse, IKE_WEAK_CRYPTO_DH);
        proposal->has_dh = true;
        break;
    case IKE2_ESN:
        break;
    default:
        ike_set_event(parse, IKE_UNKNOWN_PROPOSAL);
        return;
    }
    proposal->choice[type] = (struct ike_choice){ .is_set = true, .id = id };
}

/* Parses the common start of the proposal and transform substructures (RFC 7296 §3.3). *more: first byte of the
 * substructure; *body: its content after the common start. Returns false if it is truncated. */
static bool read_structure(struct cursor *cur, uint8_t *more, struct cursor *body)
{
    uint8_t reserved;
    uint16_t length;

    if (!cursor_u8(cur, more) || !cursor_u8(cur, &reserved) || !cursor_be16(cur, &length) || length < 4)
        return false;
    const uint8_t *bytes = cursor_read(cur, length - 4u);

    if (bytes)
        *body = cursor_of(bytes, length - 4u);
    return bytes != NULL;
}

static bool read_transforms(struct ike_parse *parse, struct cursor *cur, struct proposal *proposal)
{
    uint8_t more = MORE_TRANSFORMS, type, reserved;
    struct cursor body;
    uint16_t id;

    while (cursor_remaining(cur) && more) {
        if (!read_structure(cur, &more, &body) || !cursor_u8(&body, &type) || !cursor_u8(&body, &reserved) ||
            !cursor_be16(&body, &id))
            return false;
        check_transform(parse, proposal, type, id);
    }
    return true;
}

static bool read_proposal(struct ike_parse *parse, struct cursor body)
{
    const uint8_t *head = cursor_read(&body, 4); /* number, protocol, SPI length, number of transforms */
    struct proposal proposal = { 0 };

    if (!head || !cursor_skip(&body, head[2]) || !read_transforms(parse, &body, &proposal))
        return false;
    if (!proposal.has_dh)
        ike_set_event(parse, IKE_WEAK_CRYPTO_NODH);
    if (head[1] == PROTOCOL_AH)
        ike_set_event(parse, IKE_NO_ENCRYPTION);
    if (!proposal.has_auth && !proposal.has_aead)
        ike_set_event(parse, IKE_WEAK_CRYPTO_NOAUTH);
    for (unsigned type = 0; parse->direction == FLOW_TO_CLIENT && type < IKE2_TRANSFORMS; type++)
        if (proposal.choice[type].is_set)
            parse->state->choice[type] = proposal.choice[type];
    return true;
}

static bool read_sa(struct ike_parse *parse, struct cursor cur)
{
    struct cursor body;
    uint8_t more = MORE_PROPOSALS;

    while (cursor_remaining(&cur) && more)
        if (!read_structure(&cur, &more, &body) || !read_proposal(parse, body))
            return false;
    return true;
}

static bool read_notify(struct ike_parse *parse, struct cursor body)
{
    struct ike_tx *tx = parse->tx;
    uint16_t type;

    if (!cursor_skip(&body, 2) || !cursor_be16(&body, &type))
        return false;
    if (type < NOTIFY_STATUS)
        tx->errors++;
    if (tx->notifies < IKE_NOTIFIES_MAX)
        tx->notify[tx->notifies++] = type;
    return true;
}

static bool read_payload(struct ike_parse *parse, const struct ike_payload *payload)
{
    struct ike_tx *tx = parse->tx;

    if (tx->payloads < IKE_PAYLOADS_MAX)
        tx->payload[tx->payloads++] = payload->type;
    if (payload->type == PAYLOAD_SA)
        return read_sa(parse, payload->body);
    if (payload->type == PAYLOAD_NOTIFY)
        return read_notify(parse, payload->body);
    tx->encrypted |= payload->type == PAYLOAD_ENCRYPTED || payload->type == PAYLOAD_FRAGMENT;
    return true;
}

void ike_read_v2(struct ike_parse *parse, struct cursor cur, uint8_t first)
{
    struct ike_tx *tx = parse->tx;
    uint8_t type = first;
    struct ike_payload payload;
    bool ok = true;

    while (ok && type != 0 && !tx->encrypted && cursor_remaining(&cur))
        ok = ike_payload_read(&cur, &type, &payload) && read_payload(parse, &payload);
    if (!ok || (type != 0 && !tx->encrypted))
        ike_set_event(parse, IKE_MALFORMED_DATA);
    else if (cursor_remaining(&cur))
        ike_set_event(parse, IKE_PAYLOAD_EXTRA_DATA);
    for (unsigned i = 0; parse->direction == FLOW_TO_CLIENT && i < IKE2_TRANSFORMS; i++)
        tx->choice[i] = parse->state->choice[i];
}
