/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parser of JSON values. Only value.c includes json-c, whose names collide with those of sluice/text.h. */
#ifndef SLUICE_CONTROL_VALUE_H
#define SLUICE_CONTROL_VALUE_H

#include <stddef.h>

struct control_value;

enum { VALUE_MAX_DEPTH = 16 };

/* Parses one value in strict JSON without trailing bytes; the caller frees it. Returns NULL on an error, with the
 * reason in *cause. */
struct control_value *value_parse(const char *bytes, size_t length, const char **cause);
/* Returns the value as text, valid until the next call or until the value is freed. */
const char *value_text(struct control_value *value);

#endif
