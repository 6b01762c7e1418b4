/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hash table of datagrams. Half of the memcap is for struct datagram, half for the pages with their bytes.
 *
 * Each state has a list, and a datagram moves to the end of a list when a fragment of it passes or its state changes.
 * All datagrams have the same timeout, so the lists are in the order of expiry. A lookup ignores expired datagrams, so
 * its result does not depend on when defrag_expire() is called.
 *
 * When memory is used up, datagrams are evicted in this order: expired ones, the oldest accepted one, the oldest
 * dropped one, the oldest open one. Inline, dropped and open ones are stored in the filters of evicted.c, so that a
 * flood cannot make a dropped datagram pass.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

#include "defrag_priv.h"

enum { EXPIRE_FOR_ROOM = 8, EVICT_FOR_ROOM = 2 };

int table_new(struct defrag *defrag)
{
    size_t filters = defrag->options.inline_mode ? defrag->options.memcap / 8 : 0;
    size_t half = (defrag->options.memcap - filters) / 2;
    size_t page = sizeof(struct page) + (defrag->options.inline_mode ? 0 : PAGE_UNITS * sizeof(struct owner));
    size_t buckets = 64;

    if (pool_new(&defrag->datagrams, sizeof(struct datagram), half) || pool_new(&defrag->pages, page, half) ||
        (defrag->options.inline_mode && evicted_new(&defrag->evicted, defrag->options.memcap)))
        return -ENOMEM;
    while (buckets < pool_capacity(defrag->datagrams) && buckets < UINT32_MAX / 2)
        buckets *= 2;
    defrag->buckets = calloc(buckets, sizeof(struct datagram *));
    if (!defrag->buckets)
        return -ENOMEM;
    defrag->bucket_mask = (uint32_t)buckets - 1;
    if (getrandom(&defrag->seed, sizeof(defrag->seed), GRND_NONBLOCK) != sizeof(defrag->seed))
        defrag->seed = (uintptr_t)defrag;
    return 0;
}

int defrag_set_memcap(struct defrag *defrag, size_t memcap)
{
    size_t filters = defrag->options.inline_mode ? defrag->options.memcap / 8 : 0; /* they keep their size */
    size_t half = memcap > filters ? (memcap - filters) / 2 : 0;
    int err = half > 0 ? pool_check_memcap(defrag->datagrams, half) : -EBUSY;

    if (!err)
        err = pool_set_memcap(defrag->pages, half);
    return err ? err : pool_set_memcap(defrag->datagrams, half);
}

void table_free(struct defrag *defrag)
{
    pool_free(defrag->datagrams);
    pool_free(defrag->pages);
    free(defrag->buckets);
    evicted_free(&defrag->evicted);
}

/* --- Lists ---------------------------------------------------------------------------------------- */

static void list_remove(struct datagram_list *list, struct datagram *datagram)
{
    *(datagram->older ? &datagram->older->newer : &list->oldest) = datagram->newer;
    *(datagram->newer ? &datagram->newer->older : &list->newest) = datagram->older;
    list->count--;
}

static void list_append(struct datagram_list *list, struct datagram *datagram)
{
    datagram->older = list->newest;
    datagram->newer = NULL;
    *(list->newest ? &list->newest->newer : &list->oldest) = datagram;
    list->newest = datagram;
    list->count++;
}

void table_move(struct defrag *defrag, struct datagram *datagram, enum datagram_state state, uint64_t now_ns)
{
    list_remove(&defrag->lists[datagram->state], datagram);
    datagram->state = (uint8_t)state;
    datagram->seen_ns = now_ns;
    list_append(&defrag->lists[state], datagram);
    if (state == DATAGRAM_DONE && defrag->lists[state].count > REMEMBERED_MAX)
        table_remove(defrag, defrag->lists[state].oldest);
}

/* --- Keys ----------------------------------------------------------------------------------------- */

/* Builds the key. It does not include the tunnel level: otherwise a sender could send some of the fragments through a
 * tunnel, and the datagram would be completed by the receiver but never here. */
static void key_of(const struct defrag *defrag, const struct packet *pkt, struct datagram_key *key)
{
    memset(key, 0, sizeof(*key));
    key->source = pkt->source_address;
    key->destination = pkt->destination_address;
    key->id = pkt->fragment_id;
    key->ip_version = pkt->ip_version;
    key->protocol = pkt->ip_version == 4 ? pkt->protocol : 0;
    if (defrag->options.vlan_tracking)
        memcpy(key->vlan_id, pkt->vlan_id, sizeof(key->vlan_id));
}

static uint64_t hash64_of(const struct defrag *defrag, const struct datagram_key *key)
{
    return XXH3_64bits_withSeed(key, sizeof(*key), defrag->seed);
}

static uint32_t hash_of(const struct defrag *defrag, const struct datagram_key *key)
{
    return (uint32_t)hash64_of(defrag, key);
}

static bool is_expired(const struct defrag *defrag, const struct datagram *datagram, uint64_t now_ns)
{
    return now_ns > datagram->seen_ns && now_ns - datagram->seen_ns >= defrag->timeout_ns;
}

struct datagram *table_find(struct defrag *defrag, const struct packet *pkt)
{
    struct datagram_key key;

    key_of(defrag, pkt, &key);
    uint32_t hash = hash_of(defrag, &key);

    for (struct datagram *d = defrag->buckets[hash & defrag->bucket_mask]; d; d = d->next) {
        if (d->hash != hash || memcmp(&d->key, &key, sizeof(key)) != 0)
            continue;
        if (!is_expired(defrag, d, pkt->time_ns))
            return d;
        defrag->counters[COUNTER_TIMEOUT_LOOKUP]++;
        table_remove(defrag, d);
        return NULL;
    }
    return NULL;
}

void table_remove(struct defrag *defrag, struct datagram *datagram)
{
    struct datagram **link = &defrag->buckets[datagram->hash & defrag->bucket_mask];

    while (*link != datagram)
        link = &(*link)->next;
    *link = datagram->next;
    list_remove(&defrag->lists[datagram->state], datagram);
    for (unsigned i = 0; i < DEFRAG_NESTED; i++) {
        if (defrag->completed[i] == datagram)
            defrag->completed[i] = NULL;
    }
    pages_clear(defrag, datagram);
    pool_release(defrag->datagrams, datagram);
}

static void insert_datagram(struct defrag *defrag, struct datagram *datagram)
{
    struct datagram **bucket = &defrag->buckets[datagram->hash & defrag->bucket_mask];

    datagram->next = *bucket;
    *bucket = datagram;
    list_append(&defrag->lists[datagram->state], datagram);
}

/* --- Memory --------------------------------------------------------------------------------------- */

static size_t expire_list(struct defrag *defrag, struct datagram_list *list, uint64_t now_ns, size_t budget)
{
    size_t count = 0;

    for (; count < budget && list->oldest && is_expired(defrag, list->oldest, now_ns); count++)
        table_remove(defrag, list->oldest);
    return count;
}

size_t defrag_expire(struct defrag *defrag, uint64_t now_ns, size_t budget)
{
    size_t count = 0;

    for (unsigned i = 0; i < DATAGRAM_STATES; i++)
        count += expire_list(defrag, &defrag->lists[i], now_ns, budget - count);
    defrag->counters[COUNTER_TIMEOUT_EXPIRE] += count;
    return count;
}

bool table_was_evicted(struct defrag *defrag, const struct packet *pkt)
{
    struct datagram_key key;

    if (!defrag->options.inline_mode)
        return false;
    key_of(defrag, pkt, &key);
    return evicted_contains(&defrag->evicted, hash64_of(defrag, &key), pkt->time_ns, defrag->timeout_ns);
}

/* Evicts a datagram other than `except`, to free an object of `pool`. To free a page, evicts the oldest open datagram,
 * because dropped ones have no pages. To free a datagram, prefers the oldest dropped one. Returns false if there is
 * none to evict. */
static bool evict_oldest(struct defrag *defrag, const struct pool *pool, const struct datagram *except, uint64_t now_ns)
{
    struct datagram *oldest = pool == defrag->datagrams ? defrag->lists[DATAGRAM_DROPPED].oldest : NULL;

    if (!oldest)
        oldest = defrag->lists[DATAGRAM_OPEN].oldest;
    if (oldest == except)
        oldest = oldest ? oldest->newer : NULL;
    if (!oldest)
        return false;
    if (defrag->options.inline_mode)
        evicted_add(&defrag->evicted, hash64_of(defrag, &oldest->key), now_ns, defrag->timeout_ns);
    defrag->counters[COUNTER_EVICTED]++;
    table_remove(defrag, oldest);
    return true;
}

static void *alloc_object(struct defrag *defrag, struct pool *pool, const struct datagram *for_datagram,
                          uint64_t now_ns)
{
    void *object = pool_alloc(pool);

    if (!object && defrag_expire(defrag, now_ns, EXPIRE_FOR_ROOM) > 0)
        object = pool_alloc(pool);
    if (!object && pool == defrag->datagrams && defrag->lists[DATAGRAM_DONE].oldest) {
        table_remove(defrag, defrag->lists[DATAGRAM_DONE].oldest);
        object = pool_alloc(pool);
    }
    for (unsigned i = 0; i < EVICT_FOR_ROOM && !object && evict_oldest(defrag, pool, for_datagram, now_ns); i++)
        object = pool_alloc(pool);
    return object;
}

struct page *table_page(struct defrag *defrag, const struct datagram *datagram, uint64_t now_ns)
{
    struct page *page = alloc_object(defrag, defrag->pages, datagram, now_ns);

    if (page) {
        memset(page->held, 0, sizeof(page->held));
        memset(page->starts, 0, sizeof(page->starts));
    }
    return page;
}

struct datagram *table_add(struct defrag *defrag, const struct packet *pkt)
{
    struct datagram *datagram = alloc_object(defrag, defrag->datagrams, NULL, pkt->time_ns);

    if (!datagram)
        return NULL;
    memset(datagram, 0, sizeof(*datagram));
    key_of(defrag, pkt, &datagram->key);
    datagram->hash = hash_of(defrag, &datagram->key);
    datagram->seen_ns = pkt->time_ns;
    datagram->end = UINT32_MAX;
    datagram->host_os = (uint8_t)host_os_lookup(&defrag->options.host_os, pkt->ip_version, &pkt->destination_address);
    insert_datagram(defrag, datagram);
    return datagram;
}

struct datagram *table_add_transferred(struct defrag *defrag, const struct datagram *read)
{
    struct datagram *datagram;

    if (read->state == DATAGRAM_DONE && defrag->lists[DATAGRAM_DONE].count >= REMEMBERED_MAX)
        return NULL;
    datagram = pool_alloc(defrag->datagrams);
    if (!datagram)
        return NULL;
    *datagram = *read;
    datagram->hash = hash_of(defrag, &datagram->key);
    datagram->host_os =
        (uint8_t)host_os_lookup(&defrag->options.host_os, datagram->key.ip_version, &datagram->key.destination);
    insert_datagram(defrag, datagram);
    return datagram;
}
