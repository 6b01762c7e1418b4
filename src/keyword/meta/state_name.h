/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of shared rule state (flowbits, flowint and others). */
#ifndef SLUICE_KEYWORD_STATE_NAME_H
#define SLUICE_KEYWORD_STATE_NAME_H

#include "sluice/keyword.h"

/* Sets *out to the number of a name, and records in the rule how it uses the state (`use`: RULE_STATE_*). The name must
 * not be empty nor contain blanks. Returns 0 or -errno. */
int state_name_number(struct rule_parser *parser, enum rule_name_kind kind, struct span name, unsigned use,
                      uint32_t *out);

#endif
