/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * threshold.config: its lines, and the thresholds of rules that follow from them.
 *
 * Ownership: what the lines point to is in the arena of the list; the owner frees the array.
 */
#ifndef SLUICE_RULE_THRESHOLD_CONFIG_H
#define SLUICE_RULE_THRESHOLD_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "sluice/diag.h"
#include "sluice/rule.h"

#include "source.h"

struct threshold_line {
    uint32_t gid, sid; /* 0: the line applies to all gids or sids */
    uint32_t order;    /* number of the line among all lines of threshold.config */
    const struct statement *statement;
    struct threshold threshold;
};
/* Initialise it with zeros. */
struct threshold_lines {
    struct threshold_line *line;
    size_t count, capacity;
};
struct global_suppression {
    uint32_t gid;
    struct threshold *first; /* list of the suppressions of the gid, followed by the suppressions for all gids */
};

/* Appends the lines of the file; a line with a mistake is reported in `diag` and skipped. Returns 0 or -ENOMEM. */
int threshold_config_parse(struct rule_list *list, const struct source *source, struct threshold_lines *lines,
                           struct diag *diag);
/* Attaches the lines of the list to its rules. Lines without effect are reported in `diag`. Returns 0 or -ENOMEM. */
int threshold_config_apply(struct rule_list *list, struct diag *diag);

#endif
