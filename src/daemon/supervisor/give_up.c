/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Applies the failure policies (engine.crash-policy and the others) when engines keep dying and no further one is
 * started. Open: the sluice table stops sending packets to the queues, waiting packets are accepted without inspection,
 * and the table is removed. Closed: the table stays, without bypass, and drops packets when the sockets are closed.
 * Until then packets wait in the queues, so with closed no packet passes uninspected at any time.
 *
 * If rules of another owner send packets to the queues, their bypass flag decides what happens to the packets after the
 * sockets are closed.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sluice/config.h"
#include "sluice/daemon.h"
#include "sluice/firewall.h"
#include "sluice/log.h"

#include "supervisor_priv.h"

enum { ROUNDS = 200, PAUSE_MS = 10, QUIET = 3, NAMES_SIZE = 128 };

static void let_traffic_pass(struct supervisor *supervisor, const char *settings)
{
    const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };
    bool attached = supervisor->firewall.mode != ATTACH_NONE;
    char cause[FIREWALL_ERROR_SIZE];
    uint64_t count = 0;

    if (attached && firewall_quiesce(supervisor->firewall.table, cause))
        log_warning("%s", cause);
    if (!attached)
        count = queues_accept(supervisor);
    /* Accept waiting packets until none has arrived for QUIET rounds: a packet that matched the queue rule on another
     * CPU just before the rule was removed may still be about to enter the queue. */
    for (int round = 0, quiet = 0; attached && round < ROUNDS && quiet < QUIET; round++) {
        uint64_t accepted = queues_accept(supervisor);

        count += accepted;
        quiet = accepted > 0 ? 0 : quiet + 1;
        nanosleep(&pause, NULL);
    }
    if (attached && firewall_remove(supervisor->firewall.table, cause))
        log_warning("%s", cause);
    log_error("traffic passes uninspected from now on (%s: open); accepted %llu packets that waited%s", settings,
              (unsigned long long)count,
              attached
                  ? "; start sluice again to inspect traffic again"
                  : "; the queue rules were not installed by this daemon: if they lack the flag bypass, the kernel "
                    "drops the packets");
}

static void drop_traffic(struct supervisor *supervisor, const char *settings)
{
    struct firewall_options options = supervisor->firewall;
    char cause[FIREWALL_ERROR_SIZE];

    options.bypass = false;
    options.keep_place = true;
    queues_disable_fail_open(supervisor);
    if (options.mode != ATTACH_NONE && firewall_install(&options, cause)) {
        log_error("%s: closed, but the sluice table cannot be changed to drop traffic without listener, which may pass "
                  "uninspected: %s; start sluice again, or change the firewall rules by hand",
                  settings, cause);
        return;
    }
    log_error("traffic is dropped from now on (%s: closed)%s", settings,
              options.mode != ATTACH_NONE
                  ? "; start sluice again to inspect it, or run `sluice nft remove` to let it pass uninspected"
                  : "; the queue rules were not installed by this daemon: if they have the flag bypass, packets pass "
                    "uninspected");
}

bool give_up_opens(const struct supervisor *supervisor, unsigned causes)
{
    for (unsigned i = 0; i < ENGINE_FAILURES; i++) {
        if (causes & 1U << i &&
            !engine_failure_opens(supervisor->config, (enum engine_failure)i, supervisor->firewall.bypass))
            return false;
    }
    return true;
}

bool give_up_apply_policy(struct supervisor *supervisor)
{
    bool open = give_up_opens(supervisor, supervisor->causes);
    /* The settings that decide, for example "engine.crash-policy and engine.hang-policy". */
    char settings[NAMES_SIZE] = "";
    size_t length = 0;

    for (unsigned i = 0; i < ENGINE_FAILURES; i++) {
        if (supervisor->causes & 1U << i && give_up_opens(supervisor, 1U << i) == open && length < NAMES_SIZE)
            length += (size_t)snprintf(settings + length, NAMES_SIZE - length, "%s%s", length > 0 ? " and " : "",
                                       engine_failure_setting((enum engine_failure)i));
    }
    if (open)
        let_traffic_pass(supervisor, settings);
    else
        drop_traffic(supervisor, settings);
    return open;
}

/* Applies the policy for a failed start. Does not touch the table if another process has bound the queues: it may be
 * another daemon, to which the table belongs. */
void give_up_at_start(struct supervisor *supervisor)
{
    const char *setting = engine_failure_setting(ENGINE_FAILURE_START);

    if (supervisor->settings.failure_policies[ENGINE_FAILURE_START] == FAILURE_POLICY_CLOSED &&
        !supervisor->queue_is_taken)
        drop_traffic(supervisor, setting);
}
