/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text: a growing string, JSON written straight into it, and strict number parsing.
 *
 * JSON is streamed, not built as a tree: events are formatted at the rate of the traffic, and are never parsed again.
 * Strings are escaped as RFC 8259 §7 requires, and so are characters that change how a terminal displays the text
 * around them (U+009B, U+202E); bytes that are not UTF-8 become U+FFFD.
 *
 * Errors: out of memory sets `failed`; further calls do nothing, so the caller checks once at the end.
 */
#ifndef SLUICE_TEXT_H
#define SLUICE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A borrowed range of text; not NUL-terminated. */
struct span {
    const char *at;
    size_t length;
};

#define SPAN_FORMAT "%.*s"
#define SPAN_ARGS(s) (int)(s).length, (s).at

struct span span_of(const char *string);
struct span span_trim(struct span span); /* returns the span without spaces and tabs at both ends */
bool span_equal(struct span span, const char *string);
bool span_equal_nocase(struct span span, const char *string);
/* Cuts the part before the first `separator` off `rest` and returns it, trimmed; the last part empties `rest` and sets
 * rest->at to NULL. Returns false when rest->at is NULL:
 *
 *   for (struct span part; span_next(&rest, ',', &part);) */
bool span_next(struct span *rest, char separator, struct span *part);
bool span_to_uint(struct span span, uint64_t low, uint64_t high, uint64_t *out);
bool span_to_int(struct span span, int64_t low, int64_t high, int64_t *out);

struct text {
    char *bytes; /* NUL-terminated after the first write; NULL before */
    size_t length;
    size_t capacity;
    bool failed;
    bool need_comma; /* JSON: the next member or element needs a comma */
};

void text_init(struct text *text);
void text_clear(struct text *text); /* frees the memory */
void text_reset(struct text *text); /* empties the text, keeps the memory */

/* Returns free space for `length` bytes at the end of the text; text_commit() then adds the bytes that the caller has
 * written to it, at most `length`. Returns NULL when out of memory; then text->failed is set. */
char *text_reserve(struct text *text, size_t length);
void text_commit(struct text *text, size_t length);
void text_append(struct text *text, const char *bytes, size_t length);
void text_puts(struct text *text, const char *string);
void text_printf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The numbers 0 to 99 as two digits each. */
extern const char text_digit_pairs[2 * 100 + 1];
static inline char *text_write_two_digits(char *at, unsigned value)
{
    at[0] = text_digit_pairs[2 * value];
    at[1] = text_digit_pairs[2 * value + 1];
    return at + 2;
}

/* Appends text that goes to a terminal: control characters, and bytes that are not UTF-8, become \xNN. */
void text_printable(struct text *text, const char *bytes, size_t length);

/* JSON. A NULL `key` writes an array element or the outermost value. */
void json_object_open(struct text *text, const char *key);
void json_object_close(struct text *text);
void json_array_open(struct text *text, const char *key);
void json_array_close(struct text *text);
void json_string(struct text *text, const char *key, const char *value); /* NULL value: nothing is written */
void json_stringn(struct text *text, const char *key, const void *value, size_t length);
/* Writes a string without a key if it is printable ASCII that needs no escapes, which is the usual case. Otherwise
 * returns false, with nothing written. */
bool json_plain_string(struct text *text, const void *value, size_t length);
void json_uint(struct text *text, const char *key, uint64_t value);
void json_int(struct text *text, const char *key, int64_t value);
void json_double(struct text *text, const char *key, double value);
/* Like json_double(), but integers have a decimal point, too ("3.0"), so that all values of a member have one type. */
void json_float(struct text *text, const char *key, double value);
void json_bool(struct text *text, const char *key, bool value);
void json_null(struct text *text, const char *key);
void json_base64(struct text *text, const char *key, const void *bytes, size_t length);
/* Writes a key that is not a constant. The caller then writes the value with a NULL key. */
void json_key(struct text *text, const void *key, size_t length);
void json_printf(struct text *text, const char *key, const char *format, ...) __attribute__((format(printf, 3, 4)));

/*
 * Parses a whole string as one number: decimal, or hexadecimal after 0x. Returns true when all `length` bytes form one
 * number in [low, high].
 */
bool text_to_uint(const char *bytes, size_t length, uint64_t low, uint64_t high, uint64_t *out);
bool text_to_int(const char *bytes, size_t length, int64_t low, int64_t high, int64_t *out);

/* Returns the name in `names` nearest to `word` (edit distance at most a third of its length), or NULL: for "did you
 * mean". */
const char *text_nearest(const char *word, const char *const *names, size_t count);

/* Returns the length of the start line and headers of a message (as in RFC 5322 and HTTP/1) with the empty line after
 * them; 0 if the empty line is missing. Lines end with LF or CR LF. The first `from` bytes are known not to contain the
 * empty line. */
uint32_t text_find_head_end(const uint8_t *bytes, uint32_t length, uint32_t from);

#endif
