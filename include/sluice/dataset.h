/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Datasets: named sets of values (strings, hashes, addresses) for the keywords `dataset` and `datarep`, which look up,
 * add and remove values. A set may be loaded from a file on creation and saved to a file at a clean stop.
 *
 * All memory of a set, as much as its memcap, is reserved on creation (the kernel provides pages on first use); adding
 * a value never allocates, and fails when the set is full, which is counted.
 *
 * Threads:   the registry belongs to the thread that loads rules. Any thread may use a set, which is sharded; a shard
 * is locked for one operation. In a replay, callers wait for the replay ordering first (replay_order.h).
 * Ownership: the registry owns the sets and outlives the rules that use them. Several registries may share a set, so
 * that it survives a reload.
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
bool dataset_type_parse(struct span word, enum dataset_type *out); /* "ipv6" means "ip", as in Suricata */

enum { DATASET_MAX_NAME = 63, DATASET_MAX_STRING = 65535, DATASET_ERROR_SIZE = 512 };

struct datasets_options {
    size_t memcap;             /* default size of a set in bytes */
    uint64_t seed;             /* hash seed: random in a daemon, 0 in a replay */
    const char *data_dir;      /* directory that files are saved to and loaded from; NULL: saving is disabled */
    bool allow_write;          /* rules may use `save` and `state` */
    bool allow_absolute_names; /* rules may use `save` and `state` with paths outside of data_dir */
};

struct datasets;
struct dataset;

/* Creates a registry with a copy of the options. Returns 0 or -ENOMEM. */
int datasets_new(struct datasets **out, const struct datasets_options *options);
/* Shares the sets of the previous registry, which stays in use, so that values changed at run time survive a reload.
 * Exceptions: load-only sets are read from their file again, and a set whose type or files differ is created anew. Must
 * be called before the first datasets_get(). Returns 0 or -ENOMEM. */
int datasets_inherit(struct datasets *datasets, const struct datasets *previous);
void datasets_free(struct datasets *datasets); /* NULL is allowed */

/* Form of a file: lines (dataset_parse_line()), one JSON text, or a JSON object on each line. */
enum dataset_format { DATASET_LINES, DATASET_JSON, DATASET_NDJSON };

/* Definition of a set in a rule or in the configuration. Paths are as written there. */
struct dataset_spec {
    struct span name;
    bool has_type; /* `type` is given; may be false only if the set exists already */
    enum dataset_type type;
    struct span load; /* .at NULL: none */
    struct span save; /* .at NULL: none */
    bool has_state;   /* `state`: load and save are one file, which may not exist yet */
    bool from_rule;   /* defined in a rule, so datasets_options restrict `save`; false: defined in the configuration */
    const char *rule_file; /* file with the rule, in whose directory `load` is first searched; NULL: none */
    size_t memcap;         /* 0: the default */
    enum dataset_format format;
    /* Sets in JSON. Keys are paths of member names with dots between them. Each value has an object, which alerts show
     * (dataset_object()). */
    struct span value_key; /* member of the object that has the value */
    struct span array_key; /* DATASET_JSON: the array of objects in the file; .at NULL: the file is the array */
    bool remove_key;       /* the object is stored without the member value_key */
};

/* Gets the set named spec->name, which is created and loaded if it does not exist. Returns 0, -ENOMEM, or -EINVAL with
 * a message in `error`; errors in a file are also reported to `diag`. */
int datasets_get(struct datasets *datasets, const struct dataset_spec *spec, struct dataset **out, struct diag *diag,
                 char error[DATASET_ERROR_SIZE]);

/* Finds a set by its name; NULL: none. It is valid as long as the registry. */
struct dataset *datasets_find(const struct datasets *datasets, struct span name);
/* Returns the name of a set by its index in the order of definition, with the set in *set; NULL past the last. Sets
 * whose file could not be loaded are not counted. */
const char *datasets_name(const struct datasets *datasets, size_t index, struct dataset **set);

/* Saves all sets that have a `save` file, each to a temporary file that is then renamed. Returns 0, or -errno of the
 * first failure; each failure is reported to `diag`. Workers may change the sets meanwhile. */
int datasets_save(struct datasets *datasets, struct diag *diag);

/* Transfers the values of all sets that datasets_inherit() would share to the next engine (sluice/transfer.h). When
 * reading, the transferred values replace the values of the set with the same name and type, as far as they fit. A set
 * that does not exist in the reader is skipped. No worker may run. */
struct transfer;
void datasets_transfer(struct transfer *t, struct datasets *datasets);

uint64_t datasets_memcap_hits(const struct datasets *datasets); /* additions refused because the set was full */
size_t datasets_memory(const struct datasets *datasets);

/* --- Operations on a set. Values whose length is invalid for the type are in no set ---------------- */

enum dataset_change { DATASET_CHANGED, DATASET_UNCHANGED, DATASET_FULL };

bool dataset_has(struct dataset *set, const uint8_t *bytes, size_t length);
/* Returns the reputation value of an entry (datarep) in *value; false when the entry is not in the set. */
bool dataset_value(struct dataset *set, const uint8_t *bytes, size_t length, uint16_t *value);
/* Returns whether the value is in the set. Sets *json to the text of its JSON object, which is valid as long as the
 * set; NULL: the value has none. */
bool dataset_object(struct dataset *set, const uint8_t *bytes, size_t length, const char **json);
enum dataset_change dataset_add(struct dataset *set, const uint8_t *bytes, size_t length);
/* Adds a value like dataset_add(), together with its reputation (datarep). If the set has the value already, replaces
 * its reputation and returns DATASET_UNCHANGED. */
enum dataset_change dataset_set_value(struct dataset *set, const uint8_t *bytes, size_t length, uint16_t value);
enum dataset_change dataset_remove(struct dataset *set, const uint8_t *bytes, size_t length);
void dataset_clear(struct dataset *set); /* removes all values; the memory remains reserved */

enum dataset_type dataset_type_of(const struct dataset *set);
size_t dataset_count(struct dataset *set);

/* --- Lines of dataset files, public for the fuzz target ------------------------------------------- */

/* Parses "VALUE" or "VALUE,NUMBER" into at most DATASET_MAX_STRING bytes. Returns NULL, or an error message. */
const char *dataset_parse_line(enum dataset_type type, struct span line, uint8_t *bytes, size_t *length,
                               uint16_t *value);
/* Parses a value in the form that it has in JSON: strings as they are, others as in lines. Returns like
 * dataset_parse_line(). */
const char *dataset_parse_text(enum dataset_type type, struct span text, uint8_t *bytes, size_t *length);
/* Appends the text form of a value, without the number. */
void dataset_print_value(enum dataset_type type, const uint8_t *bytes, size_t length, struct text *out);

#endif
