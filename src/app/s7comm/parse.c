/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PDUs of S7comm: the header, and the parameters of functions. */
#include "s7comm_priv.h"
#include "sluice/bytes.h"

enum { HEADER = 10, ERROR = 2, PROTOCOL = 0x32 };

/* --- Items ------------------------------------------------------------------------------------------- */

enum { AREA_COUNTERS = 0x1c, AREA_IEC_TIMERS = 0x1f };

/* Returns the size of an element in bytes. */
static uint32_t element_size(uint8_t type)
{
    static const uint8_t sizes[] = {
        [0x01] = 1, [0x02] = 1, [0x03] = 1, [0x04] = 2, [0x05] = 2, [0x06] = 4, [0x07] = 4, [0x08] = 4, [0x09] = 2,
        [0x0a] = 4, [0x0b] = 4, [0x0c] = 2, [0x0f] = 8, [0x13] = 1, [0x1c] = 1, [0x1d] = 1, [0x1e] = 1, [0x1f] = 1,
    };

    return type < sizeof(sizes) && sizes[type] > 0 ? sizes[type] : 1;
}

static bool add_item(struct heap *heap, struct s7comm_tx *tx, const struct s7comm_item *item)
{
    return buffer_append(heap, &tx->items, item, sizeof(*item), UINT32_MAX) == sizeof(*item);
}

/* Parses an S7ANY item: type, number of elements, data block, area, address in bits. */
static bool parse_any(struct heap *heap, struct s7comm_tx *tx, struct cursor spec, bool *failed)
{
    enum { LENGTH = 9 };
    const uint8_t *at = cursor_read(&spec, LENGTH);
    struct s7comm_item item;

    if (!at)
        return false;
    item = (struct s7comm_item){ .type = at[0], .count = load_be16(at + 1), .db = load_be16(at + 3), .area = at[5] };
    item.address = load_be32(at + 5) & 0xffffff;
    item.size = element_size(item.type) * item.count;
    /* The address of a counter or timer is its number, not an address in bits. */
    if (item.area < AREA_COUNTERS || item.area > AREA_IEC_TIMERS) {
        item.bit = item.address & 7;
        item.address >>= 3;
    } else {
        item.size = item.count;
    }
    if (item.size == 0)
        item.size = 1;
    *failed = !add_item(heap, tx, &item);
    return true;
}

/* Parses a DBREAD item: the number of parts, and for each part its size, data block and address. */
static bool parse_db_read(struct heap *heap, struct s7comm_tx *tx, struct cursor spec, bool *failed)
{
    enum { PART = 5, TYPE_BYTE = 2 };
    uint8_t count;

    if (!cursor_u8(&spec, &count))
        return false;
    for (unsigned i = 0; i < count && !*failed; i++) {
        const uint8_t *at = cursor_read(&spec, PART);

        if (!at)
            return false;
        struct s7comm_item item = { .area = S7COMM_AREA_DB,
                                    .type = TYPE_BYTE,
                                    .count = at[0],
                                    .db = load_be16(at + 1),
                                    .address = load_be16(at + 3),
                                    .size = at[0] > 0 ? at[0] : 1 };

        *failed = !add_item(heap, tx, &item);
    }
    return true;
}

/* Parses the variables that a job reads or writes. Items of other syntaxes, such as symbolic ones, are skipped. */
static bool parse_items(struct heap *heap, struct s7comm_tx *tx, struct cursor cur, bool *failed)
{
    enum { SPECIFICATION = 0x12, SYNTAX_ANY = 0x10, SYNTAX_DB_READ = 0xb0 };
    uint8_t count, type, length, syntax;

    if (tx->rosctr != S7COMM_JOB)
        return true;
    if (!cursor_u8(&cur, &count))
        return false;
    for (unsigned i = 0; i < count && !*failed; i++) {
        if (!cursor_u8(&cur, &type) || type != SPECIFICATION || !cursor_u8(&cur, &length) || length == 0 ||
            !cursor_peek(&cur, length))
            return false;
        struct cursor spec = cursor_of(cursor_read(&cur, length), length);

        cursor_u8(&spec, &syntax);
        if (syntax == SYNTAX_ANY ? !parse_any(heap, tx, spec, failed)
                                 : syntax == SYNTAX_DB_READ && !parse_db_read(heap, tx, spec, failed))
            return false;
        if (length % 2 == 1 && i + 1U < count && !cursor_skip(&cur, 1)) /* a fill byte */
            return false;
    }
    return true;
}

/* --- Other functions --------------------------------------------------------------------------------- */

/* Stores the location of a name that follows its length. */
static bool parse_name(struct s7comm_tx *tx, struct cursor cur)
{
    uint8_t length;

    if (!cursor_u8(&cur, &length) || !cursor_peek(&cur, length))
        return false;
    tx->name_at = (uint32_t)(cur.at - tx->content.bytes);
    tx->name_length = length;
    return true;
}

/* Parses downloads and the start of an upload: status, two bytes that are unknown or an error code, the id of the
 * upload, the name of the block. */
static bool parse_block(struct heap *heap, struct s7comm_tx *tx, struct cursor cur, bool *failed)
{
    (void)heap;
    (void)failed;
    return tx->rosctr != S7COMM_JOB || (cursor_skip(&cur, 1 + 2 + 4) && parse_name(tx, cur));
}

/* Parses plc_control: seven reserved bytes, the arguments, and the name of the service. */
static bool parse_control(struct heap *heap, struct s7comm_tx *tx, struct cursor cur, bool *failed)
{
    uint16_t arguments;

    (void)heap;
    (void)failed;
    return tx->rosctr != S7COMM_JOB || (cursor_skip(&cur, 7) && cursor_be16(&cur, &arguments) &&
                                        cursor_skip(&cur, arguments) && parse_name(tx, cur));
}

static bool parse_stop(struct heap *heap, struct s7comm_tx *tx, struct cursor cur, bool *failed)
{
    (void)heap;
    (void)failed;
    return tx->rosctr != S7COMM_JOB || (cursor_skip(&cur, 5) && parse_name(tx, cur));
}

/* Parses setup_communication: the maximum numbers of parallel jobs, and the maximum length of PDUs. */
static bool parse_setup(struct heap *heap, struct s7comm_tx *tx, struct cursor cur, bool *failed)
{
    (void)heap;
    (void)failed;
    return cursor_skip(&cur, 1 + 2 + 2) && cursor_be16(&cur, &tx->pdu_length);
}

static const struct {
    uint8_t function;
    bool (*parse)(struct heap *heap, struct s7comm_tx *tx, struct cursor cur, bool *failed);
} parsers[] = {
    { S7COMM_READ_VAR, parse_items },
    { S7COMM_WRITE_VAR, parse_items },
    { S7COMM_REQUEST_DOWNLOAD, parse_block },
    { S7COMM_DOWNLOAD_BLOCK, parse_block },
    { S7COMM_DOWNLOAD_ENDED, parse_block },
    { S7COMM_START_UPLOAD, parse_block },
    { S7COMM_PLC_CONTROL, parse_control },
    { S7COMM_PLC_STOP, parse_stop },
    { S7COMM_SETUP, parse_setup },
};

/* Parses the header of user data: three constant bytes, length, method, kind and group, function, sequence number. The
 * header of a response ends with an error code. */
static bool parse_userdata(struct s7comm_tx *tx, struct cursor cur)
{
    enum { HEAD = 8, RESPONSE = 12 };
    const uint8_t *at = cursor_read(&cur, HEAD);

    if (!at)
        return false;
    tx->has_userdata = true;
    tx->kind = at[5] >> 4;
    tx->group = at[5] & 0x0f;
    tx->subfunction = at[6];
    at = cursor_read(&cur, RESPONSE - HEAD);
    if (at) {
        tx->has_error = true;
        tx->error_class = at[2];
        tx->error_code = at[3];
    }
    return true;
}

/* --- PDUs -------------------------------------------------------------------------------------------- */

enum s7comm_event s7comm_parse(struct heap *heap, struct s7comm_tx *tx, const uint8_t *bytes, uint32_t length,
                               bool *failed)
{
    uint32_t header, parameters;

    *failed = false;
    if (length < HEADER)
        return S7COMM_INVALID_LENGTH;
    if (bytes[0] != PROTOCOL)
        return S7COMM_INVALID_PROTOCOL;
    tx->rosctr = bytes[1];
    if (!s7comm_find_name(s7comm_rosctr_names, tx->rosctr))
        return S7COMM_INVALID_ROSCTR;
    tx->has_error = tx->rosctr == S7COMM_ACK || tx->rosctr == S7COMM_ACK_DATA;
    header = HEADER + (tx->has_error ? ERROR : 0);
    parameters = load_be16(bytes + 6);
    if (length < header)
        return S7COMM_INVALID_LENGTH;
    tx->is_parsed = true;
    tx->reference = load_be16(bytes + 4);
    if (tx->has_error) {
        tx->error_class = bytes[HEADER];
        tx->error_code = bytes[HEADER + 1];
    }
    if (length > header &&
        buffer_append(heap, &tx->content, bytes + header, length - header, S7COMM_PDU_MAX) < length - header) {
        *failed = true;
        return S7COMM_EVENTS;
    }
    if (parameters > tx->content.length)
        return S7COMM_INVALID_LENGTH;
    struct cursor cur = cursor_of(tx->content.bytes, parameters);
    bool is_valid = true;

    if (tx->rosctr == S7COMM_USERDATA)
        is_valid = parse_userdata(tx, cur);
    else
        tx->has_function = cursor_u8(&cur, &tx->function);
    /* The response to a refused job has no parameters other than the function. */
    if (tx->has_function && (tx->error_class == 0 || cursor_remaining(&cur) > 0))
        for (size_t i = 0; i < sizeof(parsers) / sizeof(parsers[0]); i++)
            if (parsers[i].function == tx->function)
                is_valid = parsers[i].parse(heap, tx, cur, failed);
    if (header + parameters + load_be16(bytes + 8) != length)
        return S7COMM_INVALID_LENGTH;
    return is_valid ? S7COMM_EVENTS : S7COMM_INVALID_PARAMETER;
}
