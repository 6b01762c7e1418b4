/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "databases.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct database_list {
    struct cache *cache;
    pthread_mutex_t lock; /* protects `first`, and the state and users of the databases */
    pthread_cond_t ended; /* a compilation has ended */
    struct database *first;
};

int database_list_new(struct database_list **out, struct cache *cache)
{
    struct database_list *list = calloc(1, sizeof(*list));

    if (!list)
        return -ENOMEM;
    list->cache = cache;
    pthread_mutex_init(&list->lock, NULL);
    pthread_cond_init(&list->ended, NULL);
    *out = list;
    return 0;
}

void database_list_free(struct database_list *list)
{
    pthread_cond_destroy(&list->ended);
    pthread_mutex_destroy(&list->lock);
    free(list);
}

struct cache *database_list_cache(const struct database_list *list)
{
    return list->cache;
}

struct ruleset_databases database_list_count(const struct database_list *list)
{
    struct ruleset_databases counts = { 0 };

    for (const struct database *database = list->first; database; database = database->next) {
        counts.count++;
        counts.cached += database->cached;
    }
    return counts;
}

static struct database *find_database(const struct database_list *list, const struct cache_key *key)
{
    struct database *database = key ? list->first : NULL;

    while (database && !(database->has_key && memcmp(&database->key, key, sizeof(*key)) == 0))
        database = database->next;
    return database;
}

struct database *database_begin(struct database_list *list, const struct cache_key *key)
{
    struct database *database;

    pthread_mutex_lock(&list->lock);
    while ((database = find_database(list, key))) {
        database->users++;
        while (database->state == DATABASE_COMPILING)
            pthread_cond_wait(&list->ended, &list->lock);
        if (database->state == DATABASE_READY)
            break;
        database->users--; /* the thread whose compilation failed is still a user */
    }
    if (!database) {
        database = calloc(1, sizeof(*database));
        if (database) {
            database->has_key = key != NULL;
            if (key)
                database->key = *key;
            database->users = 1;
            database->next = list->first;
            list->first = database;
        }
    }
    pthread_mutex_unlock(&list->lock);
    return database;
}

void database_end(struct database_list *list, struct database *database, bool succeeded)
{
    struct database **link = &list->first;

    pthread_mutex_lock(&list->lock);
    database->state = succeeded ? DATABASE_READY : DATABASE_FAILED;
    if (!succeeded) {
        while (*link != database)
            link = &(*link)->next;
        *link = database->next;
    }
    pthread_cond_broadcast(&list->ended);
    pthread_mutex_unlock(&list->lock);
}

void database_release(struct database *database)
{
    if (!database || --database->users > 0)
        return;
    hs_free_database(database->compiled);
    free(database);
}
