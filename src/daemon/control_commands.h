/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The service that answers commands on the control socket (control_commands.c). */
#ifndef SLUICE_ENGINE_SERVICE_H
#define SLUICE_ENGINE_SERVICE_H

#include "sluice/worker.h"
#include "mode.h"
#include "reload.h"
#include "rule_cost.h"

struct service;

struct service_options {
    const struct config *config; /* lent for good, as all that follows */
    struct worker *workers;
    struct worker *const *worker_list;
    unsigned worker_count;
    struct ruleset *const *ruleset; /* the current one */
    const struct rule_names *names;
    struct stats *stats;
    struct output *output;
    const struct reload *reload;
    const struct confinement *confinement;
    const struct queue_monitor *monitor;
    uint64_t started_ns; /* monotonic */
    const struct engine_memory *memory;
    struct mode_control *mode;
    int channel;    /* to the supervisor */
    int control_fd; /* the control socket, which the service then owns; -1: none */
    void (*begin_reload)(void *user);
    void *user;
};

/* 0 or -errno with `error`. */
int service_new(struct service **out, const struct service_options *options, char error[ENGINE_ERROR_SIZE]);
void service_free(struct service *service); /* NULL is allowed */

/* Waits up to `timeout_ms` for a signal that the supervisor forwards, and serves clients while it waits. Returns the
 * number of the signal, 0 if there was none, -EPIPE when the supervisor has died, SERVICE_HAND_OVER when the next
 * engine requests the state. */
enum { SERVICE_HAND_OVER = -1000 };
int service_wait(struct service *service, int timeout_ms);

/* Tells the client that requested an upgrade that the next engine replaces this one. */
void service_tell_hand_over(struct service *service);

/* Tells the clients that wait for a reload its result. */
void service_tell_reload(struct service *service, const struct reload_result *result);

/* --- control_status.c ----------------------------------------------------------------------------- */

/* Writes the status as a JSON object, by the last snapshots. `answering`: all workers have answered. */
void control_status_json(struct text *out, const struct service_options *options, uint64_t uptime, bool answering);
/* Writes the state and the counters of a worker's queue as a JSON object. */
void control_queue_json(struct text *out, struct stats *stats, const struct worker *worker);

/* --- explain.c ------------------------------------------------------------------------------------ */

/* Writes a flow of `worker` as a JSON object; `rules` has the messages of the rules. */
void explain_flow(struct text *out, const struct flow_copy *flow, const struct rule_list *rules, unsigned worker,
                  bool all);
/* Writes the most expensive rules as a JSON array. */
enum { EXPLAIN_COSTS = 50 };
void explain_costs(struct text *out, const struct rule_list *rules, const struct worker *workers, unsigned count);
/* Writes a rule as a JSON object: its text and what changed it if it is loaded, otherwise the reason why not. */
void explain_rule(struct text *out, const struct rule_list *rules, const struct rule_ids *ids,
                  const struct worker *workers, unsigned count);

#endif
