/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads all lists of hosts and networks to block, and merges them. */
#include "sluice/block_lists.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sluice/geoip.h"

enum { MAX_LISTS = 1024 };

const char *block_list_kind_name(enum block_list_kind kind)
{
    static const char *const names[] = {
        [BLOCK_LIST_FILE] = "file",
        [BLOCK_LIST_IMPORTED] = "imported",
        [BLOCK_LIST_BY_HAND] = "by hand",
        [BLOCK_LIST_COUNTRY] = "country",
    };

    return names[kind];
}

/* Adds an empty list. Returns NULL when out of memory, or when there are too many lists. */
static struct block_list *add_list(struct block_lists *lists, enum block_list_kind kind, const char *name)
{
    struct block_list *list =
        lists->count < MAX_LISTS ? reallocarray(lists->list, lists->count + 1, sizeof(*list)) : NULL;
    char *copy = strdup(name);

    if (list)
        lists->list = list;
    if (!list || !copy) {
        free(copy);
        return NULL;
    }
    list += lists->count++;
    *list = (struct block_list){ .kind = kind, .name = copy };
    return list;
}

static int keep_previous(struct block_list *list, const struct block_lists *previous)
{
    int err = 0;

    list->failed = true;
    for (size_t i = 0; previous && i < previous->count && !err; i++) {
        const struct block_list *old = &previous->list[i];

        if (old->kind != list->kind || strcmp(old->name, list->name) != 0)
            continue;
        for (size_t k = 0; k < old->entries.count && !err; k++)
            err = block_entries_add(&list->entries, &old->entries.at[k]);
    }
    return err;
}

static int read_file(struct block_lists *out, enum block_list_kind kind, const char *name, const char *path,
                     const struct block_lists *previous, struct diag *diag)
{
    struct block_list *list = add_list(out, kind, name);

    if (!list)
        return -ENOMEM;
    if (block_file_read(&list->entries, path, diag) == 0)
        return 0;
    block_entries_clear(&list->entries);
    return keep_previous(list, previous);
}

/* --- The folder --------------------------------------------------------------------------------------- */

static int is_list(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name), end = strlen(BLOCK_IMPORTED);

    return length > end && entry->d_name[0] != '.' && strcmp(entry->d_name + length - end, BLOCK_IMPORTED) == 0;
}

static int read_folder(struct block_lists *out, const char *folder, const struct block_lists *previous,
                       struct diag *diag)
{
    struct dirent **names = NULL;
    int count = scandir(folder, &names, is_list, alphasort), err = 0;
    char path[PATH_MAX];

    if (count < 0 && errno != ENOENT) /* the folder does not exist until a list is imported */
        diag_error(diag, (struct position){ .file = folder }, "cannot read the folder of lists: %s", strerror(errno));
    for (int i = 0; i < count; i++) {
        char *end = names[i]->d_name + strlen(names[i]->d_name) - strlen(BLOCK_IMPORTED);

        snprintf(path, sizeof(path), "%s/%s", folder, names[i]->d_name);
        *end = '\0';
        if (!err)
            err = read_file(out, BLOCK_LIST_IMPORTED, names[i]->d_name, path, previous, diag);
        free(names[i]);
    }
    free(names);
    snprintf(path, sizeof(path), "%s/" BLOCK_NETWORKS, folder);
    if (!err && access(path, F_OK) == 0)
        err = read_file(out, BLOCK_LIST_BY_HAND, BLOCK_NETWORKS, path, previous, diag);
    return err;
}

/* --- Countries ---------------------------------------------------------------------------------------- */

static int add_country_network(int version, const struct range *range, const char *country, void *user)
{
    const struct block_entry entry = { .range = *range, .version = (uint8_t)version };
    struct block_lists *lists = user;

    for (size_t i = 0; i < lists->count; i++)
        if (lists->list[i].kind == BLOCK_LIST_COUNTRY && strcmp(lists->list[i].name, country) == 0)
            return block_entries_add(&lists->list[i].entries, &entry);
    return 0;
}

static int read_countries(struct block_lists *out, const struct block_lists_options *options,
                          const struct block_lists *previous, struct diag *diag)
{
    const char *database = options->geoip_database;
    struct geoip *geoip = NULL;
    size_t first = out->count;
    char error[512] = "nft.blocklist.countries needs a database: set geoip-database";
    int err;

    for (const char *const *country = options->countries; *country; country++)
        if (!add_list(out, BLOCK_LIST_COUNTRY, *country))
            return -ENOMEM;
    if (out->count == first)
        return 0;
    err = database ? geoip_open(&geoip, database, error, sizeof(error)) : -EINVAL;
    if (err == -ENOMEM)
        return err;
    if (!err) {
        err = geoip_each_network(geoip, add_country_network, out);
        if (err == -EINVAL)
            snprintf(error, sizeof(error), "the tree of networks is damaged");
    }
    geoip_close(geoip);
    if (err == -EINVAL) {
        diag_error(diag, (struct position){ .file = database ? database : "configuration" }, "%s", error);
        err = 0;
        for (size_t i = first; i < out->count && !err; i++) {
            block_entries_clear(&out->list[i].entries);
            err = keep_previous(&out->list[i], previous);
        }
    }
    for (size_t i = first; i < out->count && !err; i++)
        if (!out->list[i].failed && out->list[i].entries.count == 0)
            diag_warning(diag, (struct position){ .file = database },
                         "the database has no network of the country '%s' (two letters of ISO 3166-1, such as DE)",
                         out->list[i].name);
    return err;
}

/* --- All ---------------------------------------------------------------------------------------------- */

int block_lists_read(struct block_lists *out, const struct block_lists_options *options,
                     const struct block_lists *previous, struct diag *diag)
{
    int err = 0;

    *out = (struct block_lists){ .count = 0 };
    for (const char *const *path = options->files; *path && !err; path++)
        err = read_file(out, BLOCK_LIST_FILE, *path, *path, previous, diag);
    if (!err && options->folder)
        err = read_folder(out, options->folder, previous, diag);
    if (!err)
        err = read_countries(out, options, previous, diag);
    if (err)
        block_lists_clear(out);
    return err;
}

void block_lists_clear(struct block_lists *lists)
{
    for (size_t i = 0; i < lists->count; i++) {
        free(lists->list[i].name);
        block_entries_clear(&lists->list[i].entries);
    }
    free(lists->list);
    *lists = (struct block_lists){ .count = 0 };
}

int block_lists_merge(const struct block_lists *lists, uint64_t now, struct range_list networks[2], uint64_t *next)
{
    *next = 0;
    for (size_t i = 0; i < lists->count; i++)
        for (size_t k = 0; k < lists->list[i].entries.count; k++) {
            const struct block_entry *entry = &lists->list[i].entries.at[k];

            if (entry->until > 0 && entry->until <= now)
                continue;
            if (entry->until > 0 && (*next == 0 || entry->until < *next))
                *next = entry->until;
            if (range_list_add(&networks[entry->version == 6], entry->range.low, entry->range.high))
                return -ENOMEM;
        }
    range_list_normalise(&networks[0]);
    range_list_normalise(&networks[1]);
    return 0;
}
