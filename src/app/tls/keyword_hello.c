/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Buffer keywords of the hellos: server name, ALPN, random, fingerprints.
 */
#include "tls_priv.h"

enum { TO_SERVER = APP_TO_SERVER, TO_CLIENT = APP_TO_CLIENT, BOTH = APP_BOTH };

#define SELECT(name)                                                                                                   \
    static int name##_parse(struct rule_parser *parser, struct span value, bool negated)                               \
    {                                                                                                                  \
        (void)value;                                                                                                   \
        (void)negated;                                                                                                 \
        return rule_parser_select_buffer(parser, &keyword_##name);                                                     \
    }

SELECT(tls_sni)
SELECT(tls_alpn)
SELECT(tls_random)
SELECT(tls_random_time)
SELECT(tls_random_bytes)
SELECT(ja3_hash)
SELECT(ja3_string)
SELECT(ja3s_hash)
SELECT(ja3s_string)
SELECT(ja4_hash)

const struct keyword keyword_tls_sni = {
    .name = "tls.sni",
    .aliases = { "tls_sni" },
    .help = "server name indication (SNI) of the ClientHello",
    .manual = "A ClientHello may have several names; each is inspected separately.",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE | KEYWORD_MULTI,
    .applications = tls_applications,
    .directions = TO_SERVER,
    .parse = tls_sni_parse,
};

const struct keyword keyword_tls_alpn = {
    .name = "tls.alpn",
    .help = "each protocol name of the ALPN extension: those offered by the client, the one selected by the server",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE | KEYWORD_MULTI,
    .applications = tls_applications,
    .directions = BOTH,
    .parse = tls_alpn_parse,
};

const struct keyword keyword_tls_random = {
    .name = "tls.random",
    .help = "the 32 random bytes of the hello message",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = tls_applications,
    .directions = BOTH,
    .parse = tls_random_parse,
};

const struct keyword keyword_tls_random_time = {
    .name = "tls.random_time",
    .help = "the first 4 random bytes, a timestamp in old TLS versions",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = tls_applications,
    .directions = BOTH,
    .parse = tls_random_time_parse,
};

const struct keyword keyword_tls_random_bytes = {
    .name = "tls.random_bytes",
    .help = "the last 28 random bytes",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = tls_applications,
    .directions = BOTH,
    .parse = tls_random_bytes_parse,
};

const struct keyword keyword_ja3_hash = {
    .name = "ja3.hash",
    .aliases = { "ja3_hash" },
    .help = "JA3 hash of the client: MD5 as 32 hexadecimal digits",
    .manual = "Contents are converted to lower case.",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = tls_applications,
    .directions = TO_SERVER,
    .parse = ja3_hash_parse,
    .finish = tls_finish_ja3,
};

const struct keyword keyword_ja3_string = {
    .name = "ja3.string",
    .aliases = { "ja3_string" },
    .help = "JA3 string of the client, before hashing: \"771,4865-4866,0-23,29-23,0\"",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = tls_applications,
    .directions = TO_SERVER,
    .parse = ja3_string_parse,
};

const struct keyword keyword_ja3s_hash = {
    .name = "ja3s.hash",
    .help = "JA3S hash of the server: MD5 as 32 hexadecimal digits",
    .manual = "Contents are converted to lower case.",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = tls_applications,
    .directions = TO_CLIENT,
    .parse = ja3s_hash_parse,
    .finish = tls_finish_ja3,
};

const struct keyword keyword_ja3s_string = {
    .name = "ja3s.string",
    .help = "JA3S string of the server, before hashing: \"771,49200,65281-11\"",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = tls_applications,
    .directions = TO_CLIENT,
    .parse = ja3s_string_parse,
};

const struct keyword keyword_ja4_hash = {
    .name = "ja4.hash",
    .help = "JA4 fingerprint of the client: \"t13d1516h2_8daaf6152771_02713d6af862\"",
    .manual = "Contents are converted to lower case.",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = tls_applications,
    .directions = TO_SERVER,
    .parse = ja4_hash_parse,
    .finish = tls_finish_ja4,
};
