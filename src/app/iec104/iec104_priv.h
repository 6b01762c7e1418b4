/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IEC 60870-5-104. Each message (APDU) is a separate transaction in its own direction. */
#ifndef SLUICE_APP_IEC104_PRIV_H
#define SLUICE_APP_IEC104_PRIV_H

#include "sluice/app.h"

enum { IEC104_COMPLETE = 1 };
enum iec104_event { IEC104_INVALID_START, IEC104_INVALID_LENGTH, IEC104_INVALID_CONTROL, IEC104_EVENTS };

/* Format of a message, by its control field: data of the application, acknowledgement, control of the connection. */
enum iec104_format { IEC104_I, IEC104_S, IEC104_U };

struct iec104_tx {
    struct app_tx tx;
    bool is_parsed; /* false: the transaction only has events */
    bool has_asdu;  /* the message has an ASDU: the members from `type` on are set */
    enum iec104_format format;
    uint8_t function;           /* U: bits of the function */
    uint16_t sent, received;    /* sequence numbers: `sent` of I; `received` of I and S */
    uint8_t type, count, cause; /* count: number of information objects; cause: of transmission, 0 to 63 */
    bool is_sequence, is_test, is_negative;
    uint8_t originator;
    uint16_t address; /* common address of the ASDU */
};

/* --- names.c ----------------------------------------------------------------------------------------- */

const char *iec104_type_name(uint8_t type); /* NULL: unknown */
/* Returns the type with this name, ignoring case; 0 for none. */
uint8_t iec104_find_type(const char *name, size_t length);
/* Returns the name of the function of a message of format U; NULL if its bits are not valid. */
const char *iec104_function_name(uint8_t function);

/* --- keywords.c, log.c ------------------------------------------------------------------------------- */

enum { IEC104_CONDITIONS = 2 };
extern const struct app_condition iec104_conditions[IEC104_CONDITIONS];

void iec104_log_own(const struct app_tx *tx, struct fields *out);

#endif
