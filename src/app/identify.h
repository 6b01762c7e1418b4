/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Detection of the protocol by the first bytes of a stream or by a datagram.
 */
#ifndef SLUICE_APP_IDENTIFY_H
#define SLUICE_APP_IDENTIFY_H

#include "sluice/app.h"

struct app;
struct app_side;

enum { DATAGRAM_HEADS_MAX = APP_MESSAGE_STARTS_MAX * APP_MAX_PROTOCOLS };

/* Tables for datagrams, computed once, with which most datagrams need no call of a probe. */
struct datagram_head {
    struct app_message_start head;
    unsigned index; /* index of the protocol */
};
struct datagram_table {
    struct datagram_head heads[DATAGRAM_HEADS_MAX]; /* starts of messages of protocols that may use any port */
    unsigned head_count;
    unsigned protocol_count;
    uint8_t protocols[APP_MAX_PROTOCOLS];      /* indices of the protocols over UDP */
    struct app_ports own[APP_MAX_PROTOCOLS];   /* default ports of each protocol, regardless of the settings */
    uint64_t services[UINT16_MAX / 64 + 1];    /* bit set of the ports on which a protocol is expected */
    uint64_t known_ports[UINT16_MAX / 64 + 1]; /* bit set of these ports and of all default ports */
};

/* Returns the id of the protocol that the bytes at the start of a direction belong to; 0: none of the remaining ones.
 * *unsure: more bytes may identify one. *reversed: client and server are swapped. `only`: test this id only; 0: all. */
unsigned app_identify(const struct app *app, struct app_side *side, const struct app_probe *probe, unsigned only,
                      bool *unsure, bool *reversed);

/* Like app_identify(), with patterns only. */
unsigned app_identify_by_pattern(const struct app *app, struct app_side *side, const struct app_probe *probe);

/* Whether the protocol with this index is enabled and the port is one of its ports. */
bool app_is_expected_at(const struct app *app, size_t index, unsigned transport, uint16_t port);

/* Fills app->beginnings and app->datagrams; app->ports must be set. */
void app_init_identification(struct app *app);
/* Whether one of the ports of a UDP flow is a port of a protocol. If not, app_matches_no_head() recognises most
 * datagrams that no probe accepts. */
bool app_has_known_port(const struct app *app, uint16_t one, uint16_t other);
bool app_matches_no_head(const struct app *app, const uint8_t *bytes, uint32_t length);

/* A protocol that may have sent a datagram. */
struct app_datagram_match {
    uint8_t id;
    bool reversed; /* the message has the opposite direction of the packet */
};
/* Finds all protocols except `except` (an id, or 0) of which the datagram may be a message, those hinted at by the
 * ports first, and returns their number. */
unsigned app_identify_datagram(const struct app *app, const struct app_probe *probe, unsigned except,
                               struct app_datagram_match matches[APP_MAX_PROTOCOLS]);

#endif
