/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of shared rule state (flowbits, flowint and others). */
#ifndef SLUICE_KEYWORD_STATE_NAME_H
#define SLUICE_KEYWORD_STATE_NAME_H

#include "sluice/keyword.h"

/* Returns the number of a name, which must not be empty nor contain blanks. 0 or -errno; sets *out only on success. */
int state_name_number(struct rule_parser *parser, enum rule_name_kind kind, struct span name, unsigned use,
                      uint32_t *out);

#endif
