/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Import of a suricata.yaml: reads the file and those that it includes, and converts each key to settings of Sluice,
 * where it has a counterpart. The result lists each scalar value, and each empty mapping or list, of the input exactly
 * once, in the order of the input. Items of lists are named by their position, as in "outputs.1.eve-log.filename".
 *
 * A setting is written only if the configuration accepts its value, so the result is a configuration without mistakes.
 *
 * Input: the format of suricata.yaml of Suricata 6 to 8; an `include` below a mapping or a list is read, too.
 * Threads:   none.
 * Ownership: an import is valid as long as the configuration that it was read into.
 */
#ifndef SLUICE_CONFIG_IMPORT_H
#define SLUICE_CONFIG_IMPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "sluice/config.h"

enum import_group {
    IMPORT_TAKEN,    /* the value was written to a setting of Sluice */
    IMPORT_IMPLIED,  /* Sluice does this without a setting, or the key has no effect: empty, or in a disabled section */
    IMPORT_MISSING,  /* Sluice has no counterpart */
    IMPORT_REPLACED, /* the input sets the key again later */
    IMPORT_UNKNOWN,  /* no setting of Suricata, nor of Sluice */
    IMPORT_GROUPS
};

struct import_key {
    const char *path;   /* "outputs.1.eve-log.filename" */
    const char *value;  /* "" for a key without a value */
    struct position at; /* line of the key in its file */
    enum import_group group;
    const char *setting; /* IMPORT_TAKEN: setting and value as written ("eve.filename: eve.json"); NULL: none */
    const char *text;    /* what Sluice does, or what to do instead; NULL only for IMPORT_TAKEN */
};

struct import_options {
    /* Import Suricata's log folder, pid file, control socket, cache folder and user. False: these settings keep the
     * values for sluice.service, because the service may not write elsewhere. */
    bool keep_places;
    bool no_files; /* ignore the names of other files in the input, which may be hostile */
};

/*
 * Reads a suricata.yaml, and sets the settings in `config`, which must be as config_new() created it. Returns 0 or
 * -ENOMEM. If the file itself cannot be read or is no YAML, reports this to `diag` and returns -EINVAL or another
 * -errno. Missing files that it includes are only warnings.
 */
struct import;
int import_read(struct import **out, struct config *config, const char *path, const struct import_options *options,
                struct diag *diag);
/* Like import_read(), from a text that messages call `name`; relative paths refer to the working directory. */
int import_parse(struct import **out, struct config *config, const char *name, const char *text, size_t length,
                 const struct import_options *options, struct diag *diag);
void import_free(struct import *import);

/* Returns a key by its index; NULL past the last. */
const struct import_key *import_key(const struct import *import, size_t index);
size_t import_count(const struct import *import, enum import_group group);
/* Returns the name of a group: "taken", "implied", "no counterpart" ... */
const char *import_group_name(enum import_group group);
/* Writes the settings as YAML, one per line, with the keys that they come from as comments. */
void import_print(const struct import *import, struct text *out);

#endif
