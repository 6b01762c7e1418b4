/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Objects of DNP3 messages. An object header has a group, a variation, and a range or count of points. The group and
 * the variation determine the size of a point; in file objects, each point is preceded by its size. So the objects
 * after one of an unknown kind cannot be parsed. Points are formatted only when they are logged.
 */
#include "dnp3_priv.h"
#include "sluice/bytes.h"

#define END                                                                                                            \
    {                                                                                                                  \
        NULL, 0, DNP3_UNSIGNED, NULL                                                                                   \
    }
#define U(name, bits)                                                                                                  \
    {                                                                                                                  \
        name, bits, DNP3_UNSIGNED, NULL                                                                                \
    }
#define S(name, bits)                                                                                                  \
    {                                                                                                                  \
        name, bits, DNP3_SIGNED, NULL                                                                                  \
    }
#define F(bits)                                                                                                        \
    {                                                                                                                  \
        "value", bits, DNP3_FLOAT, NULL                                                                                \
    }
#define TEXT(name)                                                                                                     \
    {                                                                                                                  \
        name, 0, DNP3_TEXT, NULL                                                                                       \
    }
#define LENGTH(text)                                                                                                   \
    {                                                                                                                  \
        text "_size", 16, DNP3_UNSIGNED, text                                                                          \
    }

#define INPUT_FLAGS                                                                                                    \
    U("online", 1), U("restart", 1), U("comm_lost", 1), U("remote_forced", 1), U("local_forced", 1),                   \
        U("chatter_filter", 1), U("reserved", 1), U("state", 1)
#define DOUBLE_FLAGS                                                                                                   \
    U("online", 1), U("restart", 1), U("comm_lost", 1), U("remote_forced", 1), U("local_forced", 1),                   \
        U("chatter_filter", 1), U("state", 2)
#define OUTPUT_FLAGS                                                                                                   \
    U("online", 1), U("restart", 1), U("comm_lost", 1), U("remote_forced", 1), U("local_forced", 1),                   \
        U("reserved0", 1), U("reserved1", 1), U("state", 1)
#define COUNTER_FLAGS                                                                                                  \
    U("online", 1), U("restart", 1), U("comm_lost", 1), U("remote_forced", 1), U("local_forced", 1), U("rollover", 1), \
        U("discontinuity", 1), U("reserved0", 1)
#define ANALOG_FLAGS                                                                                                   \
    U("online", 1), U("restart", 1), U("comm_lost", 1), U("remote_forced", 1), U("local_forced", 1),                   \
        U("over_range", 1), U("reference_err", 1), U("reserved0", 1)
#define DELTA_FLAGS                                                                                                    \
    U("online", 1), U("restart", 1), U("comm_lost", 1), U("remote_forced", 1), U("local_forced", 1), U("rollover", 1), \
        U("reserved0", 1), U("reserved1", 1)
#define TIME U("timestamp", 48)

#define FIELDS(name, ...) static const struct dnp3_field name[] = { __VA_ARGS__, END }

FIELDS(bit, U("state", 1));
FIELDS(two_bits, U("state", 2));
FIELDS(point, U("point", 1));
FIELDS(state, U("state", 8)); /* as in Suricata, without the names of the bits */
FIELDS(input, INPUT_FLAGS);
FIELDS(input_time, INPUT_FLAGS, TIME);
FIELDS(input_relative, INPUT_FLAGS, U("timestamp", 16));
FIELDS(double_input, DOUBLE_FLAGS);
FIELDS(double_time, DOUBLE_FLAGS, TIME);
FIELDS(double_relative, DOUBLE_FLAGS, U("relative_time_ms", 16));
FIELDS(output, OUTPUT_FLAGS);
FIELDS(output_time, OUTPUT_FLAGS, TIME);
FIELDS(control_block, U("op_type", 4), U("qu", 1), U("cr", 1), U("tcc", 2), U("count", 8), U("ontime", 32),
       U("offtime", 32), U("status_code", 7), U("reserved", 1));
FIELDS(command_status, U("status_code", 7), U("commanded_state", 1));
FIELDS(command_status_time, U("status_code", 7), U("commanded_state", 1), TIME);
FIELDS(counter32, COUNTER_FLAGS, U("count", 32));
FIELDS(counter16, COUNTER_FLAGS, U("count", 16));
FIELDS(counter32_time, COUNTER_FLAGS, U("count", 32), TIME);
FIELDS(counter16_time, COUNTER_FLAGS, U("count", 16), TIME);
FIELDS(delta32, DELTA_FLAGS, U("count", 32));
FIELDS(delta16, DELTA_FLAGS, U("count", 16));
FIELDS(delta32_time, DELTA_FLAGS, U("count", 32), TIME);
FIELDS(delta16_time, DELTA_FLAGS, U("count", 16), TIME);
FIELDS(count32, U("count", 32));
FIELDS(count16, U("count", 16));
FIELDS(analog32, ANALOG_FLAGS, S("value", 32));
FIELDS(analog16, ANALOG_FLAGS, S("value", 16));
FIELDS(analog32_time, ANALOG_FLAGS, S("value", 32), TIME);
FIELDS(analog16_time, ANALOG_FLAGS, S("value", 16), TIME);
FIELDS(analog_float, ANALOG_FLAGS, F(32));
FIELDS(analog_double, ANALOG_FLAGS, F(64));
FIELDS(analog_float_time, ANALOG_FLAGS, F(32), TIME);
FIELDS(analog_double_time, ANALOG_FLAGS, F(64), TIME);
FIELDS(value32, S("value", 32));
FIELDS(value16, S("value", 16));
FIELDS(value_float, F(32));
FIELDS(command32, S("value", 32), U("control_status", 8));
FIELDS(command16, S("value", 16), U("control_status", 8));
FIELDS(command_float, F(32), U("control_status", 8));
FIELDS(command_double, F(64), U("control_status", 8));
FIELDS(time_only, TIME);
FIELDS(time_interval, TIME, U("interval", 32));
FIELDS(delay_seconds, U("delay_secs", 16));
FIELDS(delay_milliseconds, U("delay_ms", 16));
FIELDS(file_identifier, LENGTH("filename"), U("filetype_code", 8), U("attribute_code", 8), U("start_record", 16),
       U("end_record", 16), U("file_size", 32), U("created_timestamp", 48), U("permission", 16), U("file_id", 32),
       U("owner_id", 32), U("group_id", 32), U("file_function_code", 8), U("status_code", 8), TEXT("filename"));
FIELDS(file_authentication, U("username_offset", 16), LENGTH("username"), U("password_offset", 16), LENGTH("password"),
       U("authentication_key", 32), TEXT("username"), TEXT("password"));
FIELDS(file_command, U("filename_offset", 16), LENGTH("filename"), U("created", 48), U("permissions", 16),
       U("authentication_key", 32), U("file_size", 32), U("operational_mode", 16), U("maximum_block_size", 16),
       U("request_id", 16), TEXT("filename"));
FIELDS(file_status, U("file_handle", 32), U("file_size", 32), U("maximum_block_size", 16), U("request_id", 16),
       U("status_code", 8), TEXT("optional_text"));
FIELDS(file_transport, U("file_handle", 32), U("block_number", 32), TEXT("file_data"));
FIELDS(file_transport_status, U("file_handle", 32), U("block_number", 32), U("status_code", 8), TEXT("optional_text"));
FIELDS(file_descriptor, U("filename_offset", 16), LENGTH("filename"), U("file_type", 16), U("file_size", 32),
       U("created_timestamp", 48), U("permissions", 16), U("request_id", 16), TEXT("filename"));
FIELDS(file_specification, TEXT("file_specification"));

static const struct dnp3_format formats[] = {
    { 1, 1, bit },
    { 1, 2, input },
    { 2, 1, state },
    { 2, 2, input_time },
    { 2, 3, input_relative },
    { 3, 1, two_bits },
    { 3, 2, double_input },
    { 4, 1, double_input },
    { 4, 2, double_time },
    { 4, 3, double_relative },
    { 10, 1, bit },
    { 10, 2, output },
    { 11, 1, output },
    { 11, 2, output_time },
    { 12, 1, control_block },
    { 12, 2, control_block },
    { 12, 3, point },
    { 13, 1, command_status },
    { 13, 2, command_status_time },
    { 20, 1, counter32 },
    { 20, 2, counter16 },
    { 20, 3, delta32 },
    { 20, 4, delta16 },
    { 20, 5, count32 },
    { 20, 6, count16 },
    { 20, 7, count32 },
    { 20, 8, count16 },
    { 21, 1, counter32 },
    { 21, 2, counter16 },
    { 21, 3, delta32 },
    { 21, 4, delta16 },
    { 21, 5, counter32_time },
    { 21, 6, counter16_time },
    { 21, 7, delta32_time },
    { 21, 8, delta16_time },
    { 21, 9, count32 },
    { 21, 10, count16 },
    { 21, 11, count32 },
    { 21, 12, count16 },
    { 22, 1, counter32 },
    { 22, 2, counter16 },
    { 22, 3, delta32 },
    { 22, 4, delta16 },
    { 22, 5, counter32_time },
    { 22, 6, counter16_time },
    { 22, 7, delta32_time },
    { 22, 8, delta16_time },
    { 23, 1, counter32 },
    { 23, 2, counter16 },
    { 23, 3, delta32 },
    { 23, 4, delta16 },
    { 23, 5, counter32_time },
    { 23, 6, counter16_time },
    { 23, 7, delta32_time },
    { 23, 8, delta16_time },
    { 30, 1, analog32 },
    { 30, 2, analog16 },
    { 30, 3, value32 },
    { 30, 4, value16 },
    { 30, 5, analog_float },
    { 30, 6, analog_double },
    { 31, 1, analog32 },
    { 31, 2, analog16 },
    { 31, 3, analog32_time },
    { 31, 4, analog16_time },
    { 31, 5, value32 },
    { 31, 6, value16 },
    { 31, 7, analog_float },
    { 31, 8, analog_double },
    { 32, 1, analog32 },
    { 32, 2, analog16 },
    { 32, 3, analog32_time },
    { 32, 4, analog16_time },
    { 32, 5, analog_float },
    { 32, 6, analog_double },
    { 32, 7, analog_float_time },
    { 32, 8, analog_double_time },
    { 33, 1, analog32 },
    { 33, 2, analog16 },
    { 33, 3, analog32_time },
    { 33, 4, analog16_time },
    { 33, 5, analog_float },
    { 33, 6, analog_double },
    { 33, 7, analog_float_time },
    { 33, 8, analog_double_time },
    { 34, 1, value16 },
    { 34, 2, value32 },
    { 34, 3, value_float },
    { 40, 1, analog32 },
    { 40, 2, analog16 },
    { 40, 3, analog_float },
    { 40, 4, analog_double },
    { 41, 1, command32 },
    { 41, 2, command16 },
    { 41, 3, command_float },
    { 41, 4, command_double },
    { 42, 1, analog32 },
    { 42, 2, analog16 },
    { 42, 3, analog32_time },
    { 42, 4, analog16_time },
    { 42, 5, analog_float },
    { 42, 6, analog_double },
    { 42, 7, analog_float_time },
    { 42, 8, analog_double_time },
    { 50, 1, time_only },
    { 50, 2, time_interval },
    { 50, 3, time_only },
    { 51, 1, time_only },
    { 51, 2, time_only },
    { 52, 1, delay_seconds },
    { 52, 2, delay_milliseconds },
    { 70, 1, file_identifier },
    { 70, 2, file_authentication },
    { 70, 3, file_command },
    { 70, 4, file_status },
    { 70, 5, file_transport },
    { 70, 6, file_transport_status },
    { 70, 7, file_descriptor },
    { 70, 8, file_specification },
    { 80, 1, bit },
};

const struct dnp3_format *dnp3_find_format(uint8_t group, uint8_t variation)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (formats[i].group == group && formats[i].variation == variation)
            return &formats[i];
    return NULL;
}

unsigned dnp3_format_bits(const struct dnp3_format *format)
{
    unsigned bits = 0;

    for (const struct dnp3_field *field = format->fields; field->name; field++)
        bits += field->bits;
    return bits;
}

unsigned dnp3_prefix_size(uint8_t qualifier)
{
    static const uint8_t sizes[8] = { 0, 1, 2, 4, 1, 2, 4, 0 };

    return sizes[qualifier >> 4 & 7];
}

/* Reads a little-endian number of 1, 2 or 4 bytes. */
static bool read_number(struct cursor *cur, unsigned size, uint32_t *out)
{
    const uint8_t *bytes = cursor_read(cur, size);

    if (!bytes)
        return false;
    *out = size == 1 ? bytes[0] : size == 2 ? load_le16(bytes) : load_le32(bytes);
    return true;
}

/* Parses the range of an object header: start and stop, a count, or nothing (all points). */
static bool parse_range(struct dnp3_object *object, struct cursor *cur)
{
    unsigned code = object->qualifier & 0x0f;
    unsigned size = 1u << (code % 3);

    if (code == 6)
        return true;
    if (code <= 2) {
        if (!read_number(cur, size, &object->start) || !read_number(cur, size, &object->stop) ||
            object->stop < object->start)
            return false;
        object->count = object->stop - object->start + (object->stop - object->start < UINT32_MAX);
        return true;
    }
    if (code >= 7 && code <= 9)
        return read_number(cur, 1u << (code - 7), &object->count);
    return code == 11 && read_number(cur, 1, &object->count);
}

/* Skips points that are preceded by their size. Returns false if bytes are missing. */
static bool skip_sized_points(struct dnp3_object *object, unsigned bits, struct cursor *cur)
{
    for (; object->points < object->count; object->points++) {
        uint32_t size;

        if (!read_number(cur, dnp3_prefix_size(object->qualifier), &size) || size < bits / 8 || !cursor_skip(cur, size))
            return false;
    }
    return true;
}

static bool has_text(const struct dnp3_format *format)
{
    const struct dnp3_field *field = format->fields;

    while (field->name && field->type != DNP3_TEXT)
        field++;
    return field->name != NULL;
}

/* Skips the points of the object. Returns false if bytes are missing. */
static bool skip_points(struct dnp3_object *object, unsigned bits, struct cursor *cur)
{
    unsigned prefix = dnp3_prefix_size(object->qualifier);
    uint64_t size = bits < 8 ? ((uint64_t)object->count * bits + 7) / 8 : (uint64_t)object->count * (bits / 8);

    if (bits < 8 && prefix > 0) /* each point is in a byte of its own */
        size = object->count;
    size += (uint64_t)object->count * prefix;
    if (size > cursor_remaining(cur))
        return false;
    object->points = object->count;
    return cursor_skip(cur, (size_t)size);
}

/* Returns whether points follow the object header. They do in responses, and in requests that write or operate; other
 * requests, such as reads, only have the range or count of the points. Points with a size prefix always follow. */
static bool has_points(const struct dnp3_tx *tx, const struct dnp3_object *object)
{
    return object->count > 0 && (dnp3_is_response(tx->function) || dnp3_has_size_prefix(object->qualifier) ||
                                 (tx->function >= DNP3_WRITE && tx->function <= DNP3_DIRECT_OPERATE_NR));
}

/* Adds the number of points to *points, and skips the points if they follow. Returns the event that ends parsing, or
 * DNP3_EVENTS if there is none; *malformed: bytes are missing. */
static enum dnp3_event parse_points(const struct dnp3_tx *tx, struct dnp3_object *object, struct cursor *cur,
                                    uint64_t *points, const struct dnp3_settings *settings, bool *malformed)
{
    const struct dnp3_format *format = dnp3_find_format(object->group, object->variation);

    *points += object->count;
    if (!has_points(tx, object))
        return DNP3_EVENTS;
    if (*points > settings->max_points)
        return DNP3_TOO_MANY_POINTS;
    if (!format)
        return DNP3_UNKNOWN_OBJECT;
    if (dnp3_has_size_prefix(object->qualifier))
        *malformed = !skip_sized_points(object, dnp3_format_bits(format), cur);
    else
        *malformed = has_text(format) || !skip_points(object, dnp3_format_bits(format), cur);
    return DNP3_EVENTS;
}

enum dnp3_event dnp3_parse_objects(struct heap *heap, struct dnp3_tx *tx, uint32_t header,
                                   const struct dnp3_settings *settings, bool *failed)
{
    struct cursor cur = cursor_of(tx->data.bytes + header, tx->data.length - header);
    uint64_t points = 0;

    while (cursor_remaining(&cur) > 0) {
        struct dnp3_object object = { 0 };
        enum dnp3_event event = DNP3_EVENTS;
        bool malformed;

        if (tx->object_count >= settings->max_objects)
            return DNP3_TOO_MANY_OBJECTS;
        if (!cursor_u8(&cur, &object.group) || !cursor_u8(&cur, &object.variation) ||
            !cursor_u8(&cur, &object.qualifier))
            return DNP3_EVENTS;
        malformed = !parse_range(&object, &cur);
        object.at = (uint32_t)(cur.at - tx->data.bytes);
        if (!malformed)
            event = parse_points(tx, &object, &cur, &points, settings, &malformed);
        /* Store unknown and malformed objects, too, because rules compare their group and variation. */
        if (buffer_append(heap, &tx->objects, &object, sizeof(object), UINT32_MAX) != sizeof(object)) {
            *failed = true;
            return DNP3_EVENTS;
        }
        tx->object_count++;
        if (event != DNP3_EVENTS || malformed)
            return event;
    }
    tx->complete = true;
    return DNP3_EVENTS;
}
