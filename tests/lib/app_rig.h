/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flow with one application protocol in the real framework of src/app, without packets. For tests of protocols and
 * for the fuzz targets app_*.
 *
 *     struct app_rig *rig = app_rig_new("http", NULL);
 *
 *     rig->cut = 1;
 *     app_rig_send(rig, FLOW_TO_SERVER, "GET / HTTP/1.1\r\n\r\n", 18);
 *     app_rig_close(rig);
 *     ck_assert_str_eq(app_rig_json(rig, 0), "{\"hostname\":...}");
 *
 * The second argument of app_rig_new() is YAML, or NULL. `cut` is the size of the pieces into which bytes are cut: 0
 * keeps them whole, -1 means random sizes. app_rig_close() ends both directions.
 *
 * Transactions stay until app_rig_free(). If rig->tidy is set, complete ones are freed after each piece, as in the
 * daemon, and only app_rig_json() returns them.
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

enum { RIG_MAX_TX = 4096 };

struct app_rig {
    struct app_options options;
    struct app_shared *shared;
    struct app *app;
    const struct heap *heap; /* of `app` */
    bool has_own_options;
    struct flow flow;
    struct app_verdict verdict; /* of the last piece */
    int cut;
    bool tidy, failed, stop_stream;
    void (*after)(struct app_rig *rig); /* if not NULL, called after each piece in place of the rig's function */
    void *user;
    unsigned transport; /* APP_TCP, APP_UDP */
    uint64_t offset[FLOW_DIRECTIONS], now_ns;
    uint32_t random, pieces;
    struct text *json; /* by transaction id; at most RIG_MAX_TX */
    size_t json_count;
};

void app_rig_require(bool condition, const char *what);
void app_rig_start_flow(struct app_rig *rig);

/* The transport is that of `proto` (TCP if it has both). `memcap` limits the heap. */
struct app_rig *app_rig_new_limited(const char *proto, const char *yaml, size_t memcap);

struct app_rig *app_rig_new(const char *proto, const char *yaml);
/* All other protocols are disabled. */
struct app_rig *app_rig_new_alone(const char *proto, size_t memcap);
void app_rig_free(struct app_rig *rig);
struct app_tx *app_rig_tx(const struct app_rig *rig, uint64_t id);

/* Returns NULL if the transaction does not exist. The text is valid until the next call for the same transaction. */
const char *app_rig_json(struct app_rig *rig, uint64_t id);

/* Each piece is in a separate allocation, so that a sanitizer detects reads past the end. */
void app_rig_send(struct app_rig *rig, enum flow_direction direction, const void *bytes, size_t length);

void app_rig_text(struct app_rig *rig, enum flow_direction direction, const char *text);

/* Reports a gap of `length` bytes. */
void app_rig_lose(struct app_rig *rig, enum flow_direction direction, uint32_t length);

/* Ends a direction (FIN). */
void app_rig_end(struct app_rig *rig, enum flow_direction direction);

void app_rig_close(struct app_rig *rig);

/* Makes the flow an expected one, such as an FTP data connection: its parser gets the tag. Call it before sending. */
void app_rig_expect(struct app_rig *rig, const char *proto, const void *tag, uint32_t tag_length);

const char *app_rig_protocol(const struct app_rig *rig);
bool app_rig_has_event(const struct app_rig *rig, uint64_t id, const char *name);

/* Gets a value of a counter of app_counter_name(). */
uint64_t app_rig_counter(const struct app_rig *rig, const char *name);
size_t app_rig_memory(const struct app_rig *rig);    /* bytes of the heap in use */
uint64_t app_rig_refused(const struct app_rig *rig); /* allocations that failed because of the memcap */

/* Returns the name of the transaction's progress in a direction, as in the manual of its protocol ("server_hello"). */
const char *app_rig_progress(const struct app_rig *rig, uint64_t id, enum flow_direction direction);

/* The value of a buffer keyword. Returns false if it does not exist, or is not complete yet. */
bool app_rig_buffer(const struct app_rig *rig, uint64_t id, const char *keyword, enum flow_direction direction,
                    unsigned index, struct app_bytes *out);

/* Returns whether the transaction fulfils a rule with these options, which have one condition on transactions
 * ("tls.version:1.2;"), in a packet at rig->now_ns. */
bool app_rig_matches(const struct app_rig *rig, uint64_t id, enum flow_direction direction, const char *options);

#endif
