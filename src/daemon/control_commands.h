/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the running engine answers on its control socket: see service.c. */
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
    struct ruleset *const *ruleset; /* the one in use */
    const struct rule_names *names;
    struct stats *stats;
    struct output *output;
    const struct reload *reload;
    const struct confinement *confinement;
    const struct queue_monitor *monitor;
    uint64_t started_ns; /* monotonic */
    const struct engine_memory *memory;
    struct mode_control *mode;
    int channel;    /* of the keeper */
    int control_fd; /* the control socket, the service's from now on; -1: none */
    void (*begin_reload)(void *user);
    void *user;
};

/* 0 or -errno with a line in `error`. */
int service_new(struct service **out, const struct service_options *options, char error[ENGINE_ERROR_SIZE]);
void service_free(struct service *service); /* NULL is allowed */

/* Waits for a signal that the keeper passes on, at most so long, and serves clients meanwhile. Its number; 0 when there
 * was none, -EPIPE when the keeper has died, SERVICE_HAND_OVER when the next engine is to take over. */
enum { SERVICE_HAND_OVER = -1000 };
int service_wait(struct service *service, int timeout_ms);

/* The next engine takes over: who asked for it is told. */
void service_tell_hand_over(struct service *service);

/* A reload has ended: who waits for it is told. */
void service_tell_reload(struct service *service, const struct reload_result *result);

/* --- control_status.c ----------------------------------------------------------------------------- */

/* Writes the status as a JSON object, by the last snapshots. `answering`: all workers have answered. */
void control_status_json(struct text *out, const struct service_options *options, uint64_t uptime, bool answering);
/* Writes the state and the counters of a worker's queue as a JSON object. */
void control_queue_json(struct text *out, struct stats *stats, const struct worker *worker);

/* --- explain.c ------------------------------------------------------------------------------------ */

/* What is known of a flow, as a JSON object. `rules` names the rules; `worker` has it. */
void explain_flow(struct text *out, const struct flow_copy *flow, const struct rule_list *rules, unsigned worker,
                  bool all);
/* The rules that have cost most, as a JSON array. */
enum { EXPLAIN_COSTS = 50 };
void explain_costs(struct text *out, const struct rule_list *rules, const struct worker *workers, unsigned count);
/* A rule as a JSON object: its text and what changed it when it is loaded, otherwise why it is not. */
void explain_rule(struct text *out, const struct rule_list *rules, const struct rule_ids *ids,
                  const struct worker *workers, unsigned count);

#endif
