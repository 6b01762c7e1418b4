/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Alerts as readable lines: `sluice alerts` reads them from an event file (EVE JSON, one object per line) or from the
 * daemon, which uses the same names.
 *
 *     2026-11-27T10:00:01.123456+0000 DROP [1:9000001:1] Log4Shell [Attempted Administrator Privilege Gain, priority 1]
 *     {TCP} 10.1.0.2:41234 -> 10.2.0.2:80 (http, queue 0)
 */
#ifndef SLUICE_CLI_ALERT_LINE_H
#define SLUICE_CLI_ALERT_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/address.h"
#include "sluice/control.h"
#include "sluice/text.h"

struct alert_network {
    int version; /* 4 or 6; 0: any address */
    unsigned prefix;
    struct address address;
};

/* Selects the alerts that are printed; all members zero: every alert. */
struct alert_filter {
    bool has_sid;
    uint64_t gid, sid;
    uint64_t severity; /* alerts with at most this severity number (1 is the most severe); 0: any */
    struct alert_network source, destination, host; /* host: selects by source or destination */
};

/* Parses "10.0.0.0/8" or "fd00::1". Returns 0 or -EINVAL. */
int alert_network_parse(const char *text, struct alert_network *out);
/* Parses "GID:SID" or "SID" (GID 1). Returns 0 or -EINVAL. */
int alert_sid_parse(const char *text, struct alert_filter *filter);

/* Returns whether the event is an alert that the filter selects. */
bool alert_selected(const struct control_value *event, const struct alert_filter *filter);
/* Appends the line of an alert, without line feed. Control characters become \xNN. */
void alert_format(const struct control_value *event, struct text *out);
/* Parses a line of an event file and appends its alert to `out`: formatted, or with `json` as it is. Returns 1 if
 * it appended an alert, 0 if the filter does not select the line or it is no alert, -EBADMSG if it is not JSON. */
int alert_line_read(const char *line, size_t length, const struct alert_filter *filter, bool json, struct text *out);

#endif
