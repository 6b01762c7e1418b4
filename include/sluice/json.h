/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that write JSON members whose keys are constants of the program, for events. They are faster than those of
 * sluice/text.h, which check each byte of a key for escapes and determine its length: here the compiler knows the
 * length, and the key is only copied.
 */
#ifndef SLUICE_JSON_H
#define SLUICE_JSON_H

#include <string.h>

#include "sluice/text.h"

/* Returns a pointer to free space for `length` bytes and a NUL at the end of the text. Calls text_reserve() only if the
 * capacity is too small. Returns NULL when out of memory; then text->failed is set. */
static inline char *json_reserve(struct text *text, size_t length)
{
    if (!text->failed && text->length + length < text->capacity)
        return text->bytes + text->length;
    return text_reserve(text, length);
}

/* Adds the bytes that the caller wrote to the space from json_reserve(), up to `end`, to the text. */
static inline void json_commit(struct text *text, char *end)
{
    *end = '\0';
    text->length = (size_t)(end - text->bytes);
}

/* The functions are always inlined, so that the compiler knows the length of a constant key and copies it with a few
 * instructions. */
#define JSON_INLINE static inline __attribute__((always_inline))

/* Writes a comma if text->need_comma is set, then the key, into the space at `at`. Returns the position of the
 * value. */
JSON_INLINE char *json_write_key(const struct text *text, char *at, const char *key, size_t length)
{
    *at = ',';
    at += text->need_comma;
    *at++ = '"';
    memcpy(at, key, length);
    at += length;
    *at++ = '"';
    *at++ = ':';
    return at;
}

/* Writes a key that needs no escapes. The caller then writes the value with a function of sluice/text.h and a NULL
 * key. */
JSON_INLINE void json_member(struct text *text, const char *key)
{
    size_t length = strlen(key);
    char *at = json_reserve(text, length + 4);

    if (!at)
        return;
    at = json_write_key(text, at, key, length);
    text->need_comma = false;
    json_commit(text, at);
}

enum { JSON_MAX_DIGITS = 20 };

/* Writes the number in decimal, at most JSON_MAX_DIGITS bytes without a NUL. Returns the position behind it. */
char *json_write_digits(char *at, uint64_t value);

JSON_INLINE void json_member_uint(struct text *text, const char *key, uint64_t value)
{
    size_t length = strlen(key);
    char *at = json_reserve(text, length + 4 + JSON_MAX_DIGITS);

    if (!at)
        return;
    at = json_write_digits(json_write_key(text, at, key, length), value);
    text->need_comma = true;
    json_commit(text, at);
}

/* Writes nothing if `value` is NULL. */
JSON_INLINE void json_member_string(struct text *text, const char *key, const char *value)
{
    if (!value)
        return;
    json_member(text, key);
    json_stringn(text, NULL, value, strlen(value));
}

JSON_INLINE void json_member_object(struct text *text, const char *key)
{
    json_member(text, key);
    json_object_open(text, NULL);
}

JSON_INLINE void json_member_array(struct text *text, const char *key)
{
    json_member(text, key);
    json_array_open(text, NULL);
}

#endif
