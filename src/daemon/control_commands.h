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
    const struct app_shared *apps;
    struct memcap_state *memcaps; /* PIPELINE_MEMCAPS */
    const struct rule_names *names;
    struct stats *stats;
    struct output *output;
    const struct reload *reload;
    const struct confinement *confinement;
    const struct queue_monitor *monitor;
    const struct sensor *sensor; /* NULL: packets come from queues */
    uint64_t started_ns;         /* start of the engine (clock_monotonic_ns()) */
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

/* --- control_live.c ------------------------------------------------------------------------------- */

enum { LIVE_MAX_RULES = 50, LIVE_MAX_TALKERS = 50 };

/* Arguments of the command `top`; 0: the answer omits the part. */
struct live_request {
    unsigned rules, talkers; /* `rules`: number of rules in each ranking; `talkers`: of hosts, and of flows */
    unsigned alerts;         /* number of alerts */
    uint64_t after;          /* only alerts with a higher number */
};
/* Writes the data of `sluice top` as a JSON object, from the last snapshots of the workers. `talkers` may be NULL
 * if no talkers are requested. */
struct talkers;
void live_json(struct text *out, const struct service_options *options, struct talkers *talkers,
               const struct live_request *request, uint64_t uptime);
/* Writes alerts as a JSON array, with the names of EVE, oldest first. */
void live_alerts_json(struct text *out, struct output *output, uint64_t after, unsigned max);

/* --- explain.c ------------------------------------------------------------------------------------ */

/* Writes a flow of `worker` as a JSON object; `rules` provides the messages of rules. `all`: also writes the rules that
 * matched in the flow. */
void explain_flow(struct text *out, const struct flow_copy *flow, const struct rule_list *rules, unsigned worker,
                  bool all);
/* Maximum numbers of rules and searches that explain_costs() writes. */
enum { EXPLAIN_COSTS = 50, EXPLAIN_SEARCHES = 20 };
/* Writes a rule as a JSON object: if it is loaded, its text and the settings that changed it, otherwise why it is not
 * loaded. */
void explain_rule(struct text *out, const struct rule_list *rules, const struct rule_ids *ids,
                  const struct worker *workers, unsigned count);

/* Returns the verdict on a flow as a word, from the members of struct flow. */
const char *explain_verdict(unsigned flags, unsigned would_drop, unsigned state);
/* The match counters of a rule, summed over the workers. */
struct rule_tally_sum {
    uint64_t matches, alerts, drops, would_drops, limits, last_ns;
};
struct rule_tally_sum explain_sum_tallies(uint32_t number, const struct worker *workers, unsigned count);

#endif
