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
#include "json.h"
#include "set.h"

enum {
    MAX_ERRORS = 20,                   /* maximum number of errors reported per file */
    MAX_JSON = 256 << 20,              /* bytes of a file in JSON */
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
    struct position at = { .file = load->path, .line_text = text, .line = load->line, .column = load->line > 0 };

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

/* Adds the value of a JSON object. */
static int add_object(const char *value, size_t value_length, const char *object, void *user)
{
    struct load *load = user;
    size_t length;

    if (!value) {
        diag_warning(load->diag, (struct position){ .file = load->path, .line = load->line, .column = load->line > 0 },
                     "an object without a text in the member of 'value_key' is left out");
        return 0;
    }
    const char *error =
        dataset_parse_text(dataset_type_of(load->set), (struct span){ value, value_length }, load->bytes, &length);

    if (error) {
        report_line(load, NULL, error);
    } else if (dataset_add_object(load->set, load->bytes, length, object) == DATASET_FULL) {
        load->full = true;
        report_line(load, NULL, "the dataset is full: raise its memcap to load the rest of this file");
    }
    return load->full;
}

/* Reads JSON texts up to `delimiter`: lines, or the whole file. */
static int load_json(struct load *load, FILE *file, const struct json_layout *layout, int delimiter)
{
    struct json_reader *reader;
    struct stat status;
    char *text = NULL;
    size_t size = 0;
    ssize_t length;

    if (fstat(fileno(file), &status))
        return -errno;
    if (status.st_size > MAX_JSON) {
        report_line(load, NULL, "the file is larger than 256 MiB");
        return -EINVAL;
    }
    reader = json_reader_new();
    if (!reader)
        return -ENOMEM;
    while (!load->full && (length = getdelim(&text, &size, delimiter, file)) >= 0) {
        const char *error = NULL;
        int result;

        load->line += delimiter == '\n';
        if (span_trim((struct span){ text, strcspn(text, "\r\n") }).length > 0 || delimiter != '\n')
            error = json_reader_each(reader, text, (size_t)length, layout, add_object, load, &result);
        if (error)
            report_line(load, NULL, error);
    }
    free(text);
    json_reader_free(reader);
    return ferror(file) ? -EIO : load->full ? -ENOSPC : load->errors ? -EINVAL : 0;
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

/* Returns a copy of the text, or NULL for an absent one or when memory is exhausted, which sets *failed. */
static char *copy_key(struct span text, bool *failed)
{
    char *copy = text.at ? strndup(text.at, text.length) : NULL;

    *failed |= text.at && !copy;
    return copy;
}

int dataset_load(struct dataset *set, const char *path, const struct dataset_spec *spec, struct diag *diag)
{
    struct load load = { .set = set, .diag = diag, .path = path, .bytes = malloc(DATASET_MAX_STRING) };
    struct position whole = { .file = path };
    FILE *file = NULL;
    bool failed = !load.bytes;
    char *value_key = copy_key(spec->value_key, &failed), *array_key = copy_key(spec->array_key, &failed);
    const struct json_layout layout = { .value_key = value_key,
                                        .array_key = array_key,
                                        .is_object = spec->format == DATASET_NDJSON,
                                        .remove_key = spec->remove_key };
    int err = failed ? -ENOMEM : open_file(path, &file);

    if (!err && spec->format == DATASET_LINES)
        err = load_lines(&load, file);
    else if (!err)
        err = load_json(&load, file, &layout, spec->format == DATASET_NDJSON ? '\n' : '\0');
    if (file)
        fclose(file);
    free(value_key);
    free(array_key);
    free(load.bytes);
    if (load.errors > MAX_ERRORS)
        diag_error(diag, whole, "%u more values have errors", load.errors - MAX_ERRORS);
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
