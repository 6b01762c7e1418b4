/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options common to dataset and datarep: `type string`, `load FILE`, `memcap SIZE` and others. */
#ifndef SLUICE_KEYWORD_DATASET_OPTION_H
#define SLUICE_KEYWORD_DATASET_OPTION_H

#include "keyword/meta/option.h"
#include "sluice/dataset.h"

/* Parses the options after the positional parts, and finds or creates the set of that name for the current buffer.
 * `write` allows save and state. 0 or -errno after an error. */
int dataset_option_get(struct rule_parser *parser, struct span value, struct span name, struct span rest, bool write,
                       struct dataset **out);

#endif
