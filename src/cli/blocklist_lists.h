/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of `sluice blocklist` for networks and lists, which are files: it edits the files, and tells the running
 * daemon to read them again. */
#ifndef SLUICE_CLI_BLOCKLIST_LISTS_H
#define SLUICE_CLI_BLOCKLIST_LISTS_H

#include "cli_priv.h"
#include "sluice/block_lists.h"

/* All functions return an exit code, after a message if they fail. */

/* Blocks each network until the time `until` of its entry (Unix time; 0: no time limit). */
int lists_add_networks(const struct config *config, const struct block_entries *networks);
/* Unblocks networks that were added with exactly the same addresses. Sets *removed to their number. */
int lists_remove_networks(const struct config *config, const struct block_entries *networks, size_t *removed);
/* Unblocks all networks that were added by hand. */
int lists_flush_networks(const struct config *config);
/* Reads the networks that were blocked by hand and whose time has not ended. */
int lists_read_networks(const struct config *config, struct block_entries *out);

/* Imports a list as `name`; NULL: the name of the file. `path` "-": reads standard input. */
int lists_import(const struct config *config, const char *path, const char *name);
int lists_forget(const struct config *config, const char *name); /* removes an imported list */
int lists_print(const struct config *config, bool json);         /* prints all lists, and what is wrong with them */
int lists_reread(const struct config *config);                   /* makes the daemon read all lists again */

#endif
