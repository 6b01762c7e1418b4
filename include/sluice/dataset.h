/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Datasets: named sets of values (strings, hashes, addresses) that rules ask for, fill and empty: `dataset` and
 * `datarep`. A set may be read from a file when it is made, and be written to one at a clean stop.
 *
 * All memory of a set is reserved when it is made, as much as its memcap says (the kernel backs what is used); adding a
 * value never allocates, and fails when the set is full, which is counted.
 *
 * Threads:   the registry belongs to the thread that loads rules; a set may be used by any: sharded, a lock is held for
 * one look-up. Callers take their turn first (turn.h). Ownership: the registry owns the sets and outlives the rules
 * that use them. Several registries may have the same set, so that it survives a reload.
 */
#ifndef SLUICE_DATASET_H
#define SLUICE_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/diag.h"
#include "sluice/text.h"

enum dataset_type {
    DATASET_STRING, /* any bytes; Base64 in files */
    DATASET_MD5,    /* 16 bytes; hexadecimal in files */
    DATASET_SHA256, /* 32 bytes; hexadecimal in files */
    DATASET_IPV4,   /* 4 bytes */
    DATASET_IP,     /* 4 or 16 bytes */
    DATASET_TYPE_COUNT,
};
const char *dataset_type_name(enum dataset_type type);
bool dataset_type_parse(struct span word, enum dataset_type *out); /* "ipv6" is "ip", as in the field */

enum { DATASET_MAX_NAME = 63, DATASET_MAX_STRING = 65535, DATASET_ERROR_SIZE = 512 };

struct datasets_options {
    size_t memcap;             /* bytes of a set that does not say */
    uint64_t seed;             /* of the hash: random in a daemon, 0 in a replay */
    const char *data_dir;      /* where files are written, and looked for; NULL: nothing is written */
    bool allow_write;          /* rules may name files to write */
    bool allow_absolute_names; /* ... outside of data_dir too */
};
void datasets_options_default(struct datasets_options *options);

struct datasets;
struct dataset;

/* Copies the options. 0 or -ENOMEM. */
int datasets_new(struct datasets **out, const struct datasets_options *options);
/* Takes what has come and gone while the program ran over from the registry before, which goes on to be used: all sets
 * but those that were only read from a file, which are read again. Before the first set is asked for. A set of other
 * type or other files than the one before is a new one. 0 or -ENOMEM. */
int datasets_inherit(struct datasets *datasets, const struct datasets *before);
void datasets_free(struct datasets *datasets); /* NULL is allowed */

/* What a rule or the configuration says of a set. Paths as written. */
struct dataset_spec {
    struct span name;
    bool has_type; /* may be left out for a set that exists */
    enum dataset_type type;
    struct span load;      /* at NULL: none */
    struct span save;      /* the same */
    bool has_state;        /* load and save are one file, which need not be there yet */
    bool from_rule;        /* then the options limit where `save` may be */
    const char *rule_file; /* `load` is looked for beside it first; NULL */
    size_t memcap;         /* 0: the default */
};

/* The set of that name, made and read when there is none. 0, -ENOMEM, or -EINVAL with a message; mistakes in a file are
 * in `diag` besides. */
int datasets_get(struct datasets *datasets, const struct dataset_spec *spec, struct dataset **out, struct diag *diag,
                 char error[DATASET_ERROR_SIZE]);

/* Writes the sets that have a file for it, each to a new file that then takes the old one's place. 0, or -errno of the
 * first that failed; each is reported. No worker may run. */
int datasets_save(struct datasets *datasets, struct diag *diag);

/* To another process (sluice/transfer.h): the values of all sets that datasets_inherit() would take. Reading: a set
 * that is there with the same type has these values instead of its own, as far as they fit; others are left out. No
 * worker may run. */
struct transfer;
void datasets_transfer(struct transfer *t, struct datasets *datasets);

uint64_t datasets_memcap_hits(const struct datasets *datasets); /* adds that found no room */
size_t datasets_memory(const struct datasets *datasets);

/* --- One set. Bytes of a length that its type can't have are in no set ---------------------------- */

enum dataset_change { DATASET_CHANGED, DATASET_UNCHANGED, DATASET_FULL };

bool dataset_has(struct dataset *set, const uint8_t *bytes, size_t length);
/* The number that stands behind the value in its file (datarep); false when the value is not in the set. */
bool dataset_value(struct dataset *set, const uint8_t *bytes, size_t length, uint16_t *value);
enum dataset_change dataset_add(struct dataset *set, const uint8_t *bytes, size_t length);
enum dataset_change dataset_remove(struct dataset *set, const uint8_t *bytes, size_t length);

enum dataset_type dataset_type_of(const struct dataset *set);
size_t dataset_count(struct dataset *set);

/* --- Lines of files, for the fuzz target ---------------------------------------------------------- */

/* Reads "VALUE" or "VALUE,NUMBER" into at most DATASET_MAX_STRING bytes. NULL, or what is wrong with the line. */
const char *dataset_parse_line(enum dataset_type type, struct span line, uint8_t *bytes, size_t *length,
                               uint16_t *value);
/* The reverse, without the number. */
void dataset_print_value(enum dataset_type type, const uint8_t *bytes, size_t length, struct text *out);

#endif
