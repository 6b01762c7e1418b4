/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reputation of addresses and networks: a number from 0 to 127 per category, out of files (docs.suricata.io, "IP
 * Reputation"), for the keyword iprep.
 *
 * Threads:   filled by one thread, then read by all.
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

/* Lines "NUMBER,NAME,DESCRIPTION". 0, or -errno when the file can't be read (reported too); mistakes are in `diag`. */
int reputation_load_categories(struct reputation *reputation, const char *path, struct diag *diag);
/* Lines "ADDRESS[/BITS],CATEGORY,VALUE". The same. */
int reputation_load(struct reputation *reputation, const char *path, struct diag *diag);

/* The same from memory; `name` stands for the file in diagnostics. */
int reputation_parse_categories(struct reputation *reputation, const char *name, const char *text, size_t length,
                                struct diag *diag);
int reputation_parse(struct reputation *reputation, const char *name, const char *text, size_t length,
                     struct diag *diag);

/* The number of a category by its short name; -1 when there is none. */
int reputation_category(const struct reputation *reputation, struct span name);

/* What is known of an address in a category: its own value, or that of the smallest network around it; -1 for nothing.
 */
int reputation_value(const struct reputation *reputation, unsigned category, int ip_version,
                     const struct address *address);

size_t reputation_count(const struct reputation *reputation); /* addresses and networks */

#endif
