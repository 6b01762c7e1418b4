/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to config: the parts of the import. import.c reads the keys, import_convert.c converts them, import_set.c
 * sets the settings of Sluice. */
#ifndef SLUICE_IMPORT_PRIV_H
#define SLUICE_IMPORT_PRIV_H

#include "sluice/config_import.h"

#include "config_priv.h"
#include "suricata_keys.h"

/* A key of the input. */
struct import_leaf {
    struct import_key key;
    const char *name;         /* the key without the positions of lists: "outputs.eve-log.filename" */
    const struct node *node;  /* its value; NODE_NULL also for an empty list or mapping, and for a name in a list */
    const struct node *by;    /* the node that sets the same key again later; NULL: none */
    bool disabled;            /* a section that contains the key has `enabled: no` */
    bool is_include, is_item; /* names a file to include; is an item of a list */
    unsigned output;          /* position in `outputs` of the item that contains the key */
};

/* A setting of the result, in the order in which it is written. */
struct import_setting {
    const char *name;
    struct node *value;      /* NODE_LIST if the setting is a list; an empty NODE_MAP for a section */
    struct position from;    /* position of the key that it comes from; line 0: added by the import */
    const char *path, *text; /* path: path of this key; text: why the import added the setting */
};

struct import {
    struct config *config;
    struct import_options options;
    const char *folder; /* folder of the input file */
    struct diag *diag, *trial;
    struct import_leaf *leaves;
    size_t leaf_count, leaf_capacity;
    struct import_setting *settings;
    size_t setting_count, setting_capacity;
    size_t counts[IMPORT_GROUPS];
    int eve_output; /* position in `outputs` of the eve-log that becomes the event file; negative: none is enabled */
    bool failed;    /* out of memory */
};

/* --- import.c ------------------------------------------------------------------------------------- */

/* Returns the leaf with this name that no later key replaces, or NULL. */
const struct import_leaf *import_find(const struct import *import, const char *name);
/* Returns the value of the leaf that import_find() returns; NULL if there is no such leaf, or if it is a list or a
 * mapping. */
const char *import_find_value(const struct import *import, const char *name);

/* --- import_set.c --------------------------------------------------------------------------------- */

/* Sets a setting of the result. If the setting is a list and the leaf an item of a list, adds the value as an item.
 * Returns true if the configuration accepts the value; the group of the leaf then is IMPORT_TAKEN. Otherwise *why is
 * the reason, in the import's arena. */
bool import_set(struct import *import, struct import_leaf *leaf, const char *name, const char *value, const char **why);
/* Adds an item to a list, unless the list has it; otherwise like import_set(). */
bool import_add_item(struct import *import, struct import_leaf *leaf, const char *name, const char *value,
                     const char **why);
/* Sets a section ("eve.types.dns: {}"). */
bool import_set_section(struct import *import, struct import_leaf *leaf, const char *name, const char **why);
/* Sets a setting that no key of the input has, for the reason in `text`. */
void import_add(struct import *import, const char *name, const char *value, const char *text);
/* Applies the lists whose items import_set() has added. */
void import_set_lists(struct import *import);
bool import_has(const struct import *import, const char *name);
/* Returns the value of a setting of the result; NULL: it is not set, or not a scalar. */
const char *import_value(const struct import *import, const char *name);

/* --- import_convert.c ----------------------------------------------------------------------------- */

/* Decides about each leaf, and sets the settings. */
void import_convert(struct import *import);

#endif
