/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the values of dataset and datarep share: `type string`, `load FILE`, `memcap SIZE`... */
#ifndef SLUICE_KEYWORD_DATASET_OPTION_H
#define SLUICE_KEYWORD_DATASET_OPTION_H

#include "keyword/meta/option.h"
#include "sluice/dataset.h"

/* Reads the list after the positional parts, and finds or makes the set of that name for the current buffer. `write`:
 * save and state are allowed. 0 or -errno after an error. */
int dataset_option_get(struct rule_parser *parser, struct span value, struct span name, struct span rest, bool write,
                       struct dataset **out);

#endif
