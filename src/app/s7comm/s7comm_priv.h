/* SPDX-License-Identifier: GPL-2.0-or-later */
/* S7comm, the protocol of Siemens S7-300 and S7-400, which newer controllers support, too. Each PDU is a separate
 * transaction in its own direction. */
#ifndef SLUICE_APP_S7COMM_PRIV_H
#define SLUICE_APP_S7COMM_PRIV_H

#include "sluice/app.h"
#include "sluice/number_range.h"

enum { S7COMM_COMPLETE = 1 };
enum { S7COMM_PDU_MAX = UINT16_MAX };

enum s7comm_event {
    S7COMM_INVALID_TPKT,
    S7COMM_INVALID_PROTOCOL,
    S7COMM_INVALID_ROSCTR,
    S7COMM_INVALID_LENGTH,
    S7COMM_INVALID_PARAMETER,
    S7COMM_TOO_LONG,
    S7COMM_EVENTS,
};

/* Type of a PDU (remote operating service control). */
enum s7comm_rosctr { S7COMM_JOB = 1, S7COMM_ACK = 2, S7COMM_ACK_DATA = 3, S7COMM_USERDATA = 7 };

enum s7comm_function {
    S7COMM_READ_VAR = 0x04,
    S7COMM_WRITE_VAR = 0x05,
    S7COMM_REQUEST_DOWNLOAD = 0x1a,
    S7COMM_DOWNLOAD_BLOCK = 0x1b,
    S7COMM_DOWNLOAD_ENDED = 0x1c,
    S7COMM_START_UPLOAD = 0x1d,
    S7COMM_PLC_CONTROL = 0x28,
    S7COMM_PLC_STOP = 0x29,
    S7COMM_SETUP = 0xf0,
};

enum { S7COMM_AREA_DB = 0x84, S7COMM_AREA_INSTANCE_DB = 0x85 };

/* A variable that a job reads or writes. */
struct s7comm_item {
    uint8_t area, type, bit; /* type: transport size, the type of the elements */
    uint16_t db, count;      /* db: number of the data block; count: number of elements */
    uint32_t address;        /* of the first byte; for counters and timers, their number */
    uint32_t size;           /* bytes from `address` on, at least 1 */
};

struct s7comm_tx {
    struct app_tx tx;
    bool is_parsed; /* false: the transaction only has events */
    bool has_function, has_error, has_userdata;
    uint8_t rosctr, function;
    uint8_t error_class, error_code;  /* of S7COMM_ACK and S7COMM_ACK_DATA */
    uint8_t kind, group, subfunction; /* of S7COMM_USERDATA; kind: push, request or response */
    uint16_t reference, pdu_length;   /* pdu_length: of S7COMM_SETUP, otherwise 0 */
    struct buffer content;            /* parameters and data */
    struct buffer items;              /* struct s7comm_item */
    uint32_t name_at, name_length;    /* name of a block or service in `content`; name_at 0: none */
};

static inline uint32_t s7comm_item_count(const struct s7comm_tx *tx)
{
    return tx->items.length / (uint32_t)sizeof(struct s7comm_item);
}

static inline const struct s7comm_item *s7comm_get_item(const struct s7comm_tx *tx, uint32_t index)
{
    return (const struct s7comm_item *)(const void *)tx->items.bytes + index;
}

/* Returns whether the name in the PDU is that of a block; otherwise it is that of a service of the controller. */
static inline bool s7comm_names_block(const struct s7comm_tx *tx)
{
    return tx->function >= S7COMM_REQUEST_DOWNLOAD && tx->function <= S7COMM_START_UPLOAD;
}

/* --- parse.c ----------------------------------------------------------------------------------------- */

/* Parses a PDU, and stores its parameters and data. Returns the event to set, or S7COMM_EVENTS if there is none;
 * *failed: no memory. */
enum s7comm_event s7comm_parse(struct heap *heap, struct s7comm_tx *tx, const uint8_t *bytes, uint32_t length,
                               bool *failed);

/* --- names.c, keywords.c, log.c ---------------------------------------------------------------------- */

extern const struct number_name s7comm_rosctr_names[], s7comm_function_names[], s7comm_area_names[],
    s7comm_group_names[], s7comm_error_class_names[];
/* Returns the name of a number; NULL: it has none. */
const char *s7comm_find_name(const struct number_name *names, uint64_t value);

enum { S7COMM_BUFFERS = 3, S7COMM_CONDITIONS = 8 };
extern const struct app_buffer s7comm_buffers[S7COMM_BUFFERS];
extern const struct app_condition s7comm_conditions[S7COMM_CONDITIONS];

void s7comm_log_own(const struct app_tx *tx, struct fields *out);

#endif
