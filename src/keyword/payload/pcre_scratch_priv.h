/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLUICE_KEYWORD_PCRE_SCRATCH_PRIV_H
#define SLUICE_KEYWORD_PCRE_SCRATCH_PRIV_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/pcre_scratch.h"

enum { PCRE_GROUPS_MAX = 8 /* maximum number of capture groups whose text a pcre may store, as in Suricata */ };

struct pcre_scratch {
    pcre2_general_context *memory;
    pcre2_match_data *match;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    size_t used; /* number of used bytes of `block` */
    uint8_t *block;
};

#endif
