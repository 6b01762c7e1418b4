/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to setup: the rows of settings and the options that they fill. */
#ifndef SLUICE_SETUP_PRIV_H
#define SLUICE_SETUP_PRIV_H

#include "sluice/detect.h"
#include "sluice/policy.h"
#include "sluice/setup.h"

/* Settings of one dataset below `datasets`. */
struct dataset_options {
    bool has_type;
    enum dataset_type type;
    const char *load, *state;
    size_t memcap; /* bytes; 0: the value of datasets.defaults.memcap applies */
};

/* Reads the default policies of firewall rules into *out, whose member `app` the caller frees. Returns 0, -ENOMEM, or
 * -EINVAL after mistakes were reported. */
int setup_firewall_policies(struct filter_policies *out, const struct config *config, struct diag *diag);

#endif
