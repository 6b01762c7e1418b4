/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Literals of the rule language, "text|0d 0a|\;", for content and replace. */
#ifndef SLUICE_KEYWORD_LITERAL_H
#define SLUICE_KEYWORD_LITERAL_H

#include "sluice/keyword.h"

/* Parses a value in double quotes to bytes in the rule list's arena; an empty literal is an error. Returns 0, or -errno
 * after an error was reported. */
int literal_parse(struct rule_parser *parser, struct span value, uint8_t **bytes, uint16_t *length);

#endif
