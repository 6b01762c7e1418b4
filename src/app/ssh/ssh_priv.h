/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SSH: the part of a connection before encryption (RFC 4253): banners, and the algorithms that both sides offer. */
#ifndef SLUICE_APP_SSH_PRIV_H
#define SLUICE_APP_SSH_PRIV_H

#include "sluice/app.h"

enum {
    SSH_BANNER_MAX = 256,
    SSH_HASSH = 32, /* hexadecimal digits of an MD5 digest */
};

/* Progress of a direction. */
enum ssh_progress { SSH_STARTED, SSH_BANNER_WAIT_EOL, SSH_BANNER_DONE, SSH_KEY_EXCHANGE, SSH_FINISHED };

enum ssh_event { SSH_INVALID_BANNER, SSH_LONG_BANNER, SSH_INVALID_RECORD, SSH_LONG_KEX_RECORD, SSH_EVENTS };

/* Data of one direction. */
struct ssh_side {
    struct buffer banner; /* without "SSH-" and the comment; contains the protocol version and the software */
    uint32_t proto_length, software_at, software_length; /* proto_length 0: no valid banner */
    struct buffer hassh_string;
    char hassh[SSH_HASSH]; /* valid if hassh_string is not empty */
    bool has_software;     /* the banner has a software version: software_length is not 0 */
};

struct ssh_tx {
    struct app_tx tx;
    struct ssh_side side[FLOW_DIRECTIONS];
};

enum ssh_encryption { SSH_TRACK_ONLY, SSH_BYPASS, SSH_FULL };
struct ssh_settings {
    enum setting_auto hassh;
    enum ssh_encryption encryption;
};

/* --- hassh.c ----------------------------------------------------------------------------------------- */

/* Parses the payload of a KEXINIT message without its header; stores nothing if malformed. Returns 0 or -ENOMEM. */
int ssh_hassh(struct heap *heap, struct ssh_side *side, enum flow_direction direction, const uint8_t *bytes,
              uint32_t length);

/* --- keywords.c -------------------------------------------------------------------------------------- */

enum { SSH_BUFFERS = 6, SSH_CONDITIONS = 2 };
extern const struct app_buffer ssh_buffers[SSH_BUFFERS];
extern const struct app_condition ssh_conditions[SSH_CONDITIONS];

/* --- log.c ------------------------------------------------------------------------------------------- */

void ssh_log(const struct app_tx *tx, const void *settings, struct fields *out);
bool ssh_wants_log(const struct app_tx *tx, const void *settings);

#endif
