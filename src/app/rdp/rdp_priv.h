/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Remote Desktop Protocol (MS-RDPBCGR): negotiation and MCS connect messages. Each of these messages is a transaction
 * in its own direction, as in Suricata. */
#ifndef SLUICE_APP_RDP_PRIV_H
#define SLUICE_APP_RDP_PRIV_H

#include "sluice/app.h"

enum {
    RDP_COOKIE_MAX = 128, /* stored bytes of the cookie */
    RDP_CHANNELS_MAX = 31,
    RDP_CHANNEL_NAME = 8,
    RDP_NAME = 32,       /* bytes of the client's name in UTF-16 */
    RDP_PRODUCT_ID = 64, /* bytes of the digital product id in UTF-16 */
};
enum { RDP_COMPLETE = 1 };

enum rdp_type { RDP_INITIAL_REQUEST, RDP_INITIAL_RESPONSE, RDP_CONNECT_REQUEST, RDP_CONNECT_RESPONSE };

/* Fields of TS_UD_CS_CORE. has_...: the optional field is there. */
struct rdp_client {
    bool is_present, has_product, has_high_color, has_capabilities;
    uint32_t version, keyboard_layout, build, keyboard_type, function_keys;
    uint16_t width, height, color_depth, high_color_depth, product, capabilities;
    uint8_t name[RDP_NAME], product_id[RDP_PRODUCT_ID];
};

struct rdp_tx {
    struct app_tx tx;
    uint8_t type; /* enum rdp_type */
    bool has_cookie, has_negotiation, failed;
    uint8_t flags;     /* of the negotiation */
    uint32_t protocol; /* requested (a bit set) or selected; `failed`: the failure code */
    uint8_t cookie_length, channel_count;
    uint8_t cookie[RDP_COOKIE_MAX];
    struct rdp_client client;
    uint8_t channel[RDP_CHANNELS_MAX][RDP_CHANNEL_NAME];
};

/* Parses the data of an MCS Connect-Initial message into tx->client and tx->channel. */
void rdp_parse_connect(struct rdp_tx *tx, const uint8_t *bytes, uint32_t length);

void rdp_log(const struct app_tx *tx, const void *settings, struct fields *out);
void rdp_log_own(const struct app_tx *tx, struct fields *out);

#endif
