/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets the mode (drop or alert-only) of each queue while the engine runs. */
#ifndef SLUICE_ENGINE_MODE_H
#define SLUICE_ENGINE_MODE_H

#include "sluice/worker.h"

/* The mode that `sluice mode` has set instead of the configured one. */
struct mode_override {
    bool is_set;
    enum ips_mode mode;
    uint64_t until_ns; /* end of the override (clock_monotonic_ns()); 0: no time limit */
};

struct mode_control {
    struct worker *workers; /* this and the following pointers must outlive the object */
    unsigned worker_count;
    struct engine_memory *memory;
    struct output *output;
    const struct firewall_options *firewall;
    struct pipeline_shared *shared;
    struct mode_override override;
    /* Causes of death (bits of enum engine_failure) whose failure policy is open: traffic passes when engines keep
     * dying. */
    unsigned opens;
    /* true: mode_poll() must remove drop marks, which a previous engine in mode drop may have left on connections. */
    bool release_pending;
};

/* Called before the workers start and after the state of the previous engine was read: sets the mode of each worker.
 * `config` NULL: keeps the modes of the previous engine. */
void mode_start(struct mode_control *control, const struct config *config);
/* Applies the modes in the configuration of a reload. */
void mode_reload(struct mode_control *control, const struct config *config);
/* Overrides the configured modes for `sluice mode`, for `seconds`; 0: without time limit. */
void mode_override(struct mode_control *control, enum ips_mode mode, uint64_t seconds);
/* Ends the override, so that the configured modes apply again. */
void mode_clear_override(struct mode_control *control);
/* Called periodically: ends an override whose time has passed, and removes drop marks if `release_pending`. */
void mode_poll(struct mode_control *control);

/* Writes the mode as members of the open JSON object. */
struct text;
void mode_json(const struct mode_control *control, struct text *out);

#endif
