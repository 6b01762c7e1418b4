/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists, adds and removes hosts in the blocklist sets. A host that is already blocked is deleted and added again in one
 * transaction, because older kernels keep the timeout of an element that is added twice. If the timeout of the old
 * element removes it before the transaction, the transaction fails as a whole and is repeated.
 */
#include "sluice/blocklist.h"

#include "firewall_priv.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <libnftnl/common.h>
#include <stdio.h> /* expr.h of libnftnl needs FILE */

#include <libnftnl/expr.h>
#include <libnftnl/set.h>
#include <linux/netfilter/nf_tables.h>
#include <string.h>

enum { TRIES = 8, VERSIONS = 2 };

static uint32_t key_length(unsigned index)
{
    return index == 0 ? 4 : 16;
}

static unsigned index_of(const struct blocked_host *host)
{
    return host->version == 6;
}

/* --- Sets ------------------------------------------------------------------------------------------- */

/* Finds the families of the sluice tables that have sets of blocked hosts. Returns 0, or -errno with a line in
 * `error`. */
static int find_targets(struct session *session, const char *table, struct set_targets *out,
                        char error[FIREWALL_ERROR_SIZE])
{
    struct survey survey;
    int err = nft_survey_read(&survey, session);

    if (err)
        return nft_explain(error, err, SUBJECT_BATCH, table);
    *out = (struct set_targets){ .table = table };
    for (size_t t = 0; t < survey.table_count && !err; t++) {
        const struct survey_table *found = &survey.tables[t];

        for (unsigned i = 0; i < VERSIONS && !err && found->ours && strcmp(found->name, table) == 0; i++) {
            err = nft_set_find(session, found->family, table, i);
            if (!err && out->count[i] < PLAN_FAMILIES)
                out->families[i][out->count[i]++] = found->family;
            err = err == -ENOENT ? 0 : err;
        }
    }
    nft_survey_clear(&survey);
    if (err)
        return nft_explain(error, err, SUBJECT_BATCH, table);
    if (out->count[0] == 0 && out->count[1] == 0)
        return nft_fail(
            error, -ENOENT,
            "table '%s' does not exist or has no blocklist: set nft.blocklist.enabled: yes and attach again", table);
    return 0;
}

/* --- Elements --------------------------------------------------------------------------------------- */

static int add_element(struct nftnl_set *set, const struct blocked_host *host, bool with_timeout)
{
    struct nftnl_set_elem *element = nftnl_set_elem_alloc();

    if (!element)
        return -ENOMEM;
    nftnl_set_elem_set(element, NFTNL_SET_ELEM_KEY, host->address.bytes, key_length(index_of(host)));
    if (with_timeout && host->timeout_ms > 0)
        nftnl_set_elem_set_u64(element, NFTNL_SET_ELEM_TIMEOUT, host->timeout_ms);
    nftnl_set_elem_add(set, element);
    return 0;
}

static struct nftnl_set *set_new(uint32_t family, const char *table, unsigned index)
{
    struct nftnl_set *set = nftnl_set_alloc();

    if (!set)
        return NULL;
    nftnl_set_set_u32(set, NFTNL_SET_FAMILY, family);
    nftnl_set_set_str(set, NFTNL_SET_TABLE, table);
    nftnl_set_set_str(set, NFTNL_SET_NAME, nft_set_name(index));
    return set;
}

static void read_counter(struct nftnl_expr *expression, struct blocked_host *host)
{
    const char *name = nftnl_expr_get_str(expression, NFTNL_EXPR_NAME);

    if (!name || strcmp(name, "counter") != 0)
        return;
    host->packets = nftnl_expr_get_u64(expression, NFTNL_EXPR_CTR_PACKETS);
    host->bytes = nftnl_expr_get_u64(expression, NFTNL_EXPR_CTR_BYTES);
}

static int add_counter(struct nftnl_expr *expression, void *user)
{
    read_counter(expression, user);
    return 0;
}

struct element_reader {
    unsigned index;
    blocklist_each_function *each;
    void *user;
};

static int read_element(struct nftnl_set_elem *element, void *user)
{
    const struct element_reader *element_reader = user;
    struct blocked_host host = { .version = element_reader->index == 0 ? 4 : 6 };
    uint32_t length = 0;
    const void *key = nftnl_set_elem_get(element, NFTNL_SET_ELEM_KEY, &length);

    if (!key || length != key_length(element_reader->index))
        return 0;
    memcpy(host.address.bytes, key, length);
    if (nftnl_set_elem_is_set(element, NFTNL_SET_ELEM_TIMEOUT))
        host.timeout_ms = nftnl_set_elem_get_u64(element, NFTNL_SET_ELEM_TIMEOUT);
    if (nftnl_set_elem_is_set(element, NFTNL_SET_ELEM_EXPIRATION))
        host.expires_ms = nftnl_set_elem_get_u64(element, NFTNL_SET_ELEM_EXPIRATION);
    nftnl_set_elem_expr_foreach(element, add_counter, &host);
    return element_reader->each(&host, element_reader->user);
}

static int read_elements(const struct nlmsghdr *message, void *user)
{
    struct nftnl_set *set = nftnl_set_alloc();
    int err = 0;

    if (!set)
        return -ENOMEM;
    if (nftnl_set_elems_nlmsg_parse(message, set) == 0)
        err = nftnl_set_elem_foreach(set, read_element, user);
    nftnl_set_free(set);
    return err;
}

int nft_hosts_each(struct session *session, const struct set_targets *targets, blocklist_each_function *each,
                   void *user)
{
    int err = 0;

    /* If several tables have a set for an IP version, their sets contain the same hosts: list only the first. */
    for (unsigned i = 0; i < VERSIONS && !err; i++) {
        struct element_reader element_reader = { i, each, user };
        const struct session_query query = {
            .type = NFT_MSG_GETSETELEM,
            .family = (uint16_t)targets->families[i][0],
            .dump = true,
            .table = targets->table,
            .name_attribute = NFTA_SET_ELEM_LIST_SET,
            .name = nft_set_name(i),
        };

        if (targets->count[i] > 0)
            err = nft_session_query(session, &query, read_elements, &element_reader);
    }
    return err;
}

/* --- One host --------------------------------------------------------------------------------------- */

static int copy_host(const struct blocked_host *host, void *user)
{
    *(struct blocked_host *)user = *host;
    return 0;
}

int nft_host_find(struct session *session, uint32_t family, const char *table, const struct blocked_host *host,
                  struct blocked_host *found)
{
    struct nftnl_set *set = set_new(family, table, index_of(host));
    struct element_reader element_reader = { index_of(host), copy_host, found };
    int err = set ? add_element(set, host, false) : -ENOMEM;

    if (!err)
        err = nft_session_query_elements(session, (uint16_t)family, set, read_elements, &element_reader);
    nftnl_set_free(set);
    return err;
}

/* --- Changes ---------------------------------------------------------------------------------------- */

enum group_change {
    GROUP_ADD,
    GROUP_ADD_NEW, /* the hosts are known not to be in the set */
    GROUP_REMOVE,
};

/* Adds a message of `type` with the hosts of one IP version whose wanted[i] is true; if `wanted` is NULL, with all
 * hosts of that version. Adds no message if there are none. Returns 0 or -errno. */
static int put_hosts(struct batch *batch, uint16_t type, uint32_t family, const char *table, unsigned index,
                     const struct blocked_host *hosts, const bool *wanted, size_t count)
{
    struct nftnl_set *set = set_new(family, table, index);
    struct nlmsghdr *message;
    size_t put = 0;
    int err = set ? 0 : -ENOMEM;

    for (size_t i = 0; i < count && !err; i++) {
        if (index_of(&hosts[i]) != index || (wanted && !wanted[i]))
            continue;
        err = add_element(set, &hosts[i], type == NFT_MSG_NEWSETELEM);
        put++;
    }
    if (!err && put > 0) {
        message = nft_batch_open(batch, SUBJECT_ELEMENT, type, (uint16_t)family,
                                 type == NFT_MSG_NEWSETELEM ? NLM_F_CREATE : 0);
        nftnl_set_elems_nlmsg_build_payload(message, set);
        nft_batch_close(batch, message);
    }
    nftnl_set_free(set);
    return err;
}

/* Sets present[i] to true if hosts[i] is in the set `index` (0: IPv4, 1: IPv6) of the table, otherwise to false.
 * Returns 0 or -errno. */
static int find_present(struct session *session, uint32_t family, const char *table, unsigned index,
                        const struct blocked_host *hosts, size_t count, bool present[BLOCKLIST_GROUP])
{
    struct blocked_host ignored;

    for (size_t i = 0; i < count; i++) {
        int err = index_of(&hosts[i]) == index ? nft_host_find(session, family, table, &hosts[i], &ignored) : -ENOENT;

        if (err && err != -ENOENT)
            return err;
        present[i] = !err;
    }
    return 0;
}

static int put_group(struct session *session, struct batch *batch, const struct set_targets *targets,
                     const struct blocked_host *hosts, size_t count, enum group_change change, size_t *present_count)
{
    bool present[BLOCKLIST_GROUP] = { false };
    int err = 0;

    *present_count = 0;
    for (unsigned i = 0; i < VERSIONS; i++) {
        for (unsigned t = 0; t < targets->count[i] && !err; t++) {
            uint32_t family = targets->families[i][t];

            if (change != GROUP_ADD_NEW)
                err = find_present(session, family, targets->table, i, hosts, count, present);
            for (size_t k = 0; k < count && t == 0 && !err; k++)
                *present_count += present[k];
            if (!err)
                err = put_hosts(batch, NFT_MSG_DELSETELEM, family, targets->table, i, hosts, present, count);
            if (!err && change != GROUP_REMOVE)
                err = put_hosts(batch, NFT_MSG_NEWSETELEM, family, targets->table, i, hosts, NULL, count);
        }
    }
    return err;
}

/* Changes at most BLOCKLIST_GROUP hosts in one transaction. *present: how many of them were blocked before. Returns 0
 * or -errno. */
static int change_group(struct session *session, const struct set_targets *targets, const struct blocked_host *hosts,
                        size_t count, enum group_change change, size_t *present, enum subject *subject)
{
    int err = -ENOENT;

    for (int try = 0; try < TRIES && err == -ENOENT; try++) {
        struct batch *batch = nft_batch_new(session, 0);

        *subject = SUBJECT_BATCH;
        err = batch ? put_group(session, batch, targets, hosts, count, change, present) : -ENOMEM;
        if (!err)
            err = nft_batch_send(session, batch, true, subject);
        nft_batch_free(batch);
    }
    return err;
}

/* Changes the hosts, in several transactions. *done: number of leading hosts whose transactions succeeded. *removed is
 * increased by the number of hosts that were blocked before. Returns 0 or -errno. */
static int change_hosts(struct session *session, const struct set_targets *targets, const struct blocked_host *hosts,
                        size_t count, enum group_change change, size_t *done, size_t *removed, enum subject *subject)
{
    int err = 0;

    for (*done = 0; *done < count && !err;) {
        size_t group = count - *done < BLOCKLIST_GROUP ? count - *done : BLOCKLIST_GROUP, present = 0;

        err = change_group(session, targets, hosts + *done, group, change, &present, subject);
        *removed += err ? 0 : present;
        *done += err ? 0 : group;
    }
    return err;
}

int nft_hosts_add(struct session *session, const struct set_targets *targets, const struct blocked_host *hosts,
                  size_t count, bool may_be_there, enum subject *subject)
{
    size_t done, replaced = 0;

    return change_hosts(session, targets, hosts, count, may_be_there ? GROUP_ADD : GROUP_ADD_NEW, &done, &replaced,
                        subject);
}

/* --- Command line ----------------------------------------------------------------------------------- */

static int open_session(struct session *session, const char *table, struct set_targets *targets,
                        char error[FIREWALL_ERROR_SIZE])
{
    int err = nft_session_open(session, error);

    if (err)
        return err;
    err = find_targets(session, table, targets, error);
    if (err)
        nft_session_close(session);
    return err;
}

int blocklist_each(const char *table, blocklist_each_function *each, void *user, char error[FIREWALL_ERROR_SIZE])
{
    struct set_targets targets;
    struct session session;
    int err = open_session(&session, table, &targets, error);

    if (err)
        return err;
    err = nft_hosts_each(&session, &targets, each, user);
    if (err)
        nft_explain(error, err, SUBJECT_BATCH, table);
    nft_session_close(&session);
    return err;
}

/* Checks that there is a set for the IP version of each host: a table for one IP version has no set for the other
 * version. Returns 0, or -errno with a line in `error`. */
static int check_versions(const struct set_targets *targets, const struct blocked_host *hosts, size_t count,
                          char error[FIREWALL_ERROR_SIZE])
{
    for (size_t i = 0; i < count; i++)
        if (targets->count[index_of(&hosts[i])] == 0)
            return nft_fail(error, -EAFNOSUPPORT, "table '%s' has no set for IPv%u (nft.family); nothing was changed",
                            targets->table, (unsigned)hosts[i].version);
    return 0;
}

static int change(const char *table, const struct blocked_host *hosts, size_t count, enum group_change what,
                  size_t *removed, char error[FIREWALL_ERROR_SIZE])
{
    enum subject subject = SUBJECT_BATCH;
    struct set_targets targets;
    struct session session;
    size_t done;
    int err = open_session(&session, table, &targets, error);

    if (err)
        return err;
    err = check_versions(&targets, hosts, count, error);
    if (!err) {
        err = change_hosts(&session, &targets, hosts, count, what, &done, removed, &subject);
        if (err)
            nft_explain(error, err, subject, table);
        /* The error says that nothing was changed, which is true of one transaction only. */
        if (err && done > 0) {
            char *end = strstr(error, "; nothing was changed");

            if (end)
                *end = '\0';
            snprintf(error + strlen(error), FIREWALL_ERROR_SIZE - strlen(error),
                     "; the first %zu of %zu hosts were %s, the others were not", done, count,
                     what == GROUP_REMOVE ? "removed" : "added");
        }
    }
    nft_session_close(&session);
    return err;
}

int blocklist_add(const char *table, const struct blocked_host *hosts, size_t count, char error[FIREWALL_ERROR_SIZE])
{
    size_t replaced = 0;

    return change(table, hosts, count, GROUP_ADD, &replaced, error);
}

int blocklist_remove(const char *table, const struct blocked_host *hosts, size_t count, size_t *removed,
                     char error[FIREWALL_ERROR_SIZE])
{
    *removed = 0;
    return change(table, hosts, count, GROUP_REMOVE, removed, error);
}

/* Adds messages that empty the sets: without elements, a deletion applies to all elements. */
static int put_flush(struct batch *batch, const struct set_targets *targets)
{
    for (unsigned i = 0; i < VERSIONS; i++)
        for (unsigned t = 0; t < targets->count[i]; t++) {
            uint32_t family = targets->families[i][t];
            struct nlmsghdr *message = nft_batch_open(batch, SUBJECT_ELEMENT, NFT_MSG_DELSETELEM, (uint16_t)family, 0);

            mnl_attr_put_strz(message, NFTA_SET_ELEM_LIST_TABLE, targets->table);
            mnl_attr_put_strz(message, NFTA_SET_ELEM_LIST_SET, nft_set_name(i));
            nft_batch_close(batch, message);
        }
    return 0;
}

int blocklist_flush(const char *table, char error[FIREWALL_ERROR_SIZE])
{
    enum subject subject = SUBJECT_BATCH;
    struct set_targets targets;
    struct session session;
    struct batch *batch;
    int err = open_session(&session, table, &targets, error);

    if (err)
        return err;
    batch = nft_batch_new(&session, 0);
    err = batch ? put_flush(batch, &targets) : -ENOMEM;
    if (!err)
        err = nft_batch_send(&session, batch, true, &subject);
    if (err)
        nft_explain(error, err, subject, table);
    nft_batch_free(batch);
    nft_session_close(&session);
    return err;
}
