/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An IPv4 or IPv6 address. Bytes are in network order; an IPv4 address uses the first four, the rest are zero. */
#ifndef SLUICE_ADDRESS_H
#define SLUICE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct address {
    uint8_t bytes[16];
};

enum { ADDRESS_TEXT_SIZE = 46 };

static inline bool address_equal(const struct address *a, const struct address *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

/* Writes the address as text, at most ADDRESS_TEXT_SIZE bytes, NUL included. `version` is 4 or 6. IPv6 is written as
 * RFC 5952 says, or, if `full`, uncompressed with all eight groups in four digits (the default of EVE).
 * Returns the position of the NUL. */
char *address_format(const struct address *address, int version, bool full, char *out);

/* Clears all bits after the first `prefix` bits. */
void address_mask(struct address *address, unsigned prefix);

/* Parses an address of `length` bytes. Returns its IP version, 4 or 6; or -EINVAL, with *out unchanged, when the text
 * is not an address. */
int address_parse(const char *text, size_t length, struct address *out);

#endif
