/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Certificates for tests of TLS, made with public keys of two test keys (Ed25519; the private keys are the bytes 0 to
 * 31 and 1 to 32):
 *
 *   tls_leaf     a server's, with every kind of name; issued by tls_root
 *   tls_root     self-signed, version 3 without extensions
 *   tls_client   a client's
 */
#ifndef TLS_SAMPLES_H
#define TLS_SAMPLES_H

#include <stdint.h>

extern const uint8_t tls_leaf[528];
extern const uint8_t tls_root[272];
extern const uint8_t tls_client[240];

#endif
