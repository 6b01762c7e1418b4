/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compiles regular expressions of rules into the list's arena, so that pcre2_code_free() frees nothing of them. */
#ifndef SLUICE_KEYWORD_PCRE_COMPILE_H
#define SLUICE_KEYWORD_PCRE_COMPILE_H

#include "pcre_scratch_priv.h"
#include "sluice/keyword.h"

/* `flags` are PCRE2's. PCRE2_NO_AUTO_CAPTURE disables capturing to save work; groups to which the pattern refers
 * capture nevertheless. 0, -ENOMEM, or -EINVAL after an error. */
int pcre_compile(struct rule_parser *parser, struct span pattern, uint32_t flags, pcre2_code **out);

#endif
