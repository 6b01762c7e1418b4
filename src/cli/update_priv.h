/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to `sluice update`:
 *
 *   update.c            the command: options, folders, test, reload, summary
 *   update_download.c   runs suricata-update, and isolates sources that it cannot use
 *   update_install.c    puts the new files in place and back
 *
 * Folders, below data-dir:
 *
 *   rules/              the rules that the daemon loads: suricata.rules, datasets/, classification.config
 *   update/sources/     sources of suricata-update; update/cache/ its downloads
 *   update/good/        for each source, the last download that had rules
 *   update/work         files of the current run; its folder `new` has the new rules, before they are in place
 *   update/previous/    the files that the last update replaced
 *   update/reload-pending   exists while new rules are in place and the daemon has not confirmed that it loaded them
 *   update/lock         held by the running command
 */
#ifndef SLUICE_CLI_UPDATE_PRIV_H
#define SLUICE_CLI_UPDATE_PRIV_H

#include <dirent.h>

#include "cli_priv.h"

enum { UPDATE_PATH_SIZE = 1024, UPDATE_MAX_SOURCES = 256 };

#define UPDATE_RULE_FILE "suricata.rules"

/* The download of a source: a file in the cache of suricata-update, which is named after the MD5 of the URL. */
struct update_download {
    char name[NAME_MAX + 1];
    size_t rules; /* number of rules in it */
    bool good;    /* has rules: it becomes the copy in update/good */
    bool bad;     /* an older copy, or no rules, is used instead; the next run downloads it again */
};

struct update {
    const struct command *command;
    /* arguments */
    bool offline, force;
    unsigned long timeout;           /* seconds for a run of suricata-update */
    const char *config_file;         /* the configuration that was read; need not exist */
    char program[UPDATE_PATH_SIZE];  /* suricata-update */
    char conf_dir[UPDATE_PATH_SIZE]; /* folder of update.yaml, enable.conf, disable.conf, drop.conf and modify.conf */

    char data[UPDATE_PATH_SIZE], live[UPDATE_PATH_SIZE], state[UPDATE_PATH_SIZE], cache[UPDATE_PATH_SIZE],
        good[UPDATE_PATH_SIZE], previous[UPDATE_PATH_SIZE], work[UPDATE_PATH_SIZE], staging[UPDATE_PATH_SIZE];
    char yaml[UPDATE_PATH_SIZE];    /* configuration of suricata-update */
    char compat[UPDATE_PATH_SIZE];  /* this program, under the name sluice-suricata-compat */
    char log[UPDATE_PATH_SIZE];     /* output of the last run of suricata-update */
    char pending[UPDATE_PATH_SIZE]; /* update/reload-pending */

    struct update_download downloads[UPDATE_MAX_SOURCES];
    size_t download_count;
    size_t source_problems; /* number of messages about sources whose newest rules could not be used */

    struct dirent **entries; /* names in `staging`; entries[i] was put in place if i < swapped */
    int entry_count, swapped;
    bool created[UPDATE_MAX_SOURCES]; /* created[i]: entries[i] replaced no file */
};

/* Writes "FOLDER/NAME" to a path of the struct; the folder's length was checked at the start. */
void update_path(char out[UPDATE_PATH_SIZE], const char *folder, const char *name);
/* Return 0 or -errno. */
int update_read_file(const char *path, struct text *out);
int update_copy_file(const char *from, const char *to);
int update_remove_tree(const char *path); /* 0 also if it does not exist */
/* Whether all files below `one` exist below `other` with the same content. */
bool update_same_tree(const char *one, const char *other);

/* Finds suricata-update: uses `path`, or searches PATH and the folders of pipx if `path` is NULL. Returns 0, or an exit
 * code after a message. */
int update_find_program(struct update *update, const char *path);
/* Runs suricata-update until `staging` has the newest rules of all sources that it can use. Returns 0, or an exit code
 * after a message; `staging` is then incomplete. */
int update_download(struct update *update);
/* Makes the next run download bad sources again. With `promote`, also copies the good downloads to update/good. */
void update_keep_downloads(struct update *update, bool promote);
/* Replaces this process by suricata-update with a command about sources. Returns an exit code after a message. */
int update_exec(struct update *update, int argc, char **argv);

/* Exchanges the files in `staging` with those in `live`, the rule file last. Then the caller calls update_swap_back(),
 * which reverses it, or update_swap_finish(), after which it cannot be reversed. Each exchange of a name is atomic.
 * Return 0 or -errno; after an error of update_swap() nothing is changed. */
int update_swap(struct update *update);
int update_swap_back(struct update *update);
void update_swap_finish(struct update *update);

#endif
