/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Growing strings, spans, numbers and the search for the nearest name; JSON is in json.c. */
#include "sluice/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sluice/utf8.h"
#include "sluice/hex.h"

enum { FIRST_CAPACITY = 256, NEAREST_MAX_LENGTH = 63 };

const char text_digit_pairs[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748"
    "49505152535455565758596061626364656667686970717273747576777879808182838485868788899091929394959697"
    "9899";

/* --- Spans ---------------------------------------------------------------------------------------- */

struct span span_of(const char *string)
{
    return (struct span){ .at = string, .length = string ? strlen(string) : 0 };
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

struct span span_trim(struct span span)
{
    while (span.length > 0 && is_blank(span.at[0])) {
        span.at++;
        span.length--;
    }
    while (span.length > 0 && is_blank(span.at[span.length - 1]))
        span.length--;
    return span;
}

bool span_equal(struct span span, const char *string)
{
    return span.length == strlen(string) && (span.length == 0 || memcmp(span.at, string, span.length) == 0);
}

bool span_equal_nocase(struct span span, const char *string)
{
    return span.length == strlen(string) && (span.length == 0 || strncasecmp(span.at, string, span.length) == 0);
}

bool span_next(struct span *rest, char separator, struct span *part)
{
    if (!rest->at)
        return false;

    const char *cut = rest->length > 0 ? memchr(rest->at, separator, rest->length) : NULL;

    if (cut) {
        size_t length = (size_t)(cut - rest->at);

        *part = span_trim((struct span){ .at = rest->at, .length = length });
        *rest = (struct span){ .at = cut + 1, .length = rest->length - length - 1 };
    } else {
        *part = span_trim(*rest);
        *rest = (struct span){ 0 };
    }
    return true;
}

bool span_to_uint(struct span span, uint64_t low, uint64_t high, uint64_t *out)
{
    return text_to_uint(span.at, span.length, low, high, out);
}

bool span_to_int(struct span span, int64_t low, int64_t high, int64_t *out)
{
    return text_to_int(span.at, span.length, low, high, out);
}

/* --- Growing strings ------------------------------------------------------------------------------ */

void text_init(struct text *text)
{
    *text = (struct text){ 0 };
}

void text_clear(struct text *text)
{
    free(text->bytes);
    text_init(text);
}

void text_reset(struct text *text)
{
    text->length = 0;
    text->failed = false;
    text->need_comma = false;
    if (text->bytes)
        text->bytes[0] = '\0';
}

/* Makes room for `more` bytes and a NUL. */
static bool reserve_bytes(struct text *text, size_t more)
{
    size_t capacity = text->capacity ? text->capacity : FIRST_CAPACITY;

    if (text->failed)
        return false;
    if (text->length + more < text->capacity)
        return true;
    if (more >= SIZE_MAX / 2 - text->length) {
        text->failed = true;
        return false;
    }
    while (capacity <= text->length + more)
        capacity *= 2;

    char *bytes = realloc(text->bytes, capacity);

    if (!bytes) {
        text->failed = true;
        return false;
    }
    text->bytes = bytes;
    text->capacity = capacity;
    return true;
}

/* Not inlined: callers rarely need it, and would otherwise push more registers in each call. */
__attribute__((noinline, cold)) char *text_reserve(struct text *text, size_t length)
{
    return reserve_bytes(text, length) ? text->bytes + text->length : NULL;
}

void text_commit(struct text *text, size_t length)
{
    text->length += length;
    text->bytes[text->length] = '\0';
}

void text_append(struct text *text, const char *bytes, size_t length)
{
    if (!reserve_bytes(text, length))
        return;
    if (length > 0)
        memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = '\0';
}

void text_puts(struct text *text, const char *string)
{
    text_append(text, string, strlen(string));
}

void text_printf(struct text *text, const char *format, ...)
{
    va_list args, again;

    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);

    if (length >= 0 && reserve_bytes(text, (size_t)length)) {
        vsnprintf(text->bytes + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
    va_end(args);
}

void text_printable(struct text *text, const char *bytes, size_t length)
{
    const uint8_t *at = (const uint8_t *)bytes;

    for (size_t i = 0; i < length;) {
        size_t run = at[i] >= 0x20 && at[i] < 0x7f ? 1 : 0;

        if (at[i] >= 0x80)
            run = utf8_length(at + i, length - i);
        if (run > 1 && utf8_is_control(utf8_code_point(at + i, run)))
            run = 0;
        if (run > 0)
            text_append(text, bytes + i, run);
        else
            text_printf(text, "\\x%02x", at[i]);
        i += run > 0 ? run : 1;
    }
}

/* --- Numbers -------------------------------------------------------------------------------------- */

static bool parse_digits(const char *bytes, size_t length, uint64_t *out)
{
    uint64_t base = 10, value = 0;

    if (length > 2 && bytes[0] == '0' && (bytes[1] == 'x' || bytes[1] == 'X')) {
        base = 16;
        bytes += 2;
        length -= 2;
    }
    if (length == 0)
        return false;
    for (size_t i = 0; i < length; i++) {
        int digit = hex_digit(bytes[i]);

        if (digit < 0 || (uint64_t)digit >= base || value > (UINT64_MAX - (uint64_t)digit) / base)
            return false;
        value = value * base + (uint64_t)digit;
    }
    *out = value;
    return true;
}

bool text_to_uint(const char *bytes, size_t length, uint64_t low, uint64_t high, uint64_t *out)
{
    uint64_t value;

    if (!parse_digits(bytes, length, &value) || value < low || value > high)
        return false;
    *out = value;
    return true;
}

bool text_to_int(const char *bytes, size_t length, int64_t low, int64_t high, int64_t *out)
{
    bool negative = length > 0 && bytes[0] == '-';
    uint64_t magnitude;
    int64_t value;

    if (!parse_digits(bytes + negative, length - negative, &magnitude))
        return false;
    if (magnitude > (uint64_t)INT64_MAX + negative)
        return false;
    if (negative)
        value = magnitude == 0 ? 0 : -(int64_t)(magnitude - 1) - 1;
    else
        value = (int64_t)magnitude;
    if (value < low || value > high)
        return false;
    *out = value;
    return true;
}

/* --- Nearest name --------------------------------------------------------------------------------- */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static bool same_letter(char a, char b)
{
    return lower(a) == lower(b);
}

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;

    return least < c ? least : c;
}

/* Counts inserted, deleted and changed letters and swapped neighbours, ignoring case; returns `limit` when the distance
 * is not below it. Three rows of the table of the dynamic programming algorithm are kept, because a swap needs the row
 * before the previous one. */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length, size_t limit)
{
    size_t rows[3][NEAREST_MAX_LENGTH + 1];
    size_t *before = rows[0], *last = rows[1], *now = rows[2];
    size_t last_least = 0;

    for (size_t j = 0; j <= b_length; j++)
        last[j] = before[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t least = now[0] = i;

        for (size_t j = 1; j <= b_length; j++) {
            now[j] = min3(last[j] + 1, now[j - 1] + 1, last[j - 1] + !same_letter(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]))
                now[j] = min3(now[j], now[j], before[j - 2] + 1);
            least = now[j] < least ? now[j] : least;
        }
        if (least >= limit && last_least >= limit)
            return limit; /* all later rows are computed from these two, so no distance can be below the limit */
        last_least = least;
        size_t *reused = before;

        before = last;
        last = now;
        now = reused;
    }
    return last[b_length];
}

const char *text_nearest(const char *word, const char *const *names, size_t count)
{
    size_t length = strlen(word);
    size_t best = length / 3 + 1;
    const char *nearest = NULL;

    if (length > NEAREST_MAX_LENGTH)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t name_length = strlen(names[i]);

        /* The distance is at least the difference of the lengths. */
        if (name_length > NEAREST_MAX_LENGTH || name_length + best <= length || length + best <= name_length)
            continue;
        size_t distance = edit_distance(word, length, names[i], name_length, best);

        if (distance < best) {
            best = distance;
            nearest = names[i];
        }
    }
    return nearest;
}

uint32_t text_find_head_end(const uint8_t *bytes, uint32_t length, uint32_t from)
{
    uint32_t at = from > 3 ? from - 3 : 0;

    while (at < length) {
        const uint8_t *end = memchr(bytes + at, '\n', length - at);

        if (!end)
            return 0;
        at = (uint32_t)(end - bytes) + 1;
        if (at < length && bytes[at] == '\n')
            return at + 1;
        if (at + 1 < length && bytes[at] == '\r' && bytes[at + 1] == '\n')
            return at + 2;
    }
    return 0;
}
