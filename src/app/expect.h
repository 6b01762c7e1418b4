/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Expected flows: data connections that an FTP control connection announces. The two connections may be assigned to
 * different workers, so all workers share the list. The list is short, and while it is empty a new flow only reads a
 * counter.
 *
 * When the list is full, the oldest entry is replaced. A client that already has EXPECTED_FLOWS_OF_CLIENT entries
 * replaces its own oldest one, so a client that announces many connections does not remove those of others. A later
 * announcement of the same connection replaces the earlier one.
 *
 * Threads:   may be called by any worker; the list is locked.
 * Ownership: the list owns copies of the tags.
 */
#ifndef SLUICE_APP_EXPECT_H
#define SLUICE_APP_EXPECT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sluice/app.h"

enum {
    EXPECTED_FLOWS_MAX = 512, /* expected flows of all workers */
    EXPECTED_FLOWS_OF_CLIENT = 32,
    EXPECTATION_SECONDS = 30, /* lifetime of an entry */
};

struct expected_flow {
    struct app_expectation what;
    uint64_t until_ns; /* the entry expires at this time */
    void *tag;         /* owned, NULL for none; allocated with malloc(), because it moves from one worker to another */
    uint32_t tag_length;
    uint8_t proto; /* id of the protocol; 0: the entry is free */
};

struct expected_flows {
    pthread_mutex_t lock;
    atomic_uint count; /* used entries of `list`; read without the lock, because it is 0 most of the time */
    struct expected_flow list[EXPECTED_FLOWS_MAX];
};

void expected_flows_init(struct expected_flows *expected);
void expected_flows_clear(struct expected_flows *expected);

/* Adds a flow that is expected from now on, with a copy of the tag. Returns false if the protocol is unknown, the
 * tag is too long, or memory is exhausted. */
bool app_shared_expect(struct app_shared *shared, const struct app_expectation *what, const void *tag,
                       uint32_t tag_length, uint64_t now_ns);
/* Finds the expectation that the flow fulfils, moves its tag to `af` and removes the expectation. Returns the id of the
 * expected protocol; 0 if no expectation matches the flow or the protocol is disabled. */
unsigned app_consume_expectation(struct app *app, struct app_flow *af, uint64_t now_ns);

#endif
