/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entries and all their texts are in one arena. Consecutive entries often have the same file name and source line, so
 * the last copy of each is remembered and shared.
 */
#include "sluice/diag.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/arena.h"

enum { MAX_LINE_SHOWN = 4096, CARET_CONTEXT = 160 };

struct diag {
    struct arena *arena;
    struct diag_entry *entries;
    size_t count, capacity;
    size_t errors, unsupported, warnings;
    const char *last_file;
    const char *last_line_source, *last_line_copy;
    diag_progress_fn *progress;
    void *progress_user;
};

struct diag *diag_new(void)
{
    struct diag *diag = calloc(1, sizeof(*diag));

    if (!diag)
        return NULL;
    diag->arena = arena_new(0);
    if (!diag->arena) {
        free(diag);
        return NULL;
    }
    return diag;
}

void diag_free(struct diag *diag)
{
    if (!diag)
        return;
    arena_free(diag->arena);
    free(diag->entries);
    free(diag);
}

void diag_clear(struct diag *diag)
{
    arena_reset(diag->arena);
    diag->count = diag->errors = diag->unsupported = diag->warnings = 0;
    diag->last_file = diag->last_line_source = diag->last_line_copy = NULL;
}

void diag_on_progress(struct diag *diag, diag_progress_fn *progress, void *user)
{
    diag->progress = progress;
    diag->progress_user = user;
}

void diag_progress(const struct diag *diag, const char *what, size_t done, size_t total)
{
    if (diag->progress)
        diag->progress(diag->progress_user, what, done, total);
}

static const char *copy_file(struct diag *diag, const char *file)
{
    if (!file)
        return NULL;
    if (!diag->last_file || strcmp(diag->last_file, file) != 0)
        diag->last_file = arena_strdup(diag->arena, file);
    return diag->last_file;
}

static const char *copy_line(struct diag *diag, const char *line)
{
    if (!line)
        return NULL;
    size_t length = strcspn(line, "\r\n");

    if (length > MAX_LINE_SHOWN)
        length = MAX_LINE_SHOWN;
    if (diag->last_line_source != line || !diag->last_line_copy || strlen(diag->last_line_copy) != length ||
        memcmp(diag->last_line_copy, line, length) != 0) {
        diag->last_line_source = line;
        diag->last_line_copy = arena_strndup(diag->arena, line, length);
    }
    return diag->last_line_copy;
}

static struct diag_entry *add_entry(struct diag *diag)
{
    if (diag->count == DIAG_MAX_ENTRIES)
        return NULL;
    if (diag->count == diag->capacity) {
        size_t capacity = diag->capacity ? diag->capacity * 2 : 64;
        struct diag_entry *entries = realloc(diag->entries, capacity * sizeof(*entries));

        if (!entries)
            return NULL;
        diag->entries = entries;
        diag->capacity = capacity;
    }
    return &diag->entries[diag->count++];
}

static char *format_message(struct diag *diag, const char *format, va_list args)
{
    char buffer[1024];
    int length = vsnprintf(buffer, sizeof(buffer), format, args);

    if (length < 0)
        return NULL;
    return arena_strndup(diag->arena, buffer, strlen(buffer));
}

static void report(struct diag *diag, enum diag_severity severity, struct position at, const char *tag,
                   const char *format, va_list args)
{
    diag->errors += severity == DIAG_ERROR;
    diag->unsupported += severity == DIAG_UNSUPPORTED;
    diag->warnings += severity == DIAG_WARNING;

    struct diag_entry *entry = add_entry(diag);

    if (!entry)
        return;
    *entry = (struct diag_entry){
        .severity = severity,
        .file = copy_file(diag, at.file),
        .line_text = at.line ? copy_line(diag, at.line_text) : NULL,
        .message = format_message(diag, format, args),
        .tag = tag ? arena_strdup(diag->arena, tag) : NULL,
        .line = at.line,
        .column = at.column,
        .width = at.width ? at.width : 1,
    };
    if (!entry->message)
        entry->message = "out of memory";
}

void diag_error(struct diag *diag, struct position at, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    report(diag, DIAG_ERROR, at, NULL, format, args);
    va_end(args);
}

void diag_warning(struct diag *diag, struct position at, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    report(diag, DIAG_WARNING, at, NULL, format, args);
    va_end(args);
}

void diag_note(struct diag *diag, struct position at, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    report(diag, DIAG_NOTE, at, NULL, format, args);
    va_end(args);
}

void diag_report(struct diag *diag, enum diag_severity severity, struct position at, const char *tag,
                 const char *format, ...)
{
    va_list args;

    va_start(args, format);
    report(diag, severity, at, tag, format, args);
    va_end(args);
}

size_t diag_count(const struct diag *diag)
{
    return diag->count;
}

size_t diag_errors(const struct diag *diag)
{
    return diag->errors;
}

size_t diag_unsupported(const struct diag *diag)
{
    return diag->unsupported;
}

size_t diag_warnings(const struct diag *diag)
{
    return diag->warnings;
}

const struct diag_entry *diag_get(const struct diag *diag, size_t index)
{
    return index < diag->count ? &diag->entries[index] : NULL;
}

/* --- Tags ----------------------------------------------------------------------------------------- */

struct tag_count {
    const char *tag;
    size_t count;
};

static int by_text(const void *a, const void *b)
{
    const char *const *left = a, *const *right = b;

    return strcmp(*left, *right);
}

static int by_count(const void *a, const void *b)
{
    const struct tag_count *left = a, *right = b;

    if (left->count != right->count)
        return left->count < right->count ? 1 : -1;
    return strcmp(left->tag, right->tag);
}

void diag_each_tag(const struct diag *diag, enum diag_severity severity,
                   void (*each)(const char *tag, size_t count, void *user), void *user)
{
    const char **tags = calloc(diag->count + 1, sizeof(*tags));
    struct tag_count *counts = calloc(diag->count + 1, sizeof(*counts));
    size_t tagged = 0, distinct = 0;

    if (!tags || !counts)
        goto out;
    for (size_t i = 0; i < diag->count; i++) {
        if (diag->entries[i].tag && diag->entries[i].severity == severity)
            tags[tagged++] = diag->entries[i].tag;
    }
    qsort(tags, tagged, sizeof(*tags), by_text);
    for (size_t i = 0; i < tagged; i++) {
        if (distinct == 0 || strcmp(counts[distinct - 1].tag, tags[i]) != 0)
            counts[distinct++].tag = tags[i];
        counts[distinct - 1].count++;
    }
    qsort(counts, distinct, sizeof(*counts), by_count);
    for (size_t i = 0; i < distinct; i++)
        each(counts[i].tag, counts[i].count, user);
out:
    free(tags);
    free(counts);
}

/* --- Printing ------------------------------------------------------------------------------------- */

static const char *const severity_names[] = {
    [DIAG_NOTE] = "note",
    [DIAG_WARNING] = "warning",
    [DIAG_UNSUPPORTED] = "unsupported",
    [DIAG_ERROR] = "error",
};
static const char *const severity_colours[] = {
    [DIAG_NOTE] = "\033[36m",
    [DIAG_WARNING] = "\033[35m",
    [DIAG_UNSUPPORTED] = "\033[33m",
    [DIAG_ERROR] = "\033[31m",
};

const char *diag_severity_name(enum diag_severity severity)
{
    return severity_names[severity];
}

/* Prints the bytes with a space for each control character, which would shift the caret or control the terminal. */
static void print_clean(const char *text, size_t length, FILE *to)
{
    for (size_t i = 0; i < length; i++)
        fputc((unsigned char)text[i] < 0x20 || text[i] == 0x7f ? ' ' : text[i], to);
}

/* Prints the source line and a caret under the column; of a long line only the part around the column. */
static void print_caret(const struct diag_entry *entry, FILE *to, bool colour)
{
    size_t length = strlen(entry->line_text);
    size_t column = entry->column > 0 ? entry->column - 1 : 0;
    size_t from = 0;

    if (column > length)
        column = length;
    if (column > CARET_CONTEXT / 2 && length > CARET_CONTEXT)
        from = column - CARET_CONTEXT / 2;

    size_t shown = length - from < CARET_CONTEXT ? length - from : CARET_CONTEXT;
    size_t width = entry->width;

    if (from > 0)
        fputs("...", to);
    print_clean(entry->line_text + from, shown, to);
    fprintf(to, "%s\n%*s%s^", from + shown < length ? "..." : "", (int)(column - from + (from > 0 ? 3 : 0)), "",
            colour ? "\033[1;32m" : "");
    for (size_t i = 1; i < width && column - from + i < shown; i++)
        fputc('~', to);
    fprintf(to, "%s\n", colour ? "\033[0m" : "");
}

void diag_print_entry(const struct diag_entry *entry, FILE *to, bool colour)
{
    if (entry->file) {
        fputs(entry->file, to);
        if (entry->line)
            fprintf(to, ":%u:%u", (unsigned)entry->line, (unsigned)entry->column);
        fputs(": ", to);
    }
    fprintf(to, "%s%s:%s ", colour ? severity_colours[entry->severity] : "", severity_names[entry->severity],
            colour ? "\033[0m" : "");
    print_clean(entry->message, strlen(entry->message), to);
    fputc('\n', to);
    if (entry->line_text)
        print_caret(entry, to, colour);
}

void diag_print(const struct diag *diag, FILE *to, bool colour)
{
    for (size_t i = 0; i < diag->count; i++)
        diag_print_entry(&diag->entries[i], to, colour);
}
