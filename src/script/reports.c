/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters, errors and messages of a worker's scripts. The worker writes them to a ring, without waiting. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "script_priv.h"
#include "sluice/ring.h"

enum { RING_BYTES = 32 * 1024 };

struct script_reports {
    struct script_counts *counts;
    struct ring *ring;
};

int script_reports_new(struct script_reports **out, struct script_counts *counts)
{
    struct script_reports *reports = calloc(1, sizeof(*reports));

    if (!reports)
        return -ENOMEM;
    if (ring_new(&reports->ring, RING_BYTES)) {
        free(reports);
        return -ENOMEM;
    }
    reports->counts = counts;
    *out = reports;
    return 0;
}

void script_reports_free(struct script_reports *reports)
{
    if (!reports)
        return;
    ring_free(reports->ring);
    free(reports);
}

bool script_reports_next(struct script_reports *reports, struct script_report *out)
{
    size_t size;
    const struct script_report *report = ring_peek(reports->ring, &size);

    if (!report)
        return false;
    *out = *report;
    ring_release(reports->ring);
    return true;
}

void report_text(char out[SCRIPT_REPORT_TEXT], const char *text, size_t length)
{
    size_t at = 0;

    for (; at < length && at < SCRIPT_REPORT_TEXT - 1; at++)
        out[at] = text[at] >= 0x20 && text[at] < 0x7f ? text[at] : '?';
    out[at] = '\0';
}

static struct script_report *reserve(struct script_reports *reports, const struct script *script)
{
    struct script_report *report = ring_reserve(reports->ring, sizeof(*report));

    if (!report) {
        reports->counts->lost++;
        return NULL;
    }
    *report = (struct script_report){ .gid = script->gid, .sid = script->sid };
    return report;
}

void reports_add_error(struct script_reports *reports, struct script_state *state, enum script_error error,
                       const char *text)
{
    uint64_t count = ++state->errors[error];
    struct script_report *report;

    if (!reports)
        return;
    reports->counts->failed++;
    reports->counts->errors[error]++;
    if (count & (count - 1)) /* reported if it is a power of two */
        return;
    report = reserve(reports, state->script);
    if (!report)
        return;
    report->is_error = true;
    report->error = error;
    report->count = count;
    report_text(report->text, text, strlen(text));
    ring_commit(reports->ring);
}

void reports_add_message(struct script_reports *reports, const struct script *script, uint8_t level, const char *text,
                         size_t length)
{
    struct script_report *report = reports ? reserve(reports, script) : NULL;

    if (!report)
        return;
    report->level = level;
    report_text(report->text, text, length);
    ring_commit(reports->ring);
}

void reports_count_call(struct script_reports *reports)
{
    if (reports)
        reports->counts->calls++;
}
