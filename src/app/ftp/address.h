/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses and ports in commands and replies of FTP. The functions parse `length` bytes of untrusted text and have no
 * state. If they return false, *out is undefined.
 */
#ifndef SLUICE_APP_FTP_ADDRESS_H
#define SLUICE_APP_FTP_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice/address.h"

enum { FTP_ADDRESS_SEARCH_MAX = 1024 }; /* bytes of a reply in which ftp_parse_host_port() searches the address */

struct ftp_address {
    int ip_version; /* 0: without an address */
    struct address address;
    uint16_t port; /* never 0 */
};
/* Parses address and port of PORT and of the reply to PASV, such as "192,0,2,1,4,1", anywhere in the text. Returns
 * false if the text contains none. */
bool ftp_parse_host_port(const uint8_t *text, uint32_t length, struct ftp_address *out);
/* Parses the argument of PORT like servers that use atoi(): each of the six numbers may have a plus sign before it and
 * any text after it. */
bool ftp_parse_loose_host_port(const uint8_t *text, uint32_t length, struct ftp_address *out);
/* Parses address and port of EPRT and of the reply to EPSV (RFC 2428), such as "|1|192.0.2.1|1025|", with any
 * delimiter.
 */
bool ftp_parse_extended_address(const uint8_t *text, uint32_t length, struct ftp_address *out);

#endif
