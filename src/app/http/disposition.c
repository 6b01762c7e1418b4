/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * File names in Content-Disposition. The main reading uses the first "filename". Clients may use the last one,
 * "filename*" (RFC 8187), a name in several sections (RFC 2231), or decode the name. Each different name requires an
 * alternative reading of the response.
 */
#include <string.h>

#include "http_priv.h"
#include "sluice/hex.h"

static void add_byte(struct http_name *name, uint8_t byte)
{
    if (name->length < sizeof(name->bytes))
        name->bytes[name->length++] = byte;
}

static void add_bytes(struct http_name *name, const uint8_t *bytes, uint32_t length, bool percent, bool backslash)
{
    uint8_t byte;

    for (uint32_t at = 0; at < length; at++) {
        if (percent && bytes[at] == '%' && at + 2 < length && hex_byte(bytes + at + 1, &byte)) {
            add_byte(name, byte);
            at += 2;
        } else if (!backslash || bytes[at] != '\\' || at + 1 == length) {
            add_byte(name, bytes[at]);
        }
    }
}

/* Adds a name to the list. Returns false if the name is empty or already present, or if the list is full. */
static bool add_name(struct http_names *names, const struct http_name *name)
{
    if (name->length == 0 ||
        (name->length == names->main_length && memcmp(name->bytes, names->main, name->length) == 0))
        return false;
    for (unsigned i = 0; i < names->count; i++)
        if (names->name[i].length == name->length && memcmp(names->name[i].bytes, name->bytes, name->length) == 0)
            return false;
    if (names->count == HTTP_NAMES_MAX)
        return false;
    names->name[names->count++] = *name;
    return true;
}

/* Adds the name in a parameter filename, filename*, filename*0 or filename*0*. `suffix`: the characters after
 * "filename". `parts`: the sections of a name so far. */
static void add_parameter(struct http_names *names, struct http_name *parts, const uint8_t *suffix,
                          uint32_t suffix_length, const uint8_t *value, uint32_t length)
{
    bool extended = suffix_length > 0 && suffix[suffix_length - 1] == '*';
    bool is_part = suffix_length > 1 && http_is_digit(suffix[1]);
    struct http_name name = { .length = 0 };
    const uint8_t *quote = extended ? memchr(value, '\'', length) : NULL;
    const uint8_t *second = quote ? memchr(quote + 1, '\'', (size_t)(value + length - (quote + 1))) : NULL;

    if (second && (!is_part || parts->length == 0)) {
        length -= (uint32_t)(second + 1 - value);
        value = second + 1;
    }
    if (is_part) {
        add_bytes(parts, value, length, extended, false);
        return;
    }
    add_bytes(&name, value, length, extended, false);
    add_name(names, &name);
    name.length = 0;
    add_bytes(&name, value, length, true, true);
    add_name(names, &name);
}

void http_find_other_names(const uint8_t *bytes, uint32_t length, struct http_names *names)
{
    static const char word[] = "filename";
    struct http_name parts = { .length = 0 };
    uint32_t at = 0, size = sizeof(word) - 1;

    names->count = 0;
    names->main = NULL;
    names->main_length = 0;
    http_parameter(bytes, length, word, &names->main, &names->main_length);
    while (at < length) {
        const uint8_t *suffix, *value;
        uint32_t suffix_length, value_length;

        while (at < length && (http_is_space(bytes[at]) || bytes[at] == ';' || bytes[at] == ','))
            at++;
        bool is_name = length - at > size && http_equal_nocase(bytes + at, size, word);

        suffix = bytes + at + (is_name ? size : 0);
        while (at < length && bytes[at] != '=' && bytes[at] != ';')
            at++;
        for (suffix_length = (uint32_t)(bytes + at - suffix); suffix_length > 0; suffix_length--)
            if (!http_is_space(suffix[suffix_length - 1]))
                break;
        if (at == length || bytes[at] != '=')
            continue;
        at++;
        http_parameter_value(bytes + at, length - at, &value, &value_length);
        if (is_name && (suffix_length == 0 || suffix[0] == '*'))
            add_parameter(names, &parts, suffix, suffix_length, value, value_length);
        at = (uint32_t)(value - bytes) + value_length;
        if (at < length && bytes[at] == '"')
            at++;
    }
    add_name(names, &parts);
}
