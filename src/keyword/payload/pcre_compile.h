/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Regular expressions of rules: compiled into the list's arena, which is where pcre2_code_free() leaves them. */
#ifndef SLUICE_KEYWORD_PCRE_COMPILE_H
#define SLUICE_KEYWORD_PCRE_COMPILE_H

#include "pcre_scratch_priv.h"
#include "sluice/keyword.h"

/* `flags` are PCRE2's. Groups that PCRE2_NO_AUTO_CAPTURE takes not to capture, which saves work, do when the pattern
 * refers to them. 0, -ENOMEM, or -EINVAL after an error. */
int pcre_compile(struct rule_parser *parser, struct span pattern, uint32_t flags, pcre2_code **out);

#endif
