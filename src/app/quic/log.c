/* SPDX-License-Identifier: GPL-2.0-or-later */
/* EVE object "quic". */
#include <stdio.h>

#include "quic_priv.h"

enum { VERSION_2 = 0x6b3343cf };
enum { EXTENSIONS_LOGGED_MAX = 256, VALUES_LOGGED_MAX = 64, EXTENSION_SERVER_NAME = 0, EXTENSION_ALPN = 16 };

/* Names of extensions (IANA, TLS ExtensionType Values). */
static const char *const extension_names[] = {
    [0] = "server_name",
    [1] = "max_fragment_length",
    [2] = "client_certificate_url",
    [3] = "trusted_ca_keys",
    [4] = "truncated_hmac",
    [5] = "status_request",
    [6] = "user_mapping",
    [7] = "client_authz",
    [8] = "server_authz",
    [9] = "cert_type",
    [10] = "supported_groups",
    [11] = "ec_point_formats",
    [12] = "srp",
    [13] = "signature_algorithms",
    [14] = "use_srtp",
    [15] = "heartbeat",
    [16] = "alpn",
    [17] = "status_request_v2",
    [18] = "signed_certificate_timestamp",
    [19] = "client_certificate_type",
    [20] = "server_certificate_type",
    [21] = "padding",
    [22] = "encrypt_then_mac",
    [23] = "extended_master_secret",
    [24] = "token_binding",
    [25] = "cached_info",
    [26] = "tls_lts",
    [27] = "compress_certificate",
    [28] = "record_size_limit",
    [29] = "pwd_protect",
    [30] = "pwd_clear",
    [31] = "password_salt",
    [32] = "ticket_pinning",
    [33] = "tls_cert_with_extern_psk",
    [34] = "delegated_credential",
    [35] = "session_ticket",
    [41] = "pre_shared_key",
    [42] = "early_data",
    [43] = "supported_versions",
    [44] = "cookie",
    [45] = "psk_key_exchange_modes",
    [47] = "certificate_authorities",
    [48] = "oid_filters",
    [49] = "post_handshake_auth",
    [50] = "signature_algorithms_cert",
    [51] = "key_share",
    [52] = "transparency_info",
    [53] = "connection_id_deprecated",
    [54] = "connection_id",
    [55] = "external_id_hash",
    [56] = "external_session_id",
    [57] = "quic_transport_parameters",
    [58] = "ticket_request",
    [59] = "dnssec_chain",
};

static const char *extension_name(uint16_t type)
{
    if (type == 13172)
        return "next_protocol_negotiation";
    if (type == 65281)
        return "renegotiation_info";
    return type < sizeof(extension_names) / sizeof(extension_names[0]) ? extension_names[type] : NULL;
}

/* Opens the list of values before its first one. */
static void log_value(struct fields *out, bool *is_open, struct cursor value)
{
    if (!*is_open)
        fields_array_open(out, "values");
    *is_open = true;
    fields_bytes(out, NULL, value.at, cursor_remaining(&value));
}

/* Logs the names in the extensions server_name and alpn. */
static void log_values(struct fields *out, const struct tls_side *side, uint16_t type)
{
    struct cursor name;
    bool is_open = false;

    for (unsigned i = 0; type == EXTENSION_SERVER_NAME && i < VALUES_LOGGED_MAX; i++)
        if (tls_server_name_at(&side->hello, i, &name))
            log_value(out, &is_open, name);
        else
            break;
    for (unsigned i = 0; type == EXTENSION_ALPN && i < VALUES_LOGGED_MAX && tls_alpn_at(side, i, &name); i++)
        log_value(out, &is_open, name);
    if (is_open)
        fields_array_close(out);
}

static void log_extensions(struct fields *out, const struct tls_side *side)
{
    struct cursor list = tls_piece_cursor(&side->hello.body, side->hello.extensions);
    uint16_t type, length;
    unsigned count = 0;

    while (count < EXTENSIONS_LOGGED_MAX && cursor_be16(&list, &type) && cursor_be16(&list, &length) &&
           cursor_skip(&list, length)) {
        if (count++ == 0)
            fields_array_open(out, "extensions");
        fields_object_open(out, NULL);
        fields_string(out, "name", extension_name(type));
        fields_uint(out, "type", type);
        log_values(out, side, type);
        fields_object_close(out);
    }
    if (count > 0)
        fields_array_close(out);
}

bool quic_logs_from_server(const struct app_tx *tx, const void *settings)
{
    (void)settings;
    return tx->directions == APP_TO_CLIENT;
}

void quic_log(const struct app_tx *base, const void *settings, struct fields *out)
{
    const struct quic_tx *tx = (const struct quic_tx *)base;
    const struct tls_fingerprints *fingerprints = tls_ja3(&tx->tls, (enum flow_direction)tx->side);
    struct cursor value;
    char version[12];

    (void)settings;
    if (quic_google_version(tx->version))
        snprintf(version, sizeof(version), "%.4s", (const char *)tx->version_bytes);
    else if (tx->version == VERSION_2)
        snprintf(version, sizeof(version), "v2");
    else
        snprintf(version, sizeof(version), "%x", (unsigned)tx->version);
    fields_string(out, "version", version);
    if (quic_server_name_at(tx, 0, &value))
        fields_bytes(out, "sni", value.at, cursor_remaining(&value));
    if (quic_user_agent(tx, &value))
        fields_bytes(out, "ua", value.at, cursor_remaining(&value));
    if (tx->cyu.bytes) {
        fields_array_open(out, "cyu");
        fields_object_open(out, NULL);
        fields_bytes(out, "hash", tx->cyu_hash, sizeof(tx->cyu_hash));
        fields_bytes(out, "string", tx->cyu.bytes, tx->cyu.length);
        fields_object_close(out);
        fields_array_close(out);
    }
    if (fingerprints) {
        fields_object_open(out, tx->side == FLOW_TO_SERVER ? "ja3" : "ja3s");
        fields_bytes(out, "hash", fingerprints->ja3_hash, sizeof(fingerprints->ja3_hash));
        fields_bytes(out, "string", fingerprints->ja3.bytes, fingerprints->ja3.length);
        fields_object_close(out);
    }
    fingerprints = tls_ja4(&tx->tls);
    if (fingerprints)
        fields_bytes(out, "ja4", fingerprints->ja4, sizeof(fingerprints->ja4));
    log_extensions(out, &tx->tls.side[tx->side]);
}
