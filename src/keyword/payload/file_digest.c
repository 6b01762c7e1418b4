/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The digests of a list are stored as one sorted array in the rule list's arena: a million SHA-256 digests take 32 MB.
 * The condition is evaluated by one binary search per file.
 */
#include "file_digest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "sluice/hex.h"

enum { DIGEST_MAX = 32, DIGESTS_MAX = 1 << 26 };

struct digests {
    enum file_digest kind;
    bool negated;
    uint32_t size, count;
    uint8_t *bytes;
};

/* --- Matching ------------------------------------------------------------------------------------- */

static bool has_digest(const struct digests *digests, const uint8_t *wanted)
{
    uint32_t low = 0, high = digests->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = memcmp(wanted, digests->bytes + (size_t)middle * digests->size, digests->size);

        if (order == 0)
            return true;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

/* Evaluates the condition. An incomplete file has no digest and never matches, even if the condition is negated. */
enum file_match file_digest_match(const struct file *file, const void *data)
{
    const struct digests *digests = data;

    if (file->state == FILE_OPEN)
        return FILE_MATCH_LATER;
    if (file->state != FILE_CLOSED || !(file->digests >> digests->kind & 1))
        return FILE_MATCH_NO;
    return has_digest(digests, file->digest[digests->kind]) != digests->negated ? FILE_MATCH_YES : FILE_MATCH_NO;
}

/* --- Loading the list ----------------------------------------------------------------------------- */

struct reading {
    struct rule_parser *parser;
    struct span value;
    struct digests *digests;
    uint32_t capacity;
    char path[PATH_MAX];
};

static int add_digest(struct reading *reading, const uint8_t *digest)
{
    struct digests *digests = reading->digests;

    if (digests->count == reading->capacity) {
        uint32_t capacity = reading->capacity ? reading->capacity * 2 : 1024;
        uint8_t *larger = capacity <= DIGESTS_MAX ? realloc(digests->bytes, (size_t)capacity * digests->size) : NULL;

        if (!larger)
            return -ENOMEM;
        digests->bytes = larger;
        reading->capacity = capacity;
    }
    memcpy(digests->bytes + (size_t)digests->count++ * digests->size, digest, digests->size);
    return 0;
}

/* Adds the digests of a file, one per line, in hexadecimal at the start of the line; lines without a digest are
 * ignored. Returns 0 or -errno. */
static int read_lines(struct reading *reading, FILE *file)
{
    char *line = NULL;
    size_t size = 0;
    uint32_t number = 0;
    int err = 0;

    while (!err && getline(&line, &size, file) >= 0) {
        uint8_t digest[DIGEST_MAX];
        size_t length = 0;

        number++;
        while (hex_digit(line[length]) >= 0)
            length++;
        if (length == 0)
            continue;
        if (length != 2 * (size_t)reading->digests->size) {
            err = rule_parser_error(reading->parser, reading->value, "%s:%u: the digest has %zu digits and not %u",
                                    reading->path, number, length, 2 * reading->digests->size);
            break;
        }
        for (size_t i = 0; i < length; i += 2)
            hex_byte(line + i, &digest[i / 2]);
        err = add_digest(reading, digest);
    }
    if (!err && ferror(file))
        err = rule_parser_error(reading->parser, reading->value, "%s: %s", reading->path, strerror(EIO));
    free(line);
    return err;
}

enum { MAX_FILE = 1 << 30 };

/* Opens the file and reads its lines. Only regular files are accepted, because reading another type may block or never
 * end. Returns 0, or -errno after an error was reported. */
static int read_file(struct reading *reading)
{
    int fd = open(reading->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    FILE *file = NULL;
    struct stat status;

    if (fd >= 0 && fstat(fd, &status) == 0) {
        if (S_ISREG(status.st_mode) && status.st_size <= MAX_FILE)
            file = fdopen(fd, "r");
        else
            errno = S_ISDIR(status.st_mode) ? EISDIR : S_ISREG(status.st_mode) ? EFBIG : EINVAL;
    }
    if (!file) {
        int err = rule_parser_error(reading->parser, reading->value, "%s: %s", reading->path, strerror(errno));

        if (fd >= 0)
            close(fd);
        return err;
    }
    int err = read_lines(reading, file);

    fclose(file);
    return err;
}

static int compare16(const void *a, const void *b)
{
    return memcmp(a, b, 16);
}

static int compare20(const void *a, const void *b)
{
    return memcmp(a, b, 20);
}

static int compare32(const void *a, const void *b)
{
    return memcmp(a, b, 32);
}

/* Sorts the digests and moves them to the rule list's arena. Returns 0 or -ENOMEM. */
static int sort_into_arena(struct reading *reading)
{
    static int (*const compare[])(const void *, const void *) = { compare16, compare20, compare32 };
    struct digests *digests = reading->digests;
    size_t length = (size_t)digests->count * digests->size;
    uint8_t *copy = arena_alloc(rule_parser_arena(reading->parser), length + 1);

    if (!copy)
        return -ENOMEM;
    if (digests->count > 0) {
        qsort(digests->bytes, digests->count, digests->size, compare[digests->kind]);
        memcpy(copy, digests->bytes, length);
    }
    free(digests->bytes);
    digests->bytes = copy;
    return 0;
}

int file_digest_parse(struct rule_parser *parser, struct span value, enum file_digest kind)
{
    static const uint8_t sizes[] = { [FILE_MD5] = 16, [FILE_SHA1] = 20, [FILE_SHA256] = 32 };
    struct digests *digests = arena_alloc(rule_parser_arena(parser), sizeof(*digests));
    struct reading reading = { .parser = parser, .value = value, .digests = digests };
    const char *rules = rule_parser_file(parser), *slash = strrchr(rules, '/');
    /* length of the rule file's directory, to which a path that is not absolute is relative */
    int folder = value.at[0] != '/' && slash ? (int)(slash + 1 - rules) : 0;

    if (!digests)
        return -ENOMEM;
    int length = snprintf(reading.path, sizeof(reading.path), "%.*s" SPAN_FORMAT, folder, rules, SPAN_ARGS(value));

    if (length < 0 || (size_t)length >= sizeof(reading.path))
        return rule_parser_error(parser, value, "the path is too long");
    *digests = (struct digests){ .kind = kind, .negated = rule_parser_is_negated(parser), .size = sizes[kind] };
    int err = read_file(&reading);

    if (!err)
        err = sort_into_arena(&reading);
    if (err) {
        free(digests->bytes);
        return err;
    }
    rule_parser_rule(parser)->file_needs |= 1u << kind;
    return rule_parser_add_file_condition(parser, digests, false);
}
