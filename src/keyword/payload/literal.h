/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes as a rule writes them: "text|0d 0a|\;", for content and replace. */
#ifndef SLUICE_KEYWORD_LITERAL_H
#define SLUICE_KEYWORD_LITERAL_H

#include "sluice/keyword.h"

/* Reads a value in double quotes into the list's arena. 0 or -errno after an error; it is not empty. */
int literal_parse(struct rule_parser *parser, struct span value, uint8_t **bytes, uint16_t *length);

#endif
