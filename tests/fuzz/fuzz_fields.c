/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fields of events. The input selects the size of the buffer, and the values to write. The contract: complete fields
 * are rendered as well-formed JSON; truncated ones are rendered or refused, without a read past their end.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/address.h"
#include "sluice/fields.h"
#include "sluice/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *at, *end;
};

static unsigned next(struct input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

static void write_value(struct fields *fields, struct input *in, unsigned kind, const char *key)
{
    size_t length = next(in), left = (size_t)(in->end - in->at);
    const uint8_t *value = in->at;
    struct address address = { { 1, 2, 3 } };

    length = length < left ? length : left;
    in->at += length;
    if (kind == 0)
        fields_bytes(fields, key, value, length);
    else if (kind == 1)
        fields_hex(fields, key, value, length);
    else if (kind == 2)
        fields_colon_hex(fields, key, value, length);
    else if (kind == 3)
        fields_base64(fields, key, value, length);
    else if (kind == 4)
        fields_uint(fields, key, length);
    else if (kind == 5)
        fields_int(fields, key, -(int64_t)length);
    else if (kind == 6)
        fields_time(fields, key, (int64_t)(length << 30) - INT64_C(50000000000));
    else if (kind == 7)
        fields_address(fields, key, length & 1 ? 6 : 4, &address);
    else if (kind == 8 && key)
        fields_bytes_named(fields, value, length / 2, value, length);
    else if (kind == 9)
        fields_double(fields, key, length / 8.0);
    else
        fields_bool(fields, key, length & 1);
}

/* Writes values, objects and arrays as the input says, and closes them at the end. */
static void write_all(struct fields *fields, struct input *in)
{
    bool in_array[64] = { false };
    unsigned depth = 0;

    while (in->at < in->end) {
        unsigned what = next(in) % 16;
        const char *key = in_array[depth] ? NULL : "key";

        if (what < 2 && depth < 63) {
            (what ? fields_array_open : fields_object_open)(fields, key);
            in_array[++depth] = what;
        } else if (what < 5 && depth > 0) {
            (in_array[depth--] ? fields_array_close : fields_object_close)(fields);
        } else {
            write_value(fields, in, what % 11, key);
        }
    }
    while (depth > 0)
        (in_array[depth--] ? fields_array_close : fields_object_close)(fields);
}

/* Returns whether the brackets outside of strings match, and the last string is closed. */
static bool is_balanced(const char *json, size_t length)
{
    char open[128];
    size_t depth = 0;
    bool quoted = false;

    for (size_t i = 0; i < length; i++) {
        if (quoted && json[i] == '\\')
            i++;
        else if (json[i] == '"')
            quoted = !quoted;
        else if (quoted)
            continue;
        else if ((json[i] == '{' || json[i] == '[') && depth < sizeof(open))
            open[depth++] = json[i] == '{' ? '}' : ']';
        else if ((json[i] == '}' || json[i] == ']') && (depth == 0 || open[--depth] != json[i]))
            return false;
    }
    return depth == 0 && !quoted;
}

static bool render(const uint8_t *bytes, uint32_t length, bool check)
{
    uint8_t *copy = malloc(length + 1); /* a copy, so that a sanitizer detects most reads past the end */
    struct text out;
    bool rendered;

    memcpy(copy, bytes, length);
    text_init(&out);
    json_object_open(&out, NULL);
    rendered = fields_render(copy, length, &out);
    json_object_close(&out);
    if (check && (!rendered || !is_balanced(out.bytes, out.length)))
        abort();
    text_clear(&out);
    free(copy);
    return rendered;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t bytes[4096];
    struct input in = { data, data + size };
    uint32_t room = next(&in) << 4 | next(&in);
    struct fields fields;

    fields_init(&fields, bytes, room < sizeof(bytes) ? room : sizeof(bytes));
    write_all(&fields, &in);
    if (fields.depth != 0 || fields.skipped != 0 || fields.length > fields.capacity)
        abort();
    render(bytes, fields.length, true);
    for (uint32_t length = 0; length < fields.length; length += 1 + fields.length / 16)
        render(bytes, length, false);
    return 0;
}
