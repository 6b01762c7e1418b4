/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * X.509 certificates (RFC 5280), as far as rules and events ask for them: who, by whom, when, which serial, which other
 * names. Nothing is verified.
 *
 * x509_read() finds the parts; they point into the certificate. Text of names is made by x509_name_text() and
 * x509_alternative_text(), in the form of the field: "C=US, O=Example, CN=www.example.com".
 */
#ifndef APP_TLS_X509_H
#define APP_TLS_X509_H

#include "der.h"

/* Ordered as a certificate is read: what is wrong first. */
enum x509_result {
    X509_OK,
    X509_LENGTH, /* it ends within the header of one of the two outer values */
    X509_BROKEN, /* one of the two outer values reaches beyond it, or is none */
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
    struct cursor serial;       /* the content of the INTEGER, with a leading zero where there is one */
    struct cursor issuer;       /* what the Name holds */
    struct cursor subject;      /* what the Name holds */
    struct cursor alternatives; /* what GeneralNames holds; empty when there are none */
    int64_t not_before, not_after;
};

enum x509_result x509_read(const uint8_t *bytes, size_t length, struct x509 *out);

/* Where text goes: `bytes` NULL counts alone. What does not fit is left out. */
struct x509_text {
    char *bytes;
    size_t length, capacity;
};

/* False when it is no Name. */
bool x509_name_text(struct cursor name, struct x509_text *out);
/* "01:AB:...". */
void x509_serial_text(struct cursor serial, struct x509_text *out);
/* The next of the alternatives, taken from them; forms that have no text are empty. False at the end. */
bool x509_alternative_text(struct cursor *alternatives, struct x509_text *out);

#endif
