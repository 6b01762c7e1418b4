/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options common to dataset and datarep: `type string`, `load FILE`, `memcap SIZE` and others. */
#ifndef SLUICE_KEYWORD_DATASET_OPTION_H
#define SLUICE_KEYWORD_DATASET_OPTION_H

#include "keyword/meta/option.h"
#include "sluice/dataset.h"

/* Parses the options in `rest`, and finds or creates the dataset with this name; a buffer must be selected.
 * `context_key` is NULL for datarep, which has neither save and state nor JSON; otherwise it is set to the name of the
 * values' objects in alerts (.at NULL: they have none). Returns 0 and sets *out, or returns -errno after an error was
 * reported. */
int dataset_option_get(struct rule_parser *parser, struct span value, struct span name, struct span rest,
                       struct span *context_key, struct dataset **out);

#endif
