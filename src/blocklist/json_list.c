/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "json_list.h"

#include <errno.h>
#include <json-c/json.h>
#include <string.h>

static const char *string_member(struct json_object *object, const char *name)
{
    struct json_object *value;

    if (!json_object_object_get_ex(object, name, &value) || !json_object_is_type(value, json_type_string))
        return NULL;
    return json_object_get_string(value);
}

static int handle_object(struct json_object *object, int (*each)(const struct json_list_item *item, void *user),
                         void *user)
{
    static const char *const members[JSON_LIST_MEMBERS] = { "cidr", "network", "prefix", "ip_address",
                                                            "ip",   "dst_ip",  "address" };
    struct json_list_item item = { .count = 0 };
    const char *value, *type;

    if (!json_object_is_type(object, json_type_object))
        return -EINVAL;
    for (size_t i = 0; i < JSON_LIST_MEMBERS; i++)
        if ((value = string_member(object, members[i])))
            item.values[item.count++] = value;
    type = string_member(object, "type");
    item.metadata = type && strcmp(type, "metadata") == 0;
    return each(&item, user);
}

int json_list_each(const char *text, size_t length, int (*each)(const struct json_list_item *item, void *user),
                   void *user)
{
    struct json_tokener *tokener = json_tokener_new();
    struct json_object *value = tokener ? json_tokener_parse_ex(tokener, text, (int)length) : NULL;
    int err = value ? 0 : -EINVAL;

    if (!tokener)
        return -ENOMEM;
    if (!err && !json_object_is_type(value, json_type_array))
        err = handle_object(value, each, user);
    else if (!err)
        for (size_t i = 0; !err && i < json_object_array_length(value); i++)
            err = handle_object(json_object_array_get_idx(value, i), each, user);
    json_object_put(value);
    json_tokener_free(tokener);
    return err;
}
