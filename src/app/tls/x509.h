/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoder for the fields of X.509 certificates (RFC 5280) that rules and events use: subject, issuer, validity, serial
 * number, alternative names. Signatures are not verified.
 *
 * x509_read() locates the fields; the results point into the certificate. x509_name_text() and x509_alternative_text()
 * format names as Suricata does: "C=US, O=Example, CN=www.example.com".
 */
#ifndef APP_TLS_X509_H
#define APP_TLS_X509_H

#include "sluice/der.h"

/* The first invalid field, in the order of parsing. */
enum x509_result {
    X509_OK,
    X509_LENGTH, /* the DER header of Certificate or tbsCertificate is truncated */
    X509_BROKEN, /* Certificate or tbsCertificate is truncated or not a SEQUENCE */
    X509_VERSION,
    X509_SERIAL,
    X509_ALGORITHM,
    X509_ISSUER,
    X509_DATE,
    X509_SUBJECT,
    X509_EXTENSIONS,
    X509_DER,
};

struct x509 {
    struct cursor serial;          /* content of the INTEGER, including a leading zero */
    struct cursor issuer;          /* content of the Name */
    struct cursor subject;         /* content of the Name */
    struct cursor alternatives;    /* content of GeneralNames; empty without the extension */
    int64_t not_before, not_after; /* seconds since 1970 */
};

enum x509_result x509_read(const uint8_t *bytes, size_t length, struct x509 *out);

/* Output text of `length` bytes. If `bytes` is NULL, only the length is counted. Text beyond `capacity` bytes is
 * omitted. */
struct x509_text {
    char *bytes;
    size_t length, capacity;
};

/* Appends the text of a Name. Returns false if the Name is invalid. */
bool x509_name_text(struct cursor name, struct x509_text *out);
/* Appends a serial number as "01:AB:...". */
void x509_serial_text(struct cursor serial, struct x509_text *out);
/* Consumes the next GeneralName and appends its text; choices without a text form append nothing. Returns false at the
 * end of the list, or if the next name is malformed. */
bool x509_alternative_text(struct cursor *alternatives, struct x509_text *out);

#endif
