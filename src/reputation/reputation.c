/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One hash table for all addresses and networks of all categories, keyed by category, prefix length and prefix. A
 * lookup probes the prefix lengths that occur in the category, longest first. As lists contain single addresses and
 * networks of few lengths, one or two probes usually suffice.
 *
 * If an address or network occurs several times in a category, the last entry applies.
 */
#include "sluice/reputation.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

enum { NAME_SIZE = 32, MAX_PREFIX = 128, FIRST_SLOTS = 1024, MAX_ERRORS = 100 };

struct key {
    struct address address;
    uint8_t category, version, prefix, used; /* used: 1 if the slot has an entry, 0 if it is free */
};

struct slot {
    struct key key;
    uint8_t value;
};

_Static_assert(sizeof(struct key) == 20, "keys are hashed whole: no padding");

struct reputation {
    struct slot *slots;
    /* number of entries; number of slots, a power of two */
    size_t count, capacity;
    /* bit sets of the prefix lengths in use, by category and IP version (0: IPv4, 1: IPv6) */
    uint64_t prefixes[REPUTATION_CATEGORIES][2][MAX_PREFIX / 64 + 1];
    char names[REPUTATION_CATEGORIES][NAME_SIZE];
};

int reputation_new(struct reputation **out)
{
    struct reputation *reputation = calloc(1, sizeof(*reputation));

    if (!reputation)
        return -ENOMEM;
    reputation->capacity = FIRST_SLOTS;
    reputation->slots = calloc(reputation->capacity, sizeof(*reputation->slots));
    if (!reputation->slots) {
        free(reputation);
        return -ENOMEM;
    }
    *out = reputation;
    return 0;
}

void reputation_free(struct reputation *reputation)
{
    if (!reputation)
        return;
    free(reputation->slots);
    free(reputation);
}

size_t reputation_count(const struct reputation *reputation)
{
    return reputation->count;
}

/* --- Hash table ----------------------------------------------------------------------------------- */

/* Returns the slot of the key, or the free slot where to insert it. At most half of the slots are used, so the search
 * always ends. */
static struct slot *find_slot(const struct reputation *reputation, const struct key *key)
{
    size_t mask = reputation->capacity - 1;

    for (size_t i = XXH3_64bits(key, sizeof(*key)) & mask;; i = (i + 1) & mask) {
        struct slot *slot = &reputation->slots[i];

        if (!slot->key.used || memcmp(&slot->key, key, sizeof(*key)) == 0)
            return slot;
    }
}

static int grow(struct reputation *reputation)
{
    struct slot *old = reputation->slots;
    size_t old_capacity = reputation->capacity;

    reputation->slots = calloc(old_capacity * 2, sizeof(*old));
    if (!reputation->slots) {
        reputation->slots = old;
        return -ENOMEM;
    }
    reputation->capacity = old_capacity * 2;
    for (size_t i = 0; i < old_capacity; i++) {
        if (old[i].key.used)
            *find_slot(reputation, &old[i].key) = old[i];
    }
    free(old);
    return 0;
}

static struct key make_key(unsigned category, int version, const struct address *address, unsigned prefix)
{
    struct key key = {
        .address = *address,
        .category = (uint8_t)category,
        .version = (uint8_t)version,
        .prefix = (uint8_t)prefix,
        .used = 1,
    };
    unsigned whole = prefix / 8;

    if (whole < sizeof(key.address.bytes)) {
        key.address.bytes[whole] &= (uint8_t)(0xff00 >> prefix % 8);
        memset(key.address.bytes + whole + 1, 0, sizeof(key.address.bytes) - whole - 1);
    }
    return key;
}

static int set_value(struct reputation *reputation, const struct key *key, uint8_t value)
{
    if (reputation->count * 2 >= reputation->capacity && grow(reputation))
        return -ENOMEM;
    struct slot *slot = find_slot(reputation, key);

    reputation->count += !slot->key.used;
    *slot = (struct slot){ *key, value };
    reputation->prefixes[key->category][key->version == 6][key->prefix / 64] |= UINT64_C(1) << key->prefix % 64;
    return 0;
}

int reputation_value(const struct reputation *reputation, unsigned category, int ip_version,
                     const struct address *address)
{
    if (category >= REPUTATION_CATEGORIES)
        return -1;
    for (int word = MAX_PREFIX / 64; word >= 0; word--) {
        uint64_t bits = reputation->prefixes[category][ip_version == 6][word];

        while (bits) {
            unsigned bit = 63 - (unsigned)__builtin_clzll(bits);
            struct key key = make_key(category, ip_version, address, (unsigned)word * 64 + bit);
            const struct slot *slot = find_slot(reputation, &key);

            if (slot->key.used)
                return slot->value;
            bits &= ~(UINT64_C(1) << bit);
        }
    }
    return -1;
}

int reputation_category(const struct reputation *reputation, struct span name)
{
    for (int i = 0; i < REPUTATION_CATEGORIES; i++)
        if (reputation->names[i][0] && span_equal(name, reputation->names[i]))
            return i;
    return -1;
}

/* --- Lines ---------------------------------------------------------------------------------------- */

struct reader {
    struct reputation *reputation;
    struct diag *diag;
    const char *file, *line_text;
    uint32_t line, errors;
};

typedef int line_parser(struct reader *reader, struct span line);

static int report_error(struct reader *reader, struct span where, const char *message)
{
    struct position at = {
        .file = reader->file,
        .line_text = reader->line_text,
        .line = reader->line,
        .column = (uint32_t)(where.at - reader->line_text) + 1,
        .width = (uint32_t)where.length,
    };

    if (++reader->errors <= MAX_ERRORS)
        diag_error(reader->diag, at, "%s", message);
    return 0;
}

/* Reads the next comma-separated field of the line. Reports an error and returns false if it is missing or empty. */
static bool next_field(struct reader *reader, struct span *rest, struct span line, struct span *part)
{
    if (span_next(rest, ',', part) && part->length > 0)
        return true;
    report_error(reader, line, "expected three comma-separated fields");
    return false;
}

static int parse_category(struct reader *reader, struct span line)
{
    struct span rest = line, number, name;
    uint64_t index;

    if (!next_field(reader, &rest, line, &number) || !next_field(reader, &rest, line, &name))
        return 0;
    if (!span_to_uint(number, 0, REPUTATION_CATEGORIES - 1, &index))
        return report_error(reader, number, "the category number must be between 0 and 59");
    if (name.length >= NAME_SIZE)
        return report_error(reader, name, "the short name of a category may have at most 31 characters");
    memcpy(reader->reputation->names[index], name.at, name.length);
    reader->reputation->names[index][name.length] = '\0';
    return 0;
}

/* Parses "ADDRESS" or "ADDRESS/BITS" and sets *prefix to BITS, by default to the length of the address. Returns the IP
 * version, or -EINVAL. */
static int parse_network(struct span text, struct address *address, uint64_t *prefix)
{
    struct span rest = text, part = text;

    span_next(&rest, '/', &part);
    int version = address_parse(part.at, part.length, address);
    uint64_t most = version == 4 ? 32 : 128;

    *prefix = most;
    if (version < 0 || (rest.at && !span_to_uint(span_trim(rest), 0, most, prefix)))
        return -EINVAL;
    return version;
}

static int parse_entry(struct reader *reader, struct span line)
{
    struct span rest = line, where, category_text, value_text;
    struct address address = { 0 };
    uint64_t category, value, prefix;

    if (!next_field(reader, &rest, line, &where) || !next_field(reader, &rest, line, &category_text) ||
        !next_field(reader, &rest, line, &value_text))
        return 0;
    if (span_equal(where, "ip")) /* the line with the names of the columns */
        return 0;
    int version = parse_network(where, &address, &prefix);

    if (version < 0)
        return report_error(reader, where, "not an IP address or network");
    if (!span_to_uint(category_text, 0, REPUTATION_CATEGORIES - 1, &category))
        return report_error(reader, category_text, "the category number must be between 0 and 59");
    if (!span_to_uint(value_text, 0, REPUTATION_MAX, &value))
        return report_error(reader, value_text, "the reputation value must be between 0 and 127");
    struct key key = make_key((unsigned)category, version, &address, (unsigned)prefix);

    return set_value(reader->reputation, &key, (uint8_t)value);
}

static int parse_lines(struct reader *reader, const char *text, size_t length, line_parser *read)
{
    struct span rest = { text, length }, line;
    int err = 0;

    while (!err && span_next(&rest, '\n', &line)) {
        reader->line++;
        reader->line_text = line.at;
        while (line.length > 0 && line.at[line.length - 1] == '\r')
            line.length--;
        line = span_trim(line);
        if (line.length > 0 && line.at[0] != '#')
            err = read(reader, line);
    }
    if (reader->errors > MAX_ERRORS)
        diag_error(reader->diag, (struct position){ .file = reader->file }, "%u more lines have errors",
                   reader->errors - MAX_ERRORS);
    return err;
}

/* Parses the lines of a text. The text is copied and terminated with NUL, because diagnostics read the current line to
 * its end. Returns 0 or -ENOMEM; other mistakes are in the diag. */
static int parse_text(struct reputation *reputation, const char *name, const char *text, size_t length,
                      struct diag *diag, line_parser *read)
{
    struct reader reader = { .reputation = reputation, .diag = diag, .file = name };
    char *copy = malloc(length + 1);

    if (!copy)
        return -ENOMEM;
    memcpy(copy, text, length);
    copy[length] = '\0';
    int err = parse_lines(&reader, copy, length, read);

    free(copy);
    return err;
}

int reputation_parse_categories(struct reputation *reputation, const char *name, const char *text, size_t length,
                                struct diag *diag)
{
    return parse_text(reputation, name, text, length, diag, parse_category);
}

int reputation_parse(struct reputation *reputation, const char *name, const char *text, size_t length,
                     struct diag *diag)
{
    return parse_text(reputation, name, text, length, diag, parse_entry);
}

/* --- Files ---------------------------------------------------------------------------------------- */

enum { MAX_FILE = 1 << 30 };

static int read_file(const char *path, char **out, size_t *length)
{
    FILE *file = fopen(path, "re");
    struct stat status;
    size_t capacity = 0;
    int err = file && fstat(fileno(file), &status) == 0 ? 0 : -errno;

    if (!err && S_ISDIR(status.st_mode))
        err = -EISDIR;
    if (!err && status.st_size > MAX_FILE)
        err = -EFBIG;

    *out = NULL;
    *length = 0;
    while (!err && !feof(file)) {
        if (*length == capacity) {
            char *grown = realloc(*out, capacity = capacity ? capacity * 2 : 1 << 16);

            if (!grown) {
                err = -ENOMEM;
                break;
            }
            *out = grown;
        }
        *length += fread(*out + *length, 1, capacity - *length, file);
        err = ferror(file) ? -EIO : 0;
    }
    if (file)
        fclose(file);
    return err;
}

static int load_file(struct reputation *reputation, const char *path, struct diag *diag, line_parser *read)
{
    size_t length;
    char *text;
    int err = read_file(path, &text, &length);

    if (err)
        diag_error(diag, (struct position){ .file = path }, "cannot read the file: %s", strerror(-err));
    else
        err = parse_text(reputation, path, text, length, diag, read);
    free(text);
    return err;
}

int reputation_load_categories(struct reputation *reputation, const char *path, struct diag *diag)
{
    return load_file(reputation, path, diag, parse_category);
}

int reputation_load(struct reputation *reputation, const char *path, struct diag *diag)
{
    return load_file(reputation, path, diag, parse_entry);
}
