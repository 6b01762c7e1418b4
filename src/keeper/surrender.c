/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When there is no engine any more: engines kept dying, and traffic is treated by engine.failure-policy. Open: our table stops feeding
 * the queues, what waits is accepted, uninspected, and the table goes. Closed: the table stays, and drops once nobody listens.
 * Where others' rules feed the queues it is those that decide (their bypass) as soon as the sockets are closed.
 */
#include "keeper_priv.h"

#include <string.h>
#include <time.h>

#include "sluice/log.h"

enum { ROUNDS = 200, PAUSE_MS = 10, QUIET = 3 };

/* A packet that met the rule on another CPU a moment before it went may still be on its way into the queue. */
static uint64_t accept_all(struct keeper *keeper)
{
    const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };
    uint64_t all = 0;

    for (int round = 0, quiet = 0; round < ROUNDS && quiet < QUIET; round++) {
        uint64_t count = queues_accept(keeper);

        all += count;
        quiet = count > 0 ? 0 : quiet + 1;
        nanosleep(&pause, NULL);
    }
    return all;
}

static void open_up(struct keeper *keeper)
{
    bool attached = keeper->firewall.mode != ATTACH_NONE;
    char cause[FIREWALL_ERROR_SIZE];
    uint64_t count;

    if (attached && firewall_quiesce(keeper->firewall.table, cause))
        log_warning("%s", cause);
    count = attached ? accept_all(keeper) : queues_accept(keeper);
    if (attached && firewall_remove(keeper->firewall.table, cause))
        log_warning("%s", cause);
    log_error(
        "traffic passes uninspected from now on (engine.failure-policy: open); accepted %llu packets that waited%s",
        (unsigned long long)count,
        attached ? "" : "; the queue rules are not those of Sluice: without bypass the kernel drops the packets");
}

static void close_down(struct keeper *keeper)
{
    struct firewall_options options = keeper->firewall;
    char cause[FIREWALL_ERROR_SIZE];

    options.bypass = false;
    options.keep_place = true;
    if (options.mode != ATTACH_NONE && firewall_install(&options, cause))
        log_error("traffic may pass uninspected: %s", cause);
    log_error("traffic is dropped from now on (engine.failure-policy: closed)%s",
              options.mode != ATTACH_NONE
                  ? "; run `sluice nft remove` to let it pass uninspected"
                  : "; the queue rules are not those of Sluice: with bypass packets pass uninspected");
}

void surrender(struct keeper *keeper)
{
    const char *policy = config_string(keeper->config, "engine.failure-policy");
    bool open = strcmp(policy, "auto") == 0 ? keeper->firewall.bypass : strcmp(policy, "open") == 0;

    if (open)
        open_up(keeper);
    else
        close_down(keeper);
}
