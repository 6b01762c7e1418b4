/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fields: facts about a transaction, written by a worker as compact binary, and rendered as JSON by the thread that
 * writes events.
 *
 * The functions correspond to those of the JSON writer (sluice/text.h), but escaping and the formatting of numbers and
 * times are left to the thread that renders. Keys are constants of the program: their addresses are written. Values are
 * copied and truncated at FIELDS_VALUE_MAX. A member that does not fit is omitted as a whole, so that the result is
 * always well-formed; `cut` is set then.
 *
 * Ownership: the caller owns the bytes that the writer writes to.
 */
#ifndef SLUICE_FIELDS_H
#define SLUICE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct address;
struct text;

enum { FIELDS_VALUE_MAX = 16 << 10, FIELDS_DEPTH_MAX = 16 };

struct fields {
    uint8_t *bytes;
    uint32_t length, capacity;
    uint32_t depth, skipped; /* open objects and arrays, and how many of them are omitted because they did not fit */
    bool cut;                /* a member was omitted or truncated */
};

void fields_init(struct fields *fields, void *bytes, uint32_t capacity);

/* `key` is a constant of the program, or NULL within an array. */
void fields_object_open(struct fields *fields, const char *key);
void fields_object_close(struct fields *fields);
void fields_array_open(struct fields *fields, const char *key);
void fields_array_close(struct fields *fields);
void fields_string(struct fields *fields, const char *key, const char *value); /* NULL value: nothing is written */
/* Writes any bytes. If the value is not UTF-8, its bytes from 0x80 on are rendered as \xNN, as in Suricata. NULL value:
 * nothing is written. */
void fields_bytes(struct fields *fields, const char *key, const void *value, size_t length);
/* Writes bytes like fields_bytes(), with a key from the traffic, which is copied (e-mail headers). */
void fields_bytes_named(struct fields *fields, const void *key, size_t key_length, const void *value, size_t length);
void fields_uint(struct fields *fields, const char *key, uint64_t value);
void fields_int(struct fields *fields, const char *key, int64_t value);
void fields_double(struct fields *fields, const char *key, double value); /* infinity and NaN are rendered as null */
void fields_bool(struct fields *fields, const char *key, bool value);
void fields_hex(struct fields *fields, const char *key, const void *value, size_t length);       /* "0a1b" */
void fields_colon_hex(struct fields *fields, const char *key, const void *value, size_t length); /* "0a:1b" */
void fields_base64(struct fields *fields, const char *key, const void *value, size_t length);
void fields_address(struct fields *fields, const char *key, int ip_version, const struct address *address);
void fields_time(struct fields *fields, const char *key, int64_t seconds); /* "2024-03-01T12:00:00", UTC */

/* Appends the members to the object or array that is open in `out`. Returns false when the bytes are not well-formed,
 * that is, not written by the functions above. */
bool fields_render(const void *bytes, uint32_t length, struct text *out);

#endif
