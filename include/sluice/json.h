/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Members with keys that are constants of the program, for events: sluice/text.h's functions look at each byte of a key
 * for what needs an escape and count its bytes; these copy a key whose length the compiler knows.
 */
#ifndef SLUICE_JSON_H
#define SLUICE_JSON_H

#include <string.h>

#include "sluice/text.h"

/* Room for `length` bytes and a NUL, mostly without a call; NULL when out of memory, which the text remembers. */
static inline char *json_room(struct text *text, size_t length)
{
    if (!text->failed && text->length + length < text->capacity)
        return text->bytes + text->length;
    return text_reserve(text, length);
}

/* What was written into json_room(), up to `end`. */
static inline void json_commit(struct text *text, char *end)
{
    *end = '\0';
    text->length = (size_t)(end - text->bytes);
}

/* To be inlined: of a constant the compiler knows the length then, and copies it in a few moves. */
#define JSON_INLINE static inline __attribute__((always_inline))

/* Comma and key, in room for them; where the value begins. */
JSON_INLINE char *json_put_key(const struct text *text, char *at, const char *key, size_t length)
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

/* A key that needs no escape; the value follows, written with a NULL key. */
JSON_INLINE void json_member(struct text *text, const char *key)
{
    size_t length = strlen(key);
    char *at = json_room(text, length + 4);

    if (!at)
        return;
    at = json_put_key(text, at, key, length);
    text->need_comma = false;
    json_commit(text, at);
}

enum { JSON_MAX_DIGITS = 20 };

/* Writes the number in decimal, behind which it returns. */
char *json_put_digits(char *at, uint64_t value);

JSON_INLINE void json_member_uint(struct text *text, const char *key, uint64_t value)
{
    size_t length = strlen(key);
    char *at = json_room(text, length + 4 + JSON_MAX_DIGITS);

    if (!at)
        return;
    at = json_put_digits(json_put_key(text, at, key, length), value);
    text->need_comma = true;
    json_commit(text, at);
}

/* NULL value: nothing is written. */
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
