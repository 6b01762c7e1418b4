/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lookups use libpsl's built-in list, which is read-only data. Lookups of ASCII names neither allocate nor lock. A name
 * with non-ASCII bytes would have to be converted first, so it is not looked up: its last label is used as the suffix,
 * as for a name that the list does not contain.
 *
 * As in Suricata, letters are compared without case folding (the list is lower case), and a trailing dot of the name is
 * kept.
 */
#include "public_suffix.h"

#include <libpsl.h>
#include <string.h>

enum { NAME_MAX_LENGTH = 255 }; /* bytes (RFC 1035 §2.3.4) */

static bool is_ascii(const uint8_t *bytes, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) {
        if (bytes[i] == 0 || bytes[i] >= 0x80)
            return false;
    }
    return true;
}

static uint32_t last_label(const uint8_t *name, uint32_t length)
{
    while (length > 0 && name[length - 1] != '.')
        length--;
    return length;
}

static uint32_t find_suffix(const uint8_t *name, uint32_t length)
{
    char copy[NAME_MAX_LENGTH + 1];
    const char *suffix;

    if (length > NAME_MAX_LENGTH || !is_ascii(name, length))
        return last_label(name, length);
    memcpy(copy, name, length);
    copy[length] = '\0';
    suffix = psl_unregistrable_domain(psl_builtin(), copy);
    return suffix ? (uint32_t)(suffix - copy) : last_label(name, length);
}

bool public_suffix_find(const uint8_t *name, uint32_t length, uint32_t *domain, uint32_t *suffix)
{
    uint32_t end = length > 0 && name[length - 1] == '.' ? length - 1 : length;
    uint32_t start = find_suffix(name, end);

    if (start < 2 || start >= length)
        return false;
    *suffix = start;
    *domain = last_label(name, start - 1);
    return true;
}
