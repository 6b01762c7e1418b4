/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of the cost of hostile input. A flood sends `units` messages or the like to one flow. It runs with few and with
 * many units, and with the bytes in pieces of several sizes. The test checks:
 *
 * - memory: the memory limit of the flood is enough as memcap of the run, so that no allocation is refused.
 * - work: the number of steps has a limit per byte and piece, and is about proportional to the units.
 * - result: the expected event is set, and parsing continues or stops as expected.
 */
#ifndef WORK_H
#define WORK_H

#include "app_rig.h"

enum { LIBC_BYTES_PER_STEP = 16 };

/* A growing buffer of bytes to send. */
struct wire {
    uint8_t *bytes;
    size_t length, room;
};
void wire_put(struct wire *wire, const void *bytes, size_t length);
void wire_fill(struct wire *wire, uint8_t byte, size_t count);
void wire_text(struct wire *wire, const char *format, ...) __attribute__((format(printf, 2, 3)));
void wire_number(struct wire *wire, unsigned width, uint64_t value); /* big endian */
void wire_little(struct wire *wire, unsigned width, uint64_t value);
struct wire wire_zeros(size_t megabytes);
struct wire wire_gzip(const struct wire *in);
void wire_free(struct wire *wire);

struct work {
    struct app_rig *rig;
    uint64_t steps, bytes, pieces;
    uint64_t events[APP_EVENT_WORDS]; /* union of the events of all transactions */
    uint64_t transactions;
};
/* Sends the bytes of the buffer, and empties it. */
void work_send(struct work *work, enum flow_direction direction, struct wire *wire);
void work_text(struct work *work, enum flow_direction direction, const char *text);

struct flood {
    const char *name, *proto, *yaml;
    uint16_t port;
    bool datagrams;
    uint32_t units; /* in the small run; the large one has four times as many */
    void (*run)(struct work *work, uint32_t units);
    const char *event; /* expected event, or NULL */
    bool given_up, may_refuse;
    uint32_t memory_kib;
    uint32_t steps_per_byte; /* 0: the default limit */
};

extern const struct flood http_floods[], mail_floods[], record_floods[], smb_floods[], message_floods[],
    service_floods[];
extern const size_t http_flood_count, mail_flood_count, record_flood_count, smb_flood_count, message_flood_count,
    service_flood_count;

/* --- transform.c ---------------------------------------------------------------------------------- */

extern const size_t transform_flood_count;
void work_judge_transform(unsigned row);
void work_count(bool on); /* starts or stops counting */
uint64_t work_steps(void);

#endif
