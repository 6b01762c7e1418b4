/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A content in file.name under a keyword of its own: filename and fileext. */
#ifndef SLUICE_KEYWORD_NAME_CONTENT_H
#define SLUICE_KEYWORD_NAME_CONTENT_H

#include "sluice/keyword.h"

/* For parse(): `value` with or without quotes becomes a content of file.name without regard to case; `is_extension`: a
 * dot before it, and the name ends with it. 0 or -errno. */
int name_content_parse(struct rule_parser *parser, struct span value, bool negated, bool is_extension);

extern const char *const name_content_applications[];

/* The keyword's functions are those of content. */
enum inspect_result name_content_inspect(struct inspection *in, const struct condition *condition,
                                         struct inspect_retry *retry);
const struct content *name_content_literal(const struct condition *condition);
int name_content_finish(struct rule_parser *parser, const struct condition *condition);

#endif
