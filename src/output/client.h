/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The address of a client behind a proxy, from the header in which the proxy reports it (X-Forwarded-For). The result
 * is a valid address or none, never text of the header.
 *
 * Threads: only the worker of the flow may call client_of_tx() and client_of_flow().
 */
#ifndef SLUICE_OUTPUT_CLIENT_H
#define SLUICE_OUTPUT_CLIENT_H

#include "record.h"

/* Return the client's address that a proxy reports in a transaction, or in the first transaction of the flow that has
 * such an address; ip_version is 0 if there is none or options->enabled is false. */
struct record_client client_of_tx(const struct xff_options *options, const struct app_tx *tx);
struct record_client client_of_flow(const struct xff_options *options, const struct flow *flow);
/* Parses the first or the last address of a header value like "192.0.2.1, [2001:db8::1]:80". ip_version of the result
 * is 0 if the entry is not a valid address. */
struct record_client client_parse(const uint8_t *bytes, uint32_t length, bool first);

#endif
