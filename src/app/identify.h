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

/* Start of a datagram, with the protocol whose messages start with it. */
struct datagram_head {
    struct app_message_start head;
    unsigned index; /* index of the protocol */
};
/* Tables for the identification of datagrams, computed once. With them, most datagrams need no call of a probe. */
struct datagram_table {
    struct datagram_head heads[DATAGRAM_HEADS_MAX]; /* starts of messages of protocols that may use any port */
    unsigned head_count;                            /* number of entries in `heads` */
    unsigned protocol_count;                        /* number of entries in `protocols` */
    uint8_t protocols[APP_MAX_PROTOCOLS];           /* indices of the protocols over UDP */
    struct app_ports own[APP_MAX_PROTOCOLS]; /* default UDP ports by protocol index, regardless of the settings */
    uint64_t services[UINT16_MAX / 64 + 1];  /* bit set of the UDP ports on which a protocol is expected (app.ports) */
    uint64_t known_ports[UINT16_MAX / 64 + 1]; /* bit set of the ports in `services` and `own` */
};

/* Returns the id of the protocol that the bytes at the start of a direction belong to; 0 for none. Protocols in
 * side->excluded are not tested, and those whose probe returns APP_NO are added to it. *unsure is set to true if more
 * bytes may identify a protocol, *reversed if client and server are swapped. `only`: id of the only protocol to test;
 * 0: all. */
unsigned app_identify(const struct app *app, struct app_side *side, const struct app_probe *probe, unsigned only,
                      bool *unsure, bool *reversed);

/* Like app_identify() for all protocols, but compares patterns only and calls no probe. */
unsigned app_identify_by_pattern(const struct app *app, struct app_side *side, const struct app_probe *probe);

/* Whether the protocol with this index is enabled over the transport and `port` is one of its ports. */
bool app_is_expected_at(const struct app *app, size_t index, unsigned transport, uint16_t port);

/* Fills app->first_bytes, app->alongside_protocols and app->datagrams; app->ports must be set. */
void app_init_identification(struct app *app);
/* Whether one of the two ports of a UDP flow is in datagram_table.known_ports. */
bool app_has_known_port(const struct app *app, uint16_t one, uint16_t other);
/* For flows without a known port: whether the datagram starts like no message in datagram_table.heads, so that no probe
 * accepts it. False does not imply that a probe accepts it. */
bool app_matches_no_head(const struct app *app, const uint8_t *bytes, uint32_t length);

/* A protocol of which a datagram may be a message. */
struct app_datagram_match {
    uint8_t id;
    bool reversed; /* the content of the message shows that its direction is opposite to that of the packet */
};
/* Writes to `matches` all protocols of which the datagram may be a message, and returns their number. Those that use
 * one of its ports come first. `except`: id of a protocol that is not tested; 0: none. */
unsigned app_identify_datagram(const struct app *app, const struct app_probe *probe, unsigned except,
                               struct app_datagram_match matches[APP_MAX_PROTOCOLS]);

#endif
