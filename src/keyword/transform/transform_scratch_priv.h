/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLUICE_KEYWORD_TRANSFORM_SCRATCH_PRIV_H
#define SLUICE_KEYWORD_TRANSFORM_SCRATCH_PRIV_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice/transform.h"

struct pcre_scratch;

struct transform_scratch {
    uint8_t *block;
    uint32_t used;
    bool exhausted;                /* an allocation failed since the last reset */
    struct pcre_scratch *pcre;     /* match data of pcrexform; owned */
    struct script_states *scripts; /* of luaxform; NULL: there are none */
};

#endif
