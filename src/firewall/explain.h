/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors of the kernel as one line that says what to do, and the probe of what the kernel supports.
 */
#ifndef SLUICE_FIREWALL_EXPLAIN_H
#define SLUICE_FIREWALL_EXPLAIN_H

#include "sluice/firewall.h"

#include "plan.h"
#include "session.h"

/* Writes the line for the error `err` of the kernel, which concerned an object of this kind. Returns err. */
int nft_explain(char error[FIREWALL_ERROR_SIZE], int err, enum subject subject, const char *table);

/* Sets plan->expression and plan->families to what the kernel supports. Returns 0, or -errno with a line in `error`. */
int nft_probe(struct session *session, struct plan *plan, char error[FIREWALL_ERROR_SIZE]);

#endif
