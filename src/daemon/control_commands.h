/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The service that answers commands on the control socket (control_commands.c). */
#ifndef SLUICE_ENGINE_SERVICE_H
#define SLUICE_ENGINE_SERVICE_H

#include "sluice/worker.h"
#include "attachment.h"
#include "mode.h"
#include "reload.h"
#include "rule_cost.h"

struct service;

struct service_options {
    const struct config *config; /* this and all following pointers must outlive the service */
    struct worker *workers;
    struct worker *const *worker_list;
    unsigned worker_count;
    struct ruleset *const *ruleset; /* points to the pointer to the ruleset in use */
    const struct rule_names *names;
    struct stats *stats;
    struct output *output;
    const struct reload *reload;
    const struct confinement *confinement;
    const struct queue_monitor *monitor;
    uint64_t started_ns; /* start of the engine (clock_monotonic_ns()) */
    const struct engine_memory *memory;
    struct attachment *attachment; /* NULL: none */
    struct mode_control *mode;
    int channel;    /* the socket to the supervisor */
    int control_fd; /* the control socket, which the service then owns; -1: none */
    void (*begin_reload)(void *user);
    void *user;
};

/* Allocates the service and opens its server on options->control_fd. Returns 0, or -errno with a line in `error`. */
int service_new(struct service **out, const struct service_options *options, char error[ENGINE_ERROR_SIZE]);
void service_free(struct service *service); /* NULL is allowed */

/* Waits up to `timeout_ms` for a signal that the supervisor forwards, and serves clients while it waits. Returns the
 * number of the signal, 0 if there was none, -EPIPE when the supervisor has died, SERVICE_HAND_OVER when the next
 * engine requests the state. */
enum { SERVICE_HAND_OVER = -1000 };
int service_wait(struct service *service, int timeout_ms);

/* Answers the client that requested an upgrade: the next engine replaces this one. */
void service_tell_hand_over(struct service *service);

/* Sends the result of a reload to the clients that wait for it. */
void service_tell_reload(struct service *service, const struct reload_result *result);

/* --- control_status.c ----------------------------------------------------------------------------- */

/* Writes the status as a JSON object, from the last snapshots of the workers. `answering`: all workers have
 * answered. */
void control_status_json(struct text *out, const struct service_options *options, uint64_t uptime, bool answering);
/* Writes the state and the counters of a worker's queue as a JSON object. */
void control_queue_json(struct text *out, struct stats *stats, const struct worker *worker);

/* --- explain.c ------------------------------------------------------------------------------------ */

/* Writes a flow of `worker` as a JSON object; `rules` provides the messages of rules. `all`: also writes the rules that
 * matched in the flow. */
void explain_flow(struct text *out, const struct flow_copy *flow, const struct rule_list *rules, unsigned worker,
                  bool all);
/* Writes the EXPLAIN_COSTS most expensive rules as a JSON array. */
enum { EXPLAIN_COSTS = 50 };
void explain_costs(struct text *out, const struct rule_list *rules, const struct worker *workers, unsigned count);
/* Writes a rule as a JSON object: if it is loaded, its text and the settings that changed it, otherwise why it is not
 * loaded. */
void explain_rule(struct text *out, const struct rule_list *rules, const struct rule_ids *ids,
                  const struct worker *workers, unsigned count);

#endif
