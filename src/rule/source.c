/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of rules and of configuration lines, split into statements.
 *
 * A file is read completely into the list's arena and split in place: the text of a rule on one line is a span of the
 * file's text. Columns are computed only when something is reported. A statement that continues over lines is joined in
 * a copy, with one segment per line to map positions back.
 *
 * As in Suricata a line that begins with `#` (or `;`) is a comment, and is not continued in the next line even if it
 * ends in a backslash. Lines end at LF or CR LF; bytes need not be UTF-8.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rule_priv.h"

enum { FIRST_READ = 64 * 1024, MAX_FILE = 1 << 30 };

static const struct position nowhere;

static int cant_read(const char *path, struct diag *diag, int error)
{
    struct position at = { .file = path };

    diag_error(diag, at, "cannot be read: %s", strerror(error));
    return -error;
}

static struct source *make_source(struct arena *arena, const char *name, char *text, size_t length)
{
    struct source *source = arena_alloc(arena, sizeof(*source));

    if (!source)
        return NULL;
    source->name = arena_strdup(arena, name);
    source->text = text;
    source->length = length;
    source->modified = 0;
    return source->name ? source : NULL;
}

/* Reads to the end of the file. `capacity` is its size when it was opened; the buffer grows if the file has grown
 * since. */
static int read_all(struct arena *arena, int fd, size_t capacity, char **out, size_t *length)
{
    char *text = arena_alloc(arena, capacity + 1);
    size_t used = 0;

    while (text) {
        ssize_t n = read(fd, text + used, capacity - used);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        used += (size_t)n;
        if (n == 0) {
            text[used] = '\0';
            *out = text;
            *length = used;
            return 0;
        }
        if (used == capacity && capacity > MAX_FILE)
            return -EFBIG;
        if (used == capacity) {
            char *larger = arena_alloc(arena, capacity * 2 + 1);

            if (larger)
                memcpy(larger, text, used);
            text = larger;
            capacity *= 2;
        }
    }
    return -ENOMEM;
}

int source_read(struct arena *arena, const char *path, const struct source **out, struct diag *diag)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    char *text = NULL;
    size_t length = 0;
    int err;

    if (fd < 0)
        return cant_read(path, diag, errno);
    if (fstat(fd, &st))
        err = -errno;
    else if (st.st_size > MAX_FILE)
        err = -EFBIG;
    else
        err = read_all(arena, fd, st.st_size > 0 ? (size_t)st.st_size + 1 : FIRST_READ, &text, &length);
    close(fd);
    if (err)
        return cant_read(path, diag, -err);

    struct source *source = make_source(arena, path, text, length);

    if (!source)
        return -ENOMEM;
    source->modified = st.st_mtime;
    *out = source;
    return 0;
}

int source_copy(struct arena *arena, const char *name, const char *text, size_t length, const struct source **out)
{
    char *copy = arena_strndup(arena, length ? text : "", length);
    const struct source *source = copy ? make_source(arena, name, copy, length) : NULL;

    if (!source)
        return -ENOMEM;
    *out = source;
    return 0;
}

/* --- Statements ----------------------------------------------------------------------------------- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

void scanner_init(struct scanner *scanner, const struct source *source)
{
    /* skip a UTF-8 byte order mark */
    bool marked = source->length >= 3 && memcmp(source->text, "\xEF\xBB\xBF", 3) == 0;

    *scanner = (struct scanner){ .source = source, .at = source->text + (marked ? 3 : 0) };
}

/* Reads one physical line, without trailing space. Returns false at the end of the file. */
static bool take_line(struct scanner *scanner, struct segment *line, size_t *length)
{
    const char *end = scanner->source->text + scanner->source->length;

    if (scanner->at >= end)
        return false;

    const char *start = scanner->at;
    const char *stop = memchr(start, '\n', (size_t)(end - start));

    scanner->at = stop ? stop + 1 : end;
    scanner->line++;
    if (!stop)
        stop = end;
    while (stop > start && is_space(stop[-1]))
        stop--;
    *line = (struct segment){ .at = start, .line_start = start, .line = scanner->line };
    *length = (size_t)(stop - start);
    return true;
}

static bool is_continued(const struct segment *line, size_t length)
{
    return length > 0 && line->at[length - 1] == '\\';
}

/* Joins the lines of the continued statement that begins with `line` in a copy. Returns 0 or -ENOMEM. */
static int join(struct scanner *scanner, struct arena *arena, struct segment line, size_t length, struct statement *out)
{
    struct scanner ahead = *scanner;
    struct segment next = line;
    uint32_t lines = 1, count = 0;
    size_t bytes = length, used = 0;

    for (size_t size = length; is_continued(&next, size) && take_line(&ahead, &next, &size); bytes += size)
        lines++;

    struct segment *segments = arena_alloc(arena, lines * sizeof(*segments));
    char *text = arena_alloc(arena, bytes + 1);
    bool more = true;

    if (!segments || !text)
        return -ENOMEM;
    while (more) {
        bool continued = is_continued(&line, length);
        size_t taken = continued ? length - 1 : length;

        segments[count] = line;
        segments[count++].offset = used;
        memcpy(text + used, line.at, taken);
        used += taken;
        more = continued && take_line(scanner, &line, &length);
    }
    while (used > 0 && is_space(text[used - 1]))
        used--;
    text[used] = '\0';
    out->text = (struct span){ .at = text, .length = used };
    out->segments = segments;
    out->segment_count = count;
    return 0;
}

int scanner_next(struct scanner *scanner, struct arena *arena, struct statement *out)
{
    struct segment line;
    size_t length;

    while (take_line(scanner, &line, &length)) {
        const char *line_start = line.at;

        while (length > 0 && is_space(*line.at)) {
            line.at++;
            length--;
        }
        bool commented = length > 0 && *line.at == '#';

        while (commented && scanner->comments && length > 0 && (*line.at == '#' || is_space(*line.at))) {
            line.at++;
            length--;
        }
        if (length == 0 || *line.at == '#' || *line.at == ';')
            continue;
        *out = (struct statement){
            .source = scanner->source,
            .line_start = line_start,
            .line = line.line,
            .commented = commented,
        };
        if (!commented && is_continued(&line, length)) {
            int err = join(scanner, arena, line, length, out);

            if (err)
                return err;
            if (out->text.length == 0)
                continue;
            return 1;
        }
        out->text = (struct span){ .at = line.at, .length = length };
        /* Terminate the text. The scanner has read past the end of the line, so the byte there may be overwritten. */
        scanner->source->text[line.at + length - scanner->source->text] = '\0';
        return 1;
    }
    return 0;
}

/* --- Positions ------------------------------------------------------------------------------------ */

struct position statement_position(const struct statement *statement, struct span where)
{
    const struct span *text = &statement->text;

    if (!statement->source)
        return nowhere;
    if (!where.at || where.at < text->at || where.at > text->at + text->length)
        where = (struct span){ .at = text->at };

    struct position position = {
        .file = statement->source->name,
        .line_text = statement->line_start,
        .line = statement->line,
        .width = (uint32_t)where.length,
    };
    const char *at = where.at;

    if (statement->segment_count > 0) {
        size_t offset = (size_t)(where.at - text->at);
        const struct segment *segment = &statement->segments[0];

        for (uint32_t i = 1; i < statement->segment_count && statement->segments[i].offset <= offset; i++)
            segment = &statement->segments[i];
        at = segment->at + (offset - segment->offset);
        position.line_text = segment->line_start;
        position.line = segment->line;
    }
    position.column = (uint32_t)(at - position.line_text) + 1;
    return position;
}
