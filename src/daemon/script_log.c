/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Logs errors and messages of the scripts of rules, which the workers report through a ring. A worker reports an error
 * again when the number of errors of its kind has doubled, and messages only as fast as this thread reads them.
 */
#include "sluice/daemon.h"
#include "sluice/detect.h"
#include "sluice/log.h"
#include "sluice/worker.h"

static const char *const causes[SCRIPT_ERRORS] = {
    [SCRIPT_ERROR_RULE] = "error",
    [SCRIPT_ERROR_FUNCTION] = "call of a function that scripts may not use",
    [SCRIPT_ERROR_INSTRUCTIONS] = "security.lua.max-instructions reached",
    [SCRIPT_ERROR_MEMORY] = "security.lua.max-bytes reached",
};

void script_log_worker(struct worker *worker)
{
    enum { AT_ONCE = 100 };
    struct script_report report;

    for (unsigned i = 0;
         i < AT_ONCE && worker->pipeline.detector && detector_next_script_report(worker->pipeline.detector, &report);
         i++) {
        if (report.is_error)
            log_warning("rule %u:%u: the script failed and the rule did not match, %llu time%s in %s: %s: %s",
                        report.gid, report.sid, (unsigned long long)report.count, report.count == 1 ? "" : "s",
                        worker->label, causes[report.error], report.text);
        else
            log_write((enum log_level)report.level, "rule %u:%u: %s", report.gid, report.sid, report.text);
    }
}
