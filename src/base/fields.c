/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A member is a byte with its type and the kind of its key, the key (the address of a constant, or length and bytes),
 * and the value: numbers in host byte order, bytes after their length. The end of an object or array is a byte without
 * a key; room for that byte is reserved when the object or array is opened, so that it always fits.
 *
 * The reader is the same program, so it trusts the addresses of keys; everything else is checked.
 */
#include "sluice/fields.h"

#include <assert.h>
#include <string.h>
#include <time.h>

#include "sluice/address.h"
#include "sluice/hex.h"
#include "sluice/json.h"
#include "sluice/utf8.h"

enum member {
    MEMBER_OBJECT,
    MEMBER_ARRAY,
    MEMBER_OBJECT_END,
    MEMBER_ARRAY_END,
    MEMBER_BYTES,
    MEMBER_UINT,
    MEMBER_INT,
    MEMBER_DOUBLE,
    MEMBER_FALSE,
    MEMBER_TRUE,
    MEMBER_HEX,
    MEMBER_COLON_HEX,
    MEMBER_BASE64,
    MEMBER_IPV4,
    MEMBER_IPV6,
    MEMBER_TIME,
    MEMBER_COUNT,
};
enum {
    KEY_NONE = 0,
    KEY_CONSTANT = 1 << 6,
    KEY_NAMED = 2 << 6,
    KEY_MASK = 3 << 6,
};
_Static_assert(FIELDS_VALUE_MAX <= UINT16_MAX, "lengths are written in 16 bits");

/* Seconds since 1970 of the years 1 to 9999, which have at most four digits. */
static const int64_t first_second = -62135596800, last_second = 253402300799;

void fields_init(struct fields *fields, void *bytes, uint32_t capacity)
{
    *fields = (struct fields){ .bytes = bytes, .capacity = capacity };
}

/* --- Writing -------------------------------------------------------------------------------------- */

/* Whether `size` more bytes fit, in addition to the bytes that close the open objects and arrays. Sets `cut` if not. */
static bool has_room(struct fields *fields, uint32_t size)
{
    if (fields->skipped == 0 && (uint64_t)fields->length + fields->depth + size <= fields->capacity)
        return true;
    fields->cut = true;
    return false;
}

/* Writes the start of a member and returns room for its value of `size` bytes; NULL: the member is omitted. */
static uint8_t *begin_member(struct fields *fields, enum member member, const char *key, size_t size)
{
    uint32_t head = 1 + (key ? sizeof(key) : 0), whole = head + (uint32_t)size;
    uint8_t *at = fields->bytes + fields->length;

    if (!has_room(fields, whole))
        return NULL;
    fields->length += whole;
    *at = (uint8_t)((unsigned)member | (key ? KEY_CONSTANT : KEY_NONE));
    if (key)
        memcpy(at + 1, &key, sizeof(key));
    return at + head;
}

static uint8_t *put_bytes(uint8_t *at, const void *bytes, size_t length)
{
    uint16_t written = (uint16_t)length;

    memcpy(at, &written, sizeof(written));
    if (length > 0)
        memcpy(at + sizeof(written), bytes, length);
    return at + sizeof(written) + length;
}

static void open_member(struct fields *fields, enum member member, const char *key)
{
    if (fields->depth - fields->skipped >= FIELDS_DEPTH_MAX)
        fields->cut = true;
    else if (begin_member(fields, member, key, 1)) {
        fields->length--; /* the byte that closes the member is written later; `depth` reserves room for it */
        fields->depth++;
        return;
    }
    fields->depth++;
    fields->skipped++;
}

static void close_member(struct fields *fields, enum member member)
{
    assert(fields->depth > 0);
    fields->depth--;
    if (fields->skipped > 0)
        fields->skipped--;
    else
        fields->bytes[fields->length++] = (uint8_t)member;
}

void fields_object_open(struct fields *fields, const char *key)
{
    open_member(fields, MEMBER_OBJECT, key);
}

void fields_object_close(struct fields *fields)
{
    close_member(fields, MEMBER_OBJECT_END);
}

void fields_array_open(struct fields *fields, const char *key)
{
    open_member(fields, MEMBER_ARRAY, key);
}

void fields_array_close(struct fields *fields)
{
    close_member(fields, MEMBER_ARRAY_END);
}

/* Returns how many of `length` bytes are kept: at most FIELDS_VALUE_MAX, without a partial UTF-8 character at the
 * end. */
static size_t truncated_length(struct fields *fields, const uint8_t *bytes, size_t length)
{
    if (length <= FIELDS_VALUE_MAX)
        return length;
    fields->cut = true;
    length = FIELDS_VALUE_MAX;
    for (size_t back = 1; back <= 3; back++) {
        size_t character = bytes[length - back] >= 0xc0 ? utf8_length(bytes + length - back, 4) : 0;

        if (character > back)
            return length - back;
    }
    return length;
}

static void write_bytes(struct fields *fields, enum member member, const char *key, const void *value, size_t length)
{
    if (!value)
        return;
    if (length > FIELDS_VALUE_MAX) {
        fields->cut = true;
        length = FIELDS_VALUE_MAX;
    }

    uint8_t *at = begin_member(fields, member, key, sizeof(uint16_t) + length);

    if (at)
        put_bytes(at, value, length);
}

void fields_bytes(struct fields *fields, const char *key, const void *value, size_t length)
{
    if (value)
        write_bytes(fields, MEMBER_BYTES, key, value, truncated_length(fields, value, length));
}

void fields_string(struct fields *fields, const char *key, const char *value)
{
    if (value)
        fields_bytes(fields, key, value, strlen(value));
}

void fields_bytes_named(struct fields *fields, const void *key, size_t key_length, const void *value, size_t length)
{
    uint8_t *at;

    if (!value)
        return;
    length = truncated_length(fields, value, length);
    key_length = key ? truncated_length(fields, key, key_length) : 0;
    at = begin_member(fields, MEMBER_BYTES, NULL, 2 * sizeof(uint16_t) + key_length + length);
    if (!at)
        return;
    at[-1] |= KEY_NAMED;
    put_bytes(put_bytes(at, key, key_length), value, length);
}

void fields_hex(struct fields *fields, const char *key, const void *value, size_t length)
{
    write_bytes(fields, MEMBER_HEX, key, value, length);
}

void fields_colon_hex(struct fields *fields, const char *key, const void *value, size_t length)
{
    write_bytes(fields, MEMBER_COLON_HEX, key, value, length);
}

void fields_base64(struct fields *fields, const char *key, const void *value, size_t length)
{
    write_bytes(fields, MEMBER_BASE64, key, value, length);
}

static void write_number(struct fields *fields, enum member member, const char *key, uint64_t value)
{
    uint8_t *at = begin_member(fields, member, key, sizeof(value));

    if (at)
        memcpy(at, &value, sizeof(value));
}

void fields_uint(struct fields *fields, const char *key, uint64_t value)
{
    write_number(fields, MEMBER_UINT, key, value);
}

void fields_int(struct fields *fields, const char *key, int64_t value)
{
    write_number(fields, MEMBER_INT, key, (uint64_t)value);
}

void fields_double(struct fields *fields, const char *key, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    write_number(fields, MEMBER_DOUBLE, key, bits);
}

void fields_bool(struct fields *fields, const char *key, bool value)
{
    begin_member(fields, value ? MEMBER_TRUE : MEMBER_FALSE, key, 0);
}

void fields_time(struct fields *fields, const char *key, int64_t seconds)
{
    write_number(fields, MEMBER_TIME, key, (uint64_t)seconds);
}

void fields_address(struct fields *fields, const char *key, int ip_version, const struct address *address)
{
    size_t length = ip_version == 6 ? 16 : 4;
    uint8_t *at = begin_member(fields, ip_version == 6 ? MEMBER_IPV6 : MEMBER_IPV4, key, length);

    if (at)
        memcpy(at, address->bytes, length);
}

/* --- Reading -------------------------------------------------------------------------------------- */

struct reader {
    const uint8_t *at, *end;
    struct text *out;
    unsigned depth;
    bool in_array[FIELDS_DEPTH_MAX];
};

/* Consumes `length` bytes and returns a pointer to them; NULL when there are fewer. */
static const uint8_t *read_bytes(struct reader *reader, size_t length)
{
    const uint8_t *at = reader->at;

    if ((size_t)(reader->end - at) < length)
        return NULL;
    reader->at += length;
    return at;
}

static const uint8_t *read_value(struct reader *reader, size_t *length)
{
    const uint8_t *at = read_bytes(reader, sizeof(uint16_t));
    uint16_t written;

    if (!at)
        return NULL;
    memcpy(&written, at, sizeof(written));
    *length = written;
    return written <= FIELDS_VALUE_MAX ? read_bytes(reader, written) : NULL;
}

static bool read_number(struct reader *reader, uint64_t *out)
{
    const uint8_t *at = read_bytes(reader, sizeof(*out));

    if (at)
        memcpy(out, at, sizeof(*out));
    return at;
}

/* Renders bytes in hexadecimal. A separate function because of its large stack frame. */
static __attribute__((noinline)) void render_hex(struct text *out, const uint8_t *value, size_t length, bool colons)
{
    char text[3 * FIELDS_VALUE_MAX];
    const char *end = colons ? hex_write_colons(text, value, length) : hex_write(text, value, length);

    json_stringn(out, NULL, text, (size_t)(end - text));
}

static bool is_ascii_word(const uint8_t *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof(word));
    return (word & UINT64_C(0x8080808080808080)) == 0;
}

/* Returns the length of a prefix that is ASCII. It may not be the longest one, because eight bytes are checked at a
 * time; the last eight may overlap the previous eight. */
static size_t ascii_length(const uint8_t *value, size_t length)
{
    size_t at = 0;

    while (at + 8 <= length && is_ascii_word(value + at))
        at += 8;
    return at > 0 && at + 8 > length && is_ascii_word(value + length - 8) ? length : at;
}

static bool is_text(const uint8_t *value, size_t length)
{
    for (size_t i = ascii_length(value, length); i < length;) {
        size_t run = value[i] < 0x80 ? 1 : utf8_length(value + i, length - i);

        if (run == 0)
            return false;
        i += run;
    }
    return true;
}

/* Renders bytes that are not text as \xNN, as in Suricata. A separate function because of its large stack frame. */
static __attribute__((noinline)) void render_escaped(struct text *out, const uint8_t *value, size_t length)
{
    char text[4 * FIELDS_VALUE_MAX];
    size_t at = 0;

    for (size_t i = 0; i < length; i++) {
        if (value[i] < 0x80) {
            text[at++] = (char)value[i];
            continue;
        }
        text[at++] = '\\';
        text[at++] = 'x';
        hex_write_byte(text + at, value[i]);
        at += 2;
    }
    json_stringn(out, NULL, text, at);
}

static void render_text(struct text *out, const uint8_t *value, size_t length)
{
    if (json_plain_string(out, value, length))
        return;
    if (is_text(value, length))
        json_stringn(out, NULL, value, length);
    else
        render_escaped(out, value, length);
}

static bool render_bytes(struct reader *reader, enum member member)
{
    size_t length;
    const uint8_t *value = read_value(reader, &length);

    if (!value)
        return false;
    if (member == MEMBER_BYTES)
        render_text(reader->out, value, length);
    else if (member == MEMBER_BASE64)
        json_base64(reader->out, NULL, value, length);
    else
        render_hex(reader->out, value, length, member == MEMBER_COLON_HEX);
    return true;
}

static void render_time(struct text *out, int64_t seconds)
{
    struct tm tm = { 0 };

    seconds = seconds < first_second ? first_second : seconds > last_second ? last_second : seconds;
    time_t time = (time_t)seconds;

    gmtime_r(&time, &tm);
    json_printf(out, NULL, "%04d-%02d-%02dT%02d:%02d:%02d", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
                tm.tm_min, tm.tm_sec);
}

static bool render_number(struct reader *reader, enum member member)
{
    uint64_t value;

    if (!read_number(reader, &value))
        return false;
    if (member == MEMBER_UINT)
        json_uint(reader->out, NULL, value);
    else if (member == MEMBER_INT)
        json_int(reader->out, NULL, (int64_t)value);
    else
        render_time(reader->out, (int64_t)value);
    return true;
}

static bool render_double(struct reader *reader, enum member member)
{
    uint64_t bits;
    double value;

    (void)member;
    if (!read_number(reader, &bits))
        return false;
    memcpy(&value, &bits, sizeof(value));
    json_float(reader->out, NULL, value);
    return true;
}

static bool render_bool(struct reader *reader, enum member member)
{
    json_bool(reader->out, NULL, member == MEMBER_TRUE);
    return true;
}

static bool render_address(struct reader *reader, enum member member)
{
    size_t length = member == MEMBER_IPV6 ? 16 : 4;
    const uint8_t *at = read_bytes(reader, length);
    char text[ADDRESS_TEXT_SIZE];
    struct address address = { 0 };

    if (!at)
        return false;
    memcpy(address.bytes, at, length);
    address_format(&address, member == MEMBER_IPV6 ? 6 : 4, true, text);
    json_string(reader->out, NULL, text);
    return true;
}

static bool render_open(struct reader *reader, enum member member)
{
    if (reader->depth == FIELDS_DEPTH_MAX)
        return false;
    reader->in_array[reader->depth++] = member == MEMBER_ARRAY;
    if (member == MEMBER_ARRAY)
        json_array_open(reader->out, NULL);
    else
        json_object_open(reader->out, NULL);
    return true;
}

static bool render_close(struct reader *reader, enum member member)
{
    if (reader->depth == 0 || reader->in_array[reader->depth - 1] != (member == MEMBER_ARRAY_END))
        return false;
    reader->depth--;
    if (member == MEMBER_ARRAY_END)
        json_array_close(reader->out);
    else
        json_object_close(reader->out);
    return true;
}

typedef bool render_function(struct reader *reader, enum member member);

static render_function *const renders[MEMBER_COUNT] = {
    [MEMBER_OBJECT] = render_open,     [MEMBER_ARRAY] = render_open,    [MEMBER_OBJECT_END] = render_close,
    [MEMBER_ARRAY_END] = render_close, [MEMBER_BYTES] = render_bytes,   [MEMBER_UINT] = render_number,
    [MEMBER_INT] = render_number,      [MEMBER_DOUBLE] = render_double, [MEMBER_FALSE] = render_bool,
    [MEMBER_TRUE] = render_bool,       [MEMBER_HEX] = render_bytes,     [MEMBER_COLON_HEX] = render_bytes,
    [MEMBER_BASE64] = render_bytes,    [MEMBER_IPV4] = render_address,  [MEMBER_IPV6] = render_address,
    [MEMBER_TIME] = render_number,
};

/* Returns true if the member may be at this position: in an object it needs a key, in an array it must not have one. At
 * depth 0 both are accepted: the caller of fields_render() knows whether an object or an array is open in the text. */
static bool key_fits(const struct reader *reader, unsigned head)
{
    enum member member = head & ~(unsigned)KEY_MASK;
    bool has_key = (head & KEY_MASK) != KEY_NONE;

    if (member == MEMBER_OBJECT_END || member == MEMBER_ARRAY_END)
        return !has_key;
    if (reader->depth == 0)
        return true;
    return has_key != reader->in_array[reader->depth - 1];
}

static bool render_named(struct reader *reader, enum member member)
{
    size_t length;
    const uint8_t *key = read_value(reader, &length);

    if (!key)
        return false;
    json_key(reader->out, key, length);
    return renders[member](reader, member);
}

static bool render_member(struct reader *reader)
{
    unsigned head = *reader->at++;
    enum member member = head & ~(unsigned)KEY_MASK;
    const char *key;

    if (member >= MEMBER_COUNT || !key_fits(reader, head))
        return false;
    if ((head & KEY_MASK) == KEY_NAMED)
        return member == MEMBER_BYTES && render_named(reader, member);
    if ((head & KEY_MASK) == KEY_CONSTANT) {
        const uint8_t *at = read_bytes(reader, sizeof(key));

        if (!at)
            return false;
        memcpy(&key, at, sizeof(key));
        json_member(reader->out, key);
    } else if ((head & KEY_MASK) != KEY_NONE) {
        return false;
    }
    return renders[member](reader, member);
}

bool fields_render(const void *bytes, uint32_t length, struct text *out)
{
    struct reader reader = { .at = bytes, .end = (const uint8_t *)bytes + length, .out = out };

    while (reader.at < reader.end)
        if (!render_member(&reader))
            return false;
    return reader.depth == 0;
}
