/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The last alerts, in memory (recent.c). */
#ifndef SLUICE_OUTPUT_RECENT_H
#define SLUICE_OUTPUT_RECENT_H

#include "record.h"

struct recent_alerts;
struct recent_alerts *recent_alerts_new(void);         /* NULL: out of memory */
void recent_alerts_free(struct recent_alerts *recent); /* NULL is allowed */
/* Adds the alerts of a packet; called by the output thread. */
void recent_alerts_add(struct recent_alerts *recent, const struct packet_record *record, bool has_queue);
/* Implements output_recent_alerts(). */
size_t recent_alerts_copy(struct recent_alerts *recent, uint64_t after, struct output_recent_alert *out, size_t max);

#endif
