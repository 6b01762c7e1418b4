/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compiles regular expressions of rules in the rule list's arena, so that pcre2_code_free() frees only their JIT code.
 */
#ifndef SLUICE_KEYWORD_PCRE_COMPILE_H
#define SLUICE_KEYWORD_PCRE_COMPILE_H

#include "pcre_scratch_priv.h"
#include "sluice/keyword.h"

/* Compiles a pattern. `flags` are those of pcre2_compile(). PCRE2_NO_AUTO_CAPTURE disables capture groups, which makes
 * matching faster; it is ignored if the pattern refers to groups. Returns 0, -ENOMEM, or -EINVAL after an error was
 * reported. */
int pcre_compile(struct rule_parser *parser, struct span pattern, uint32_t flags, pcre2_code **out);

#endif
