/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads and writes dataset files, which have one value per line. Lines are sorted when a set is saved, so that sets
 * with the same values give equal files. A set is saved to a temporary file, which replaces the old one by rename().
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "set.h"

enum {
    MAX_ERRORS = 20,                   /* maximum number of errors reported per file */
    MAX_LINE = 2 * DATASET_MAX_STRING, /* Base64 has 4 bytes for 3, then follows a reputation */
};

/* --- Reading -------------------------------------------------------------------------------------- */

struct load {
    struct dataset *set;
    struct diag *diag;
    const char *path;
    uint8_t *bytes;
    uint32_t line, errors;
    bool full;
};

static void report_line(struct load *load, const char *text, const char *message)
{
    struct position at = { .file = load->path, .line_text = text, .line = load->line, .column = 1 };

    if (++load->errors <= MAX_ERRORS)
        diag_error(load->diag, at, "%s", message);
}

/* Reads a line with its end into `text`. Returns its length, 0 at the end of the file, or MAX_LINE if the line is
 * longer. */
static size_t read_line(FILE *file, char text[MAX_LINE + 1])
{
    size_t length = 0;
    int c = 0;

    while (length < MAX_LINE && c != '\n' && (c = getc_unlocked(file)) != EOF)
        text[length++] = (char)c;
    text[length] = '\0';
    return length;
}

static int load_lines(struct load *load, FILE *file)
{
    char *text = malloc(MAX_LINE + 1);
    size_t length;

    if (!text)
        return -ENOMEM;
    while (!load->full && (length = read_line(file, text)) > 0) {
        struct span line = { text, length };
        const char *error;
        size_t value_length;
        uint16_t value;

        load->line++;
        if (length == MAX_LINE) { /* the next byte is in the middle of the line */
            report_line(load, "", "the line is too long; this and all further lines are left out");
            break;
        }
        while (line.length > 0 && strchr("\r\n", line.at[line.length - 1]))
            line.length--;
        text[line.length] = '\0';
        line = span_trim(line);
        if (line.length == 0)
            continue;
        error = dataset_parse_line(dataset_type_of(load->set), line, load->bytes, &value_length, &value);
        if (error) {
            report_line(load, text, error);
        } else if (dataset_set_value(load->set, load->bytes, value_length, value) == DATASET_FULL) {
            load->full = true;
            report_line(load, text, "the dataset is full: raise its memcap to load the rest of this file");
        }
    }
    free(text);
    return ferror(file) ? -EIO : load->full ? -ENOSPC : load->errors ? -EINVAL : 0;
}

/* Opens a regular file. Reading a device or FIFO may block or never end, so other types of files are rejected. Returns
 * 0, -EISDIR for a directory, -EINVAL for another type, or another -errno. */
static int open_file(const char *path, FILE **out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = 0;
    struct stat status;

    if (fd < 0)
        return -errno;
    if (fstat(fd, &status))
        err = -errno;
    else if (!S_ISREG(status.st_mode))
        err = S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL;
    else if (!(*out = fdopen(fd, "r")))
        err = -errno;
    if (err)
        close(fd);
    return err;
}

int dataset_load(struct dataset *set, const char *path, struct diag *diag)
{
    struct load load = { .set = set, .diag = diag, .path = path, .bytes = malloc(DATASET_MAX_STRING) };
    struct position whole = { .file = path };
    FILE *file = NULL;
    int err = load.bytes ? open_file(path, &file) : -ENOMEM;

    if (!err)
        err = load_lines(&load, file);
    if (file)
        fclose(file);
    free(load.bytes);
    if (load.errors > MAX_ERRORS)
        diag_error(diag, whole, "%u more lines have errors", load.errors - MAX_ERRORS);
    return err;
}

/* --- Writing -------------------------------------------------------------------------------------- */

/* The lines to write: all of them in `text`, each terminated with NUL, and their offsets in `starts`. */
struct lines {
    enum dataset_type type;
    struct text text;
    size_t *starts;
    size_t count, capacity;
};

static int add_line(const uint8_t *bytes, size_t length, void *user)
{
    struct lines *lines = user;

    if (lines->count == lines->capacity) {
        size_t capacity = lines->capacity ? lines->capacity * 2 : 1024;
        size_t *starts = realloc(lines->starts, capacity * sizeof(*starts));

        if (!starts)
            return -ENOMEM;
        lines->starts = starts;
        lines->capacity = capacity;
    }
    lines->starts[lines->count++] = lines->text.length;
    dataset_print_value(lines->type, bytes, length, &lines->text);
    text_append(&lines->text, "", 1);
    return lines->text.failed ? -ENOMEM : 0;
}

static int compare_lines(const void *left, const void *right, void *user)
{
    const struct lines *lines = user;

    return strcmp(lines->text.bytes + *(const size_t *)left, lines->text.bytes + *(const size_t *)right);
}

static int replace_file(const struct lines *lines, const char *path)
{
    char temporary[4096];
    int length = snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path), fd, err;

    if (length < 0 || (size_t)length >= sizeof(temporary))
        return -ENAMETOOLONG;
    fd = mkstemp(temporary);
    if (fd < 0)
        return -errno;
    FILE *file = fchmod(fd, 0640) ? NULL : fdopen(fd, "w");

    if (!file) {
        err = -errno;
        close(fd);
    } else {
        for (size_t i = 0; i < lines->count; i++)
            fprintf(file, "%s\n", lines->text.bytes + lines->starts[i]);
        if (fflush(file) || ferror(file))
            err = errno ? -errno : -EIO;
        else
            err = fsync(fileno(file)) ? -errno : 0;
        if (fclose(file) && !err)
            err = -errno;
    }
    if (!err && rename(temporary, path))
        err = -errno;
    if (err)
        unlink(temporary);
    return err;
}

int dataset_save(struct dataset *set, const char *path)
{
    struct lines lines = { .type = dataset_type_of(set) };
    int err;

    text_init(&lines.text);
    err = dataset_each(set, add_line, &lines);
    if (!err) {
        if (lines.count > 0) /* `starts` of an empty set is NULL, which must not be passed to qsort_r() */
            qsort_r(lines.starts, lines.count, sizeof(*lines.starts), compare_lines, &lines);
        err = replace_file(&lines, path);
    }
    text_clear(&lines.text);
    free(lines.starts);
    return err;
}
