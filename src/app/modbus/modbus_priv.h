/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Modbus over TCP (MODBUS Application Protocol 1.1b3, MODBUS Messaging on TCP/IP 1.0b). A transaction is a request with
 * its response. */
#ifndef SLUICE_APP_MODBUS_PRIV_H
#define SLUICE_APP_MODBUS_PRIV_H

#include "sluice/app.h"

enum {
    MODBUS_DATA_MAX = 255,   /* bytes of a message after the function code that are parsed */
    MODBUS_LENGTH_MAX = 254, /* highest valid value of the length field */
    MODBUS_OPEN_MAX = 500,   /* requests without a response; more are a flood, as in Suricata */
};
enum { MODBUS_COMPLETE = 1 };

enum modbus_event {
    MODBUS_UNSOLICITED_RESPONSE,
    MODBUS_INVALID_FUNCTION_CODE,
    MODBUS_INVALID_LENGTH,
    MODBUS_INVALID_VALUE,
    MODBUS_INVALID_EXCEPTION_CODE,
    MODBUS_VALUE_MISMATCH,
    MODBUS_FLOODED,
    MODBUS_INVALID_PROTOCOL_ID,
    MODBUS_EVENTS,
};

enum modbus_function {
    MODBUS_READ_COILS = 1,
    MODBUS_READ_DISCRETE_INPUTS = 2,
    MODBUS_READ_HOLDING_REGISTERS = 3,
    MODBUS_READ_INPUT_REGISTERS = 4,
    MODBUS_WRITE_COIL = 5,
    MODBUS_WRITE_REGISTER = 6,
    MODBUS_DIAGNOSTIC = 8,
    MODBUS_WRITE_COILS = 15,
    MODBUS_WRITE_REGISTERS = 16,
    MODBUS_MASK_WRITE = 22,
    MODBUS_READ_WRITE = 23,
    MODBUS_READ_FIFO = 24,
    MODBUS_MEI = 43,
    MODBUS_EXCEPTION = 0x80, /* set in the function code of an exception */
};

/* Bit sets, with the names of Suricata. */
enum modbus_access {
    MODBUS_READ = 1,
    MODBUS_WRITE = 2,
    MODBUS_DISCRETES = 4,
    MODBUS_COILS = 8,
    MODBUS_INPUT = 16,
    MODBUS_HOLDING = 32,
    MODBUS_SINGLE = 64,
    MODBUS_MULTIPLE = 128,
};
enum modbus_category {
    MODBUS_ASSIGNED = 1,
    MODBUS_UNASSIGNED = 2,
    MODBUS_USER = 4,
    MODBUS_RESERVED = 8,
};
enum modbus_error {
    MODBUS_DATA_VALUE = 1,
    MODBUS_DATA_LENGTH = 2,
    MODBUS_EXCEPTION_CODE = 4,
    MODBUS_FUNCTION_CODE = 8,
    MODBUS_PROTOCOL_ID = 16,
};

struct modbus_message {
    bool is_present;
    uint16_t transaction, protocol;
    uint8_t unit, function; /* function: with MODBUS_EXCEPTION */
    uint8_t access, category, errors;
    bool has_read, has_write; /* the next members are set */
    uint16_t read_address, read_quantity, write_address, write_quantity;
    uint16_t write_value;   /* of a single write; responses to multiple writes: the quantity */
    uint16_t subfunction;   /* of MODBUS_DIAGNOSTIC */
    uint8_t mei, exception; /* type of MODBUS_MEI; code of an exception */
    uint8_t data_length;
    uint8_t data[MODBUS_DATA_MAX]; /* values that are read or written, or data of other functions */
};

struct modbus_tx {
    struct app_tx tx;
    struct modbus_message request, response;
};

/* --- parse.c ----------------------------------------------------------------------------------------- */

/* Parses the data after the function code, of which out->unit and so on are set. `request`: the request that a response
 * answers, or NULL. Sets out->errors. */
void modbus_parse_request(struct modbus_message *out, const uint8_t *bytes, uint32_t length);
void modbus_parse_response(struct modbus_message *out, const struct modbus_message *request, const uint8_t *bytes,
                           uint32_t length);

/* --- keywords.c, log.c ------------------------------------------------------------------------------- */

enum { MODBUS_CONDITIONS = 1 };
extern const struct app_condition modbus_conditions[MODBUS_CONDITIONS];

void modbus_log(const struct app_tx *tx, const void *settings, struct fields *out);

#endif
