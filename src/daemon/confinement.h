/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sandbox of the engine, from the configuration.
 */
#ifndef SLUICE_CONFINEMENT_H
#define SLUICE_CONFINEMENT_H

#include "sluice/daemon.h"
#include "sluice/sandbox.h"

struct confinement {
    bool wanted; /* security.sandbox, or run-as alone */
    struct sandbox_user user;
    struct sandbox *sandbox; /* NULL until confinement_start() */
};
/* Before anything is opened: creates the missing folders of logs, data and cached patterns for the configured user, and
 * becomes that user. A folder that cannot be created is a warning. 0 or -errno with a line in `error`. */
int confinement_switch_user(struct confinement *out, const struct run_options *options, char error[ENGINE_ERROR_SIZE]);
/* When all is open, and before the first thread: gives up the rest, and tells in the log what is in force. What `newer`
 * names is still to be read, too; NULL: no other configuration than that of the options. 0 or -errno with `error`. */
int confinement_start(struct confinement *confinement, const struct run_options *options, const struct config *newer,
                      char error[ENGINE_ERROR_SIZE]);
/* A file of the configuration that may be read by its permissions, but not from behind the walls; NULL: none. */
const char *confinement_blocks_file(const struct config *config);
void confinement_clear(struct confinement *confinement);
struct text;
void confinement_json(const struct confinement *confinement, struct text *out); /* a member `sandbox` */

#endif
