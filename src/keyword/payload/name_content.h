/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Common code of filename and fileext, which are contents in the buffer file.name. */
#ifndef SLUICE_KEYWORD_NAME_CONTENT_H
#define SLUICE_KEYWORD_NAME_CONTENT_H

#include "condition.h"

/* For parse(): adds `value`, quoted or not, as a case-insensitive content of file.name. With `is_extension`, a dot is
 * prepended and the match must be at the end of the name. Returns 0 or -errno. */
int name_content_parse(struct rule_parser *parser, struct span value, bool is_extension);

extern const char *const name_content_applications[];

#endif
