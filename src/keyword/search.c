/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Case-sensitive search is the C library's memmem, which is vectorised. Without regard to case the first byte is looked
 * for in both its cases by memchr, which is too; each of the two passes goes over the buffer once, whatever the number
 * of false starts, because the place found last is kept until the search has passed it.
 */
#include "search.h"

#include <string.h>

bool search_equal(const struct content *content, const uint8_t *bytes)
{
    if (!content->nocase)
        return memcmp(content->bytes, bytes, content->length) == 0;
    for (uint16_t i = 0; i < content->length; i++)
        if (search_lower(bytes[i]) != content->bytes[i])
            return false;
    return true;
}

static const uint8_t *find_byte(const uint8_t *at, const uint8_t *end, uint8_t byte)
{
    const uint8_t *found = at < end ? memchr(at, byte, (size_t)(end - at)) : NULL;

    return found ? found : end;
}

static const uint8_t *search_nocase(const struct content *content, const uint8_t *bytes, size_t length)
{
    const uint8_t *end = bytes + (length - content->length) + 1; /* of the places where it may start */
    uint8_t lower = content->bytes[0];
    uint8_t upper = (uint8_t)(lower - 'a') < 26 ? (uint8_t)(lower & ~0x20) : lower;
    const uint8_t *at_lower = find_byte(bytes, end, lower);
    const uint8_t *at_upper = upper != lower ? find_byte(bytes, end, upper) : end;

    for (;;) {
        const uint8_t *at = at_lower < at_upper ? at_lower : at_upper;

        if (at == end)
            return NULL;
        if (search_equal(content, at))
            return at;
        if (at == at_lower)
            at_lower = find_byte(at + 1, end, lower);
        else
            at_upper = find_byte(at + 1, end, upper);
    }
}

const uint8_t *search_first(const struct content *content, const uint8_t *bytes, size_t length)
{
    if (content->length > length)
        return NULL;
    if (content->nocase)
        return search_nocase(content, bytes, length);
    return memmem(bytes, length, content->bytes, content->length);
}
