/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ClientHello and ServerHello (RFC 5246 §7.4.1, RFC 8446 §4.1). The first one of each side is stored with the offsets
 * of its parts. A second ClientHello that differs in parts visible to rules starts another transaction (handshake.c).
 *
 * A truncated hello is parsed as far as possible and sets an event, because rules may target hellos that servers
 * reject. Parsing continues after an extension with invalid content: servers differ in the extensions that they read
 * and in the errors that they tolerate.
 */
#include <errno.h>
#include <string.h>

#include "tls_priv.h"

enum extension_type {
    EXTENSION_SERVER_NAME = 0,
    EXTENSION_GROUPS = 10,
    EXTENSION_POINT_FORMATS = 11,
    EXTENSION_SIGNATURE_ALGORITHMS = 13,
    EXTENSION_ALPN = 16,
    EXTENSION_SESSION_TICKET = 35,
    EXTENSION_EARLY_DATA = 42,
    EXTENSION_SUPPORTED_VERSIONS = 43,
};
enum { SERVER_NAME_MAX = 255 };

/* --- Versions ------------------------------------------------------------------------------------- */

bool tls_version_is_draft(uint16_t version)
{
    unsigned minor = version & 0xff;

    switch (version >> 8) {
    case 0x7f:
        return version == TLS_13_EARLY_DRAFT || (minor >= 16 && minor <= 28);
    case 0xfb:
        return (minor >= 20 && minor <= 23) || minor == 26;
    default:
        return false;
    }
}

bool tls_version_is_known(uint16_t version)
{
    return (version >= TLS_SSL3 && version <= TLS_13) || tls_version_is_draft(version);
}

/* --- Extensions ----------------------------------------------------------------------------------- */

struct hello_parser {
    const struct tls_parser *parser;
    const uint8_t *start; /* start of the message body */
    struct tls_hello *hello;
    bool too_many; /* the hello has more than TLS_SERVER_NAMES_MAX server names or TLS_ALPN_MAX protocol names */
};

static struct tls_piece piece_of(const struct hello_parser *hp, const struct cursor *bytes)
{
    return (struct tls_piece){ (uint32_t)(bytes->at - hp->start), (uint32_t)cursor_remaining(bytes) };
}

static bool report_invalid_length(const struct hello_parser *hp)
{
    tls_event(hp->parser, TLS_HANDSHAKE_INVALID_LENGTH);
    return false;
}

/* Consume a vector with an 8-bit or 16-bit length and set *out to its content. Return false if the vector is
 * truncated. */
static bool read_vector8(struct cursor *cur, struct cursor *out)
{
    uint8_t length;
    struct cursor at = *cur;

    if (!cursor_u8(&at, &length))
        return false;
    const uint8_t *bytes = cursor_read(&at, length);

    if (!bytes)
        return false;
    *out = cursor_of(bytes, length);
    *cur = at;
    return true;
}

static bool read_vector16(struct cursor *cur, struct cursor *out)
{
    uint16_t length;
    struct cursor at = *cur;

    if (!cursor_be16(&at, &length))
        return false;
    const uint8_t *bytes = cursor_read(&at, length);

    if (!bytes)
        return false;
    *out = cursor_of(bytes, length);
    *cur = at;
    return true;
}

/* Reads the next entry of the server name list. Returns false at the end of the list, or if the entry is truncated. */
static bool next_server_name(struct cursor *list, uint8_t *type, struct cursor *name)
{
    return cursor_u8(list, type) && read_vector16(list, name);
}

/* Parses all entries and ignores the length of the list: it should contain one entry (RFC 6066 §3). If it contains
 * several, servers differ in which entry they use. */
static bool parse_server_names(struct hello_parser *hp, struct cursor body)
{
    struct cursor name;
    uint16_t list_length;
    uint8_t type;

    if (!cursor_be16(&body, &list_length) || cursor_remaining(&body) < 3)
        return report_invalid_length(hp);
    if (hp->hello->name_count > 0)
        tls_event(hp->parser, TLS_MULTIPLE_SNI_EXTENSIONS);
    while (cursor_remaining(&body) > 0) {
        if (!next_server_name(&body, &type, &name)) {
            tls_event(hp->parser, TLS_INVALID_SNI_LENGTH);
            return false;
        }
        if (type != 0) {
            tls_event(hp->parser, TLS_INVALID_SNI_TYPE);
            continue;
        }
        const size_t length = cursor_remaining(&name);

        if (length == 0 || length > SERVER_NAME_MAX)
            tls_event(hp->parser, TLS_INVALID_SNI_LENGTH);
        if (length == 0)
            continue;
        if (hp->hello->name_count++ == 0)
            hp->hello->sni = piece_of(hp, &name);
        hp->too_many |= hp->hello->name_count > TLS_SERVER_NAMES_MAX;
    }
    return true;
}

/* The client sends a list, the server the selected version. As in Suricata, the first known version of the list is
 * used; GREASE may precede it. */
static bool parse_supported_versions(struct hello_parser *hp, struct cursor body)
{
    struct cursor versions;
    uint16_t version;

    if (hp->parser->direction == FLOW_TO_SERVER) {
        if (!read_vector8(&body, &versions) || cursor_remaining(&versions) < 2)
            return report_invalid_length(hp);
        hp->parser->tx->flags |= TLS_HAS_SUPPORTED_VERSIONS;
        while (cursor_be16(&versions, &version)) {
            if (tls_version_is_known(version)) {
                tls_side_of(hp->parser)->version = version;
                hp->hello->offered = version;
                break;
            }
        }
        return true;
    }
    if (!cursor_be16(&body, &version))
        return report_invalid_length(hp);
    if ((hp->parser->tx->flags & TLS_HAS_SUPPORTED_VERSIONS) && version > TLS_12)
        hp->parser->tx->flags |= TLS_NO_CERTIFICATE;
    tls_side_of(hp->parser)->version = version;
    return true;
}

/* Sets *out to the location of a list of two-byte numbers. Returns false if the list is malformed. */
static bool parse_number_list(struct hello_parser *hp, struct cursor body, struct tls_piece *out)
{
    struct cursor list;

    if (!read_vector16(&body, &list) || cursor_remaining(&list) % 2 != 0)
        return report_invalid_length(hp);
    *out = piece_of(hp, &list);
    return true;
}

/* Parses all entries; a wrong list length only sets an event, because GnuTLS ignores it. */
static bool parse_alpn(struct hello_parser *hp, struct cursor body)
{
    struct cursor name;
    uint16_t list_length;

    if (!cursor_be16(&body, &list_length))
        return report_invalid_length(hp);
    if (list_length != cursor_remaining(&body))
        tls_event(hp->parser, TLS_HANDSHAKE_INVALID_LENGTH);
    if (hp->hello->alpn.length == 0)
        hp->hello->alpn = piece_of(hp, &body);
    for (unsigned i = 0; cursor_remaining(&body) > 0; i++) {
        hp->too_many |= i >= TLS_ALPN_MAX;
        if (!read_vector8(&body, &name))
            return report_invalid_length(hp);
    }
    return true;
}

static void parse_extension(struct hello_parser *hp, uint16_t type, struct cursor body)
{
    bool from_client = hp->parser->direction == FLOW_TO_SERVER;
    struct cursor list;

    if (type == EXTENSION_SESSION_TICKET && from_client)
        hp->parser->tx->flags |= TLS_RESUMES;
    if (type == EXTENSION_EARLY_DATA && from_client)
        hp->parser->tx->flags |= TLS_EARLY_DATA;
    if (cursor_remaining(&body) == 0)
        return;
    switch (type) {
    case EXTENSION_SERVER_NAME:
        parse_server_names(hp, body);
        break;
    case EXTENSION_GROUPS:
        parse_number_list(hp, body, &hp->hello->curves);
        break;
    case EXTENSION_POINT_FORMATS:
        if (read_vector8(&body, &list))
            hp->hello->formats = piece_of(hp, &list);
        else
            report_invalid_length(hp);
        break;
    case EXTENSION_SIGNATURE_ALGORITHMS:
        parse_number_list(hp, body, &hp->hello->algorithms);
        break;
    case EXTENSION_ALPN:
        parse_alpn(hp, body);
        break;
    case EXTENSION_SUPPORTED_VERSIONS:
        parse_supported_versions(hp, body);
        break;
    default:
        break;
    }
}

/* Parses the extensions; hello->extensions covers the complete extensions. */
static void parse_extensions(struct hello_parser *hp, struct cursor *cur)
{
    struct cursor list, body;
    uint16_t type;

    if (cursor_remaining(cur) < 2)
        return; /* extensions are optional */
    if (!read_vector16(cur, &list)) {
        tls_event(hp->parser, TLS_HANDSHAKE_INVALID_LENGTH);
        cursor_skip(cur, 2);
        list = *cur;
    }
    hp->hello->extensions = piece_of(hp, &list);

    const uint8_t *start = list.at;

    while (cursor_remaining(&list) > 0) {
        const uint8_t *before = list.at;

        if (!cursor_be16(&list, &type) || !read_vector16(&list, &body)) {
            tls_event(hp->parser, TLS_HANDSHAKE_INVALID_LENGTH);
            hp->hello->extensions.length = (uint32_t)(before - start);
            return;
        }
        parse_extension(hp, type, body);
    }
}

/* --- Hello message -------------------------------------------------------------------------------- */

/* Whether the hello has a session ID and compression methods. A ServerHello of TLS 1.3 drafts before 22 has neither. */
static bool has_session(const struct hello_parser *hp)
{
    return hp->parser->direction == FLOW_TO_SERVER || !(hp->parser->tx->flags & TLS_NO_CERTIFICATE);
}

static bool parse_fixed_part(struct hello_parser *hp, struct cursor *cur)
{
    struct tls_tx *tx = hp->parser->tx;
    const bool from_client = hp->parser->direction == FLOW_TO_SERVER;
    const struct tls_hello *client = &tx->side[FLOW_TO_SERVER].hello;
    struct tls_hello *hello = hp->hello;
    const uint8_t *random;
    struct cursor session;
    uint32_t length;

    if (!cursor_be16(cur, &hello->version))
        return report_invalid_length(hp);
    hello->offered = hello->version;
    /* TLS 1.3 drafts before 22 have the number of the draft, or the version of TLS 1.3, in the version field of the
     * ServerHello. */
    tls_side_of(hp->parser)->version = hello->version;
    if (!from_client && (hello->version == TLS_13 || hello->version >> 8 == 0x7f))
        tx->flags |= TLS_NO_CERTIFICATE;
    if (hello->version == TLS_13 || (hello->version >= 0x7f01 && hello->version < 0x7f10))
        tls_side_of(hp->parser)->version = TLS_13_EARLY_DRAFT;
    random = cursor_read(cur, TLS_RANDOM_LENGTH);
    if (!random)
        return report_invalid_length(hp);
    hello->random = (struct tls_piece){ (uint32_t)(random - hp->start), TLS_RANDOM_LENGTH };
    if (!has_session(hp))
        return true;
    if (!read_vector8(cur, &session))
        return report_invalid_length(hp);
    hello->session = piece_of(hp, &session);
    length = hello->session.length;
    if (!from_client && length > 0 && client->session.length == length &&
        memcmp(client->body.bytes + client->session.at, hp->start + hello->session.at, length) == 0)
        tx->flags |= TLS_RESUMES;
    return true;
}

static bool parse_cipher_suites(struct hello_parser *hp, struct cursor *cur)
{
    bool from_client = hp->parser->direction == FLOW_TO_SERVER;
    bool has_compression = has_session(hp);
    struct cursor list, compression;

    if (from_client) {
        if (!read_vector16(cur, &list) || !read_vector8(cur, &compression))
            return report_invalid_length(hp);
        if (cursor_remaining(&list) % 2 != 0) { /* tolerated by NSS */
            tls_event(hp->parser, TLS_HANDSHAKE_INVALID_LENGTH);
            list.end--;
        }
    } else {
        const uint8_t *suite = cursor_read(cur, 2);

        if (!suite || (has_compression && !cursor_skip(cur, 1)))
            return report_invalid_length(hp);
        list = cursor_of(suite, 2);
    }
    hp->hello->ciphers = piece_of(hp, &list);
    return true;
}

static bool extensions_are_equal(struct cursor before, struct cursor after)
{
    enum { PADDING = 21, PRE_SHARED_KEY = 41, KEY_SHARE = 51 };

    while (cursor_remaining(&before) > 0 && cursor_remaining(&after) > 0) {
        struct cursor body[2];
        uint16_t type[2];

        if (!cursor_be16(&before, &type[0]) || !cursor_be16(&after, &type[1]) || type[0] != type[1] ||
            !read_vector16(&before, &body[0]) || !read_vector16(&after, &body[1]))
            return false;
        /* These extensions may change after a HelloRetryRequest (RFC 8446 §4.1.2) and are not visible to rules. */
        if (type[0] == PADDING || type[0] == PRE_SHARED_KEY || type[0] == KEY_SHARE)
            continue;
        if ((cursor_remaining(&body[0]) != cursor_remaining(&body[1]) ||
             memcmp(body[0].at, body[1].at, cursor_remaining(&body[0])) != 0))
            return false;
    }
    return cursor_remaining(&before) == cursor_remaining(&after);
}

bool tls_hello_is_equal(const struct tls_hello *before, struct cursor body)
{
    struct cursor ciphers, skipped, list = cursor_of(NULL, 0);
    struct cursor known = tls_piece_cursor(&before->body, before->ciphers);
    const uint8_t *random;
    uint16_t version;

    if (!before->whole || !cursor_be16(&body, &version) || version != before->version)
        return false;
    random = cursor_read(&body, TLS_RANDOM_LENGTH);
    if (!random || memcmp(random, tls_piece_cursor(&before->body, before->random).at, TLS_RANDOM_LENGTH) != 0)
        return false;
    if (!read_vector8(&body, &skipped) || !read_vector16(&body, &ciphers) || !read_vector8(&body, &skipped))
        return false;
    if (cursor_remaining(&ciphers) != cursor_remaining(&known) ||
        memcmp(ciphers.at, known.at, cursor_remaining(&known)) != 0)
        return false;
    if (cursor_remaining(&body) > 0 && !read_vector16(&body, &list))
        return false;
    return extensions_are_equal(tls_piece_cursor(&before->body, before->extensions), list);
}

int tls_parse_hello(const struct tls_parser *parser, struct cursor body)
{
    struct tls_hello *hello = &tls_side_of(parser)->hello;
    uint32_t length = (uint32_t)cursor_remaining(&body);

    if (hello->body.bytes)
        return 0;
    if (length == 0) {
        tls_event(parser, TLS_HANDSHAKE_INVALID_LENGTH);
        return 0;
    }
    if (buffer_append(parser->tx->heap, &hello->body, body.at, length, TLS_MESSAGE_MAX) < length)
        return -ENOMEM;
    tls_side_of(parser)->fingerprints = heap_alloc(parser->tx->heap, sizeof(struct tls_fingerprints));
    if (!tls_side_of(parser)->fingerprints)
        return -ENOMEM;

    struct hello_parser hp = { .parser = parser, .start = hello->body.bytes, .hello = hello };
    struct cursor cur = cursor_of(hello->body.bytes, length);

    hello->whole = parse_fixed_part(&hp, &cur) && parse_cipher_suites(&hp, &cur);
    if (hello->whole)
        parse_extensions(&hp, &cur);
    if (hp.too_many) {
        tls_event(parser, TLS_HANDSHAKE_INVALID_LENGTH);
        return -EMSGSIZE; /* parser error (app-layer.error-policy): rules could not inspect all names */
    }
    return tls_reserve_ja3(parser->tx, parser->direction);
}

void tls_free_hello(struct heap *heap, struct tls_hello *hello)
{
    buffer_clear(heap, &hello->body);
}

bool tls_server_name_at(const struct tls_hello *hello, unsigned index, struct cursor *name)
{
    struct cursor list = tls_piece_cursor(&hello->body, hello->extensions), body;
    uint16_t type, list_length;
    uint8_t kind;
    unsigned found = 0;

    *name = tls_piece_cursor(&hello->body, hello->sni);
    if (index >= hello->name_count || index == 0)
        return index < hello->name_count;
    while (cursor_be16(&list, &type) && read_vector16(&list, &body)) {
        if (type != EXTENSION_SERVER_NAME || !cursor_be16(&body, &list_length))
            continue;
        while (next_server_name(&body, &kind, name))
            if (kind == 0 && cursor_remaining(name) > 0 && found++ == index)
                return true;
    }
    return false;
}

/* Callers get the names in ascending order, so the position of the next name is cached: a long list is traversed once.
 */
bool tls_alpn_at(const struct tls_side *side, unsigned index, struct cursor *name)
{
    struct cursor list = tls_piece_cursor(&side->hello.body, side->hello.alpn);
    struct tls_fingerprints *cache = side->fingerprints;
    const uint8_t *start = list.at;
    unsigned i = 0;

    if (!cache || index >= TLS_ALPN_MAX)
        return false;
    if (cache->alpn_index <= index && cursor_skip(&list, cache->alpn_at))
        i = cache->alpn_index;
    for (; read_vector8(&list, name); i++) {
        if (i == index) {
            cache->alpn_index = index + 1;
            cache->alpn_at = (uint32_t)(list.at - start);
            return true;
        }
    }
    return false;
}
