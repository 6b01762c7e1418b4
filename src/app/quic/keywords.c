/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Buffers of QUIC. The fingerprints of hellos have the keywords of TLS. */
#include "quic_priv.h"

static const char *const applications[] = { "quic", NULL };

static const struct quic_tx *quic_tx_of(const struct app_tx *tx)
{
    return (const struct quic_tx *)tx;
}

bool quic_server_name_at(const struct quic_tx *tx, unsigned index, struct cursor *out)
{
    if (!tx->has_sni)
        return tls_server_name_at(&tx->tls.side[FLOW_TO_SERVER].hello, index, out);
    *out = tls_piece_cursor(&tx->message, tx->sni);
    return index == 0;
}

bool quic_user_agent(const struct quic_tx *tx, struct cursor *out)
{
    *out = tls_piece_cursor(&tx->message, tx->agent);
    return tx->has_agent;
}

static bool set_bytes(struct cursor bytes, struct app_bytes *out)
{
    *out = (struct app_bytes){ .bytes = bytes.at, .length = (uint32_t)cursor_remaining(&bytes) };
    return bytes.at != NULL;
}

static bool get_version(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct quic_tx *quic = quic_tx_of(tx);

    (void)which;
    return set_bytes(cursor_of(quic->version_bytes, sizeof(quic->version_bytes)), out);
}

static bool get_sni(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    struct cursor name;

    return quic_server_name_at(quic_tx_of(tx), which.index, &name) && set_bytes(name, out);
}

static bool get_agent(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    struct cursor agent;

    (void)which;
    return quic_user_agent(quic_tx_of(tx), &agent) && set_bytes(agent, out);
}

static bool get_cyu_string(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct quic_tx *quic = quic_tx_of(tx);

    return which.index == 0 && set_bytes(cursor_of(quic->cyu.bytes, quic->cyu.length), out);
}

static bool get_cyu_hash(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct quic_tx *quic = quic_tx_of(tx);

    return which.index == 0 && quic->cyu.bytes && set_bytes(cursor_of(quic->cyu_hash, sizeof(quic->cyu_hash)), out);
}

const struct keyword keyword_quic_version = {
    .name = "quic.version",
    .help = "version of a QUIC packet with a long header: the four bytes",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_quic_sni = {
    .name = "quic.sni",
    .help = "server name of a QUIC connection: from the ClientHello, or from the CHLO of Google's QUIC",
    .manual = "A ClientHello may have several names; each is inspected separately.",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_TO_SERVER },
};

const struct keyword keyword_quic_ua = {
    .name = "quic.ua",
    .help = "user agent in the CHLO of Google's QUIC",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_SERVER },
};

const struct keyword keyword_quic_cyu_hash = {
    .name = "quic.cyu.hash",
    .help = "CYU fingerprint of the CHLO of Google's QUIC: MD5 as 32 hexadecimal digits",
    .manual = "Contents are converted to lower case.",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_TO_SERVER },
    .finish = tls_finish_ja3,
};

const struct keyword keyword_quic_cyu_string = {
    .name = "quic.cyu.string",
    .help = "CYU string of the CHLO of Google's QUIC, before hashing: \"46,PAD-SNI-VER-CCS-UAID\"",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_TO_SERVER },
};

const struct app_buffer quic_buffers[QUIC_BUFFERS] = {
    { &keyword_quic_version, APP_BOTH, QUIC_VERSION, .get = get_version },
    { &keyword_quic_sni, APP_TO_SERVER, QUIC_HELLO, .get = get_sni },
    { &keyword_quic_ua, APP_TO_SERVER, QUIC_HELLO, .get = get_agent },
    { &keyword_quic_cyu_hash, APP_TO_SERVER, QUIC_HELLO, .get = get_cyu_hash },
    { &keyword_quic_cyu_string, APP_TO_SERVER, QUIC_HELLO, .get = get_cyu_string },
    { &keyword_ja3_hash, APP_TO_SERVER, QUIC_HELLO, .get = tls_get_ja3_hash },
    { &keyword_ja3_string, APP_TO_SERVER, QUIC_HELLO, .get = tls_get_ja3_string },
    { &keyword_ja3s_hash, APP_TO_CLIENT, QUIC_HELLO, .get = tls_get_ja3_hash },
    { &keyword_ja3s_string, APP_TO_CLIENT, QUIC_HELLO, .get = tls_get_ja3_string },
    { &keyword_ja4_hash, APP_TO_SERVER, QUIC_HELLO, .get = tls_get_ja4 },
};
