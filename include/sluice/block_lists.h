/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists of hosts and networks to block: files of providers (feeds), countries of a MaxMind database, networks that were
 * blocked by hand, and the blocked hosts that are kept between two runs.
 *
 * A line of a list has one address, network or range. The format is detected from the line:
 *   - one per line, with comments after # or ;                Spamhaus DROP, FireHOL netsets, Feodo Tracker ipblocklist
 *   - columns, separated by commas, tabs or spaces            abuse.ch CSV: the first column that is an address counts
 *   - JSON, an object per line or an array of objects         Spamhaus drop_v4.json, abuse.ch JSON: member cidr,
 *                                                             network, prefix, ip_address, ip, dst_ip or address
 *   - Sluice's own: ADDRESS until SECONDS                     SECONDS of Unix time; without `until`: no time limit
 *
 * Threads:   one at a time.
 * Memory:    a list has at most BLOCK_FILE_BYTES, and at most BLOCK_FILE_ENTRIES entries.
 */
#ifndef SLUICE_BLOCK_LISTS_H
#define SLUICE_BLOCK_LISTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/diag.h"
#include "sluice/ranges.h"

enum { BLOCK_FILE_BYTES = 64 << 20, BLOCK_FILE_ENTRIES = 1 << 20, BLOCK_NAME_SIZE = 64 };

/* The widest network that a list may block: /8 for IPv4, /16 for IPv6. A wider one is a mistake, or an attack. */
enum { BLOCK_WIDEST4 = 8, BLOCK_WIDEST6 = 16 };

struct block_entry {
    struct range range;
    uint64_t until;  /* Unix time in seconds at which the block ends; 0: never */
    uint8_t version; /* 4 or 6 */
};
struct block_entries {
    struct block_entry *at;
    size_t count, room;
    size_t skipped; /* lines without an address, and networks that are too wide; reported in `diag` */
};
int block_entries_add(struct block_entries *entries, const struct block_entry *entry); /* returns 0 or -ENOMEM */
void block_entries_clear(struct block_entries *entries);

/* Parses a list. Lines that cannot be used are left out, with a warning in `diag` that has their position (`name`, line
 * and column). Returns 0; -ENOMEM; or -EFBIG, with an error in `diag`, for a list that is too long. */
int block_file_parse(struct block_entries *out, const char *name, const char *bytes, size_t length, struct diag *diag);
/* Reads the file and parses it. Returns 0, or -errno with an error in `diag`. */
int block_file_read(struct block_entries *out, const char *path, struct diag *diag);
/* Writes a list in Sluice's own format, with `comment` as its first line: into a new file, which then replaces
 * FOLDER/NAME. The file gets the owner of the folder. Returns 0 or -errno. */
int block_file_write(const char *folder, const char *name, const char *comment, const struct block_entries *entries);

/* Names of files in nft.blocklist.folder: the file with the networks that were blocked by hand, the file with the
 * blocked hosts, and the suffix of files with imported lists. */
#define BLOCK_NETWORKS "networks"
#define BLOCK_HOSTS "hosts"
#define BLOCK_IMPORTED ".list"
/* Whether `name` can be the name of an imported list: letters and digits, after the first character also . _ -. `name`
 * does not include BLOCK_IMPORTED. */
bool block_list_name_is_valid(const char *name);

/* --- All lists together ------------------------------------------------------------------------------- */

struct block_lists_options {
    const char *folder;           /* NULL: none */
    const char *const *files;     /* paths in nft.blocklist.files; NULL-terminated */
    const char *const *countries; /* ISO 3166-1 alpha-2 codes; NULL-terminated */
    const char *geoip_database;   /* NULL: none */
};

enum block_list_kind { BLOCK_LIST_FILE, BLOCK_LIST_IMPORTED, BLOCK_LIST_BY_HAND, BLOCK_LIST_COUNTRY };
const char *block_list_kind_name(enum block_list_kind kind); /* "file", "imported", "by hand", "country" */

struct block_list {
    enum block_list_kind kind;
    char *name; /* path of the file, name of the import, or code of the country */
    struct block_entries entries;
    bool failed; /* the list could not be read; `entries` are those of the previous reading */
};
struct block_lists {
    struct block_list *list;
    size_t count;
};
/* Reads all lists. If a list cannot be read but is in `previous` (NULL: none), it gets the entries from there, and
 * `failed` is set. Mistakes are reported in `diag`. Returns 0 or -ENOMEM. */
int block_lists_read(struct block_lists *out, const struct block_lists_options *options,
                     const struct block_lists *previous, struct diag *diag);
void block_lists_clear(struct block_lists *lists);
/* Adds the ranges of all entries that have not ended at `now` (Unix time) to networks[0] (IPv4) and networks[1] (IPv6),
 * and normalises both. *next is the time at which the next entry ends, or 0. Returns 0 or -ENOMEM. */
int block_lists_merge(const struct block_lists *lists, uint64_t now, struct range_list networks[2], uint64_t *next);

#endif
