/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of text on stdout: aligned columns with headings. On a terminal, long cells of columns with TABLE_TRIM are cut
 * so that a line fits; to a file or pipe everything is written. Control characters in cells become \xNN.
 *
 * libsmartcols draws them. Memory errors are remembered, and reported by cli_table_print().
 */
#ifndef SLUICE_CLI_TABLE_H
#define SLUICE_CLI_TABLE_H

#include <stddef.h>

enum { TABLE_RIGHT = 1, TABLE_TRIM = 2, TABLE_WRAP = 4 };

struct cli_table_column {
    const char *title;
    unsigned flags; /* TABLE_RIGHT: numbers, aligned to the right; TABLE_TRIM: may be cut on a terminal; TABLE_WRAP:
                       continues in further lines on a terminal */
};

struct cli_table;

/* Returns a table without rows; NULL: no memory. All functions accept NULL. */
struct cli_table *cli_table_new(const struct cli_table_column *columns, size_t count);
void cli_table_free(struct cli_table *table);
/* Adds a row; cli_table_set() sets its cells. Cells that are not set are empty. */
void cli_table_add_row(struct cli_table *table);
void cli_table_set(struct cli_table *table, size_t column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
size_t cli_table_count(const struct cli_table *table); /* number of rows */
/* Prints the table to stdout. Returns an exit code. */
int cli_table_print(struct cli_table *table);

#endif
