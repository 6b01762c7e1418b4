/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "table.h"

#include <libsmartcols.h>
#include <locale.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "sluice/cli.h"

struct cli_table {
    struct libscols_table *lines;
    struct libscols_line *row; /* the row that cli_table_set() writes to */
    bool failed;
};

struct cli_table *cli_table_new(const struct cli_table_column *columns, size_t count)
{
    struct cli_table *table = calloc(1, sizeof(*table));

    if (!table)
        return NULL;
    setlocale(LC_CTYPE, ""); /* libsmartcols computes widths, and escapes characters, by the locale */
    table->lines = scols_new_table();
    table->failed = !table->lines;
    for (size_t i = 0; i < count && !table->failed; i++) {
        int flags = (columns[i].flags & TABLE_RIGHT ? SCOLS_FL_RIGHT : 0) |
                    (columns[i].flags & TABLE_TRIM ? SCOLS_FL_TRUNC : 0) |
                    (columns[i].flags & TABLE_WRAP ? SCOLS_FL_WRAP : 0);

        table->failed = !scols_table_new_column(table->lines, columns[i].title, 0, flags);
    }
    return table;
}

void cli_table_free(struct cli_table *table)
{
    if (!table)
        return;
    scols_unref_table(table->lines);
    free(table);
}

void cli_table_add_row(struct cli_table *table)
{
    if (!table || table->failed)
        return;
    table->row = scols_table_new_line(table->lines, NULL);
    table->failed = !table->row;
}

void cli_table_set(struct cli_table *table, size_t column, const char *format, ...)
{
    char *cell = NULL;
    va_list args;

    if (!table || table->failed)
        return;
    va_start(args, format);
    if (vasprintf(&cell, format, args) < 0)
        cell = NULL;
    va_end(args);
    table->failed = !cell || scols_line_refer_data(table->row, column, cell); /* takes `cell` on success */
    if (table->failed)
        free(cell);
}

size_t cli_table_count(const struct cli_table *table)
{
    return table && table->lines ? scols_table_get_nlines(table->lines) : 0;
}

int cli_table_print(struct cli_table *table)
{
    if (!table || table->failed || scols_print_table(table->lines)) {
        cli_error(NULL, "out of memory, or cannot write the table to stdout");
        return EXIT_FAILED;
    }
    return EXIT_OK;
}
