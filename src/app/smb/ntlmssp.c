/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Security blobs of session setup. An NTLMSSP message ([MS-NLMP]) is found by its signature, whatever precedes it.
 * Without one, the blob is parsed as SPNEGO (RFC 4178) with a Kerberos ticket (RFC 4120), for the realm and the service
 * names of the ticket.
 */
#include <string.h>

#include "sluice/der.h"
#include "smb_priv.h"

static const uint8_t signature[8] = { 'N', 'T', 'L', 'M', 'S', 'S', 'P', 0 };

enum { NTLMSSP_HEADER = 12, AUTHENTICATE = 3, FIELDS = 6, FLAGS_AT = 60, VERSION_AT = 64, VERSION = 8 };
enum { HAS_VERSION = 0x02000000 };

static const uint8_t *find_signature(const uint8_t *blob, size_t length)
{
    for (size_t at = 0; at + sizeof(signature) <= length; at++) {
        const uint8_t *first = memchr(blob + at, signature[0], length - sizeof(signature) + 1 - at);

        if (!first)
            return NULL;
        if (memcmp(first, signature, sizeof(signature)) == 0)
            return first;
        at = (size_t)(first - blob);
    }
    return NULL;
}

struct field {
    uint32_t at, length;
};

/* Parses the descriptors of the six variable-length fields of the message. The offset of an empty field is ignored; it
 * may be the end of the message ([MS-NLMP] 2.2.1.3). */
static bool read_field_descriptors(const uint8_t *record, size_t length, struct field fields[FIELDS])
{
    for (unsigned i = 0; i < FIELDS; i++) {
        const uint8_t *field = record + NTLMSSP_HEADER + 8 * i;

        fields[i].length = load_le16(field);
        fields[i].at = load_le32(field + 4);
        if (fields[i].length == 0 && fields[i].at > length)
            fields[i].at = (uint32_t)length;
        if (fields[i].length >= length || (fields[i].length > 0 && fields[i].at >= length))
            return false;
    }
    for (unsigned i = 2; i < 5; i++)
        if (fields[i].length > 0 && (fields[i].at < NTLMSSP_HEADER || fields[i].at + fields[i].length > length))
            return false;
    return true;
}

static void read_authenticate(struct smb_parser *parser, struct smb_tx *tx, const uint8_t *record, size_t length)
{
    struct field fields[FIELDS];
    const struct field *domain = &fields[2], *user = &fields[3], *host = &fields[4];

    if (length < VERSION_AT || !read_field_descriptors(record, length, fields))
        return;
    tx->setup.has_version = load_le32(record + FLAGS_AT) & HAS_VERSION;
    if (tx->setup.has_version && length < VERSION_AT + VERSION)
        return;
    if (tx->setup.has_version)
        memcpy(tx->setup.version, record + VERSION_AT, VERSION);
    tx->setup.has_ntlmssp = true;
    smb_store_text(parser, &tx->text[SMB_TEXT_DOMAIN], record + domain->at, domain->length);
    smb_store_text(parser, &tx->text[SMB_TEXT_USER], record + user->at, user->length);
    smb_store_text(parser, &tx->text[SMB_TEXT_HOST], record + host->at, host->length);
    tx->setup.has_warning = user->at < domain->at + domain->length || host->at < user->at + user->length;
    if (tx->setup.has_warning)
        smb_tx_set_event(parser, tx, SMB_UNUSUAL_NTLMSSP_ORDER);
}

/* --- Kerberos ---------------------------------------------------------------------------------------- */

enum { STEPS_MAX = 64, TICKET = DER_APPLICATION_CONSTRUCTED | 1, AP_REQUEST = DER_APPLICATION_CONSTRUCTED | 14 };

/* Finds the next element with this tag at or after cur, advances cur past it, and sets *out to its content. `out` may
 * be `cur`. */
static bool next_element(struct cursor *cur, uint8_t expected_tag, struct cursor *out)
{
    for (unsigned steps = 0; steps < STEPS_MAX; steps++) {
        struct der_header header;

        if (der_read_header(cur, DER_ONE_OCTET_TAG, &header) != DER_OK)
            return false;
        const uint8_t *bytes = cursor_read(cur, (size_t)header.length);

        if (!bytes)
            return false;
        if (header.identifier == expected_tag) {
            *out = cursor_of(bytes, (size_t)header.length);
            return true;
        }
    }
    return false;
}

/* Moves cur into nested elements: the first one with each of the tags, from the outermost to the innermost. Returns
 * false, and leaves cur unchanged, if there is no such element. */
static bool descend(struct cursor *cur, const uint8_t *tags, unsigned count)
{
    struct cursor inner = *cur;

    for (unsigned i = 0; i < count; i++)
        if (!next_element(&inner, tags[i], &inner))
            return false;
    *cur = inner;
    return true;
}

static void read_ticket(struct smb_parser *parser, struct smb_tx *tx, struct cursor ticket)
{
    static const uint8_t realm_tags[] = { DER_CONTEXT_CONSTRUCTED | 1, DER_GENERAL_STRING };
    static const uint8_t names_tags[] = { DER_CONTEXT_CONSTRUCTED | 2, DER_SEQUENCE, DER_CONTEXT_CONSTRUCTED | 1,
                                          DER_SEQUENCE };
    struct cursor realm = ticket, names = ticket, name;

    if (!descend(&realm, realm_tags, sizeof(realm_tags)) || !descend(&names, names_tags, sizeof(names_tags)))
        return;
    smb_store_bytes(parser, &tx->text[SMB_TEXT_REALM], realm.at, cursor_remaining(&realm));
    for (unsigned i = 0; i < STEPS_MAX && next_element(&names, DER_GENERAL_STRING, &name); i++) {
        smb_store_bytes(parser, &tx->text[SMB_TEXT_SERVICE_NAMES], name.at, cursor_remaining(&name));
        smb_store_bytes(parser, &tx->text[SMB_TEXT_SERVICE_NAMES], (const uint8_t *)"", 1);
    }
}

static void read_kerberos(struct smb_parser *parser, struct smb_tx *tx, const uint8_t *blob, size_t length)
{
    static const uint8_t token_tags[] = {
        DER_APPLICATION_CONSTRUCTED, DER_CONTEXT_CONSTRUCTED, DER_SEQUENCE,
        DER_CONTEXT_CONSTRUCTED | 2, DER_OCTET_STRING,        DER_APPLICATION_CONSTRUCTED
    };
    static const uint8_t ticket_tags[] = { AP_REQUEST, DER_SEQUENCE, DER_CONTEXT_CONSTRUCTED | 3, TICKET,
                                           DER_SEQUENCE };
    struct cursor cur = cursor_of(blob, length), oid;

    /* The wrapper contains the OID of the mechanism, then a token with an OID and a two-byte token id. */
    if (!descend(&cur, token_tags, sizeof(token_tags)) || !next_element(&cur, DER_OID, &oid) || !cursor_skip(&cur, 2))
        return;
    if (descend(&cur, ticket_tags, sizeof(ticket_tags)))
        read_ticket(parser, tx, cur);
}

void smb_read_security_blob(struct smb_parser *parser, struct smb_tx *tx, const uint8_t *blob, size_t length)
{
    const uint8_t *record = find_signature(blob, length);
    size_t left = record ? length - (size_t)(record - blob) : 0;

    if (!record)
        read_kerberos(parser, tx, blob, length);
    else if (left >= NTLMSSP_HEADER && load_le32(record + 8) == AUTHENTICATE)
        read_authenticate(parser, tx, record, left);
}
