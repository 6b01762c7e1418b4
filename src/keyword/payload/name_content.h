/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A content in file.name under a separate keyword: filename and fileext. */
#ifndef SLUICE_KEYWORD_NAME_CONTENT_H
#define SLUICE_KEYWORD_NAME_CONTENT_H

#include "condition.h"

/* For parse(): adds `value`, quoted or not, as a case-insensitive content of file.name. `is_extension` prepends a dot
 * and requires the match at the end of the name. 0 or -errno. */
int name_content_parse(struct rule_parser *parser, struct span value, bool is_extension);

extern const char *const name_content_applications[];

#endif
