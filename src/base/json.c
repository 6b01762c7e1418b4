/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON written straight into a text. Commas come by themselves: each value leaves `need_comma` behind, each opening
 * bracket takes it away.
 */
#include "sluice/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

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

/* What needs no escape is nearly everything: one reservation and one copy. False when it is not so. */
static bool write_plain_string(struct text *text, const uint8_t *bytes, size_t length, char after)
{
    char *at;

    if (plain_length(bytes, length) < length)
        return false;
    at = text_reserve(text, length + 3);
    if (!at)
        return true; /* failed, and remembered in the text */
    *at = '"';
    memcpy(at + 1, bytes, length);
    at[length + 1] = '"';
    at[length + 2] = after;
    text_commit(text, length + (after ? 3 : 2));
    return true;
}

static void write_string(struct text *text, const uint8_t *bytes, size_t length)
{
    size_t i = 0;

    if (write_plain_string(text, bytes, length, '\0'))
        return;
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
        if (run > 0)
            text_append(text, (const char *)bytes + i, run);
        else
            text_append(text, replacement, sizeof(replacement) - 1);
        i += run > 0 ? run : 1;
    }
    text_append(text, "\"", 1);
}

/* What comes before a value. */
static void begin_value(struct text *text, const char *key)
{
    if (text->need_comma)
        text_append(text, ",", 1);
    if (key && !write_plain_string(text, (const uint8_t *)key, strlen(key), ':')) {
        write_string(text, (const uint8_t *)key, strlen(key));
        text_append(text, ":", 1);
    }
    text->need_comma = true;
}

void json_key(struct text *text, const void *key, size_t length)
{
    begin_value(text, NULL);
    write_string(text, key, length);
    text_append(text, ":", 1);
    text->need_comma = false;
}

static void write_plain(struct text *text, const char *key, const char *value)
{
    begin_value(text, key);
    text_puts(text, value);
}

void json_object_open(struct text *text, const char *key)
{
    write_plain(text, key, "{");
    text->need_comma = false;
}

void json_object_close(struct text *text)
{
    text_append(text, "}", 1);
    text->need_comma = true;
}

void json_array_open(struct text *text, const char *key)
{
    write_plain(text, key, "[");
    text->need_comma = false;
}

void json_array_close(struct text *text)
{
    text_append(text, "]", 1);
    text->need_comma = true;
}

void json_string(struct text *text, const char *key, const char *value)
{
    if (value)
        json_stringn(text, key, value, strlen(value));
}

void json_stringn(struct text *text, const char *key, const void *value, size_t length)
{
    begin_value(text, key);
    write_string(text, value, length);
}

void json_uint(struct text *text, const char *key, uint64_t value)
{
    char digits[24];
    size_t at = sizeof(digits);

    do
        digits[--at] = (char)('0' + value % 10);
    while (value /= 10);
    begin_value(text, key);
    text_append(text, digits + at, sizeof(digits) - at);
}

void json_int(struct text *text, const char *key, int64_t value)
{
    begin_value(text, key);
    text_printf(text, "%lld", (long long)value);
}

/* The shortest of the two precisions that reads back as the same number; JSON has no infinity and no NaN. */
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

void json_bool(struct text *text, const char *key, bool value)
{
    write_plain(text, key, value ? "true" : "false");
}

void json_null(struct text *text, const char *key)
{
    write_plain(text, key, "null");
}

/* RFC 4648 §4, with padding. */
void json_base64(struct text *text, const char *key, const void *bytes, size_t length)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *in = bytes;

    begin_value(text, key);
    text_append(text, "\"", 1);
    for (size_t i = 0; i < length; i += 3) {
        size_t left = length - i;
        uint32_t group = (uint32_t)in[i] << 16 | (left > 1 ? (uint32_t)in[i + 1] << 8 : 0) | (left > 2 ? in[i + 2] : 0);
        char out[4] = { letters[group >> 18], letters[group >> 12 & 63], left > 1 ? letters[group >> 6 & 63] : '=',
                        left > 2 ? letters[group & 63] : '=' };

        text_append(text, out, sizeof(out));
    }
    text_append(text, "\"", 1);
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
