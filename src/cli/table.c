/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "table.h"

#include <libsmartcols.h>
#include <locale.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sluice/cli.h"

/* Limits of the length of a line in a column with TABLE_WRAP. OTHER_COLUMNS: width that is left to other columns. */
enum { MIN_LINE = 24, MAX_LINE = 100, OTHER_COLUMNS = 40 };

struct cli_table {
    struct libscols_table *lines;
    size_t line;               /* maximum length of a line of a cell with TABLE_WRAP; 0: cells are not broken */
    struct libscols_line *row; /* the row that cli_table_set() writes to */
    bool failed;
};

struct cli_table *cli_table_new(const struct cli_table_column *columns, size_t count)
{
    struct cli_table *table = calloc(1, sizeof(*table));

    size_t wrapped = 0;
    struct winsize size;

    if (!table)
        return NULL;
    setlocale(LC_CTYPE, ""); /* libsmartcols computes widths, and escapes characters, by the locale */
    table->lines = scols_new_table();
    table->failed = !table->lines;
    for (size_t i = 0; i < count && !table->failed; i++) {
        struct libscols_column *column;
        int flags = (columns[i].flags & TABLE_RIGHT ? SCOLS_FL_RIGHT : 0) |
                    (columns[i].flags & TABLE_TRIM ? SCOLS_FL_TRUNC : 0) |
                    (columns[i].flags & TABLE_WRAP ? SCOLS_FL_WRAP : 0);

        column = scols_table_new_column(table->lines, columns[i].title, 0, flags);
        table->failed = !column;
        /* libsmartcols breaks a cell anywhere; break_lines() adds line feeds, where it breaks instead. */
        if (column && columns[i].flags & TABLE_WRAP)
            table->failed = scols_column_set_safechars(column, "\n") ||
                            scols_column_set_wrapfunc(column, scols_wrapnl_chunksize, scols_wrapnl_nextchunk, NULL);
        wrapped += columns[i].flags & TABLE_WRAP ? 1 : 0;
    }
    if (wrapped > 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        table->line = size.ws_col > OTHER_COLUMNS ? (size.ws_col - OTHER_COLUMNS) / wrapped : 0;
        table->line = table->line < MIN_LINE ? MIN_LINE : table->line > MAX_LINE ? MAX_LINE : table->line;
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

static bool is_wrapped(const struct cli_table *table, size_t column)
{
    const struct libscols_column *found = scols_table_get_column(table->lines, column);

    return found && scols_column_get_flags(found) & SCOLS_FL_WRAP;
}

/* Returns a copy of the text, to be freed, in lines of at most `length` bytes: they are broken at a space or after a
 * comma or bar, or anywhere in a word that has none. Returns NULL if there is no memory. */
static char *break_lines(const char *text, size_t length)
{
    char *copy = malloc(2 * strlen(text) + 1), *out = copy;

    while (copy && *text) {
        size_t rest = strlen(text), end = rest;

        if (rest > length) {
            for (end = length; end > 0 && text[end] != ' ' && !strchr(",|", text[end - 1]); end--)
                continue;
            end = end > 0 ? end : length;
        }
        out = mempcpy(out, text, end);
        text += end;
        text += *text == ' ';
        if (*text)
            *out++ = '\n';
    }
    if (copy)
        *out = '\0';
    return copy;
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
    if (cell && table->line > 0 && is_wrapped(table, column)) {
        char *lines = break_lines(cell, table->line);

        free(cell);
        cell = lines;
    }
    table->failed = !cell || scols_line_refer_data(table->row, column, cell); /* frees `cell` later */
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
