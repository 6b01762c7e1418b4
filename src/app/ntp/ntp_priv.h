/* SPDX-License-Identifier: GPL-2.0-or-later */
/* NTP: each datagram is one message and one transaction (RFC 5905, 7.3). */
#ifndef SLUICE_APP_NTP_PRIV_H
#define SLUICE_APP_NTP_PRIV_H

#include "sluice/app.h"

enum { NTP_PORT = 123, NTP_HEADER_LENGTH = 48, NTP_REFERENCE_LENGTH = 4 };
enum { NTP_COMPLETE = 1 };

enum ntp_mode {
    NTP_SYMMETRIC_ACTIVE = 1,
    NTP_CLIENT = 3,
    NTP_SERVER = 4,
};

enum ntp_event { NTP_UNSOLICITED_RESPONSE, NTP_MALFORMED_DATA, NTP_NOT_REQUEST, NTP_NOT_RESPONSE, NTP_EVENTS };

struct ntp_tx {
    struct app_tx tx;
    bool parsed; /* the message is valid; false: the transaction only has events */
    uint8_t version, mode, stratum;
    uint8_t reference[NTP_REFERENCE_LENGTH];
};

enum { NTP_BUFFERS = 1, NTP_CONDITIONS = 3 };
extern const struct app_buffer ntp_buffers[NTP_BUFFERS];
extern const struct app_condition ntp_conditions[NTP_CONDITIONS];
extern const struct keyword keyword_ntp_mode;

#endif
