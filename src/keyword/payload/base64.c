/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base64.h"

#include <stdbool.h>

enum { PADDING = 64, OTHER = 65 };

static uint8_t value_of(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return (uint8_t)(c - 'A');
    if (c >= 'a' && c <= 'z')
        return (uint8_t)(c - 'a' + 26);
    if (c >= '0' && c <= '9')
        return (uint8_t)(c - '0' + 52);
    return c == '+' ? 62 : c == '/' ? 63 : c == '=' ? PADDING : OTHER;
}

struct group {
    uint32_t bits;
    unsigned count, padding;
    bool bad_padding; /* a character after the padding, or non-zero bits below it */
};

static void add(struct group *group, uint8_t value)
{
    group->bad_padding |= group->padding > 0 && value != PADDING;
    group->padding += value == PADDING;
    group->bits = group->bits << 6 | (value == PADDING ? 0 : value);
    group->count++;
}

/* Writes the bytes of a group of four characters; each padding character means one byte less. */
static uint32_t flush(struct group *group, uint8_t *out)
{
    uint32_t count = group->padding < 3 ? 3 - group->padding : 0;

    for (uint32_t i = 0; i < count; i++)
        out[i] = (uint8_t)(group->bits >> (16 - 8 * i));
    *group = (struct group){ 0 };
    return count;
}

/* As in Suricata, a single remaining character yields a byte: its bits are the upper ones. */
static uint32_t flush_rest(struct group *group, uint8_t *out)
{
    bool single = group->count == 1 && group->padding == 0;

    if (group->count == 0 || group->count == group->padding)
        return 0;
    while (group->count < 4)
        add(group, PADDING);
    if (single)
        group->padding = 2;
    return flush(group, out);
}

static uint32_t decode_strict(const uint8_t *text, uint32_t length, uint8_t *out)
{
    struct group group = { 0 };
    uint32_t decoded = 0;

    if (length % 4 != 0)
        return 0;
    for (uint32_t i = 0; i < length; i++) {
        uint8_t value = value_of(text[i]);

        add(&group, value);
        if (value == OTHER || group.bad_padding || group.padding > 2)
            return 0;
        if (group.count < 4)
            continue;
        if (group.padding > 0 && (i + 1 < length || group.bits & ((1U << (8 * group.padding)) - 1)))
            return 0;
        decoded += flush(&group, out + decoded);
    }
    return decoded;
}

uint32_t base64_decode(const uint8_t *text, uint32_t length, enum base64_mode mode, uint8_t *out)
{
    struct group group = { 0 };
    uint32_t decoded = 0;

    if (mode == BASE64_STRICT)
        return decode_strict(text, length, out);
    for (uint32_t i = 0; i < length; i++) {
        uint8_t value = value_of(text[i]);

        if (value == OTHER && mode == BASE64_RFC4648)
            break;
        if (value == OTHER)
            continue;
        add(&group, value);
        if (group.count == 4)
            decoded += flush(&group, out + decoded);
    }
    return mode == BASE64_RFC4648 ? decoded + flush_rest(&group, out + decoded) : decoded;
}
