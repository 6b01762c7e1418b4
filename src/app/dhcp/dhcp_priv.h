/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DHCP: one datagram is one message is one transaction (RFC 2131, options of RFC 2132). */
#ifndef SLUICE_APP_DHCP_PRIV_H
#define SLUICE_APP_DHCP_PRIV_H

#include "sluice/app.h"

enum {
    DHCP_HEADER = 240, /* with the magic cookie */
    DHCP_HARDWARE_MAX = 16,
};
enum { DHCP_COMPLETE = 1 };
enum { DHCP_REQUEST = 1, DHCP_REPLY = 2 }; /* the first byte */
enum { DHCP_ACK = 5 };                     /* of the message types */

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

/* A message is copied; what is of interest of its options is found by where it lies in the copy. */
struct dhcp_tx {
    struct app_tx tx;
    struct buffer message; /* the header and the options that are there as a whole; empty: not parsed */
    struct {
        uint32_t at; /* 0: it is not there */
        uint8_t length;
    } option[64]; /* the first one of its code; those below 64 are all that is looked at */
};

struct dhcp_settings {
    bool extended;
};

/* --- parse.c -------------------------------------------------------------------------------------- */

/* Copies a message of at least DHCP_HEADER bytes and reads its options; bits 1 << enum dhcp_event go to *events. 0 or
 * -ENOMEM. */
int dhcp_parse(struct heap *heap, struct dhcp_tx *tx, const uint8_t *bytes, uint32_t length, unsigned *events);
/* The value of an option; NULL when it is not there. */
const uint8_t *dhcp_option(const struct dhcp_tx *tx, enum dhcp_option code, uint8_t *length);
/* One that is a number of four bytes. */
bool dhcp_number(const struct dhcp_tx *tx, enum dhcp_option code, uint32_t *out);

/* --- keywords.c, log.c ---------------------------------------------------------------------------- */

enum { DHCP_BUFFERS = 2, DHCP_CONDITIONS = 6 };
extern const struct app_buffer dhcp_buffers[DHCP_BUFFERS];
extern const struct app_condition dhcp_conditions[DHCP_CONDITIONS];
extern const struct keyword keyword_dhcp_leasetime, keyword_dhcp_rebinding_time, keyword_dhcp_renewal_time,
    keyword_dhcp_hostname;

void dhcp_log(const struct app_tx *tx, const void *settings, struct fields *out);
bool dhcp_wants_log(const struct app_tx *tx, const void *settings);

#endif
