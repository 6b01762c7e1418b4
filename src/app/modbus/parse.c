/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Contents of Modbus requests and responses. */
#include "modbus_priv.h"
#include "sluice/bytes.h"

enum {
    BITS_MAX = 2000,
    BITS_WRITTEN_MAX = 1968,
    REGISTERS_MAX = 125,
    REGISTERS_WRITTEN_MAX = 123,
    READ_WRITE_MAX = 121
};

static uint8_t access_of(uint8_t function)
{
    static const uint8_t access[] = {
        [MODBUS_READ_COILS] = MODBUS_READ | MODBUS_COILS,
        [MODBUS_READ_DISCRETE_INPUTS] = MODBUS_READ | MODBUS_DISCRETES,
        [MODBUS_READ_HOLDING_REGISTERS] = MODBUS_READ | MODBUS_HOLDING,
        [MODBUS_READ_INPUT_REGISTERS] = MODBUS_READ | MODBUS_INPUT,
        [MODBUS_WRITE_COIL] = MODBUS_WRITE | MODBUS_COILS | MODBUS_SINGLE,
        [MODBUS_WRITE_REGISTER] = MODBUS_WRITE | MODBUS_HOLDING | MODBUS_SINGLE,
        [MODBUS_WRITE_COILS] = MODBUS_WRITE | MODBUS_COILS | MODBUS_MULTIPLE,
        [MODBUS_WRITE_REGISTERS] = MODBUS_WRITE | MODBUS_HOLDING | MODBUS_MULTIPLE,
        [MODBUS_MASK_WRITE] = MODBUS_WRITE | MODBUS_HOLDING,
        [MODBUS_READ_WRITE] = MODBUS_READ | MODBUS_WRITE | MODBUS_HOLDING | MODBUS_MULTIPLE,
    };

    return function < sizeof(access) ? access[function] : 0;
}

/* Category of a function code without the bit of exceptions. Reserved codes and codes that users may define are in
 * ranges. */
static uint8_t category_of(const struct modbus_message *message, uint8_t function)
{
    static const struct {
        uint8_t first, category; /* category of all codes below the next row's first */
    } ranges[] = {
        { 0, 0 },
        { 1, MODBUS_ASSIGNED },
        { 9, MODBUS_RESERVED },
        { 11, MODBUS_ASSIGNED },
        { 13, MODBUS_RESERVED },
        { 15, MODBUS_ASSIGNED },
        { 18, MODBUS_RESERVED },
        { 20, MODBUS_ASSIGNED },
        { 25, MODBUS_UNASSIGNED },
        { 41, MODBUS_RESERVED },
        { 43, MODBUS_ASSIGNED },
        { 44, MODBUS_UNASSIGNED },
        { 65, MODBUS_USER },
        { 73, MODBUS_UNASSIGNED },
        { 90, MODBUS_RESERVED },
        { 92, MODBUS_UNASSIGNED },
        { 100, MODBUS_USER },
        { 111, MODBUS_UNASSIGNED },
        { 125, MODBUS_RESERVED },
        { 128, 0 },
    };
    unsigned at = 0;

    if (!(message->function & MODBUS_EXCEPTION) && function == MODBUS_DIAGNOSTIC)
        return message->subfunction > 21 || (message->subfunction > 4 && message->subfunction < 10) ? MODBUS_RESERVED
                                                                                                    : MODBUS_ASSIGNED;
    if (!(message->function & MODBUS_EXCEPTION) && function == MODBUS_MEI)
        return message->mei == 13 || message->mei == 14 ? MODBUS_ASSIGNED : MODBUS_RESERVED;
    while (at + 1 < sizeof(ranges) / sizeof(ranges[0]) && function >= ranges[at + 1].first)
        at++;
    return ranges[at].category;
}

static void store_data(struct modbus_message *out, struct cursor *cur)
{
    size_t length = cursor_remaining(cur);
    const uint8_t *bytes = cursor_read(cur, length);

    if (length > MODBUS_DATA_MAX)
        length = MODBUS_DATA_MAX;
    if (length > 0)
        memcpy(out->data, bytes, length);
    out->data_length = (uint8_t)length;
}

static bool read_pair(struct cursor *cur, uint16_t *a, uint16_t *b)
{
    return cursor_be16(cur, a) && cursor_be16(cur, b);
}

/* Reads the number of bytes that follow, which must be `expected`, and stores them. */
static void read_counted(struct modbus_message *out, struct cursor *cur, uint32_t expected)
{
    uint8_t count = 0;

    if (!cursor_u8(cur, &count) || count != cursor_remaining(cur))
        out->errors |= MODBUS_DATA_LENGTH;
    else if (count != expected)
        out->errors |= MODBUS_DATA_VALUE;
    store_data(out, cur);
}

static void check_quantity(struct modbus_message *out, uint16_t quantity, uint16_t limit)
{
    if (quantity == 0 || quantity > limit)
        out->errors |= MODBUS_DATA_VALUE;
}

static uint32_t bytes_of(const struct modbus_message *message, uint32_t quantity)
{
    return message->access & (MODBUS_COILS | MODBUS_DISCRETES) ? (quantity + 7) / 8 : 2 * quantity;
}

/* Parses address and quantity of a read, and address and data of a write. Returns false if bytes are missing. */
static bool parse_access(struct modbus_message *out, struct cursor *cur)
{
    if (out->access & MODBUS_READ) {
        out->has_read = read_pair(cur, &out->read_address, &out->read_quantity);
        if (!out->has_read)
            return false;
        check_quantity(out, out->read_quantity,
                       out->access & (MODBUS_COILS | MODBUS_DISCRETES) ? BITS_MAX : REGISTERS_MAX);
    }
    if (!(out->access & MODBUS_WRITE))
        return true;
    if (!read_pair(cur, &out->write_address, out->access & MODBUS_MULTIPLE ? &out->write_quantity : &out->write_value))
        return false;
    out->has_write = true;
    if (out->access & MODBUS_MULTIPLE) {
        check_quantity(out, out->write_quantity,
                       out->function == MODBUS_WRITE_COILS       ? BITS_WRITTEN_MAX
                       : out->function == MODBUS_WRITE_REGISTERS ? REGISTERS_WRITTEN_MAX
                                                                 : READ_WRITE_MAX);
        read_counted(out, cur, bytes_of(out, out->write_quantity));
        return true;
    }
    out->write_quantity = 1;
    if (out->function == MODBUS_WRITE_COIL && out->write_value != 0 && out->write_value != 0xff00)
        out->errors |= MODBUS_DATA_VALUE;
    /* MODBUS_MASK_WRITE has two masks; the first is write_value. */
    return out->function != MODBUS_MASK_WRITE || cursor_skip(cur, 2);
}

/* Parses the type of a diagnostic or MEI message, and stores the rest. Returns false if bytes are missing. */
static bool parse_other(struct modbus_message *out, uint8_t function, struct cursor *cur)
{
    if (function == MODBUS_DIAGNOSTIC ? !cursor_be16(cur, &out->subfunction)
        : function == MODBUS_MEI      ? !cursor_u8(cur, &out->mei)
                                      : false)
        return false;
    store_data(out, cur);
    return true;
}

void modbus_parse_request(struct modbus_message *out, const uint8_t *bytes, uint32_t length)
{
    struct cursor cur = cursor_of(bytes, length);

    out->access = access_of(out->function);
    if (out->function == 0 || out->function & MODBUS_EXCEPTION)
        out->errors |= MODBUS_FUNCTION_CODE;
    if (out->access ? !parse_access(out, &cur) : !parse_other(out, out->function, &cur))
        out->errors |= MODBUS_DATA_LENGTH;
    if (out->access && cursor_remaining(&cur) > 0)
        out->errors |= MODBUS_DATA_LENGTH;
    out->category = category_of(out, out->function);
}

static void parse_exception(struct modbus_message *out, struct cursor *cur)
{
    if (!cursor_u8(cur, &out->exception) || cursor_remaining(cur) > 0)
        out->errors |= MODBUS_DATA_LENGTH;
    if (out->exception == 0 || out->exception == 9 || out->exception > 11)
        out->errors |= MODBUS_EXCEPTION_CODE;
}

/* Parses the response to a write, which repeats the request; of multiple writes, address and quantity. */
static void parse_echo(struct modbus_message *out, const struct modbus_message *request, struct cursor *cur)
{
    out->has_write = read_pair(cur, &out->write_address, &out->write_value);
    if (!out->has_write || (out->function == MODBUS_MASK_WRITE && !cursor_skip(cur, 2)) || cursor_remaining(cur) > 0)
        out->errors |= MODBUS_DATA_LENGTH;
    else if (request && request->has_write &&
             (out->write_address != request->write_address ||
              out->write_value != (request->access & MODBUS_MULTIPLE ? request->write_quantity : request->write_value)))
        out->errors |= MODBUS_DATA_VALUE;
}

void modbus_parse_response(struct modbus_message *out, const struct modbus_message *request, const uint8_t *bytes,
                           uint32_t length)
{
    struct cursor cur = cursor_of(bytes, length);
    uint8_t function = out->function & (uint8_t)~MODBUS_EXCEPTION, count = 0;

    out->access = access_of(function);
    if (function == 0)
        out->errors |= MODBUS_FUNCTION_CODE;
    if (out->function & MODBUS_EXCEPTION) {
        parse_exception(out, &cur);
    } else if (out->access & MODBUS_READ) {
        out->has_read = cursor_remaining(&cur) > 0;
        count = out->has_read ? *cur.at : 0;
        read_counted(out, &cur,
                     request && request->has_read ? bytes_of(request, request->read_quantity) : (uint32_t)count);
    } else if (out->access & MODBUS_WRITE) {
        parse_echo(out, request, &cur);
    } else if (!parse_other(out, function, &cur)) {
        out->errors |= MODBUS_DATA_LENGTH;
    }
    out->category = category_of(out, function);
}
