/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The costs of rules and searches: see budget.c.
 *
 * Threads: a budget belongs to one worker.
 */
#ifndef SLUICE_DETECT_BUDGET_H
#define SLUICE_DETECT_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice/detect.h"

struct budget;
/* Sets *out to NULL if rules need not be timed. Returns 0 or -ENOMEM. */
int budget_new(struct budget **out, const struct budget_options *options);
void budget_free(struct budget *budget); /* NULL is allowed */
/* Starts the timer for the first candidate; budget_book() adds the elapsed time to the cost of a rule and restarts the
 * timer for the next one. */
void budget_start(struct budget *budget);
/* Returns false while the rule is suspended. */
bool budget_allows(const struct budget *budget, const struct rule *rule);
void budget_book(struct detector *detector, const struct rule_list *rules, const struct rule *rule);
void budget_book_search(struct budget *budget, uint32_t number, uint32_t length, uint32_t candidates);
/* Clears the costs of searches, for the searches of another ruleset. */
void budget_set_ruleset(struct budget *budget, const struct ruleset *ruleset);

#endif
