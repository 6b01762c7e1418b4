/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of state that rules share (flowbits, flowint and kin), as a rule writes them. */
#ifndef SLUICE_KEYWORD_STATE_NAME_H
#define SLUICE_KEYWORD_STATE_NAME_H

#include "sluice/keyword.h"

/* The number of a name, which must not be empty nor have blanks inside. 0 or -errno; *out only on success. */
int state_name_number(struct rule_parser *parser, enum rule_name_kind kind, struct span name, unsigned use,
                      uint32_t *out);

#endif
