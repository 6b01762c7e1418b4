/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of rules and their statements.
 */
#ifndef SLUICE_RULE_SOURCE_H
#define SLUICE_RULE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/arena.h"
#include "sluice/diag.h"
#include "sluice/keyword.h"
#include "sluice/rule.h"
#include "sluice/text.h"

/* --- Files and statements ------------------------------------------------------------------------- */

struct source {
    const char *name;
    char *text; /* NUL-terminated; spans of its statements point into it */
    size_t length;
    int64_t modified; /* Unix time of the file's last modification; 0: not a file */
};

/* One physical line of a continued statement. */
struct segment {
    size_t offset; /* of the line's first byte in the joined text of the statement */
    const char *at;
    const char *line_start;
    uint32_t line;
};

/* A rule, or an entry of a configuration file: one line, or several lines of which all but the last end in a backslash.
 */
struct statement {
    struct span text; /* without surrounding space; NUL-terminated */
    const struct source *source;
    const char *line_start;
    uint32_t line;
    bool commented;         /* true: the line is a comment (a disabled rule, or any other text); false: it is not */
    uint32_t segment_count; /* 0 for a single line */
    /* the lines of a continued statement, of which `text` is a joined copy; NULL for a single line */
    const struct segment *segments;
};

struct scanner {
    const struct source *source;
    const char *at; /* start of the next line */
    uint32_t line;  /* number of the previous line */
    bool comments;  /* true: scanner_next() also returns comments, without the `#`; false: it skips them */
};

/* Reads a file into the arena, or copies text there. Returns 0 or -errno; a file that cannot be read is reported. */
int source_read(struct arena *arena, const char *path, const struct source **out, struct diag *diag);
int source_copy(struct arena *arena, const char *name, const char *text, size_t length, const struct source **out);

/* Starts the scan of a source. A source can be scanned only once, because scanner_next() overwrites the byte after a
 * statement with NUL. */
void scanner_init(struct scanner *scanner, const struct source *source);
/* Reads the next statement. Skips empty lines and, unless scanner->comments is set, comments. Returns 1, 0 at the end,
 * or -ENOMEM. */
int scanner_next(struct scanner *scanner, struct arena *arena, struct statement *out);

/* Returns the position of a part of the statement's text; for a span from elsewhere, the statement's start. */
struct position statement_position(const struct statement *statement, struct span where);

#endif
