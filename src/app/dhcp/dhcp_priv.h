/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DHCP (RFC 2131, options of RFC 2132): each datagram is one message and one transaction. */
#ifndef SLUICE_APP_DHCP_PRIV_H
#define SLUICE_APP_DHCP_PRIV_H

#include "sluice/app.h"

enum {
    DHCP_HEADER = 240,      /* bytes of the fixed fields, including the magic cookie */
    DHCP_HARDWARE_MAX = 16, /* bytes of the field for the hardware address */
};
enum { DHCP_COMPLETE = 1 };
enum { DHCP_REQUEST = 1, DHCP_REPLY = 2 }; /* op, the first byte */
enum { DHCP_ACK = 5 };                     /* values of option 53 */

enum dhcp_option {
    DHCP_PAD = 0,
    DHCP_SUBNET_MASK = 1,
    DHCP_ROUTERS = 3,
    DHCP_DNS_SERVERS = 6,
    DHCP_HOSTNAME = 12,
    DHCP_REQUESTED_IP = 50,
    DHCP_LEASE_TIME = 51,
    DHCP_TYPE = 53,
    DHCP_PARAMETERS = 55,
    DHCP_RENEWAL_TIME = 58,
    DHCP_REBINDING_TIME = 59,
    DHCP_VENDOR_CLASS = 60,
    DHCP_CLIENT_ID = 61,
    DHCP_END = 255,
};

enum dhcp_event { DHCP_TRUNCATED_OPTIONS, DHCP_MALFORMED_OPTIONS, DHCP_EVENTS };

/* The message is copied; options refer to it by offset. */
struct dhcp_tx {
    struct app_tx tx;
    struct buffer message; /* header and complete options; empty: not parsed */
    struct {
        uint32_t at; /* offset in message; 0: option absent */
        uint8_t length;
    } option[64]; /* first occurrence per code; only codes below 64 are recorded */
};

struct dhcp_settings {
    bool extended;
};

/* --- parse.c ----------------------------------------------------------------------------------------- */

/* Copies a message of at least DHCP_HEADER bytes and parses its options; sets bits 1 << enum dhcp_event in *events.
 * Returns 0 or -ENOMEM. */
int dhcp_parse(struct heap *heap, struct dhcp_tx *tx, const uint8_t *bytes, uint32_t length, unsigned *events);
/* Returns the value of an option, or NULL if it is absent. */
const uint8_t *dhcp_option(const struct dhcp_tx *tx, enum dhcp_option code, uint8_t *length);
/* Sets *out to the value of an option that is a 32-bit number. Returns false if the option is absent or has another
 * length. */
bool dhcp_number(const struct dhcp_tx *tx, enum dhcp_option code, uint32_t *out);

/* --- keywords.c, log.c ------------------------------------------------------------------------------- */

enum { DHCP_BUFFERS = 1, DHCP_CONDITIONS = 3 };
extern const struct app_buffer dhcp_buffers[DHCP_BUFFERS];
extern const struct app_condition dhcp_conditions[DHCP_CONDITIONS];

void dhcp_log(const struct app_tx *tx, const void *settings, struct fields *out);
bool dhcp_wants_log(const struct app_tx *tx, const void *settings);

#endif
