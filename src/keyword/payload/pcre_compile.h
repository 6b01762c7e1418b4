/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compiles regular expressions of rules. The compiled code is allocated with malloc(), not in the rule list's arena: an
 * arena would also keep the temporary memory of PCRE2, whose JIT compiler needs several times the size of the code. */
#ifndef SLUICE_KEYWORD_PCRE_COMPILE_H
#define SLUICE_KEYWORD_PCRE_COMPILE_H

#include "pcre_scratch_priv.h"
#include "sluice/keyword.h"

/* Compiles a pattern. `flags` are those of pcre2_compile(). PCRE2_NO_AUTO_CAPTURE disables capture groups, which makes
 * matching faster; it is ignored if the pattern refers to groups. The caller frees *out with pcre2_code_free(). Returns
 * 0, -ENOMEM, or -EINVAL after an error was reported; then *out is NULL. */
int pcre_compile(struct rule_parser *parser, struct span pattern, uint32_t flags, pcre2_code **out);

#endif
