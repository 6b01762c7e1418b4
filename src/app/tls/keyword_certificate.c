/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Buffer keywords of certificates.
 */
#include "tls_priv.h"

#define SELECT(name)                                                                                                   \
    static int name##_parse(struct rule_parser *parser, struct span value, bool negated)                               \
    {                                                                                                                  \
        (void)value;                                                                                                   \
        (void)negated;                                                                                                 \
        return rule_parser_select_buffer(parser, &keyword_##name);                                                     \
    }

SELECT(tls_cert_subject)
SELECT(tls_cert_issuer)
SELECT(tls_cert_serial)
SELECT(tls_cert_fingerprint)
SELECT(tls_certs)
SELECT(tls_subjectaltname)

const struct keyword keyword_tls_cert_subject = {
    .name = "tls.cert_subject",
    .aliases = { "tls_cert_subject" },
    .help = "subject of the certificate: \"C=US, O=Example, CN=www.example.com\"",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = tls_applications,
    .directions = APP_BOTH,
    .parse = tls_cert_subject_parse,
};

const struct keyword keyword_tls_cert_issuer = {
    .name = "tls.cert_issuer",
    .aliases = { "tls_cert_issuer" },
    .help = "issuer of the certificate",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = tls_applications,
    .directions = APP_BOTH,
    .parse = tls_cert_issuer_parse,
};

const struct keyword keyword_tls_cert_serial = {
    .name = "tls.cert_serial",
    .aliases = { "tls_cert_serial" },
    .help = "serial number of the certificate: \"5C:19:B7:B1\"",
    .manual = "Contents are converted to upper case.",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = tls_applications,
    .directions = APP_BOTH,
    .parse = tls_cert_serial_parse,
    .finish = tls_finish_serial,
};

const struct keyword keyword_tls_cert_fingerprint = {
    .name = "tls.cert_fingerprint",
    .aliases = { "tls_cert_fingerprint" },
    .help = "SHA-1 fingerprint of the certificate: \"4a:a3:66:...\"",
    .manual = "Contents are converted to lower case.",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .applications = tls_applications,
    .directions = APP_BOTH,
    .parse = tls_cert_fingerprint_parse,
    .finish = tls_finish_fingerprint,
};

const struct keyword keyword_tls_certs = {
    .name = "tls.certs",
    .help = "each certificate of the chain, DER-encoded as sent",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE | KEYWORD_MULTI,
    .applications = tls_applications,
    .directions = APP_BOTH,
    .parse = tls_certs_parse,
};

const struct keyword keyword_tls_subjectaltname = {
    .name = "tls.subjectaltname",
    .help = "each subject alternative name of the server's certificate",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE | KEYWORD_MULTI,
    .applications = tls_applications,
    .directions = APP_TO_CLIENT,
    .parse = tls_subjectaltname_parse,
};
