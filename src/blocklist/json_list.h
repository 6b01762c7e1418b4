/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses in JSON. A file of its own, because json-c and sluice/text.h both define json_bool. */
#ifndef SLUICE_BLOCKLIST_JSON_LIST_H
#define SLUICE_BLOCKLIST_JSON_LIST_H

#include <stddef.h>

enum { JSON_LIST_MEMBERS = 7 };

/* The values of an object's members that may be an address or network ("cidr", "ip" and others), the most specific one
 * first. They are valid during the call only. */
struct json_list_item {
    const char *values[JSON_LIST_MEMBERS];
    size_t count;
    int metadata; /* 1: the object describes the list itself, as the last object of Spamhaus' lists does */
};

/* Parses one object, or an array of objects, and calls `each` for every object until a call returns a value other than
 * 0, which is then returned. Otherwise returns 0, -ENOMEM, or -EINVAL if the text is not such JSON. `text` need not be
 * NUL-terminated. */
int json_list_each(const char *text, size_t length, int (*each)(const struct json_list_item *item, void *user),
                   void *user);

#endif
