/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The compiled databases of a ruleset. Matchers with the same patterns share a database: rules for a buffer that
 * several protocols have (HTTP/1 and HTTP/2, for example) are compiled once.
 *
 * Threads:   database_begin() and database_end() may be called by several threads; the other functions by one.
 * Ownership: a database is freed with its last user, which may live longer than the list.
 */
#ifndef SLUICE_DETECT_DATABASES_H
#define SLUICE_DETECT_DATABASES_H

#include <hs.h>
#include <stdbool.h>

#include "cache.h"
#include "sluice/detect.h"

struct database {
    struct cache_key key;
    bool has_key; /* false: the key is unknown, and the database is not shared */
    bool cached;  /* it was read from the cache */
    enum { DATABASE_COMPILING, DATABASE_READY, DATABASE_FAILED } state;
    unsigned users;
    hs_database_t *compiled;
    struct database *next; /* in the list */
};

struct database_list;

/* `cache` may be NULL; the caller closes it after the list. Returns 0 or -ENOMEM. */
int database_list_new(struct database_list **out, struct cache *cache);
void database_list_free(struct database_list *list);
struct cache *database_list_cache(const struct database_list *list);
struct ruleset_databases database_list_count(const struct database_list *list);

/* Returns the database of a key (NULL: of an unknown key) with one more user, or NULL without memory. If its state is
 * DATABASE_COMPILING, the caller compiles it and calls database_end(). While another thread compiles it, the call
 * waits. */
struct database *database_begin(struct database_list *list, const struct cache_key *key);
/* Ends the compilation. A database that failed is not given to other callers. */
void database_end(struct database_list *list, struct database *database, bool succeeded);
/* Removes a user; NULL is allowed. */
void database_release(struct database *database);

#endif
