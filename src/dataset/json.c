/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "json.h"

#include <json-c/json.h>
#include <limits.h>
#include <string.h>

enum { MAX_NAME = 256 }; /* bytes of a member's name, including the NUL */

struct json_reader *json_reader_new(void)
{
    struct json_tokener *tokener = json_tokener_new();

    if (tokener)
        json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    return (struct json_reader *)tokener;
}

void json_reader_free(struct json_reader *reader)
{
    if (reader)
        json_tokener_free((struct json_tokener *)reader);
}

/* Returns the member with this path, or NULL if there is none. *owner is set to the object that has the member, and
 * `name` to its name. */
static struct json_object *find_member(struct json_object *object, const char *path, struct json_object **owner,
                                       char name[MAX_NAME])
{
    while (object && *path) {
        size_t length = strcspn(path, ".");

        if (length >= MAX_NAME || !json_object_is_type(object, json_type_object))
            return NULL;
        memcpy(name, path, length);
        name[length] = '\0';
        *owner = object;
        if (!json_object_object_get_ex(object, name, &object))
            return NULL;
        path += length + (path[length] == '.');
    }
    return object;
}

static int pass(struct json_object *object, const struct json_layout *layout, json_object_each *each, void *user)
{
    struct json_object *owner = NULL, *value;
    char name[MAX_NAME];
    int result;

    value = find_member(object, layout->value_key, &owner, name);
    if (!owner || !json_object_is_type(value, json_type_string))
        return each(NULL, 0, NULL, user);
    json_object_get(value);
    if (layout->remove_key)
        json_object_object_del(owner, name);
    result =
        each(json_object_get_string(value), (size_t)json_object_get_string_len(value),
             json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE), user);
    json_object_put(value);
    return result;
}

const char *json_reader_each(struct json_reader *reader, const char *text, size_t length,
                             const struct json_layout *layout, json_object_each *each, void *user, int *result)
{
    struct json_tokener *tokener = (struct json_tokener *)reader;
    struct json_object *object, *array, *owner;
    const char *error = NULL;
    char name[MAX_NAME];

    *result = 0;
    if (length >= INT_MAX)
        return "the text is longer than 2 GiB";
    json_tokener_reset(tokener);
    object = json_tokener_parse_ex(tokener, text, (int)length + 1); /* the NUL ends a number at the end of the text */
    if (!object)
        return json_tokener_get_error(tokener) == json_tokener_success
                   ? "an object is expected, not null"
                   : json_tokener_error_desc(json_tokener_get_error(tokener));
    array = layout->array_key ? find_member(object, layout->array_key, &owner, name) : object;
    if (layout->is_object) {
        *result = pass(object, layout, each, user);
    } else if (!json_object_is_type(array, json_type_array)) {
        error = layout->array_key ? "there is no array with the name of 'array_key'"
                                  : "an array is expected; 'array_key' names a member that is one";
    } else {
        for (size_t i = 0; *result == 0 && i < json_object_array_length(array); i++)
            *result = pass(json_object_array_get_idx(array, i), layout, each, user);
    }
    json_object_put(object);
    return error;
}
