/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A netlink session with nf_tables, for requests (dumps) and transactions (batches).
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

/* Sends the request `type` (NFT_MSG_GET*), with `dump` for all objects of that kind, and calls `each` for every answer.
 * Returns 0 or -errno; -EINTR when the ruleset changed during the dump. */
int nft_session_get(struct session *session, uint16_t type, uint16_t family, bool dump,
                    int (*each)(const struct nlmsghdr *message, void *user), void *user);

/* A request for all objects of one table, or for one object by name. `table` or `name` NULL: not part of the request.
 */
struct session_query {
    uint16_t type, family;
    bool dump;
    const char *table; /* sent as attribute 1, which is the table for every kind of object */
    uint16_t name_attribute;
    const char *name;
};
int nft_session_query(struct session *session, const struct session_query *query,
                      int (*each)(const struct nlmsghdr *message, void *user), void *user);
/* Requests those elements of the kernel's set whose keys are in `set`, and calls `each` for every answer. Returns 0,
 * -ENOENT if the kernel has no such element, or another -errno. */
struct nftnl_set;
int nft_session_query_elements(struct session *session, uint16_t family, const struct nftnl_set *set,
                               int (*each)(const struct nlmsghdr *message, void *user), void *user);

/* Reads the kernel's generation counter, which every change of the ruleset increments. Returns 0 or -errno. */
int nft_session_generation(struct session *session, uint32_t *out);

/* The kind of object that a message of a batch creates, changes or deletes; for error texts. */
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
    size_t length, size;
    uint8_t subjects[BATCH_MESSAGES];
    char bytes[]; /* `size` bytes, of which `length` are used */
};

/* Allocates a transaction; returns NULL when out of memory. The kernel rejects it with -ERESTART if the ruleset does
 * not have `generation` any more; 0: accepted in any generation. */
struct batch *nft_batch_new(struct session *session, uint32_t generation);
/* Allocates a transaction that has room for `more` bytes in addition to the room that nft_batch_new() allocates. */
struct batch *nft_batch_new_larger(struct session *session, size_t more);
void nft_batch_free(struct batch *batch);
/* Begins a message of the batch. There is always room, because a plan is small and bounded (asserted), and the caller
 * of nft_batch_new_larger() has requested enough room. */
struct nlmsghdr *nft_batch_open(struct batch *batch, enum subject subject, uint16_t type, uint16_t family,
                                uint16_t flags);
void nft_batch_close(struct batch *batch, const struct nlmsghdr *message);

/* Sends the batch; with `commit` false, the kernel only validates it. Returns 0, or -errno of the first message that
 * failed, with the kind of its object in *subject. */
int nft_batch_send(struct session *session, struct batch *batch, bool commit, enum subject *subject);

#endif
