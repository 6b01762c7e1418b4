/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lookups in the public suffix list: www.example.co.uk has the suffix co.uk and the registrable domain example.co.uk.
 */
#ifndef SLUICE_KEYWORD_PUBLIC_SUFFIX_H
#define SLUICE_KEYWORD_PUBLIC_SUFFIX_H

#include <stdbool.h>
#include <stdint.h>

/* Sets *domain and *suffix to the offsets in the name at which the registrable domain and the suffix begin. Returns
 * false if the name has no registrable domain. */
bool public_suffix_find(const uint8_t *name, uint32_t length, uint32_t *domain, uint32_t *suffix);

#endif
