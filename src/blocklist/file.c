/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads and writes one list of hosts and networks (sluice/block_lists.h describes the formats). */
#include "sluice/block_lists.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sluice/text.h"

#include "json_list.h"

static const char separators[] = " \t\r,;|\"'";

struct list_parser {
    struct block_entries *out;
    struct diag *diag;
    struct position at; /* of the current line */
    bool found; /* an address was read: a line without one is an error from then on, not the headings of columns */
};

int block_entries_add(struct block_entries *entries, const struct block_entry *entry)
{
    if (entries->count == entries->room) {
        size_t room = entries->room ? 2 * entries->room : 64;
        struct block_entry *at = reallocarray(entries->at, room, sizeof(*at));

        if (!at)
            return -ENOMEM;
        entries->at = at;
        entries->room = room;
    }
    entries->at[entries->count++] = *entry;
    return 0;
}

void block_entries_clear(struct block_entries *entries)
{
    free(entries->at);
    *entries = (struct block_entries){ .count = 0 };
}

/* Adds the range, or reports why it is rejected. `text`: the range as written in the list. */
static int add_range(struct list_parser *parser, struct span text, int version, const struct range *range,
                     uint64_t until)
{
    const unsigned widest = version == 4 ? 32 - BLOCK_WIDEST4 : 128 - BLOCK_WIDEST6; /* maximum number of host bits */
    const struct block_entry entry = { .range = *range, .until = until, .version = (uint8_t)version };
    const int shown = text.length < 80 ? (int)text.length : 80;

    parser->found = true;
    if (range->low > range->high) {
        diag_warning(parser->diag, parser->at, "the range %.*s is upside down: its end is before its start; left out",
                     shown, text.at);
    } else if ((range->high - range->low) >> widest != 0) {
        diag_warning(parser->diag, parser->at,
                     "%.*s is wider than a /%d, and would block a part of the Internet; "
                     "left out",
                     shown, text.at, version == 4 ? BLOCK_WIDEST4 : BLOCK_WIDEST6);
    } else if (parser->out->count >= BLOCK_FILE_ENTRIES) {
        diag_error(parser->diag, parser->at, "the list has more than %d entries", (int)BLOCK_FILE_ENTRIES);
        return -EFBIG;
    } else {
        return block_entries_add(parser->out, &entry);
    }
    parser->out->skipped++;
    return 0;
}

static int skip_line(struct list_parser *parser, const char *reason)
{
    diag_warning(parser->diag, parser->at, "%s; left out", reason);
    parser->out->skipped++;
    return 0;
}

static int add_item(const struct json_list_item *item, void *user)
{
    struct list_parser *parser = user;
    struct range range;

    for (size_t i = 0; i < item->count; i++) {
        struct span text = span_of(item->values[i]);
        int version = address_range_parse(text, &range);

        if (version > 0)
            return add_range(parser, text, version, &range, 0);
    }
    if (item->metadata)
        return 0;
    return skip_line(parser, "the JSON object has no member cidr, network, prefix, ip_address, ip, dst_ip or address "
                             "with an address");
}

/* Takes the next column of a line, without separators. Returns false at the end of the line. */
static bool next_column(struct span *rest, struct span *column)
{
    while (rest->length > 0 && memchr(separators, rest->at[0], sizeof(separators) - 1)) {
        rest->at++;
        rest->length--;
    }
    *column = (struct span){ .at = rest->at, .length = 0 };
    while (rest->length > 0 && !memchr(separators, rest->at[0], sizeof(separators) - 1)) {
        rest->at++;
        rest->length--;
        column->length++;
    }
    return column->length > 0 && column->at[0] != '#';
}

/* Parses what may follow an address: "- ADDRESS", the end of a range with spaces, and "until SECONDS". */
static void parse_rest(struct span rest, int version, struct range *range, uint64_t *until)
{
    struct span word, value;

    if (!next_column(&rest, &word))
        return;
    if (span_equal(word, "-") && next_column(&rest, &value)) {
        struct range end;

        if (address_range_parse(value, &end) == version && end.low == end.high)
            range->high = end.low;
        if (!next_column(&rest, &word))
            return;
    }
    if (span_equal(word, "until") && next_column(&rest, &value) && !span_to_uint(value, 1, INT64_MAX, until))
        *until = 0;
}

static int parse_line(struct list_parser *parser, struct span line)
{
    struct span rest = line, column;
    struct range range;
    uint64_t until = 0;

    if (line.length == 0 || strchr("#;", line.at[0]) || (line.length > 1 && memcmp(line.at, "//", 2) == 0))
        return 0;
    if (line.at[0] == '{') {
        int err = json_list_each(line.at, line.length, add_item, parser);

        return err == -EINVAL ? skip_line(parser, "the line is not a complete JSON object") : err;
    }
    while (next_column(&rest, &column)) {
        int version = address_range_parse(column, &range);

        if (version < 0)
            continue;
        parser->at.column = (uint32_t)(column.at - parser->at.line_text) + 1;
        parser->at.width = (uint32_t)column.length;
        parse_rest(rest, version, &range, &until);
        return add_range(parser, column, version, &range, until);
    }
    if (!parser->found && memchr(line.at, ',', line.length))
        return 0; /* the headings of the columns */
    return skip_line(parser, "no address, network or range in this line");
}

int block_file_parse(struct block_entries *out, const char *name, const char *bytes, size_t length, struct diag *diag)
{
    struct list_parser parser = { .out = out, .diag = diag, .at = { .file = name } };
    const char *end = bytes + length, *first = bytes;
    int err = 0;

    if (length > BLOCK_FILE_BYTES) {
        diag_error(diag, parser.at, "the list is larger than %d MiB", BLOCK_FILE_BYTES >> 20);
        return -EFBIG;
    }
    while (first < end && isspace((unsigned char)*first))
        first++;
    if (first < end && *first == '[') {
        err = json_list_each(first, (size_t)(end - first), add_item, &parser);
        if (err == -EINVAL)
            diag_error(diag, parser.at, "the file begins with [ but is not a JSON array of objects");
        return err;
    }
    for (const char *at = bytes; at < end && !err;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        struct span line = { .at = at, .length = (size_t)((newline ? newline : end) - at) };

        if (line.length > 0 && line.at[line.length - 1] == '\r')
            line.length--;
        parser.at.line++;
        parser.at.line_text = at;
        parser.at.column = parser.at.width = 1;
        err = parse_line(&parser, span_trim(line));
        at = newline ? newline + 1 : end;
    }
    return err;
}

int block_file_read(struct block_entries *out, const char *path, struct diag *diag)
{
    const struct position at = { .file = path };
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = 0;
    char *bytes = NULL;
    struct stat status;
    size_t length = 0;
    ssize_t got = 1;

    if (fd < 0 || fstat(fd, &status) < 0)
        err = -errno;
    else if (!S_ISREG(status.st_mode))
        err = S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL;
    else if (status.st_size > BLOCK_FILE_BYTES)
        err = -EFBIG;
    if (!err) {
        bytes = malloc((size_t)status.st_size + 1); /* NUL-terminated: diagnostics copy the line */
        err = bytes ? 0 : -ENOMEM;
    }
    while (!err && got > 0 && length < (size_t)status.st_size) {
        got = read(fd, bytes + length, (size_t)status.st_size - length);
        err = got < 0 ? -errno : 0;
        length += got > 0 ? (size_t)got : 0;
    }
    if (err) {
        diag_error(diag, at, "cannot read the list: %s", err == -EINVAL ? "not a regular file" : strerror(-err));
    } else {
        bytes[length] = '\0';
        err = block_file_parse(out, path, bytes, length, diag);
    }
    free(bytes);
    if (fd >= 0)
        close(fd);
    return err;
}

int block_file_write(const char *folder, const char *name, const char *comment, const struct block_entries *entries)
{
    int directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = -1, err = 0;
    char temporary[BLOCK_NAME_SIZE + 32], range[RANGE_TEXT_SIZE];
    struct stat owner;
    FILE *file = NULL;

    snprintf(temporary, sizeof(temporary), ".%.*s.%ld", (int)BLOCK_NAME_SIZE, name, (long)getpid());
    if (directory < 0 || fstat(directory, &owner) < 0)
        err = -errno;
    if (!err) {
        unlinkat(directory, temporary, 0);
        fd = openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
        /* A command of root writes into the folder of the engine's user, who must be able to read the file. */
        if (fd < 0 || (geteuid() == 0 && owner.st_uid != 0 && fchown(fd, owner.st_uid, owner.st_gid) < 0) ||
            !(file = fdopen(fd, "w")))
            err = -errno;
    }
    if (!err)
        fprintf(file, "# %s\n", comment);
    for (size_t i = 0; !err && i < entries->count; i++) {
        const struct block_entry *entry = &entries->at[i];

        address_range_format(&entry->range, entry->version, range);
        fputs(range, file);
        if (entry->until > 0)
            fprintf(file, " until %" PRIu64, entry->until);
        fputc('\n', file);
    }
    if (!err && (fflush(file) != 0 || ferror(file) || fsync(fd) < 0))
        err = errno ? -errno : -EIO;
    if (!err && renameat(directory, temporary, directory, name) < 0)
        err = -errno;
    if (err && fd >= 0)
        unlinkat(directory, temporary, 0);
    if (file)
        fclose(file);
    else if (fd >= 0)
        close(fd);
    if (directory >= 0)
        close(directory);
    return err;
}

bool block_list_name_is_valid(const char *name)
{
    size_t length = strlen(name);

    return length > 0 && length + sizeof(BLOCK_IMPORTED) <= BLOCK_NAME_SIZE && isalnum((unsigned char)name[0]) &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == length;
}
