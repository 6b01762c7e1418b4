/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON objects of a dataset's values. This header does not include sluice/text.h, whose names collide with json-c's. */
#ifndef SLUICE_DATASET_JSON_H
#define SLUICE_DATASET_JSON_H

#include <stdbool.h>
#include <stddef.h>

struct json_reader;

/* Where values are in a JSON text. Keys are paths of member names, with dots between them. */
struct json_layout {
    const char *value_key; /* member of an object that has its value */
    const char *array_key; /* member of the text with the array of objects; NULL: the text itself is the array */
    bool is_object;        /* the text is one object, without an array */
    bool remove_key;       /* objects are passed on without the member value_key */
};

/* Called for each object of a text: `value` is its value, or NULL if it has no string of this name; `object` is its
 * compact text. Both are valid during the call. The walk ends when the result is not 0. */
typedef int json_object_each(const char *value, size_t length, const char *object, void *user);

struct json_reader *json_reader_new(void); /* NULL: out of memory */
void json_reader_free(struct json_reader *reader);

/* Parses the text of `length` bytes, behind which is a NUL, and calls `each` for its objects. Returns NULL, or an error
 * message if the text is not valid JSON in UTF-8 or has another form; `each` was not called then. *result is the last
 * result of `each`, or 0. */
const char *json_reader_each(struct json_reader *reader, const char *text, size_t length,
                             const struct json_layout *layout, json_object_each *each, void *user, int *result);

#endif
