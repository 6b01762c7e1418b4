/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON values, parsed by json-c: strict JSON, validated UTF-8, and limited nesting, so that the cost of a request is
 * bounded by its length. A struct control_value is a json-c object under another name. A member is owned by the value
 * that contains it.
 *
 * json-c and sluice/text.h define the same names, so only this file includes json-c.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "value.h"

/* Declared as in sluice/control.h, which this file cannot include, because it includes sluice/text.h. */
void control_value_free(struct control_value *value);
struct control_value *control_value_parse(const char *bytes, size_t length, const char **cause);
const struct control_value *control_value_member(const struct control_value *value, const char *name);
const struct control_value *control_value_item(const struct control_value *value, size_t index);
size_t control_value_count(const struct control_value *value);
const char *control_value_string(const struct control_value *value);
bool control_value_number(const struct control_value *value, int64_t *out);
bool control_value_real(const struct control_value *value, double *out);
bool control_value_bool(const struct control_value *value);
bool control_value_is_object(const struct control_value *value);
bool control_value_is_array(const struct control_value *value);
void control_value_each(const struct control_value *value,
                        void (*each)(const char *key, const struct control_value *member, void *user), void *user);

static struct json_object *object_of(const struct control_value *value)
{
    return (struct json_object *)(uintptr_t)value;
}

static struct control_value *value_of(struct json_object *object)
{
    return (struct control_value *)object;
}

struct control_value *value_parse(const char *bytes, size_t length, const char **cause)
{
    struct json_tokener *tokener = json_tokener_new_ex(VALUE_MAX_DEPTH);
    struct json_object *object = NULL;
    enum json_tokener_error error;

    *cause = "out of memory";
    if (!tokener)
        return NULL;
    while (length > 0 && memchr(" \t\r\n", bytes[length - 1], 4))
        length--;
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    object = json_tokener_parse_ex(tokener, bytes, (int)length);
    error = json_tokener_get_error(tokener);
    /* a number or word at the end could continue: a newline completes it */
    if (error == json_tokener_continue && length > 0)
        object = json_tokener_parse_ex(tokener, "\n", 1);
    error = json_tokener_get_error(tokener);
    *cause = error == json_tokener_success ? NULL : json_tokener_error_desc(error);
    if (!*cause && !object)
        *cause = "a request must not be null";
    json_tokener_free(tokener);
    if (*cause) {
        json_object_put(object);
        return NULL;
    }
    return value_of(object);
}

struct control_value *control_value_parse(const char *bytes, size_t length, const char **cause)
{
    return value_parse(bytes, length, cause);
}

const char *value_text(struct control_value *value)
{
    return json_object_to_json_string_ext(object_of(value), JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}

void control_value_free(struct control_value *value)
{
    json_object_put(object_of(value));
}

const struct control_value *control_value_member(const struct control_value *value, const char *name)
{
    struct json_object *member = NULL;

    if (!control_value_is_object(value) || !json_object_object_get_ex(object_of(value), name, &member))
        return NULL;
    return value_of(member);
}

const struct control_value *control_value_item(const struct control_value *value, size_t index)
{
    return index < control_value_count(value) ? value_of(json_object_array_get_idx(object_of(value), index)) : NULL;
}

size_t control_value_count(const struct control_value *value)
{
    return control_value_is_array(value) ? json_object_array_length(object_of(value)) : 0;
}

const char *control_value_string(const struct control_value *value)
{
    return value && json_object_is_type(object_of(value), json_type_string) ? json_object_get_string(object_of(value))
                                                                            : NULL;
}

bool control_value_number(const struct control_value *value, int64_t *out)
{
    if (!value || !json_object_is_type(object_of(value), json_type_int))
        return false;
    *out = json_object_get_int64(object_of(value));
    return true;
}

bool control_value_real(const struct control_value *value, double *out)
{
    if (!value || !(json_object_is_type(object_of(value), json_type_double) ||
                    json_object_is_type(object_of(value), json_type_int)))
        return false;
    *out = json_object_get_double(object_of(value));
    return true;
}

bool control_value_bool(const struct control_value *value)
{
    return value && json_object_is_type(object_of(value), json_type_boolean) &&
           json_object_get_boolean(object_of(value));
}

bool control_value_is_object(const struct control_value *value)
{
    return value && json_object_is_type(object_of(value), json_type_object);
}

bool control_value_is_array(const struct control_value *value)
{
    return value && json_object_is_type(object_of(value), json_type_array);
}

void control_value_each(const struct control_value *value,
                        void (*each)(const char *key, const struct control_value *member, void *user), void *user)
{
    if (!control_value_is_object(value))
        return;
    json_object_object_foreach(object_of(value), key, member)
    {
        each(key, value_of(member), user);
    }
}
