/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to config: the keys of suricata.yaml (Suricata 6 to 8) and their meaning for Sluice, in one table. The import
 * (import.c) and the hints for unknown settings (schema.c) use it. A key that has the same name and meaning in Sluice
 * needs no row.
 *
 * A key is written without the positions of lists: `outputs: [{fast: {enabled: yes}}]` is "outputs.fast.enabled", as in
 * Suricata's own notation.
 */
#ifndef SLUICE_SURICATA_KEYS_H
#define SLUICE_SURICATA_KEYS_H

#include "sluice/config_import.h"

/* How the import converts a value; import_convert.c has the functions. */
enum suricata_conversion {
    CONVERT_VALUE, /* the same value */
    CONVERT_FILE,  /* a file, relative to the folder of suricata.yaml; not imported if it does not exist */
    CONVERT_FOLDER,
    CONVERT_RULE_FILE,
    CONVERT_REPUTATION_FILE,
    CONVERT_PLACE, /* a path (log folder, pid file, control socket, cache) or the user of Suricata's service:
                      imported only with import_options.keep_places */
    CONVERT_EVE_SWITCH,
    CONVERT_EVE, /* an option of the event file */
    CONVERT_EVE_FILENAME,
    CONVERT_EVE_TRANSPORT, /* file type of the event file, and options of syslog and Redis */
    CONVERT_EVE_TYPE,      /* an event type, or an option of one */
    CONVERT_LOG,           /* fast.log, stats.log, alerts in syslog */
    CONVERT_LOG_FILENAME,
    CONVERT_LEVEL,         /* severity in syslog */
    CONVERT_PORTS,         /* "139, 445": a group needs brackets */
    CONVERT_VERDICT,       /* nfq.mode */
    CONVERT_MARK,          /* nfq.repeat-mark, nfq.repeat-mask */
    CONVERT_ROUTE,         /* nfq.route-queue */
    CONVERT_QUEUE_LENGTH,  /* max-pending-packets */
    CONVERT_INVALID_DROPS, /* stream.drop-invalid */
    CONVERT_AFFINITY,      /* threading.set-cpu-affinity */
    CONVERT_CPU_SET,
    CONVERT_INTERFACE,        /* the name of an interface: an item of a list */
    CONVERT_INTERFACE_OPTION, /* an option of an interface, which in Sluice applies to all */
    CONVERT_PROMISC,          /* disable-promisc */
};

struct suricata_key {
    const char *pattern; /* parts separated by dots. `*` matches any part, a|b one of these names, and a final `**` all
                            further parts, also none */
    enum import_group group;
    /* IMPORT_TAKEN: the setting of Sluice. A part `*` stands for the part that a `*` in the pattern has matched. A
     * final `**` stands for the parts that `**` has matched. IMPORT_MISSING: the setting or section to use instead, or
     * NULL. */
    const char *setting;
    enum suricata_conversion conversion;
    const char *text; /* what Sluice does, or what to do instead; NULL: the name in `setting` is sufficient */
};

/* Returns the row of a key, or NULL. If the key is a section, its row is the one of the section itself. */
const struct suricata_key *suricata_key_find(const char *key);
/* Returns a row by its index; NULL past the last. */
const struct suricata_key *suricata_key_get(size_t index);
/* Writes the setting of a row for a key that its pattern matches. Returns false if `out` is too short. */
bool suricata_key_setting(const struct suricata_key *row, const char *key, char *out, size_t size);

#endif
