/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flow of one application protocol in the real framework, without packets, for tests of protocols and as the fuzz
 * target's engine.
 *
 *     struct app_rig *rig = app_rig_new("http", "app-layer.protocols.http.libhtp...: ...\n");   YAML, or NULL
 *     rig->cut = 1;                                          0: bytes as they are sent; N: at most N at a time; -1:
 * random pieces app_rig_send(rig, FLOW_TO_SERVER, "GET / HTTP/1.1\r\n\r\n", 18); app_rig_close(rig); both directions
 * end, as with the end of the flow ck_assert_str_eq(app_rig_json(rig, 0), "{\"hostname\":...}");
 *
 * Transactions stay until app_rig_free(), unless rig->tidy is set: then complete ones are freed after each piece as in
 * the daemon, and only app_rig_json() still knows them.
 */
#ifndef APP_RIG_H
#define APP_RIG_H

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sluice/text.h"
#include "sluice/daemon.h"

enum { RIG_MAX_TX = 4096, RIG_FIELDS = 256 << 10 };

struct app_rig {
    struct app_options options;
    struct app_shared *shared;
    struct app *app;
    bool has_own_options;
    struct flow flow;
    struct app_verdict verdict; /* of the last piece */
    int cut;
    bool tidy, failed, stop_stream;
    void (*after)(struct app_rig *rig); /* called after each piece instead; NULL */
    void *user;
    unsigned transport; /* APP_TCP, APP_UDP */
    uint64_t offset[FLOW_DIRECTIONS], now_ns;
    uint32_t random, pieces;
    struct text json[RIG_MAX_TX]; /* by id */
    uint8_t fields[RIG_FIELDS];
};

void app_rig_require(bool condition, const char *what);
void app_rig_start_flow(struct app_rig *rig);

/* `proto` decides the transport (TCP where it has both). `memcap`: of the heap. */
struct app_rig *app_rig_new_limited(const char *proto, const char *yaml, size_t memcap);

struct app_rig *app_rig_new(const char *proto, const char *yaml);
void app_rig_free(struct app_rig *rig);
struct app_tx *app_rig_tx(const struct app_rig *rig, uint64_t id);

/* NULL when there is no such transaction. Lent until the next call for it. */
const char *app_rig_json(struct app_rig *rig, uint64_t id);

/* Each piece is in memory of its own, so that reading past it is seen. */
void app_rig_send(struct app_rig *rig, enum flow_direction direction, const void *bytes, size_t length);

void app_rig_text(struct app_rig *rig, enum flow_direction direction, const char *text);

/* Bytes that are lost. */
void app_rig_lose(struct app_rig *rig, enum flow_direction direction, uint32_t length);

/* A direction ends (FIN). */
void app_rig_end(struct app_rig *rig, enum flow_direction direction);

void app_rig_close(struct app_rig *rig);

/* The flow was announced by another one: its parser gets the tag. Before anything is sent. */
void app_rig_expect(struct app_rig *rig, const char *proto, const void *tag, uint32_t tag_length);

const char *app_rig_protocol(const struct app_rig *rig);
bool app_rig_has_event(const struct app_rig *rig, uint64_t id, const char *name);

/* The value of a buffer keyword; false when it is not there, or not yet. */
bool app_rig_buffer(const struct app_rig *rig, uint64_t id, const char *keyword, enum flow_direction direction,
                    unsigned index, struct app_bytes *out);

#endif
