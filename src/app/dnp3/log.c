/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DNP3 in EVE events. */
#include <string.h>

#include "dnp3_priv.h"
#include "sluice/bytes.h"

enum { LOGGED_POINTS_MAX = 512 };

/* Bits of a point, read from the lowest bit of the first byte on. */
struct bits {
    const uint8_t *bytes;
    uint32_t length; /* bytes */
    uint64_t at;     /* bit */
};

static uint64_t read_bits(struct bits *in, unsigned count)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < count; i++, in->at++)
        if (in->at / 8 < in->length)
            value |= (uint64_t)(in->bytes[in->at / 8] >> in->at % 8 & 1) << i;
    return value;
}

static double to_double(uint64_t bits, unsigned count)
{
    uint32_t low = (uint32_t)bits;
    float number;
    double value;

    if (count == 32) {
        memcpy(&number, &low, sizeof(number));
        return (double)number;
    }
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Writes the text at the position, which must be at a byte boundary: `length` bytes, or up to the end of the point. */
static void log_text(const char *name, struct bits *in, uint64_t length, struct fields *out)
{
    uint64_t at = in->at / 8, left = at < in->length ? in->length - at : 0;

    length = length < left ? length : left;
    fields_bytes(out, name, in->bytes + (left > 0 ? at : 0), (size_t)length);
    in->at += length * 8;
}

/* Returns the length of a text in bytes: the value of its length field, or UINT64_MAX if it has none. `in` is at the
 * first field. */
static uint64_t text_length(const struct dnp3_format *format, struct bits in, const char *name)
{
    for (const struct dnp3_field *field = format->fields; field->name; field++) {
        uint64_t value = read_bits(&in, field->bits);

        if (field->length_of && strcmp(field->length_of, name) == 0)
            return value;
    }
    return UINT64_MAX;
}

static void log_fields(const struct dnp3_format *format, struct bits *in, struct fields *out)
{
    const struct bits start = *in;

    for (const struct dnp3_field *field = format->fields; field->name; field++) {
        uint64_t value = read_bits(in, field->bits);

        if (field->type == DNP3_TEXT)
            log_text(field->name, in, text_length(format, start, field->name), out);
        else if (field->type == DNP3_FLOAT)
            fields_double(out, field->name, to_double(value, field->bits));
        else if (field->type == DNP3_SIGNED && value >> (field->bits - 1) & 1)
            fields_int(out, field->name, (int64_t)(value | ~UINT64_C(0) << field->bits));
        else
            fields_uint(out, field->name, value);
    }
}

/* Writes the fields of a point that begins at in->at and has `size` bytes. */
static void log_sized_point(const struct dnp3_format *format, struct bits *in, uint64_t size, struct fields *out)
{
    struct bits point = { .bytes = in->bytes, .length = (uint32_t)(in->at / 8 + size), .at = in->at };

    fields_uint(out, "size", size);
    log_fields(format, &point, out);
    in->at += size * 8;
}

static void log_points(const struct dnp3_tx *tx, const struct dnp3_object *object, struct fields *out)
{
    const struct dnp3_format *format = dnp3_find_format(object->group, object->variation);
    struct bits in = { .bytes = tx->data.bytes, .length = tx->data.length, .at = (uint64_t)object->at * 8 };
    unsigned prefix_bits = 8 * dnp3_prefix_size(object->qualifier);
    bool is_packed = format && dnp3_format_bits(format) < 8, is_sized = dnp3_has_size_prefix(object->qualifier);

    if (object->points == 0 || !format)
        return;
    fields_array_open(out, "points");
    for (uint32_t i = 0; i < object->points && i < LOGGED_POINTS_MAX; i++) {
        uint64_t prefix = read_bits(&in, prefix_bits);

        fields_object_open(out, NULL);
        fields_uint(out, "prefix", prefix);
        fields_uint(out, "index", prefix_bits > 0 && !is_sized ? prefix : (uint64_t)object->start + i);
        if (is_sized)
            log_sized_point(format, &in, prefix, out);
        else
            log_fields(format, &in, out);
        if (is_packed && prefix_bits > 0)
            in.at = (in.at + 7) / 8 * 8;
        fields_object_close(out);
    }
    fields_array_close(out);
}

static void log_objects(const struct dnp3_tx *tx, struct fields *out)
{
    if (tx->object_count == 0)
        return;
    fields_array_open(out, "objects");
    for (uint32_t i = 0; i < tx->object_count; i++) {
        const struct dnp3_object *object = dnp3_get_object(tx, i);

        fields_object_open(out, NULL);
        fields_uint(out, "group", object->group);
        fields_uint(out, "variation", object->variation);
        fields_uint(out, "qualifier", object->qualifier);
        fields_uint(out, "prefix_code", object->qualifier >> 4 & 7);
        fields_uint(out, "range_code", object->qualifier & 0x0f);
        fields_uint(out, "start", object->start);
        fields_uint(out, "stop", object->stop);
        fields_uint(out, "count", object->count);
        log_points(tx, object, out);
        fields_object_close(out);
    }
    fields_array_close(out);
}

static void log_application(const struct dnp3_tx *tx, struct fields *out)
{
    fields_object_open(out, "application");
    fields_object_open(out, "control");
    fields_bool(out, "fir", tx->control & 0x80);
    fields_bool(out, "fin", tx->control & 0x40);
    fields_bool(out, "con", tx->control & 0x20);
    fields_bool(out, "uns", tx->control & 0x10);
    fields_uint(out, "sequence", tx->control & 0x0f);
    fields_object_close(out);
    fields_uint(out, "function_code", tx->function);
    log_objects(tx, out);
    fields_bool(out, "complete", tx->complete);
    fields_object_close(out);
}

void dnp3_log(const struct app_tx *tx, const void *settings, struct fields *out)
{
    const struct dnp3_tx *dnp3 = (const struct dnp3_tx *)tx;

    (void)settings;
    if (!dnp3->has_message)
        return;
    fields_string(out, "type",
                  dnp3->function == DNP3_UNSOLICITED_RESPONSE ? "unsolicited_response"
                  : dnp3_is_response(dnp3->function)          ? "response"
                                                              : "request");
    fields_object_open(out, "control");
    fields_bool(out, "dir", dnp3->link.control & 0x80);
    fields_bool(out, "pri", dnp3->link.control & 0x40);
    fields_bool(out, "fcb", dnp3->link.control & 0x20);
    fields_bool(out, "fcv", dnp3->link.control & 0x10);
    fields_uint(out, "function_code", dnp3->link.control & 0x0f);
    fields_object_close(out);
    fields_uint(out, "src", dnp3->link.source);
    fields_uint(out, "dst", dnp3->link.destination);
    if (dnp3->indications != 0) {
        fields_object_open(out, "iin");
        fields_array_open(out, "indicators");
        for (const struct dnp3_name *name = dnp3_indication_names; name->name; name++)
            if (dnp3->indications & name->value)
                fields_string(out, NULL, name->name);
        fields_array_close(out);
        fields_object_close(out);
    }
    log_application(dnp3, out);
}
