/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RFB, the protocol of VNC (RFC 6143), versions 3.3, 3.7 and 3.8: the handshake of a connection is one transaction. */
#ifndef SLUICE_APP_RFB_PRIV_H
#define SLUICE_APP_RFB_PRIV_H

#include "sluice/app.h"
#include "sluice/bytes.h"

enum { RFB_VERSION_DIGITS = 3, RFB_CHALLENGE = 16, RFB_TEXT_MAX = 4096 };

/* Progress of the client: version, choice of the security type, ClientInit. */
enum { RFB_CLIENT_VERSION = 1, RFB_SELECTED, RFB_CLIENT_COMPLETE };
/* Progress of the server: version, SecurityResult, ServerInit. */
enum { RFB_SERVER_VERSION = 1, RFB_RESULT, RFB_SERVER_COMPLETE };

enum rfb_security { RFB_SECURITY_INVALID, RFB_SECURITY_NONE, RFB_SECURITY_VNC };
enum rfb_result { RFB_OK, RFB_FAILED, RFB_TOO_MANY };

enum rfb_event {
    RFB_MALFORMED_MESSAGE,
    RFB_UNIMPLEMENTED_SECURITY_TYPE,
    RFB_UNKNOWN_SECURITY_RESULT,
    RFB_CONFUSED_STATE,
    RFB_EVENTS
};

struct rfb_version {
    char major[RFB_VERSION_DIGITS], minor[RFB_VERSION_DIGITS]; /* digits, without NUL */
};

/* Messages of the handshake that have been parsed: bits of rfb_tx.seen. */
enum rfb_seen {
    RFB_SEEN_SERVER_VERSION = 1,
    RFB_SEEN_CLIENT_VERSION = 1 << 1,
    RFB_SEEN_TYPES = 1 << 2, /* the list of security types; in version 3.3 the type that the server has chosen */
    RFB_SEEN_TYPE = 1 << 3,  /* `type` is known */
    RFB_SEEN_CHALLENGE = 1 << 4,
    RFB_SEEN_RESPONSE = 1 << 5,
    RFB_SEEN_RESULT = 1 << 6,
    RFB_SEEN_REASON = 1 << 7,
    RFB_SEEN_CLIENT_INIT = 1 << 8,
    RFB_SEEN_SERVER_INIT = 1 << 9,
};

struct rfb_pixel_format {
    uint8_t bits_per_pixel, depth;
    bool big_endian, true_color;
    uint16_t red_max, green_max, blue_max;
    uint8_t red_shift, green_shift, blue_shift;
};

struct rfb_tx {
    struct app_tx tx;
    uint32_t seen; /* enum rfb_seen */
    struct rfb_version version[FLOW_DIRECTIONS];
    uint32_t type;   /* security type */
    uint32_t result; /* SecurityResult */
    bool failed;     /* the server refused the connection; its reason follows */
    bool shared;     /* ClientInit: other clients may stay connected */
    uint8_t challenge[RFB_CHALLENGE], response[RFB_CHALLENGE];
    uint16_t width, height;
    struct rfb_pixel_format format;
    struct buffer name, reason; /* at most RFB_TEXT_MAX bytes */
};

enum { RFB_BUFFERS = 1, RFB_CONDITIONS = 2 };
extern const struct app_buffer rfb_buffers[RFB_BUFFERS];
extern const struct app_condition rfb_conditions[RFB_CONDITIONS];

void rfb_log(const struct app_tx *tx, const void *settings, struct fields *out);

#endif
