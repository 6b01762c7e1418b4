/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Modbus in EVE events, with the names of Suricata. */
#include <stdio.h>

#include "modbus_priv.h"
#include "sluice/text.h"

#define NAME(table, index) ((index) < sizeof(table) / sizeof((table)[0]) ? (table)[index] : NULL)

static const char *const functions[] = {
    [1] = "RdCoils",
    [2] = "RdDiscreteInputs",
    [3] = "RdHoldRegs",
    [4] = "RdInputRegs",
    [5] = "WrSingleCoil",
    [6] = "WrSingleReg",
    [7] = "RdExcStatus",
    [8] = "Diagnostic",
    [9] = "Program484",
    [10] = "Poll484",
    [11] = "GetCommEventCtr",
    [12] = "GetCommEventLog",
    [13] = "ProgramController",
    [14] = "PollController",
    [15] = "WrMultCoils",
    [16] = "WrMultRegs",
    [17] = "ReportServerID",
    [18] = "Program884",
    [19] = "ResetCommLink",
    [20] = "RdFileRec",
    [21] = "WrFileRec",
    [22] = "MaskWrReg",
    [23] = "RdWrMultRegs",
    [24] = "RdFIFOQueue",
    [43] = "MEI",
};
static const char *const subfunctions[] = {
    [0] = "RetQueryData",
    [1] = "RestartCommOpt",
    [2] = "RetDiagReg",
    [3] = "ChangeInputDelimiter",
    [4] = "ForceListenOnlyMode",
    [10] = "ClearCtrDiagReg",
    [11] = "RetBusMsgCount",
    [12] = "RetBusCommErrCount",
    [13] = "RetBusExcErrCount",
    [14] = "RetServerMsgCount",
    [15] = "RetServerNoRespCount",
    [16] = "RetServerNAKCount",
    [17] = "RetServerBusyCount",
    [18] = "RetBusCharOverrunCount",
    [19] = "RetOverrunErrCount",
    [20] = "ClearOverrunCounterFlag",
    [21] = "GetClearPlusStats",
};
static const char *const meis[] = { [13] = "CANOpenGenRefReqResp", [14] = "RdDevId" };
static const char *const exceptions[] = {
    [1] = "IllegalFunction",
    [2] = "IllegalDataAddr",
    [3] = "IllegalDataValue",
    [4] = "ServerDeviceFail",
    [5] = "Ack",
    [6] = "ServerDeviceBusy",
    [7] = "NegAck",
    [8] = "MemParityErr",
    [10] = "GatewayPathUnavailable",
    [11] = "GatewayTargetFailToResp",
};

struct bit_name {
    uint8_t bits;
    const char *name; /* NULL: end of the table */
};

static const struct bit_name accesses[] = {
    { MODBUS_READ, "READ" },
    { MODBUS_WRITE, "WRITE" },
    { MODBUS_DISCRETES, "DISCRETES" },
    { MODBUS_COILS, "COILS" },
    { MODBUS_INPUT, "INPUT" },
    { MODBUS_HOLDING, "HOLDING" },
    { MODBUS_SINGLE, "SINGLE" },
    { MODBUS_MULTIPLE, "MULTIPLE" },
    { MODBUS_WRITE | MODBUS_SINGLE, "WRITE_SINGLE" },
    { MODBUS_WRITE | MODBUS_MULTIPLE, "WRITE_MULTIPLE" },
    { 0, NULL },
};
static const struct bit_name categories[] = {
    { MODBUS_ASSIGNED, "PUBLIC_ASSIGNED" },
    { MODBUS_UNASSIGNED, "PUBLIC_UNASSIGNED" },
    { MODBUS_USER, "USER_DEFINED" },
    { MODBUS_RESERVED, "RESERVED" },
    { 0, NULL },
};
static const struct bit_name errors[] = {
    { MODBUS_DATA_VALUE, "DATA_VALUE" },   { MODBUS_DATA_LENGTH, "DATA_LENGTH" }, { MODBUS_EXCEPTION_CODE, "EXC_CODE" },
    { MODBUS_FUNCTION_CODE, "FUNC_CODE" }, { MODBUS_PROTOCOL_ID, "PROTO_ID" },    { 0, NULL },
};

/* Writes the names whose bits are all set, separated by " | ". */
static void log_bits(const char *key, unsigned bits, const struct bit_name *names, struct fields *out)
{
    char text[128];
    size_t length = 0;

    text[0] = 0;
    for (; names->name; names++)
        if ((bits & names->bits) == names->bits)
            length +=
                (size_t)snprintf(text + length, sizeof(text) - length, "%s%s", length > 0 ? " | " : "", names->name);
    fields_string(out, key, bits ? text : "NONE");
}

static void log_bytes(const struct modbus_message *message, struct fields *out)
{
    fields_bytes(out, "data", message->data, message->data_length);
}

static void log_code(const char *key, const char *name, const char *unknown, unsigned raw,
                     const struct modbus_message *data, struct fields *out)
{
    fields_object_open(out, key);
    fields_uint(out, "raw", raw);
    fields_string(out, "code", name ? name : unknown);
    if (data)
        log_bytes(data, out);
    fields_object_close(out);
}

static void log_message(const struct modbus_message *message, bool is_request, struct fields *out)
{
    uint8_t function = message->function & (uint8_t)~MODBUS_EXCEPTION;
    const char *name = NAME(functions, function);

    fields_uint(out, "transaction_id", message->transaction);
    fields_uint(out, "protocol_id", message->protocol);
    fields_uint(out, "unit_id", message->unit);
    fields_uint(out, "function_raw", message->function);
    fields_string(out, "function_code", name ? name : "Unknown");
    log_bits("access_type", message->access, accesses, out);
    log_bits("category", message->category, categories, out);
    log_bits("error_flags", message->errors, errors, out);
    if (!is_request && message->function & MODBUS_EXCEPTION) {
        log_code("exception", NAME(exceptions, message->exception), "Unknown", message->exception, NULL, out);
        return;
    }
    if (function == MODBUS_DIAGNOSTIC)
        log_code("diagnostic", NAME(subfunctions, message->subfunction), "Reserved", message->subfunction, message,
                 out);
    else if (function == MODBUS_MEI && is_request) /* the schema has no such member of responses */
        log_code("mei", NAME(meis, message->mei), "Unknown", message->mei, message, out);
    else if (!message->access && message->data_length > 0)
        log_bytes(message, out);
    if (message->has_read) {
        fields_object_open(out, "read");
        if (is_request) {
            fields_uint(out, "address", message->read_address);
            fields_uint(out, "quantity", message->read_quantity);
        } else {
            log_bytes(message, out);
        }
        fields_object_close(out);
    }
    if (message->has_write) {
        fields_object_open(out, "write");
        fields_uint(out, "address", message->write_address);
        if (!is_request || message->access & MODBUS_SINGLE)
            fields_uint(out, "data", message->write_value);
        fields_object_close(out);
    }
}

void modbus_log(const struct app_tx *tx, const void *settings, struct fields *out)
{
    const struct modbus_tx *modbus = (const struct modbus_tx *)tx;

    (void)settings;
    fields_uint(out, "id", tx->number + 1);
    if (modbus->request.is_present) {
        fields_object_open(out, "request");
        log_message(&modbus->request, true, out);
        fields_object_close(out);
    }
    if (modbus->response.is_present) {
        fields_object_open(out, "response");
        log_message(&modbus->response, false, out);
        fields_object_close(out);
    }
}
