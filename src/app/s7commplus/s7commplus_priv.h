/* SPDX-License-Identifier: GPL-2.0-or-later */
/* S7comm-plus, the protocol of Siemens S7-1200 and S7-1500. Each message is a separate transaction in its own
 * direction. */
#ifndef SLUICE_APP_S7COMMPLUS_PRIV_H
#define SLUICE_APP_S7COMMPLUS_PRIV_H

#include "sluice/app.h"

enum { S7COMMPLUS_COMPLETE = 1 };
enum s7commplus_event { S7COMMPLUS_INVALID_TPKT, S7COMMPLUS_INVALID_LENGTH, S7COMMPLUS_EVENTS };

enum s7commplus_opcode {
    S7COMMPLUS_RESPONSE_2 = 0x02,
    S7COMMPLUS_REQUEST = 0x31,
    S7COMMPLUS_RESPONSE = 0x32,
    S7COMMPLUS_NOTIFICATION = 0x33,
};

struct s7commplus_tx {
    struct app_tx tx;
    bool is_parsed;    /* false: the transaction only has events */
    bool has_function; /* `opcode` and `function` are set: the message is not the continuation of another one */
    uint8_t version, opcode;
    uint16_t function;
    struct buffer content; /* after the header of four bytes */
};

struct s7commplus_name {
    const char *name; /* NULL ends the table */
    uint16_t value;
};
extern const struct s7commplus_name s7commplus_opcodes[], s7commplus_functions[];

/* --- keywords.c, log.c ------------------------------------------------------------------------------- */

enum { S7COMMPLUS_BUFFERS = 1, S7COMMPLUS_CONDITIONS = 2 };
extern const struct app_buffer s7commplus_buffers[S7COMMPLUS_BUFFERS];
extern const struct app_condition s7commplus_conditions[S7COMMPLUS_CONDITIONS];

void s7commplus_log_own(const struct app_tx *tx, struct fields *out);

#endif
