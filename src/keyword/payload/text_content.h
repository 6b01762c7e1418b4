/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Common code of flowvar and pktvar: a content searched in a text that a pcre captured. */
#ifndef SLUICE_KEYWORD_TEXT_CONTENT_H
#define SLUICE_KEYWORD_TEXT_CONTENT_H

#include "sluice/keyword.h"

struct text_content {
    uint32_t number; /* number of the name under which pcre stores the text */
    uint16_t length;
    const uint8_t *bytes;
};

/* For parse(): parses NAME,CONTENT and adds a packet condition. `kind` is the scope of the name. Returns 0 or -errno.
 */
int text_content_parse(struct rule_parser *parser, enum rule_name_kind kind, struct span value);
bool text_content_is_in(const struct text_content *want, const uint8_t *text, uint32_t length);

#endif
