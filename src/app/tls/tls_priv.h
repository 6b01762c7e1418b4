/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Internal interfaces of the TLS parser:
 *
 *   tls.c          protocol detection, the protocol's table, event names
 *   record.c       record layer of SSLv3 to TLS 1.3, and of SSLv2
 *   handshake.c    reassembly of handshake messages, and their effect on the transaction
 *   hello.c        ClientHello and ServerHello
 *   certificate.c  Certificate message
 *   fingerprint.c  JA3, JA3S and JA4
 *   buffers.c      rule buffers and their keywords
 *   log.c          EVE object
 *   settings.c     settings
 *   keyword_*.c    conditions on versions and certificates; tls.store
 *   contents.c     checks of content patterns on fingerprints and serial numbers
 *   x509.c         certificate decoding
 *   transfer.c     state transfer to the next engine
 *
 * A flow has one transaction; a second ClientHello that differs from the first starts another one. A transaction stores
 * the two hellos and the certificates as received; derived data (fingerprints, lists) is computed on first use.
 */
#ifndef APP_TLS_PRIV_H
#define APP_TLS_PRIV_H

#include "sluice/app.h"
#include "sluice/bytes.h"

#include "state.h"
#include "parse.h"
#include "keyword.h"

#endif
