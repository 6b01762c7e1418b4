/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Diagnostics that point at the text: rules, YAML and commands report into a `struct diag` with file, line and column,
 * and parsing continues, so that one run shows every mistake. The caller prints all entries at the end.
 *
 *     web.rules:42:34: error: 'sid' needs a number, got 'abc'
 *     alert tcp any any -> any any (msg:"x"; sid:abc;)
 *                                            ^~~
 *
 * Ownership: a diag owns copies of everything reported, the source line included.
 * Memory is bounded: entries past DIAG_MAX_ENTRIES are only counted.
 */
#ifndef SLUICE_DIAG_H
#define SLUICE_DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { DIAG_MAX_ENTRIES = 100000 };

/* DIAG_UNSUPPORTED: correct for Suricata or Snort, but Sluice lacks the feature. */
enum diag_severity { DIAG_NOTE, DIAG_WARNING, DIAG_UNSUPPORTED, DIAG_ERROR };
const char *diag_severity_name(enum diag_severity severity);

/* A position in a text. line and column count from 1; line 0 means the file as a whole. */
struct position {
    const char *file;      /* owned by the caller; copied when a message is reported */
    const char *line_text; /* start of the line (ends at LF, CR LF or NUL), or NULL */
    uint32_t line;
    uint32_t column;
    uint32_t width; /* number of columns that the caret underlines; 0 counts as 1 */
};

struct diag_entry {
    enum diag_severity severity;
    const char *file;      /* NULL when the message has no file */
    const char *line_text; /* NULL when there is none */
    const char *message;
    const char *tag; /* summaries group by it, e.g. the unsupported keyword; or NULL */
    uint32_t line, column, width;
};

struct diag;

struct diag *diag_new(void); /* NULL when out of memory */
void diag_free(struct diag *diag);

void diag_error(struct diag *diag, struct position at, const char *format, ...) __attribute__((format(printf, 3, 4)));
void diag_warning(struct diag *diag, struct position at, const char *format, ...) __attribute__((format(printf, 3, 4)));
void diag_note(struct diag *diag, struct position at, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Reports an entry of any severity with a tag by which summaries group entries (diag_each_tag()); NULL: no tag. */
void diag_report(struct diag *diag, enum diag_severity severity, struct position at, const char *tag,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

size_t diag_count(const struct diag *diag);  /* entries stored */
size_t diag_errors(const struct diag *diag); /* errors reported, including those that were not stored */
size_t diag_unsupported(const struct diag *diag);
size_t diag_warnings(const struct diag *diag);
const struct diag_entry *diag_get(const struct diag *diag, size_t index);

/* Calls `each` for every distinct tag of the severity with the number of entries that have it, most frequent first. */
void diag_each_tag(const struct diag *diag, enum diag_severity severity,
                   void (*each)(const char *tag, size_t count, void *user), void *user);

/* Prints one entry, or all, in the format shown at the top of this file. `colour`: with terminal colours. */
void diag_print_entry(const struct diag_entry *entry, FILE *to, bool colour);
void diag_print(const struct diag *diag, FILE *to, bool colour);

/* Reports the progress of a long operation: `done` of `total` units of `what`, the name of a file or of an activity.
 * Called on the thread that runs the operation. */
typedef void diag_progress_fn(void *user, const char *what, size_t done, size_t total);
/* Sets the function that diag_progress() calls; NULL: none. */
void diag_on_progress(struct diag *diag, diag_progress_fn *progress, void *user);
void diag_progress(const struct diag *diag, const char *what, size_t done, size_t total);

/* Removes all entries. */
void diag_clear(struct diag *diag);

#endif
