/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the lists of hosts and networks to block (sluice/block_lists.h) for the firewall thread, in a thread of its
 * own, because a list or the database of countries may take a second to read. It reads them at the start, when
 * list_reader_reread() is called, and when the time of a blocked network ends. It also writes the hosts that are
 * blocked now, so that the next run blocks them again.
 *
 * Threads: list_reader_new(), _start() and _free() by the main thread; _reread() and _describe() by the main thread
 * while the reader runs; _take(), _applied() and _save_hosts() by the firewall thread.
 */
#ifndef SLUICE_LIST_READER_H
#define SLUICE_LIST_READER_H

#include "sluice/block_exemptions.h"
#include "sluice/block_lists.h"
#include "sluice/config.h"
#include "sluice/text.h"

struct list_reader;

/* Allocates a reader and reads the lists; mistakes in them are logged. `never` must outlive the reader. Returns 0 or
 * -ENOMEM. */
int list_reader_new(struct list_reader **out, const struct config *config, const struct block_exemptions *never);
int list_reader_start(struct list_reader *reader); /* starts the thread; returns 0 or -errno */
/* Stops the thread after it has written the hosts. NULL is allowed. */
void list_reader_free(struct list_reader *reader);

/* Reads all lists again, with the settings of `config`; NULL: with the same settings. Returns the number of this
 * reading, which list_reader_describe() shows when its networks are blocked; 0 when out of memory. */
uint64_t list_reader_reread(struct list_reader *reader, const struct config *config);
/* Writes the lists as a JSON object: the numbers of the last reading that was requested and of the last
 * one that has finished, and for each list its kind, name and number of entries. */
void list_reader_describe(struct list_reader *reader, struct text *out);

/* Moves the networks of the last reading to `networks`, if they were not taken yet. Returns the number of the reading,
 * or 0 when there is nothing new. */
uint64_t list_reader_take(struct list_reader *reader, struct range_list networks[2]);
/* Called when the networks of a reading are blocked (`error` NULL), or cannot be blocked for the reason `error`. */
void list_reader_applied(struct list_reader *reader, uint64_t reading, const char *error);

/* Reads the hosts that an earlier run has saved and whose time has not ended. Returns 0 or -ENOMEM. */
int list_reader_saved_hosts(struct list_reader *reader, struct block_entries *out);
/* Writes the hosts soon, in the reader's thread. The entries are moved to the reader. */
void list_reader_save_hosts(struct list_reader *reader, struct block_entries *hosts);

#endif
