/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Formats of further outputs that are not JSON: Suricata's fast.log and stats.log. */
#ifndef SLUICE_OUTPUT_FAST_H
#define SLUICE_OUTPUT_FAST_H

#include "record.h"
#include "flow_record.h"

/* Formats an alert as one line, without the newline. */
void fast_alert(struct text *out, const struct packet_record *record, const struct alert *alert);
/* Formats counters as a table, without the last newline; counters of the value 0 are left out. */
void fast_counters(struct text *out, const struct stats_record *record);

#endif
