/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names by the public suffix list: www.example.co.uk has the suffix co.uk and the registrable domain example.co.uk. */
#ifndef SLUICE_KEYWORD_PUBLIC_SUFFIX_H
#define SLUICE_KEYWORD_PUBLIC_SUFFIX_H

#include <stdbool.h>
#include <stdint.h>

/* Where in the name its registrable domain and its suffix begin, both up to the end; false when it has no such domain.
 */
bool public_suffix_find(const uint8_t *name, uint32_t length, uint32_t *domain, uint32_t *suffix);

#endif
