/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A netlink session with nf_tables: dumps and transactions.
 */
#ifndef SLUICE_FIREWALL_SESSION_H
#define SLUICE_FIREWALL_SESSION_H

#include "sluice/blocklist.h"
#include "sluice/firewall.h"
#include "sluice/firewall_watch.h"

/* --- Netlink session (netlink.c) -------------------------------------------------------------------- */

enum { BATCH_SIZE = 128 * 1024, BATCH_MESSAGES = 512 };

struct mnl_socket;
struct nlmsghdr;

struct session {
    struct mnl_socket *socket;
    uint32_t sequence;
};

int nft_session_open(struct session *session, char error[FIREWALL_ERROR_SIZE]);
void nft_session_close(struct session *session);

/* Requests a dump, or one object with `dump` false, and calls `each` for every answer. Returns 0 or -errno; -EINTR when
 * the ruleset changed in between. */
int nft_session_get(struct session *session, uint16_t type, uint16_t family, bool dump,
                    int (*each)(const struct nlmsghdr *message, void *user), void *user);

/* The same within one table, or for one object of it: the attributes of the request. NULL names are omitted. */
struct session_query {
    uint16_t type, family;
    bool dump;
    const char *table; /* attribute 1 of every kind of object */
    uint16_t name_attribute;
    const char *name;
};
int nft_session_query(struct session *session, const struct session_query *query,
                      int (*each)(const struct nlmsghdr *message, void *user), void *user);
/* Requests the elements that are in `set`. */
struct nftnl_set;
int nft_session_query_elements(struct session *session, uint16_t family, const struct nftnl_set *set,
                               int (*each)(const struct nlmsghdr *message, void *user), void *user);

/* Returns the kernel's generation counter, which every change of the ruleset increments. */
int nft_session_generation(struct session *session, uint32_t *out);

/* The kind of object a message of a batch refers to, for error messages. */
enum subject {
    SUBJECT_BATCH,
    SUBJECT_TABLE,
    SUBJECT_CHAIN,
    SUBJECT_RULE,
    SUBJECT_QUEUE,
    SUBJECT_SET,
    SUBJECT_ELEMENT,
    SUBJECT_COUNTER,
    SUBJECT_FLOWTABLE
};

struct batch {
    uint32_t first; /* sequence number of the first message */
    unsigned count;
    size_t length;
    uint8_t subjects[BATCH_MESSAGES];
    char bytes[BATCH_SIZE];
};

/* Begins a transaction that fails with -ERESTART unless the ruleset still has `generation` (0: any). */
struct batch *nft_batch_new(struct session *session, uint32_t generation);
void nft_batch_free(struct batch *batch);
/* A batch always has room for one more message: a plan is small and bounded (asserted). */
struct nlmsghdr *nft_batch_open(struct batch *batch, enum subject subject, uint16_t type, uint16_t family,
                                uint16_t flags);
void nft_batch_close(struct batch *batch, const struct nlmsghdr *message);

/* Sends the batch; with `commit` false the kernel only validates it. Returns 0, or -errno of the first message that
 * failed with its kind in *subject. */
int nft_batch_send(struct session *session, struct batch *batch, bool commit, enum subject *subject);

#endif
