/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parsers of classification.config and reference.config.
 *
 * They add what a file defines to a map, whose keys are names without case: struct rule_class or struct
 * reference_system. Of several lines with one name the first applies. Mistakes, and names that are defined again, are
 * reported in `diag`; the other lines are still parsed.
 *
 * Ownership: the entries of the maps are in the arena of the list.
 */
#ifndef SLUICE_RULE_CLASS_CONFIG_H
#define SLUICE_RULE_CLASS_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice/diag.h"
#include "sluice/rule.h"

#include "map.h"
#include "source.h"

struct rule_class {
    const char *name, *description;
    uint8_t priority;
    bool declared; /* true: defined in classification.config; false: created when a rule first used the name */
};
struct reference_system {
    const char *name;
    const char *prefix; /* NULL: reference.config does not define the system */
};

/* Return 0 or -ENOMEM. */
int class_config_parse(struct rule_list *list, const struct source *source, struct map *classes, struct diag *diag);
int reference_config_parse(struct rule_list *list, const struct source *source, struct map *references,
                           struct diag *diag);

#endif
