/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON values that somebody sent. value.c alone knows json-c, whose names are like ours. */
#ifndef SLUICE_CONTROL_VALUE_H
#define SLUICE_CONTROL_VALUE_H

#include <stddef.h>

struct control_value;

enum { VALUE_MAX_DEPTH = 16 };

/* One value, strictly JSON and nothing behind it; NULL with what is wrong in *cause. The caller frees. */
struct control_value *value_parse(const char *bytes, size_t length, const char **cause);
/* Its text, lent until the value is freed or asked again. */
const char *value_text(struct control_value *value);

#endif
