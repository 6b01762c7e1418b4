/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON written straight into a text. Commas are automatic: each value sets `need_comma`, each opening bracket clears
 * it.
 */
#include "sluice/json.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/base64.h"
#include "sluice/utf8.h"

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

static void escape(struct text *text, uint8_t byte)
{
    static const char short_forms[] = {
        ['"'] = '"', ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'
    };

    if (byte < sizeof(short_forms) && short_forms[byte])
        text_append(text, (const char[]){ '\\', short_forms[byte] }, 2);
    else
        text_printf(text, "\\u%04x", byte);
}

/* Escapes a code point; beyond U+FFFF as a surrogate pair (RFC 8259 section 7). */
static void escape_code_point(struct text *text, uint32_t code_point)
{
    if (code_point < 0x10000)
        text_printf(text, "\\u%04x", code_point);
    else
        text_printf(text, "\\u%04x\\u%04x", 0xd800 + ((code_point - 0x10000) >> 10), 0xdc00 + (code_point & 0x3ff));
}

static bool is_plain(uint8_t byte)
{
    return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

static size_t plain_length(const uint8_t *bytes, size_t length)
{
    size_t run = 0;

    while (run < length && is_plain(bytes[run]))
        run++;
    return run;
}

/* A vector type that the compiler maps to instructions for sixteen bytes. */
typedef int8_t sixteen __attribute__((vector_size(16)));

/* Returns non-zero bytes where is_plain() is false. Bytes from 0x80 on are negative here, and so less than 0x20. */
static inline sixteen find_escapes(sixteen bytes)
{
    return (bytes < 0x20) | (bytes == 0x7f) | (bytes == '"') | (bytes == '\\');
}

static inline bool is_none_set(sixteen bytes)
{
    uint64_t halves[2];

    memcpy(halves, &bytes, sizeof(halves));
    return (halves[0] | halves[1]) == 0;
}

/* Copies sixteen bytes; returns find_escapes() of them. */
static inline sixteen copy_sixteen(char *out, const uint8_t *bytes)
{
    sixteen all;

    memcpy(&all, bytes, sizeof(all));
    memcpy(out, &all, sizeof(all));
    return find_escapes(all);
}

/* Copies sixteen bytes or more; the last sixteen may overlap bytes that were copied before. The next two functions copy
 * the first and the last 8 or 4 bytes in the same way. All return false when a byte needs an escape. */
static inline bool copy_many(char *out, const uint8_t *bytes, size_t length)
{
    sixteen escapes = copy_sixteen(out + length - 16, bytes + length - 16);

    for (size_t at = 0; at + 16 < length; at += 16)
        escapes |= copy_sixteen(out + at, bytes + at);
    return is_none_set(escapes);
}

static inline bool copy_eight_to_sixteen(char *out, const uint8_t *bytes, size_t length)
{
    uint64_t ends[2];
    sixteen all;

    memcpy(&ends[0], bytes, sizeof(ends[0]));
    memcpy(&ends[1], bytes + length - sizeof(ends[1]), sizeof(ends[1]));
    memcpy(out, &ends[0], sizeof(ends[0]));
    memcpy(out + length - sizeof(ends[1]), &ends[1], sizeof(ends[1]));
    memcpy(&all, ends, sizeof(all));
    return is_none_set(find_escapes(all));
}

static inline bool copy_four_to_eight(char *out, const uint8_t *bytes, size_t length)
{
    uint32_t ends[4];
    sixteen all;

    memcpy(&ends[0], bytes, sizeof(ends[0]));
    memcpy(&ends[1], bytes + length - sizeof(ends[1]), sizeof(ends[1]));
    memcpy(out, &ends[0], sizeof(ends[0]));
    memcpy(out + length - sizeof(ends[1]), &ends[1], sizeof(ends[1]));
    ends[2] = ends[3] = ends[0];
    memcpy(&all, ends, sizeof(all));
    return is_none_set(find_escapes(all));
}

/* Copies bytes that need no escape, which is the usual case. Returns false if a byte needs an escape; the contents of
 * `out` are then undefined. */
static inline __attribute__((always_inline)) bool copy_plain(char *out, const uint8_t *bytes, size_t length)
{
    if (length >= 16)
        return copy_many(out, bytes, length);
    if (length >= 8)
        return copy_eight_to_sixteen(out, bytes, length);
    if (length >= 4)
        return copy_four_to_eight(out, bytes, length);
    for (size_t at = 0; at < length; at++) {
        if (!is_plain(bytes[at]))
            return false;
        out[at] = (char)bytes[at];
    }
    return true;
}

static void write_char(struct text *text, char c)
{
    char *at = json_reserve(text, 1);

    if (!at)
        return;
    *at = c;
    json_commit(text, at + 1);
}

bool json_plain_string(struct text *text, const void *value, size_t length)
{
    char *at = json_reserve(text, length + 3);

    if (!at)
        return true; /* out of memory, recorded in text->failed */
    *at = ',';
    at += text->need_comma;
    if (!copy_plain(at + 1, value, length))
        return false;
    *at = at[length + 1] = '"';
    text->need_comma = true;
    json_commit(text, at + length + 2);
    return true;
}

static __attribute__((noinline)) void write_escaped_string(struct text *text, const uint8_t *bytes, size_t length)
{
    size_t i = 0;

    text_append(text, "\"", 1);
    while (i < length) {
        size_t run = plain_length(bytes + i, length - i);

        text_append(text, (const char *)bytes + i, run);
        i += run;
        if (i == length)
            break;
        if (bytes[i] < 0x80) {
            escape(text, bytes[i++]);
            continue;
        }
        run = utf8_length(bytes + i, length - i);
        if (run == 0) {
            text_append(text, replacement, sizeof(replacement) - 1);
            i++;
            continue;
        }
        uint32_t code_point = utf8_code_point(bytes + i, run);

        if (utf8_is_control(code_point))
            escape_code_point(text, code_point);
        else
            text_append(text, (const char *)bytes + i, run);
        i += run;
    }
    text_append(text, "\"", 1);
}

/* Writes comma and key at once. Returns false, with nothing written, when the key needs an escape. */
static bool write_plain_key(struct text *text, const char *key)
{
    size_t length = strlen(key);
    char *at = json_reserve(text, length + 4);

    if (!at)
        return true; /* out of memory, recorded in text->failed */
    if (text->need_comma)
        *at++ = ',';
    if (!copy_plain(at + 1, (const uint8_t *)key, length))
        return false;
    *at = at[length + 1] = '"';
    at[length + 2] = ':';
    json_commit(text, at + length + 3);
    return true;
}

static __attribute__((noinline)) void write_key(struct text *text, const char *key)
{
    if (write_plain_key(text, key))
        return;
    if (text->need_comma)
        write_char(text, ',');
    write_escaped_string(text, (const uint8_t *)key, strlen(key));
    write_char(text, ':');
}

/* Writes comma and key before a value. */
static inline void begin_value(struct text *text, const char *key)
{
    if (key)
        write_key(text, key);
    else if (text->need_comma)
        write_char(text, ',');
    text->need_comma = true;
}

void json_key(struct text *text, const void *key, size_t length)
{
    json_stringn(text, NULL, key, length);
    text_append(text, ":", 1);
    text->need_comma = false;
}

static void write_plain(struct text *text, const char *key, const char *value)
{
    begin_value(text, key);
    text_puts(text, value);
}

static void open_bracket(struct text *text, const char *key, char bracket)
{
    begin_value(text, key);
    write_char(text, bracket);
    text->need_comma = false;
}

static void close_bracket(struct text *text, char bracket)
{
    write_char(text, bracket);
    text->need_comma = true;
}

void json_object_open(struct text *text, const char *key)
{
    open_bracket(text, key, '{');
}

void json_object_close(struct text *text)
{
    close_bracket(text, '}');
}

void json_array_open(struct text *text, const char *key)
{
    open_bracket(text, key, '[');
}

void json_array_close(struct text *text)
{
    close_bracket(text, ']');
}

void json_string(struct text *text, const char *key, const char *value)
{
    if (value)
        json_stringn(text, key, value, strlen(value));
}

void json_stringn(struct text *text, const char *key, const void *value, size_t length)
{
    if (key) {
        write_key(text, key);
        text->need_comma = false;
    }
    if (json_plain_string(text, value, length))
        return;
    begin_value(text, NULL);
    write_escaped_string(text, value, length);
}

static unsigned count_digits(uint64_t value)
{
    enum { LOG_FACTOR = 1233, LOG_SHIFT = 12 }; /* their quotient is the decimal logarithm of 2 */
    static const uint64_t powers[] = {
        0, /* instead of 1, because 0 has one digit */
        10,
        100,
        1000,
        10000,
        100000,
        1000000,
        10000000,
        100000000,
        1000000000,
        10000000000,
        100000000000,
        1000000000000,
        10000000000000,
        100000000000000,
        1000000000000000,
        10000000000000000,
        100000000000000000,
        1000000000000000000,
        UINT64_C(10000000000000000000),
    };
    unsigned bits = 64 - (unsigned)__builtin_clzll(value | 1), log = bits * LOG_FACTOR >> LOG_SHIFT;

    return log + (value >= powers[log]);
}

/* Writes two digits at a time, from the last to the first. */
char *json_write_digits(char *at, uint64_t value)
{
    char *end = at + count_digits(value);

    at = end;
    for (; value >= 100; value /= 100)
        text_write_two_digits(at -= 2, (unsigned)(value % 100));
    if (value >= 10)
        text_write_two_digits(at - 2, (unsigned)value);
    else
        at[-1] = (char)('0' + value);
    return end;
}

void json_uint(struct text *text, const char *key, uint64_t value)
{
    char *at;

    begin_value(text, key);
    at = json_reserve(text, JSON_MAX_DIGITS);
    if (at)
        json_commit(text, json_write_digits(at, value));
}

void json_int(struct text *text, const char *key, int64_t value)
{
    begin_value(text, key);
    text_printf(text, "%lld", (long long)value);
}

/* Writes 15 digits if they read back as the same number, otherwise 17. Infinity and NaN, which JSON does not have, are
 * written as null. */
void json_double(struct text *text, const char *key, double value)
{
    char digits[32];

    if (!isfinite(value)) {
        json_null(text, key);
        return;
    }
    snprintf(digits, sizeof(digits), "%.15g", value);
    if (strtod(digits, NULL) != value)
        snprintf(digits, sizeof(digits), "%.17g", value);
    write_plain(text, key, digits);
}

void json_float(struct text *text, const char *key, double value)
{
    const double exact = 1e15; /* smaller integers are written without an exponent */
    char digits[32];

    if (!(value > -exact && value < exact && value == (double)(int64_t)value)) {
        json_double(text, key, value);
        return;
    }
    snprintf(digits, sizeof(digits), "%.1f", value);
    write_plain(text, key, digits);
}

void json_bool(struct text *text, const char *key, bool value)
{
    char *at;

    begin_value(text, key);
    at = json_reserve(text, sizeof("false"));
    if (!at)
        return;
    memcpy(at, value ? "true\0" : "false", sizeof("false") - 1);
    json_commit(text, at + (value ? 4 : 5));
}

void json_null(struct text *text, const char *key)
{
    write_plain(text, key, "null");
}

void json_base64(struct text *text, const char *key, const void *bytes, size_t length)
{
    size_t encoded = base64_encoded_size(length);

    begin_value(text, key);
    char *at = text_reserve(text, encoded + 2);

    if (!at)
        return;
    at[0] = '"';
    base64_encode(bytes, length, at + 1);
    at[1 + encoded] = '"';
    text_commit(text, encoded + 2);
}

void json_printf(struct text *text, const char *key, const char *format, ...)
{
    char line[256];
    char *longer = NULL;
    va_list args, again;

    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(line, sizeof(line), format, args);

    if (length >= (int)sizeof(line)) {
        longer = malloc((size_t)length + 1);
        if (longer)
            vsnprintf(longer, (size_t)length + 1, format, again);
        else
            text->failed = true;
    }
    if (length >= 0 && !text->failed)
        json_stringn(text, key, longer ? longer : line, (size_t)length);
    free(longer);
    va_end(again);
    va_end(args);
}
