/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * IP reputation for the keyword iprep: a value from 0 to 127 per address or network and category, loaded from files
 * (docs.suricata.io, "IP Reputation").
 *
 * Threads:   loaded by one thread, then read-only and used by all.
 */
#ifndef SLUICE_REPUTATION_H
#define SLUICE_REPUTATION_H

#include <stddef.h>
#include <stdint.h>

#include "sluice/address.h"
#include "sluice/diag.h"
#include "sluice/text.h"

enum { REPUTATION_CATEGORIES = 60, REPUTATION_MAX = 127 };

struct reputation;

int reputation_new(struct reputation **out);         /* 0 or -ENOMEM */
void reputation_free(struct reputation *reputation); /* NULL is allowed */

/* Loads lines "NUMBER,NAME,DESCRIPTION". 0, or -errno when the file cannot be read. A file that cannot be read and
 * invalid lines are reported to `diag`. */
int reputation_load_categories(struct reputation *reputation, const char *path, struct diag *diag);
/* Loads lines "ADDRESS[/BITS],CATEGORY,VALUE"; returns and reports as reputation_load_categories() does. */
int reputation_load(struct reputation *reputation, const char *path, struct diag *diag);

/* Parse the formats of reputation_load_categories() and reputation_load() from memory; `name` is the file name in
 * diagnostics. */
int reputation_parse_categories(struct reputation *reputation, const char *name, const char *text, size_t length,
                                struct diag *diag);
int reputation_parse(struct reputation *reputation, const char *name, const char *text, size_t length,
                     struct diag *diag);

/* Returns the number of a category by its short name, or -1. */
int reputation_category(const struct reputation *reputation, struct span name);

/* Returns the value of an address in a category: the value of the longest matching prefix. Returns -1 when no entry
 * matches. */
int reputation_value(const struct reputation *reputation, unsigned category, int ip_version,
                     const struct address *address);

size_t reputation_count(const struct reputation *reputation); /* number of addresses and networks */

#endif
